// How the executions of one operator are spread, and how they went from inference to inference.

const BARS = 32;

/**
 * Counts on a logarithmic axis from the shortest to the longest.
 * @param {number[]} times ns
 */
export function histogram(times) {
  let least = Infinity;
  let most = 0;
  for (const it of times) {
    if (it < least) least = it;
    if (it > most) most = it;
  }
  if (times.length === 0) least = 0;
  const low = Math.log(Math.max(1, least));
  const span = Math.log(Math.max(1, most)) - low;
  const bars = span === 0 ? 1 : BARS;
  const counts = new Array(bars).fill(0);
  for (const it of times) counts[span === 0 ? 0 : Math.min(bars - 1, Math.floor(((Math.log(Math.max(1, it)) - low) / span) * bars))] += 1;
  const edges = Array.from({ length: bars + 1 }, (_, at) => Math.exp(low + (span * at) / bars));
  return { counts, edges, least, most };
}

/**
 * The time of an operator in each inference, own time only.
 * @param {Profile} profile @param {Uint32Array} slices
 */
export function per_inference(profile, slices) {
  const of = profile.column("iteration");
  const inner = profile.column("inner");
  /** @type {Map<number, number>} */
  const sums = new Map();
  for (const slice of slices) {
    const at = of[slice] - 1;
    if (at >= 0) sums.set(at, (sums.get(at) ?? 0) + profile.duration[slice] - inner[slice]);
  }
  return [...sums].sort((a, b) => a[0] - b[0]).flatMap(([at, time]) => {
    const it = profile.iterations.at(at);
    return it ? [{ number: it.number, time: profile.ns(time), warm_up: it.warm_up }] : [];
  });
}
