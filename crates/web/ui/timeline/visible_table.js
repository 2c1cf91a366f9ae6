// The timeline as a table: each row that is in sight with how busy it was, how much ran and what took longest.

import { h } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { about, percent, count } from "../parts/units.js";
import { group_title, item_label, row_title } from "../parts/live.js";
import { moment } from "./scale.js";
import { busy_in_all, is_partly } from "../data/window.js";
import { first_ending_after, first_from, longest_of } from "../data/row_index.js";

/**
 * @param {App} app @param {Place[]} places
 * @returns {HTMLTableElement}
 */
export function visible_table(app, places) {
  const { profile } = app;
  const [from, to] = app.view.peek();
  const rows = places.filter((it) => it.row !== null && it.row.kind !== "counter").slice(0, 500);
  const caption = t("visible_from_to", { from: moment(profile.ns(from), profile.ns(to - from) / 10), to: moment(profile.ns(to), profile.ns(to - from) / 10) });
  return h("table", { class: "simple" },
    h("caption", null, caption, is_partly(profile, [from, to]) ? ` · ${t("range_partly")}` : ""),
    h("thead", null, h("tr", null, [t("group"), t("row"), t("slices"), t("busy"), t("busy_share"), t("longest")].map((it, at) => h("th", { scope: "col", class: at >= 2 && at < 5 ? "right" : "" }, it)))),
    h("tbody", null, rows.map((place) => {
      const row = /** @type {Row} */ (place.row);
      const first = first_ending_after(row.index, from);
      const last = first_from(row.index.start, to, first);
      const busy = busy_in_all(profile, row, [from, to]);
      const longest = longest_of(row.index, first, last);
      return h("tr", null,
        h("td", null, profile.facts.groups[row.group] ? group_title(profile.facts.groups[row.group]) : ""),
        h("th", { scope: "row" }, row_title(profile, row)),
        h("td", { class: "right" }, count(last - first)),
        h("td", { class: "right" }, about(profile.ns(busy))),
        h("td", { class: "right" }, percent(busy / (to - from))),
        h("td", null, longest < 0 ? "–" : `${item_label(profile, row.index.item[longest])} · ${about(profile.ns(row.index.duration[longest]))}`));
    })));
}
