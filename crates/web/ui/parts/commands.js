// All that keys do, by name: for the help, for the search and for those keys themselves.

import { t } from "../locale/texts.js";
import { SCREENS } from "../state/link.js";
import { SCREEN_KEYS } from "./bar_keys.js";
import { align, let_go, fit, show_all, mark, next_inference, walk, walk_operator } from "../timeline/moves.js";

/** @typedef {{ key: string, name: string, run: () => void }} Command */

/** @param {App} app @returns {Command[]} */
export function commands(app) {
  const on_timeline = (/** @type {() => void} */ action) => () => {
    app.screen.value = "timeline";
    action();
  };
  return [
    ...SCREENS.map((screen) => ({ key: SCREEN_KEYS[screen], name: t("go_to", { screen: t(`screen_${screen}`) }), run: () => { app.screen.value = screen; } })),
    { key: "0", name: t("show_everything"), run: on_timeline(() => show_all(app)) },
    { key: "F", name: t("fit_selection"), run: on_timeline(() => fit(app)) },
    { key: "M", name: t("mark_range"), run: on_timeline(() => mark(app)) },
    { key: "I", name: t("inference_next"), run: on_timeline(() => next_inference(app, 1)) },
    { key: "Shift+I", name: t("inference_before"), run: on_timeline(() => next_inference(app, -1)) },
    { key: ".", name: t("slice_next"), run: on_timeline(() => walk(app, 1)) },
    { key: ",", name: t("slice_before"), run: on_timeline(() => walk(app, -1)) },
    { key: "Shift+.", name: t("execution_next"), run: on_timeline(() => walk_operator(app, 1)) },
    { key: "Shift+,", name: t("execution_before"), run: on_timeline(() => walk_operator(app, -1)) },
    { key: "L", name: t("align_slices"), run: on_timeline(() => align(app)) },
    { key: "Q", name: t("panel_toggle"), run: () => { app.panel.value = !app.panel.peek(); } },
    { key: "Esc", name: t("let_go"), run: () => let_go(app) },
  ];
}
