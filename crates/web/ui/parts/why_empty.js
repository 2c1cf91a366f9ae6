// Why a place is empty, in the words of the profile's reader, else in general ones.

import { h } from "./dom.js";
import { t } from "../locale/texts.js";
import { shown } from "./text.js";

/** @param {App} app */
export function why_empty(app) {
  const notes = app.profile.report.about.notes ?? [];
  return h("div", { class: "soft" }, notes.length > 0 ? notes.map((it) => h("p", null, shown(it, 600))) : h("p", null, t("no_operators_why")));
}
