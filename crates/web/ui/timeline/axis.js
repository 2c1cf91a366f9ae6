// The axis: round moments, the inferences' numbers, flags, and where slices were left out.

import { steps, moment } from "./scale.js";
import { FONT } from "./draw.js";

export const AXIS_HEIGHT = 30;

/**
 * @param {App} app @param {HTMLCanvasElement} canvas @param {number} width @param {number} ratio
 */
export function draw_axis(app, canvas, width, ratio) {
  const { profile } = app;
  const palette = app.palette.peek();
  const view = app.view.peek();
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== AXIS_HEIGHT * ratio) {
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = AXIS_HEIGHT * ratio;
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = palette.background;
  pen.fillRect(0, 0, width, AXIS_HEIGHT);
  pen.fillStyle = palette.line;
  pen.fillRect(0, AXIS_HEIGHT - 1, width, 1);
  const tick = profile.facts.tick_ns;
  const span = /** @type {Span} */ ([view[0] * tick, view[1] * tick]);
  const x_of = (/** @type {number} */ ns) => ((ns - span[0]) / (span[1] - span[0])) * width;
  const { first, step } = steps(span, width / 110);
  pen.font = FONT;
  pen.textBaseline = "middle";
  for (let at = first; at <= span[1]; at += step) {
    const x = Math.round(x_of(at));
    pen.fillStyle = palette.strong_line;
    pen.fillRect(x, AXIS_HEIGHT - 8, 1, 7);
    pen.fillStyle = palette.soft;
    const text = moment(at, step);
    const room = pen.measureText(text).width;
    if (x + 4 + room < width) pen.fillText(text, x + 4, 12);
    for (let minor = 1; minor < 5; minor += 1) {
      pen.fillStyle = palette.line;
      pen.fillRect(Math.round(x_of(at + (step * minor) / 5)), AXIS_HEIGHT - 5, 1, 4);
    }
  }
  const left_out = profile.report.left_out;
  if (left_out.slices_in_full < left_out.slices && !profile.served) {
    pen.fillStyle = palette.accent;
    for (const [from, to] of left_out.windows) {
      const [left, right] = [x_of(from * tick), x_of(to * tick)];
      if (right > 0 && left < width) pen.fillRect(left, AXIS_HEIGHT - 3, Math.max(1, right - left), 2);
    }
  }
  for (const flag of app.flags.peek()) {
    const x = x_of(flag.at * tick);
    if (x < -8 || x > width + 8) continue;
    pen.fillStyle = palette.flag;
    pen.beginPath();
    pen.moveTo(x, 2);
    pen.lineTo(x + 9, 6);
    pen.lineTo(x, 10);
    pen.fill();
    pen.fillRect(x - 0.5, 2, 1, AXIS_HEIGHT - 2);
    pen.fillText(flag.name.slice(0, 30), x + 11, 7);
  }
}
