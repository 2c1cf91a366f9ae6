// Where a step goes: its parts stacked, by step, host, place in groups, or rank.

import { h, fill } from "../parts/dom.js";
import { effect, untracked } from "../state/signal.js";
import { t, word } from "../locale/texts.js";
import { about, percent } from "../parts/units.js";
import { csv_lines, shown } from "../parts/text.js";
import { command_box, save_text } from "../parts/copy.js";
import { make_grid } from "../table/grid.js";
import { account_rows, groupings, PARTS, selected_ranks } from "./run.js";

/** Colours of the parts, by their numbers among those of types: blue, orange, yellow, teal; what is idle is grey. */
const COLOURS = { compute: 0, waiting: 8, bubble: 10, transfer: 16 };

/** @param {Palette} palette @param {string} part */
function colour_of(palette, part) {
  return part === "idle" ? palette.strong_line : palette.css[COLOURS[/** @type {keyof typeof COLOURS} */ (part)]];
}

/** @param {RanksApp} app @returns {Part} */
export function where_steps_go(app) {
  const { run } = app;
  const known = groupings(run);
  if (!known.includes(app.grouping.peek())) app.grouping.value = known[0];
  const by = h("select", { on: { change: () => { app.grouping.value = by.value; } } }, known.map((it) => h("option", { value: it, selected: it === app.grouping.peek() }, word("by", it))));
  const legend = h("div", { class: "legend" });
  const place = h("div", { class: "grid-place ranks-grid" });
  const command = h("div");
  const said = h("div");
  /** @type {{ mark(is: (row: any) => boolean): void, dispose(): void } | null} */
  let grid = null;
  const element = h("section", { class: "card", id: "part-steps", "aria-labelledby": "steps-title" },
    h("div", { class: "card-head" }, h("h2", { id: "steps-title" }, t("steps_title")), h("label", { class: "field" }, t("steps_by"), " ", by), h("span", { class: "grow" }),
      save_text(app, "steps", "CSV", csv)),
    said, legend, place, h("p", { class: "soft" }, t("steps_meaning")), command);
  const stops = [
    effect(() => {
      const [name, palette, sorted] = [app.grouping.value, app.palette.value, app.sort.value];
      untracked(() => {
        by.value = name;
        fill(said, run.report.said[app.language.peek()].account.split("\n").map((it) => h("p", null, shown(it, 400))));
        fill(legend, PARTS.map((it) => h("span", { class: "legend-step" }, h("span", { class: "swatch", style: { background: colour_of(palette, it) } }), word("measure", it))));
        fill(command, command_box(app, `opscope cluster summary ${run.report.source} --by ${name}`));
        show(name, palette, sorted);
      });
    }),
    effect(() => {
      void app.selection.value;
      mark();
    }),
  ];
  return { element, dispose: () => { for (const stop of [...stops, () => grid?.dispose()]) stop(); } };

  /** @param {string} name @param {Palette} palette @param {string} sorted */
  function show(name, palette, sorted) {
    grid?.dispose();
    const rows = account_rows(run, name);
    const most = Math.max(1, ...rows.map((it) => Math.max(it.step_ns, total(it))));
    const time = (/** @type {keyof AccountRow} */ key, /** @type {string} */ title) => ({ key, title, width: "84px", right: true, cell: (/** @type {AccountRow} */ it) => about(Number(it[key])) });
    const spread = rows.some((it) => it.ranks > 1);
    const columns = [
      { key: "of", title: word("by", name), width: "minmax(70px, 130px)", cell: (/** @type {AccountRow} */ it) => shown(it.of, 60) },
      ...(spread ? [{ key: "ranks", title: t("ranks"), width: "60px", right: true, cell: (/** @type {AccountRow} */ it) => it.ranks }] : []),
      { key: "parts", title: t("parts"), width: "minmax(160px, 3fr)", sortable: false, of: () => null, cell: (/** @type {AccountRow} */ it) => bar(it, most, palette) },
      time("step_ns", t("step")), ...PARTS.map((it) => time(/** @type {keyof AccountRow} */ (`${it}_ns`), word("measure", it))),
      { key: "unaccounted_ns", title: t("unaccounted"), width: "90px", right: true, why: t("unaccounted_is"), cell: (/** @type {AccountRow} */ it) => (Math.abs(it.unaccounted_ns) < it.step_ns / 1000 ? "–" : about(it.unaccounted_ns)) },
      ...(spread ? [{ key: "imbalance", title: t("imbalance"), width: "90px", right: true, why: t("imbalance_is"), cell: (/** @type {AccountRow} */ it) => (it.imbalance === null ? "–" : percent(it.imbalance)) }] : []),
    ];
    const made = make_grid({
      label: t("steps_title"), columns, empty: () => t("nothing_here"),
      choose(/** @type {AccountRow} */ it) {
        if (name === "rank") app.selection.value = `rank:${it.of}`;
      },
      sort(key) {
        app.sort.value = app.sort.peek() === `-${key}` ? key : `-${key}`;
      },
    });
    grid = made;
    fill(place, made.element);
    const key = sorted.replace(/^-/, "");
    if (columns.some((it) => it.key === key)) {
      const sign = sorted.startsWith("-") ? -1 : 1;
      const value = (/** @type {AccountRow} */ it) => { const own = it[/** @type {keyof AccountRow} */ (key)]; return typeof own === "string" && /^\d+$/.test(own) ? Number(own) : own ?? -Infinity; };
      rows.sort((a, b) => { const [x, y] = [value(a), value(b)]; return x < y ? -sign : x > y ? sign : 0; });
    }
    made.show(rows, sorted);
    place.style.setProperty("height", `${Math.min(440, 32 + 28 * Math.max(1, rows.length))}px`);
    mark();
  }

  function mark() {
    const selected = selected_ranks(run, app.selection.peek()).map(String);
    grid?.mark((/** @type {any} */ it) => app.grouping.peek() === "rank" && selected.includes(it.of));
  }

  function csv() {
    const name = app.grouping.peek();
    const keys = /** @type {(keyof AccountRow)[]} */ (["ranks", "step_ns", ...PARTS.map((it) => `${it}_ns`), "unaccounted_ns", "imbalance", "imbalance_ns"]);
    return csv_lines([[name, ...keys], ...account_rows(run, name).map((it) => [it.of, ...keys.map((key) => it[key])])]);
  }
}

/** The sum of a row's parts. @param {AccountRow} row */
function total(row) {
  return PARTS.reduce((sum, it) => sum + Number(row[/** @type {keyof AccountRow} */ (`${it}_ns`)]), 0);
}

/** @param {AccountRow} row @param {number} most @param {Palette} palette */
function bar(row, most, palette) {
  const parts = PARTS.map((it) => ({ name: it, time: Number(row[/** @type {keyof AccountRow} */ (`${it}_ns`)]) })).filter((it) => it.time > 0);
  return h("span", { class: "stack", role: "img", "aria-label": parts.map((it) => `${word("measure", it.name)} ${about(it.time)}`).join(", ") },
    parts.map((it) => h("span", { style: { width: `${(100 * it.time) / most}%`, background: colour_of(palette, it.name) }, title: `${word("measure", it.name)}: ${about(it.time)}` })));
}
