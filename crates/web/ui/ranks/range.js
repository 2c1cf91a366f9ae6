// The ranks in sight of the heat map and the matrix: first and last, and a button for all.

import { h } from "../parts/dom.js";
import { effect } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { places_of, range_of } from "./state.js";

/** @param {RanksApp} app */
export function range_field(app) {
  const { order } = app.run;
  const ends = [order[0]?.number ?? 0, order.at(-1)?.number ?? 0];
  const field = (/** @type {string} */ label) => h("input", { class: "number-input", type: "number", min: ends[0], max: ends[1], "aria-label": label, on: { change: take } });
  const [first, last] = [field(t("first_rank")), field(t("last_rank_shown"))];
  const all = h("button", { class: "small", on: { click: () => { app.range.value = null; } } }, t("all_ranks"));
  const dispose = effect(() => {
    const [from, to] = range_of(app);
    first.value = String(order[from]?.number ?? 0);
    last.value = String(order[to - 1]?.number ?? 0);
    all.disabled = app.range.value === null;
  });
  return { element: h("span", { class: "field", role: "group", "aria-label": t("ranks") }, t("ranks"), " ", first, " – ", last, " ", all), dispose };

  function take() {
    const [from, to] = [Number(first.value), Number(last.value)];
    if (Number.isFinite(from) && Number.isFinite(to) && from <= to) app.range.value = places_of(app, [from, to]);
  }
}
