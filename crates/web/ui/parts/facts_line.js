// The line below the bar: what the figures are about and what was lost or left out. Its parts lead there.

import { h, fill } from "./dom.js";
import { effect } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { count, about } from "./units.js";
import { shown } from "./text.js";
import { format_link } from "../state/link.js";
import { link_state } from "../state/app.js";
import { moment } from "../timeline/scale.js";
import { copy } from "./copy.js";
import { chip } from "./range_chip.js";
import { command_of_screen } from "../screens/command.js";

/** @param {App} app */
export function facts_line(app) {
  const { profile } = app;
  const { overview, report } = profile;
  const to = (/** @type {ScreenName} */ screen) => () => { app.screen.value = screen; };
  const part = (/** @type {string} */ text, /** @type {() => void} */ action, strong = false) => h("button", { class: strong ? "plain strong" : "plain", on: { click: action } }, text);
  const all = overview.iterations + overview.iterations_left_out;
  /** @type {HTMLElement[]} */
  const parts = [
    overview.iterations > 0
      ? part(overview.iterations_left_out > 0 ? t("facts_inferences", { n: count(overview.iterations), all: count(all) }) : t("facts_all_inferences", { n: count(overview.iterations) }), to("overview"))
      : part(t("facts_no_inferences"), to("overview")),
    ...profile.facts.groups.filter((it) => it.kind === "device").slice(0, 4).map((it) => part(shown(it.name, 60), to("timeline"))),
  ];
  const lost = report.losses.filter((it) => it.severity === "lost").reduce((sum, it) => sum + it.count, 0);
  const doubted = report.losses.filter((it) => it.severity === "doubted").reduce((sum, it) => sum + it.count, 0);
  parts.push(lost > 0 ? part(t("facts_lost", { n: count(lost) }), to("about"), true) : part(t("facts_nothing_lost"), to("about")));
  if (doubted > 0) parts.push(part(t("facts_doubted", { n: count(doubted) }), to("about"), true));
  const left = report.left_out;
  // A server is asked for the others.
  if (left.slices_in_full < left.slices && !profile.served) {
    const names = left.inferences_in_full;
    parts.push(part(t(names && names.length > 0 ? "facts_left_out_inferences" : "facts_left_out", { n: count(left.slices_in_full), all: count(left.slices), list: (names ?? []).slice(0, 8).join(", ") }), to("about"), true));
  }
  if (left.operators_in_full < left.operators) parts.push(part(t("facts_operators_left_out", { n: count(left.operators_in_full), all: count(left.operators) }), to("operators"), true));
  if (left.undrawable) parts.push(part(t("facts_undrawable", { n: count(left.undrawable) }), to("about"), true));
  if (profile.facts.outside > 0) parts.push(part(t("facts_outside", { n: count(profile.facts.outside) }), () => { app.screen.value = "timeline"; app.view.value = app.bounds; }, true));
  const changed = h("span", { class: "strong" }, t("file_changed"));
  parts.push(changed);
  if (profile.facts.tick_ns > 1) parts.push(h("span", null, t("facts_coarse")));

  const range = h("span", { class: "chip-place" });
  const element = h("div", { class: "facts" }, h("div", { class: "facts-parts" }, parts), range, h("span", { class: "grow" }),
    h("button", { class: "plain", on: { click: () => copy(app, command_of_screen(app), t("command_copied")) } }, t("copy_command")),
    h("button", { class: "plain", on: { click: () => copy(app, location.href.replace(/#.*/, "") + format_link(link_state(app)), t("link_copied")) } }, t("copy_link")));
  const stop = effect(() => {
    changed.hidden = !app.changed.value;
    const marked = app.marked.value;
    fill(range, marked && chip(t("range_chip", { time: about(profile.ns(marked[1] - marked[0])), from: moment(profile.ns(marked[0]), profile.ns(marked[1] - marked[0]) / 10) }), t("range_remove"), () => { app.marked.value = null; }));
  });
  return { element, dispose: stop };
}
