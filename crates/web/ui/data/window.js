// The content of a stretch of time: busy and idle per group, the operators that cost most in it, its gaps.

import { first_ending_after, first_from, busy_within } from "./row_index.js";

/**
 * @param {Profile} profile
 * @param {Span} span in ticks
 * @param {number} [top]
 */
export function window_of(profile, span, top = 10) {
  const answer = is_partly(profile, span) ? profile.served?.window(span) : null;
  if (answer) return answered(profile, answer);
  const [from, to] = span;
  const groups = profile.facts.groups.map((group, number) => {
    const rows = profile.rows.filter((it) => it.group === number);
    const busy_row = rows.find((it) => it.kind === "busy");
    const own = busy_row ? busy_in_all(profile, busy_row, span) : null;
    return { number, group, busy: own, tasks: rows.filter((it) => it.kind === "tasks" && it.depth === 0).reduce((sum, it) => sum + count_within(it, from, to), 0) };
  }).filter((it) => it.busy !== null);
  const operators = operators_within(profile, span);
  const busy_rows = profile.rows.filter((it) => it.kind === "busy");
  // Where slices were left out, nobody knows where the gaps are.
  const partly = is_partly(profile, span);
  const gaps = busy_rows.length > 0 && !partly ? gaps_of(busy_rows[0], span) : [];
  return { groups, top: operators.slice(0, top), operators: operators.length, gaps, partly };
}

/** @param {Profile} profile @param {WindowAnswer} answer */
function answered(profile, answer) {
  return {
    groups: answer.groups.map((it) => ({ number: it.group, group: profile.facts.groups[it.group], busy: /** @type {number | null} */ (it.busy), tasks: it.tasks })),
    top: answer.top.map((it) => ({ item: it.item, name: it.name, operator: it.operator ?? -1, time: it.time, count: it.count })),
    operators: answer.operators, gaps: answer.gaps, partly: false,
  };
}

/**
 * Whether a stretch has slices that the report doesn't hold one by one.
 * @param {Profile} profile @param {Span} span
 */
export function is_partly(profile, [from, to]) {
  const left = profile.report.left_out;
  return left.slices_in_full < left.slices && !left.windows.some((it) => it[0] <= from && to <= it[1]);
}

/**
 * How long a row was busy: exactly where its slices are known, by the density where they were left out.
 * @param {Profile} profile @param {Row} row @param {Span} span
 */
export function busy_in_all(profile, row, [from, to]) {
  let busy = busy_within(row.index, from, to);
  const { density } = row;
  const bucket = profile.density_bucket;
  if (density) {
    for (let at = 0; at < density.bucket.length; at += 1) {
      const begin = density.bucket[at] * bucket;
      busy += (Math.max(0, Math.min(to, begin + bucket) - Math.max(from, begin)) * density.busy[at]) / 255;
    }
  }
  return Math.min(to - from, busy);
}

/** @param {Row} row @param {number} from @param {number} to */
export function count_within(row, from, to) {
  const first = first_ending_after(row.index, from);
  return Math.max(0, first_from(row.index.start, to, first) - first);
}

/**
 * The operators that ran within a stretch, costliest first: own time, clipped to it; by the operator where it is known.
 * @param {Profile} profile @param {Span} span @param {boolean} [whole] leaves out executions that its ends cut
 * @returns {{ item: number, operator: number, time: number, count: number }[]}
 */
export function operators_within(profile, [from, to], whole = false) {
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
      if (whole && (index.start[at] < from || index.start[at] + index.duration[at] > to)) continue;
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
