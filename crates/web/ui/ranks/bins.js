// Stretches of ranks, for pictures of more of them than there are pixels: of each stretch of ranks (and steps)
// the greatest value, and whose that is.

/**
 * The bounds of stretches that are as long as one another, within one.
 * @param {number} from @param {number} to @param {number} most
 * @returns {number[]} the first of each, and the end
 */
export function stretches(from, to, most) {
  const count = Math.max(1, Math.min(to - from, Math.max(1, Math.floor(most))));
  return Array.from({ length: count + 1 }, (_, at) => from + Math.floor((at * (to - from)) / count));
}

/**
 * @typedef {{ rows: number[], columns: number[], values: Float64Array, rank: Int32Array, step: Int32Array, unrecorded: Uint8Array, most: number }} Bins
 * `rank` is the place in the order of ranks of the greatest value, `step` its step's; -1 where nothing is known.
 */

/**
 * The greatest values of a measure, by stretches of ranks and of steps.
 * @param {{ order: { index: number }[], steps: number[] }} run @param {Float64Array} values by rank and step
 * @param {number[]} rows bounds of ranks @param {number[]} columns bounds of steps
 * @returns {Bins}
 */
export function heat_bins(run, values, rows, columns) {
  const [high, wide] = [rows.length - 1, columns.length - 1];
  const bins = { rows, columns, values: new Float64Array(high * wide).fill(NaN), rank: new Int32Array(high * wide).fill(-1), step: new Int32Array(high * wide).fill(-1), unrecorded: new Uint8Array(high), most: 0 };
  const count = run.steps.length;
  for (let row = 0; row < high; row += 1) {
    bins.unrecorded[row] = 1;
    for (let rank = rows[row]; rank < rows[row + 1]; rank += 1) {
      const { index } = run.order[rank];
      if (index < 0) continue;
      bins.unrecorded[row] = 0;
      for (let column = 0; column < wide; column += 1) {
        const at = row * wide + column;
        for (let step = columns[column]; step < columns[column + 1]; step += 1) {
          const value = values[index * count + step];
          if (Number.isNaN(value) || value <= bins.values[at]) continue;
          bins.values[at] = value;
          bins.rank[at] = rank;
          bins.step[at] = step;
          if (value > bins.most) bins.most = value;
        }
      }
    }
  }
  return bins;
}

/**
 * @typedef {{ src: number, dst: number, places: number[], share: number, slow: boolean }} Pair
 * A directed pair of ranks, by their places in the order; the rows of links that it has; the least share that any of
 * them reaches of the bandwidth of its like (no number where none can be compared).
 */

/**
 * The pairs of ranks that have links of a kind.
 * @param {Table} links @param {(number: number) => number} place_of a rank's place in the order, or -1
 * @param {(row: number) => boolean} takes
 * @returns {Pair[]}
 */
export function link_pairs(links, place_of, takes) {
  const [src, dst, part, peers, slow] = ["src", "dst", "part_gb_per_s", "peers_gb_per_s", "is_slow"].map((it) => links.numbers(it));
  /** @type {Map<string, Pair>} */
  const pairs = new Map();
  for (let row = 0; row < links.count; row += 1) {
    if (!takes(row)) continue;
    const key = `${src[row]} ${dst[row]}`;
    let pair = pairs.get(key);
    if (!pair) {
      pair = { src: place_of(src[row]), dst: place_of(dst[row]), places: [], share: NaN, slow: false };
      if (pair.src < 0 || pair.dst < 0) continue;
      pairs.set(key, pair);
    }
    pair.places.push(row);
    const share = peers[row] > 0 ? part[row] / peers[row] : NaN;
    if (!(share >= pair.share) && !Number.isNaN(share)) pair.share = share;
    if (slow[row] > 0) pair.slow = true;
  }
  return [...pairs.values()];
}

/**
 * The slowest pair of each stretch of senders and of receivers; -1 where nothing was measured.
 * @param {Pair[]} pairs @param {number[]} bounds of the ranks
 * @returns {Int32Array} places of pairs, senders by receivers
 */
export function matrix_bins(pairs, bounds) {
  const wide = bounds.length - 1;
  const bins = new Int32Array(wide * wide).fill(-1);
  const bin_of = new Int32Array(bounds[wide] - bounds[0]);
  for (let bin = 0; bin < wide; bin += 1) bin_of.fill(bin, bounds[bin] - bounds[0], bounds[bin + 1] - bounds[0]);
  const order = (/** @type {Pair} */ pair) => (pair.slow ? -1e9 : 0) + (Number.isNaN(pair.share) ? 1e6 : pair.share);
  pairs.forEach((pair, place) => {
    const [row, column] = [bin_of[pair.src - bounds[0]], bin_of[pair.dst - bounds[0]]];
    if (pair.src < bounds[0] || pair.dst < bounds[0] || pair.src >= bounds[wide] || pair.dst >= bounds[wide]) return;
    const at = row * wide + column;
    if (bins[at] < 0 || order(pair) < order(pairs[bins[at]])) bins[at] = place;
  });
  return bins;
}
