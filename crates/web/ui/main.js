// The page: reads the report that it is in, or asks the server that it came from; puts the frame round the screens and keeps the address in step.

import { embedded, is_report, served } from "./data/source.js";
import { parse_link } from "./state/link.js";
import { opening } from "./parts/opening.js";
import { waiting_room } from "./parts/waiting_room.js";
import { chooser } from "./parts/chooser.js";
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
  await opening(root, is_report(), async () => {
    if (is_report()) return show(root, make_app(await embedded()), null);
    const source = served();
    const { p, b } = parse_link(location.hash).state;
    await waiting_room(root, source, p);
    if (b !== null) await waiting_room(root, source, b);
    show(root, make_app(await source.open(p, b)), source);
  });
}

/** @param {HTMLElement} root @param {App} app @param {import("./data/source.js").ServedSource | null} source */
function show(root, app, source) {
  const address = address_of(app);
  const said = apply_link(app, location.hash);

  const live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
  const note = h("div", { class: "note", role: "status", hidden: true });
  const lost = h("div", { class: "note", role: "alert", hidden: true });
  effect(() => {
    const trouble = source?.trouble.value ?? null;
    lost.hidden = trouble === null;
    fill(lost, trouble && t(trouble));
  });
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
      const others = source && chooser(app, source);
      if (others) heads.element.querySelector(".brand")?.after(others);
      const main = h("main", { id: "screen", tabindex: "-1" });
      const line = facts_line(app);
      const below = panel(app);
      fill(root, h("a", { class: "skip", href: "#screen", on: { click: (/** @type {Event} */ event) => { event.preventDefault(); main.focus(); } } }, t("skip")), heads.element, line.element, main, below.element, help.element, note, lost, live);
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
    // Another profile is another page: nothing of this one is to stay behind.
    const { p, b } = parse_link(location.hash).state;
    if (source && (p !== app.profile.number || b !== (app.other?.profile.number ?? null))) location.reload();
    apply_link(app, location.hash);
  });
  addEventListener("beforeprint", () => document.documentElement.classList.add("printing"));
  addEventListener("afterprint", () => document.documentElement.classList.remove("printing"));
}

void start();
