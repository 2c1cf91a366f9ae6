// When any of several rows was busy: a true union, whose gaps are the idle time of a device.

import { make_index } from "./row_index.js";

/**
 * @param {RowIndex[]} rows
 * @param {(item: number) => boolean} left_out
 * @returns {RowIndex} whose items are those of the longest slice of each piece
 */
export function union_of(rows, left_out) {
  const total = rows.reduce((sum, it) => sum + it.count, 0);
  const start = new Float64Array(total);
  const end = new Float64Array(total);
  const item = new Uint32Array(total);
  const longest = new Float64Array(total);
  const at = rows.map(() => 0);
  let count = 0;
  for (;;) {
    let next = -1;
    for (let row = 0; row < rows.length; row += 1) {
      if (at[row] < rows[row].count && (next < 0 || rows[row].start[at[row]] < rows[next].start[at[next]])) next = row;
    }
    if (next < 0) break;
    const slice = at[next];
    at[next] += 1;
    const index = rows[next];
    if (left_out(index.item[slice]) || index.duration[slice] === 0) continue;
    const from = index.start[slice];
    const to = from + index.duration[slice];
    if (count > 0 && from <= end[count - 1]) {
      if (to > end[count - 1]) end[count - 1] = to;
      if (index.duration[slice] > longest[count - 1]) {
        longest[count - 1] = index.duration[slice];
        item[count - 1] = index.item[slice];
      }
    } else {
      start[count] = from;
      end[count] = to;
      item[count] = index.item[slice];
      longest[count] = index.duration[slice];
      count += 1;
    }
  }
  const duration = new Float64Array(count);
  for (let piece = 0; piece < count; piece += 1) duration[piece] = end[piece] - start[piece];
  return make_index(start.slice(0, count), duration, item.slice(0, count));
}
