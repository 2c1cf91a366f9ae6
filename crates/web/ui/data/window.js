// What a stretch of time holds: busy and idle per group, the operators that cost most in it, its gaps.

import { first_ending_after, first_from, busy_within } from "./row_index.js";

/**
 * @param {Profile} profile
 * @param {Span} span in ticks
 * @param {number} [top]
 */
export function window_of(profile, span, top = 10) {
  const [from, to] = span;
  const groups = profile.facts.groups.map((group, number) => {
    const rows = profile.rows.filter((it) => it.group === number);
    const busy_row = rows.find((it) => it.kind === "busy");
    const own = busy_row ? busy_within(busy_row.index, from, to) : null;
    return { number, group, busy: own, tasks: rows.filter((it) => it.kind === "tasks" && it.depth === 0).reduce((sum, it) => sum + count_within(it, from, to), 0) };
  }).filter((it) => it.busy !== null);
  const operators = operators_within(profile, span);
  const busy_rows = profile.rows.filter((it) => it.kind === "busy");
  const gaps = busy_rows.length > 0 ? gaps_of(busy_rows[0], span) : [];
  return { groups, top: operators.slice(0, top), operators: operators.length, gaps, gaps_of: busy_rows[0]?.group ?? null };
}

/** @param {Row} row @param {number} from @param {number} to */
export function count_within(row, from, to) {
  const first = first_ending_after(row.index, from);
  return Math.max(0, first_from(row.index.start, to, first) - first);
}

/**
 * What ran within a stretch, costliest first: own time, clipped to it; by the operator where it is known.
 * @param {Profile} profile @param {Span} span
 * @returns {{ item: number, operator: number, time: number, count: number }[]}
 */
export function operators_within(profile, [from, to]) {
  const inner = profile.column("inner");
  /** @type {Map<number, { item: number, operator: number, time: number, count: number }>} */
  const sums = new Map();
  for (const row of profile.rows) {
    if (row.kind !== "tasks") continue;
    const { index } = row;
    const first = first_ending_after(index, from);
    const last = first_from(index.start, to, first);
    for (let at = first; at < last; at += 1) {
      const item = index.item[at];
      if (profile.items.unit[item] === profile.control) continue;
      const slice = row.first + at;
      const inside = Math.min(to, index.start[at] + index.duration[at]) - Math.max(from, index.start[at]);
      const own = Math.max(0, Math.min(inside, index.duration[at] - inner[slice]));
      const operator = profile.items.operator[item] - 1;
      const key = operator >= 0 ? operator : -1 - item;
      const sum = sums.get(key);
      if (sum) {
        sum.time += own;
        sum.count += 1;
      } else {
        sums.set(key, { item, operator, time: own, count: 1 });
      }
    }
  }
  return [...sums.values()].sort((a, b) => b.time - a.time);
}

/**
 * Idle stretches of a row longer than a hundredth of the window, the longest 200 of them, in order of time.
 * @param {Row} row @param {Span} span @returns {Span[]}
 */
export function gaps_of(row, [from, to]) {
  const { index } = row;
  const least = (to - from) / 100;
  /** @type {Span[]} */
  const gaps = [];
  const first = first_ending_after(index, from);
  let before = from;
  for (let at = first; at < index.count && index.start[at] < to; at += 1) {
    if (index.start[at] - before > least) gaps.push([before, index.start[at]]);
    before = Math.max(before, index.start[at] + index.duration[at]);
  }
  if (to - before > least) gaps.push([before, to]);
  return gaps.sort((a, b) => b[1] - b[0] - (a[1] - a[0])).slice(0, 200).sort((a, b) => a[0] - b[0]);
}
