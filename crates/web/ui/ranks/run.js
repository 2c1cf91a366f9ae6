// A run on many ranks as the page's parts see it: ranks in their order with those that weren't recorded, what steps go
// for, links.

/** The parts of a step, in the order in which they are drawn and told; their columns end in `_ns`. */
export const PARTS = /** @type {const} */ (["compute", "waiting", "bubble", "transfer", "idle"]);
/** The measures of the heat map. @type {readonly Measure[]} */
export const MEASURES = ["waiting", "compute", "transfer", "bubble", "idle", "step"];

/** @typedef {ReturnType<typeof make_run>} Run */

/** @param {RanksReport} report @param {Container} columns */
export function make_run(report, columns) {
  const ranks = columns.table("ranks");
  const numbers = ranks.numbers("rank");
  const cells = columns.table("cells");
  const links = columns.table("links");
  /** @type {Map<Measure, Float64Array>} */
  const values = new Map();
  // Ranks that weren't recorded stand among the others, those of which there are empty files as well.
  const missing = new Set(report.cluster.missing);
  const recorded = Array.from(numbers, (number, index) => ({ number, index })).filter((it) => !missing.has(it.number));
  const order = [...recorded, ...Array.from(missing, (number) => ({ number, index: -1 }))].sort((a, b) => a.number - b.number);
  const index_of = new Map(Array.from(numbers, (number, index) => [number, index]));
  return {
    report,
    /** All ranks by number; `index` is the place in the columns, -1 of one that wasn't recorded. */
    order,
    numbers,
    ranks,
    links,
    steps: report.steps,
    /** @param {number} number */
    index_of: (number) => index_of.get(number) ?? -1,
    /** The place of a rank, such as `host6:1`. @param {number} number */
    place_of: (number) => report.places[index_of.get(number) ?? -1] ?? "",
    /** Whether it is known where the time of a rank goes: of one without collectives it isn't. @param {number} index its place in the columns */
    knows_account: (index) => ranks.numbers("steps")[index] > 0,
    /** A measure by rank and step, in nanoseconds; what isn't known is no number. @param {Measure} measure */
    values(measure) {
      let found = values.get(measure);
      if (!found) {
        found = new Float64Array(ranks.count * report.steps.length).fill(NaN);
        const [rank, step, column] = [cells.numbers("rank"), cells.numbers("step"), cells.numbers(`${measure}_ns`)];
        for (let at = 0; at < cells.count; at += 1) found[rank[at] * report.steps.length + step[at]] = column[at];
        values.set(measure, found);
      }
      return found;
    },
  };
}

/** The rows of `opscope cluster summary` of the run by a property; by rank they come from the columns. @param {Run} run @param {string} by @returns {AccountRow[]} */
export function account_rows(run, by) {
  if (by !== "rank") return (run.report.summary[by] ?? []).map((it) => ({ .../** @type {any} */ (it), of: String(it[by] ?? "–") }));
  const column = (/** @type {string} */ name) => run.ranks.numbers(name);
  const [step_ns, compute_ns, waiting_ns, bubble_ns, transfer_ns, idle_ns, unaccounted_ns, steps] = ["step_ns", "compute_ns", "waiting_ns", "bubble_ns", "transfer_ns", "idle_ns", "unaccounted_ns", "steps"].map(column);
  return run.order.filter((it) => it.index >= 0 && steps[it.index] > 0).map(({ number, index }) => ({
    of: String(number), ranks: 1, step_ns: step_ns[index], compute_ns: compute_ns[index], waiting_ns: waiting_ns[index], bubble_ns: bubble_ns[index], transfer_ns: transfer_ns[index], idle_ns: idle_ns[index],
    unaccounted_ns: unaccounted_ns[index], imbalance: null, imbalance_ns: null,
  }));
}

/** The properties that steps can be told by. */
const GROUPINGS = ["step", "host", "stage", "dp", "tp", "ep", "cp", "rank"];

/** The properties that a run has. @param {Run} run */
export function groupings(run) {
  return GROUPINGS.filter((it) => it === "rank" || it in run.report.summary);
}

// ---- what is selected: `rank:49`, `link:0-28`, `port:3`, `group:1` (the suspect's place)

/** A suspect as a selection. @param {Suspect} suspect @param {number} place */
export function selection_of(suspect, place) {
  switch (suspect.kind) {
    case "rank": return `rank:${suspect.rank}`;
    case "link": return `link:${suspect.src}-${suspect.dst}`;
    case "port": return `port:${suspect.src}`;
    default: return `group:${place}`;
  }
}

/** The ranks of a selection, by number. @param {Run} run @param {string | null} selection @returns {number[]} */
export function selected_ranks(run, selection) {
  const [kind, rest] = (selection ?? "").split(":");
  if (kind === "rank" || kind === "port") return [Number(rest)];
  if (kind === "link") return rest.split("-").map(Number);
  if (kind === "group") return run.report.cluster.suspects[Number(rest)]?.ranks ?? [];
  return [];
}

/** Whether a link belongs to a selection. @param {Run} run @param {string | null} selection @param {number} src @param {number} dst */
export function is_selected_link(run, selection, src, dst) {
  const [kind] = (selection ?? "").split(":");
  const ranks = selected_ranks(run, selection);
  switch (kind) {
    case "rank": return ranks[0] === src || ranks[0] === dst;
    case "port": return ranks[0] === src;
    case "link": return ranks[0] === src && ranks[1] === dst;
    case "group": {
      // Of links the sides are told; where one isn't, it is all ranks but the other's.
      const { from = null, to = null } = run.report.cluster.suspects[Number(selection?.split(":")[1])] ?? {};
      if (!from && !to) return ranks.includes(src) && ranks.includes(dst);
      return (from ? from.includes(src) : !to?.includes(src)) && (to ? to.includes(dst) : !from?.includes(dst));
    }
    default: return false;
  }
}

/** Whether a selection is of this run. @param {Run} run @param {string} selection */
export function is_known(run, selection) {
  const ranks = selected_ranks(run, selection);
  return ranks.length > 0 && ranks.every((it) => run.index_of(it) >= 0 || run.report.cluster.missing.includes(it));
}

/** The place among the suspects of a selection, or -1. @param {Run} run @param {string | null} selection */
export function suspect_of(run, selection) {
  return run.report.cluster.suspects.findIndex((it, place) => selection_of(it, place) === selection);
}

/** The ranks of all suspects, by number. @param {Run} run */
export function suspected_ranks(run) {
  return new Set(run.report.cluster.suspects.flatMap((it, place) => selected_ranks(run, selection_of(it, place))));
}
