// The page of a run on many ranks: reads the report that it is in, or asks the server that it came from; lays its parts
// below one another and keeps the address in step.

import { effect, untracked } from "./state/signal.js";
import { h, fill } from "./parts/dom.js";
import { opening } from "./parts/opening.js";
import { waiting_room } from "./parts/waiting_room.js";
import { language_and_theme } from "./parts/language_and_theme.js";
import { shown } from "./parts/text.js";
import { speak, t } from "./locale/texts.js";
import { embedded, is_report, served } from "./ranks/source.js";
import { apply_link, follow_address, make_app } from "./ranks/state.js";
import { headline, suspects } from "./ranks/suspects.js";
import { heat_map } from "./ranks/heat_map.js";
import { link_matrix } from "./ranks/matrix.js";
import { where_steps_go } from "./ranks/account.js";
import { timelines } from "./ranks/timelines.js";
import { about_run } from "./ranks/about.js";
import { help_dialog, PARTS } from "./ranks/help.js";

async function start() {
  const root = document.getElementById("app");
  if (!root) return;
  await opening(root, is_report(), async () => {
    const source = is_report() ? null : served();
    if (source) await waiting_room(root, source, 0);
    const { run, drawn, ask } = await (source ? source.open() : embedded());
    show(root, make_app(run, drawn, ask), source);
  });
}

/** @param {HTMLElement} root @param {RanksApp} app @param {ReturnType<typeof served> | null} source */
function show(root, app, source) {
  const said = apply_link(app, location.hash);
  const live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
  const note = h("div", { class: "note", role: "status", hidden: true });
  const lost = h("div", { class: "note", role: "alert", hidden: true });
  effect(() => fill(live, app.says.value));
  effect(() => {
    const trouble = source?.trouble.value ?? null;
    lost.hidden = trouble === null;
    fill(lost, trouble && t(trouble));
  });
  let gone = 0;
  effect(() => {
    const text = app.note.value;
    note.hidden = text === "";
    fill(note, text);
    clearTimeout(gone);
    if (text !== "") gone = setTimeout(() => { app.note.value = ""; }, 5000);
  });
  effect(() => {
    const theme = app.theme.value;
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", theme);
  });

  /** @type {(() => void)[]} */
  let stops = [];
  let help = help_dialog();
  // A change of language makes everything anew: it is rare, and nothing has to remember its texts.
  effect(() => {
    const language = app.language.value;
    untracked(() => {
      for (const stop of stops) stop();
      speak(language);
      document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
      document.title = `${t("ranks_of", { name: shown(app.run.report.name, 100) })} · opscope`;
      help = help_dialog();
      const choices = language_and_theme(app);
      const parts = [headline(app), suspects(app), heat_map(app), link_matrix(app), where_steps_go(app), timelines(app), about_run(app)];
      const main = h("main", { id: "screen", tabindex: "-1" }, h("div", { class: "page ranks-page" }, parts.map((it) => it.element)));
      const bar = h("header", { class: "bar" },
        h("span", { class: "brand", title: app.run.report.name }, h("b", null, t("brand")), h("span", { class: "profile-name" }, shown(app.run.report.name, 60))),
        h("nav", { "aria-label": t("parts_of_page") }, PARTS.map(([id, key], at) => h("a", { href: `#${id}`, title: `${t(key)} (${at + 1})`, on: { click: (/** @type {Event} */ event) => { event.preventDefault(); go_to(id); } } }, t(key)))),
        h("span", { class: "grow" }), choices.elements, h("button", { class: "icon", title: t("help_title"), "aria-label": t("help_title"), on: { click: () => help.open() } }, "?"));
      fill(root, h("a", { class: "skip", href: "#screen", on: { click: (/** @type {Event} */ event) => { event.preventDefault(); main.focus(); } } }, t("skip")), bar, main, help.element, note, lost, live);
      stops = [choices.dispose, ...parts.map((it) => it.dispose)];
    });
  });

  if (said.wrong.length > 0) app.note.value = t("link_wrong", { parts: said.wrong.join(", ") });
  if (said.other) app.note.value = t("link_other");
  follow_address(app);
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    if (target instanceof Element && target.closest("input, textarea, select") && event.code !== "Escape") return;
    // The question mark is a sign and not a place: where it lies differs most.
    const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
    if (event.key === "?" || event.key === "？") help.open();
    else if (event.code === "Escape") app.selection.value = null;
    else if (digit && !event.shiftKey && PARTS[Number(digit[1]) - 1]) go_to(PARTS[Number(digit[1]) - 1][0]);
    else return;
    event.preventDefault();
  });
}

/** Has a part of the page in sight, and the keyboard begin in it. @param {string} id */
function go_to(id) {
  const part = document.getElementById(id);
  part?.scrollIntoView({ block: "start" });
  const all = [...(part?.querySelectorAll("canvas, [role=grid], button, input, select") ?? [])].filter((it) => it.getClientRects().length > 0);
  const first = all.find((it) => it.matches("canvas, [role=grid]")) ?? all[0];
  if (first instanceof HTMLElement) first.focus({ preventScroll: true });
}

void start();
