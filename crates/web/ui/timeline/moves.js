// Actions of keys and buttons on the view, whichever screen they come from.

import { batch } from "../state/signal.js";
import { within } from "./scale.js";
import { slice_sentence } from "../parts/live.js";
import { about } from "../parts/units.js";
import { t } from "../locale/texts.js";
import { executions_of } from "./find.js";
import { selection_text } from "../state/app.js";

/** @param {App} app @param {number} slice */
export function choose_slice(app, slice) {
  batch(() => {
    app.selection.value = { kind: "slice", slice };
    app.says.value = slice_sentence(app.profile, slice);
  });
}

/**
 * Has a slice in sight: scrolled to where it is outside, zoomed in where it would be less than two pixels.
 * @param {App} app @param {number} slice
 */
export function reveal(app, slice) {
  const { start, duration } = app.profile;
  const [from, to] = app.view.peek();
  const [begin, end] = [start[slice], start[slice] + duration[slice]];
  const span = to - from;
  if (duration[slice] < span / 400) {
    const wide = Math.max(duration[slice] * 40, 20);
    app.view.value = within([begin - wide / 2, begin + wide / 2], app.bounds);
  } else if (begin < from || end > to) {
    const wide = Math.max(span, duration[slice] * 1.2);
    const middle = (begin + end) / 2;
    app.view.value = within([middle - wide / 2, middle + wide / 2], app.bounds);
  }
}

/**
 * The span of what is selected or marked, or null.
 * @param {App} app @returns {Span | null}
 */
export function chosen_span(app) {
  const { profile } = app;
  const selection = app.selection.peek();
  if (selection?.kind === "slice") return [profile.start[selection.slice], profile.start[selection.slice] + Math.max(1, profile.duration[selection.slice])];
  if (selection?.kind === "operator") {
    const all = executions_of(profile, selection.operator);
    if (all.length > 0) return [profile.start[all[0]], profile.start[all[all.length - 1]] + profile.duration[all[all.length - 1]]];
  }
  return app.marked.peek();
}

/** Fits the selection with room around it; asked again, exactly. @param {App} app */
export function fit(app) {
  const span = chosen_span(app);
  if (!span) {
    app.note.value = t("nothing_selected");
    return;
  }
  const [from, to] = app.view.peek();
  const room = (span[1] - span[0]) * 0.5;
  const loose = within([span[0] - room, span[1] + room], app.bounds);
  const already = Math.abs(loose[0] - from) < 1 && Math.abs(loose[1] - to) < 1;
  app.view.value = already ? within(span, app.bounds) : loose;
}

/** @param {App} app */
export function show_all(app) {
  const [from, to] = app.view.peek();
  const all = Math.abs(from - app.full[0]) < 1 && Math.abs(to - app.full[1]) < 1;
  app.view.value = all ? app.bounds : app.full;
}

/** The range of the selected slice; where it is marked already, none. @param {App} app */
export function mark(app) {
  const marked = app.marked.peek();
  const selection = app.selection.peek();
  const span = selection ? chosen_span(app) : null;
  if (marked && (!span || (Math.abs(marked[0] - span[0]) < 1 && Math.abs(marked[1] - span[1]) < 1))) {
    app.marked.value = null;
    app.says.value = t("range_off");
  } else if (span) {
    set_range(app, span);
  } else {
    app.note.value = t("nothing_selected");
  }
}

/** @param {App} app @param {Span} span */
export function set_range(app, span) {
  const clean = /** @type {Span} */ ([Math.max(0, Math.floor(Math.min(...span))), Math.min(app.bounds[1], Math.ceil(Math.max(...span)))]);
  if (clean[1] <= clean[0]) return;
  app.marked.value = clean;
  app.says.value = t("range_says", { time: about(app.profile.ns(clean[1] - clean[0])) });
}

/**
 * To the next inference or the one before, at the same zoom and the same place within it, so that equal
 * phases lie on one another.
 * @param {App} app @param {1 | -1} direction
 */
export function next_inference(app, direction) {
  const { within: overlapping, number, start, duration } = app.profile.iterations;
  const list = overlapping(app.bounds, Infinity).map((at) => ({ number: number[at], start: start[at], duration: duration[at] }));
  if (list.length === 0) {
    app.note.value = t("no_inferences");
    return;
  }
  const [from, to] = app.view.peek();
  const middle = (from + to) / 2;
  const inside = list.findIndex((it) => it.start <= middle && middle < it.start + it.duration);
  const after = list.findIndex((it) => it.start > middle);
  const at = inside >= 0 ? inside + direction : direction > 0 ? after : (after < 0 ? list.length : after) - 1;
  const target = list[at];
  if (!target) {
    app.note.value = t(direction > 0 ? "last_inference" : "first_inference");
    return;
  }
  // From between two, or from the whole trace, the inference itself is shown.
  if (inside < 0 || to - from > target.duration * 4) {
    app.view.value = within([target.start - target.duration * 0.05, target.start + target.duration * 1.05], app.bounds);
  } else {
    const shift = target.start - list[inside].start;
    app.view.value = within([from + shift, to + shift], app.bounds);
  }
  app.says.value = t("inference_says", { number: target.number, time: about(app.profile.ns(target.duration)) });
}

/** @param {App} app @param {number} time */
export function flag_at(app, time) {
  const flags = app.flags.peek();
  const [from, to] = app.view.peek();
  const near = flags.find((it) => Math.abs(it.at - time) < (to - from) / 150);
  if (near) app.flags.value = flags.filter((it) => it !== near);
  else {
    let number = flags.length + 1;
    while (flags.some((it) => it.name === String(number))) number += 1;
    app.flags.value = [...flags, { at: Math.round(time), name: String(number) }].sort((a, b) => a.at - b.at);
  }
}

/**
 * The next slice of the row, or of the operator where one is selected.
 * @param {App} app @param {1 | -1} direction
 */
export function walk(app, direction) {
  const { profile } = app;
  const selection = app.selection.peek();
  if (selection?.kind === "operator") {
    const all = executions_of(profile, selection.operator);
    if (all.length > 0) go(direction > 0 ? all[0] : all[all.length - 1]);
    return;
  }
  if (selection?.kind !== "slice") return;
  if (profile.served && profile.is_guest(selection.slice)) {
    void profile.served.beside(selection_text(profile, selection) ?? "", direction).then((slice) => { if (slice >= 0) go(slice); });
    return;
  }
  const row = profile.row_of(selection.slice);
  const next = selection.slice + direction;
  if (row && next >= row.first && next < row.first + row.count) go(next);

  /** @param {number} slice */
  function go(slice) {
    reveal(app, slice);
    choose_slice(app, slice);
  }
}

/**
 * The execution of the same operator before or after the selected one.
 * @param {App} app @param {1 | -1} direction
 */
export function walk_operator(app, direction) {
  const selection = app.selection.peek();
  if (selection?.kind !== "slice") return walk(app, direction);
  const { profile } = app;
  const operator = profile.items.operator[profile.item[selection.slice]] - 1;
  if (operator < 0) return walk(app, direction);
  const all = executions_of(profile, operator);
  const at = all.indexOf(selection.slice) + direction;
  if (at >= 0 && at < all.length) {
    reveal(app, all[at]);
    choose_slice(app, all[at]);
  }
}

/** Lays the selected slice of the other profile on that of one's own. @param {App} app */
export function align(app) {
  const { other } = app;
  const begin = (/** @type {App | null} */ of) => {
    const selection = of?.selection.peek();
    return of && selection?.kind === "slice" ? of.profile.ns(of.profile.start[selection.slice]) : NaN;
  };
  const offset = Math.round(begin(app) - begin(other));
  if (Number.isNaN(offset)) app.note.value = t("align_needs");
  else app.offset.value = offset;
}

/** Of all that is selected. @param {App} app */
export function let_go(app) {
  for (const of of [app, app.other]) if (of) of.selection.value = of.marked.value = null;
}
