// A picture on a canvas with a cursor: what the pointer or the keys point at is told by a tooltip and to assistive
// technology, and can be chosen; the same strokes become SVG where it is saved.

import { h, fill, svg } from "../parts/dom.js";
import { drawing } from "../parts/drawing.js";
import { svg_pen } from "../timeline/svg_pen.js";

/** @typedef {{ row: number, column: number }} Place */

// The most shapes of a saved picture; a canvas has as many as it has pixels.
const MOST_SHAPES = 20_000;

/**
 * @param {RanksApp} app
 * @param {{
 *   label: string, role: string, help: string, class?: string,
 *   height: (width: number, most: number) => number,
 *   paint: (pen: CanvasRenderingContext2D, width: number, height: number, cursor: Place | null) => void,
 *   place_at: (x: number, y: number) => Place | null,
 *   size: () => { rows: number, columns: number },
 *   tell: (place: Place) => string[] | null,
 *   choose: (place: Place) => void,
 * }} options
 */
export function make_picture(app, options) {
  const canvas = h("canvas", { class: `ranks-canvas ${options.class ?? ""}`, tabindex: "0", role: "application", "aria-label": options.label, "aria-roledescription": options.role, "aria-description": options.help });
  const tip = h("div", { class: "tip", hidden: true, role: "presentation" });
  const element = h("div", { class: "plot-box" }, canvas, tip);
  /** @type {Place | null} */
  let cursor = null;
  let frame = 0;
  let [width, height] = [0, 0];

  canvas.addEventListener("pointermove", (event) => {
    const place = options.place_at(event.offsetX, event.offsetY);
    const lines = place && options.tell(place);
    tip.hidden = !lines;
    if (!lines) return;
    fill(tip, lines.map((it, at) => h("div", { class: at === 0 ? "tip-title" : "" }, it)));
    const room = element.getBoundingClientRect();
    tip.style.setProperty("left", `${Math.max(0, Math.min(event.offsetX + 14, room.width - tip.offsetWidth - 4))}px`);
    tip.style.setProperty("top", `${event.offsetY + 18}px`);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => {
    const place = options.place_at(event.offsetX, event.offsetY);
    if (!place) return;
    move_to(place);
    options.choose(place);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { rows, columns } = options.size();
    const { row, column } = cursor ?? { row: 0, column: 0 };
    const to = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity] }[event.key];
    if (to && rows > 0 && columns > 0) {
      const within = (/** @type {number} */ at, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, at));
      move_to(cursor ? { row: within(row + to[0], rows), column: within(column + to[1], columns) } : { row: 0, column: 0 });
    } else if (event.key === "Enter" && cursor) {
      options.choose(cursor);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  canvas.addEventListener("blur", () => request());
  canvas.addEventListener("focus", () => request());
  const observer = new ResizeObserver(request);
  observer.observe(element);

  return {
    element,
    request,
    /** The picture as SVG. @param {number} [wide] */
    as_svg(wide = 1000) {
      const tall = options.height(wide, MOST_SHAPES);
      const { canvas: paper, drawn } = svg_pen();
      options.paint(/** @type {CanvasRenderingContext2D} */ (paper.getContext("2d")), wide, tall, null);
      request();
      return drawing(app.palette.peek(), wide, tall, options.label, svg("g", { "font-size": 11 }, drawn));
    },
    dispose() {
      observer.disconnect();
      cancelAnimationFrame(frame);
    },
  };

  /** @param {Place} place */
  function move_to(place) {
    cursor = place;
    app.says.value = (options.tell(place) ?? []).join(", ");
    request();
  }

  function request() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    width = element.clientWidth;
    if (width === 0) return;
    height = options.height(width, Infinity);
    const ratio = devicePixelRatio || 1;
    canvas.style.setProperty("height", `${height}px`);
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { rows, columns } = options.size();
    if (cursor && (cursor.row >= rows || cursor.column >= columns)) cursor = null;
    options.paint(pen, width, height, document.activeElement === canvas ? cursor : null);
  }
}
