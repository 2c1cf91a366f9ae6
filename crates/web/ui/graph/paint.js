// The graph as a picture: on a canvas, of which only what is in sight is drawn, or as SVG.

import { svg } from "../parts/dom.js";
import { about, percent } from "../parts/units.js";
import { shown } from "../parts/text.js";
import { KIND } from "./graph.js";

const SANS = 'system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif';
/** From this zoom on nodes have labels. */
export const LABELS_FROM = 0.6;
const REMOVED = 3;

/** @typedef {{ graph: Graph, places: GraphPlaces, look: GraphLook, times: Numbers, chains: boolean, path: boolean, strong: (part: number) => boolean, faded: (part: number) => boolean }} Scene */

/**
 * @param {HTMLCanvasElement} canvas @param {Palette} palette @param {Scene} scene @param {Eye} eye @param {{ width: number, height: number }} size
 */
export function paint(canvas, palette, scene, eye, size) {
  const ratio = devicePixelRatio;
  const [wide, high] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, size.width, size.height);
  pen.setTransform(ratio * eye.zoom, 0, 0, ratio * eye.zoom, -eye.x * eye.zoom * ratio, -eye.y * eye.zoom * ratio);
  const [right, bottom] = [eye.x + size.width / eye.zoom, eye.y + size.height / eye.zoom];
  const labels = eye.zoom >= LABELS_FROM;
  const { boxes, lines } = scene.places;
  const in_sight = boxes.filter((it) => it.x < right && it.y < bottom && it.x + it.w > eye.x && it.y + it.h > eye.y);
  for (const it of in_sight) if (it.open) draw_box(pen, palette, scene, it, labels, eye.zoom);
  const crosses = (/** @type {number[]} */ points, /** @type {number} */ first, /** @type {number} */ from, /** @type {number} */ to) => {
    let [low, high] = [Infinity, -Infinity];
    for (let at = first; at < points.length; at += 2) [low, high] = [Math.min(low, points[at]), Math.max(high, points[at])];
    return high > from && low < to;
  };
  draw_lines(pen, palette, scene, eye, lines.filter(({ points }) => crosses(points, 0, eye.x, right) && crosses(points, 1, eye.y, bottom)));
  for (const it of in_sight) if (!it.open) draw_box(pen, palette, scene, it, labels, eye.zoom);
  if (scene.path) draw_path(pen, palette, scene, eye.zoom);
}

/** @param {CanvasRenderingContext2D} pen @param {Palette} palette @param {Scene} scene @param {Eye} eye @param {GraphLine[]} lines */
function draw_lines(pen, palette, scene, eye, lines) {
  // Lines fade where nodes are blocks, and are gone where nobody could follow one.
  const strength = Math.min(1, eye.zoom / LABELS_FROM);
  if (eye.zoom < 0.06) return;
  pen.globalAlpha = strength;
  pen.lineWidth = Math.min(1.25 / eye.zoom, 1.25 + (1 - strength) * 3);
  pen.strokeStyle = palette.strong_line;
  for (const dashed of [false, true]) {
    pen.setLineDash(dashed ? [4, 4] : []);
    pen.beginPath();
    for (const it of lines) if ((it.is_order || it.is_back) === dashed) trace(pen, it.points);
    pen.stroke();
  }
  pen.setLineDash([]);
  if (eye.zoom >= 0.35) {
    pen.fillStyle = palette.strong_line;
    for (const { points } of lines) {
      const [x, y] = points.slice(-2);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(x - 3.5, y - 7);
      pen.lineTo(x + 3.5, y - 7);
      pen.fill();
    }
  }
  pen.globalAlpha = 1;
}

/** @param {{ moveTo(x: number, y: number): void, bezierCurveTo(a: number, b: number, c: number, d: number, x: number, y: number): void, lineTo(x: number, y: number): void }} pen @param {number[]} points */
function trace(pen, points) {
  let [x1, y1] = points;
  pen.moveTo(x1, y1);
  // Curves lead to straight lines beside columns and scopes, and on from them.
  for (let at = 2; at < points.length; at += 2) {
    const [x2, y2] = [points[at], points[at + 1]];
    const half = (y2 - y1) / 2;
    if (at % 4 === 0) pen.lineTo(x2, y2);
    else pen.bezierCurveTo(x1, y1 + half, x2, y2 - half, x2, y2);
    [x1, y1] = [x2, y2];
  }
}

/** The colour of text on a fill. @param {string} fill @param {Palette} palette */
function ink(fill, palette) {
  const [red, green, blue] = (/(\d+) (\d+) (\d+)/.exec(fill) ?? [0, 255, 255, 255]).slice(1).map(Number);
  return red * 0.3 + green * 0.59 + blue * 0.11 > 125 ? palette.on_fill : "#ffffff";
}

/** @param {CanvasRenderingContext2D} pen @param {Palette} palette @param {Scene} scene @param {GraphBox} box @param {boolean} labels @param {number} zoom */
function draw_box(pen, palette, scene, box, labels, zoom) {
  const { part, x, y, w, h, open } = box;
  const { graph, look } = scene;
  const kind = graph.kind[part];
  const colour = look.colour(part);
  const holds = kind === KIND.scope || kind === KIND.stream;
  pen.globalAlpha = scene.faded(part) ? 0.25 : 1;
  pen.beginPath();
  pen.roundRect(x, y, w, h, open ? 8 : 5);
  pen.fillStyle = open ? (kind === KIND.fused && colour ? colour : palette.raised) : labels ? palette.background : colour || (graph.fate[part] === REMOVED ? palette.background : palette.line);
  pen.fill();
  const chained = scene.chains && graph.chain[part] > 0 && kind === KIND.node;
  const strong = scene.strong(part);
  pen.strokeStyle = strong || chained ? palette.accent : palette.strong_line;
  pen.lineWidth = strong ? Math.max(3, 3 / zoom) : chained ? Math.max(2, 1.5 / zoom) : 1;
  pen.setLineDash(graph.fate[part] >= REMOVED && !holds ? [5, 3] : []);
  if (labels || open || strong || chained || graph.fate[part] === REMOVED) pen.stroke();
  pen.setLineDash([]);
  const sign = look.sign(part);
  if (sign && !labels && !open) {
    pen.fillStyle = ink(colour, palette);
    pen.font = `${h * 0.6}px ${SANS}`;
    pen.fillText(sign, x + w / 2 - h * 0.3, y + h / 2);
  }
  if (labels || (open && h * zoom > 60)) {
    const size = open && !labels ? Math.min(12 / zoom, 20) : 12;
    const time = scene.times[part] > 0 ? (holds || open ? `${about(scene.times[part])} · ${percent(look.share(part))}` : about(scene.times[part])) : "";
    const title = kind === KIND.node || (kind === KIND.fused && !open) ? graph.type(part) || graph.label(part) : graph.label(part) || graph.shapes(part);
    // A fused operator's head stands on its colour.
    const on = open && kind === KIND.fused && colour ? ink(colour, palette) : palette.text;
    pen.fillStyle = on;
    pen.font = `600 ${size}px ${SANS}`;
    pen.textBaseline = "middle";
    const room = w - 16 - (time ? pen.measureText(time).width + 8 : 0);
    pen.fillText(fitting(pen, `${holds || kind === KIND.fused ? (open ? "▾ " : "▸ ") : ""}${shown(title, 60)}`, room), x + 8, y + 12);
    if (time) {
      pen.font = `${size}px ${SANS}`;
      pen.textAlign = "right";
      pen.fillText(time, x + w - 8, y + 12);
      pen.textAlign = "left";
    }
    if (!open) {
      pen.fillStyle = palette.soft;
      pen.font = `11px ${SANS}`;
      pen.fillText(fitting(pen, shown(`${sign}${sign && " "}${holds ? `${graph.nodes[part]} ×` : graph.label(part)}`, 60), w - 16), x + 8, y + 26);
      const bar = look.bar(part);
      if (colour) {
        pen.fillStyle = colour;
        pen.fillRect(x + 1, y + h - 5, Math.max(3, (w - 2) * bar), 4);
        pen.fillRect(x, y + 4, 4, h - 8);
      }
    }
  }
  pen.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} pen @param {Palette} palette @param {Scene} scene @param {number} zoom */
function draw_path(pen, palette, { graph, places }, zoom) {
  pen.strokeStyle = palette.flag;
  pen.lineWidth = Math.max(3, 2.5 / zoom);
  pen.beginPath();
  // A fused operator is one step, whose links are those of its nodes.
  const step = (/** @type {number} */ part) => (graph.kind[graph.parent[part]] === KIND.fused ? graph.parent[part] : part);
  const ways = new Map(places.lines.map((it) => [step(it.from) * graph.count + step(it.to), it.points]));
  for (let part = 0; part < graph.count; part += 1) {
    const next = graph.next(part);
    if (next < 0) continue;
    const [a, b] = [places.box(part), places.box(next)];
    if (a.part !== b.part) trace(pen, ways.get(a.part * graph.count + b.part) ?? [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y]);
    pen.roundRect(a.x - 2, a.y - 2, a.w + 4, a.h + 4, 6);
  }
  pen.stroke();
}

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function fitting(pen, text, room) {
  const size = pen.measureText(text).width;
  return size <= room ? text : `${text.slice(0, Math.max(1, Math.floor((text.length * room) / size) - 1))}…`;
}

/** The whole graph as a drawing. @param {Palette} palette @param {Scene} scene */
export function as_svg(palette, scene) {
  const { places, graph, look, times } = scene;
  const parts = places.boxes.map(({ part, x, y, w, h, open }) => {
    const colour = look.colour(part);
    const text = (/** @type {number} */ dx, /** @type {number} */ dy, /** @type {string} */ it, more = {}) => svg("text", { x: x + dx, y: y + dy, "font-size": 11, fill: palette.text, ...more }, it);
    const on = colour && (!open || graph.kind[part] === KIND.fused) ? ink(colour, palette) : palette.text;
    const title = shown(graph.type(part) || graph.label(part) || graph.shapes(part), 22);
    const time = times[part] > 0 ? about(times[part]) : "";
    return svg("g", null,
      svg("rect", { x, y, width: w, height: h, rx: 5, fill: open ? (graph.kind[part] === KIND.fused && colour) || palette.raised : colour || palette.background, stroke: palette.strong_line, "stroke-dasharray": graph.fate[part] >= REMOVED ? "5 3" : null }),
      text(8, 15, title, { fill: on }), text(w - 8, 15, time, { "text-anchor": "end", fill: on }),
      open ? null : text(8, 29, shown(`${look.sign(part)} ${graph.label(part)}`.trim(), 26), { fill: on }), svg("title", null, shown(graph.name(part))));
  });
  const lines = places.lines.map((it) => {
    let way = "";
    trace({ moveTo: (x, y) => { way += `M${x} ${y}`; }, lineTo: (x, y) => { way += `L${x} ${y}`; }, bezierCurveTo: (...at) => { way += `C${at.join(" ")}`; } }, it.points);
    return svg("path", { d: way, fill: "none", stroke: palette.strong_line, "stroke-dasharray": it.is_order || it.is_back ? "4 4" : null });
  });
  const [under, over] = [parts.filter((_, at) => places.boxes[at].open), parts.filter((_, at) => !places.boxes[at].open)];
  const [width, height] = [Math.ceil(places.width + 40), Math.ceil(places.height + 40)];
  return svg("svg", { viewBox: `-20 -20 ${width} ${height}`, width, height, "font-family": "sans-serif" }, under, lines, over);
}
