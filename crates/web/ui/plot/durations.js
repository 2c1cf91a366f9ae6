// Two sets of inferences on one axis, a dot for each; the line is the median.

import { svg } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { about, count } from "../parts/units.js";
import { steps, moment } from "../timeline/scale.js";
import { drawing, label } from "../parts/drawing.js";

const [WIDE, LANE, LEFT, MOST] = [760, 62, 40, 2000];

/**
 * @param {Palette} palette @param {number[]} before ns @param {number[]} after ns
 */
export function durations_plot(palette, before, after) {
  const sides = [before, after].map((it) => [...it].sort((a, b) => a - b));
  const [low, high] = [Math.min(sides[0][0], sides[1][0]), Math.max(sides[0].at(-1) ?? 0, sides[1].at(-1) ?? 0)];
  // Sets that lie far apart would each be a single line on an even axis.
  const log = low > 0 && high > 8 * low;
  const of = (/** @type {number} */ time) => (log ? Math.log(time) : time);
  const room = (of(high) - of(low)) * 0.04 || of(high) * 0.02 || 1;
  const x_of = (/** @type {number} */ time) => LEFT + ((of(time) - of(low) + room) / (of(high) - of(low) + 2 * room)) * (WIDE - LEFT - 20);
  const ticks = [];
  if (log) for (let at = 10 ** Math.floor(Math.log10(low)); at <= high; at *= 10) ticks.push(...[1, 2, 5].map((it) => it * at));
  else {
    const { first, step } = steps([low, high], 6);
    for (let at = first; at <= high; at += step) ticks.push(at);
  }
  const bottom = 2 * LANE + 6;
  return drawing(palette, WIDE, bottom + 24, t("durations_name", { n: count(before.length), m: count(after.length) }),
    ticks.filter((it) => it >= low && it <= high).map((it, at, all) => [
      svg("line", { x1: x_of(it), x2: x_of(it), y1: 0, y2: bottom, stroke: palette.line }),
      label(x_of(it), bottom + 16, log ? about(it) : moment(it, all.length > 1 ? all[1] - all[0] : it / 100), { "text-anchor": "middle", fill: palette.soft })]),
    sides.map((list, side) => {
      const top = side * LANE;
      const median = (list[(list.length - 1) >> 1] + list[list.length >> 1]) / 2;
      const every = Math.ceil(list.length / MOST);
      const colour = side === 0 ? palette.soft : palette.accent;
      return [
        label(10, top + LANE / 2 + 5, side === 0 ? "A" : "B", { "font-weight": 600 }),
        list.filter((_, at) => at % every === 0 || at === list.length - 1).map((it, at) => svg("circle", { cx: x_of(it).toFixed(1), cy: (top + 12 + ((at * 29) % 38)).toFixed(1), r: list.length > 300 ? 1.8 : 3, fill: colour, "fill-opacity": 0.6 })),
        svg("line", { x1: x_of(median), x2: x_of(median), y1: top + 6, y2: top + LANE - 4, stroke: palette.text, "stroke-width": 2 })];
    }));
}
