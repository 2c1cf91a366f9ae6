import test from "node:test";
import assert from "node:assert/strict";
import { open_columns } from "../../ui/data/columns.js";
import { make_profile } from "../../ui/data/profile.js";
import { make_index } from "../../ui/data/row_index.js";
import { union_of } from "../../ui/data/union.js";
import { gaps_of, operators_within, window_of } from "../../ui/data/window.js";
import { table_of, sorted } from "../../ui/data/table.js";
import { parse_filter, passes } from "../../ui/data/filter.js";
import { histogram } from "../../ui/data/executions.js";
import { encode, story, nothing, random } from "../fixture.mjs";

const open = (made) => make_profile(made.report, open_columns(new Uint8Array(encode(made.tables))));

test("columns of every coding come back as they were", () => {
  const numbers = [0, 1, 255, 256, 65535, 2 ** 31, 2 ** 40, 2 ** 52];
  const table = open_columns(new Uint8Array(encode({ t: { wait: numbers, id: [5, 3, 3, 900, -7, 0, 2 ** 40, 1], value: [0.5, -1.25, 1e300, 0, 1, 2, 3, 4], text: ["", "ä", "算子", "\u0000", "</script>", "a", "b", "c"], small: [1, 2, 3, 4, 5, 6, 7, 255] } }))).table("t");
  assert.deepEqual([...table.numbers("wait")], numbers);
  assert.deepEqual([...table.numbers("id")], [5, 3, 3, 900, -7, 0, 2 ** 40, 1]);
  assert.deepEqual([...table.numbers("value")], [0.5, -1.25, 1e300, 0, 1, 2, 3, 4]);
  assert.deepEqual(table.texts("text")[2], "算子");
  assert.deepEqual([...table.numbers("small")], [1, 2, 3, 4, 5, 6, 7, 255]);
  assert.deepEqual([...table.numbers("left out")], [0, 0, 0, 0, 0, 0, 0, 0]);
});

test("damaged columns are refused with a sentence, and nothing hangs", () => {
  const whole = new Uint8Array(encode(story({ inferences: 3, layers: 5 }).tables));
  const made = story({ inferences: 3, layers: 5 });
  const next = random(5);
  let refused = 0;
  for (let round = 0; round < 3000; round += 1) {
    const bytes = whole.slice(0, round % 3 === 0 ? Math.floor(next() * whole.length) : whole.length);
    for (let at = 0; at < 3 && bytes.length > 0; at += 1) bytes[Math.floor(next() ** 3 * bytes.length)] = Math.floor(next() * 256);
    try {
      const profile = make_profile(structuredClone(made.report), open_columns(bytes));
      table_of(profile, { grouping: "type", terms: [], span: null });
    } catch (error) {
      refused += 1;
      assert.ok(error instanceof Error && error.message.length > 0 && error.message.length < 500, String(error));
    }
  }
  assert.ok(refused > 1000);
});

test("a profile has the slices that were written, at their times", () => {
  const profile = open(story());
  const calls = profile.rows.find((it) => it.kind === "calls" && it.depth === 0);
  assert.equal(profile.item_name(calls.index.item[0]), "CreateMultipleStreamsFromFile");
  assert.equal(calls.index.duration[0], 5_645_000_000);
  assert.equal(profile.iterations.count, 20);
  assert.equal(profile.operators[0].type, "Conv2D");
  assert.equal(profile.row_of(calls.first), calls);
  assert.equal(profile.row_of(profile.count), null);
});

test("a profile in which nothing ran opens", () => {
  const profile = open(nothing());
  assert.equal(profile.rows.length, 0);
  assert.deepEqual(table_of(profile, { grouping: "operator", terms: [], span: null }).rows, []);
});

test("the union of streams is busy whenever any of them is", () => {
  const index = (list) => make_index(Float64Array.from(list, (it) => it[0]), Uint32Array.from(list, (it) => it[1]), Uint32Array.from(list, (it) => it[2] ?? 0));
  const union = union_of([index([[0, 10], [20, 5], [50, 100, 9]]), index([[5, 10], [25, 5], [40, 0], [60, 5]])], (it) => it === 9);
  assert.deepEqual([...union.start].map((it, at) => [it, union.duration[at]]), [[0, 15], [20, 10], [60, 5]]);
});

test("inferences of a stretch are those that overlap it, and of many no more than asked for and one", () => {
  const { iterations } = open(story());
  const all = Array.from({ length: iterations.count }, (_, at) => iterations.at(at));
  const end = Math.max(...all.map((it) => it.start + it.duration));
  for (const [from, to] of [[0, end], [0, 1], [end - 1, end + 1], [end, end + 1], ...all.map((it) => [it.start + it.duration, it.start + 3 * it.duration])]) {
    const expected = all.flatMap((it, at) => (it.recorded && it.start < to && it.start + it.duration > from ? [at] : []));
    assert.deepEqual(iterations.within([from, to], 100), expected);
  }
  assert.equal(iterations.within([0, end], 4).length, 5);
});

test("a range says busy and idle, the costliest operators and the gaps", () => {
  const profile = open(story());
  const one = profile.iterations.at(5);
  const found = window_of(profile, [one.start, one.start + one.duration]);
  assert.equal(found.groups.length, 1);
  assert.ok(found.groups[0].busy > one.duration * 0.8 && found.groups[0].busy <= one.duration);
  assert.equal(found.top.length, 10);
  assert.equal(profile.operators[found.top[0].operator].type, "Conv2D");
  const early = window_of(profile, [0, 5_645_000_000]);
  assert.equal(early.groups[0].busy, 0);
  assert.deepEqual(early.gaps, [[0, 5_645_000_000]]);
  assert.ok(gaps_of(profile.rows.find((it) => it.kind === "busy"), [0, profile.facts.end]).length >= 1);
});

test("executions that the ends of a range cut are counted unless whole ones are asked for", () => {
  const profile = open(story());
  const row = profile.rows.find((it) => it.kind === "tasks" && it.count > 3);
  const [start, duration] = [row.index.start[1], row.index.duration[1]];
  const cut = [start + 1, start + duration + 1];
  const sum = (list) => list.reduce((all, it) => all + it.count, 0);
  assert.ok(sum(operators_within(profile, cut)) > sum(operators_within(profile, cut, true)));
  const exact = [start, start + duration];
  assert.ok(operators_within(profile, exact, true).some((it) => it.operator === profile.items.operator[row.index.item[1]] - 1));
});

test("where slices were left out, busy time is by density, and it is said", () => {
  const made = story();
  const row = made.report.timeline.rows.find((it) => it.kind === "busy");
  const end = made.report.timeline.end;
  const bucket = Math.floor(end / 8192) + 1;
  Object.assign(made.report.left_out, { slices: 1_000_000, windows: [[5_000_000_000, end]] });
  row.density_count = 2;
  made.tables.density = { bucket: [10, 11], busy: [255, 51], count: [3, 4], item: [0, 0], longest: [9, 9] };
  const profile = open(made);
  const found = window_of(profile, [0, 1_000_000_000]);
  assert.ok(found.partly);
  assert.equal(found.groups[0].busy, bucket * 1.2);
  assert.deepEqual(found.gaps, []);
  assert.equal(window_of(profile, [5_100_000_000, 5_200_000_000]).partly, false);
});

test("grouped times add up to the whole, and shares to one", () => {
  const profile = open(story());
  for (const grouping of ["operator", "type", "name", "unit", "stream", "shape"]) {
    const { rows } = table_of(profile, { grouping, terms: [], span: null });
    assert.equal(rows.reduce((sum, it) => sum + it.time, 0), profile.overview.whole_ns, grouping);
    assert.ok(Math.abs(rows.at(-1).cumulative - 1) < 1e-9, grouping);
  }
  const { rows } = table_of(profile, { grouping: "iteration", terms: [], span: null });
  assert.equal(rows.length, 20);
});

test("sorting puts what isn't known last both ways", () => {
  const rows = [{ name: "a", min: 3 }, { name: "b", min: null }, { name: "c", min: 1 }];
  const profile = { metrics_of: (operator) => (operator === 0 ? [{ name: "mac_ratio", unit: "", mean: 0.5 }] : operator === 1 ? [{ name: "mac_ratio", unit: "", mean: 0.2 }] : []) };
  const names = (sort, of = rows) => sorted(profile, of, sort).map((it) => it.name);
  assert.deepEqual(names("min"), ["c", "a", "b"]);
  assert.deepEqual(names("-min"), ["a", "c", "b"]);
  const measured = [{ name: "none", operator: null }, { name: "half", operator: 0 }, { name: "fifth", operator: 1 }, { name: "other", operator: 2 }];
  assert.deepEqual(names("metric:mac_ratio", measured), ["fifth", "half", "none", "other"]);
  assert.deepEqual(names("-metric:mac_ratio", measured), ["half", "fifth", "none", "other"]);
});

test("filters are understood part by part", () => {
  const subject = { name: "/backbone/conv1/Conv", type: "Conv + Relu", unit: "ai-core", stream: "3", data_type: "float16", shapes: "1x3x8x8", mean: 60_000 };
  const yes = (text) => passes(parse_filter(text).terms, subject);
  assert.ok(yes(""));
  assert.ok(yes("conv1"));
  assert.ok(yes("name:conv\\d type:conv >50us <2ms dtype:float16"));
  assert.ok(yes('type:"Conv + Relu"'));
  assert.ok(!yes("type:Pool"));
  assert.ok(!yes("-stream:3"));
  assert.ok(yes("-stream:4 unit:ai-core >=60us"));
  assert.ok(!yes(">60us"));
  assert.deepEqual(parse_filter("name:( >5 color:red ok").wrong, ["name:(", ">5", "color:red"]);
});

test("a histogram counts each execution once", () => {
  const times = Array.from({ length: 1000 }, (_, at) => 10 + at * at);
  const spread = histogram(times);
  assert.equal(spread.counts.reduce((a, b) => a + b, 0), 1000);
  assert.deepEqual(histogram([5, 5, 5]).counts, [3]);
  assert.deepEqual(histogram([]).counts, [0]);
});

test("names that are properties of objects are names like others", () => {
  const profile = open(story({ hostile: ["__proto__", "constructor", "</script><img src=x onerror=alert(1)>"] }));
  const { rows } = table_of(profile, { grouping: "name", terms: [], span: null });
  assert.ok(rows.some((it) => it.name === "__proto__"));
  assert.ok(rows.some((it) => it.name === "constructor"));
});
