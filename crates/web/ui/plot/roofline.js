// Operations a byte against operations a second, both logarithmic: a point for each operator, its area by time.
// Its shape and colour are its bound: a circle computes, a square moves bytes, a triangle does neither well.

import { svg } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { flop_rate, about, percent } from "../parts/units.js";
import { shown } from "../parts/text.js";
import { drawing, label } from "../parts/drawing.js";
import { colour_of_type } from "../parts/colours.js";
import { group_of } from "../state/selected.js";

export const WIDE = 940;
export const HIGH = 440;
const [LEFT, RIGHT, TOP, BOTTOM] = [88, 20, 16, 44];
const MOST_ARROWS = 40;

/** Operations for each byte. @param {Operator} it */
export function intensity(it) {
  return (it.flops ?? 0) / (it.bytes || 1);
}

/** Operations a second. @param {Operator} it */
export function rate(it) {
  return ((it.flops ?? 0) / it.time) * 1e9;
}

/** Whether an operator has a place on logarithmic axes. @param {Operator} it */
export function has_place(it) {
  return (it.flops ?? 0) > 0 && (it.bytes ?? 0) > 0 && it.time > 0;
}

/** @param {Palette} palette @param {number} bound 1 to 3, 0 of none @param {string} type */
export function bound_colour(palette, bound, type) {
  return palette.css[bound === 0 ? colour_of_type(type) : [0, 4, 14][bound - 1]];
}

/** From figures to places and back. @param {Operator[]} operators @param {NonNullable<Report["roofline"]> | null | undefined} roof */
export function scales(operators, roof) {
  const ridge = roof ? roof.flops_per_second / roof.bytes_per_second : null;
  const axis = (/** @type {number[]} */ values) => {
    let [low, high] = [Infinity, -Infinity];
    for (const it of values) [low, high] = [Math.min(low, it), Math.max(high, it)];
    return low > high ? [0, 3] : [Math.floor(Math.log10(low / 1.5)), Math.ceil(Math.log10(high * 1.5))];
  };
  const x = axis([...operators.map(intensity), ...(ridge ? [ridge] : [])]);
  const y = axis([...operators.map(rate), ...(roof ? [roof.flops_per_second] : [])]);
  return {
    x, y,
    x_of: (/** @type {number} */ it) => LEFT + ((Math.log10(it) - x[0]) / (x[1] - x[0])) * (WIDE - LEFT - RIGHT),
    y_of: (/** @type {number} */ it) => HIGH - BOTTOM - ((Math.log10(it) - y[0]) / (y[1] - y[0])) * (HIGH - TOP - BOTTOM),
  };
}

/**
 * @param {App} app @param {Operator[]} operators those with a place
 * @param {{ scale: ReturnType<typeof scales>, chosen: number, type: string | null, choose: (operator: number) => void, from: Map<number, Operator> }} how `from` has the points of the other profile
 */
export function roofline_plot(app, operators, { scale, chosen, type, choose, from }) {
  const palette = app.palette.value;
  const roof = app.profile.report.roofline;
  const { x, y, x_of, y_of } = scale;
  const most = operators.reduce((best, it) => Math.max(best, it.time), 1);
  const decades = (/** @type {number[]} */ [from, to]) => Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
  const grid = { stroke: palette.line };
  const line = (/** @type {number} */ x1, /** @type {number} */ y1, /** @type {number} */ x2, /** @type {number} */ y2, /** @type {Properties} */ more) => svg("line", { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), ...more });
  const [left, right, bottom] = [LEFT, WIDE - RIGHT, HIGH - BOTTOM];
  const ridge = roof ? roof.flops_per_second / roof.bytes_per_second : 0;
  const start = 10 ** x[0];
  // The slope leaves the picture below where the axis begins above it.
  const slope_from = roof ? Math.max(start, 10 ** y[0] / roof.bytes_per_second) : 0;
  return drawing(palette, WIDE, HIGH, t("roofline_name", { n: operators.length }),
    decades(x).map((it) => [line(x_of(it), TOP, x_of(it), bottom, grid), label(x_of(it), bottom + 18, it >= 1 && it < 1e6 ? String(it) : it >= 0.001 && it < 1 ? it.toString() : it.toExponential(0), { "text-anchor": "middle", fill: palette.soft })]),
    decades(y).map((it) => [line(left, y_of(it), right, y_of(it), grid), label(left - 8, y_of(it) + 4, flop_rate(it).replace(/\.00 /, " "), { "text-anchor": "end", fill: palette.soft })]),
    label((left + right) / 2, HIGH - 6, t("intensity_axis"), { "text-anchor": "middle", fill: palette.soft }),
    roof ? [
      line(x_of(slope_from), y_of(slope_from * roof.bytes_per_second), x_of(ridge), y_of(roof.flops_per_second), { stroke: palette.text, "stroke-width": 2 }),
      line(x_of(ridge), y_of(roof.flops_per_second), right, y_of(roof.flops_per_second), { stroke: palette.text, "stroke-width": 2 })] : null,
    [...operators].sort((a, b) => b.time - a.time).map((it) => {
      const [cx, cy, size] = [x_of(intensity(it)), y_of(rate(it)), Math.max(2.5, 16 * Math.sqrt(it.time / most))];
      const was = from.get(it.row);
      const faded = type !== null && it.type !== type;
      const more = {
        fill: bound_colour(palette, it.bound, it.type), "fill-opacity": faded ? 0.18 : 0.72, stroke: it.row === chosen ? palette.text : bound_colour(palette, it.bound, it.type), "stroke-width": it.row === chosen ? 3 : 1,
        class: "point", on: { click: () => choose(it.row) },
      };
      const title = svg("title", null, `${shown(it.name, 120) || t("no_name")} · ${shown(it.type, 60)}\n${about(it.time)} · ${percent(it.time / (app.profile.overview.whole_ns || 1))}\n${flop_rate(rate(it))}${it.bound > 0 ? ` · ${percent(it.ceiling)}` : ""}${was ? `\nA ${about(was.time)} · ${flop_rate(rate(was))}` : ""}`);
      if (it.bound === 2) return svg("rect", { x: (cx - size * 0.9).toFixed(1), y: (cy - size * 0.9).toFixed(1), width: (size * 1.8).toFixed(1), height: (size * 1.8).toFixed(1), ...more }, title);
      if (it.bound === 3) return svg("path", { d: `M${cx.toFixed(1)} ${(cy - size * 1.15).toFixed(1)}l${size.toFixed(1)} ${(size * 1.9).toFixed(1)}h${(-2 * size).toFixed(1)}z`, ...more }, title);
      return svg("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: size.toFixed(1), ...more }, title);
    }),
    // From where an operator was before the change: many would hide the points, so that only the costliest have theirs.
    operators.filter((it, at) => from.has(it.row) && (at < MOST_ARROWS || it.row === chosen)).map((it) => {
      const before = /** @type {Operator} */ (from.get(it.row));
      const [x1, y1, x2, y2] = [x_of(intensity(before)), y_of(rate(before)), x_of(intensity(it)), y_of(rate(it))];
      const turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
      return Math.hypot(x2 - x1, y2 - y1) < 6 ? null : svg("g", { class: "arrow-from", "pointer-events": "none", stroke: palette.text, fill: palette.text, "stroke-width": it.row === chosen ? 2.5 : 1.2 },
        line(x1, y1, x2, y2, {}), svg("path", { d: "M0 0l-7-3.5v7z", transform: `translate(${x2.toFixed(1)} ${y2.toFixed(1)}) rotate(${turn.toFixed(1)})` }),
        svg("circle", { cx: x1.toFixed(1), cy: y1.toFixed(1), r: 3, "fill-opacity": 0 }));
    }));
}

/**
 * The operators of which each became what it is, as one: of its group in the comparison, where all of that has a place.
 * @param {App} app @param {Operator[]} operators @returns {Map<number, Operator>} by the operator's row
 */
export function befores(app, operators) {
  const found = new Map();
  const { other, profile } = app;
  if (!other) return found;
  const by_name = new Map(other.profile.operators.map((it) => [it.name, it]));
  for (const it of operators) {
    const members = profile.report.compare?.groups[group_of(profile, { kind: "operator", operator: it.row })]?.before.map((member) => by_name.get(member.name)) ?? [];
    const sum = (/** @type {"time" | "flops" | "bytes"} */ name) => members.reduce((total, member) => total + (member?.[name] ?? NaN), 0);
    const before = { ...it, time: sum("time"), flops: sum("flops"), bytes: sum("bytes") };
    if (has_place(before)) found.set(it.row, before);
  }
  return found;
}
