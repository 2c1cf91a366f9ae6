// The stretch of time that a screen is limited to, and the button that takes it off.

import { h } from "./dom.js";
import { t } from "../locale/texts.js";
import { about } from "./units.js";
import { is_partly } from "../data/window.js";

/** @param {App} app @param {Span} span */
export function range_chip(app, span) {
  return chip([t("limited_to_range", { time: about(app.profile.ns(span[1] - span[0])) }), is_partly(app.profile, span) ? h("span", { class: "problem" }, t("range_partly")) : null],
    t("range_remove"), () => { app.marked.value = null; });
}

/** A view's limit, with a button that takes it off. @param {Child} content @param {string} remove @param {() => void} action */
export function chip(content, remove, action) {
  return h("span", { class: "chip" }, content, h("button", { class: "plain", "aria-label": remove, title: remove, on: { click: action } }, "×"));
}
