import test from "node:test";
import assert from "node:assert/strict";
import { story, encode } from "../fixture.mjs";
import { open_columns } from "../../ui/data/columns.js";
import { make_profile } from "../../ui/data/profile.js";
import { lay_out } from "../../ui/graph/places.js";
import { graph_colours } from "../../ui/graph/look.js";

const profile_of = (options) => { const { report, tables } = story(options); return make_profile(report, open_columns(new Uint8Array(encode(tables)))); };

/** Asserts that parts side by side don't overlap, and that each lies within the one around it. */
function check(graph, places) {
  for (const box of places.boxes) {
    assert.ok(box.x >= -0.001 && box.y >= -0.001 && box.x + box.w <= places.width + 0.001 && box.y + box.h <= places.height + 0.001, `${graph.name(box.part)} lies outside`);
    const around = graph.parent[box.part];
    if (around >= 0) {
      const outer = places.box(around);
      assert.ok(box.x >= outer.x && box.y >= outer.y && box.x + box.w <= outer.x + outer.w && box.y + box.h <= outer.y + outer.h, `${graph.name(box.part)} leaves its scope`);
    }
    for (const other of places.boxes) {
      if (other === box || graph.parent[other.part] !== around) continue;
      assert.ok(box.x + box.w <= other.x || other.x + other.w <= box.x || box.y + box.h <= other.y || other.y + other.h <= box.y, `${graph.name(box.part)} and ${graph.name(other.part)} overlap`);
    }
  }
}

test("whatever is unfolded, nothing overlaps or leaves what is around it, and links end at what is in sight", () => {
  const { graph } = profile_of({ layers: 60 });
  for (const is_open of [() => true, () => false, (part) => part % 2 === 0]) {
    const places = lay_out(graph, is_open);
    check(graph, places);
    const seen = new Set(places.boxes.map((it) => it.part));
    for (const line of places.lines) {
      assert.ok(seen.has(line.from) && seen.has(line.to) && line.from !== line.to);
      assert.ok(line.points.length % 4 === 0 && line.points.every(Number.isFinite), String(line.points));
    }
  }
  const folded = lay_out(graph, () => false);
  assert.equal(folded.boxes.length, 7);
  assert.equal(new Set(folded.lines.map((it) => `${it.from} ${it.to}`)).size, folded.lines.length, "links between the same parts are one");
});

test("times of a scope are the sums of what it holds, and a range has its own", () => {
  const profile = profile_of({ layers: 24 });
  const { graph } = profile;
  const sum = (times, scope) => graph.inside[scope + 1].reduce((all, it) => all + times[it], 0);
  for (const span of [null, [5_650_000_000, 5_655_000_000]]) {
    const times = graph.times(profile, span);
    assert.ok(times[0] > 0 && Math.abs(times[0] - sum(times, 0)) < 1, String(times[0]));
  }
  assert.ok(graph.times(profile, [0, 1000]).every((it) => it === 0));
});

test("bounds are offered as colours only where they are known", () => {
  const graph = { operator: [0, 1] };
  assert.ok(!graph_colours({ operators: [{}] }, graph).includes("bound"));
  assert.ok(graph_colours({ operators: [{ bound: 2 }] }, graph).includes("bound"));
});
