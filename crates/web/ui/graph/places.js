// Where the parts of a graph stand, by what is unfolded: ranks are as tall and columns as wide as what is in them.

import { KIND } from "./graph.js";

export const WIDE = 168;
export const HIGH = 38;
const [GAP, BETWEEN, HEAD, PAD, LANE] = [22, 30, 24, 12, 5];

/** @typedef {{ part: number, x: number, y: number, w: number, h: number, open: boolean }} Box */
/** @typedef {{ from: number, to: number, is_order: boolean, is_back: boolean, points: number[] }} Line */
/** @typedef {ReturnType<typeof lay_out>} Places */

/**
 * @param {Graph} graph @param {(part: number) => boolean} is_open
 */
export function lay_out(graph, is_open) {
  const { count, inside, rank, column, parent } = graph;
  const order_only = graph.facts.from === "order";
  // How many lanes each gutter of each part has in use.
  /** @type {Map<number, number[]>} */
  const lanes = new Map();
  for (const it of graph.edges) {
    if (it.gutter < 0) continue;
    const of_scope = lanes.get(parent[it.a]) ?? [];
    lanes.set(parent[it.a], of_scope);
    of_scope[it.gutter] = Math.max(of_scope[it.gutter] ?? 0, it.lane + 1);
  }
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  const w = new Float64Array(count).fill(WIDE);
  const h = new Float64Array(count).fill(HIGH);
  const open = new Uint8Array(count);
  /** @type {Map<number, number[]>} */
  const gutters = new Map();
  const whole = measure(-1);
  // Each part in sight, or the outermost folded one around it.
  const seen = new Int32Array(count).fill(-1);
  /** @type {Box[]} */
  const boxes = [];
  const box_of = new Int32Array(count).fill(-1);
  for (let part = 0; part < count; part += 1) {
    const around = parent[part];
    const in_sight = around < 0 || (seen[around] === around && open[around] === 1);
    seen[part] = in_sight ? part : seen[around];
    if (!in_sight) continue;
    if (around >= 0) {
      x[part] += x[around] + PAD;
      y[part] += y[around] + HEAD;
    }
    box_of[part] = boxes.length;
    boxes.push({ part, x: x[part], y: y[part], w: w[part], h: h[part], open: open[part] === 1 });
  }
  return { boxes, lines: lines(), ...whole, seen, box: (/** @type {number} */ part) => boxes[box_of[seen[part]]] };

  // Sizes and places of the parts in one, from its own corner.
  /** @param {number} around @returns {{ width: number, height: number }} */
  function measure(around) {
    const parts = inside[around + 1];
    /** @type {number[]} */
    const wide = [];
    /** @type {number[]} */
    const high = [];
    for (const part of parts) {
      if (inside[part + 1].length > 0 && is_open(part)) {
        const { width, height } = measure(part);
        [w[part], h[part], open[part]] = [Math.max(WIDE, width + 2 * PAD), height + HEAD + PAD, 1];
      }
      wide[column[part]] = Math.max(wide[column[part]] ?? 0, w[part]);
      high[rank[part]] = Math.max(high[rank[part]] ?? 0, h[part]);
    }
    const used = lanes.get(around) ?? [];
    const left = [];
    const first = [];
    let width = 0;
    for (let at = 0; at <= wide.length; at += 1) {
      first.push(width + (at === 0 ? 0 : GAP / 2));
      if (used[at]) width += used[at] * LANE + (at === 0 || at === wide.length ? GAP / 2 : 0);
      if (at > 0 && at < wide.length) width += GAP;
      left.push(width);
      width += wide[at] ?? 0;
    }
    let height = 0;
    const top = [];
    for (let at = 0; at < high.length; at += 1) {
      top.push(height);
      height += (high[at] ?? 0) + (at + 1 < high.length ? (order_only ? 10 : BETWEEN) : 0);
    }
    for (const part of parts) {
      x[part] = left[column[part]] + (wide[column[part]] - w[part]) / 2;
      y[part] = top[rank[part]];
    }
    gutters.set(around, first);
    return { width, height };
  }

  /** @returns {Line[]} */
  function lines() {
    const known = new Set();
    /** @type {Line[]} */
    const found = [];
    for (const it of graph.edges) {
      const [from, to] = [seen[it.from], seen[it.to]];
      const key = from * count + to;
      if (from === to || known.has(key)) continue;
      known.add(key);
      const [x1, y1, x2, y2] = [x[from] + w[from] / 2, y[from] + h[from], x[to] + w[to] / 2, y[to]];
      const points = [x1, y1];
      const beside = (/** @type {number} */ box, /** @type {number} */ other) => (x[other] + w[other] / 2 < x[box] + w[box] / 2 ? x[box] - 5 : x[box] + w[box] + 5);
      // Out of a scope, and into one, a link runs along its side and not over what is in it.
      const out = beside(it.a, it.b);
      if (y[it.a] + h[it.a] - y1 > HIGH + PAD) points.push(out, y1 + BETWEEN * 0.6, out, y[it.a] + h[it.a]);
      if (it.gutter >= 0) {
        const around = parent[it.a];
        const lane = (around >= 0 ? x[around] + PAD : 0) + (gutters.get(around)?.[it.gutter] ?? 0) + (it.lane + 0.5) * LANE;
        points.push(lane, y[it.a] + h[it.a] + BETWEEN * 0.6, lane, y[it.b] - BETWEEN * 0.6);
      }
      const side = beside(it.b, it.a);
      if (y2 - y[it.b] > HIGH + HEAD) points.push(side, y[it.b], side, y2 - BETWEEN * 0.6);
      points.push(x2, y2);
      found.push({ from, to, is_order: it.is_order, is_back: it.is_back, points });
    }
    // A list says in which order it ran by its columns; the steps of each are joined.
    if (order_only) {
      for (const parts of inside) {
        for (let at = 1; at < parts.length; at += 1) {
          const [a, b] = [parts[at - 1], parts[at]];
          if (graph.kind[b] === KIND.stream || column[a] !== column[b] || seen[a] !== a || seen[b] !== b) continue;
          found.push({ from: a, to: b, is_order: true, is_back: false, points: [x[a] + w[a] / 2, y[a] + h[a], x[b] + w[b] / 2, y[b]] });
        }
      }
    }
    return found;
  }
}
