// Reports that the program itself writes and pages that it serves, of profiles as users have them: every screen, no
// error, no request to anybody else.
import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import os from "node:os";
import { no_program, open, end, report_by_program, program, serve, settled, hold, link_of } from "./browser.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-profiles-"));
after(async () => {
  await end();
  fs.rmSync(folder, { recursive: true, force: true });
});
const skip = no_program;

/** Walks all screens with the keys that change most; the texts of each. */
async function walk(file, how = {}) {
  const { page, seen, close } = await open(file, how);
  const texts = {};
  for (const key of ["1", "2", "i", "w", "d", "ArrowDown", ".", "m", "3", "4", "5", "6", "7", "8"]) {
    await page.keyboard.press(key);
    await settled(page);
    texts[key] = await page.evaluate(() => document.body.innerText);
  }
  assert.equal(await page.locator("#fallback").count(), 0, "the text makes room for the page");
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.dialogs, []);
  if (file.startsWith("http:")) assert.ok(seen.requests.every((it) => it.startsWith(new URL(file).origin)), seen.requests.join(" "));
  else assert.equal(seen.requests.length, 1, seen.requests.join(" "));
  await close();
  return texts;
}

/** Walks the report of a profile and the page that is served of it, whole and in parts; `check` looks at the texts. */
async function walk_both(profile, check) {
  check(await walk(report_by_program(profile)));
  for (const slices of [[], ["--slices", "5"]]) {
    const server = await serve(profile, ...slices);
    check(await walk(server.url));
    assert.equal(await server.end(), 0, server.problems());
  }
}

const trace = (name, events) => {
  const file = path.join(folder, name);
  fs.writeFileSync(file, JSON.stringify({ traceEvents: events }));
  return file;
};

test("a raw Ascend profile is shown on every screen", { skip }, async () => {
  program("sample", "prof", "-o", folder, "--tasks", "2000", "--quiet");
  const profile = path.join(folder, fs.readdirSync(folder).find((it) => it.startsWith("PROF_")));
  await walk_both(profile, (texts) => {
    assert.match(texts["2"], /any stream busy/);
    assert.match(texts["3"], /Copy as command/);
    assert.match(texts["8"], /What this report holds[\s\S]*of/);
  });
});

test("a Chrome trace with a call of five seconds is found by its range", { skip }, async () => {
  const events = [
    { ph: "M", pid: 1, name: "process_name", args: { name: "host" } },
    { ph: "X", pid: 1, tid: 100, ts: 0, dur: 5_645_000, name: "CreateMultipleStreamsFromFile" },
    ...Array.from({ length: 400 }, (_, at) => ({ ph: "X", pid: 1, tid: 100, ts: 5_650_000 + at * 500, dur: 380 + (at % 7) * 10, name: at % 2 ? `Conv2D_${at % 20}` : `BNInferenceD_${at % 20}` })),
  ];
  const { page, seen, close } = await open(report_by_program(trace("story.json", events)), { hash: "#/timeline" });
  await page.keyboard.press("/");
  await page.keyboard.type("CreateMul");
  // A trace without types has the name as the type, too: the operator is the second hit.
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await settled(page);
  assert.match(await page.locator(".panel").innerText(), /CreateMultipleStreamsFromFile[\s\S]*5\.6[45] s/);
  const before = await link_of(page);
  await hold(page, "s", 200);
  assert.ok(before !== "");
  await page.keyboard.press("m");
  await settled(page);
  assert.match(await page.locator(".panel").innerText(), /Range of 5\.6[45] s/);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("names that strangers chose stay text from the profile to the page", { skip }, async () => {
  const names = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "__proto__", "a\u202eb", "line\u2028end", "\u0000\u0007\u001b[31m", "=1+1", "x".repeat(300_000), "", "<!--", "]]>"];
  const events = names.flatMap((name, at) => [{ ph: "X", pid: 1, tid: at % 3, ts: at * 100, dur: 60, name, cat: name, args: { [name]: name } }, { ph: "i", pid: 1, tid: 7, ts: at * 90, name, s: "t" }, { ph: "C", pid: 1, ts: at * 50, name, args: { value: at } }]);
  await walk_both(trace("hostile.json", events), (texts) => assert.match(texts["2"], /stream|Thread|thread|1/i));
});

test("an empty, a cut and a one-slice trace are shown, and say what they lack", { skip }, async () => {
  // A file without a byte is no profile, and none is written of it.
  const nothing = path.join(folder, "nothing.json");
  fs.writeFileSync(nothing, "");
  assert.throws(() => report_by_program(nothing), /nothing\.json: this is an empty file/);
  const server = await serve(nothing);
  assert.equal(await server.ended, 1);
  assert.match(server.problems(), /nothing\.json: this is an empty file/);
  await walk_both(trace("none.json", []), (texts) => assert.match(texts["2"], /no row to show/));
  await walk_both(trace("one.json", [{ ph: "X", pid: 1, tid: 1, ts: 5, dur: 1, name: "only" }]), (one) => assert.match(one["8"], /What was read/));
  const whole = JSON.stringify({ traceEvents: Array.from({ length: 50 }, (_, at) => ({ ph: "X", pid: 1, tid: 1, ts: at * 10, dur: 5, name: `op${at}` })) });
  const cut = path.join(folder, "cut.json");
  fs.writeFileSync(cut, whole.slice(0, Math.floor(whole.length * 0.7)));
  await walk_both(cut, (texts) => assert.match(texts["1"], /record(?:s)? (?:lost|doubted)/));
});

test("of two thousand rows those in sight are elements, and the last is reached", { skip }, async () => {
  const rows = Array.from({ length: 2000 }, (_, tid) => [{ ph: "X", cat: "kernel", pid: 0, tid, ts: tid, dur: 5, name: `op${tid % 9}` }, { ph: "X", cat: "kernel", pid: 0, tid, ts: 3000 + tid, dur: 5, name: "last" }]).flat();
  const file = trace("rows.json", rows);
  const server = await serve(file, "--slices", "50");
  for (const place of [report_by_program(file), server.url]) {
    const { page, seen, close } = await open(place);
    await page.keyboard.press("2");
    await settled(page);
    assert.ok((await page.locator(".row-name").count()) < 100);
    await page.locator(".scroller").evaluate((it) => { it.scrollTop = it.scrollHeight; });
    await settled(page);
    assert.match((await page.locator(".row-name").last().innerText()).trim(), /1999/);
    assert.ok((await page.locator(".row-name").count()) < 100);
    assert.deepEqual(seen.errors, []);
    await close();
  }
  assert.equal(await server.end(), 0, server.problems());
});

test("a slice whose clock was broken hides none of the others, and is a button away", { skip }, async () => {
  const events = Array.from({ length: 5000 }, (_, at) => ({ ph: "X", cat: "kernel", pid: 1, tid: 1, ts: at * 10, dur: 5, name: `op${at % 7}` }));
  events.push({ ph: "X", cat: "kernel", pid: 1, tid: 1, ts: 3.456e12, dur: 5, name: "forty days late" });
  const { page, seen, close } = await open(report_by_program(trace("clock.json", events)), { hash: "#/timeline" });
  const axis = () => page.locator("canvas.axis-canvas").evaluate((it) => it.toDataURL());
  const before = await axis();
  await page.locator(".facts button", { hasText: /slices? far outside the view/ }).click();
  await settled(page);
  assert.notEqual(await axis(), before);
  const [, from, to] = /[?&]t=(\d+)\.\.(\d+)/.exec(await link_of(page));
  assert.ok(Number(from) < 1e6 && Number(to) > 3.4e15, `${from} ${to}`);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("a run that is kept in no file says so, and its commands name no file that isn't there", { skip }, async () => {
  const [model, file] = [path.join(folder, "model.onnx"), path.join(folder, "run.html")];
  program("sample", "mask-ssd", "-o", model);
  program("run", model, "-n", "2", "--html", file);
  const texts = await walk(file);
  assert.match(texts["8"], /kept in no file/);
  assert.match(texts["4"], /\d+ chains that could be fused[\s\S]*Costliest path[\s\S]*Graph of the model, 97 nodes\./);
  assert.match(texts["8"], /opscope info PROFILE\n/);
  assert.match(texts["7"], /opscope advise PROFILE\n/);
});

test("the row of any stream busy has one colour, slice by slice and where slices were left out", { skip }, async () => {
  // Two streams that never rest, of which a third is there slice by slice.
  const events = Array.from({ length: 3000 }, (_, at) => ({ ph: "X", cat: "kernel", pid: 0, tid: at % 2, ts: (at >> 1) * 10, dur: 10, name: `k${at % 9}` }));
  const { page, seen, close } = await open(report_by_program(trace("busy.json", events), "--slices", "1000"), { hash: "#/timeline" });
  const colouring = page.locator(".toolbar select").first();
  const ways = await colouring.locator("option").evaluateAll((options) => options.map((it) => it.value));
  assert.ok(ways.includes("type") && ways.includes("stream"), ways.join(" "));
  for (const way of ways) {
    await colouring.selectOption(way);
    await settled(page);
    const place = await page.locator(".row-name.busy").first().boundingBox();
    const colours = await page.locator("canvas.rows-canvas").evaluate((canvas, y) => {
      const box = canvas.getBoundingClientRect();
      const pen = canvas.getContext("2d");
      return [0.2, 0.8].map((part) => [...pen.getImageData(Math.round(canvas.width * part), Math.round(((y - box.top) * canvas.height) / box.height), 1, 1).data].join(" "));
    }, place.y + place.height / 2);
    assert.equal(colours[0], colours[1], way);
    assert.equal(colours[0], "112 126 146 255", "and it is the row's own");
  }
  assert.deepEqual(seen.errors, []);
  await close();
});

test("the command's language is the page's", { skip }, async () => {
  const texts = await walk(report_by_program(trace("zh.json", [{ ph: "X", pid: 1, tid: 1, ts: 5, dur: 1, name: "算子" }]), "--lang", "zh"));
  assert.match(texts["1"], /概览/);
});

test("the graph is the model's, else by names of tensors, else the order of execution, and the page says which", { skip }, async () => {
  const [model, run] = [path.join(folder, "graph.onnx"), path.join(folder, "graph.db")];
  program("sample", "mask-ssd", "-o", model);
  program("run", model, "--engine", "tract", "-n", "2", "--db", run);
  const of_model = (await walk(report_by_program(run, "--model", model)))["4"];
  assert.match(of_model, /Graph of the model, 97 nodes\./);
  const by_tensors = (await walk(report_by_program(run)))["4"];
  assert.match(by_tensors, /Graph by the names of tensors in the profile, 97 nodes\.[\s\S]*opscope report \S*graph\.db --model MODEL\.onnx/);
  // A profile of ONNX Runtime has names and times, and no graph.
  const events = ["conv1", "relu1", "conv2", "relu2"].flatMap((name, at) => [
    { cat: "Node", pid: 1, tid: 1, dur: 40 + at, ts: 100 + 100 * at, ph: "X", name: `/net/${name}_kernel_time`, args: { op_name: name.startsWith("conv") ? "Conv" : "Relu", provider: "CPUExecutionProvider", node_index: String(at), thread_scheduling_stats: "" } },
  ]);
  const profile = path.join(folder, "onnxruntime.json");
  fs.writeFileSync(profile, JSON.stringify([{ cat: "Session", pid: 1, tid: 1, dur: 900, ts: 50, ph: "X", name: "model_run", args: {} }, ...events]));
  const in_order = (await walk(report_by_program(profile)))["4"];
  assert.match(in_order, /no graph: this is the order of execution of each stream, 4 operators\.[\s\S]*--model MODEL\.onnx/);
  // A model of which nothing ran: its graph, and that nothing is known of its times.
  const foreign = (await walk(report_by_program(profile, "--model", model)))["4"];
  assert.match(foreign, /Graph of the model, 97 nodes\.[\s\S]*No operator of the profile is a node of this model/);
});
