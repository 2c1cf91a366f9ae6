// The overview: what an inference takes and where that goes, at first sight. Figures lead to their screens.

import { why_empty } from "../parts/why_empty.js";
import { h } from "../parts/dom.js";
import { batch } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { about, percent, count, bytes } from "../parts/units.js";
import { named, unit_word, group_title } from "../parts/live.js";
import { shown } from "../parts/text.js";
import { meter, facts_list } from "../parts/panel.js";
import { colour_of_type } from "../parts/colours.js";
import { card_head, verdict_of } from "./compare.js";
import { save_drawing, signed_percent } from "../parts/drawing.js";
import { save_text, json_of } from "../parts/copy.js";
import { inference_plot } from "../plot/inferences.js";
import { effect } from "../state/signal.js";

/** @param {App} app @returns {ScreenView} */
export function overview_screen(app) {
  const { overview } = app.profile;
  /** @type {(() => void)[]} */
  const stops = [];
  const plot = app.profile.iterations.count > 0 ? inference_plot(app) : null;
  if (plot) stops.push(plot.dispose);
  const element = h("div", { class: "page overview" },
    h("h1", { class: "unseen" }, t("screen_overview")),
    latency_card(app),
    h("section", { class: "card inferences-card" }, card_head(t("every_inference"), plot && save_drawing(app, "inferences", plot.drawing), save_text(app, "overview", "JSON", () => json_of(overview))), plot ? plot.element : h("p", { class: "soft" }, t("no_inferences_why"))),
    versus_card(app),
    h("div", { class: "column" },
      h("section", { class: "card" }, h("h2", null, overview.iterations > 0 ? t("one_inference") : t("whole_profile")), inference_bar(app), units_table(app)),
      operators_card(app)),
    h("div", { class: "column" }, types_card(app, stops), findings_card(app)));
  return { element, dispose: () => { for (const stop of stops) stop(); } };
}

// The figures of the other profile beside those of this one.
/** @param {App} app */
function versus_card(app) {
  const { against, compare } = app.profile.report;
  if (!against || !compare) return null;
  const [a, b] = [against.overview, app.profile.overview];
  /** @type {[Key, number | null | undefined, number | null | undefined, (it: number) => string][]} */
  const rows = [
    .../** @type {const} */ (["median", "mean", "p90", "p99", "min", "max"]).map((it) => /** @type {[Key, number | undefined, number | undefined, typeof about]} */ ([it, a.latency?.[`${it}_ns`], b.latency?.[`${it}_ns`], about])),
    ["busy", a.busy_ns, b.busy_ns, about], ["idle", a.idle_ns, b.idle_ns, about], ["operator_time", a.operator_time_ns, b.operator_time_ns, about], ["peak_memory", a.peak_memory_bytes, b.peak_memory_bytes, bytes],
  ];
  const known = rows.filter(([, before, after]) => typeof before === "number" && typeof after === "number");
  const line = (/** @type {Child} */ head, /** @type {(row: (typeof known)[0]) => Child} */ cell) => h("tr", null, h("th", { scope: "row" }, head), known.map((row) => h("td", { class: "right" }, cell(row))));
  return h("section", { class: "card versus" },
    card_head(t("compared_with", { name: shown(against.name, 100) }), h("span", null, verdict_of(compare)), h("button", { class: "small", on: { click: () => { app.screen.value = "compare"; } } }, t("screen_compare"))),
    h("table", { class: "simple" }, h("thead", null, h("tr", null, h("td"), known.map(([name]) => h("th", { scope: "col", class: "right" }, t(name))))),
      h("tbody", null, line(t("total_before"), ([, before, , text]) => text(before ?? 0)), line(t("total_after"), ([, , after, text]) => h("b", null, text(after ?? 0))),
        line(t("difference"), ([, before, after]) => signed_percent(before ? ((after ?? 0) - before) / before : null)))));
}

/** @param {App} app */
function latency_card(app) {
  const { overview } = app.profile;
  const { latency } = overview;
  if (!latency) {
    return h("section", { class: "card headline" }, h("h2", null, t("latency")), h("p", { class: "figure" }, about(overview.wall_ns ?? overview.operator_time_ns)), h("p", { class: "soft" }, t("no_latency")),
      facts_list([[t("executions"), count(overview.tasks)], [t("busy"), known(overview.busy_ns)], [t("idle"), known(overview.idle_ns)]]));
  }
  // A profile may tell one inference that is the mean of many, of which nothing else is known.
  const runs = latency.count === 1 && overview.summed_runs;
  const basis = latency.basis === "unrecorded" ? "basis_unrecorded" : "basis_recorded";
  return h("section", { class: "card headline" },
    h("h2", null, t("latency")),
    h("p", { class: "figure" }, about(latency.median_ns), h("span", { class: "figure-note" }, t(runs ? "mean_of_sum" : "median_of", { n: count(runs || latency.count) }))),
    runs ? why_empty(app) : [facts_list([
      [t("mean"), about(latency.mean_ns)], [t("p90"), about(latency.p90_ns)], [t("p99"), about(latency.p99_ns)],
      [t("min"), about(latency.min_ns)], [t("max"), about(latency.max_ns)], [t("variation"), percent(latency.coefficient_of_variation)],
      [t("peak_memory"), overview.peak_memory_bytes === null ? "" : bytes(overview.peak_memory_bytes)],
    ]),
    h("p", { class: "soft" }, t(basis), latency.recording_ratio !== null && latency.recording_ratio !== undefined ? ` ${t("recording_ratio", { ratio: latency.recording_ratio.toFixed(2) })}` : ""),
    overview.peak_memory_operator ? h("p", { class: "soft" }, t("peak_memory_at", { name: shown(overview.peak_memory_operator) })) : null]);
}

// A time, or nothing where the profile tells no starts.
/** @param {number | null} time */
function known(time) {
  return time === null ? "" : about(time);
}

// One average inference: inside operators, between them, waiting. Without starts, nothing is known of what lies between.
/** @param {App} app */
function inference_bar(app) {
  const { overview } = app.profile;
  const wall = overview.wall_ns || overview.operator_time_ns || 1;
  const parts = [
    { name: t("inside_operators"), time: overview.busy_ns ?? overview.operator_time_ns, kind: "inside", to: /** @type {ScreenName} */ ("operators") },
    ...(overview.idle_ns === null ? [] : [{ name: t("between_operators"), time: overview.idle_ns, kind: "between", to: /** @type {ScreenName} */ ("timeline") }]),
  ];
  return h("div", null,
    h("div", { class: "split", role: "img", "aria-label": parts.map((it) => `${it.name}: ${about(it.time)} (${percent(it.time / wall)})`).join("; ") },
      parts.filter((it) => it.time > 0).map((it) => h("span", { class: `split-${it.kind}`, style: { "flex-grow": String(Math.max(it.time, wall / 200)) } }))),
    h("ul", { class: "legend" }, parts.map((it) => h("li", null, h("span", { class: `swatch split-${it.kind}`, "aria-hidden": "true" }), h("button", { class: "plain link", on: { click: () => { app.screen.value = it.to; } } }, it.name), h("b", null, about(it.time)), h("span", { class: "soft" }, percent(it.time / wall)))),
      overview.waiting_ns === null ? h("li", { class: "soft" }, t("waiting_unknown")) : h("li", null, h("span", { class: "swatch split-waiting", "aria-hidden": "true" }), t("waiting_in_queue"), " ", h("b", null, about(overview.waiting_ns)))));
}

/** @param {App} app */
function units_table(app) {
  const { overview, facts } = app.profile;
  const wall = overview.wall_ns || overview.operator_time_ns || 1;
  /** @type {[string, number, number][]} */
  const rows = [
    ...overview.devices.map((it) => /** @type {[string, number, number]} */ ([it.name ? t("device_named", { n: it.number, name: shown(it.name, 60) }) : t("device_n", { n: it.number }), it.busy_ns, it.tasks])),
    ...overview.units.map((it) => /** @type {[string, number, number]} */ ([unit_word(it.unit), it.time_ns, it.tasks])),
  ];
  if (rows.length === 0) return h("p", { class: "soft" }, t("no_units"));
  const device = facts.groups.find((it) => it.kind === "device");
  return h("div", null, h("h3", null, t("units_busy")),
    h("table", { class: "simple" }, h("caption", { class: "unseen" }, device ? group_title(device) : t("units_busy")), h("tbody", null, rows.map(([name, time, tasks]) => h("tr", null,
      h("th", { scope: "row" }, name), h("td", { class: "bar-cell" }, meter(time / wall)), h("td", { class: "right" }, about(time)), h("td", { class: "right" }, time > wall * 1.0005 ? h("span", { title: t("at_once_why") }, t("at_once", { n: (time / wall).toFixed(1) })) : percent(time / wall)), h("td", { class: "right soft" }, t("tasks_n", { n: count(tasks) })))))));
}

/** @param {App} app @param {(() => void)[]} stops */
function types_card(app, stops) {
  const { types } = app.profile.overview;
  const bar = h("div", { class: "split tall", role: "img", "aria-label": types.slice(0, 8).map((it) => `${named(it.type)}: ${percent(it.share)}`).join("; ") });
  const swatches = types.slice(0, 12).map(() => h("span", { class: "swatch", "aria-hidden": "true" }));
  stops.push(effect(() => {
    const { css } = app.palette.value;
    bar.replaceChildren(...types.filter((it) => it.share > 0.002).map((it) => h("span", { style: { "flex-grow": String(it.share), background: css[colour_of_type(it.type)] }, title: `${named(it.type)} ${percent(it.share)}` })));
    swatches.forEach((it, at) => it.style.setProperty("background", css[colour_of_type(types[at].type)]));
  }));
  let sum = 0;
  return h("section", { class: "card" }, h("h2", null, t("types")),
    types.length === 0 ? why_empty(app) : [bar,
      h("table", { class: "simple" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, t("type")), h("th", { scope: "col", class: "right" }, t("time")), h("th", { scope: "col", class: "right" }, t("share")), h("th", { scope: "col", class: "right" }, t("cumulative")), h("th", { scope: "col", class: "right" }, t("operators")))),
        h("tbody", null, types.slice(0, 12).map((it, at) => {
          sum += it.share;
          return h("tr", null, h("th", { scope: "row", class: "name-cell" }, swatches[at], h("button", { class: "plain link", on: { click: () => batch(() => { app.selection.value = { kind: "type", type: it.type }; app.query.value = `type:${/\s/.test(it.type) ? `"${it.type}"` : it.type}`; app.screen.value = "operators"; }) } }, named(it.type))),
            h("td", { class: "right" }, about(it.time_ns)), h("td", { class: "right" }, percent(it.share)), h("td", { class: "right soft" }, percent(sum)), h("td", { class: "right soft" }, count(it.operators)));
        }))),
      types.length > 12 ? h("p", { class: "soft" }, h("button", { class: "plain link", on: { click: () => batch(() => { app.grouping.value = "type"; app.query.value = ""; app.screen.value = "operators"; }) } }, t("all_types", { n: count(types.length) }))) : null]);
}

/** @param {App} app */
function operators_card(app) {
  const { operators, overview } = app.profile;
  const whole = overview.whole_ns || 1;
  const most = operators[0]?.time || 1;
  return h("section", { class: "card" }, h("h2", null, t("costliest_operators")),
    operators.length === 0 ? why_empty(app) : [
      h("table", { class: "simple" }, h("tbody", null, operators.slice(0, 10).map((it) => h("tr", null,
        h("th", { scope: "row", class: "name-cell", title: shown(it.name) }, h("button", { class: "plain link", on: { click: () => batch(() => { app.selection.value = { kind: "operator", operator: it.row }; app.query.value = ""; app.grouping.value = "operator"; app.screen.value = "operators"; }) } }, named(it.name))),
        h("td", { class: "soft type-cell" }, shown(it.type, 40)),
        h("td", { class: "bar-cell" }, meter(it.time / most)),
        h("td", { class: "right" }, about(it.time)), h("td", { class: "right" }, percent(it.time / whole)))))),
      h("p", null, h("button", { class: "plain link", on: { click: () => { app.screen.value = "operators"; } } }, t("all_operators", { n: count(operators.length) })))]);
}

/** @param {App} app */
function findings_card(app) {
  const { findings } = app.profile.report.advice;
  const best = [...findings].sort((a, b) => (b.saves_at_most_ns ?? -1) - (a.saves_at_most_ns ?? -1)).slice(0, 3);
  const { overview } = app.profile;
  const coverage = overview.operator_time_ns > 0 ? overview.attributed_ns / overview.operator_time_ns : null;
  const zh = app.language.peek() === "zh";
  return h("section", { class: "card" }, h("h2", null, t("could_save_most")),
    best.length === 0 ? h("p", { class: "soft" }, t("no_findings")) : h("ol", { class: "best" }, best.map((it) => h("li", null,
      h("button", { class: "plain link", on: { click: () => batch(() => { app.selection.value = { kind: "finding", rule: it.id }; app.screen.value = "advice"; }) } }, zh && it.zh ? it.zh.title : it.title),
      h("span", { class: "saves" }, it.saves_at_most_ns === null ? t("saving_unknown") : t("saves_at_most", { time: about(it.saves_at_most_ns), share: it.share === null ? "" : percent(it.share) }))))),
    h("h3", null, t("coverage")),
    facts_list([
      [t("attributed"), coverage === null ? "" : percent(coverage)],
      [t("outside_inferences"), overview.outside.tasks > 0 ? t("tasks_time", { n: count(overview.outside.tasks), time: about(overview.outside.time_ns) }) : ""],
      [t("control_tasks"), overview.control.tasks > 0 ? t("tasks_time", { n: count(overview.control.tasks), time: about(overview.control.time_ns) }) : ""],
      [t("losses"), app.profile.report.losses.length > 0 ? h("button", { class: "plain link", on: { click: () => { app.screen.value = "about"; } } }, t("losses_n", { n: count(app.profile.report.losses.length) })) : t("none")],
    ]));
}
