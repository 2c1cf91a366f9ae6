// The visible part of the timeline as a drawing: names, axis and rows, of two profiles one below the other.

import { svg } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { drawing } from "../parts/drawing.js";
import { AXIS_HEIGHT } from "./axis.js";

/** @typedef {{ axis: SVGElement[], rows: SVGElement[], names: HTMLElement, names_width: number, width: number, height: number, scroll: number }} TimelinePicture */

/** @param {App} app */
export function timeline_drawing(app) {
  const palette = app.palette.peek();
  const pictures = [app.picture?.(), app.other?.picture?.()].flatMap((it) => it ?? []);
  let top = 0;
  const parts = pictures.map(({ axis, rows, names, names_width, width, height, scroll }) => {
    // An SVG element within another cuts off what lies beyond its edges.
    const part = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ wide, /** @type {number} */ high, /** @type {SVGElement[]} */ drawn) => svg("svg", { x, y: top + y, width: wide, height: high }, drawn);
    const titles = /** @type {HTMLElement[]} */ ([...names.children]).map((it) => {
      const group = it.classList.contains("group-name");
      return svg("text", { x: group ? 12 : 26, y: it.offsetTop - scroll + it.offsetHeight / 2, "dominant-baseline": "central", "font-weight": group || it.classList.contains("busy") ? 600 : 400 }, (group ? it : it.querySelector(".row-title"))?.textContent ?? "");
    });
    const drawn = [part(0, AXIS_HEIGHT, names_width - 8, height, titles), part(names_width, 0, width, AXIS_HEIGHT, axis), part(names_width, AXIS_HEIGHT, width, height, rows)];
    top += AXIS_HEIGHT + height;
    return drawn;
  });
  return parts.length === 0 ? null : drawing(palette, pictures[0].names_width + pictures[0].width, top, t("timeline_name"), svg("g", { "font-size": 11 }, parts));
}
