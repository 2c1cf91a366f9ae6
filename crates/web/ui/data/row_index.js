// What makes a picture's cost depend on its pixels and not on its slices: sums of busy time before each
// slice, and a tree of the longest slice over blocks of eight, from which buckets of any width are made.

const BLOCK = 8;

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
  for (let size = count; size > BLOCK; size = longest[longest.length - 1].length) {
    const below = longest[longest.length - 1];
    const level = new Uint32Array(Math.ceil(size / BLOCK));
    for (let block = 0; block < level.length; block += 1) {
      let best = below ? below[block * BLOCK] : block * BLOCK;
      const end = Math.min(size, (block + 1) * BLOCK);
      for (let at = block * BLOCK + 1; at < end; at += 1) {
        const other = below ? below[at] : at;
        if (duration[other] > duration[best]) best = other;
      }
      level[block] = best;
    }
    longest.push(level);
  }
  return { count, start, duration, item, busy_before, longest };
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
  high = Math.min(high, count);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (start[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The first slice that ends after `time`: where a window begins.
 * @param {RowIndex} index @param {number} time
 */
export function first_ending_after(index, time) {
  let low = 0;
  let high = index.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (index.start[middle] + index.duration[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
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
 * The longest of the slices `from` to `to` (not included), the first of equals; -1 of none.
 * @param {RowIndex} index @param {number} from @param {number} to
 */
export function longest_of(index, from, to) {
  if (from >= to) return -1;
  const { duration, longest } = index;
  let best = from;
  let level = -1;
  // Up the tree: what doesn't fill a block is looked at on its level, the rest one level higher.
  while (from < to) {
    const values = level < 0 ? null : longest[level];
    const top = level + 1 >= longest.length;
    const left = top ? to : Math.min(to, Math.ceil(from / BLOCK) * BLOCK);
    for (; from < left; from += 1) {
      const other = values ? values[from] : from;
      if (duration[other] > duration[best] || (duration[other] === duration[best] && other < best)) best = other;
    }
    const right = Math.max(from, Math.floor(to / BLOCK) * BLOCK);
    for (let at = right; at < to; at += 1) {
      const other = values ? values[at] : at;
      if (duration[other] > duration[best] || (duration[other] === duration[best] && other < best)) best = other;
    }
    from /= BLOCK;
    to = right / BLOCK;
    level += 1;
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
  const { start, duration, item, busy_before } = index;
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
  let at = first_ending_after(index, from);
  while (at < index.count && start[at] < to) {
    if (duration[at] >= limit) {
      add_wide(at);
      at += 1;
      continue;
    }
    const pixel = Math.min(width - 1, Math.max(0, Math.floor((start[at] - from) / per)));
    let next = first_from(start, from + (pixel + 1) * per, at + 1);
    // Only the last slice that begins in a bucket can be longer than it.
    const last = next - 1;
    const wide_last = last > at && duration[last] >= limit;
    const end = wide_last ? last : next;
    scratch.merged += end - at;
    const over = start[end - 1] + duration[end - 1];
    let sum = busy_before[end] - busy_before[at] - Math.max(0, from - start[at]);
    const longest = longest_of(index, at, end);
    take(pixel, longest);
    // What reaches over into the next buckets belongs to those.
    for (let beyond = pixel + 1, left = from + beyond * per; over > left; beyond += 1, left += per) {
      const rest = over - left;
      if (beyond === pixel + 1) sum -= rest;
      if (beyond >= width) break;
      busy[beyond] += Math.min(per, rest);
      take(beyond, end - 1);
    }
    busy[pixel] += sum;
    if (wide_last) add_wide(last);
    else next = end;
    at = next;
  }
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

  /** @param {number} pixel @param {number} slice */
  function take(pixel, slice) {
    if (best[pixel] < 0 || duration[slice] > duration[best[pixel]]) best[pixel] = slice;
  }

  /** @param {number} slice */
  function add_wide(slice) {
    const n = wide.count;
    if (n >= wide.start.length) return;
    wide.start[n] = start[slice];
    wide.duration[n] = duration[slice];
    wide.category[n] = category[item[slice]];
    slices[n] = slice;
    wide.count = n + 1;
  }
}
