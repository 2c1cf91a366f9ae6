// The page of ranks without a browser: its link, what a picture shows of more ranks than it has rows, rows of timelines.
import test from "node:test";
import assert from "node:assert/strict";
import { encode } from "../fixture.mjs";
import { open_columns } from "../../ui/data/columns.js";
import { empty_state, format_link, list_of, numbers_of, parse_link } from "../../ui/ranks/link.js";
import { heat_bins, link_pairs, matrix_bins, stretches } from "../../ui/ranks/bins.js";
import { first_behind, layout_of, make_drawn, slice_at, waits_within } from "../../ui/ranks/drawn.js";
import { account_rows, groupings, is_known, is_selected_link, make_run, selected_ranks, selection_of, suspect_of } from "../../ui/ranks/run.js";

test("a link says all of the state, and the state comes back from it", () => {
  const state = { ...empty_state(), sel: "link:0-28", m: "bubble", r: [8, 63], k: "dp reduceScatter", x: "RDMA", g: "stage", s: "-step_ns", lr: "0-3,49", ls: "10", t: [1200, 99000], tab: ["heat", "waits"], v: "9f3a12cd", lang: "zh", theme: "dark" };
  assert.deepEqual(parse_link(format_link(state)), { state, wrong: [] });
  assert.equal(format_link(empty_state()), "#/ranks");
  assert.deepEqual(parse_link(""), { state: empty_state(), wrong: [] });
  assert.ok(format_link({ ...state, lr: Array.from({ length: 900 }, (_, at) => at * 2).join(",") }).length <= 2000);
});

test("what is unknown or wrong in a link is left out and named", () => {
  const { state, wrong } = parse_link("#/ranks?sel=<script>&m=votes&r=9-3&t=7..7&lr=1-&tab=heat,pie&v=zz&lang=de&foo=1&k=a&x=RDMA");
  assert.deepEqual(wrong.sort(), ["foo", "k", "lang", "lr", "m", "r", "sel", "t", "tab", "v"]);
  assert.deepEqual([state.x, state.sel, state.tab], ["RDMA", null, ["heat"]]);
  assert.deepEqual(parse_link("#/timeline?t=1..2").wrong, ["/timeline?t=1..2"]);
});

test("lists of numbers go there and back, and what is none is refused", () => {
  assert.deepEqual(numbers_of(" 0-3, 49"), [0, 1, 2, 3, 49]);
  assert.equal(list_of([0, 1, 2, 3, 49]), "0-3,49");
  for (const wrong of ["", "3-1", "x", "1,,2", "-1", "0-99999999"]) assert.equal(numbers_of(wrong), null, wrong);
});

test("stretches are as long as one another within one, and leave nothing out", () => {
  for (const [from, to, most] of [[0, 10, 3], [5, 6, 400], [0, 10_000, 440], [0, 3, 0]]) {
    const bounds = stretches(from, to, most);
    const lengths = bounds.slice(1).map((it, at) => it - bounds[at]);
    assert.deepEqual([bounds[0], bounds.at(-1)], [from, to]);
    assert.ok(Math.min(...lengths) >= 1 && Math.max(...lengths) - Math.min(...lengths) <= 1, lengths.join(" "));
    assert.ok(lengths.length <= Math.max(1, most));
  }
});

test("a bin has the greatest value of its ranks and whose it is, and ranks that weren't recorded are told apart", () => {
  const run = { order: [{ index: 0 }, { index: -1 }, { index: -1 }, { index: 1 }], steps: [10, 11] };
  const values = new Float64Array([5, NaN, 7, 9]);
  const bins = heat_bins(run, values, [0, 1, 3, 4], [0, 1, 2]);
  assert.deepEqual([...bins.values], [5, NaN, NaN, NaN, 7, 9]);
  assert.deepEqual([...bins.unrecorded], [0, 1, 0]);
  const whole = heat_bins(run, values, [0, 4], [0, 2]);
  assert.deepEqual([whole.values[0], whole.rank[0], whole.step[0], whole.most, whole.unrecorded[0]], [9, 3, 1, 9, 0]);
  // Against what each bin should hold, of many.
  const many = { order: Array.from({ length: 1000 }, (_, index) => ({ index })), steps: Array.from({ length: 7 }, (_, at) => at) };
  const noise = Float64Array.from({ length: 7000 }, (_, at) => (Math.imul(at + 1, 2654435761) >>> 0) % 1e6);
  const [rows, columns] = [stretches(0, 1000, 33), stretches(0, 7, 3)];
  const found = heat_bins(many, noise, rows, columns);
  for (let row = 0; row < 33; row += 1) {
    for (let column = 0; column < 3; column += 1) {
      let most = -1;
      for (let rank = rows[row]; rank < rows[row + 1]; rank += 1) for (let step = columns[column]; step < columns[column + 1]; step += 1) most = Math.max(most, noise[rank * 7 + step]);
      assert.equal(found.values[row * 3 + column], most);
    }
  }
});

const links = (rows) => open_columns(encode({ links: { src: rows.map((it) => it[0]), dst: rows.map((it) => it[1]), part_gb_per_s: rows.map((it) => it[2] + 0.001), peers_gb_per_s: rows.map((it) => it[3] + (it[3] ? 0.001 : 0)), is_slow: rows.map((it) => it[4]) } })).table("links");

test("a pair of ranks stands for its slowest link, and a cell for its slowest pair", () => {
  const table = links([[0, 1, 10, 10, 0], [0, 1, 4, 10, 1], [1, 0, 10, 0, 0], [2, 3, 9, 10, 0], [7, 0, 1, 10, 1]]);
  const pairs = link_pairs(table, (number) => (number < 4 ? number : -1), () => true);
  assert.deepEqual(pairs.map((it) => [it.src, it.dst, Number(it.share.toFixed(2)), it.slow]), [[0, 1, 0.4, true], [1, 0, NaN, false], [2, 3, 0.9, false]]);
  assert.deepEqual([...matrix_bins(pairs, [0, 1, 2, 3, 4])], [-1, 0, -1, -1, 1, -1, -1, -1, -1, -1, -1, 2, -1, -1, -1, -1]);
  assert.deepEqual([...matrix_bins(pairs, [0, 4])], [0]);
  assert.deepEqual([...matrix_bins(pairs, [2, 3, 4])], [-1, 2, -1, -1]);
  assert.equal(link_pairs(table, (number) => number, (row) => row === 0)[0].slow, false);
});

/** Two ranks: one comes late to a collective, the other waits. */
const drawn = () => make_drawn(open_columns(encode({
  rows: { rank: [3, 3, 3, 8, 8], kind: [0, 1, 2, 1, 2], role: ["", "", "dp", "", "dp"], lane: [0, 0, 0, 0, 0] },
  slices: { row: [0, 1, 2, 3, 4], start: [0, 0, 100, 0, 40], duration: [200, 100, 50, 40, 110], kind: [0, 1, 2, 1, 2], step: [10, 0, 10, 0, 10], sequence: [0, 0, 5, 0, 5], waiting: [0, 0, 0, 0, 60], last: [0, 0, 0, 0, 4], seen: [0, 0, 2, 0, 2], members: [0, 0, 2, 0, 2], bytes: [0, 0, 9, 0, 9] },
  arrows: { from: [2], to: [4] },
})));

test("rows of ranks lie below one another, and only those that are asked for", () => {
  const it = drawn();
  assert.deepEqual([it.count, it.end, it.ranks], [5, 200, [3, 8]]);
  const all = layout_of(it, () => true);
  assert.deepEqual(all.blocks.map((block) => [block.rank, block.rows.map((row) => row.at)]), [[3, [0, 1, 2]], [8, [3, 4]]]);
  assert.ok(all.blocks[1].top > all.blocks[0].top + all.blocks[0].height);
  const one = layout_of(it, (rank) => rank === 8);
  assert.deepEqual(one.blocks.map((block) => block.rank), [8]);
  assert.equal(one.blocks[0].top, 0);
  assert.ok(one.height < all.height);
});

test("a moment finds its slice, and waits are those whose both ends are shown", () => {
  const it = drawn();
  assert.equal(slice_at(it, 2, 120, 0), 2);
  assert.equal(slice_at(it, 2, 90, 15), 2);
  assert.equal(slice_at(it, 2, 50, 15), -1);
  assert.equal(slice_at(it, 2, 0, Infinity), 2);
  assert.equal(first_behind(it, it.rows[4].slices, 151), 1);
  assert.deepEqual(waits_within(it, [0, 200], () => true), [0]);
  assert.deepEqual(waits_within(it, [0, 50], () => true), []);
  assert.deepEqual(waits_within(it, [0, 200], (row) => row < 3), []);
});

test("a rank of which there are empty files stands once, and one without collectives has no values", () => {
  const report = { cluster: { missing: [3, 5], suspects: [] }, steps: [7], places: ["a:0", "a:1", "b:0"], summary: {} };
  const columns = open_columns(encode({
    ranks: { rank: [0, 5, 8], host: [0, 0, 1], steps: [1, 0, 0], step_ns: [9, 0, 0], waiting_ns: [5, 0, 0] },
    cells: { rank: [0], step: [0], step_ns: [9], waiting_ns: [5] },
  }));
  const run = make_run(report, columns);
  assert.deepEqual(run.order.map((it) => [it.number, it.index]), [[0, 0], [3, -1], [5, -1], [8, 2]]);
  assert.deepEqual([0, 2].map(run.knows_account), [true, false]);
  const bins = heat_bins(run, run.values("waiting"), [0, 1, 2, 3, 4], [0, 1]);
  assert.deepEqual([[...bins.values], [...bins.unrecorded], [...bins.rank]], [[5, NaN, NaN, NaN], [0, 1, 1, 0], [0, -1, -1, -1]]);
  assert.deepEqual(account_rows(run, "rank").map((it) => it.of), ["0"]);
});

test("a run has its missing ranks in their places, selections know their ranks and links", () => {
  const suspects = [{ kind: "rank", rank: 5, evidence: { causes: [] } }, { kind: "link", src: 0, dst: 5, evidence: { causes: [] } }, { kind: "group", ranks: [0, 5], evidence: { causes: [] } }, { kind: "port", src: 5, evidence: { causes: [] } }, { kind: "adapter", ranks: [0], from: [0], to: null, evidence: { causes: [] } }, { kind: "port_in", ranks: [0], from: null, to: [0], evidence: { causes: [] } }];
  const report = { cluster: { missing: [3], suspects }, steps: [7], places: ["a:0", "b:1"], summary: { step: [{ step: "7", step_ns: 9 }] } };
  const columns = open_columns(encode({
    ranks: { rank: [0, 5], host: [0, 1], steps: [1, 1], step_ns: [9, 8], compute_ns: [4, 5], waiting_ns: [5, 2] },
    cells: { rank: [0, 1], step: [0, 0], step_ns: [9, 8], waiting_ns: [5, 2], compute_ns: [4, 5] },
  }));
  const run = make_run(report, columns);
  assert.deepEqual(run.order.map((it) => [it.number, it.index]), [[0, 0], [3, -1], [5, 1]]);
  assert.deepEqual([run.place_of(5), run.place_of(3), run.index_of(3)], ["b:1", "", -1]);
  assert.deepEqual([...run.values("waiting")], [5, 2]);
  assert.deepEqual(groupings(run), ["step", "rank"]);
  assert.deepEqual(account_rows(run, "rank").map((it) => [it.of, it.compute_ns]), [["0", 4], ["5", 5]]);
  assert.deepEqual(account_rows(run, "step").map((it) => [it.of, it.step_ns]), [["7", 9]]);
  assert.deepEqual(suspects.map((it, at) => selection_of(it, at)), ["rank:5", "link:0-5", "group:2", "port:5", "group:4", "group:5"]);
  assert.deepEqual(["rank:5", "link:0-5", "group:2", "port:5", null].map((it) => selected_ranks(run, it)), [[5], [0, 5], [0, 5], [5], []]);
  assert.deepEqual(["rank:5", "link:0-5", "group:2", "port:5", "group:4", "group:5"].map((it) => [is_selected_link(run, it, 0, 5), is_selected_link(run, it, 5, 0)]), [[true, true], [true, false], [true, true], [false, true], [true, false], [false, true]]);
  assert.deepEqual([is_known(run, "rank:3"), is_known(run, "rank:4"), is_known(run, "group:9"), suspect_of(run, "link:0-5"), suspect_of(run, "link:5-0")], [true, false, false, 1, -1]);
});
