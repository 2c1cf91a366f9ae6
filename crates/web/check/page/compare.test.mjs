// The story of the reference documents, from two profiles to what became of them, in a report by the program.
import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { no_program, open, end, report_by_program, program, serve, settled, hold, link_of } from "./browser.mjs";
import { mask_detector } from "./mask.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-compare-"));
const [before, after_it] = mask_detector(folder);
after(async () => {
  await end();
  fs.rmSync(folder, { recursive: true, force: true });
});
const skip = no_program;
const axe = fs.readFileSync(path.join(import.meta.dirname, "../node_modules/axe-core/axe.min.js"), "utf8");
const text_of = (page, place) => page.locator(place).first().innerText();
const export_of = async (page, button) => {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return fs.readFileSync(await download.path(), "utf8");
};

test("the mask detector: five lost seconds found by W and D, Conv2D in the lead, its fusion and its sleep in the comparison", { skip }, async () => {
  // Before the change: the long call fills the view, and what is behind it is found by zooming and panning.
  const first = await open(report_by_program(before), { hash: "#/timeline" });
  const box = await first.page.locator("canvas.rows-canvas").boundingBox();
  await first.page.mouse.move(box.x + box.width / 2, box.y + 40);
  await hold(first.page, "w", 500);
  const zoomed = await link_of(first.page);
  const span = (link) => { const [, from, to] = /[?&]t=(\d+)\.\.(\d+)/.exec(link); return [Number(from), Number(to)]; };
  assert.ok(span(zoomed)[1] - span(zoomed)[0] < 4e9, zoomed);
  await hold(first.page, "d", 400);
  assert.ok(span(await link_of(first.page))[0] > span(zoomed)[0]);
  const row = first.page.locator(".row-name", { hasText: "100" }).first();
  const place = await row.boundingBox();
  await first.page.mouse.click(box.x + box.width / 3, place.y + place.height / 2);
  await settled(first.page);
  assert.match(await text_of(first.page, ".panel"), /CreateMultipleStreamsFromFile[\s\S]*5\.6[45] s/);
  await first.page.keyboard.press("3");
  await settled(first.page);
  assert.match(await text_of(first.page, ".grid-row"), /conv\d\s[\s\S]*Conv2D/);
  assert.deepEqual(first.seen.errors, []);
  await first.close();

  // After it: verdict, sleep, story.
  const { page, seen, close } = await open(report_by_program(after_it, "--against", before), { hash: "#/overview" });
  assert.match(await text_of(page, ".versus"), /before[\s\S]*7\.21 ms[\s\S]*2\.31 ms[\s\S]*−68\.0 %/);
  await page.keyboard.press("6");
  await settled(page);
  assert.match(await text_of(page, ".compare .headline"), /7\.209 ms → 2\.305 ms\s+3\.128×\s+−68\.0 %/);
  assert.match(await text_of(page, ".suspect"), /CreateMultipleStreamsFromFile lost 5\.00 s, nearly 5 s.*sleep.*A33/);
  const story = page.locator(".waterfall button", { hasText: "7 × Conv2D + BNInferenceD + Relu became Conv2D" });
  await story.click();
  assert.equal(await page.locator(".waterfall .nested button").count(), 7);
  await page.locator(".waterfall .nested button", { hasText: "conv3" }).click();
  await settled(page);
  assert.match(await link_of(page), /sel=group:\d/);
  assert.match(await text_of(page, ".compare .grid-row.chosen"), /merged[\s\S]*conv3/);
  // The same is selected elsewhere.
  await page.keyboard.press("o");
  await settled(page);
  assert.match(await text_of(page, ".details .selected-name"), /^conv3$/);
  await page.keyboard.press("6");
  await settled(page);
  assert.match(await text_of(page, ".compare .grid-row.chosen"), /conv3/);
  const drawn = await export_of(page, page.locator(".card", { has: page.locator(".waterfall") }).getByRole("button", { name: "SVG" }));
  assert.match(drawn, /^<svg[\s\S]*7 × Conv2D[\s\S]*−4\.89 ms/);
  const answer = JSON.parse(await export_of(page, page.getByRole("button", { name: "JSON" })));
  const printed = JSON.parse(program("compare", before, after_it, "--json"));
  for (const it of Object.keys(printed)) assert.deepEqual(answer[it], printed[it], it);
  assert.deepEqual(seen.errors, []);
  assert.equal(seen.requests.length, 1, seen.requests.join(" "));
  await close();
});

test("the same story from the server, which is given both profiles", { skip }, async () => {
  const server = await serve(before, after_it);
  const { page, seen, close } = await open(server.url);
  try {
    await page.evaluate(() => { location.hash = "#/compare?p=1&b=0"; });
    await page.waitForSelector(".compare .headline");
    assert.match(await text_of(page, ".compare .headline"), /7\.209 ms → 2\.305 ms\s+3\.128×\s+−68\.0 %/);
    assert.match(await text_of(page, ".suspect"), /CreateMultipleStreamsFromFile lost 5\.00 s, nearly 5 s.*sleep.*A33/);
    await page.locator(".compare .grid-row", { hasText: "conv3" }).first().click();
    await page.keyboard.press("o");
    await settled(page);
    assert.match(await text_of(page, ".details .selected-name"), /^conv3$/);
    // The long call of the profile before is found below by W and D: it ends where the other's has long ended.
    await page.keyboard.press("2");
    await settled(page);
    const below = page.locator(".timeline").last();
    await page.keyboard.press("0");
    await page.keyboard.press("0");
    await settled(page);
    const box = await below.locator("canvas.rows-canvas").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 30);
    await hold(page, "w", 300);
    await hold(page, "d", 200);
    const place = await below.locator(".row-name", { hasText: "100" }).first().boundingBox();
    await page.mouse.click(box.x + box.width / 3, place.y + place.height / 2);
    await settled(page);
    assert.match(await text_of(page, ".panel .other"), /CreateMultipleStreamsFromFile[\s\S]*5\.6[45] s/);
    const { compare } = await page.evaluate(() => fetch("/api/compare?a=0&b=1", { headers: { authorization: `Bearer ${localStorage.getItem("opscope-token")}` } }).then((it) => it.json()));
    const printed = JSON.parse(program("compare", before, after_it, "--json"));
    for (const it of Object.keys(printed)) assert.deepEqual(compare[it], printed[it], it);
    const origin = new URL(server.url).origin;
    assert.ok(seen.requests.every((it) => it.startsWith(origin)), seen.requests.join(" "));
    assert.deepEqual(seen.errors, []);
  } finally {
    await close();
    await server.end();
  }
});

test("two runs of a model: both sets of inferences, the roofline as the command line has it, calls of the host", { skip }, async () => {
  const model = path.join(folder, "mask.onnx");
  const runs = ["a.db", "b.db"].map((it) => path.join(folder, it));
  program("sample", "mask-ssd", "-o", model);
  for (const it of runs) program("run", model, "-n", "5", "--db", it);
  const peaks = ["--peak-flops", "50GFLOPS", "--peak-bandwidth", "10GB/s"];
  const file = report_by_program(runs[1], "--against", runs[0], ...peaks);
  const { page, seen, close } = await open(file, { hash: "#/compare" });
  const printed = program("compare", ...runs).split("\n");
  assert.equal((await text_of(page, ".compare .figure, .compare .verdict")).includes(printed[0].split("  ")[0]) || (await text_of(page, ".compare .headline")).includes(printed[0].split("  ")[0]), true, printed[0]);
  assert.equal(await page.locator(".compare svg circle").count(), 10, "a dot for each inference");
  await page.keyboard.press("5");
  await settled(page);
  const analyzed = JSON.parse(program("analyze", runs[1], "--json", "--columns", "name,bound,ceiling,ideal,compute,moved", ...peaks)).rows;
  const on_plot = analyzed.filter((it) => it.flops > 0 && it.bytes > 0);
  await page.locator("input[type=range]").fill("100");
  await settled(page);
  assert.equal(await page.locator(".roofline svg .point").count(), on_plot.length);
  for (const [shape, bound] of [["circle", "compute"], ["rect", "memory"], ["path", "neither"]]) {
    assert.equal(await page.locator(`.roofline svg ${shape}.point`).count(), on_plot.filter((it) => it.bound === bound).length, bound);
  }
  assert.match(await text_of(page, ".roofline h2"), /50\.0 GFLOP\/s and 9\.31 GiB\/s/);
  const row = await text_of(page, ".roofline .grid-row");
  assert.ok(row.includes(on_plot[0].name) && row.includes(`${(on_plot[0].share_of_ceiling * 100).toFixed(1)} %`), `${row} ${JSON.stringify(on_plot[0])}`);
  // Brushing limits the list; a click beside takes the limit off.
  const rows = () => page.locator(".roofline .grid").getAttribute("aria-rowcount").then(Number);
  assert.equal(await rows(), on_plot.length + 1);
  const point = await page.locator(".roofline .point").first().boundingBox();
  await page.mouse.move(point.x - 6, point.y - 6);
  await page.mouse.down();
  await page.mouse.move(point.x + point.width + 6, point.y + point.height + 6, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  assert.ok((await rows()) >= 2 && (await rows()) < on_plot.length + 1, String(await rows()));
  await page.locator(".roofline .point").first().click();
  await settled(page);
  assert.match(await link_of(page), /sel=op:\d/);
  assert.match(await text_of(page, ".panel"), /At ceiling/);
  await page.keyboard.press("3");
  // Shares are of whole nanoseconds here, and of their fractions there.
  const cells = (text) => text.split("\n").map((line) => line.split(",").map((it) => (/^\d\.\d+(e-\d+)?$/.test(it) ? Number(it) : it)));
  const [exported, table] = [await export_of(page, page.getByRole("button", { name: "CSV" })), program("analyze", runs[1], "--csv", "--columns", "name,type,unit,stream,dtype,shapes,time,share,cum,count,mean,median,p90,p99,min,max,wait,compute,moved")].map(cells);
  assert.equal(exported.length, table.length);
  table.forEach((line, row) => line.forEach((it, column) => {
    const own = exported[row][column];
    assert.ok(typeof it === "number" ? Math.abs(Number(own) - it) < 1e-5 : own === it, `row ${row}: ${own} for ${it}`);
  }));
  await page.getByRole("button", { name: "Calls of the host" }).click();
  await settled(page);
  const calls = JSON.parse(program("analyze", runs[1], "--host", "--json")).rows;
  assert.equal(Number(await page.locator(".grid").getAttribute("aria-rowcount")), calls.length + 1);
  assert.ok((await text_of(page, ".grid-row")).includes(calls[0].name), calls[0].name);
  assert.deepEqual(seen.errors, []);
  await close();

  // The other screens are looked at by themselves; the calls stand in none of those reports.
  const one = await open(file, { hash: "#/operators?g=call", theme: "dark", lang: "zh-CN" });
  await one.page.evaluate(axe);
  const { violations } = await one.page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.filter((it) => it.impact === "serious" || it.impact === "critical").map((it) => it.id), []);
  await one.close();
});

test("a profile alone says how its empty screens are filled", { skip }, async () => {
  const { page, seen, close } = await open(report_by_program(before), { hash: "#/compare" });
  assert.match(await text_of(page, "main"), /opscope report .*before --against BEFORE/);
  await page.keyboard.press("5");
  await settled(page);
  assert.match(await text_of(page, "main"), /Operations and bytes are known of no operator/);
  assert.deepEqual(seen.errors, []);
  await close();
});
