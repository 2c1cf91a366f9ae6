// Colours of the graph's parts, and what the legend says of them.

import { t, word } from "../locale/texts.js";
import { about, percent } from "../parts/units.js";
import { BOUNDS, BOUND_SIGNS, CHANGE_SIGNS, colour_of_type } from "../parts/colours.js";
import { shown } from "../parts/text.js";
import { FATES, KIND } from "./graph.js";
import { change_of } from "../state/selected.js";

/** The limit of a part's operator: 1 to 3, 0 where that isn't known. @param {Profile} profile @param {Graph} graph @param {number} at */
const bound_of = (profile, graph, at) => Number(/** @type {any} */ (profile.operators[graph.operator[at] - 1])?.bound ?? 0);

/** The ways of colouring. @param {Profile} profile @param {Graph} graph */
export function graph_colours(profile, graph) {
  const knows_bounds = Array.from(graph.operator, (_, at) => at).some((at) => bound_of(profile, graph, at) > 0);
  return ["share", "call", "type", "fate", ...(knows_bounds ? ["bound"] : []), ...(profile.report?.compare ? ["change"] : [])];
}

/**
 * @param {App} app @param {Graph} graph @param {string} by @param {Numbers} times
 */
export function make_look(app, graph, by, times) {
  const palette = app.palette.peek();
  const call = (/** @type {number} */ at) => app.profile.operators[graph.operator[at] - 1]?.mean ?? 0;
  const figure = by === "call" ? call : (/** @type {number} */ at) => times[at];
  // A part that holds others has the sum of them: the scale is that of the costliest single one.
  let most = 0;
  let whole = 0;
  for (let at = 0; at < graph.count; at += 1) {
    if (graph.kind[at] === KIND.node || graph.kind[at] === KIND.fused) most = Math.max(most, figure(at));
    if (graph.parent[at] < 0) whole += times[at];
  }
  if (!app.marked.peek()) whole = app.profile.overview.whole_ns || whole;
  const last = palette.ramp.length - 1;
  const step = (/** @type {number} */ part) => palette.ramp[Math.round(Math.sqrt(Math.min(1, part)) * last)];
  const fates = [palette.line, palette.css[0], palette.css[3], palette.background, palette.css[9], palette.strong_line];
  // Blue is faster and orange slower, as in the comparison.
  const changes = [palette.css[0], palette.strong_line, palette.css[10]];
  const sign_of = (/** @type {number} */ at) => {
    const operator = graph.operator[at] - 1;
    if (operator < 0) return -1;
    const change = change_of(app.profile, operator);
    return Math.abs(change) < 0.01 ? 1 : change < 0 ? 0 : 2;
  };
  return {
    most,
    share: (/** @type {number} */ at) => (whole > 0 ? times[at] / whole : 0),
    /** The colour of a part; empty where it has none. @param {number} at */
    colour(at) {
      if (by === "fate") return graph.kind[at] === KIND.node || graph.kind[at] === KIND.fused ? fates[graph.fate[at]] : "";
      if (graph.fate[at] === 3) return "";
      if (by === "bound") return palette.css[[0, 4, 14][bound_of(app.profile, graph, at) - 1]] ?? "";
      if (by === "change") return changes[sign_of(at)] ?? "";
      if (by === "type") return graph.type(at) === "" ? "" : palette.css[colour_of_type(graph.type(at))];
      return figure(at) > 0 && most > 0 ? step(figure(at) / most) : "";
    },
    /** The same without colour, where it isn't a scale. @param {number} at */
    sign: (/** @type {number} */ at) => (by === "bound" ? BOUND_SIGNS[bound_of(app.profile, graph, at) - 1] : by === "change" ? CHANGE_SIGNS[sign_of(at)] : "") ?? "",
    bar: (/** @type {number} */ at) => (most > 0 ? Math.min(1, figure(at) / most) : 0),
    /** @returns {[string, string][]} colours with what they say */
    legend() {
      if (by === "fate") {
        const used = new Set(Array.from(graph.fate, (it, at) => (graph.kind[at] === KIND.scope || graph.kind[at] === KIND.stream ? -1 : it)));
        return FATES.flatMap((it, at) => (used.has(at) ? [/** @type {[string, string]} */ ([fates[at], word("kind", `fate_${it}`)])] : []));
      }
      if (by === "type") {
        const types = new Set(Array.from(times, (_, at) => at).filter((at) => graph.type(at) !== "" && times[at] > 0).sort((a, b) => times[b] - times[a]).map((at) => graph.type(at)));
        return [...types].slice(0, 8).map((it) => [palette.css[colour_of_type(it)], shown(it, 30)]);
      }
      if (by === "change") return /** @type {const} */ (["faster", "same", "slower"]).map((it, at) => [changes[at], `${CHANGE_SIGNS[at]} ${word("change", it)}`]);
      if (by === "bound") return BOUNDS.map((it, at) => [palette.css[[0, 4, 14][at]], `${BOUND_SIGNS[at]} ${word("bound", it)}`]);
      if (most === 0) return [];
      return [0.01, 0.0625, 0.25, 0.5625, 1].map((part) => [step(part), by === "call" || most < whole / 100 ? about(most * part) : percent(most * part / whole)]);
    },
  };
}

/** One part in a sentence. @param {App} app @param {Graph} graph @param {number} at @param {Numbers} times @param {number} share */
export function part_lines(app, graph, at, times, share) {
  const kind = graph.kind[at];
  const name = graph.name(at) || (kind === KIND.stream ? t("stream_n", { of: graph.shapes(at) }) : t("no_name"));
  const chain = graph.chain[at];
  return [
    shown(name),
    [shown(graph.type(at), 80), kind === KIND.stream ? "" : shown(graph.shapes(at), 120)].filter(Boolean).join(" · "),
    times[at] > 0 ? `${about(times[at])} · ${percent(share)}` : t("no_time"),
    graph.nodes[at] > 0 ? t("nodes_n", { n: graph.nodes[at] }) : "",
    kind === KIND.scope || kind === KIND.stream ? "" : word("kind", `fate_${FATES[graph.fate[at]]}`),
    chain > 0 ? t("chain_stops", { why: shown(graph.stop(chain, app.language.peek()), 400) }) : "",
  ].filter((it) => it !== "");
}
