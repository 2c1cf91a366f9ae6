import test from "node:test";
import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import { paint_row } from "../../ui/timeline/paint_row.js";
import { make_palette } from "../../ui/parts/colours.js";
import { make_index, make_buckets, make_scratch, longest_of, busy_within, first_from, first_ending_after, slice_at } from "../../ui/data/row_index.js";
import { random } from "../fixture.mjs";

const BACKGROUND = 0xffffffff;
const RED = 0xff0000ff;
const BLUE = 0xffff0000;
const palette = Uint32Array.from([BACKGROUND, RED, BLUE]);

function columns(fine, wide, bucket = 10, origin = 0) {
  return {
    origin, bucket,
    fine: { count: fine.length, bucket: Uint16Array.from(fine, (it) => it[0]), busy: Uint8Array.from(fine, (it) => it[1]), category: Uint16Array.from(fine, (it) => it[2]), longest: Float64Array.from(fine, (it) => it[3] ?? 1) },
    wide: { count: wide.length, start: Float64Array.from(wide, (it) => it[0]), duration: Float64Array.from(wide, (it) => it[1]), category: Uint16Array.from(wide, (it) => it[2]) },
  };
}

function row(seed, count, longest = 40) {
  const next = random(seed);
  const start = new Float64Array(count);
  const duration = new Uint32Array(count);
  let time = 0;
  for (let at = 0; at < count; at += 1) {
    time += next() < 0.4 ? 0 : Math.floor(next() * longest);
    start[at] = time;
    duration[at] = Math.floor(next() ** 4 * longest * 6) * Number(next() > 0.05);
    time += duration[at];
  }
  return make_index(start, duration, Uint32Array.from(start, (_, at) => at % 3));
}

test("an idle row is background", () => {
  assert.deepEqual([...paint_row(columns([], []), 0, 100, 4, palette)], [BACKGROUND, BACKGROUND, BACKGROUND, BACKGROUND]);
});

test("a full bucket has its colour, a faint one 15 percent of it, nothing in between is solid", () => {
  const pixels = paint_row(columns([[0, 255, 1], [1, 1, 1], [2, 128, 1]], []), 0, 40, 4, palette);
  assert.equal(pixels[0], RED);
  assert.equal(pixels[1] & 255, 255);
  assert.equal((pixels[1] >>> 8) & 255, 217, "38 of 255 of the way from white to red");
  assert.equal((pixels[2] >>> 8) & 255, 127);
  assert.equal(pixels[3], BACKGROUND);
});

test("buckets that share a pixel add up, and the longest gives the colour", () => {
  const pixels = paint_row(columns([[0, 255, 1, 5], [1, 0, 2, 9], [2, 255, 2, 9], [3, 255, 1, 3]], []), 0, 40, 2, palette);
  assert.equal(pixels[0] & 0xff0000, 0xff0000, "blue leads");
  assert.equal(pixels[0] & 255, 128, "half busy");
  assert.equal(pixels[1], BLUE);
});

test("a wide slice leaves one pixel before the next and has at least one", () => {
  const pixels = paint_row(columns([], [[0, 30, 1], [30, 20, 2], [90, 1, 1]]), 0, 100, 10, palette);
  assert.deepEqual([...pixels], [RED, RED, BACKGROUND, BLUE, BACKGROUND, BACKGROUND, BACKGROUND, BACKGROUND, BACKGROUND, RED]);
});

test("a slice that goes on beyond the edges has no gap there", () => {
  assert.deepEqual([...paint_row(columns([], [[-50, 500, 1]]), 0, 100, 3, palette)], [RED, RED, RED]);
});

// Hashes that any change of painting alters: pixels of rows of every kind, as hashes.
test("forty rows are painted pixel by pixel as before", () => {
  const fills = make_palette(false).fills;
  const hashes = [];
  for (let seed = 0; seed < 40; seed += 1) {
    const index = row(seed, [0, 1, 7, 8, 9, 300, 5000, 20000][seed % 8]);
    const end = index.count > 0 ? index.start[index.count - 1] + index.duration[index.count - 1] : 1000;
    const share = [1, 0.5, 0.05, 0.001][Math.floor(seed / 8) % 4];
    const [from, to] = [Math.floor(end * 0.37 * (1 - share)), Math.floor(end * 0.37 * (1 - share)) + Math.max(20, Math.floor(end * share))];
    const scratch = make_scratch(640);
    make_buckets(index, from, to, 640, [1, 5, 12], scratch);
    hashes.push(crypto.createHash("sha256").update(paint_row(scratch.columns, from, to, 640, fills)).digest("hex").slice(0, 16));
  }
  const place = new URL("paint_row.hashes.json", import.meta.url);
  if (process.env.OPSCOPE_BLESS === "1") fs.writeFileSync(place, `${JSON.stringify(hashes, null, 1)}\n`);
  assert.deepEqual(hashes, JSON.parse(fs.readFileSync(place, "utf8")));
  assert.ok(new Set(hashes).size > 30, "rows differ");
});

test("buckets have the busy time, and slices of two pixels stand alone, as counting one by one finds", () => {
  for (let seed = 100; seed < 160; seed += 1) {
    const index = row(seed, 400 + seed * 3, seed % 2 ? 40 : 3);
    const next = random(seed);
    const end = index.start[index.count - 1] + index.duration[index.count - 1];
    const from = next() * end * 0.8 - end * 0.1;
    const to = from + Math.max(5, next() ** 2 * end);
    const width = 97;
    const per = (to - from) / width;
    const scratch = make_scratch(width);
    make_buckets(index, from, to, width, [1, 2, 3], scratch);
    const busy = new Float64Array(width);
    const wide = [];
    for (let at = 0; at < index.count; at += 1) {
      const [a, b] = [index.start[at], index.start[at] + index.duration[at]];
      if (b <= from || a >= to) continue;
      if (b - a >= 2 * per) { wide.push(at); continue; }
      for (let pixel = 0; pixel < width; pixel += 1) busy[pixel] += Math.max(0, Math.min(b, from + (pixel + 1) * per) - Math.max(a, from + pixel * per));
    }
    assert.deepEqual([...scratch.slices.subarray(0, scratch.columns.wide.count)], wide);
    for (let pixel = 0; pixel < width; pixel += 1) assert.ok(Math.abs(scratch.busy[pixel] - busy[pixel]) < 1e-6 * end + 1e-6, `seed ${seed}, pixel ${pixel}: ${scratch.busy[pixel]} for ${busy[pixel]}`);
  }
});

test("the tree finds the longest of any stretch", () => {
  const index = row(3, 3000);
  const next = random(9);
  for (let round = 0; round < 2000; round += 1) {
    const from = Math.floor(next() * 3000);
    const to = Math.min(3000, from + Math.floor(next() ** 3 * 3000));
    const found = longest_of(index, from, to);
    if (from >= to) { assert.equal(found, -1); continue; }
    assert.ok(found >= from && found < to);
    assert.equal(index.duration[found], index.duration.slice(from, to).reduce((a, b) => Math.max(a, b), 0), `${from} to ${to}`);
  }
});

test("busy time within a window is exact at its edges", () => {
  const index = make_index(Float64Array.from([10, 30, 50]), Uint32Array.from([10, 20, 5]), Uint32Array.from([0, 0, 0]));
  assert.equal(busy_within(index, 0, 100), 35);
  assert.equal(busy_within(index, 15, 35), 10);
  assert.equal(busy_within(index, 20, 30), 0);
  assert.equal(busy_within(index, 51, 52), 1);
  assert.equal(slice_at(index, 19), 0);
  assert.equal(slice_at(index, 20), -1);
  assert.equal(first_from(index.start, 30, 0), 1);
  assert.equal(first_ending_after(index, 50), 2);
});
