// The page: reads the report that it is in, puts the frame round the screens and keeps the address in step.

import { embedded } from "./data/source.js";
import { make_profile } from "./data/profile.js";
import { make_app, apply_link, address_of } from "./state/app.js";
import { effect, untracked } from "./state/signal.js";
import { h, fill } from "./parts/dom.js";
import { speak, t } from "./locale/texts.js";
import { bar } from "./parts/bar.js";
import { facts_line } from "./parts/facts_line.js";
import { panel } from "./parts/panel.js";
import { help_dialog } from "./parts/help.js";
import { watch_keys } from "./parts/keys.js";
import { SCREEN_VIEWS } from "./screens/screens.js";

async function start() {
  const root = document.getElementById("app");
  if (!root) return;
  try {
    const { report, columns } = await embedded();
    show(root, make_app(make_profile(report, columns)));
    document.getElementById("fallback")?.remove();
  } catch (error) {
    // The text that stands in the page goes on being what there is.
    console.error(error);
    speak(navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
    fill(root, h("p", { class: "failed", role: "alert" }, t("failed", { why: error instanceof Error ? error.message : String(error) })));
  }
}

/** @param {HTMLElement} root @param {App} app */
function show(root, app) {
  const address = address_of(app);
  const said = apply_link(app, location.hash);

  const live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
  const note = h("div", { class: "note", role: "status", hidden: true });
  effect(() => fill(live, app.says.value));
  let gone = 0;
  effect(() => {
    const text = app.note.value;
    note.hidden = text === "";
    fill(note, text);
    clearTimeout(gone);
    if (text !== "") gone = setTimeout(() => { app.note.value = ""; }, 5000);
  });
  effect(() => {
    const root_element = document.documentElement;
    if (app.theme.value === "auto") root_element.removeAttribute("data-theme");
    else root_element.setAttribute("data-theme", app.theme.value);
  });

  /** @type {ScreenView | null} */
  let view = null;
  /** @type {(() => void)[]} */
  let parts = [];
  // A change of language makes everything anew: it is rare, and nothing has to remember its texts.
  effect(() => {
    const language = app.language.value;
    untracked(() => {
      for (const stop of parts) stop();
      speak(language);
      document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
      const help = help_dialog(app);
      const heads = bar(app, () => help.open());
      const main = h("main", { id: "screen", tabindex: "-1" });
      const line = facts_line(app);
      const below = panel(app);
      fill(root, h("a", { class: "skip", href: "#screen", on: { click: (/** @type {Event} */ event) => { event.preventDefault(); main.focus(); } } }, t("skip")), heads.element, line.element, main, below.element, help.element, note, live);
      const stop_screen = effect(() => {
        const screen = app.screen.value;
        untracked(() => {
          view?.dispose();
          view = SCREEN_VIEWS[screen](app);
          fill(main, view.element);
          main.dataset.screen = screen;
          document.title = `${t(`screen_${screen}`)} · ${app.profile.report.name} · opscope`;
        });
      });
      const keys = watch_keys(app, { view: () => view, help: () => help.open(), search: (commands) => heads.search(commands), jump: () => address.jump() });
      parts = [heads.dispose, line.dispose, below.dispose, stop_screen, keys, () => { view?.dispose(); view = null; }];
    });
  });

  if (said.wrong.length > 0) app.note.value = t("link_wrong", { parts: said.wrong.join(", ") });
  if (said.other) app.note.value = t("link_other");
  effect(() => address.follow());
  addEventListener("popstate", () => {
    if (address.ours()) return;
    address.heard();
    apply_link(app, location.hash);
  });
  addEventListener("beforeprint", () => document.documentElement.classList.add("printing"));
  addEventListener("afterprint", () => document.documentElement.classList.remove("printing"));
}

void start();
