// The stretch of time that a screen is limited to, and the button that takes it off.

import { h } from "./dom.js";
import { t } from "../locale/texts.js";
import { about } from "./units.js";
import { is_partly } from "../data/window.js";

/** @param {App} app @param {Span} span */
export function range_chip(app, span) {
  const remove = t("range_remove");
  return h("span", { class: "chip" }, t("limited_to_range", { time: about(app.profile.ns(span[1] - span[0])) }),
    is_partly(app.profile, span) ? h("span", { class: "problem" }, t("range_partly")) : null,
    h("button", { class: "plain", "aria-label": remove, title: remove, on: { click: () => { app.marked.value = null; } } }, "×"));
}
