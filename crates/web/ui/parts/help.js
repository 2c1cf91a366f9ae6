// All keys and what the pointer does, on one page.

import { h } from "./dom.js";
import { t } from "../locale/texts.js";

const KEYS = /** @type {const} */ ([
  ["W S", "key_zoom"], ["A D ← →", "key_pan"], ["↑ ↓", "key_rows"], [", .", "key_slices"], ["Shift+, Shift+.", "key_executions"], ["0", "show_everything"],
  ["F", "key_fit"], ["M", "key_mark"], ["K", "key_flag"], ["L", "align_slices"], ["I Shift+I", "key_inference"], ["O T G R", "key_there"], ["Backspace", "key_back"],
  ["/", "key_search"], ["Ctrl+K", "key_commands"], ["Q", "panel_toggle"], ["Esc", "let_go"], ["1 … 8", "key_screens"], ["?", "help_title"],
]);
const POINTER = /** @type {const} */ ([
  ["pointer_wheel", "pointer_wheel_does"], ["pointer_zoom", "pointer_zoom_does"], ["pointer_pan", "pointer_pan_does"], ["pointer_drag", "pointer_drag_does"],
  ["pointer_alt", "pointer_alt_does"], ["pointer_click", "pointer_click_does"], ["pointer_twice", "key_fit"],
]);

/** @param {App} app */
export function help_dialog(app) {
  const close = h("button", { class: "icon", "aria-label": t("close"), on: { click: () => element.close() } }, "×");
  const element = h("dialog", { class: "help", "aria-labelledby": "help-title" },
    h("div", { class: "help-head" }, h("h2", { id: "help-title" }, t("help_title")), close),
    h("div", { class: "help-columns" },
      h("table", { class: "keys" }, h("caption", null, t("keys")), h("tbody", null, KEYS.map(([keys, does]) => h("tr", null, h("th", { scope: "row" }, keys.split(" ").map((it) => [h("kbd", null, it), " "])), h("td", null, t(does)))))),
      h("div", null,
        h("table", { class: "keys" }, h("caption", null, t("pointer")), h("tbody", null, POINTER.map(([what, does]) => h("tr", null, h("th", { scope: "row" }, t(what)), h("td", null, t(does)))))),
        h("p", null, h("b", null, t("filter_title")), h("br"), h("code", null, "name:regex type:Conv unit:ai-core >50us <2ms dtype:float16 -stream:3")),
        h("p", { class: "soft" }, t("filter_help")),
        h("p", { class: "soft" }, t("version", { version: app.profile.report.program_version })))));
  return { element, open: () => { if (!element.open) element.showModal(); } };
}
