// The way from A's time to B's: a bar for each story, which opens into its groups.

import { h, svg } from "../parts/dom.js";
import { t, word } from "../locale/texts.js";
import { about, count } from "../parts/units.js";
import { csv_lines, shown } from "../parts/text.js";
import { drawing, label, change_colour, signed } from "../parts/drawing.js";

const STEPS = 14;
const OPENED = 50;

/** @typedef {{ name: string, from: number, to: number, delta: number | null, story: string | null, group: number, nested: boolean }} WaterfallBar */

/**
 * @param {Comparison} answer @param {ReadonlySet<string>} opened stories @param {boolean} all whether lesser steps stand by themselves
 * @returns {WaterfallBar[]}
 */
export function bars_of(answer, opened, all) {
  const [from, to] = ends(answer);
  /** @type {WaterfallBar[]} */
  const bars = [total(t("total_before"), from)];
  let reached = from;
  const add = (/** @type {string} */ name, /** @type {number} */ delta, /** @type {string | null} */ story) => {
    bars.push({ name, from: reached, to: reached + delta, delta, story, group: -1, nested: false });
    reached += delta;
  };
  const steps = answer.waterfall.filter((it) => it.story !== null);
  /** @type {Map<string, number[]>} */
  const by_story = new Map();
  answer.groups.forEach((it, group) => by_story.set(it.story, [...(by_story.get(it.story) ?? []), group]));
  const told = all ? steps : steps.slice(0, STEPS);
  for (const step of told) {
    const begin = reached;
    const groups = by_story.get(step.story ?? "") ?? [];
    const first = answer.groups[groups[0]];
    // Of stories whose groups were left out there is the answer's own name.
    add(first ? `${groups.length > 1 ? `${count(groups.length)} × ` : ""}${story_text(first)} (${groups.length > 1 ? `${t("most")} ` : ""}${members(first)})` : shown(step.name, 160), step.delta_ns, step.story);
    if (step.story === null || !opened.has(step.story)) continue;
    let within = begin;
    for (const group of groups.slice(0, OPENED)) {
      const it = answer.groups[group];
      bars.push({ name: members(it), from: within, to: within + it.delta_ns, delta: it.delta_ns, story: null, group, nested: true });
      within += it.delta_ns;
    }
  }
  const others = steps.slice(told.length).reduce((sum, it) => sum + it.delta_ns, 0) + answer.waterfall_left_out.delta_ns;
  if (others !== 0) add(t("all_others"), others, null);
  for (const step of answer.waterfall.filter((it) => it.story === null)) add(t(step.kind === "not explained" ? "not_explained" : "outside_operators"), step.delta_ns, null);
  bars.push(total(t("total_after"), to));
  return bars;
}

/** Where the way begins and ends. @param {Comparison} answer */
export function ends(answer) {
  return answer.before_ns > 0 || answer.after_ns > 0 ? [answer.before_ns, answer.after_ns] : [answer.operators_before_ns, answer.operators_after_ns];
}

/** @param {string} name @param {number} time @returns {WaterfallBar} */
function total(name, time) {
  return { name, from: 0, to: time, delta: null, story: null, group: -1, nested: false };
}

/** The change in the reader's language. @param {ChangeGroup} group */
export function story_text(group) {
  const types = (/** @type {Member[]} */ list) => list.slice(0, 6).map((it) => it.op_type || t("no_name")).join(" + ") + (list.length > 6 ? " + …" : "");
  const whole = group.change === "merged" || group.change === "split";
  return shown(whole ? t("became", { before: types(group.before), after: types(group.after) }) : `${types(group.after.length > 0 ? group.after : group.before)} ${word("change", group.change)}`, 160);
}

/** The operators that a group is named after. @param {ChangeGroup} group */
export function members(group) {
  const list = group.after.length > 0 ? group.after : group.before;
  return shown(list.slice(0, 3).map((it) => it.name || t("no_name")).join(" + ") + (list.length > 3 ? " …" : ""), 160);
}

/** @param {WaterfallBar[]} bars */
export function waterfall_csv(bars) {
  return csv_lines([["name", "from_ns", "to_ns", "delta_ns"], ...bars.map((it) => [it.name, it.from, it.to, it.delta])]);
}

/**
 * @param {App} app @param {WaterfallBar[]} bars
 * @param {{ opened: ReadonlySet<string>, toggle: (story: string) => void, choose: (group: number) => void, chosen: number }} how
 */
export function waterfall_table(app, bars, { opened, toggle, choose, chosen }) {
  const palette = app.palette.value;
  const [low, most] = extent(bars);
  const place = (/** @type {number} */ time) => ((time - low) / (most - low)) * 100;
  return h("table", { class: "simple waterfall" }, low > 0 ? h("caption", null, t("axis_begins", { time: about(low) })) : null,
    h("thead", { class: "unseen" }, h("tr", null, ["story", "time", "change", "share"].map((it) => h("th", { scope: "col" }, t(/** @type {Key} */ (it)))))),
    h("tbody", null, bars.map((bar) => {
      const { story } = bar;
      const [left, right] = [Math.max(0, place(Math.min(bar.from, bar.to))), place(Math.max(bar.from, bar.to))];
      return h("tr", { class: bar.group >= 0 && bar.group === chosen ? "chosen" : bar.delta === null ? "total" : "" },
        h("th", { scope: "row", class: bar.nested ? "name-cell nested" : "name-cell", title: bar.name },
          story !== null ? h("button", { class: "plain", "aria-expanded": String(opened.has(story)), on: { click: () => toggle(story) } }, h("span", { class: opened.has(story) ? "arrow" : "arrow folded", "aria-hidden": "true" }), bar.name)
            : bar.group >= 0 ? h("button", { class: "plain link", on: { click: () => choose(bar.group) } }, bar.name) : bar.name),
        h("td", { class: "right soft" }, bar.nested ? "" : about(bar.to)),
        h("td", { class: "right" }, bar.delta === null ? "" : signed(bar.delta)),
        h("td", { class: "waterfall-cell" }, h("span", { class: `${bar.nested ? "nested" : ""}${(bar.delta ?? 0) > 0 ? " striped" : ""}`, style: { left: `${left}%`, width: `${Math.max(0.15, right - left)}%`, "background-color": bar.delta === null ? palette.strong_line : change_colour(palette, bar.delta) } })));
    })));
}

/** @param {WaterfallBar[]} bars */
function extent(bars) {
  const totals = bars.filter((it) => it.delta === null).map((it) => it.to);
  const all = bars.flatMap((it) => (it.delta === null ? [it.to] : [it.from, it.to]));
  const [low, most] = [Math.min(...all), Math.max(1, ...all)];
  // Small changes of a large whole would be lines: the axis begins near them, and it is said.
  const cut = most - low < 0.3 * Math.min(...totals) ? low - (most - low) * 0.15 : Math.min(0, low);
  return [cut, most];
}

/** The same as a drawing to be saved. @param {Palette} palette @param {WaterfallBar[]} bars */
export function waterfall_drawing(palette, bars) {
  const [low, most] = extent(bars);
  const x_of = (/** @type {number} */ time) => 430 + (Math.max(0, time - low) / (most - low)) * 460;
  return drawing(palette, 1000, bars.length * 22 + 12, t("waterfall"), low > 0 ? label(430, 8, t("axis_begins", { time: about(low) }), { fill: palette.soft, "font-size": 10 }) : null, bars.map((bar, at) => [
    label(bar.nested ? 28 : 10, at * 22 + 21, bar.name.length > 56 ? `${bar.name.slice(0, 55)}…` : bar.name),
    svg("rect", { x: x_of(Math.min(bar.from, bar.to)).toFixed(1), y: at * 22 + 9, width: Math.max(1, Math.abs(x_of(bar.to) - x_of(bar.from))).toFixed(1), height: bar.nested ? 8 : 15, fill: bar.delta === null ? palette.strong_line : change_colour(palette, bar.delta) }),
    label(Math.max(x_of(bar.to), x_of(bar.from)) + 6, at * 22 + 21, bar.delta === null ? about(bar.to) : signed(bar.delta))]));
}
