// One frame of the timeline: rows as pixels, then bands, labels, outlines and arrows over them.

import { operator_of, operators_of } from "../state/selected.js";
import { make_buckets, make_scratch, first_ending_after, first_from } from "../data/row_index.js";
import { paint_row, paint_over } from "./paint_row.js";
import { SLOWER, category_of_row } from "./categories.js";
import { counter_width, draw_counter } from "./counter.js";
import { item_label, slice_label } from "../parts/live.js";
import { about } from "../parts/units.js";
import { FILL } from "../parts/colours.js";
import { ITEM } from "../data/profile.js";

const LABEL_FROM = 30;
const LABELS_MOVING = 400;
export const FONT = '11px system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif';

/**
 * Draws frames onto a canvas.
 * @param {App} app @param {HTMLCanvasElement} canvas
 */
export function make_drawing(app, canvas) {
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  const strips = document.createElement("canvas");
  const strips_pen = /** @type {CanvasRenderingContext2D} */ (strips.getContext("2d", { willReadFrequently: false }));
  let scratch = make_scratch(1);
  /** @type {ImageData | null} */
  let image = null;
  /** @type {Map<number, { text: string, width: number }>} */
  const labels = new Map();
  /** @type {Map<string, { counters: { least: number, most: number } | null, merged: boolean }>} */
  const notes = new Map();
  /** @type {WeakMap<Row, { of: Uint16Array, category: Uint16Array }>} */
  const faint = new WeakMap();

  return { draw, notes, forget_labels: () => labels.clear() };

  /**
   * @param {{ places: Place[], scroll: number, width: number, height: number, ratio: number, categories: Uint16Array, moving: boolean,
   *   links: Link[], band: Span | null }} frame sizes in CSS pixels
   */
  function draw(frame) {
    const { places, scroll, width, height, ratio } = frame;
    const palette = app.palette.peek();
    const view = app.view.peek();
    const across = Math.max(1, Math.round(width * ratio));
    if (canvas.width !== across || canvas.height !== Math.round(height * ratio)) {
      canvas.width = across;
      canvas.height = Math.round(height * ratio);
    }
    // While the view moves, a bucket is two pixels wide: half the work, and nobody can see it. At rest each is one.
    const buckets = frame.moving ? Math.ceil(across / 2) : across;
    if (scratch.busy.length < across) scratch = make_scratch(across);
    const shown = places.filter((it) => it.y + it.height > scroll && it.y < scroll + height);
    const painted = shown.filter((it) => it.row && it.row.kind !== "counter");
    if (!image || image.width !== across || image.height < painted.length) {
      image = pen.createImageData(across, Math.max(1, painted.length + 8));
      strips.width = across;
      strips.height = image.height;
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = palette.background;
    pen.fillRect(0, 0, across, canvas.height);
    pen.imageSmoothingEnabled = false;

    const pixels = new Uint32Array(image.data.buffer);
    /** @type {Wide[]} */
    const wide = [];
    /** @type {number[]} */
    const slices = [];
    painted.forEach((place, line) => {
      const row = /** @type {Row} */ (place.row);
      const out = pixels.subarray(line * across, (line + 1) * across);
      const { served } = app.profile;
      const tiles = served?.paints(row, view) ? served.tiles.columns_of(served.row_number(row), view, across, frame.categories) : null;
      if (tiles) {
        const only = category_of_row(row, app.colouring.peek());
        if (only !== null) {
          tiles.fine.category.fill(only);
          tiles.wide.category.fill(only);
        }
        paint_row(tiles, view[0], view[1], across, palette.fills, out);
        const { count, start, duration } = tiles.wide;
        wide.push({ place, of: { start, duration, item: tiles.wide_item }, first: -1, count });
        if (!frame.moving) notes.set(row.key, { counters: null, merged: tiles.merged > count });
        return;
      }
      make_buckets(row.index, view[0], view[0] + ((view[1] - view[0]) * buckets * (frame.moving ? 2 : 1)) / across, buckets, frame.categories, scratch);
      const one = category_of_row(row, app.colouring.peek());
      if (one !== null) {
        scratch.columns.fine.category.fill(one, 0, scratch.columns.fine.count);
        scratch.columns.wide.category.fill(one, 0, scratch.columns.wide.count);
      }
      const under = density_columns(row, frame.categories);
      if (under) {
        paint_row(under, view[0], view[1], across, palette.fills, out);
        paint_over(scratch.columns, view[0], view[1], across, palette.fills, out);
      } else {
        paint_row(scratch.columns, view[0], view[1], across, palette.fills, out);
      }
      const count = scratch.columns.wide.count;
      wide.push({ place, of: row.index, first: slices.length, count });
      for (let at = 0; at < count; at += 1) slices.push(scratch.slices[at]);
      if (!frame.moving) notes.set(row.key, { counters: null, merged: scratch.merged > count && scratch.merged > 1 });
    });
    if (painted.length > 0) strips_pen.putImageData(image, 0, 0, 0, 0, across, painted.length);
    painted.forEach((place, line) => {
      const top = Math.round((place.y - scroll + 1) * ratio);
      const bottom = Math.round((place.y + place.height - scroll - 1) * ratio);
      pen.drawImage(strips, 0, line, across, 1, 0, top, across, bottom - top);
    });

    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x_of = (/** @type {number} */ time) => ((time - view[0]) / (view[1] - view[0])) * width;
    for (const place of shown) {
      if (place.row === null) {
        pen.fillStyle = palette.raised;
        pen.fillRect(0, place.y - scroll, width, place.height);
        pen.fillStyle = palette.line;
        pen.fillRect(0, place.y - scroll + place.height - 1, width, 1);
      } else if (place.row.kind === "counter" && place.row.samples) {
        const range = draw_counter(pen, place.row.samples, view, { x: 0, y: place.y - scroll, width, height: place.height }, palette, app.profile.served?.buckets(place.row, view, counter_width(width)), app.all_values.peek());
        if (!frame.moving) notes.set(place.row.key, { counters: range, merged: false });
      }
    }
    draw_inference_bands(pen, palette, width, height, x_of);
    draw_labels(frame, wide, slices, palette, x_of);
    draw_moments(shown, scroll, width, palette, x_of);
    draw_marks(frame, shown, palette, x_of);
  }

  // Marks take no time: a diamond where there is room for each, with its name up to the next one.
  /** @param {Place[]} shown @param {number} scroll @param {number} width @param {Palette} palette @param {(time: number) => number} x_of */
  function draw_moments(shown, scroll, width, palette, x_of) {
    const [from, to] = app.view.peek();
    pen.font = FONT;
    for (const place of shown) {
      const row = place.row;
      if (!row || (row.kind !== "ranges" && row.kind !== "loose-ranges")) continue;
      const first = first_ending_after(row.index, from - 1);
      const last = first_from(row.index.start, to, first);
      if (last - first > width / 4) continue;
      const middle = place.y - scroll + place.height / 2;
      for (let at = first; at < last; at += 1) {
        if (row.index.duration[at] !== 0) continue;
        const x = x_of(row.index.start[at]);
        pen.fillStyle = palette.accent;
        pen.beginPath();
        pen.moveTo(x, middle - 5);
        pen.lineTo(x + 4, middle);
        pen.lineTo(x, middle + 5);
        pen.lineTo(x - 4, middle);
        pen.fill();
        const room = (at + 1 < row.index.count ? x_of(row.index.start[at + 1]) : width) - x - 14;
        const { text, width: size } = label(row.index.item[at]);
        const fits = size <= room ? text : room < LABEL_FROM ? "" : short(text, room, size);
        pen.fillStyle = palette.text;
        if (fits !== "") pen.fillText(fits, x + 7, middle + 0.5);
      }
    }
  }

  /** @param {Parameters<typeof draw>[0]} frame @param {Wide[]} wide @param {number[]} slices @param {Palette} palette @param {(time: number) => number} x_of */
  function draw_labels(frame, wide, slices, palette, x_of) {
    const { profile } = app;
    const { scroll, width } = frame;
    const selection = app.selection.peek();
    const same = selection?.kind === "slice" ? operator_of(profile, selection) : -1;
    const slower = app.colouring.peek() === "change" && SLOWER;
    let left = frame.moving ? LABELS_MOVING : Infinity;
    pen.font = FONT;
    pen.textBaseline = "middle";
    pen.lineWidth = 1;
    for (const { place, of: index, first, count } of wide) {
      const row = /** @type {Row} */ (place.row);
      const top = place.y - scroll;
      for (let at = 0; at < count; at += 1) {
        const slice = first < 0 ? at : slices[first + at];
        const item = index.item[slice];
        const from = Math.max(0, x_of(index.start[slice]));
        const to = Math.min(width, x_of(index.start[slice] + index.duration[slice]));
        if (to < from) continue;
        const kind = profile.items.kind[item];
        // Slower is told from faster without colours too.
        if (slower && frame.categories[item] === slower && row.kind === "tasks") hatch(from, to - 1, top + 1, place.height - 2, palette);
        if (kind <= ITEM.unrecorded && row.first + slice < profile.count) hatch_warm_up(row.first + slice, from, to, top, place.height, palette);
        if (same >= 0 && profile.items.operator[item] === same + 1 && row.kind === "tasks") {
          pen.fillStyle = palette.text;
          pen.fillRect(from, top + place.height - 3, Math.max(1, to - from - 1), 2);
        }
        if (to - from < LABEL_FROM || left <= 0 || row.kind === "busy") continue;
        left -= 1;
        const inference = row.kind === "inferences" || row.kind === "unrecorded";
        const text = inference ? `${slice_label(profile, row.first + slice)} · ${about(profile.ns(index.duration[slice]))}` : label(item).text;
        const size = inference ? pen.measureText(text).width : label(item).width;
        const room = to - from - 7;
        pen.fillStyle = frame.categories[item] >= FILL.faded && frame.categories[item] < FILL.ramp ? palette.on_faded : palette.on_fill;
        const fits = size <= room ? text : short(text, room, size);
        if (fits !== "") pen.fillText(fits, from + 4, top + place.height / 2 + 0.5);
      }
    }
  }

  /** @param {number} item */
  function label(item) {
    let known = labels.get(item);
    if (!known) {
      const text = item_label(app.profile, item).slice(0, 120);
      known = { text, width: pen.measureText(text).width };
      labels.set(item, known);
    }
    return known;
  }

  /** @param {number} slice @param {number} from @param {number} to @param {number} top @param {number} height @param {Palette} palette */
  function hatch_warm_up(slice, from, to, top, height, palette) {
    const { profile } = app;
    if (profile.iterations.warm_up[profile.column("iteration")[slice] - 1] !== 1 || to - from < 4) return;
    hatch(from, to - 1, top + 1, height - 2, palette);
  }

  /** @param {number} from @param {number} to @param {number} top @param {number} height @param {Palette} palette */
  function hatch(from, to, top, height, palette) {
    pen.strokeStyle = palette.background;
    pen.globalAlpha = 0.45;
    pen.beginPath();
    for (let x = from - height; x < to; x += 6) {
      const [left, right] = [Math.max(x, from), Math.min(x + height, to)];
      pen.moveTo(left, top + height - left + x);
      pen.lineTo(right, top + height - right + x);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  // Every second inference is shaded, and that of the selected slice.
  /** @param {CanvasRenderingContext2D} ink @param {Palette} palette @param {number} width @param {number} height @param {(time: number) => number} x_of */
  function draw_inference_bands(ink, palette, width, height, x_of) {
    const { within, start, duration, number } = app.profile.iterations;
    const selection = app.selection.peek();
    const own = selection?.kind === "slice" ? app.profile.iteration_of(selection.slice) : undefined;
    if (own) {
      ink.fillStyle = palette.mark;
      ink.fillRect(x_of(own.start), 0, x_of(own.start + own.duration) - x_of(own.start), height);
    }
    const most = Math.floor(width / 24);
    const visible = within(app.view.peek(), most);
    if (visible.length > most) return;
    ink.fillStyle = palette.shade;
    for (const at of visible) {
      const left = Math.max(0, x_of(start[at]));
      const right = Math.min(width, x_of(start[at] + duration[at]));
      if (number[at] % 2 === 0 && start[at] !== own?.start) ink.fillRect(left, 0, right - left, height);
    }
  }

  /** @param {Parameters<typeof draw>[0]} frame @param {Place[]} shown @param {Palette} palette @param {(time: number) => number} x_of */
  function draw_marks(frame, shown, palette, x_of) {
    const { width, height } = frame;
    const marked = frame.band;
    if (marked) {
      const [left, right] = [x_of(marked[0]), x_of(marked[1])];
      pen.fillStyle = palette.mark;
      pen.fillRect(left, 0, right - left, height);
      pen.fillStyle = palette.accent;
      pen.fillRect(left - 0.5, 0, 1, height);
      pen.fillRect(right - 0.5, 0, 1, height);
    }
    for (const flag of app.flags.peek()) {
      const x = x_of(flag.at);
      if (x < -1 || x > width + 1) continue;
      pen.fillStyle = palette.flag;
      pen.fillRect(x - 0.5, 0, 1, height);
    }
    const selection = app.selection.peek();
    if (selection?.kind === "slice") {
      outline(selection.slice, frame, palette, x_of, 2);
      draw_links(frame, palette, x_of);
    } else {
      for (const operator of operators_of(app.profile, selection)) underline_executions(operator, frame, shown, palette, x_of);
    }
  }

  /** @param {number} slice @param {Parameters<typeof draw>[0]} frame @param {Palette} palette @param {(time: number) => number} x_of @param {number} weight */
  function outline(slice, frame, palette, x_of, weight) {
    const box = box_of(slice, frame, x_of);
    if (!box) return;
    pen.strokeStyle = palette.text;
    pen.lineWidth = weight;
    pen.strokeRect(box.x - 1, box.y + 0.5, Math.max(2, box.width) + 1, box.height - 1);
  }

  /** @param {number} slice @param {Parameters<typeof draw>[0]} frame @param {(time: number) => number} x_of */
  function box_of(slice, frame, x_of) {
    const { profile } = app;
    const row = profile.row_of(slice);
    const place = frame.places.find((it) => it.row === row && row !== null);
    if (!place) return null;
    const x = x_of(profile.start[slice]);
    return { x, y: place.y - frame.scroll, width: x_of(profile.start[slice] + profile.duration[slice]) - x, height: place.height };
  }

  // From calls to what they launched: from the end of the one to the begin of the other.
  /** @param {Parameters<typeof draw>[0]} frame @param {Palette} palette @param {(time: number) => number} x_of */
  function draw_links(frame, palette, x_of) {
    pen.strokeStyle = palette.text;
    pen.fillStyle = palette.text;
    pen.lineWidth = 1;
    for (const link of frame.links) {
      const [from, to] = [box_of(link.from, frame, x_of), box_of(link.to, frame, x_of)];
      if (!from || !to) continue;
      const [x1, y1] = [Math.min(from.x + from.width, Math.max(from.x, to.x)), from.y + from.height / 2];
      const [x2, y2] = [to.x, to.y + to.height / 2];
      if (Math.max(x1, x2) < -200 || Math.min(x1, x2) > frame.width + 200) continue;
      const bend = Math.min(60, Math.abs(x2 - x1) / 2 + 12);
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(x2, y2);
      pen.lineTo(x2 - 6, y2 - 3.5);
      pen.lineTo(x2 - 6, y2 + 3.5);
      pen.fill();
    }
  }

  /** @param {number} operator @param {Parameters<typeof draw>[0]} frame @param {Place[]} shown @param {Palette} palette @param {(time: number) => number} x_of */
  function underline_executions(operator, frame, shown, palette, x_of) {
    const { profile } = app;
    const [from, to] = app.view.peek();
    pen.fillStyle = palette.text;
    for (const place of shown) {
      const row = place.row;
      if (!row || row.kind !== "tasks") continue;
      const first = first_ending_after(row.index, from);
      const last = first_from(row.index.start, to, first);
      // Too many to be told apart: their row's name and the panel say how many.
      if (last - first > 200000) continue;
      let right = -1;
      for (let at = first; at < last; at += 1) {
        if (profile.items.operator[row.index.item[at]] !== operator + 1) continue;
        const x = Math.max(0, x_of(row.index.start[at]));
        const end = Math.min(frame.width, Math.max(x + 1, x_of(row.index.start[at] + row.index.duration[at])));
        if (end <= right) continue;
        pen.fillRect(x, place.y - frame.scroll + place.height - 3, end - x, 2);
        right = end;
      }
    }
  }

  /** @param {Row} row @param {Uint16Array} categories @returns {RowColumns | null} */
  function density_columns(row, categories) {
    const density = row.density;
    if (!density) return null;
    let category = faint.get(row)?.of === categories ? faint.get(row)?.category : undefined;
    if (!category) {
      const one = category_of_row(row, app.colouring.peek());
      category = Uint16Array.from(density.item, (it) => one ?? categories[it]);
      faint.set(row, { of: categories, category });
    }
    const bucket = app.profile.density_bucket;
    return {
      origin: 0,
      bucket,
      fine: { count: density.bucket.length, bucket: density.bucket, busy: density.busy, category, longest: density.longest },
      wide: { count: 0, start: new Float64Array(0), duration: new Float64Array(0), category: new Uint16Array(0) },
    };
  }
}

/** @typedef {{ from: number, to: number }} Link */
// Wide slices of a row: by their numbers in the row from `first` on in the frame's list, or, where that is -1, as they stand.
/** @typedef {{ place: Place, of: { start: Float64Array, duration: Numbers, item: Numbers }, first: number, count: number }} Wide */

// Names of nodes are paths whose last part tells them apart: it is shown where the whole has no room.
/** @param {string} text @param {number} room @param {number} size of the whole */
function short(text, room, size) {
  const fitting = Math.floor((text.length * room) / size);
  const slash = text.lastIndexOf("/");
  const tail = slash >= 0 && slash < text.length - 1 ? text.slice(slash + 1) : text;
  if (tail.length <= fitting) return tail;
  return fitting < 4 ? "" : `${tail.slice(0, fitting - 1)}…`;
}
