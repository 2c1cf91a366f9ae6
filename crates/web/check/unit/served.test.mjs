// The page's side of a server: what it asks for, in which order, and what it shows until that is there.
import test from "node:test";
import assert from "node:assert/strict";
import { make_tiles } from "../../ui/data/tiles.js";
import { make_profile } from "../../ui/data/profile.js";
import { make_served } from "../../ui/data/served.js";
import { parse_link, format_link } from "../../ui/state/link.js";

/** An answer as a container: each tile has one full bucket and one wide slice that runs on into the next tile. */
function answer({ level, first, count, rows }, bytes = 1000) {
  const size = 512 * 2 ** level;
  const tiles = rows.flatMap((row) => Array.from({ length: count }, (_, at) => ({ row, number: first + at })));
  const slices = tiles.flatMap(({ number }) => [(number - 0.5) * size, (number + 0.5) * size]);
  const tables = {
    tiles: { row: tiles.map((it) => it.row), number: tiles.map((it) => it.number), fine: tiles.map(() => 1), wide: tiles.map(() => 2) },
    fine: { bucket: tiles.map(() => 7), busy: tiles.map(() => 255), count: tiles.map(() => 3), item: tiles.map(() => level), longest: tiles.map(() => 1) },
    wide: { start: slices, duration: slices.map(() => size), item: slices.map(() => 1), id: slices.map((_, at) => at) },
  };
  return { kind: "tiles", size: bytes, table: (name) => ({ count: Object.values(tables[name])[0].length, numbers: (column) => Float64Array.from(tables[name][column]), texts: () => [], has: () => true }) };
}

/** Tiles whose questions are answered by hand. */
function by_hand(end = 2 ** 40, bytes = 1000, clock = undefined) {
  const asked = [];
  const tiles = make_tiles((question) => new Promise((done, fail) => asked.push({ question, done: () => done(answer(question, bytes)), fail })), end, clock);
  const settle = () => new Promise((done) => setTimeout(done, 0));
  return { asked, tiles, settle };
}

/** Plain columns as a server sends them. */
function to_columns(kind, tables) {
  const parts = [];
  let offset = 0;
  const head = { kind, tables: Object.fromEntries(Object.entries(tables).map(([name, columns]) => [name, { count: Object.values(columns)[0].length, columns: Object.entries(columns).map(([column, values]) => {
    parts.push(Buffer.from(values.buffer));
    offset += values.byteLength;
    return { name: column, coding: "plain", type: "f64", offset: offset - values.byteLength };
  }) }])) };
  const length = (text) => Math.ceil((8 + Buffer.byteLength(text)) / 8) * 8;
  const with_head = (begin) => JSON.stringify({ ...head, tables: Object.fromEntries(Object.entries(head.tables).map(([name, it]) => [name, { ...it, columns: it.columns.map((column) => ({ ...column, offset: column.offset + begin })) }])) });
  let begin = length(with_head(0));
  while (length(with_head(begin)) !== begin) begin = length(with_head(begin));
  const text = Buffer.from(with_head(begin));
  const front = Buffer.alloc(begin);
  front.write("OSC1");
  front.writeUInt32LE(text.length, 4);
  text.copy(front, 8);
  return new Uint8Array(Buffer.concat([front, ...parts]));
}

const ROW = { rows: [4], across: 1000 };

test("one question is under way, and of those that wait only the newest is asked", async () => {
  const { asked, tiles, settle } = by_hand();
  tiles.want({ ...ROW, view: [0, 1_000_000] });
  tiles.want({ ...ROW, view: [0, 500_000] });
  tiles.want({ ...ROW, view: [0, 64_000] });
  assert.equal(asked.length, 1);
  assert.equal(asked[0].question.level, 9, "a bucket is a pixel or less");
  asked[0].done();
  await settle();
  assert.equal(asked.length, 2);
  assert.equal(asked[1].question.level, 6, "500,000 was passed over");
});

test("what is in sight comes first, then beside it, then the level above, then nothing", async () => {
  const { asked, tiles, settle } = by_hand();
  const size = 512 * 2 ** 4;
  tiles.want({ ...ROW, view: [10 * size, 10 * size + 16_000] });
  for (let at = 0; at < asked.length; at += 1) {
    asked[at].done();
    await settle();
  }
  assert.deepEqual(asked.map(({ question }) => [question.level, question.first, question.count]), [[4, 10, 2], [4, 12, 2], [4, 8, 2], [5, 5, 1]]);
  tiles.want({ ...ROW, view: [10 * size, 10 * size + 16_000] });
  assert.equal(asked.length, 4, "what is there isn't asked for again");
});

test("a coarser tile stands in until the finer one is there, and slices in two tiles are drawn once", async () => {
  const { asked, tiles, settle } = by_hand();
  const [wide, near] = [[0, 64_000], [512, 8_512]];
  const category = [10, 20, 30, 40, 50, 60, 70];
  tiles.want({ ...ROW, view: wide });
  assert.equal(tiles.columns_of(4, wide, 1000, category), null, "nothing is known yet");
  asked[0].done();
  await settle();
  const first = tiles.columns_of(4, wide, 1000, category);
  assert.deepEqual([first.bucket, first.origin, first.fine.count], [32, 0, 4].map((it, at) => (at === 0 ? 2 ** asked[0].question.level : at === 2 ? asked[0].question.count : it)));
  assert.equal(first.wide.count, asked[0].question.count + 1, "each neighbour is in two tiles");
  assert.equal(first.fine.category[0], category[asked[0].question.level]);
  assert.equal(first.wide.category[0], 20);
  assert.equal(tiles.columns_of(4, near, 1000, category).bucket, first.bucket, "zoomed in it is scaled");
  tiles.want({ ...ROW, view: near });
  while (asked.at(-1).question.level !== 3) {
    asked.at(-1).done();
    await settle();
  }
  asked.at(-1).done();
  await settle();
  assert.equal(tiles.columns_of(4, near, 1000, category).bucket, 8);
});

/** Answers whatever is asked until nothing is. */
async function answer_all(asked, settle) {
  for (let at = asked.findIndex((it) => !it.done_with); at >= 0; at = asked.findIndex((it) => !it.done_with)) {
    asked[at].done_with = true;
    asked[at].done();
    await settle();
  }
}

test("tiles seen longest ago go where a page would hold too much, and what is in sight stays", async () => {
  const { asked, tiles, settle } = by_hand(2 ** 50);
  const rows = Array.from({ length: 64 }, (_, at) => at);
  const view = (at) => [at * 1e9, at * 1e9 + 16_000];
  for (let at = 0; at < 60; at += 1) {
    tiles.want({ rows, view: view(at), across: 1000 });
    await answer_all(asked, settle);
  }
  const before = asked.length;
  tiles.want({ rows, view: view(59), across: 1000 });
  assert.equal(asked.length, before, "the latest view is whole");
  assert.ok(tiles.columns_of(63, view(59), 1000, [0, 0, 0, 0, 0, 0, 0]));
  tiles.want({ rows, view: view(0), across: 1000 });
  assert.equal(asked.length, before + 1, "the first view has to come again");
});

test("a row that is laid out in the place of its last view has nothing of that left", async () => {
  const { asked, tiles, settle } = by_hand();
  const [wide, near] = [[0, 64_000], [512, 8_512]];
  const category = [10, 20, 30, 40, 50, 60, 70];
  const laid = (view) => {
    const { fine, wide, counts, fine_item, wide_item, id } = tiles.columns_of(4, view, 1000, category);
    const some = (columns) => Object.fromEntries(Object.entries(columns).map(([name, it]) => [name, Array.from(it).slice(0, wide.count)]));
    return structuredClone({ fine: { ...fine }, wide: some({ start: wide.start, duration: wide.duration, category: wide.category, wide_item, id }), counts, fine_item });
  };
  for (const view of [wide, near]) {
    tiles.want({ ...ROW, view });
    await answer_all(asked, settle);
  }
  const first = laid(wide);
  const other = laid(near);
  assert.notDeepEqual(other, first);
  assert.deepEqual(laid(wide), first);
});

test("a question that fails is asked again by the next move", async () => {
  const { asked, tiles, settle } = by_hand();
  tiles.want({ ...ROW, view: [0, 1000] });
  const warn = console.warn;
  console.warn = () => {};
  asked[0].fail(new Error("refused"));
  await settle();
  console.warn = warn;
  assert.equal(asked.length, 1);
  tiles.want({ ...ROW, view: [0, 1000] });
  assert.equal(asked.length, 2);
});

/** A clock that stands until it is moved. */
function by_hand_clock() {
  let now = 0;
  let waiting = [];
  return {
    now: () => now,
    after: (ms, act) => { waiting.push({ due: now + ms, act }); return waiting.at(-1).due; },
    forget: (due) => { waiting = waiting.filter((it) => it.due !== due); },
    pass: (ms) => {
      now += ms;
      const due = waiting.filter((it) => it.due <= now);
      waiting = waiting.filter((it) => it.due > now);
      for (const it of due) it.act();
    },
  };
}

test("over a slow link a moving view makes do with half as many buckets until it rests", async () => {
  const clock = by_hand_clock();
  const { asked, tiles, settle } = by_hand(2 ** 40, 64_000, clock);
  const finish = async () => {
    for (let at = asked.findIndex((it) => !it.is_done); at >= 0; at = asked.findIndex((it) => !it.is_done)) {
      asked[at].is_done = true;
      clock.pass(20);
      asked[at].done();
      await settle();
    }
  };
  tiles.want({ ...ROW, view: [0, 1_000_000] });
  assert.equal(asked[0].question.level, 9);
  await finish();
  const before = asked.length;
  tiles.want({ ...ROW, view: [0, 64_000] });
  assert.equal(asked[before].question.level, 7, "64,000 ticks would be 6");
  await finish();
  clock.pass(100);
  tiles.want({ ...ROW, view: [1_000, 65_000] });
  await finish();
  const coarse = asked.length;
  clock.pass(200);
  assert.equal(asked.length, coarse, "the last move is not long enough ago");
  clock.pass(50);
  assert.equal(asked[coarse]?.question.level, 6, "at rest it is as fine as ever");
});

test("over a quick link a moving view is as fine as one at rest", async () => {
  const clock = by_hand_clock();
  const { asked, tiles, settle } = by_hand(2 ** 40, 64_000, clock);
  tiles.want({ ...ROW, view: [0, 1_000_000] });
  for (let at = 0; at < asked.length; at += 1) {
    clock.pass(10);
    asked[at].done();
    await settle();
  }
  const before = asked.length;
  tiles.want({ ...ROW, view: [0, 64_000] });
  assert.equal(asked[before].question.level, 6);
});

test("counters of a view are asked for once, and those of another view are nobody's", async () => {
  const it = profile();
  it.report.left_out = { ...it.report.left_out, samples: 10, samples_in_full: 2 };
  const counter = { kind: "counter" };
  it.rows.push(counter);
  const asked = [];
  const value = new Float64Array([1, Number.NaN, 4, 5]);
  const data = to_columns("counters", { buckets: { low: value, high: value, last: value } });
  const served = make_served({ ask: async (path) => { asked.push(path); return data; }, json: async () => ({}) }, it, 3);
  const view = [10.5, 99.2];
  served.counters([counter], view, 4);
  served.counters([counter], view, 4);
  assert.equal(served.buckets(counter, view, 4), null);
  await new Promise((done) => setTimeout(done, 0));
  assert.deepEqual(asked, ["3/counters?from=10&to=100&width=4&ids=0"]);
  assert.deepEqual([...served.buckets(counter, view, 4).high], [1, Number.NaN, 4, 5]);
  assert.equal(served.buckets(counter, [0, 99.2], 4), null);
  served.counters([counter], view, 4);
  assert.equal(asked.length, 1);
  it.report.left_out.samples = 2;
  served.counters([counter], [0, 50], 4);
  assert.equal(asked.length, 1, "all values are there");
});

test("what is under the pointer is a slice, a bucket or nothing", async () => {
  const { asked, tiles, settle } = by_hand();
  tiles.want({ ...ROW, view: [0, 512] });
  asked[0].done();
  await settle();
  tiles.columns_of(4, [0, 511], 512, [0, 0]);
  assert.deepEqual([tiles.under(4, 100, 1).count, tiles.under(4, 100, 1).duration], [1, 512]);
  assert.equal(tiles.under(5, 100, 1), null);
});

/** A profile of one row with a slice of its own. */
function profile() {
  const tables = { strings: { text: ["", "own"] }, items: { kind: [5], name: [1] }, slices: { gap: [10], duration: [5], item: [0], id: [3] } };
  const columns = { table: (name) => ({ count: Object.values(tables[name] ?? { none: [] })[0].length, numbers: (column) => Uint32Array.from(tables[name]?.[column] ?? new Array(Object.values(tables[name] ?? { none: [] })[0].length).fill(0)), texts: () => tables[name]?.text ?? [], has: () => true }) };
  const rows = [{ group: 0, kind: "tasks", name: "stream 0", of: "", number: 0, process: null, copy: 0, depth: 0, first: 0, count: 1, density_first: 0, density_count: 0 }];
  const report = { compute_units: ["other"], timeline: { tick_ns: 1, end: 100, groups: [{ name: "npu", kind: "device", device: 0 }], rows, counters: [] }, left_out: { buckets: 8 } };
  return make_profile(report, columns, 2);
}

const brought = (items, texts) => ({ table: (name) => (name === "items" ? { count: items.length, numbers: (column) => Uint32Array.from(items.map((it) => it[column] ?? 0)) } : { texts: () => texts }) });
const guests = (...rows) => ({ count: rows.length, numbers: (column) => Float64Array.from(rows.map((it) => it[column] ?? 0)) });

test("items that two answers bring are taken over once", () => {
  const it = profile();
  const known = { items: it.items.count, strings: it.strings.length };
  it.learn(brought([{ name: 2 }], ["new"]), known);
  it.learn(brought([{ name: 2 }, { name: 3, kind: 5 }], ["new", "newer"]), known);
  assert.deepEqual([it.items.count, it.strings.length, it.item_name(1), it.item_name(2)], [3, 4, "new", "newer"]);
});

test("a guest is a slice like any other, and the oldest makes room", () => {
  const it = profile();
  const first = it.invite(guests({ row: 0, start: 40, duration: 7, id: 8, item: 0, launch: 2 }, { row: 0, start: 20, duration: 1, id: 2 }));
  assert.deepEqual([it.start[first], it.duration[first], it.column("id")[first], it.column("launch")[first]], [40, 7, 8, first + 2]);
  assert.equal(it.row_of(first), it.rows[0]);
  assert.ok(it.is_guest(first) && !it.is_guest(0) && it.count === 1);
  assert.equal(it.invite(guests({ row: 0, start: 40, duration: 7, id: 8 })), first, "who is there already is not invited twice");
  const third = it.invite(guests({ row: 0, start: 60, duration: 2, id: 9 }));
  assert.equal(it.start[third], 60);
  assert.equal(it.start[0], 10, "the page's own stay");
});

test("a link names its profile", () => {
  const { state, wrong } = parse_link("#/timeline?p=3&t=5..9");
  assert.deepEqual([state.p, wrong], [3, []]);
  assert.match(format_link(state), /^#\/timeline\?p=3&t=5\.\.9$/);
  assert.deepEqual(parse_link("#/timeline?p=-1").wrong, ["p"]);
  assert.deepEqual(parse_link("#/timeline?p=0").state.p, 0);
});
