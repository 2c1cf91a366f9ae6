// The strip above the rows: how busy each device was over the whole trace, the inferences as ticks, and the
// visible part as a window that can be dragged.

import { make_buckets, make_scratch } from "../data/row_index.js";
import { effect } from "../state/signal.js";
import { h } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { within } from "./scale.js";

const HEIGHT = 44;
const TICKS = 8;

/**
 * @param {App} app
 */
export function make_strip(app) {
  const canvas = h("canvas", { class: "strip-canvas", role: "img", "aria-label": t("strip_name") });
  const root = h("div", { class: "strip" }, canvas);
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  const still = document.createElement("canvas");
  let width = 0;
  let drawn_for = "";
  let bounds = app.bounds;

  const observer = new ResizeObserver(() => {
    width = root.clientWidth;
    draw();
  });
  observer.observe(root);
  const stop = effect(() => {
    app.view.value;
    app.marked.value;
    app.flags.value;
    app.palette.value;
    draw();
  });

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const time = (/** @type {PointerEvent} */ it) => bounds[0] + ((it.clientX - canvas.getBoundingClientRect().left) / width) * (bounds[1] - bounds[0]);
    const [from, to] = app.view.peek();
    const begun = time(event);
    const inside = begun >= from && begun <= to;
    const move = (/** @type {PointerEvent} */ it) => {
      const shift = inside ? time(it) - begun : time(it) - (from + to) / 2;
      app.view.value = within([from + shift, to + shift], bounds);
    };
    if (!inside) move(event);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", () => canvas.removeEventListener("pointermove", move), { once: true });
  });

  return { element: root, dispose: () => { stop(); observer.disconnect(); } };

  function draw() {
    if (width <= 0) return;
    const ratio = devicePixelRatio;
    const palette = app.palette.peek();
    bounds = app.bounds;
    const key = `${width}/${ratio}/${palette.dark}/${bounds}`;
    if (key !== drawn_for) {
      drawn_for = key;
      canvas.width = Math.round(width * ratio);
      canvas.height = HEIGHT * ratio;
      canvas.style.setProperty("height", `${HEIGHT}px`);
      draw_still(palette, ratio);
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(still, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x_of = (/** @type {number} */ it) => ((it - bounds[0]) / (bounds[1] - bounds[0])) * width;
    const marked = app.marked.peek();
    if (marked) {
      pen.fillStyle = palette.mark;
      pen.fillRect(x_of(marked[0]), 0, Math.max(1, x_of(marked[1]) - x_of(marked[0])), HEIGHT);
    }
    pen.fillStyle = palette.flag;
    for (const flag of app.flags.peek()) pen.fillRect(x_of(flag.at) - 0.5, 0, 1, HEIGHT);
    const [left, right] = app.view.peek().map(x_of);
    const wide = Math.max(3, right - left);
    pen.fillStyle = palette.dark ? "rgba(0,0,0,0.45)" : "rgba(40,50,70,0.14)";
    pen.fillRect(0, 0, left, HEIGHT);
    pen.fillRect(left + wide, 0, width - left - wide, HEIGHT);
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(Math.max(0.75, left), 0.75, Math.min(width - 1.5, wide), HEIGHT - 1.5);
  }

  /** @param {Palette} palette @param {number} ratio */
  function draw_still(palette, ratio) {
    still.width = canvas.width;
    still.height = canvas.height;
    const ink = /** @type {CanvasRenderingContext2D} */ (still.getContext("2d", { alpha: false }));
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.fillStyle = palette.raised;
    ink.fillRect(0, 0, width, HEIGHT);
    const across = Math.max(1, Math.floor(width));
    const scratch = make_scratch(across);
    const rows = app.profile.rows.filter((it) => it.kind === "busy").slice(0, 8);
    const room = (HEIGHT - TICKS - 2) / Math.max(1, rows.length);
    const none = new Uint16Array(app.profile.items.count);
    rows.forEach((row, number) => {
      const share = new Float64Array(across);
      if (row.density) add_density(row.density, share);
      make_buckets(row.index, bounds[0], bounds[1], across, none, scratch);
      const { fine, wide } = scratch.columns;
      for (let at = 0; at < fine.count; at += 1) share[fine.bucket[at]] += fine.busy[at] / 255;
      const per = (bounds[1] - bounds[0]) / across;
      for (let at = 0; at < wide.count; at += 1) {
        const [from, to] = [(wide.start[at] - bounds[0]) / per, (wide.start[at] + wide.duration[at] - bounds[0]) / per];
        for (let x = Math.floor(from); x < Math.min(across, to); x += 1) share[x] += Math.min(to, x + 1) - Math.max(from, x);
      }
      ink.fillStyle = palette.css[(number * 4) % palette.css.length];
      for (let x = 0; x < across; x += 1) {
        const high = Math.min(1, share[x]) * (room - 2);
        if (high > 0) ink.fillRect(x, 2 + (number + 1) * room - Math.max(0.6, high), 1, Math.max(0.6, high));
      }
    });
    const { count, start, recorded } = app.profile.iterations;
    ink.fillStyle = palette.soft;
    let before = -2;
    for (let at = 0; at < count; at += 1) {
      const x = Math.round(((start[at] - bounds[0]) / (bounds[1] - bounds[0])) * width);
      if (!recorded[at] || x - before < 2) continue;
      ink.fillRect(x, HEIGHT - TICKS, 1, TICKS - 2);
      before = x;
    }
  }

  /** @param {NonNullable<Row["density"]>} density @param {Float64Array} share */
  function add_density(density, share) {
    const per = app.profile.density_bucket / ((bounds[1] - bounds[0]) / share.length);
    for (let at = 0; at < density.bucket.length; at += 1) {
      const [from, to] = [density.bucket[at] * per, (density.bucket[at] + 1) * per];
      for (let x = Math.floor(from); x < Math.min(share.length, to); x += 1) {
        share[x] += (density.busy[at] / 255) * (Math.min(to, x + 1) - Math.max(from, x));
      }
    }
  }
}
