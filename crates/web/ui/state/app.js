// The state of the page: what is shown, chosen, filtered; what all screens share.

import { signal, computed, effect, batch } from "./signal.js";
import { parse_link, format_link, empty_state } from "./link.js";
import { within } from "../timeline/scale.js";
import { make_palette } from "../parts/colours.js";
import { ITEM } from "../data/profile.js";
import { first_language, system_theme } from "./preferences.js";

const KIND_WORDS = Object.keys(ITEM);

/**
 * @param {{ profile: Profile, other: Profile | null }} profiles the page's own, and the one before a change
 * @returns {App}
 */
export function make_app({ profile, other }) {
  /** @type {App} */
  const app = { ...of_profile(profile), other: null, is_other: false, picture: null };
  if (other) {
    const { theme, dark, palette, language, colouring, says, note, panel, offset, changed } = app;
    app.other = { ...of_profile(other), other: null, is_other: true, picture: null, theme, dark, palette, language, colouring, says, note, panel, offset, changed };
    offset.value = first_offset(app);
    effect(() => spread(app));
  }
  return app;
}

/** The state of a shown profile. @param {Profile} profile */
export function of_profile(profile) {
  const { facts, report } = profile;
  /** @type {Span} */
  const bounds = [0, Math.max(facts.end, 100)];
  const full = facts.view[1] > facts.view[0] ? within(facts.view, bounds) : bounds;
  const { theme, dark } = system_theme();
  const app = {
    profile,
    /** Nanoseconds by which the other's times are shifted to lie on one's own. */
    offset: signal(0),
    /** All that a view can reach, of both. */
    bounds,
    full,
    screen: signal(/** @type {ScreenName} */ ("overview")),
    language: signal(first_language(report.lang)),
    theme,
    dark,
    palette: computed(() => make_palette(dark.value)),
    view: signal(full),
    marked: signal(/** @type {Span | null} */ (null)),
    selection: signal(/** @type {Chosen | null} */ (null)),
    query: signal(""),
    grouping: signal(/** @type {Grouping} */ ("operator")),
    sort: signal(/** @type {string | null} */ (null)),
    colouring: signal(/** @type {Colouring} */ ("type")),
    /** How the model is shown: colour, marks, and what of it is in sight. */
    graph: signal(""),
    folded: signal(/** @type {readonly string[]} */ ([])),
    hidden: signal(/** @type {readonly string[]} */ ([])),
    pinned: signal(/** @type {readonly string[]} */ ([])),
    flags: signal(/** @type {readonly Flag[]} */ ([])),
    /** Whether counters are drawn to the scale of all their values, not of those in sight. */
    all_values: signal(false),
    panel: signal(true),
    /** Whether a file has changed, or is gone, since the server read it. */
    changed: signal(false),
    /** The sentence that assistive technology is told, politely. */
    says: signal(""),
    /** A line at the foot for what can't be seen otherwise; it goes by itself. */
    note: signal(""),
    chosen_language: signal(/** @type {Language | null} */ (null)),
  };
  return app;
}

/** Lays the first measured inferences on one another. @param {App} app */
export function first_offset({ profile, other }) {
  const begin = (/** @type {Profile} */ { ns, iterations: { start, measured, recorded } }) => ns(start.find((_, at) => measured[at] === 1 && recorded[at] === 1) ?? 0);
  return other ? Math.round(begin(profile) - begin(other.profile)) : 0;
}

/** A moment of the other profile on one's own line of time, and back. @param {App} app @param {number} time */
export const from_other = (app, time) => ((app.other?.profile.ns(time) ?? 0) + app.offset.value) / app.profile.facts.tick_ns;
/** @param {App} app @param {number} time */
export const to_other = (app, time) => (app.profile.ns(time) - app.offset.value) / (app.other?.profile.facts.tick_ns ?? 1);

/** Has the views of both reach all of both. @param {App} app */
function spread(app) {
  const { other } = app;
  if (!other) return;
  app.bounds = [Math.min(0, from_other(app, 0)), Math.max(app.profile.facts.end, 100, from_other(app, other.profile.facts.end))];
  other.bounds = [to_other(app, app.bounds[0]), to_other(app, app.bounds[1])];
}

/**
 * A selection as a link writes it.
 * @param {Profile} profile @param {Chosen | null} selection
 * @returns {string | null}
 */
export function selection_text(profile, selection) {
  if (!selection) return null;
  switch (selection.kind) {
    case "slice": {
      const kind = profile.items.kind[profile.item[selection.slice]];
      return `${KIND_WORDS[kind] ?? "task"}:${profile.column("id")[selection.slice]}`;
    }
    case "operator": return `op:${selection.operator}`;
    case "type": return `type:${selection.type}`;
    case "finding": return `rule:${selection.rule}`;
    case "group": return `group:${selection.group}`;
    case "node": return `node:${selection.node}`;
  }
}

/**
 * @param {Profile} profile @param {string | null} text
 * @returns {Chosen | null}
 */
export function selection_of(profile, text) {
  if (!text) return null;
  const split = text.indexOf(":");
  const [kind, rest] = [text.slice(0, split), text.slice(split + 1)];
  if (kind === "op") return Number(rest) < profile.operators.length ? { kind: "operator", operator: Number(rest) } : null;
  if (kind === "group") return Number(rest) < (profile.report.compare?.groups.length ?? 0) ? { kind: "group", group: Number(rest) } : null;
  if (kind === "node") return Number(rest) < profile.graph.count ? { kind: "node", node: Number(rest) } : null;
  if (kind === "type") return { kind: "type", type: rest };
  if (kind === "rule") return profile.report.advice.findings.some((it) => it.id === rest) ? { kind: "finding", rule: rest } : null;
  const wanted = KIND_WORDS.indexOf(kind);
  const id = Number(rest);
  const ids = profile.column("id");
  for (let slice = 0; slice < profile.count; slice += 1) {
    if (ids[slice] === id && profile.items.kind[profile.item[slice]] === wanted) return { kind: "slice", slice };
  }
  return null;
}

/** Goes to the model, with the selection in sight. @param {App} app */
export function show_in_model(app) {
  if (app.screen.peek() === "model") return;
  if (app.selection.peek()) app.graph.value = app.graph.peek().replace(/@.*/, "");
  app.screen.value = "model";
}

/** @param {App} app @returns {LinkState} */
export function link_state(app) {
  const { profile } = app;
  const view = app.view.value;
  const whole = Math.abs(view[0] - app.full[0]) < 1 && Math.abs(view[1] - app.full[1]) < 1;
  return {
    ...empty_state(),
    screen: app.screen.value,
    p: profile.number,
    b: app.other && profile.file ? app.other.profile.number : null,
    o: app.offset.value === first_offset(app) ? null : app.offset.value,
    t: whole ? null : view,
    m: app.marked.value,
    sel: selection_text(profile, app.selection.value),
    q: app.query.value,
    g: app.grouping.value,
    s: app.sort.value,
    c: app.colouring.value,
    gr: app.graph.value,
    fold: [...app.folded.value],
    hide: [...app.hidden.value],
    pin: [...app.pinned.value],
    k: [...app.flags.value],
    y: app.all_values.value,
    kb: [...(app.other?.flags.value ?? [])],
    v: profile.report.fingerprint || null,
    lang: app.chosen_language.value,
    theme: app.theme.value === "auto" ? null : app.theme.value,
  };
}

/**
 * Takes over what a link says.
 * @param {App} app @param {string} fragment
 * @returns {{ wrong: string[], other: boolean }} parts not understood; whether it is of another profile
 */
export function apply_link(app, fragment) {
  const { state, wrong } = parse_link(fragment);
  if (state.p !== app.profile.number) wrong.push("p");
  const other = state.v !== null && state.v !== app.profile.report.fingerprint;
  batch(() => {
    app.screen.value = state.screen;
    app.offset.value = state.o ?? first_offset(app);
    spread(app);
    app.view.value = state.t ? within(state.t, app.bounds) : app.full;
    app.marked.value = state.m;
    const selection = other ? null : selection_of(app.profile, state.sel);
    const { served } = app.profile;
    if (state.sel && !selection && !other) {
      if (served && /^(task|call|range|mark):/.test(state.sel)) {
        // The page may not hold it: the server says what and where it is.
        void served.named(state.sel).then((slice) => { if (slice >= 0 && app.selection.peek() === null) app.selection.value = { kind: "slice", slice }; });
      } else {
        wrong.push("sel");
      }
    }
    app.selection.value = selection;
    app.query.value = state.q;
    app.grouping.value = state.g;
    app.sort.value = state.s;
    app.colouring.value = state.c;
    app.graph.value = other ? state.gr.replace(/@.*/, "") : state.gr;
    app.folded.value = other ? state.fold.filter((it) => !/^g[\d*]+$/.test(it)) : state.fold;
    app.hidden.value = other ? [] : state.hide;
    app.pinned.value = other ? [] : state.pin;
    app.flags.value = state.k;
    app.all_values.value = state.y;
    if (app.other) app.other.flags.value = state.kb;
    if (state.lang) app.language.value = state.lang;
    app.chosen_language.value = state.lang;
    if (state.theme) app.theme.value = state.theme;
  });
  return { wrong, other };
}

/**
 * Keeps the address in step with the state.
 * @param {App} app
 */
export function address_of(app) {
  let written = location.hash;
  let pending = 0;
  const write = (/** @type {boolean} */ push) => {
    clearTimeout(pending);
    pending = 0;
    const link = format_link(link_state(app));
    if (link === written) return;
    written = link;
    // A frame made of text alone (`srcdoc`) has no history of its own.
    try {
      if (push) history.pushState(null, "", link);
      else history.replaceState(null, "", link);
    } catch {
      written = link;
    }
  };
  return {
    /** Called within an effect, so that it runs after each change; written once all is quiet. */
    follow() {
      link_state(app);
      clearTimeout(pending);
      pending = setTimeout(() => write(false), 250);
    },
    /** The state before a jump becomes a place to come back to. */
    jump() {
      write(false);
      try {
        history.pushState(null, "", location.hash || written);
      } catch {
        return;
      }
    },
    ours: () => location.hash === written,
    heard() { written = location.hash; },
  };
}
