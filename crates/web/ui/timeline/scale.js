// From moments to pixels and back, and the steps of an axis.

import { duration } from "../parts/units.js";

/**
 * A view moved so that it stays within bounds; at least `least` long, at most all.
 * @param {Span} view @param {Span} bounds @param {number} [least]
 * @returns {Span}
 */
export function within([from, to], bounds, least = 10) {
  const whole = Math.max(least, bounds[1] - bounds[0]);
  let span = Math.min(whole, Math.max(least, to - from));
  if (!Number.isFinite(span)) span = whole;
  let start = (from + to) / 2 - span / 2;
  if (!Number.isFinite(start)) start = bounds[0];
  start = Math.min(Math.max(bounds[0], start), bounds[0] + whole - span);
  return [start, start + span];
}

/**
 * Zoomed so that the moment at `share` of the view's width stays where it is.
 * @param {Span} view @param {number} factor below 1 zooms in @param {number} share @param {Span} bounds
 */
export function zoomed([from, to], factor, share, bounds) {
  const span = to - from;
  const fixed = from + span * share;
  const least = Math.max(10, Math.min(bounds[1] - bounds[0], span * factor));
  return within([fixed - least * share, fixed + least * (1 - share)], bounds);
}

/** @param {Span} view @param {number} share of its width @param {Span} bounds */
export function panned([from, to], share, bounds) {
  const step = (to - from) * share;
  return within([from + step, to + step], bounds);
}

/**
 * Round moments for an axis, at most `most` of them.
 * @param {Span} view @param {number} most
 * @returns {{ first: number, step: number }}
 */
export function steps([from, to], most) {
  const rough = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? power * 10;
  return { first: Math.ceil(from / step) * step, step };
}

/**
 * A moment on the axis, with as many digits as tell neighbours apart.
 * @param {number} nanoseconds @param {number} step in nanoseconds
 */
export function moment(nanoseconds, step) {
  if (nanoseconds === 0) return "0";
  nanoseconds = Math.round(nanoseconds);
  step = Math.max(step, 1);
  const units = /** @type {const} */ ([[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
  const [size, unit] = units.find(([it]) => Math.abs(nanoseconds) >= it && step >= it / 1000) ?? units.find(([it]) => step >= it / 1000) ?? units[3];
  const decimals = Math.max(0, Math.min(3, Math.ceil(Math.log10(size / step) - 1e-9)));
  return `${(nanoseconds / size).toFixed(decimals)} ${unit}`;
}

/** @param {number} nanoseconds */
export function length(nanoseconds) {
  return duration(Math.round(nanoseconds));
}
