// An index that makes a picture's cost depend on its pixels and not on its slices: sums of busy time before each
// slice, and a tree of the longest slice over blocks of eight, from which buckets of any width are made.

const BLOCK = 8;
const SHIFT = 3;

/**
 * @param {Float64Array} start of slices in the order of time, none over another
 * @param {Numbers} duration
 * @param {Numbers} item
 * @returns {RowIndex}
 */
export function make_index(start, duration, item) {
  const count = start.length;
  const busy_before = new Float64Array(count + 1);
  for (let at = 0; at < count; at += 1) busy_before[at + 1] = busy_before[at] + duration[at];
  /** @type {Uint32Array[]} */
  const longest = [];
  /** @type {Float64Array[]} */
  const longest_time = [];
  for (let size = count; size > BLOCK; size = longest[longest.length - 1].length) {
    const below = longest[longest.length - 1];
    const times = longest_time[longest_time.length - 1] ?? duration;
    const level = new Uint32Array(Math.ceil(size / BLOCK));
    const level_times = new Float64Array(level.length);
    for (let block = 0; block < level.length; block += 1) {
      let best = block * BLOCK;
      const end = Math.min(size, best + BLOCK);
      for (let at = best + 1; at < end; at += 1) if (times[at] > times[best]) best = at;
      level[block] = below ? below[best] : best;
      level_times[block] = times[best];
    }
    longest.push(level);
    longest_time.push(level_times);
  }
  return { count, start, duration, item, busy_before, longest, longest_time };
}

/**
 * The first place, of those from `low` to before `high`, for which something holds that also holds behind it.
 * @param {number} low @param {number} high @param {(at: number) => boolean} holds
 */
export function first_place(low, high, holds) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The first slice that begins at `time` or later, looked for from `low` on in steps that double.
 * @param {Float64Array} start @param {number} time @param {number} low
 */
export function first_from(start, time, low) {
  const count = start.length;
  let step = 1;
  let high = low;
  while (high < count && start[high] < time) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  return first_place(low, Math.min(high, count), (at) => start[at] >= time);
}

/**
 * The first slice that ends after `time`: where a window begins.
 * @param {RowIndex} index @param {number} time
 */
export function first_ending_after(index, time) {
  return first_place(0, index.count, (at) => index.start[at] + index.duration[at] > time);
}

/**
 * The slice at a moment, or -1.
 * @param {RowIndex} index @param {number} time
 */
export function slice_at(index, time) {
  const at = first_ending_after(index, time);
  return at < index.count && index.start[at] <= time ? at : -1;
}

/**
 * The longest of the slices `from` to `to` (not included), one of them where several are; -1 of none.
 * @param {RowIndex} index @param {number} from @param {number} to
 */
export function longest_of(index, from, to) {
  if (from >= to) return -1;
  const { duration, longest, longest_time } = index;
  const levels = longest.length;
  let best = from;
  let most = -1;
  // Up the tree: what doesn't fill a block is looked at on its level, the rest one level higher.
  for (let level = -1; from < to; level += 1) {
    const times = level < 0 ? duration : longest_time[level];
    const left = level + 1 >= levels ? to : Math.min(to, (from + BLOCK - 1) & -BLOCK);
    const right = Math.max(left, to & -BLOCK);
    let found = -1;
    for (let at = from; at < left; at += 1) {
      if (times[at] > most) {
        most = times[at];
        found = at;
      }
    }
    for (let at = right; at < to; at += 1) {
      if (times[at] > most) {
        most = times[at];
        found = at;
      }
    }
    if (found >= 0) best = level < 0 ? found : longest[level][found];
    from = left >>> SHIFT;
    to = right >>> SHIFT;
  }
  return best;
}

/**
 * How long the row was busy within a window, exactly.
 * @param {RowIndex} index @param {number} from @param {number} to
 */
export function busy_within(index, from, to) {
  const first = first_ending_after(index, from);
  const last = first_from(index.start, to, first);
  if (first >= last) return 0;
  const before = Math.max(0, from - index.start[first]);
  const after = Math.max(0, index.start[last - 1] + index.duration[last - 1] - to);
  return index.busy_before[last] - index.busy_before[first] - before - after;
}

/**
 * Arrays that hold one row's buckets; used again for each row, so that a frame allocates nothing.
 * @param {number} width
 */
export function make_scratch(width) {
  return {
    busy: new Float64Array(width),
    best: new Int32Array(width),
    columns: /** @type {RowColumns} */ ({
      origin: 0,
      bucket: 1,
      fine: { count: 0, bucket: new Uint16Array(width), busy: new Uint8Array(width), category: new Uint16Array(width), longest: new Float64Array(width) },
      wide: { count: 0, start: new Float64Array(width + 2), duration: new Float64Array(width + 2), category: new Uint16Array(width + 2) },
    }),
    slices: new Uint32Array(width + 2),
    merged: 0,
  };
}

/** @typedef {ReturnType<typeof make_scratch>} Scratch */

/**
 * Buckets of a window, one for each pixel. `scratch.slices` has the numbers of the wide slices, `merged` how
 * many were too short to stand alone.
 * @param {RowIndex} index @param {number} from @param {number} to @param {number} width
 * @param {ArrayLike<number>} category of each item
 * @param {Scratch} scratch
 */
export function make_buckets(index, from, to, width, category, scratch) {
  const { busy, best, columns, slices } = scratch;
  const { count, start, duration, item, busy_before } = index;
  const { fine, wide } = columns;
  const per = (to - from) / width;
  const limit = 2 * per;
  columns.origin = from;
  columns.bucket = per;
  fine.count = 0;
  wide.count = 0;
  scratch.merged = 0;
  busy.fill(0, 0, width);
  best.fill(-1, 0, width);
  let wides = 0;
  let at = first_ending_after(index, from);
  while (at < count && start[at] < to) {
    if (duration[at] >= limit) {
      if (wides < slices.length) slices[wides++] = at;
      at += 1;
      continue;
    }
    const pixel = Math.min(width - 1, Math.max(0, Math.floor((start[at] - from) / per)));
    const next = first_from(start, from + (pixel + 1) * per, at + 1);
    // Only the last slice that begins in a bucket can be longer than it.
    const wide_last = next - 1 > at && duration[next - 1] >= limit;
    const end = wide_last ? next - 1 : next;
    scratch.merged += end - at;
    const over = start[end - 1] + duration[end - 1];
    let sum = busy_before[end] - busy_before[at] - Math.max(0, from - start[at]);
    const longest = end - at === 1 ? at : longest_of(index, at, end);
    if (best[pixel] < 0 || duration[longest] > duration[best[pixel]]) best[pixel] = longest;
    // The part that reaches over into the next buckets belongs to them.
    for (let beyond = pixel + 1, left = from + beyond * per; over > left; beyond += 1, left += per) {
      const rest = over - left;
      if (beyond === pixel + 1) sum -= rest;
      if (beyond >= width) break;
      busy[beyond] += Math.min(per, rest);
      if (best[beyond] < 0 || duration[end - 1] > duration[best[beyond]]) best[beyond] = end - 1;
    }
    busy[pixel] += sum;
    if (wide_last && wides < slices.length) slices[wides++] = next - 1;
    at = next;
  }
  for (let entry = 0; entry < wides; entry += 1) {
    const slice = slices[entry];
    wide.start[entry] = start[slice];
    wide.duration[entry] = duration[slice];
    wide.category[entry] = category[item[slice]];
  }
  wide.count = wides;
  for (let pixel = 0; pixel < width; pixel += 1) {
    const longest = best[pixel];
    if (longest < 0) continue;
    const share = busy[pixel] / per;
    fine.bucket[fine.count] = pixel;
    fine.busy[fine.count] = share <= 0 ? 0 : share >= 1 ? 255 : Math.min(254, Math.max(1, Math.round(share * 255)));
    fine.category[fine.count] = category[item[longest]];
    fine.longest[fine.count] = duration[longest];
    fine.count += 1;
  }
}
