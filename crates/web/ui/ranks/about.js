// The facts of the run: what was read, what is missing or damaged, and how the page is made.

import { h } from "../parts/dom.js";
import { t, word } from "../locale/texts.js";
import { about, count } from "../parts/units.js";
import { shown } from "../parts/text.js";
import { command_box, json_of, save_text } from "../parts/copy.js";
import { list_of } from "./link.js";

/** Losses of a kind that are listed; all are in the JSON. */
const LISTED = 20;

/** @param {RanksApp} app @returns {Part} */
export function about_run(app) {
  const { cluster, command, name } = app.run.report;
  const kinds = [...new Set(cluster.losses.map((it) => it.kind))];
  const element = h("section", { class: "card", id: "part-about", "aria-labelledby": "about-title" },
    h("div", { class: "card-head" }, h("h2", { id: "about-title" }, t("about_title")), h("span", { class: "grow" }), save_text(app, "about", "JSON", () => json_of({ missing: cluster.missing, clocks: cluster.clocks, shifts: cluster.shifts, losses: cluster.losses }))),
    h("dl", { class: "pairs" }, facts().map(([title, value]) => h("div", null, h("dt", null, title), h("dd", null, value)))),
    h("h3", null, t("losses_title")),
    kinds.length === 0 ? h("p", { class: "soft" }, t("losses_none")) : kinds.map((kind) => {
      const own = cluster.losses.filter((it) => it.kind === kind);
      return h("details", null, h("summary", null, `${word("severity", own[0].severity)}: ${word("loss", kind)} (${count(own.length)})`),
        h("ul", null, own.slice(0, LISTED).map((it) => h("li", { class: "wrap" }, `${shown(it.scope, 60)}: ${shown(it.source, 300)}${it.detail === "" ? "" : ` (${shown(it.detail, 300)})`}${it.count > 1 ? ` × ${count(it.count)}` : ""}`)), own.length > LISTED ? h("li", { class: "soft" }, t("and_more", { n: own.length - LISTED })) : null));
    }),
    h("h3", null, t("clocks_title")),
    h("div", { class: "scrolling" }, h("table", { class: "simple" }, h("caption", { class: "unseen" }, t("clocks_title")),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, t("host")), [t("ahead"), t("drift"), t("clock_error"), t("island")].map((it) => h("th", { scope: "col", class: "right" }, it)))),
      h("tbody", null, cluster.clocks.map((it) => h("tr", null, h("th", { scope: "row" }, shown(it.host, 80)), h("td", { class: "right" }, about(it.offset_ns)), h("td", { class: "right" }, `${it.drift_ppm.toFixed(1)} ppm`), h("td", { class: "right" }, `± ${about(it.error_ns)}`), h("td", { class: "right" }, it.island + 1)))))),
    h("h3", null, t("made_by")), command_box(app, command));
  return { element, dispose: () => {} };

  /** @returns {[string, string][]} */
  function facts() {
    return [
      [t("run"), shown(name, 200)],
      [t("ranks"), count(cluster.ranks)],
      [t("missing"), cluster.missing.length === 0 ? t("none") : shown(list_of(cluster.missing), 400)],
      [t("hosts"), count(cluster.hosts.length)],
      [t("layout"), Object.entries(cluster.layout).map(([key, size]) => `${key} ${size}`).join(", ") || "–"],
      [t("steps"), shown(list_of(cluster.steps), 400)],
      [t("collectives"), count(cluster.collectives)],
      [t("incomplete"), count(cluster.incomplete)],
      [t("replay_error"), `${(100 * cluster.replay_error).toFixed(4)} %`],
      [t("noise"), about(cluster.noise_ns)],
      [t("shifted"), cluster.shifts.length === 0 ? t("none") : cluster.shifts.slice(0, 12).map((it) => `${t("rank_n", { rank: it.rank })} (${it.role}) ${it.added > 0 ? "+" : ""}${it.added}`).join(", ")],
    ];
  }
}
