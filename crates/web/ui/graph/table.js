// The graph as a table: every node, scope and fused operator with the same figures.

import { t, word } from "../locale/texts.js";
import { about, count, percent } from "../parts/units.js";
import { named } from "../parts/live.js";
import { shown } from "../parts/text.js";
import { make_grid, nothing_matches } from "../table/grid.js";
import { FATES, KIND } from "./graph.js";

/**
 * @param {App} app @param {Graph} graph @param {Numbers} times @param {(part: number) => void} choose
 */
export function graph_table(app, graph, times, choose) {
  const whole = app.profile.overview.whole_ns || 1;
  const fate = (/** @type {number} */ at) => (graph.kind[at] === KIND.scope || graph.kind[at] === KIND.stream ? t("nodes_n", { n: graph.nodes[at] }) : word("kind", `fate_${FATES[graph.fate[at]]}`));
  const why = (/** @type {number} */ at) => graph.stop(graph.chain[at], app.language.peek());
  /** @type {{ key: string, title: string, width: string, right?: boolean, of: (at: number) => string | number, cell?: (at: number) => string }[]} */
  const list = [
    { key: "name", title: t("node"), width: "minmax(220px, 3fr)", of: graph.name, cell: (at) => named(graph.name(at)) },
    { key: "type", title: t("type"), width: "minmax(110px, 1fr)", of: graph.type, cell: (at) => shown(graph.type(at), 60) },
    { key: "time_ns", title: t("time_of_inference"), width: "140px", right: true, of: (at) => times[at], cell: (at) => (times[at] > 0 ? about(times[at]) : "–") },
    { key: "share", title: t("share"), width: "80px", right: true, of: (at) => times[at] / whole, cell: (at) => (times[at] > 0 ? percent(times[at] / whole) : "–") },
    { key: "executions", title: t("executions"), width: "92px", right: true, of: (at) => graph.executions[at], cell: (at) => (graph.executions[at] > 0 ? count(graph.executions[at]) : "–") },
    { key: "fate", title: t("attribution"), width: "minmax(150px, 1fr)", of: fate },
    { key: "shapes", title: t("shapes"), width: "minmax(160px, 2fr)", of: graph.shapes, cell: (at) => shown(graph.shapes(at), 100) },
  ];
  if (graph.chains > 0) list.push({ key: "chain", title: t("chain"), width: "minmax(180px, 2fr)", of: (at) => (graph.chain[at] > 0 ? why(at) : ""), cell: (at) => (graph.chain[at] > 0 ? `${graph.chain[at]}: ${shown(why(at), 120)}` : "") });
  const rows = Array.from({ length: graph.count }, (_, at) => at);
  let sorted = "-time_ns";
  const grid = make_grid({ label: t("screen_model"), columns: list.map(({ cell, ...it }) => ({ ...it, cell: cell ?? ((/** @type {number} */ at) => String(it.of(at))) })), choose, sort, empty: nothing_matches });
  show();
  return grid;

  /** @param {string} key */
  function sort(key) {
    const falls = sorted === key || (sorted !== `-${key}` && ["time_ns", "share", "executions"].includes(key));
    sorted = falls ? `-${key}` : key;
    show();
  }

  function show() {
    const { of } = list.find((it) => it.key === sorted.replace("-", "")) ?? list[0];
    const sign = sorted.startsWith("-") ? -1 : 1;
    const keys = Array.from(rows, (_, at) => of(at));
    rows.sort((a, b) => sign * (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0) || a - b);
    grid.show(rows, sorted);
  }
}
