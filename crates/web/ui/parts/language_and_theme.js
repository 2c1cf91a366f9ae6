// The buttons of a page's bar that choose its language and its theme.

import { h, fill } from "./dom.js";
import { effect, untracked } from "../state/signal.js";
import { t } from "../locale/texts.js";

/** @param {{ language: Signal<Language>, chosen_language: Signal<Language | null>, theme: Signal<Theme>, dark: { readonly value: boolean, peek(): boolean } }} app */
export function language_and_theme(app) {
  const language = h("button", { class: "icon text", lang: app.language.peek() === "zh" ? "en" : "zh-CN", "aria-label": t("other_language_name"), title: t("other_language_name"), on: { click: () => {
    const next = app.language.peek() === "zh" ? "en" : "zh";
    app.chosen_language.value = next;
    app.language.value = next;
  } } }, t("other_language"));
  const theme = h("button", { class: "icon", on: { click: () => { app.theme.value = app.dark.peek() ? "light" : "dark"; } } });
  const dispose = effect(() => {
    const dark = app.dark.value;
    untracked(() => {
      const name = t(dark ? "to_light" : "to_dark");
      theme.setAttribute("aria-label", name);
      theme.title = name;
      fill(theme, dark ? "☀" : "☾");
    });
  });
  return { elements: [language, theme], dispose };
}
