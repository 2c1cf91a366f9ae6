// The bar on top: screens, search, language, theme, help.

import { h, fill } from "./dom.js";
import { effect, untracked } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { SCREENS } from "../state/link.js";
import { search_box } from "./search.js";
import { shown } from "./text.js";
import { SCREEN_KEYS } from "./bar_keys.js";

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
  const language = h("button", { class: "icon text", lang: app.language.peek() === "zh" ? "en" : "zh-CN", "aria-label": t("other_language_name"), title: t("other_language_name"), on: { click: () => {
    const next = app.language.peek() === "zh" ? "en" : "zh";
    app.chosen_language.value = next;
    app.language.value = next;
  } } }, t("other_language"));
  const theme = h("button", { class: "icon", on: { click: () => { app.theme.value = app.dark.peek() ? "light" : "dark"; } } });
  const element = h("header", { class: "bar" },
    h("span", { class: "brand", title: app.profile.report.name }, h("b", null, t("brand")), h("span", { class: "profile-name" }, shown(app.profile.report.name, 60))),
    h("nav", { "aria-label": t("screens") }, tabs),
    h("span", { class: "grow" }),
    search.element,
    language,
    theme,
    h("button", { class: "icon", title: t("help_title"), "aria-label": t("help_title"), on: { click: help } }, "?"));
  const stops = [
    effect(() => {
      const now = app.screen.value;
      SCREENS.forEach((screen, at) => {
        if (screen === now) tabs[at].setAttribute("aria-current", "page");
        else tabs[at].removeAttribute("aria-current");
      });
    }),
    effect(() => {
      const dark = app.dark.value;
      untracked(() => {
        const name = t(dark ? "to_light" : "to_dark");
        theme.setAttribute("aria-label", name);
        theme.title = name;
        fill(theme, dark ? "☀" : "☾");
      });
    }),
  ];
  return { element, search: search.open, dispose: () => { for (const stop of [...stops, search.dispose]) stop(); } };
}
