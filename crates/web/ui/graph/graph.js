// The graph of the model: its parts within one another, what leads where, and whose time is whose.

import { table_of } from "../data/table.js";

export const KIND = { node: 0, scope: 1, fused: 2, stream: 3 };
export const FATES = ["unknown", "measured", "fused", "removed", "added", "unmatched"];

/** @typedef {{ from: number, to: number, is_order: boolean, is_back: boolean, gutter: number, lane: number, a: number, b: number }} Edge */
/** @typedef {ReturnType<typeof make_graph>} Graph */

/**
 * @param {Container} columns @param {GraphFacts} facts @param {Operator[]} operators
 */
export function make_graph(columns, facts, operators) {
  const strings = columns.table("graph_strings").texts("text");
  const table = columns.table("graph_nodes");
  const { count } = table;
  const [names, types, shapes, kind, fate, above, operator, time, executions, rank, column, nodes, next, chain] =
    ["name", "type", "shapes", "kind", "fate", "parent", "operator", "time", "count", "rank", "column", "nodes", "next", "chain"].map((it) => table.numbers(it));
  const parent = Int32Array.from({ length: count }, (_, at) => above[at] - 1);
  const depth = new Uint8Array(count);
  /** @type {number[][]} */
  const inside = Array.from({ length: count + 1 }, () => []);
  for (let at = 0; at < count; at += 1) {
    if (parent[at] >= 0) depth[at] = depth[parent[at]] + 1;
    inside[parent[at] + 1].push(at);
  }
  const of_edges = columns.table("graph_edges");
  const [from, to, is_order, is_back, gutter, lane] = ["from", "to", "is_order", "is_back", "gutter", "lane"].map((it) => of_edges.numbers(it));
  /** @type {Edge[]} */
  const edges = [];
  for (let at = 0; at < of_edges.count; at += 1) {
    const ends = beside(from[at], to[at]);
    if (ends) edges.push({ from: from[at], to: to[at], is_order: is_order[at] === 1, is_back: is_back[at] === 1, gutter: gutter[at] - 1, lane: lane[at], ...ends });
  }
  const work = columns.table("graph_work");
  const [of_operator, of_node] = [work.numbers("operator"), work.numbers("node")];
  const node_of = new Map(Array.from(of_operator, (it, at) => [it, of_node[at]]));
  const chains = columns.table("graph_chains");
  const reasons = (/** @type {string} */ language) => ["stop", "remedy"].map((it) => chains.numbers(`${it}${language}`));
  const told = { en: reasons(""), zh: reasons("_zh") };
  const name = (/** @type {number} */ at) => strings[names[at]] || operators[operator[at] - 1]?.name || "";
  return {
    facts, count, kind, fate, parent, operator, executions, rank, column, nodes, chain, inside, edges, chains: chains.count,
    /** The next part of the costliest path, itself at its end, -1 of others. @param {number} at */
    next: (at) => next[at] - 1,
    name,
    type: (/** @type {number} */ at) => strings[types[at]] ?? "",
    shapes: (/** @type {number} */ at) => strings[shapes[at]] || operators[operator[at] - 1]?.shapes || "",
    /** Why a chain goes no further, and what helps. @param {number} number @param {Language} language */
    stop: (number, language) => told[language].map((it) => strings[it[number - 1]]).filter(Boolean).join(language === "zh" ? "；" : "; "),
    node_of: (/** @type {number} */ it) => node_of.get(it) ?? -1,
    /** The end of a name that its surroundings don't say. @param {number} at */
    label(at) {
      const whole = name(at);
      const around = parent[at] >= 0 && kind[parent[at]] === KIND.scope ? name(parent[at]) : "";
      return kind[at] === KIND.scope ? (around && whole.startsWith(`${around}/`) ? whole.slice(around.length + 1) : whole) : whole.slice(whole.lastIndexOf("/", whole.length - 2) + 1);
    },
    /** Times of all parts: of an average inference, or within a range. @param {Profile} profile @param {Span | null} span */
    times(profile, span) {
      if (!span) return time;
      const within = new Float64Array(count);
      for (const row of table_of(profile, { grouping: "operator", terms: [], span }).rows) {
        const node = row.operator === null ? undefined : node_of.get(row.operator);
        if (node !== undefined) within[node] += row.time;
      }
      for (let at = count - 1; at >= 0; at -= 1) if (parent[at] >= 0) within[parent[at]] += within[at];
      return within;
    },
  };

  // The parts side by side that two parts are in; null where one holds the other.
  /** @param {number} a @param {number} b */
  function beside(a, b) {
    while (depth[a] > depth[b]) a = parent[a];
    while (depth[b] > depth[a]) b = parent[b];
    while (a !== b && parent[a] !== parent[b]) [a, b] = [parent[a], parent[b]];
    return a === b ? null : { a, b };
  }
}
