// The files that were read, losses and where they are, and how to get missing data.

import { h } from "../parts/dom.js";
import { t, word } from "../locale/texts.js";
import { count, bytes, about as duration_text } from "../parts/units.js";
import { shown } from "../parts/text.js";
import { command_box, save_text, json_of } from "../parts/copy.js";
import { facts_list } from "../parts/panel.js";
import { profile_word, quoted } from "./command.js";

/** @param {App} app @returns {ScreenView} */
export function about_screen(app) {
  const { report } = app.profile;
  const { about, losses, left_out: left } = report;
  /** @type {[string, Child][]} */
  const embedded = [
    [t("slices"), t("n_of_all", { n: count(left.slices_in_full), all: count(left.slices) })],
    [t("inferences_whole"), left.inferences_in_full === null ? t("all") : left.inferences_in_full.slice(0, 50).join(", ")],
    [t("operators"), t("n_of_all", { n: count(left.operators_in_full), all: count(left.operators) })],
    [t("counters"), left.samples > 0 ? t("n_of_all", { n: count(left.samples_in_full), all: count(left.samples) }) : ""],
    [t("operators_rest"), left.operators_rest_ns ? duration_text(left.operators_rest_ns) : ""],
    [t("undrawable"), left.undrawable ? count(left.undrawable) : ""],
    [t("names_cut"), left.names_cut > 0 ? count(left.names_cut) : ""],
  ];
  const element = h("div", { class: "page about" },
    h("div", { class: "page-head" }, h("h1", null, shown(report.name)), save_text(app, "about", "JSON", () => json_of({ about, losses, left_out: left }))),
    h("section", { class: "card" }, h("h2", null, t("what_was_read")), facts_list([[t("path"), about.path === null ? t("kept_in_no_file") : shown(about.path, 1000)], [t("format"), shown(about.kind, 200)], ...facts_of(about.facts)])),
    h("section", { class: "card" }, h("h2", null, t("what_was_lost")), losses.length === 0 ? h("p", { class: "soft" }, t("nothing_lost")) : h("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": t("what_was_lost") }, h("table", { class: "simple" },
      h("thead", null, h("tr", null, [t("severity"), t("loss"), t("number"), t("where"), t("detail")].map((it, at) => h("th", { scope: "col", class: at === 2 ? "right" : "" }, it)))),
      h("tbody", null, losses.map((it) => h("tr", null, h("td", null, h("span", { class: `tag ${it.severity === "lost" ? "strong" : ""}` }, word("severity", it.severity))), h("td", null, shown(it.reason ?? it.kind, 300)), h("td", { class: "right" }, count(it.count)), h("td", null, shown([it.source, it.scope].filter(Boolean).join(" · "), 200)), h("td", null, shown(it.detail ?? "", 300)))))))),
    about.remarks.length > 0 ? h("section", { class: "card" }, h("h2", null, t("remarks")), h("ul", null, about.remarks.map((it) => h("li", null, shown(it, 600))))) : null,
    about.notes && about.notes.length > 0 ? h("section", { class: "card" }, h("h2", null, t("why_empty")), h("ul", null, about.notes.map((it) => h("li", null, shown(it, 600))))) : null,
    about.missing.length > 0 ? h("section", { class: "card" }, h("h2", null, t("what_is_missing")), h("ul", null, about.missing.map((it) => h("li", null, shown(it, 600))))) : null,
    h("section", { class: "card" }, h("h2", null, t("what_this_report_holds")), facts_list(embedded)),
    h("section", { class: "card" }, h("h2", null, t("more_questions")),
      h("p", { class: "soft" }, t("command_report")), command_box(app, about.command),
      h("p", { class: "soft" }, t("command_info")), command_box(app, `opscope info ${quoted(profile_word(app))}`),
      h("p", { class: "soft" }, t("command_roofline")), command_box(app, `opscope analyze ${quoted(profile_word(app))} --roofline`),
      h("p", { class: "soft" }, t("command_compare")), command_box(app, `opscope compare BEFORE ${quoted(profile_word(app))}`)));
  return { element, dispose: () => {} };
}

/** @param {Record<string, unknown>} facts @returns {[string, Child][]} */
function facts_of(facts) {
  return Object.entries(facts).filter(([name]) => name !== "losses").map(([name, value]) => [shown(word("fact", name), 80), fact_text(name, value)]);
}

/** @param {string} name @param {unknown} value */
function fact_text(name, value) {
  if (typeof value === "number") {
    if (name === "begin_unix_ns" && Math.abs(value) < 8e21) return new Date(value / 1e6).toISOString().replace("T", " ");
    if (name === "extent_ns") return duration_text(value);
    if (name === "file_bytes") return bytes(value);
  }
  return value_text(value);
}

/** @param {unknown} value @returns {string} */
function value_text(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.slice(0, 50).map(value_text).join(", ");
  if (typeof value === "object") return Object.entries(value).slice(0, 50).map(([name, it]) => `${shown(word("fact", name), 80)} ${value_text(it)}`).join(" · ");
  // Numbers beyond 2^53 have lost their last digits on the way here.
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) return value.toExponential(6);
  return typeof value === "number" ? (Number.isInteger(value) ? count(value) : String(value)) : shown(String(value), 500);
}
