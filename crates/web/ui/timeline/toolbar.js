// Above the timeline: colouring, the filter of rows, what is hidden, buttons for those who don't use keys.

import { h, fill } from "../parts/dom.js";
import { effect } from "../state/signal.js";
import { t, word } from "../locale/texts.js";
import { save_text, save_file } from "../parts/copy.js";
import { save_drawing } from "../parts/drawing.js";
import { csv_of } from "../parts/text.js";
import { COLOURINGS } from "../state/link.js";
import { zoomed, panned } from "./scale.js";
import { timeline_drawing } from "./picture.js";
import { next_inference, show_all, fit } from "./moves.js";

/** The visible range, for other viewers of timelines: all of it, also what the page doesn't hold. @param {App} app */
async function save_trace(app) {
  const [from, to] = app.view.peek();
  await save_file(app, `trace?from=${Math.max(0, Math.floor(from))}&to=${Math.max(0, Math.ceil(to))}`, "timeline.json", "application/json");
}

/**
 * @param {App} app @param {Signal<string>} filter @param {Signal<boolean>} as_table @param {() => HTMLTableElement} make_table of what is visible
 */
export function toolbar(app, filter, as_table, make_table) {
  const waits = app.profile.overview.waiting_ns !== null;
  const options = COLOURINGS.filter((it) => (it !== "waiting" || waits) && (it !== "change" || app.profile.report.compare));
  const colour = h("select", { on: { change: () => { app.colouring.value = options[colour.selectedIndex]; } } },
    options.map((it) => h("option", { value: it, selected: it === app.colouring.peek() }, word("colour", it))));
  const rows = h("input", { type: "search", class: "small-input", placeholder: t("filter_rows"), "aria-label": t("filter_rows"), on: { input: () => { filter.value = rows.value; } } });
  const hidden = h("button", { class: "chip", hidden: true, on: { click: () => { app.hidden.value = []; } } });
  const table = h("button", { class: "chip", "aria-pressed": "false", on: { click: () => { as_table.value = !as_table.peek(); } } }, t("as_table"));
  effect(() => {
    const count = app.hidden.value.length;
    hidden.hidden = count === 0;
    fill(hidden, t("rows_hidden", { n: count }));
  });
  const scale = h("button", { class: "chip", on: { click: () => { app.all_values.value = !app.all_values.peek(); } } }, t("full_scale"));
  effect(() => table.setAttribute("aria-pressed", String(as_table.value)));
  effect(() => scale.setAttribute("aria-pressed", String(app.all_values.value)));
  effect(() => { colour.value = app.colouring.value; });
  const button = (/** @type {string} */ sign, /** @type {Key} */ name, /** @type {() => void} */ action) =>
    h("button", { class: "icon", title: t(name), "aria-label": t(name), on: { click: action } }, sign);
  const middle = 0.5;
  return h("div", { class: "toolbar", role: "toolbar", "aria-label": t("timeline_tools") },
    h("label", { class: "field" }, t("colour_by"), " ", colour),
    rows,
    hidden,
    h("span", { class: "grow" }),
    app.profile.rows.some((it) => it.kind === "counter") && scale,
    table,
    save_drawing(app, "timeline", () => timeline_drawing(app)),
    save_text(app, "timeline", "CSV", () => csv_of(make_table())),
    app.profile.file && h("button", { class: "small", title: t("save_trace"), on: { click: () => save_trace(app) } }, "JSON"),
    h("span", { class: "buttons" },
      button("‹", "inference_before", () => next_inference(app, -1)),
      button("›", "inference_next", () => next_inference(app, 1))),
    h("span", { class: "buttons" },
      button("←", "pan_left", () => { app.view.value = panned(app.view.peek(), -0.25, app.bounds); }),
      button("→", "pan_right", () => { app.view.value = panned(app.view.peek(), 0.25, app.bounds); }),
      button("+", "zoom_in", () => { app.view.value = zoomed(app.view.peek(), 0.5, middle, app.bounds); }),
      button("−", "zoom_out", () => { app.view.value = zoomed(app.view.peek(), 2, middle, app.bounds); }),
      button("↔", "show_everything", () => show_all(app)),
      button("◎", "fit_selection", () => fit(app))));
}
