// The state of the page of ranks: what is selected and shown, what all its parts share.

import { batch, computed, effect, signal } from "../state/signal.js";
import { first_language, system_theme } from "../state/preferences.js";
import { make_palette } from "../parts/colours.js";
import { empty_state, format_link, parse_link } from "./link.js";
import { is_known } from "./run.js";

/**
 * @param {import("./run.js").Run} run
 * @param {import("./drawn.js").Drawn} drawn the timeline that came with it
 * @param {((ranks: string, steps: string) => Promise<import("./drawn.js").Drawn>) | null} ask the server's for other ranks
 */
export function make_app(run, drawn, ask) {
  const { report } = run;
  const { theme, dark } = system_theme();
  const plain = empty_state();
  return {
    run,
    ask,
    profile: { report: { name: report.name } },
    language: signal(first_language(report.lang)),
    chosen_language: signal(/** @type {Language | null} */ (null)),
    theme,
    dark,
    palette: computed(() => make_palette(dark.value)),
    selection: signal(plain.sel),
    measure: signal(plain.m),
    /** The ranks in sight, by their places in the order; null are all. */
    range: signal(/** @type {Span | null} */ (null)),
    kind: signal(plain.k),
    transport: signal(plain.x),
    grouping: signal(plain.g),
    sort: signal(plain.s),
    tables: signal(/** @type {readonly string[]} */ ([])),
    drawn: signal(drawn),
    /** The ranks and steps of the timeline as they were typed. */
    drawn_ranks: signal(""),
    drawn_steps: signal(""),
    view: signal(/** @type {Span} */ ([0, drawn.end])),
    /** The slice of the timeline that is looked at; -1 of none. */
    slice: signal(-1),
    /** The sentence that assistive technology is told, politely. */
    says: signal(""),
    /** A line at the foot for what can't be seen otherwise; it goes by itself. */
    note: signal(""),
  };
}

/** The ranks in sight, by their places in the order. @param {RanksApp} app @returns {Span} the first, and one behind the last */
export function range_of(app) {
  return app.range.value ?? [0, app.run.order.length];
}

/** Shows or hides the table of a picture. @param {RanksApp} app @param {string} name */
export function toggle_table(app, name) {
  const tables = app.tables.peek();
  app.tables.value = tables.includes(name) ? tables.filter((it) => it !== name) : [...tables, name];
}

/** @param {RanksApp} app @param {string | null} selection */
export function select(app, selection) {
  app.selection.value = app.selection.peek() === selection ? null : selection;
}

/** @param {RanksApp} app @returns {RanksLink} */
function state_of(app) {
  const { run } = app;
  const [range, view] = [app.range.value, app.view.value];
  return {
    sel: app.selection.value,
    m: app.measure.value,
    r: range && [run.order[range[0]].number, run.order[range[1] - 1].number],
    k: app.kind.value,
    x: app.transport.value,
    g: app.grouping.value,
    s: app.sort.value,
    lr: app.drawn_ranks.value.replace(/\s/g, ""),
    ls: app.drawn_steps.value.replace(/\s/g, ""),
    t: view[0] > 0 || view[1] < app.drawn.value.end ? view : null,
    tab: [...app.tables.value],
    v: run.report.fingerprint || null,
    lang: app.chosen_language.value,
    theme: app.theme.value === "auto" ? null : app.theme.value,
  };
}

/**
 * Takes over what a link says.
 * @param {RanksApp} app @param {string} fragment
 * @returns {{ wrong: string[], other: boolean }} parts not understood; whether it is of another run
 */
export function apply_link(app, fragment) {
  const { state, wrong } = parse_link(fragment);
  const { run } = app;
  const other = state.v !== null && state.v !== run.report.fingerprint;
  batch(() => {
    const known = state.sel !== null && is_known(run, state.sel);
    if (state.sel !== null && !known) wrong.push("sel");
    app.selection.value = known ? state.sel : null;
    app.measure.value = state.m;
    app.range.value = state.r && places_of(app, state.r);
    app.kind.value = state.k;
    app.transport.value = state.x;
    app.grouping.value = state.g;
    app.sort.value = state.s;
    app.drawn_ranks.value = state.lr;
    app.drawn_steps.value = state.ls;
    app.view.value = state.t && !other ? [Math.min(state.t[0], app.drawn.peek().end - 1), state.t[1]] : [0, app.drawn.peek().end];
    app.tables.value = state.tab;
    app.chosen_language.value = state.lang;
    if (state.lang) app.language.value = state.lang;
    app.theme.value = state.theme ?? "auto";
  });
  return { wrong, other };
}

/** Ranks by number as places in the order; null where none or all are meant. @param {RanksApp} app @param {Span} numbers @returns {Span | null} */
export function places_of(app, [first, last]) {
  const { order } = app.run;
  const from = order.findIndex((it) => it.number >= first);
  const behind = order.findIndex((it) => it.number > last);
  const to = behind < 0 ? order.length : behind;
  return from < 0 || to <= from || (from === 0 && to === order.length) ? null : [from, to];
}

/** Keeps the address in step with the state, a moment behind it. @param {RanksApp} app */
export function follow_address(app) {
  let waiting = 0;
  let written = location.hash;
  effect(() => {
    const link = format_link(state_of(app));
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (location.hash === link) return;
      written = link;
      try {
        history.replaceState(null, "", link);
      } catch {
        // A browser may refuse many changes in a short time: the next one is taken.
      }
    }, 250);
  });
  addEventListener("popstate", () => {
    if (location.hash !== written) apply_link(app, location.hash);
  });
}
