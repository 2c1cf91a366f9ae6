// Two profiles one above the other, moved together: the other one is shifted so that equal moments lie on one another.

import { effect, untracked } from "../state/signal.js";
import { h, fill } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { shown } from "../parts/text.js";
import { signed } from "../parts/drawing.js";
import { first_offset, from_other, to_other } from "../state/app.js";
import { align } from "./moves.js";
import { timeline_screen } from "./view.js";

const FOLDED = "before";

/** The timeline, with that of the other profile below it. @param {App} app @returns {ScreenView} */
export function timelines_screen(app) {
  const own = timeline_screen(app);
  const { other } = app;
  if (!other) return own;
  const below = timeline_screen(other);
  const grip = h("div", { class: "offset-grip", role: "slider", tabindex: "0", "aria-label": t("offset_name"), title: t("offset_name") });
  const button = (/** @type {string} */ text, /** @type {() => void} */ action) => h("button", { class: "plain", on: { click: action } }, text);
  const fold = button("", () => {
    const folded = app.folded.peek();
    app.folded.value = folded.includes(FOLDED) ? folded.filter((it) => it !== FOLDED) : [...folded, FOLDED];
  });
  const element = h("div", { class: "stacked" }, own.element,
    h("div", { class: "offset" }, fold, grip, button(t("align_slices"), () => align(app)), button(t("align_first"), () => { app.offset.value = first_offset(app); })), below.element);
  const stops = [
    effect(() => put(other, app.view.value.map((it) => to_other(app, it)))),
    effect(() => {
      const view = other.view.value;
      untracked(() => put(app, view.map((it) => from_other(app, it))));
    }),
    effect(() => {
      const selection = app.selection.value;
      // A slice of one has none of the other that is the same: that is for the reader to choose.
      if (selection === null || selection.kind === "slice" || selection.kind === "node") return;
      const name = selection.kind === "operator" ? app.profile.operators[selection.operator]?.name : "";
      const operator = other.profile.operators.findIndex((it) => it.name === name);
      other.selection.value = selection.kind !== "operator" ? selection : operator < 0 ? null : { kind: "operator", operator };
    }),
    effect(() => {
      const text = `A ${shown(other.profile.report.name, 80)}: ${signed(app.offset.value)}`;
      fill(grip, text);
      grip.setAttribute("aria-valuenow", String(app.offset.value));
      grip.setAttribute("aria-valuetext", text);
    }),
    effect(() => {
      const folded = app.folded.value.includes(FOLDED);
      below.element.hidden = folded;
      fold.setAttribute("aria-expanded", String(!folded));
      fill(fold, h("span", { class: folded ? "arrow folded" : "arrow", "aria-hidden": "true" }), t("total_before"));
    }),
  ];
  watch_grip(app, grip, own.element);
  return {
    element,
    dispose() {
      for (const stop of [...stops, own.dispose, below.dispose]) stop();
    },
    key(event) {
      if (event.code === "KeyL" && !event.ctrlKey && !event.metaKey) {
        align(app);
        return true;
      }
      return (below.element.matches(":hover, :focus-within") ? below : own).key?.(event) ?? false;
    },
    focus: () => own.focus?.(),
  };
}

/** @param {App} app @param {number[]} view */
function put(app, [from, to]) {
  const before = app.view.peek();
  if (Math.abs(before[0] - from) + Math.abs(before[1] - to) > 0.5) app.view.value = [from, to];
}

/** Drags the other profile to and fro, or moves it by the arrows. @param {App} app @param {HTMLElement} grip @param {HTMLElement} timeline */
function watch_grip(app, grip, timeline) {
  const width = () => timeline.querySelector(".rows-canvas")?.clientWidth || 1000;
  const nanoseconds = () => app.profile.ns(app.view.peek()[1] - app.view.peek()[0]);
  grip.addEventListener("pointerdown", (event) => {
    grip.setPointerCapture(event.pointerId);
    const [from, offset] = [event.clientX, app.offset.peek()];
    const move = (/** @type {PointerEvent} */ it) => { app.offset.value = Math.round(offset + ((it.clientX - from) / width()) * nanoseconds()); };
    grip.addEventListener("pointermove", move);
    grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", move), { once: true });
  });
  grip.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    app.offset.value += Math.round(nanoseconds() / (event.key === "ArrowLeft" ? -100 : 100));
    event.preventDefault();
    event.stopPropagation();
  });
}
