// The changes since another profile: verdict, whole seconds, both sets of inferences, the way from A to B, groups.

import { h, fill } from "../parts/dom.js";
import { effect, signal, untracked, batch } from "../state/signal.js";
import { group_of } from "../state/selected.js";
import { t, word } from "../locale/texts.js";
import { about, percent, count } from "../parts/units.js";
import { shown } from "../parts/text.js";
import { meter } from "../parts/panel.js";
import { save_text, json_of, command_box } from "../parts/copy.js";
import { save_drawing, signed, signed_percent } from "../parts/drawing.js";
import { make_grid, nothing_matches } from "../table/grid.js";
import { durations_plot } from "../plot/durations.js";
import { bars_of, ends, members, story_text, waterfall_csv, waterfall_table, waterfall_drawing } from "../plot/waterfall.js";
import { item_of } from "../timeline/find.js";
import { next_of_item } from "../parts/search.js";
import { command_of_screen, profile_word, quoted } from "./command.js";

// The command line's sentences, by which its answer names them.
/** @type {Record<string, Key>} */
const BASES = {
  "mean of the measured inferences": "basis_mean", "median of the measured inferences that weren't recorded": "basis_median",
  "mean of the calls that execute the model": "basis_calls", "sum of the operators' own time": "basis_operators",
  "longest range that both have": "basis_range", "nothing to compare": "basis_nothing",
};
/** @type {Record<string, Key>} */
const VERDICTS = { "faster beyond noise": "verdict_faster", "slower beyond noise": "verdict_slower", "no difference beyond noise": "verdict_same" };
const SPANS = 12;

/** @param {App} app @returns {ScreenView} */
export function compare_screen(app) {
  const { report } = app.profile;
  const { compare, against } = report;
  if (!compare || !against) {
    return { element: h("div", { class: "empty" }, h("h1", null, t("screen_compare")), h("p", null, t("compare_empty")), command_box(app, app.profile.file ? `opscope serve ${quoted(profile_word(app))} BEFORE` : `opscope report ${quoted(profile_word(app))} --against BEFORE`), app.profile.file ? h("p", null, t("compare_served")) : null), dispose: () => {} };
  }
  const opened = signal(/** @type {ReadonlySet<string>} */ (new Set()));
  const all = signal(false);
  const steps = compare.waterfall.filter((it) => it.story !== null).length;
  const { before_ns: before, after_ns: after } = compare.inferences;
  const plot = h("div");
  const way = h("div");
  const bars = () => bars_of(compare, opened.value, all.value);
  const choose = (/** @type {number} */ group) => { app.selection.value = { kind: "group", group }; };
  const groups = compare.groups.map((it, number) => ({ ...it, number, times: Math.max(it.before.length, it.after.length), name: members(it), told: story_text(it) }));
  const grid = make_grid({
    label: t("groups"), sort, empty: nothing_matches, choose: (row) => { choose(row.number); app.says.value = `${row.name}, ${signed(row.delta_ns)}`; },
    columns: [
      { key: "change", title: t("change"), width: "90px", cell: (row) => word("change", row.change) },
      { key: "delta_ns", title: t("difference"), width: "100px", right: true, cell: (row) => signed(row.delta_ns) },
      { key: "before_ns", title: t("total_before"), width: "90px", right: true, cell: (row) => about(row.before_ns) },
      { key: "after_ns", title: t("total_after"), width: "90px", right: true, cell: (row) => about(row.after_ns) },
      { key: "story", title: t("story"), width: "minmax(200px, 1fr)", cell: (row) => h("span", { title: row.told }, row.told) },
      { key: "name", title: t("operators"), width: "minmax(260px, 1.6fr)", cell: (row) => h("span", { title: row.name }, row.name) },
    ],
  });
  const element = h("div", { class: "page compare" },
    h("h1", { class: "unseen" }, t("screen_compare")),
    headline(app, compare, against),
    compare.suspects.length + compare.spans.length > 0 ? spans_card(app, compare) : null,
    before.length + after.length > 0 ? h("section", { class: "card" }, card_head(t("every_inference"), save_drawing(app, "inferences", () => plot.querySelector("svg"))), h("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": t("every_inference") }, plot)) : null,
    compare.waterfall.length > 0 ? h("section", { class: "card" }, card_head(t("waterfall"),
      steps > 14 ? h("button", { class: "chip", "aria-pressed": "false", on: { click: (/** @type {Event} */ event) => { all.value = !all.peek(); /** @type {HTMLElement} */ (event.currentTarget).setAttribute("aria-pressed", String(all.peek())); } } }, t("all_steps", { n: count(steps) })) : null,
      save_drawing(app, "waterfall", () => untracked(() => waterfall_drawing(app.palette.value, bars()))), save_text(app, "waterfall", "CSV", () => waterfall_csv(bars()))), way) : null,
    groups.length > 0 ? h("section", { class: "card" }, card_head(t("groups"),
      compare.groups_left_out.count > 0 ? h("span", { class: "problem" }, t("groups_left_out", { n: count(compare.groups_left_out.count), time: signed(compare.groups_left_out.delta_ns) })) : null,
      save_text(app, "compare", "CSV", () => grid.csv()), save_text(app, "compare", "JSON", () => json_of(compare))),
      matched(compare), h("div", { class: "groups-grid" }, grid.element)) : null,
    h("section", { class: "card" }, h("h2", null, t("same_question")), command_box(app, command_of_screen(app))));
  let sorted = "";
  sort("");
  const stops = [
    effect(() => { if (before.length > 0 && after.length > 0) fill(plot, durations_plot(app.palette.value, before, after)); }),
    effect(() => {
      const chosen = group_of(app.profile, app.selection.value);
      fill(way, waterfall_table(app, bars(), { opened: opened.value, chosen, choose, toggle: (story) => {
        const next = new Set(opened.peek());
        if (!next.delete(story)) next.add(story);
        opened.value = next;
      } }));
      untracked(() => grid.mark((row) => row.number === chosen));
    }),
  ];
  requestAnimationFrame(() => grid.reveal_chosen());
  return { element, dispose: () => { for (const stop of stops) stop(); grid.dispose(); } };

  /** @param {string} key */
  function sort(key) {
    sorted = sorted === `-${key}` ? key : key === "" ? "" : `-${key}`;
    const by = /** @type {"change" | "delta_ns" | "before_ns" | "after_ns" | "story" | "name"} */ (key);
    const sign = sorted.startsWith("-") ? -1 : 1;
    if (key !== "") groups.sort((a, b) => sign * (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0));
    grid.show(groups, sorted || "-");
  }
}

/** @param {string} title @param {...Child} tools */
export function card_head(title, ...tools) {
  return h("div", { class: "card-head" }, h("h2", null, title), h("span", { class: "grow" }), tools);
}

/** @param {Comparison} compare */
export function verdict_of({ difference }) {
  return t(VERDICTS[difference?.verdict ?? ""] ?? "verdict_unknown");
}

/** @param {App} app @param {Comparison} compare @param {Against} against */
function headline(app, compare, against) {
  const [from, to] = ends(compare);
  const { difference } = compare;
  const verdict = verdict_of(compare);
  const milliseconds = (/** @type {number} */ time) => `${(time / 1e6).toFixed(3)} ms`;
  const figures = [milliseconds(from), " → ", milliseconds(to)];
  const same = difference !== null && VERDICTS[difference.verdict] === "verdict_same";
  return h("section", { class: "card headline" },
    h("p", { class: "soft sides" }, h("b", null, "A "), shown(against.name, 120), h("span", { class: "soft" }, " → "), h("b", null, "B "), shown(app.profile.report.name, 120)),
    h("p", { class: "figure" }, same ? verdict : figures, " ", same || compare.speed_up === null ? null : h("span", { class: "figure-note strong" }, `${compare.speed_up.toFixed(3)}×  ${signed_percent(compare.change)}`)),
    h("p", { class: "verdict" }, same ? [figures, " · ", signed_percent(compare.change)] : h("b", null, verdict),
      difference ? ` · ${t("interval", { change: signed_percent(difference.change), low: signed_percent(difference.interval[0]), high: signed_percent(difference.interval[1]), a: count(difference.runs[0]), b: count(difference.runs[1]) })}` : ""),
    h("p", { class: "soft" }, t(BASES[compare.basis] ?? "basis_nothing"), compare.executions_ratio !== null ? ` ${t(compare.whole_profiles ? "one_side_whole" : "one_side", { ratio: compare.executions_ratio.toFixed(2) })}` : ""),
    compare.different_models ? h("p", { class: "problem" }, t("different_models")) : null);
}

// Whole seconds come first; the others by how much they changed, as the answer has them.
/** @param {App} app @param {Comparison} compare */
function spans_card(app, compare) {
  const suspects = new Set(compare.suspects.map((it) => it.name));
  const changed = compare.spans.filter((it) => it.before_ns !== it.after_ns);
  const is_suspect = (/** @type {{ name: string, place: string }} */ it) => suspects.has(it.name) || suspects.has(it.place) || suspects.has(`${it.name} (${it.place})`);
  const rows = [...changed.filter(is_suspect), ...changed.filter((it) => !is_suspect(it))].slice(0, SPANS);
  return h("section", { class: "card" }, h("h2", null, t("calls_and_ranges")),
    compare.suspects.map((it) => h("p", { class: "suspect", role: "note" }, h("b", null, shown(it.name, 200)), " ", t(it.delta_ns < 0 ? "seconds_lost" : "seconds_gained", { time: about(Math.abs(it.delta_ns)), n: it.seconds }), it.unrecorded ? ` ${t("seconds_unrecorded")}` : "", " ", t("sleep_suspected"), " ", h("span", { class: "tag" }, it.rule))),
    rows.length === 0 ? null : h("table", { class: "simple" },
      h("thead", null, h("tr", null, [t("name"), t("total_before"), t("total_after"), t("difference"), t("change")].map((it, at) => h("th", { scope: "col", class: at > 0 ? "right" : "" }, it)))),
      h("tbody", null, rows.map((it) => {
        const item = item_of(app.profile, it.name);
        const name = shown(it.place || it.name, 160);
        return h("tr", null, h("th", { scope: "row", class: "name-cell", title: name }, item < 0 ? name : h("button", { class: "plain link", on: { click: () => batch(() => { app.screen.value = "timeline"; next_of_item(app, item); }) } }, name), h("span", { class: "soft" }, ` ${word("kind", it.kind)}`)),
          h("td", { class: "right" }, about(it.before_ns)), h("td", { class: "right" }, about(it.after_ns)), h("td", { class: "right" }, signed(it.after_ns - it.before_ns)),
          h("td", { class: "right soft" }, it.before_ns > 0 ? signed_percent((it.after_ns - it.before_ns) / it.before_ns) : "–"));
      }))));
}

/** @param {Comparison} compare */
function matched({ matched: { before, after } }) {
  return h("div", { class: "matched" }, /** @type {const} */ ([["A", before], ["B", after]]).map(([side, share]) => h("div", null, h("b", null, side), meter(share), h("span", { class: "soft" }, t("matched", { share: percent(share), rest: percent(1 - share) })))));
}
