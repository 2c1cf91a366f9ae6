import test from "node:test";
import assert from "node:assert/strict";
import { parse_link, format_link, empty_state } from "../../ui/state/link.js";
import { signal, effect, computed, batch } from "../../ui/state/signal.js";
import { command_of } from "../../ui/parts/keys.js";
import { within, zoomed, panned, steps, moment } from "../../ui/timeline/scale.js";

test("a link says all of the state, and the state comes back from it", () => {
  const state = { ...empty_state(), screen: "timeline", p: 1, b: 0, o: -1500, t: [-1200345, 2400000], m: [5, 9], sel: "task:1234", q: "type:Conv >50us", g: "type", s: "-count", c: "stream",
    fold: ["d0"], hide: ["d0/tasks//a,b~c/3/0/0"], pin: ["host/calls/python 4711/100/100/0/0"], k: [{ at: 77, name: "here, there" }], kb: [{ at: -5, name: "A" }], y: true, v: "9f3a12cd", lang: "zh", theme: "dark" };
  const { state: back, wrong } = parse_link(format_link(state));
  assert.deepEqual(back, state);
  assert.deepEqual(wrong, []);
});

test("what is unknown or wrong in a link is left out and named", () => {
  const { state, wrong } = parse_link("#/nowhere?t=9..3&sel=<script>&foo=1&q=x&g=colour&v=zz&k=abc&c=unit");
  assert.equal(state.screen, "overview");
  assert.deepEqual(wrong.sort(), ["foo", "g", "k", "nowhere", "sel", "t", "v"]);
  assert.equal(state.q, "x");
  assert.equal(state.c, "unit");
});

test("a link is at most 2,000 characters long", () => {
  const state = { ...empty_state(), hide: Array.from({ length: 100 }, (_, at) => `some/long/row/name/${at}`), q: "a".repeat(300), t: [1, 2] };
  const link = format_link(state);
  assert.ok(link.length <= 2000, String(link.length));
  assert.deepEqual(parse_link(link).state.t, [1, 2]);
  assert.equal(parse_link(link).state.q, state.q);
});

test("effects run once for a batch, and no longer once stopped", () => {
  const a = signal(1);
  const b = signal(2);
  const sum = computed(() => a.value + b.value);
  const seen = [];
  const stop = effect(() => { seen.push(sum.value); });
  batch(() => { a.value = 10; b.value = 20; });
  assert.deepEqual(seen, [3, 30]);
  stop();
  a.value = 100;
  assert.deepEqual(seen, [3, 30]);
  assert.equal(sum.value, 120);
});

test("an effect forgets what it no longer reads", () => {
  const which = signal(true);
  const left = signal(0);
  let runs = 0;
  effect(() => { runs += 1; if (which.value) left.value; });
  which.value = false;
  left.value = 5;
  assert.equal(runs, 2);
});

test("keys are taken by their place, whatever an input method or layout makes of them", () => {
  const key = (code, more = {}) => command_of({ code, key: "Process", shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...more });
  assert.equal(key("KeyF"), "fit");
  assert.equal(key("KeyF", { ctrlKey: true }), "search");
  assert.equal(key("KeyI", { shiftKey: true }), "inference before");
  assert.equal(key("Digit3", { key: "\"" }), "screen 3", "the top row of AZERTY has no digits without Shift");
  assert.equal(key("Digit0", { ctrlKey: true }), "everything");
  assert.equal(key("Minus", { key: "?" }), "help");
  assert.equal(key("KeyS", { altKey: true }), null);
  assert.equal(key("KeyR", { ctrlKey: true }), null, "reloading is the browser's");
});

test("views stay within bounds, and zooming keeps the moment under the pointer", () => {
  const bounds = [0, 1000];
  assert.deepEqual(within([-50, 50], bounds), [0, 100]);
  assert.deepEqual(within([-5000, 50000], bounds), [0, 1000]);
  const [from, to] = zoomed([200, 600], 0.5, 0.25, bounds);
  assert.equal(from + (to - from) * 0.25, 300);
  assert.equal(to - from, 200);
  assert.deepEqual(panned([200, 600], 10, bounds), [600, 1000]);
  assert.deepEqual(within([Number.NaN, Number.NaN], bounds), [0, 1000]);
});

test("axes have round steps and labels that tell neighbours apart", () => {
  assert.deepEqual(steps([0, 1e9], 10), { first: 0, step: 1e8 });
  const { first, step } = steps([12_000_001, 12_000_900], 8);
  const labels = Array.from({ length: 5 }, (_, at) => moment(first + at * step, step));
  assert.equal(new Set(labels).size, 5, labels.join(" "));
  assert.equal(moment(1_500_000_000, 500_000_000), "1.5 s");
});
