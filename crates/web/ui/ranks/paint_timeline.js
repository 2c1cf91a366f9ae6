// Draws the timeline of some ranks: on a canvas, or with a pen whose strokes become SVG.

import { colour_of_type } from "../parts/colours.js";
import { duration } from "../parts/units.js";
import { moment, steps } from "../timeline/scale.js";
import { first_behind, ROW, SLICE, waits_within } from "./drawn.js";

export const NAMES = 132;
export const AXIS = 24;
/** The most arrows that are drawn at once; of more the longest waits. */
export const MOST_ARROWS = 600;
const FONT = "11px system-ui, sans-serif";

/**
 * @typedef {{ drawn: import("./drawn.js").Drawn, layout: ReturnType<typeof import("./drawn.js").layout_of>, view: Span, width: number, height: number, scroll: number, palette: Palette, types: string[], name_of: (rank: number) => [string, string], row_name: (row: import("./drawn.js").Drawn["rows"][number]) => string, step_name: (step: number) => string, selected: number, marked: (rank: number) => boolean }} TimelineScene
 */

/** @param {CanvasRenderingContext2D} pen @param {TimelineScene} scene @returns {{ arrows: number, of: number }} how many waits are drawn, and of how many in sight */
export function paint_timeline(pen, scene) {
  const { drawn, layout, view, width, height, scroll, palette } = scene;
  const across = width - NAMES;
  const x_of = (/** @type {number} */ time) => NAMES + ((time - view[0]) / (view[1] - view[0])) * across;
  const y_of = (/** @type {number} */ top) => AXIS + top - scroll;
  pen.fillStyle = palette.background;
  pen.fillRect(0, 0, width, height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  for (const block of layout.blocks) {
    if (y_of(block.top + block.height) < AXIS || y_of(block.top) > height) continue;
    for (const { at, top, height: high } of block.rows) {
      const y = y_of(top);
      if (y + high < AXIS || y > height) continue;
      const row = drawn.rows[at];
      pen.fillStyle = palette.shade;
      if (row.kind !== ROW.steps) pen.fillRect(NAMES, y + 1, across, high - 2);
      paint_row(pen, scene, row.slices, y + 1, high - 2, x_of);
      pen.fillStyle = palette.soft;
      if (row.kind !== ROW.steps && row.lane === 0) {
        pen.textAlign = "right";
        pen.fillText(scene.row_name(row), NAMES - 8, y + high / 2);
        pen.textAlign = "left";
      }
    }
  }
  const drawn_waits = paint_arrows(pen, scene, x_of, y_of);
  for (const block of layout.blocks) paint_name(pen, scene, block, y_of);
  paint_axis(pen, scene, x_of);
  return drawn_waits;
}

/** @param {CanvasRenderingContext2D} pen @param {TimelineScene} scene @param {number[]} slices @param {number} y @param {number} high @param {(time: number) => number} x_of */
function paint_row(pen, { drawn, view, width, palette, types, selected, step_name }, slices, y, high, x_of) {
  let painted = -1;
  for (let at = first_behind(drawn, slices, view[0]); at < slices.length; at += 1) {
    const slice = slices[at];
    if (drawn.start[slice] > view[1]) break;
    const [left, right] = [Math.max(NAMES, x_of(drawn.start[slice])), Math.min(width, x_of(drawn.start[slice] + drawn.duration[slice]))];
    // A slice that ends in a pixel that has one already would not be seen.
    if (right - left < 0.5 && Math.floor(right) === painted && slice !== selected) continue;
    painted = Math.floor(right);
    const wide = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
    const kind = drawn.kind[slice];
    if (kind === SLICE.step) {
      pen.fillStyle = palette.strong_line;
      pen.fillRect(left, y, 1, high);
      pen.fillStyle = palette.text;
      const text = step_name(drawn.step[slice]);
      if (wide > pen.measureText(text).width + 8) pen.fillText(text, left + 5, y + high / 2);
      continue;
    }
    if (kind === SLICE.work) {
      pen.fillStyle = palette.counter_band;
      pen.fillRect(left, y, wide, high);
    } else {
      const colour = palette.css[colour_of_type(types[kind - SLICE.collective] ?? "")];
      // Until the last rank came it only waited.
      const came = Math.min(right, Math.max(left, x_of(drawn.start[slice] + drawn.waiting[slice])));
      pen.fillStyle = colour;
      pen.globalAlpha = 0.3;
      pen.fillRect(left, y, Math.max(0, Math.min(wide, came - left)), high);
      pen.globalAlpha = 1;
      pen.fillRect(Math.min(came, left + wide - 1), y, Math.max(1, left + wide - came), high);
      const text = types[kind - SLICE.collective] ?? "";
      if (wide > 70) {
        pen.fillStyle = palette.text;
        pen.fillText(text.length * 6 + 8 < wide ? text : "", left + 4, y + high / 2);
      }
    }
    if (slice === selected) {
      pen.strokeStyle = palette.text;
      pen.lineWidth = 2;
      pen.strokeRect(left - 1, y - 1, wide + 2, high + 2);
    }
  }
}

/** @param {CanvasRenderingContext2D} pen @param {TimelineScene} scene @param {(time: number) => number} x_of @param {(top: number) => number} y_of */
function paint_arrows(pen, { drawn, layout, view, height, palette, selected }, x_of, y_of) {
  const waits = waits_within(drawn, view, (row) => layout.tops.has(row));
  const of_selected = (/** @type {number} */ at) => drawn.from[at] === selected || drawn.to[at] === selected;
  // The longest waits lie on top, those of the selection above all.
  const told = waits.slice(0, MOST_ARROWS).reverse().sort((a, b) => Number(of_selected(a)) - Number(of_selected(b)));
  const longest = waits.length > 0 ? drawn.waiting[drawn.to[waits[0]]] : 1;
  for (const at of told) {
    const [from, to] = [layout.tops.get(drawn.row[drawn.from[at]]), layout.tops.get(drawn.row[drawn.to[at]])];
    if (!from || !to) continue;
    const x = x_of(drawn.start[drawn.from[at]]);
    const [y, end] = [y_of(from.top + from.height / 2), y_of(to.top + to.height / 2)];
    if (Math.max(y, end) < AXIS || Math.min(y, end) > height) continue;
    const chosen = of_selected(at);
    pen.globalAlpha = chosen ? 1 : selected >= 0 ? 0.15 : 0.2 + 0.6 * (drawn.waiting[drawn.to[at]] / longest);
    pen.strokeStyle = chosen ? palette.accent : palette.flag;
    pen.fillStyle = pen.strokeStyle;
    pen.lineWidth = chosen ? 2 : 1;
    const down = end > y ? 1 : -1;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x, end - 4 * down);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x, end);
    pen.lineTo(x - 3.5, end - 6 * down);
    pen.lineTo(x + 3.5, end - 6 * down);
    pen.fill();
    pen.globalAlpha = 1;
  }
  return { arrows: told.length, of: waits.length };
}

/** @param {CanvasRenderingContext2D} pen @param {TimelineScene} scene @param {import("./drawn.js").Block} block @param {(top: number) => number} y_of */
function paint_name(pen, { palette, height, name_of, marked, width }, block, y_of) {
  const y = y_of(block.top);
  if (y + block.height < AXIS || y > height) return;
  const [name, place] = name_of(block.rank);
  if (block.top > 0) {
    pen.fillStyle = palette.line;
    pen.fillRect(0, y - 5, width, 1);
  }
  pen.fillStyle = marked(block.rank) ? palette.accent : palette.text;
  pen.fillText(marked(block.rank) ? `▸ ${name}` : name, 4, y + 7);
  pen.fillStyle = palette.soft;
  if (block.height > 26) pen.fillText(place.length > 14 ? `${place.slice(0, 13)}…` : place, 4, y + 21);
}

/** @param {CanvasRenderingContext2D} pen @param {TimelineScene} scene @param {(time: number) => number} x_of */
function paint_axis(pen, { view, width, palette }, x_of) {
  pen.fillStyle = palette.raised;
  pen.fillRect(0, 0, width, AXIS);
  pen.fillStyle = palette.line;
  pen.fillRect(0, AXIS - 1, width, 1);
  const { first, step } = steps(view, (width - NAMES) / 110);
  for (let at = first; at <= view[1]; at += step) {
    const x = Math.round(x_of(at));
    pen.fillStyle = palette.strong_line;
    pen.fillRect(x, AXIS - 8, 1, 7);
    pen.fillStyle = palette.soft;
    const text = moment(at, step);
    if (x + 4 + pen.measureText(text).width < width) pen.fillText(text, x + 4, 10);
  }
  pen.fillText(duration(Math.round(view[1] - view[0])), 4, 10);
}
