// The bar on top: screens, search, language, theme, help.

import { h } from "./dom.js";
import { effect } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { SCREENS } from "../state/link.js";
import { search_box } from "./search.js";
import { shown } from "./text.js";
import { SCREEN_KEYS } from "./bar_keys.js";
import { language_and_theme } from "./language_and_theme.js";

/**
 * @param {App} app @param {() => void} help
 */
export function bar(app, help) {
  const tabs = SCREENS.map((screen) => h("a", { href: `#/${screen}`, title: `${t(`screen_${screen}`)} (${SCREEN_KEYS[screen]})`, on: { click: (/** @type {MouseEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    app.screen.value = screen;
  } } }, t(`screen_${screen}`)));
  const search = search_box(app);
  const choices = language_and_theme(app);
  const element = h("header", { class: "bar" },
    h("span", { class: "brand", title: app.profile.report.name }, h("b", null, t("brand")), h("span", { class: "profile-name" }, shown(app.profile.report.name, 60))),
    h("nav", { "aria-label": t("screens") }, tabs),
    h("span", { class: "grow" }),
    search.element,
    choices.elements,
    h("button", { class: "icon", title: t("help_title"), "aria-label": t("help_title"), on: { click: help } }, "?"));
  const stops = [
    effect(() => {
      const now = app.screen.value;
      SCREENS.forEach((screen, at) => {
        if (screen === now) tabs[at].setAttribute("aria-current", "page");
        else tabs[at].removeAttribute("aria-current");
      });
    }),
    choices.dispose,
  ];
  return { element, search: search.open, dispose: () => { for (const stop of [...stops, search.dispose]) stop(); } };
}
