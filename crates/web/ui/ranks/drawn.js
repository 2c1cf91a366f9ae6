// The timeline of some ranks: rows with their slices, who waited for whom, and where rows lie in a picture.

/** Kinds of rows. */
export const ROW = { steps: 0, work: 1, collectives: 2 };
/** Kinds of slices; collectives begin behind them, in the order of their types. */
export const SLICE = { step: 0, work: 1, collective: 2 };

/** Pixels of a row, of a rank's steps, and between ranks. */
const HEIGHT = { row: 15, steps: 15, gap: 9 };

/** @typedef {ReturnType<typeof make_drawn>} Drawn */

/** @param {Container} columns */
export function make_drawn(columns) {
  const [rows, slices, arrows] = ["rows", "slices", "arrows"].map((it) => columns.table(it));
  const [rank, kind, role, lane] = [rows.numbers("rank"), rows.numbers("kind"), rows.texts("role"), rows.numbers("lane")];
  const column = (/** @type {string} */ name) => slices.numbers(name);
  const [row, start, duration] = [column("row"), column("start"), column("duration")];
  /** @type {number[][]} */
  const of_row = Array.from({ length: rows.count }, () => []);
  let end = 1;
  for (let slice = 0; slice < slices.count; slice += 1) {
    of_row[row[slice]].push(slice);
    end = Math.max(end, start[slice] + duration[slice]);
  }
  for (const list of of_row) list.sort((a, b) => start[a] - start[b]);
  return {
    count: slices.count,
    rows: Array.from({ length: rows.count }, (_, at) => ({ rank: rank[at], kind: kind[at], role: role[at], lane: lane[at], slices: of_row[at] })),
    row, start, duration, end,
    kind: column("kind"), step: column("step"), sequence: column("sequence"), waiting: column("waiting"), last: column("last"), inferred: column("inferred"), seen: column("seen"), members: column("members"), bytes: column("bytes"),
    /** Pairs of slices: whoever came last, and who waited for it. */
    from: arrows.numbers("from"), to: arrows.numbers("to"), arrows: arrows.count,
    ranks: [...new Set(rank)],
  };
}

/** @typedef {{ rank: number, top: number, height: number, rows: { at: number, top: number, height: number }[] }} Block */

/**
 * The places of rows, rank below rank.
 * @param {Drawn} drawn @param {(rank: number) => boolean} shows
 * @returns {{ blocks: Block[], height: number, tops: Map<number, { top: number, height: number }> }}
 */
export function layout_of(drawn, shows) {
  /** @type {Block[]} */
  const blocks = [];
  const tops = new Map();
  let top = 0;
  drawn.rows.forEach((row, at) => {
    if (!shows(row.rank)) return;
    let block = blocks.at(-1);
    if (block?.rank !== row.rank) {
      if (block) top += HEIGHT.gap;
      block = { rank: row.rank, top, height: 0, rows: [] };
      blocks.push(block);
    }
    const height = row.kind === ROW.steps ? HEIGHT.steps : HEIGHT.row;
    block.rows.push({ at, top, height });
    tops.set(at, { top, height });
    top += height;
    block.height = top - block.top;
  });
  return { blocks, height: top, tops };
}

/** The first of a row's slices that ends behind a moment; their starts are in order. @param {Drawn} drawn @param {number[]} slices @param {number} moment */
export function first_behind(drawn, slices, moment) {
  let [low, high] = [0, slices.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (drawn.start[slices[middle]] + drawn.duration[slices[middle]] < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The waits in sight, the longest first: those that an arrow tells, between rows that are shown.
 * @param {Drawn} drawn @param {Span} view @param {(row: number) => boolean} shows
 * @returns {number[]} places of arrows
 */
export function waits_within(drawn, view, shows) {
  const found = [];
  for (let at = 0; at < drawn.arrows; at += 1) {
    const moment = drawn.start[drawn.from[at]];
    if (moment >= view[0] && moment <= view[1] && shows(drawn.row[drawn.from[at]]) && shows(drawn.row[drawn.to[at]])) found.push(at);
  }
  return found.sort((a, b) => drawn.waiting[drawn.to[b]] - drawn.waiting[drawn.to[a]]);
}

/** The slice of a row nearest to a moment, within so many nanoseconds; -1 of none. @param {Drawn} drawn @param {number} row @param {number} moment @param {number} near */
export function slice_at(drawn, row, moment, near) {
  const { slices } = drawn.rows[row];
  let [best, least] = [-1, near];
  for (let at = Math.max(0, first_behind(drawn, slices, moment - near)); at < slices.length; at += 1) {
    const slice = slices[at];
    if (drawn.start[slice] > moment + near) break;
    const away = Math.max(0, drawn.start[slice] - moment, moment - drawn.start[slice] - drawn.duration[slice]);
    if (away < least || (best < 0 && away <= near)) [best, least] = [slice, away];
  }
  return best;
}
