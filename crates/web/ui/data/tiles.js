// Parts of rows that the server sums up: kept, asked for as the view needs them, laid together for painting. A
// coarser part stands in until the finer one is there.

import { signal } from "../state/signal.js";

const BUCKETS = 512;
// Each takes some 10 kB, 20 where all of its buckets have long slices. A screen of 64 rows wants a thousand.
const MOST_TILES = 2000;
const COARSER = 14;
const MOST_ROWS = 64;
// Where an answer of some size comes with fewer bytes a millisecond, a moving view makes do with half as many buckets.
const SLOW = 4000;
const OF_SOME_SIZE = 32e3;
const AT_REST = 250;

/** @typedef {{ bucket: Uint16Array, busy: Uint8Array, count: Uint16Array, item: Uint32Array, longest: Float64Array,
 *   start: Float64Array, duration: Float64Array, wide_item: Uint32Array, id: Uint32Array }} Tile */
/** @typedef {{ rows: number[], view: Span, across: number }} Wish the rows in sight, the view, device pixels */
/** @typedef {{ level: number, first: number, count: number, rows: number[] }} Question */
/** @typedef {RowColumns & { key: string, of: ArrayLike<number>, counts: Uint16Array, fine_item: Uint32Array, wide_item: Uint32Array, id: Uint32Array, end: number, merged: number, room: ArrayBuffer }} Laid `merged` counts the slices that are too short to stand alone */

/** @typedef {ReturnType<typeof make_tiles>} Tiles */
/** @typedef {{ now: () => number, after: (ms: number, act: () => void) => number, forget: (waiting: number) => void }} Clock in milliseconds */

/** @type {Clock} */
const REAL = { now: () => performance.now(), after: (ms, act) => Number(setTimeout(act, ms)), forget: (waiting) => clearTimeout(waiting) };

/**
 * @param {(question: Question) => Promise<Container>} ask
 * @param {number} end the last tick
 * @param {Clock} clock another one in tests
 */
export function make_tiles(ask, end, clock = REAL) {
  /** @type {Map<string, Tile>} */
  const kept = new Map();
  /** @type {Map<number, Laid>} */
  const laid = new Map();
  const arrived = signal(0);
  let asking = false;
  let slow = false;
  let moving = false;
  let until_rest = 0;
  /** @type {Wish | null} */
  let latest = null;
  return { arrived, want, columns_of, under };

  /** Has what a view shows come; of several wishes the newest counts. @param {Wish} wish */
  function want(wish) {
    if (latest && (latest.view[0] !== wish.view[0] || latest.view[1] !== wish.view[1])) {
      moving = true;
      clock.forget(until_rest);
      until_rest = clock.after(AT_REST, rest);
    }
    latest = { ...wish, rows: wish.rows.slice(0, MOST_ROWS) };
    if (!asking) void go();
  }

  function rest() {
    moving = false;
    if (!asking) void go();
  }

  async function go() {
    asking = true;
    try {
      for (let next = missing(); next; next = missing()) {
        const begun = clock.now();
        const answer = await ask(next);
        if (answer.size > OF_SOME_SIZE) slow = answer.size / (clock.now() - begun) < SLOW;
        take(next, answer);
        arrived.value += 1;
      }
    } catch (error) {
      // A server that refuses is asked again by the next move.
      console.warn(error);
    } finally {
      asking = false;
    }
  }

  /** The missing tiles of the newest wish: what is in sight, then beside it, then one level above. @returns {Question | null} */
  function missing() {
    if (!latest) return null;
    const { view, across, rows } = latest;
    const level = level_of(view, across) + (slow && moving ? 1 : 0);
    const size = BUCKETS * 2 ** level;
    const [first, last] = [Math.max(0, Math.floor(view[0] / size)), Math.floor(Math.min(view[1], end) / size)];
    const count = last - first + 1;
    return of(level, first, last, rows) ?? of(level, last + 1, last + count, rows) ?? of(level, first - count, first - 1, rows)
      ?? of(level + 1, Math.floor(first / 2), Math.floor(last / 2), rows);
  }

  /** @param {number} level @param {number} first @param {number} last @param {number[]} rows @returns {Question | null} */
  function of(level, first, last, rows) {
    const size = BUCKETS * 2 ** level;
    const from = Math.max(0, first);
    const to = Math.min(last, Math.floor(end / size), from + 31);
    if (to < from) return null;
    const lacking = rows.filter((row) => {
      for (let number = from; number <= to; number += 1) if (!kept.has(`${row}/${level}/${number}`)) return true;
      return false;
    });
    return lacking.length > 0 ? { level, first: from, count: to - from + 1, rows: lacking } : null;
  }

  /** @param {Question} question @param {Container} answer */
  function take(question, answer) {
    const [tiles, fine, wide] = ["tiles", "fine", "wide"].map((it) => answer.table(it));
    const column = (/** @type {Table} */ table, /** @type {string} */ name) => table.numbers(name);
    const [row, number, fines, wides] = ["row", "number", "fine", "wide"].map((it) => column(tiles, it));
    let [at, beyond] = [0, 0];
    for (let tile = 0; tile < tiles.count; tile += 1) {
      const part = (/** @type {string} */ name) => column(fine, name).slice(at, at + fines[tile]);
      const slices = (/** @type {string} */ name) => column(wide, name).slice(beyond, beyond + wides[tile]);
      const key = `${row[tile]}/${question.level}/${number[tile]}`;
      kept.delete(key);
      kept.set(key, /** @type {Tile} */ ({ bucket: part("bucket"), busy: part("busy"), count: part("count"), item: part("item"), longest: part("longest"),
        start: slices("start"), duration: slices("duration"), wide_item: slices("item"), id: slices("id") }));
      at += fines[tile];
      beyond += wides[tile];
    }
    // The oldest go first: what is in sight was asked for last.
    for (const key of kept.keys()) {
      if (kept.size <= MOST_TILES) break;
      kept.delete(key);
    }
  }

  /**
   * The known part of a row's view, at the finest level that covers it; null while nothing is.
   * @param {number} row @param {Span} view @param {number} across @param {ArrayLike<number>} category of each item
   * @returns {Laid | null}
   */
  function columns_of(row, view, across, category) {
    const known = laid.get(row);
    const wanted = level_of(view, across);
    for (let level = wanted; level < wanted + COARSER; level += 1) {
      const size = BUCKETS * 2 ** level;
      const [first, last] = [Math.max(0, Math.floor(view[0] / size)), Math.floor(Math.min(view[1], end) / size)];
      const key = `${level}/${first}/${last}`;
      const fresh = known?.key === key ? known : lay(row, level, first, last, key);
      if (!fresh) continue;
      if (fresh.of !== category) {
        fresh.of = category;
        for (let at = 0; at < fresh.fine.count; at += 1) fresh.fine.category[at] = category[fresh.fine_item[at]];
        for (let at = 0; at < fresh.wide.count; at += 1) fresh.wide.category[at] = category[fresh.wide_item[at]];
      }
      laid.delete(row);
      laid.set(row, fresh);
      // Rows that were scrolled away longest ago are laid anew when they come back.
      const [oldest] = laid.keys();
      if (laid.size > 2 * MOST_ROWS) laid.delete(oldest);
      return fresh;
    }
    return null;
  }

  /** @param {number} row @param {number} level @param {number} first @param {number} last @param {string} key @returns {Laid | null} */
  function lay(row, level, first, last, key) {
    /** @type {Tile[]} */
    const tiles = [];
    for (let number = first; number <= last; number += 1) {
      const tile = kept.get(`${row}/${level}/${number}`);
      if (!tile) return null;
      tiles.push(tile);
    }
    const fines = tiles.reduce((sum, it) => sum + it.bucket.length, 0);
    const wides = tiles.reduce((sum, it) => sum + it.start.length, 0);
    const size = 2 ** level;
    // The columns of a row lie in one buffer that is used again, 19 bytes for each bucket and 26 for each slice: a view
    // that moves would leave behind some megabytes with each picture, which the browser only gives back much later.
    const wanted = fines * 19 + wides * 26;
    const before = laid.get(row)?.room;
    const room = before && before.byteLength >= wanted ? before : new ArrayBuffer(wanted + wanted / 4);
    // Wide numbers come first, so that each column has its alignment.
    let offset = 0;
    /** @template T @param {new (buffer: ArrayBuffer, offset: number, count: number) => T} Column @param {number} bytes @param {number} count */
    const column = (Column, bytes, count) => {
      offset += bytes * count;
      return new Column(room, offset - bytes * count, count);
    };
    const float = (/** @type {number} */ count) => column(Float64Array, 8, count);
    const long = (/** @type {number} */ count) => column(Uint32Array, 4, count);
    const short = (/** @type {number} */ count) => column(Uint16Array, 2, count);
    const [longest, start, duration, fine_item, wide_item, id] = [float(fines), float(wides), float(wides), long(fines), long(wides), long(wides)];
    /** @type {Laid} */
    const out = {
      key, merged: 0, of: [], origin: first * BUCKETS * size, bucket: size, end: (last + 1) * BUCKETS * size, room,
      counts: short(fines), fine_item, wide_item, id, wide: { count: 0, start, duration, category: short(wides) },
      fine: { count: fines, bucket: short(fines), category: short(fines), busy: column(Uint8Array, 1, fines), longest },
    };
    let at = 0;
    tiles.forEach((tile, number) => {
      out.fine.busy.set(tile.busy, at);
      out.fine.longest.set(tile.longest, at);
      out.counts.set(tile.count, at);
      out.fine_item.set(tile.item, at);
      for (const count of tile.count) out.merged += count;
      for (const bucket of tile.bucket) out.fine.bucket[at++] = bucket + number * BUCKETS;
      for (let slice = 0; slice < tile.start.length; slice += 1) {
        // One that reaches over into the next tile is in both.
        const to = out.wide.count;
        if (to > 0 && out.wide.start[to - 1] === tile.start[slice]) continue;
        out.wide.start[to] = tile.start[slice];
        out.wide.duration[to] = tile.duration[slice];
        out.wide_item[to] = tile.wide_item[slice];
        out.id[to] = tile.id[slice];
        out.wide.count += 1;
      }
    });
    return out;
  }

  /**
   * The paint of a row at a moment, within `near` ticks: one slice, or several by number, share and the longest.
   * @param {number} row @param {number} time @param {number} near
   */
  function under(row, time, near) {
    const it = laid.get(row);
    if (!it || time < it.origin || time >= it.end) return null;
    const { wide, fine } = it;
    for (let at = 0; at < wide.count; at += 1) {
      const [start, length] = [wide.start[at], wide.duration[at]];
      if (start - near <= time && time < start + length + near) return { count: 1, share: 1, item: it.wide_item[at], start, duration: length };
    }
    const bucket = (time - it.origin) / it.bucket;
    const reach = Math.max(1, near / it.bucket);
    const at = fine.bucket.findIndex((number) => number + reach > bucket && number <= bucket + reach - 1);
    return at < 0 ? null : { count: it.counts[at], share: fine.busy[at] / 255, item: it.fine_item[at], start: it.origin + fine.bucket[at] * it.bucket, duration: fine.longest[at] };
  }
}

/** The level whose bucket is a device pixel or less, and more than half of one. @param {Span} view @param {number} across */
function level_of([from, to], across) {
  return Math.max(0, Math.floor(Math.log2((to - from) / Math.max(1, across))));
}
