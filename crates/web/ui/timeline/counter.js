// Counters: the band between the smallest and the largest value of each pixel, and a line of last values.

import { first_place } from "../data/row_index.js";

/**
 * @param {NonNullable<Row["samples"]>} samples
 * @param {Span} view @param {number} width pixels
 */
export function counter_buckets({ time, value }, [from, to], width) {
  const low = new Float64Array(width).fill(Infinity);
  const high = new Float64Array(width).fill(-Infinity);
  const last = new Float64Array(width).fill(Number.NaN);
  const per = (to - from) / width;
  let at = first_after(time, from);
  let before = at > 0 ? value[at - 1] : Number.NaN;
  let [least, most] = [Infinity, -Infinity];
  const note = (/** @type {number} */ it) => {
    if (it < least) least = it;
    if (it > most) most = it;
  };
  if (!Number.isNaN(before)) note(before);
  for (let pixel = 0; pixel < width; pixel += 1) {
    const end = from + (pixel + 1) * per;
    for (; at < time.length && time[at] < end; at += 1) {
      before = value[at];
      if (before < low[pixel]) low[pixel] = before;
      if (before > high[pixel]) high[pixel] = before;
      note(before);
    }
    last[pixel] = before;
  }
  return { low, high, last, least, most };
}

/** Buckets of a row so wide. @param {number} width */
export function counter_width(width) {
  return Math.max(1, Math.floor(width));
}

/** The smallest and the largest value. @param {...Numbers} lists */
function ends_of(...lists) {
  let [least, most] = [Infinity, -Infinity];
  for (const values of lists) {
    for (const it of values) {
      if (it < least) least = it;
      if (it > most) most = it;
    }
  }
  return { least, most };
}

/** @param {Numbers} time @param {number} moment */
function first_after(time, moment) {
  return first_place(0, time.length, (at) => time[at] > moment);
}

/**
 * The value that holds at a moment, or null before the first.
 * @param {NonNullable<Row["samples"]>} samples @param {number} moment
 */
export function counter_at({ time, value }, moment) {
  const at = first_after(time, moment);
  return at > 0 ? value[at - 1] : null;
}

/**
 * Draws a counter's row.
 * @param {CanvasRenderingContext2D} pen @param {NonNullable<Row["samples"]>} samples @param {Span} view
 * @param {{ x: number, y: number, width: number, height: number }} box in CSS pixels
 * @param {Palette} palette @param {Buckets | null | undefined} known those of a server @param {boolean} all whether the scale is that of all values
 */
export function draw_counter(pen, samples, view, box, palette, known, all) {
  const width = counter_width(box.width);
  const { low, high, last, ...ends } = known ? { ...known, ...ends_of(known.low, known.high, known.last) } : counter_buckets(samples, view, width);
  // A page that doesn't hold all values holds their extremes.
  const { least, most } = all ? ends_of(samples.value) : ends;
  if (!(most >= least)) return null;
  // Zero belongs to the picture where values don't lie far from it, so that half is half as high.
  const floor = least > 0 && (least === most || least < most * 0.8) ? 0 : least;
  const span = most - floor || Math.abs(most) || 1;
  const y = (/** @type {number} */ it) => box.y + box.height - 3 - ((it - floor) / span) * (box.height - 8);
  pen.fillStyle = palette.counter_band;
  pen.strokeStyle = palette.counter;
  pen.lineWidth = 1;
  pen.beginPath();
  let open = false;
  for (let x = 0; x < width; x += 1) {
    if (high[x] > low[x]) pen.fillRect(box.x + x, y(high[x]), 1, Math.max(1, y(low[x]) - y(high[x])));
    if (Number.isNaN(last[x])) continue;
    if (open) pen.lineTo(box.x + x, y(last[x]));
    else pen.moveTo(box.x + x, y(last[x]));
    open = true;
  }
  pen.stroke();
  return { least: floor, most };
}
