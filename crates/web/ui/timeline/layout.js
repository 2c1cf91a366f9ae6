// Which rows lie where: groups with their rows, pinned ones first; folded and hidden ones take no place.

import { first_place } from "../data/row_index.js";

export const HEIGHT = { group: 26, row: 20, counter: 40, pins: 24 };

/** @typedef {{ y: number, height: number, row: Row | null, group: number, folded: boolean, pinned: boolean }} Place */

/**
 * @param {Profile} profile
 * @param {{ folded: readonly string[], hidden: readonly string[], pinned: readonly string[], filter: string }} choice
 * @returns {{ places: Place[], height: number }}
 */
export function lay_out(profile, { folded, hidden, pinned, filter }) {
  /** @type {Place[]} */
  const places = [];
  let y = 0;
  const put = (/** @type {Row | null} */ row, /** @type {number} */ group, /** @type {boolean} */ fold, /** @type {boolean} */ pin) => {
    const height = row === null ? HEIGHT.group : row.kind === "counter" ? HEIGHT.counter : HEIGHT.row;
    places.push({ y, height, row, group, folded: fold, pinned: pin });
    y += height;
  };
  const wanted = filter.toLowerCase();
  const seen = (/** @type {Row} */ row) => !hidden.includes(row.key) && (wanted === "" || row.title.toLowerCase().includes(wanted) || row.kind === "busy" && wanted.length < 2);
  const on_top = profile.rows.filter((it) => pinned.includes(it.key) && !hidden.includes(it.key));
  if (on_top.length > 0) {
    put(null, -1, false, true);
    for (const row of on_top) put(row, row.group, false, true);
  }
  profile.facts.groups.forEach((group, number) => {
    const rows = profile.rows.filter((it) => it.group === number && !pinned.includes(it.key) && seen(it));
    if (rows.length === 0) return;
    const fold = folded.includes(group_key(group));
    put(null, number, fold, false);
    if (!fold) for (const row of rows) put(row, number, false, false);
  });
  return { places, height: y };
}

/** @param {TimelineGroup} group */
export function group_key(group) {
  return group.kind === "device" ? `d${group.device ?? ""}` : `${group.kind}/${group.name}`.slice(0, 60);
}

/**
 * The place at a height, or null.
 * @param {Place[]} places @param {number} y
 */
export function place_at(places, y) {
  const place = places[first_place(0, places.length, (at) => places[at].y + places[at].height > y)];
  return place && y >= place.y ? place : null;
}
