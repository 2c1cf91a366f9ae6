// A model's graph for reports made without the program: blocks of layers in a row with an edge around each third
// layer, a fused operator, nodes that the engine removed and added, and a chain that could be fused.

/**
 * Tables and facts of the graph of some operators in order, with the row that each has in the table of operators.
 * @param {{ name: string, type: string, row: number, time: number, count: number }[]} operators
 * @param {{ block?: number, folded?: boolean }} [options] layers of a block
 */
export function graph_of(operators, { block = 12, folded = false } = {}) {
  const strings = [""];
  const numbers = new Map([["", 0]]);
  const text = (value) => { if (!numbers.has(value)) { numbers.set(value, strings.length); strings.push(value); } return numbers.get(value); };
  const columns = ["name", "type", "shapes", "kind", "fate", "parent", "operator", "time", "count", "rank", "column", "nodes", "next", "chain"];
  const nodes = Object.fromEntries(columns.map((it) => [it, []]));
  const add = (facts) => { for (const it of columns) nodes[it].push(facts[it] ?? 0); return nodes.name.length - 1; };
  const edges = { from: [], to: [], is_order: [], is_back: [], gutter: [], lane: [] };
  const link = (from, to, gutter = 0, is_order = 0) => { edges.from.push(from); edges.to.push(to); edges.is_order.push(is_order); edges.is_back.push(0); edges.gutter.push(gutter); edges.lane.push(0); };
  const work = { operator: [], node: [] };
  let before = -1;
  let scope_before = -1;
  let third = -1;
  for (let first = 0; first < operators.length; first += block) {
    const own = operators.slice(first, first + block);
    const number = first / block;
    const scope = add({ name: text(`backbone/block${number}`), kind: 1, rank: number, nodes: own.length + 1, time: own.reduce((sum, it) => sum + it.time, 0) });
    own.forEach((it, at) => {
      const node = add({ type: text(it.type), fate: 1, parent: scope + 1, operator: it.row + 1, time: it.time, count: it.count, rank: at, chain: number === 0 && at < 3 ? 1 : 0 });
      work.operator.push(it.row);
      work.node.push(node);
      if (before >= 0) link(before, node);
      if (at > 2 && at % 3 === 0) link(third, node, 2);
      if (at % 3 === 0) third = node;
      if (before >= 0) nodes.next[before] = node + 1;
      before = node;
    });
    nodes.next[before] = before + 1;
    const gone = add({ name: text(`/backbone/block${number}/Identity`), type: text("Identity"), fate: 3, parent: scope + 1, rank: own.length });
    link(before, gone);
    scope_before = scope;
  }
  const fused = add({ name: text("head"), type: text("Gemm+Relu"), kind: 2, fate: 2, rank: Math.ceil(operators.length / block), nodes: 2 });
  const [gemm, relu] = ["Gemm", "Relu"].map((type, at) => add({ name: text(`head/${type}`), type: text(type), fate: 2, parent: fused + 1, rank: at }));
  const added = add({ name: text("reorder"), type: text("ReorderOutput"), fate: 4, rank: nodes.rank[fused] + 1 });
  link(before, gemm);
  link(gemm, relu);
  link(relu, added, 0, 1);
  const leaves = nodes.kind.filter((it) => it === 0).length;
  const facts = { from: "model", is_matched: true, nodes: leaves, constants: 3, is_folded: folded, in_columns: 0, path_ns: operators.reduce((sum, it) => sum + it.time, 0) };
  const chains = { stop: [text("MaxPool_6 (MaxPool) is not elementwise")], remedy: [0], stop_zh: [text("MaxPool_6（MaxPool）不是逐元素算子")], remedy_zh: [0] };
  return { facts, scopes: scope_before >= 0 ? Math.ceil(operators.length / block) : 0, tables: { graph_nodes: nodes, graph_edges: edges, graph_work: work, graph_chains: chains, graph_strings: { text: strings } } };
}
