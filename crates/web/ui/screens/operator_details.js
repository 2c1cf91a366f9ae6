// Everything about one operator: how its executions are spread, how they drift, what it is.

import { h, svg, fill } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { about, percent, count, flops, bytes, flop_rate, byte_rate } from "../parts/units.js";
import { named, unit_word } from "../parts/live.js";
import { shown, whole } from "../parts/text.js";
import { facts_list, at_ceiling, meter } from "../parts/panel.js";
import { executions_of } from "../timeline/find.js";
import { choose_slice, reveal } from "../timeline/moves.js";
import { show_named } from "../parts/search.js";
import { histogram, per_inference } from "../data/executions.js";

const [WIDE, HIGH] = [300, 96];

/** @param {App} app @param {number} number */
export function operator_details(app, number) {
  const { profile } = app;
  const it = profile.operators[number];
  if (!it) return null;
  const slices = executions_of(profile, number);
  const left_out = profile.report.left_out.slices_in_full < profile.report.left_out.slices;
  const spread = histogram(Array.from(slices, (slice) => profile.ns(profile.duration[slice])));
  const drift = per_inference(profile, slices);
  const show = () => {
    app.screen.value = "timeline";
    if (slices.length > 0) {
      reveal(app, slices[0]);
      choose_slice(app, slices[0]);
    }
  };
  const spread_place = h("div", null, slices.length === 0 ? h("p", { class: "soft" }, t(left_out ? "executions_left_out" : "no_executions")) : [
    spread_view(spread, it),
    slices.length < it.count ? h("p", { class: "soft" }, t("executions_partly", { n: count(slices.length), all: count(it.count) })) : null], drift_view(drift));
  if (slices.length < it.count) {
    profile.served?.executions(number).then(({ histogram: all, per_inference: each, slowest }) => fill(spread_place,
      spread_view({ counts: all.counts, edges: all.edges_ns, least: all.least_ns, most: all.most_ns }, it),
      drift_view(each.map((of) => ({ number: of.number, time: of.time_ns, warm_up: of.warm_up }))),
      h("h3", null, t("slowest_executions")), h("ol", { class: "evidence" }, slowest.slice(0, 10).map((of) => h("li", null, h("button", { class: "plain link", on: { click: () => show_named(app, `task:${of.id}`) } }, t("starts_at", { time: about(profile.ns(of.start)) })), h("span", { class: "right" }, about(of.duration_ns)))))), () => {});
  }
  return [
    h("h2", { class: "selected-name" }, it.name === "" ? t("no_name") : whole(it.name)),
    h("div", { class: "actions" }, slices.length > 0 ? h("button", { class: "small", on: { click: show } }, t("show_on_timeline")) : null),
    facts_list([
      [t("type"), shown(it.type)],
      [t("engine_type"), it.engine_type !== it.type ? shown(it.engine_type) : ""],
      [t("time_of_inference"), `${about(it.time)} · ${percent(it.time / (profile.overview.whole_ns || 1))}`],
      [t("executions"), count(it.count)],
      [t("unit"), unit_word(it.unit)],
      [t("stream"), shown(it.stream)],
      [t("compute"), it.flops === null ? "" : `${flops(it.flops)}${it.time > 0 ? ` · ${flop_rate((it.flops / it.time) * 1e9)}` : ""}`],
      [t("moved"), it.bytes === null ? "" : `${bytes(it.bytes)}${it.time > 0 ? ` · ${byte_rate((it.bytes / it.time) * 1e9)}` : ""}`],
      [t("ideal"), at_ceiling(it)],
      [t("waiting"), it.wait === null ? "" : about(it.wait)],
      [t("shapes"), shown(it.shapes, 400)],
      [t("data_type"), shown(it.data_type)],
      [t("attribution"), shown(it.attribution)],
    ]),
    h("h3", null, t("all_executions")),
    spread_place,
    metric_bars(app, profile.metrics_of(number)),
    it.nodes !== "" ? [h("h3", null, t("nodes")), h("p", { class: "wrap" }, shown(it.nodes, 2000))] : null,
    it.attributes !== "" && it.attributes !== "{}" ? [h("h3", null, t("attributes")), attributes(it.attributes)] : null,
  ];
}

/** @param {ReturnType<typeof histogram>} spread @param {Operator} it */
function spread_view(spread, it) {
  return [bars(spread), h("p", { class: "soft axis-ends" }, h("span", null, about(spread.least)), h("span", null, t("median_at", { time: about(it.median) })), h("span", null, about(spread.most)))];
}

/** @param {ReturnType<typeof per_inference>} drift */
function drift_view(drift) {
  return drift.length > 1 ? [h("h3", null, t("per_inference")), dots(drift), h("p", { class: "soft axis-ends" }, h("span", null, t("inference_n", { number: drift[0].number })), h("span", null, t("inference_n", { number: drift[drift.length - 1].number })))] : null;
}

// Ratios of a whole are bars; counts, times and rates stand as figures.
// A name, with the page of `opscope explain` about it where there is one.
/** @param {App} app @param {string} name */
function explained(app, name) {
  const page = app.profile.report.pages?.find((it) => it.metrics.includes(name));
  if (!page) return named(name);
  const [title, text] = app.language.peek() === "zh" ? page.zh : page.en;
  return h("details", null, h("summary", null, named(name)), h("b", null, title), h("p", { class: "page-text" }, text), h("code", null, `opscope explain ${page.name}`));
}

/** @param {App} app @param {ReturnType<Profile["metrics_of"]>} list */
function metric_bars(app, list) {
  if (list.length === 0) return null;
  return [h("h3", null, t("metrics")), h("table", { class: "simple metrics" }, h("tbody", null, list.map((it) => {
    const share = metric_share(it);
    return h("tr", null, h("th", { scope: "row", class: "wrap" }, explained(app, it.name)), h("td", { class: "bar-cell" }, share === null ? null : meter(share)), h("td", { class: "right" }, metric_text(it)));
  })))];
}

/** The share of a whole that a quantity of hardware is, or null. @param {Metric} it */
function metric_share(it) {
  return it.unit === "%" ? it.mean / 100 : it.unit === "" && /ratio/i.test(it.name) ? it.mean : null;
}

/** @param {Metric} it */
export function metric_text(it) {
  const share = metric_share(it);
  if (share !== null) return percent(share);
  return it.unit === "us" ? about(it.mean * 1000) : `${Number(it.mean.toPrecision(4))} ${shown(it.unit, 20)}`;
}

/** @param {string} text JSON */
function attributes(text) {
  try {
    const value = JSON.parse(text);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      return facts_list(Object.entries(value).slice(0, 60).map(([name, it]) => [named(name), shown(typeof it === "string" ? it : JSON.stringify(it), 300)]));
    }
  } catch {
    // Shown as it is.
  }
  return h("p", { class: "wrap" }, shown(text, 2000));
}

/** @param {ReturnType<typeof histogram>} spread */
function bars(spread) {
  const most = Math.max(1, ...spread.counts);
  const wide = WIDE / spread.counts.length;
  return svg("svg", { class: "bars", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": t("histogram_name", { from: about(spread.least), to: about(spread.most) }), preserveAspectRatio: "none" },
    spread.counts.map((it, at) => {
      const high = it === 0 ? 0 : Math.max(2, (it / most) * (HIGH - 4));
      return svg("rect", { x: (at * wide).toFixed(2), y: (HIGH - high).toFixed(2), width: Math.max(1, wide - 1).toFixed(2), height: high.toFixed(2) }, svg("title", null, t("histogram_bar", { n: count(it), from: about(spread.edges[at]), to: about(spread.edges[at + 1]) })));
    }));
}

/** @param {ReturnType<typeof per_inference>} drift */
function dots(drift) {
  const most = drift.reduce((best, it) => Math.max(best, it.time), 1);
  return svg("svg", { class: "dots", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": t("per_inference") },
    svg("line", { x1: 0, x2: WIDE, y1: HIGH - 0.5, y2: HIGH - 0.5 }),
    drift.slice(0, 2000).map((it, at) => svg("circle", { cx: (((at + 0.5) / Math.min(2000, drift.length)) * WIDE).toFixed(1), cy: (HIGH - 3 - (it.time / most) * (HIGH - 10)).toFixed(1), r: drift.length > 150 ? 1.2 : 2.4, class: it.warm_up ? "hollow" : "" },
      svg("title", null, `${t("inference_n", { number: it.number })}: ${about(it.time)}`))));
}
