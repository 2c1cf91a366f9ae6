// The headline, which says what a step costs, and the suspects, one of them with its evidence.

import { h, fill } from "../parts/dom.js";
import { effect, untracked } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { about, count } from "../parts/units.js";
import { csv_lines, shown } from "../parts/text.js";
import { command_box, json_of, save_text } from "../parts/copy.js";
import { selection_of, suspect_of } from "./run.js";
import { select } from "./state.js";

/** A difference of an operator that is told, in nanoseconds a step: less would show as nothing. */
const LEAST_TOLD = 5e4;

/** @param {RanksApp} app @returns {Part} */
export function headline(app) {
  const { cluster, said, source } = app.run.report;
  const words = said[app.language.peek()];
  const told = cluster.replay_error <= 0.02;
  const lost = cluster.losses.filter((it) => it.severity === "lost").length;
  const element = h("section", { class: "card ranks-headline", id: "part-headline", "aria-labelledby": "headline-title" },
    h("h1", { id: "headline-title", class: "unseen" }, t("headline_title")),
    h("div", { class: "card-head" },
      h("div", { class: "figure" }, about(cluster.step_ns), h("span", { class: "figure-note" }, t("a_step"))),
      told ? h("div", { class: "figure reachable" }, about(cluster.reachable_ns), h("span", { class: "figure-note" }, t("reachable", { less: Math.round(100 * (1 - cluster.reachable_ns / cluster.step_ns)) }))) : null,
      h("span", { class: "grow" }), save_text(app, "cluster", "JSON", () => json_of(cluster))),
    words.headline.split("\n").map((it) => h("p", { class: "verdict" }, shown(it, 1000))),
    h("p", null, shown(words.heading, 2000)),
    h("p", { class: "soft" }, shown(words.clocks, 2000)),
    lost > 0 ? h("p", { class: "suspect" }, h("a", { href: "#part-about", on: { click: (/** @type {Event} */ event) => { event.preventDefault(); document.getElementById("part-about")?.scrollIntoView(); } } }, t("losses_told", { n: count(lost) }))) : null,
    command_box(app, `opscope cluster ${source}`));
  return { element, dispose: () => {} };
}

/** @param {RanksApp} app @returns {Part} */
export function suspects(app) {
  const { run } = app;
  const { cluster, said, source } = run.report;
  const words = said[app.language.peek()].suspects;
  const details = h("div", { class: "suspect-details", "aria-live": "polite" });
  /** @type {HTMLButtonElement[]} */
  const buttons = [];
  const rows = cluster.suspects.map((it, place) => {
    const own = words[place];
    const button = h("button", { class: "plain link", "aria-pressed": "false", on: { click: () => select(app, selection_of(it, place)) } }, shown(own.who, 120));
    buttons.push(button);
    return h("tr", { class: it.named ? "" : "hidden-suspect", hidden: it.within }, h("td", { class: "right" }, shown(own.number, 20)), h("th", { scope: "row" }, button), h("td", { class: "right" }, shown(own.costs, 40)), h("td", { class: "right" }, shown(own.alone, 40)), h("td", null, shown(own.since, 40)), h("td", { class: "wrap" }, shown(own.why, 600)));
  });
  const heads = /** @type {const} */ ([["#", true], ["who", false], ["costs_a_step", true], ["alone", true], ["since", false], ["why", false]]);
  const table = h("table", { class: "simple suspects" }, h("caption", { class: "unseen" }, t("suspects_title")),
    h("thead", null, h("tr", null, heads.map(([key, right]) => h("th", { scope: "col", class: right ? "right" : "" }, key === "#" ? key : t(key))))),
    h("tbody", null, rows));
  const element = h("section", { class: "card", id: "part-suspects", "aria-labelledby": "suspects-title" },
    h("div", { class: "card-head" }, h("h2", { id: "suspects-title" }, t("suspects_title")), h("span", { class: "grow" }), rows.length > 0 ? save_text(app, "suspects", "CSV", csv) : null),
    rows.length > 0 ? [h("div", { class: "scrolling tall" }, table), h("p", { class: "soft" }, t("suspects_meaning"))] : h("p", { class: "soft" }, t("suspects_none")),
    details, command_box(app, `opscope cluster slow ${source}`));
  const dispose = effect(() => {
    const place = suspect_of(run, app.selection.value);
    untracked(() => {
      buttons.forEach((it, at) => {
        it.setAttribute("aria-pressed", String(at === place));
        it.closest("tr")?.classList.toggle("chosen", at === place);
      });
      fill(details, place < 0 ? null : evidence(place));
    });
  });
  return { element, dispose };

  /** @param {number} place */
  function evidence(place) {
    const it = cluster.suspects[place];
    const facts = /** @type {[string, string][]} */ ([[t("costs_a_step"), interval(it)], [t("alone"), about(Math.max(0, it.alone_ns))], [t("excess"), about(it.excess_ns)], [t("compared_with"), it.evidence.peers.length > 0 ? it.evidence.peers.join(", ") : "–"]]);
    const differing = it.evidence.differences.filter((one) => Math.abs(one.excess_ns) >= LEAST_TOLD);
    // A name that a shell would take otherwise isn't put into a command.
    const host = /^host (\w[\w.-]*)$/.exec(it.name)?.[1];
    const option = it.kind === "rank" ? `--rank ${it.rank}` : it.kind === "link" ? `--link ${it.src}-${it.dst}` : it.kind === "host" && host ? `--host ${host}` : null;
    return h("div", { class: "evidence-card" }, h("h3", null, shown(words[place].who, 120)),
      h("dl", { class: "pairs" }, facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
      differing.length === 0 ? null : h("table", { class: "simple" }, h("caption", null, t("differing")),
        h("thead", null, h("tr", null, h("th", { class: "right", scope: "col" }, t("than_on_peers")), h("th", { scope: "col" }, t("operator")), h("th", { scope: "col" }, t("type")), h("th", { scope: "col" }, t("unit")), h("th", { class: "right", scope: "col" }, t("times_a_step")), h("th", { scope: "col" }, t("on_peers")))),
        h("tbody", null, differing.map((one) => h("tr", null, h("td", { class: "right" }, `${one.excess_ns < 0 ? "−" : "+"}${about(Math.abs(one.excess_ns))}`), h("td", null, shown(one.operator.name, 120)), h("td", null, shown(one.operator.type, 60)), h("td", null, shown(one.operator.unit, 30)), h("td", { class: "right" }, one.count.toFixed(0)), h("td", null, t(one.is_on_peers ? "yes" : "no")))))),
      option === null ? null : command_box(app, `opscope cluster slow ${source} ${option}`));
  }

  function csv() {
    return csv_lines([["who", "named", "saves_ns", "low_ns", "high_ns", "alone_ns", "excess_ns", "since_step", "within"], ...cluster.suspects.map((it) => [it.name, String(it.named), it.saves_ns, it.low_ns, it.high_ns, it.alone_ns, it.excess_ns, it.since_step, String(it.within)])]);
  }
}

/** Its cost to a step, with the interval where there is one. @param {Suspect} suspect */
function interval({ saves_ns, low_ns, high_ns }) {
  const saves = about(Math.max(0, saves_ns));
  return low_ns === null || high_ns === null ? saves : t("saves_between", { saves, low: about(low_ns), high: about(high_ns) });
}
