// The parts of the page with the keys that lead to them, and all other keys.

import { h } from "../parts/dom.js";
import { t } from "../locale/texts.js";

/** The parts by their elements and names, in the order of their keys. */
export const PARTS = /** @type {const} */ ([
  ["part-headline", "nav_headline"], ["part-suspects", "nav_suspects"], ["part-heat", "nav_heat"], ["part-links", "nav_links"], ["part-steps", "nav_steps"], ["part-timelines", "nav_timelines"], ["part-about", "nav_about"],
]);
const KEYS = /** @type {const} */ ([
  ["1 … 7", "key_parts"], ["← → ↑ ↓", "key_cells"], ["Enter", "key_choose"], ["Esc", "key_let_go"], ["W S", "key_zoom"], ["A D ← →", "key_pan"], [", .", "key_slices"], ["↑ ↓", "key_rows"], ["0", "key_everything"], ["F", "key_fit"], ["?", "help_title"],
]);

export function help_dialog() {
  const close = h("button", { class: "icon", "aria-label": t("close"), on: { click: () => element.close() } }, "×");
  const element = h("dialog", { class: "help", "aria-labelledby": "help-title" },
    h("div", { class: "help-head" }, h("h2", { id: "help-title" }, t("help_title")), close),
    h("table", { class: "keys" }, h("caption", { class: "unseen" }, t("keys")), h("tbody", null, KEYS.map(([keys, does]) => h("tr", null, h("th", { scope: "row" }, keys.split(" ").map((it) => [h("kbd", null, it), " "])), h("td", null, t(does)))))),
    h("p", { class: "soft" }, t("pointer_help")));
  return { element, open: () => { if (!element.open) element.showModal(); } };
}
