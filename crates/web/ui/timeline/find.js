// The slices at a place: under the pointer, beside the selected slice, launched by a call.

import { first_ending_after, first_from, slice_at, busy_within, longest_of } from "../data/row_index.js";
import { count_within } from "../data/window.js";
import { ITEM } from "../data/profile.js";

/**
 * The slice at a moment of a row, or the nearest within `near` ticks; -1 of none.
 * @param {Row} row @param {number} time @param {number} near
 */
export function slice_near(row, time, near) {
  const { index } = row;
  const exact = slice_at(index, time);
  if (exact >= 0) return exact;
  const after = first_ending_after(index, time);
  /** @type {[number, number][]} */
  const found = [];
  if (after < index.count) found.push([index.start[after] - time, after]);
  if (after > 0) found.push([time - index.start[after - 1] - index.duration[after - 1], after - 1]);
  found.sort((a, b) => a[0] - b[0]);
  return found.length > 0 && found[0][0] <= near ? found[0][1] : -1;
}

/**
 * The content of a row's pixel: one slice, or several by number, busy share and the longest.
 * @param {Row} row @param {number} time @param {number} per ticks of a pixel
 */
export function under(row, time, per) {
  const { index } = row;
  const slice = slice_near(row, time, per);
  if (slice < 0) return null;
  if (index.duration[slice] >= 2 * per || count_within(row, time - per / 2, time + per / 2) <= 1) return { slice, count: 1, share: 1, longest: slice };
  const first = first_ending_after(index, time - per / 2);
  const last = first_from(index.start, time + per / 2, first);
  return { slice, count: last - first, share: busy_within(index, time - per / 2, time + per / 2) / per, longest: longest_of(index, first, last) };
}

/**
 * The density entry of a row at a moment, or -1.
 * @param {Profile} profile @param {Row} row @param {number} time
 */
export function density_at(profile, row, time) {
  if (!row.density) return -1;
  const wanted = Math.floor(time / profile.density_bucket);
  return row.density.bucket.indexOf(wanted);
}

/**
 * The call that launched a slice and what the slice launched, at most 200.
 * @param {Profile} profile @param {number} slice
 * @returns {{ from: number, to: number }[]}
 */
export function links_of(profile, slice) {
  const launch = profile.column("launch");
  const links = [];
  if (launch[slice] > 0) links.push({ from: launch[slice] - 1, to: slice });
  for (let at = 0; at < launch.length && links.length < 200; at += 1) {
    if (launch[at] === slice + 1) links.push({ from: slice, to: at });
  }
  return links;
}

/**
 * All executions of an operator in order of time. Looked for once for each operator asked for.
 * @param {Profile} profile @param {number} operator
 * @returns {Uint32Array} numbers of slices
 */
export function executions_of(profile, operator) {
  const known = kept.get(profile)?.get(operator);
  if (known) return known;
  const found = [];
  const { item, items } = profile;
  for (let slice = 0; slice < profile.count; slice += 1) {
    if (items.operator[item[slice]] === operator + 1) found.push(slice);
  }
  found.sort((a, b) => profile.start[a] - profile.start[b]);
  const list = Uint32Array.from(found);
  const of_profile = kept.get(profile) ?? new Map();
  kept.set(profile, of_profile.set(operator, list));
  if (of_profile.size > 50) of_profile.delete(of_profile.keys().next().value);
  return list;
}

/** @type {WeakMap<object, Map<number, Uint32Array>>} */
const kept = new WeakMap();

/**
 * The item of calls or ranges of a name, -1 of none: findings about the host and comparisons name them.
 * @param {Profile} profile @param {string} name
 */
export function item_of(profile, name) {
  for (let item = 0; item < profile.items.count; item += 1) {
    const kind = profile.items.kind[item];
    if ((kind === ITEM.call || kind === ITEM.range) && profile.item_name(item) === name) return item;
  }
  return -1;
}
