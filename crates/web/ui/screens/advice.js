// Findings as cards, by what they could save at most; what could not be asked and why.

import { h, fill } from "../parts/dom.js";
import { effect, signal, untracked, batch } from "../state/signal.js";
import { t, word } from "../locale/texts.js";
import { about, percent, count } from "../parts/units.js";
import { named } from "../parts/live.js";
import { shown } from "../parts/text.js";
import { command_box, save_text, json_of } from "../parts/copy.js";
import { signed_percent } from "../parts/drawing.js";
import { item_of } from "../timeline/find.js";
import { next_of_item } from "../parts/search.js";
import { command_of_screen } from "./command.js";

const SHOWN = 8;
// The command line's words for where the order of tasks comes from.
/** @type {Record<string, Key>} */
const PREDICTED_BY = {
  "the serial sum of the only stream": "by_sum", "the serial sum of each stream, because the profile records no dependencies": "by_streams",
  "the critical path through streams and the values between operators": "by_path",
};

/** @param {App} app @returns {ScreenView} */
export function advice_screen(app) {
  const { advice } = app.profile.report;
  const findings = [...advice.findings].sort((a, b) => (b.saves_at_most_ns ?? -1) - (a.saves_at_most_ns ?? -1));
  const [confidence, family] = [signal(""), signal("")];
  const list = h("div", { class: "cards" });
  const filter = (/** @type {Key} */ name, /** @type {Signal<string>} */ chosen, /** @type {string[]} */ all, /** @type {(it: string) => string} */ told) => {
    const choices = ["", ...new Set(all)];
    const choose = h("select", { on: { change: () => { chosen.value = choices[choose.selectedIndex]; } } }, choices.map((it) => h("option", { value: it }, it === "" ? t("any") : told(it))));
    return choices.length > 2 ? h("label", { class: "field" }, t(name), " ", choose) : null;
  };
  const not_run = /** @type {{ id: string, missing: string }[]} */ (Array.isArray(advice.not_run) ? advice.not_run : []);
  const silenced = Array.isArray(advice.silenced) ? advice.silenced : [];
  const together = advice.saves_together_at_most_ns ?? null;
  const element = h("div", { class: "page advice" },
    h("div", { class: "page-head" }, h("h1", null, t("screen_advice")),
      h("p", { class: "soft" }, t("findings_n", { n: count(findings.length) }), together !== null && findings.some((it) => it.saves_at_most_ns !== null) ? ` · ${t("together", { time: about(together) })}` : "", advice.rules_asked !== undefined ? ` · ${t("rules_asked", { n: count(advice.rules_asked) })}` : ""),
      filter("family", family, findings.map((it) => it.id[0]), String), filter("confidence", confidence, findings.map((it) => it.confidence), (it) => word("confidence", it)), save_text(app, "advice", "JSON", () => json_of(advice))),
    findings.length === 0 ? h("p", { class: "card soft" }, t("no_findings")) : list,
    not_run.length > 0 ? h("details", { class: "card" }, h("summary", null, t("not_run", { n: count(not_run.length) })), h("table", { class: "simple" }, h("tbody", null, not_run.map((it) => h("tr", null, h("th", { scope: "row" }, shown(it.id)), h("td", null, shown(it.missing, 300))))))) : null,
    silenced.length > 0 ? h("p", { class: "soft" }, t("silenced", { list: silenced.map((it) => (typeof it === "string" ? it : String(/** @type {any} */ (it).id ?? ""))).map((it) => shown(it)).join(", ") })) : null,
    h("section", { class: "card" }, h("h2", null, t("same_question")), command_box(app, command_of_screen(app))));
  const tried = signal(/** @type {readonly number[]} */ ([]));
  const prediction = h("section", { class: "card prediction", "aria-live": "polite", hidden: true });
  list.before(prediction);
  const stop_prediction = effect(() => {
    const { whatif } = app.profile.report;
    prediction.hidden = !whatif || tried.value.length === 0;
    if (whatif && tried.value.length > 0) fill(prediction, predicted(whatif, tried.value));
  });
  const stop = effect(() => {
    const [only, letter] = [confidence.value, family.value];
    const selection = app.selection.value;
    const chosen = selection?.kind === "finding" ? selection.rule : null;
    untracked(() => {
      const shown_now = findings.filter((it) => (only === "" || it.confidence === only) && it.id.startsWith(letter));
      fill(list, shown_now.map((it) => card(app, it, it.id === chosen, tried)));
    });
  });
  requestAnimationFrame(() => list.querySelector(".chosen")?.scrollIntoView({ block: "nearest" }));
  return { element, dispose: () => { stop(); stop_prediction(); } };
}

// The program's prediction for this choice: the page itself computes none.
/** @param {WhatIf} whatif @param {readonly number[]} tried */
function predicted(whatif, tried) {
  const time = whatif.predicted_ns[whatif.findings.filter((it) => tried.includes(it)).join("+")];
  if (time === undefined) return h("p", null, t("not_predicted"));
  return [
    h("p", { class: "figure" }, h("span", { class: "tag strong" }, t("prediction")), about(whatif.measured_ns), " → ", about(time), " ", h("span", { class: "figure-note strong" }, signed_percent(whatif.measured_ns > 0 ? time / whatif.measured_ns - 1 : null))),
    h("p", { class: "soft" }, t("prediction_why"), " ", t(PREDICTED_BY[whatif.basis] ?? "by_sum"))];
}

/** @param {App} app @param {Finding} finding @param {boolean} chosen @param {Signal<readonly number[]>} tried */
function card(app, finding, chosen, tried) {
  const number = app.profile.report.advice.findings.indexOf(finding);
  const box = h("input", { type: "checkbox", checked: tried.peek().includes(number), on: { change: () => { tried.value = box.checked ? [...tried.peek(), number] : tried.peek().filter((it) => it !== number); } } });
  const zh = app.language.peek() === "zh" ? finding.zh : null;
  const evidence = h("ul", { class: "evidence" });
  let open = false;
  const show = () => fill(evidence, finding.evidence.slice(0, open ? 500 : SHOWN).map((it) => h("li", null, evidence_name(app, it), it.time_ns ? h("span", { class: "right" }, about(it.time_ns)) : null, it.detail ? h("span", { class: "soft detail" }, shown(it.detail, 300)) : null)),
    finding.evidence.length > SHOWN ? h("li", null, h("button", { class: "plain link", "aria-expanded": String(open), on: { click: () => { open = !open; show(); } } }, t(open ? "fewer" : "all_n", { n: count(finding.evidence.length) }))) : null);
  show();
  const limits = Object.entries(finding.limits ?? {});
  const command = command_of(finding);
  return h("article", { class: chosen ? "card finding chosen" : "card finding", "aria-labelledby": `finding-${finding.id}` },
    h("div", { class: "finding-head" },
      h("h2", { id: `finding-${finding.id}` }, h("button", { class: "plain title", "aria-pressed": String(chosen), on: { click: () => { app.selection.value = chosen ? null : { kind: "finding", rule: finding.id }; } } }, shown(zh ? zh.title : finding.title, 300))),
      h("span", { class: "ceiling" }, finding.saves_at_most_ns === null ? h("span", { class: "soft" }, t("saving_unknown")) : [h("b", null, about(finding.saves_at_most_ns)), finding.share === null ? null : h("span", { class: "soft" }, percent(finding.share)), h("span", { class: "soft" }, t("at_most"))])),
    h("p", { class: "tags" }, app.profile.report.whatif?.findings.includes(number) ? h("label", { class: "try" }, box, " ", t("what_if")) : null, h("span", { class: "tag" }, finding.id), h("span", { class: "tag" }, word("confidence", finding.confidence)), finding.note ? h("span", { class: "soft" }, shown(finding.note, 300)) : null),
    h("p", null, shown(zh ? zh.why : finding.why, 2000)),
    h("p", { class: "do" }, h("b", null, t("what_to_do")), " ", shown(zh ? zh.advice : finding.advice, 2000)),
    command ? command_box(app, command) : null,
    finding.evidence.length > 0 ? [h("h3", null, t("evidence_n", { n: count(finding.evidence.length + (finding.evidence_left_out ?? 0)) })), evidence] : null,
    h("p", { class: "soft source" }, finding.source ? t("source", { source: shown(finding.source, 400) }) : "", limits.length > 0 ? ` ${t("limits", { list: limits.map(([name, it]) => `${shown(name)} = ${shown(String(it))}`).join(", ") })}` : ""));
}

/** @param {Finding} finding */
function command_of(finding) {
  const rewrite = /^rewrite ([A-Za-z0-9]+)$/.exec(finding.auto ?? "");
  if (rewrite) return `opscope rewrite MODEL.onnx -o OUT.onnx --only ${rewrite[1]}`;
  return /^[A-Za-z0-9-]+$/.test(finding.id) ? `opscope explain ${finding.id}` : null;
}

/** @param {App} app @param {Evidence} evidence */
function evidence_name(app, evidence) {
  const operator = app.profile.operators.find((it) => it.name === evidence.name);
  const name = named(evidence.name);
  const item = operator ? -1 : item_of(app.profile, evidence.name);
  if (item >= 0) return h("button", { class: "plain link name-cell", on: { click: () => next_of_item(app, item) } }, name);
  if (!operator) return h("span", { class: "name-cell" }, name);
  return h("button", { class: "plain link name-cell", on: { click: () => batch(() => { app.selection.value = { kind: "operator", operator: operator.row }; app.query.value = ""; app.grouping.value = "operator"; app.screen.value = "operators"; }) } }, name);
}
