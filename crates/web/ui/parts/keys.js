// Keys that hold on every screen; what is none of them goes to the screen itself. Keys are taken by their
// place, so that they work on any layout and while an input method is on.

import { SCREENS } from "../state/link.js";
import { show_in_model } from "../state/app.js";
import { SCREEN_KEYS } from "./bar_keys.js";
import { let_go, fit, show_all, mark, next_inference, walk, walk_operator, reveal } from "../timeline/moves.js";
import { operator_of } from "../state/selected.js";
import { executions_of } from "../timeline/find.js";

/**
 * The command of a key, or null: its place, and what is held with it.
 * @param {{ code: string, key: string, shiftKey: boolean, ctrlKey: boolean, metaKey: boolean, altKey: boolean }} event
 * @returns {string | null}
 */
export function command_of(event) {
  const control = event.ctrlKey || event.metaKey;
  if (event.altKey) return null;
  if (control) {
    const with_control = { KeyF: "search", KeyK: "commands", Digit0: "everything", Numpad0: "everything" };
    return with_control[/** @type {keyof typeof with_control} */ (event.code)] ?? null;
  }
  // The question mark is a sign and not a place: where it lies differs most.
  if (event.key === "?" || event.key === "？") return "help";
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  if (digit && !event.shiftKey) return digit[1] === "0" ? "everything" : `screen ${digit[1]}`;
  const plain = {
    Slash: "search", KeyF: "fit", KeyM: "mark", KeyQ: "panel", Escape: "let go", Backspace: "back", KeyO: "operators", KeyT: "timeline", KeyG: "model", KeyR: "roofline",
    KeyI: event.shiftKey ? "inference before" : "inference next",
    Comma: event.shiftKey ? "execution before" : "slice before", Period: event.shiftKey ? "execution next" : "slice next",
  };
  return plain[/** @type {keyof typeof plain} */ (event.code)] ?? null;
}

/**
 * @param {App} app
 * @param {{ view: () => ScreenView | null, help: () => void, search: (commands?: boolean) => void, jump: () => void }} page
 * @returns {() => void}
 */
export function watch_keys(app, page) {
  const down = (/** @type {KeyboardEvent} */ event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    // Keys within fields are letters; buttons keep their Enter and blanks by themselves.
    if (target instanceof Element && target.closest("input, textarea, select, [contenteditable]") && event.code !== "Escape") return;
    const command = command_of(event);
    const taken = (command !== null && run(command)) || (page.view()?.key?.(event) ?? false);
    if (taken) event.preventDefault();
  };
  addEventListener("keydown", down);
  return () => removeEventListener("keydown", down);

  /** @param {string} command @returns {boolean} */
  function run(command) {
    const timeline = app.screen.peek() === "timeline";
    const screen = SCREENS.find((it) => `screen ${SCREEN_KEYS[it]}` === command);
    if (screen) {
      app.screen.value = screen;
      return true;
    }
    switch (command) {
      case "search": page.search(); return true;
      case "commands": page.search(true); return true;
      case "help": page.help(); return true;
      case "panel": app.panel.value = !app.panel.peek(); return true;
      case "let go": let_go(app); return true;
      case "back": history.back(); return true;
      case "operators": show_in("operators"); return true;
      case "model": show_in_model(app); return true;
      case "timeline": show_in_timeline(); return true;
      case "roofline": show_in("roofline"); return true;
      default: break;
    }
    if (!timeline) return false;
    switch (command) {
      case "fit": page.jump(); fit(app); return true;
      case "everything": page.jump(); show_all(app); return true;
      case "mark": mark(app); return true;
      case "inference next": page.jump(); next_inference(app, 1); return true;
      case "inference before": page.jump(); next_inference(app, -1); return true;
      case "slice next": walk(app, 1); return true;
      case "slice before": walk(app, -1); return true;
      case "execution next": walk_operator(app, 1); return true;
      case "execution before": walk_operator(app, -1); return true;
      default: return false;
    }
  }

  /** @param {"operators" | "roofline"} screen */
  function show_in(screen) {
    const operator = operator_of(app.profile, app.selection.peek());
    if (operator >= 0) app.selection.value = { kind: "operator", operator };
    app.screen.value = screen;
  }

  function show_in_timeline() {
    const selection = app.selection.peek();
    app.screen.value = "timeline";
    const operator = selection?.kind === "slice" ? -1 : operator_of(app.profile, selection);
    if (operator >= 0) {
      const first = executions_of(app.profile, operator)[0];
      if (first !== undefined) reveal(app, first);
    }
  }
}
