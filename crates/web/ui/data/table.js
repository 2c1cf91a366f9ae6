// The table of operators: grouped, filtered, limited to a stretch of time, with shares and their sums.

import { passes } from "./filter.js";
import { operators_within } from "./window.js";

/**
 * @typedef {{ key: string, name: string, type: string, unit: string, stream: string, data_type: string, shapes: string, operators: number,
 *   time: number, count: number, mean: number, min: number | null, max: number | null, median: number | null, p90: number | null, p99: number | null,
 *   wait: number | null, flops: number | null, bytes: number | null, share: number, cumulative: number, operator: number | null, iteration: number | null, attribution: string }} TableRow
 */

/**
 * @param {Profile} profile
 * @param {{ grouping: Grouping, terms: Term[], span: Span | null }} question
 * @returns {{ rows: TableRow[], whole: number }} costliest first; their sums of shares hold until the next question
 */
export function table_of(profile, { grouping, terms, span }) {
  if (grouping === "iteration") return by_iteration(profile, terms, span);
  if (grouping === "call") return of_calls(profile, terms);
  const limited = span && limit(profile, span);
  const passing = limited ? limited.filter((it) => passes(terms, it)) : rows_of_operators(profile).filter((it) => passes(terms, it));
  const rows = grouping === "operator" ? passing : grouped(passing, grouping);
  const whole = limited ? limited.reduce((sum, it) => sum + it.time, 0) : profile.overview.whole_ns;
  return { rows: with_shares(rows, whole), whole };
}

// The answer about calls of the host: its level stands as the type, its phase as the unit.
/** @param {Profile} profile @param {Term[]} terms */
function of_calls(profile, terms) {
  const calls = profile.report.calls;
  const rows = (calls?.rows ?? []).map((it, at) => ({ ...nothing(), key: `call:${at}`, name: it.name ?? "", type: it.level ?? "", unit: it.phase ?? "", time: it.time_ns, count: it.count ?? 1, mean: it.mean_ns ?? it.time_ns }));
  const whole = calls?.whole_ns ?? 0;
  return { rows: with_shares(rows.filter((it) => passes(terms, it)), whole), whole };
}

/** @param {TableRow[]} rows @param {number} whole */
function with_shares(rows, whole) {
  rows.sort((a, b) => b.time - a.time);
  let sum = 0;
  for (const row of rows) {
    row.share = whole > 0 ? row.time / whole : 0;
    sum += row.share;
    row.cumulative = sum;
  }
  return rows;
}

/** @type {WeakMap<Profile, TableRow[]>} */
const made = new WeakMap();

/** The rows of whole operators: made once, because a hundred thousand take longer than the letter of a filter may. @param {Profile} profile */
function rows_of_operators(profile) {
  const rows = made.get(profile) ?? profile.operators.map(row_of_operator);
  made.set(profile, rows);
  return rows;
}

/** @param {Operator} it @returns {TableRow} */
function row_of_operator(it) {
  return { key: `op:${it.row}`, name: it.name, type: it.type, unit: it.unit, stream: it.stream, data_type: it.data_type, shapes: it.shapes, operators: 1,
    time: it.time, count: it.count, mean: it.mean, min: it.min, max: it.max, median: it.median, p90: it.p90, p99: it.p99,
    wait: it.wait, flops: it.flops, bytes: it.bytes, share: 0, cumulative: 0, operator: it.row, iteration: null, attribution: it.attribution };
}

// Times are sums within the stretch; figures of single executions are those of the whole profile no longer.
/** @param {Profile} profile @param {Span} span @returns {TableRow[]} */
function limit(profile, span) {
  return operators_within(profile, span).map((it) => {
    const operator = profile.operators[it.operator];
    const time = profile.ns(it.time);
    const base = operator ? row_of_operator(operator) : { ...nothing(), key: `item:${it.item}`, name: profile.item_name(it.item), type: profile.item_category(it.item), unit: profile.item_unit(it.item) };
    return { ...base, time, count: it.count, mean: time / it.count, min: null, max: null, median: null, p90: null, p99: null, wait: null, flops: null, bytes: null };
  });
}

/** @returns {TableRow} */
function nothing() {
  return { key: "", name: "", type: "", unit: "", stream: "", data_type: "", shapes: "", operators: 0, time: 0, count: 0, mean: 0, min: null, max: null, median: null, p90: null, p99: null,
    wait: null, flops: null, bytes: null, share: 0, cumulative: 0, operator: null, iteration: null, attribution: "" };
}

/** @param {TableRow[]} rows @param {Grouping} grouping @returns {TableRow[]} */
function grouped(rows, grouping) {
  const field = /** @type {const} */ ({ type: "type", name: "name", unit: "unit", stream: "stream", shape: "shapes", operator: "name", iteration: "name", call: "name" })[grouping];
  /** @type {Map<string, TableRow>} */
  const groups = new Map();
  for (const row of rows) {
    const value = row[field];
    let group = groups.get(value);
    if (!group) {
      group = { ...nothing(), key: `${field}:${value}`, name: value, type: field === "type" ? value : "", [field]: value };
      groups.set(value, group);
    }
    group.operators += 1;
    group.time += row.time;
    group.mean += row.mean * row.count;
    group.count += row.count;
    group.min = least(group.min, row.min, Math.min);
    group.max = least(group.max, row.max, Math.max);
    group.flops = sum(group.flops, row.flops);
    group.bytes = sum(group.bytes, row.bytes);
    group.wait = sum(group.wait, row.wait);
  }
  for (const group of groups.values()) group.mean = group.count > 0 ? group.mean / group.count : 0;
  return [...groups.values()];
}

/** @param {number | null} a @param {number | null} b @param {(a: number, b: number) => number} choose */
function least(a, b, choose) {
  return a === null ? b : b === null ? a : choose(a, b);
}

/** @param {number | null} a @param {number | null} b */
function sum(a, b) {
  return a === null ? b : b === null ? a : a + b;
}

/** @param {Profile} profile @param {Term[]} terms @param {Span | null} span */
function by_iteration(profile, terms, span) {
  const { items, operators, iterations } = profile;
  const wanted = Uint8Array.from({ length: operators.length + 1 }, (_, at) => (at === 0 ? Number(terms.length === 0) : Number(passes(terms, operators[at - 1]))));
  const of = profile.column("iteration");
  const inner = profile.column("inner");
  const sums = Array.from({ length: iterations.count }, () => ({ time: 0, count: 0 }));
  for (const row of profile.rows) {
    if (row.kind !== "tasks") continue;
    for (let slice = row.first; slice < row.first + row.count; slice += 1) {
      const item = profile.item[slice];
      const sums_of = sums[of[slice] - 1];
      if (!sums_of || !wanted[items.operator[item]] || items.unit[item] === profile.control) continue;
      if (span && (profile.start[slice] >= span[1] || profile.start[slice] + profile.duration[slice] <= span[0])) continue;
      sums_of.time += profile.duration[slice] - inner[slice];
      sums_of.count += 1;
    }
  }
  const rows = sums.flatMap(({ time, count }, at) => (count === 0 ? [] : [{ ...nothing(), key: `iteration:${at}`, name: String(iterations.number[at]), operators: 0, time: profile.ns(time), count, mean: profile.ns(time) / count, iteration: at }]));
  const whole = rows.reduce((total, it) => total + it.time, 0);
  return { rows: with_shares(rows, whole), whole };
}

/** The keys of columns of hardware's quantities begin so. */
export const METRIC = "metric:";

/** A quantity that hardware told of a row's operator, or null. @param {Profile} profile @param {TableRow} row @param {string} name */
export function metric_of(profile, row, name) {
  return row.operator === null ? null : profile.metrics_of(row.operator).find((it) => it.name === name) ?? null;
}

/**
 * @param {Profile} profile @param {TableRow[]} rows @param {string} sort a column's key, with `-` in front where the largest is first
 */
export function sorted(profile, rows, sort) {
  const key = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  const value = (/** @type {TableRow} */ it) => (key.startsWith(METRIC) ? metric_of(profile, it, key.slice(METRIC.length))?.mean ?? null : it[/** @type {keyof TableRow} */ (key)]);
  return rows.map((row) => ({ row, value: value(row) })).sort(({ value: left }, { value: right }) => {
    // Unknown values come last whichever way the rows are sorted.
    if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
    return sign * (typeof left === "number" && typeof right === "number" ? left - right : String(left) < String(right) ? -1 : String(left) > String(right) ? 1 : 0);
  }).map(({ row }) => row);
}
