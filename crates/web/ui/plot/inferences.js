// Every inference as a dot: when it ran and how long. Warm-up is hollow, unrecorded ones are squares, outliers
// have their number.

import { h, fill } from "../parts/dom.js";
import { effect } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { about, count } from "../parts/units.js";
import { steps, moment, within } from "../timeline/scale.js";
import { FONT } from "../timeline/draw.js";
import { drawing } from "../parts/drawing.js";
import { svg_pen } from "../timeline/svg_pen.js";
import { inference_label } from "../parts/live.js";
import { choose_slice } from "../timeline/moves.js";

const HEIGHT = 190;
const EDGE = { left: 64, right: 14, top: 14, bottom: 26 };

/** @param {App} app */
export function inference_plot(app) {
  const { profile } = app;
  const list = profile.iterations;
  const canvas = h("canvas", { class: "plot", role: "img", "aria-label": t("inference_plot", { n: count(list.count) }) });
  const tip = h("div", { class: "tip", hidden: true, role: "presentation" });
  const has_unrecorded = list.recorded.includes(0);
  const legend = h("ul", { class: "legend inline" },
    h("li", null, h("span", { class: "dot", "aria-hidden": "true" }), t("recorded")),
    list.warm_up.includes(1) ? h("li", null, h("span", { class: "dot hollow", "aria-hidden": "true" }), t("warm_up")) : null,
    has_unrecorded ? h("li", null, h("span", { class: "dot square", "aria-hidden": "true" }), t("not_recorded")) : null);
  const element = h("div", { class: "plot-box" }, canvas, tip, legend, h("details", null, h("summary", null, t("as_table")), table()));
  const durations = Float64Array.from(list.duration, profile.ns);
  const sorted = durations.filter((_, at) => list.measured[at] === 1).sort();
  const quarter = (/** @type {number} */ share) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const fence = quarter(0.75) + 3 * (quarter(0.75) - quarter(0.25));
  const most = durations.reduce((a, b) => Math.max(a, b), 0) * 1.08 || 1;
  let width = 0;

  const observer = new ResizeObserver(() => { width = element.clientWidth; draw(); });
  observer.observe(element);
  const stop = effect(() => { app.palette.value; draw(); });

  const near = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1;
    let least = 14 ** 2;
    durations.forEach((duration, at) => {
      const far = (x_of(at) - x) ** 2 + (y_of(duration) - y) ** 2;
      if (far < least) [least, best] = [far, at];
    });
    return best;
  };
  canvas.addEventListener("pointermove", (event) => {
    const at = near(event);
    tip.hidden = at < 0;
    canvas.style.setProperty("cursor", at < 0 ? "default" : "pointer");
    if (at < 0) return;
    fill(tip, h("div", { class: "tip-title" }, name(at)), h("div", null, about(durations[at])));
    tip.style.setProperty("left", `${Math.min(width - 150, x_of(at) + 10)}px`);
    tip.style.setProperty("top", `${Math.max(0, y_of(durations[at]) - 44)}px`);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => {
    const at = near(event);
    if (at >= 0) open(at);
  });
  return {
    element,
    dispose: () => { stop(); observer.disconnect(); },
    drawing() {
      const { canvas: paper, drawn } = svg_pen();
      paint(/** @type {CanvasRenderingContext2D} */ (paper.getContext("2d")));
      return drawing(app.palette.peek(), width, HEIGHT, t("inference_plot", { n: count(list.count) }), drawn);
    },
  };

  /** @param {number} at */
  function open(at) {
    const it = list.at(at);
    if (!it) return;
    app.view.value = within([it.start - it.duration * 0.05, it.start + it.duration * 1.05], app.bounds);
    if (it.slice >= 0) choose_slice(app, it.slice);
    app.screen.value = "timeline";
  }

  /** @param {number} at */
  function name(at) {
    return inference_label(/** @type {Iteration} */ (list.at(at)));
  }

  /** @param {number} at */
  function x_of(at) {
    return EDGE.left + ((at + 0.5) / list.count) * (width - EDGE.left - EDGE.right);
  }

  /** @param {number} time */
  function y_of(time) {
    return HEIGHT - EDGE.bottom - (time / most) * (HEIGHT - EDGE.top - EDGE.bottom);
  }

  function draw() {
    if (width <= 0) return;
    const ratio = devicePixelRatio;
    canvas.width = Math.round(width * ratio);
    canvas.height = HEIGHT * ratio;
    canvas.style.setProperty("height", `${HEIGHT}px`);
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, HEIGHT);
    paint(pen);
  }

  /** @param {CanvasRenderingContext2D} pen */
  function paint(pen) {
    const palette = app.palette.peek();
    pen.font = FONT;
    pen.textBaseline = "middle";
    const { first, step } = steps([0, most], 4);
    for (let at = first; at <= most; at += step) {
      pen.fillStyle = palette.line;
      pen.fillRect(EDGE.left, Math.round(y_of(at)), width - EDGE.left - EDGE.right, 1);
      pen.fillStyle = palette.soft;
      pen.textAlign = "right";
      pen.fillText(moment(at, step), EDGE.left - 8, y_of(at));
    }
    const median = profile.overview.latency?.median_ns;
    if (median) {
      pen.strokeStyle = palette.accent;
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.moveTo(EDGE.left, y_of(median));
      pen.lineTo(width - EDGE.right, y_of(median));
      pen.stroke();
      pen.setLineDash([]);
    }
    const size = Math.max(1.2, Math.min(4, (width - EDGE.left) / list.count / 3));
    let named = 0;
    let right = -100;
    durations.forEach((duration, at) => {
      const [x, y] = [x_of(at), y_of(duration)];
      const colour = list.recorded[at] ? palette.accent : palette.soft;
      pen.beginPath();
      if (list.recorded[at]) pen.arc(x, y, size, 0, 2 * Math.PI);
      else pen.rect(x - size * 0.8, y - size * 0.8, size * 1.6, size * 1.6);
      pen.strokeStyle = colour;
      pen.fillStyle = list.warm_up[at] ? palette.background : colour;
      pen.fill();
      pen.stroke();
      if (list.measured[at] && duration > fence && sorted.length >= 8 && named < 8 && x - right > 26) {
        named += 1;
        right = x;
        pen.fillStyle = palette.text;
        pen.textAlign = "center";
        pen.fillText(String(list.number[at]), x, y - 10);
      }
    });
    pen.textAlign = "center";
    pen.fillStyle = palette.soft;
    const apart = Math.max(1, Math.ceil(list.count / Math.max(2, (width - EDGE.left) / 60)));
    let last = "";
    for (let at = 0; at < list.count; at += apart) {
      const text = String(list.number[at]);
      if (text !== last) pen.fillText(text, x_of(at), HEIGHT - 11);
      last = text;
    }
    pen.textAlign = "left";
  }

  function table() {
    return h("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": t("every_inference") }, h("table", { class: "simple" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, t("inference")), h("th", { scope: "col", class: "right" }, t("start")), h("th", { scope: "col", class: "right" }, t("duration")))),
      h("tbody", null, Array.from({ length: Math.min(1000, list.count) }, (_, at) => h("tr", null, h("th", { scope: "row" }, h("button", { class: "plain link", on: { click: () => open(at) } }, name(at))),
        h("td", { class: "right" }, about(profile.ns(list.start[at]))), h("td", { class: "right" }, about(profile.ns(list.duration[at]))))))),
      list.count > 1000 ? h("p", { class: "soft" }, t("first_rows", { n: count(1000), all: count(list.count) })) : null);
  }
}
