// Every screen saves what it shows: drawings, tables of exact values, the answers behind them.
import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import { story } from "../fixture.mjs";
import { no_browser, open, end, report_of } from "./browser.mjs";

after(end);
const skip = no_browser;

/** The file that the button of a place saves, with the name that it would have. */
async function saved(page, place, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(place).getByRole("button", { name, exact: true }).first().click()]);
  return { name: download.suggestedFilename(), bytes: fs.readFileSync(await download.path()), get text() { return this.bytes.toString(); } };
}

/** The rows of a CSV file as objects; cells of the fixture have no quotes. */
function rows_of(text) {
  const [head, ...lines] = text.trimEnd().split("\n").map((line) => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/));
  return lines.map((line) => Object.fromEntries(line.map((cell, at) => [head[at], cell])));
}

test("the overview saves its inferences as a drawing and its figures as JSON", { skip }, async () => {
  const made = story();
  const { page, seen, close } = await open(report_of(made), { hash: "#/overview" });
  const drawing = await saved(page, ".inferences-card", "SVG");
  assert.match(drawing.name, /\.inferences\.svg$/);
  // A shape is filled and has a line round it; the line of the median is dashed.
  const shapes = (pattern) => (drawing.text.match(pattern) ?? []).length;
  const { length } = await page.locator(".inferences-card tbody tr").all();
  assert.ok(length > 3);
  assert.equal(shapes(/<path [^>]*d="M[\d. ]+[ah]/g), 2 * length);
  assert.equal(shapes(/stroke-dasharray="4 4"/g), made.report.overview.latency ? 1 : 0);
  assert.match(drawing.text, /text-anchor="end"[^>]*>[\d.]+ ?(?:ms|s|µs)</);
  const picture = await saved(page, ".inferences-card", "PNG");
  assert.equal(picture.bytes.toString("latin1", 1, 4), "PNG");
  const { text } = await saved(page, ".inferences-card", "JSON");
  assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(made.report.overview)));
  assert.deepEqual(seen.errors, []);
  await close();
});

test("model, roofline and comparison save their tables with exact values", { skip }, async () => {
  const made = story();
  const { page, seen, close } = await open(report_of(made), { hash: "#/model" });
  const model = await saved(page, ".model .toolbar", "CSV");
  assert.match(model.name, /\.model\.csv$/);
  const nodes = rows_of(model.text);
  const times = nodes.map((it) => Number(it.time_ns));
  assert.ok(nodes.length > 10 && times[0] > 0 && times.every((it, at) => at === 0 || it <= times[at - 1]), times.join(" "));
  assert.ok(nodes.every((it) => Number(it.share) >= 0 && Number(it.share) <= 1), "shares are parts of one");
  await page.keyboard.press("5");
  await page.waitForSelector(".roofline .point");
  const points = rows_of((await saved(page, ".roofline", "CSV")).text);
  assert.equal(points.length, await page.locator(".roofline .point").count());
  for (const it of points) {
    assert.ok(Math.abs(Number(it.flops_per_second) / Number(it.bytes_per_second) / Number(it.intensity) - 1) < 1e-9, JSON.stringify(it));
    if (it.ceiling_share) assert.ok(Math.abs(Number(it.ideal_ns) - Number(it.time_ns) * Number(it.ceiling_share)) < 1, JSON.stringify(it));
  }
  await page.keyboard.press("6");
  await page.waitForSelector(".compare .grid-row");
  const groups = rows_of((await saved(page, ".compare .card:has(.groups-grid)", "CSV")).text);
  assert.deepEqual(groups.map((it) => Number(it.delta_ns)), made.report.compare.groups.map((it) => it.delta_ns));
  const way = rows_of((await saved(page, ".compare .card:has(.waterfall)", "CSV")).text);
  // From the time before, each bar begins where the last one ended, up to the time after.
  const steps = way.slice(1, -1);
  assert.ok(steps.length > 0);
  steps.forEach((it, at) => assert.ok(Math.abs(Number(it.from_ns) - Number(way[at].to_ns)) < 1 && Math.abs(Number(it.to_ns) - Number(it.from_ns) - Number(it.delta_ns)) < 1, JSON.stringify(it)));
  assert.deepEqual(seen.errors, []);
  await close();
});

test("advice and the facts of a profile are saved as they were answered", { skip }, async () => {
  const made = story();
  const { page, seen, close } = await open(report_of(made), { hash: "#/advice" });
  assert.deepEqual(JSON.parse((await saved(page, ".advice .page-head", "JSON")).text), JSON.parse(JSON.stringify(made.report.advice)));
  await page.keyboard.press("8");
  await page.waitForSelector(".about");
  const { about, losses } = JSON.parse((await saved(page, ".about .page-head", "JSON")).text);
  assert.deepEqual([about, losses], JSON.parse(JSON.stringify([made.report.about, made.report.losses])));
  assert.deepEqual(seen.errors, []);
  await close();
});
