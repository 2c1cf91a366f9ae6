// Two profiles on one timeline: one above the other, moved together, shifted so that equal moments lie on one another.
import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { compared } from "../fixture.mjs";
import { no_browser, open, end, report_of, hold, settled, link_of } from "./browser.mjs";

after(end);
const skip = no_browser;
const axe = fs.readFileSync(path.join(import.meta.dirname, "../node_modules/axe-core/axe.min.js"), "utf8");
const made = compared();
const first = ({ start, measured }) => start[measured.indexOf(1)];
const [own, other] = [made.tables.iterations, made.before.iterations];
const view_of = (hash) => { const [, from, to] = /[?&]t=(-?\d+)\.\.(-?\d+)/.exec(hash); return [Number(from), Number(to)]; };
/** Clicks a row of a timeline at a share of its width; what the panel then says. */
async function choose(page, timeline, row, share) {
  const place = await timeline.locator(".row-name", { hasText: row }).first().boundingBox();
  const canvas = await timeline.locator("canvas.rows-canvas").boundingBox();
  await page.mouse.click(canvas.x + canvas.width * share, place.y + place.height / 2);
  await settled(page);
}

test("two profiles lie one above the other, move together and are aligned by their first inferences", { skip }, async () => {
  const { page, seen, close } = await open(report_of(made), { hash: "#/timeline" });
  const timelines = page.locator(".timeline");
  assert.equal(await timelines.count(), 2);
  const grip = page.locator(".offset-grip");
  assert.equal(Number(await grip.getAttribute("aria-valuenow")), first(own) - first(other));
  // The first measured inference of one's own: the other's begins at the same place.
  const from = first(own);
  await page.evaluate((hash) => { location.hash = hash; }, `#/timeline?t=${from}..${from + own.duration[2]}`);
  await settled(page);
  for (const [at, timeline] of [[0, timelines.first()], [1, timelines.last()]]) {
    await choose(page, timeline, "inferences", 0.02);
    const text = await page.locator(at === 0 ? ".panel .card-line" : ".panel .other").first().innerText();
    assert.match(text, /inference 3/, `${at}: ${text}`);
  }
  const canvas = await timelines.last().locator("canvas.rows-canvas").boundingBox();
  const axis = () => timelines.locator(".axis-canvas").evaluateAll((list) => list.map((it) => it.toDataURL()));
  const before = await axis();
  // Keys over the lower one move both, by its pointer.
  await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + 30);
  await hold(page, "w", 300);
  const zoomed = view_of(await link_of(page));
  assert.ok(zoomed[1] - zoomed[0] < own.duration[2] * 0.9, String(zoomed));
  const after_it = await axis();
  assert.ok(before[0] !== after_it[0] && before[1] !== after_it[1]);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.equal(await page.locator(".panel .other").count(), 0);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("L lays the selected slices on one another, the shift is dragged, moved by arrows and kept in the link", { skip }, async () => {
  const file = report_of(made);
  const { page, seen, close } = await open(file, { hash: `#/timeline?t=${first(own)}..${first(own) + own.duration[2]}` });
  const timelines = page.locator(".timeline");
  const offset = async () => Number(await page.locator(".offset-grip").getAttribute("aria-valuenow"));
  await page.keyboard.press("l");
  assert.match(await page.locator(".note[role=status]").innerText(), /Select a slice in each/);
  await choose(page, timelines.first(), "stream 1", 0.3);
  await choose(page, timelines.last(), "stream 1", 0.7);
  const start_of = (text) => { const [, number, unit] = /Start\s+([\d.]+) (s|ms|µs)/.exec(text); return Number(number) * { s: 1e9, ms: 1e6, "µs": 1e3 }[unit]; };
  const [a, b] = [await page.locator(".panel .other").innerText(), await page.locator(".panel .card-line").first().innerText()].map(start_of);
  const before = await offset();
  await page.keyboard.press("l");
  await settled(page);
  const aligned = await offset();
  assert.notEqual(aligned, before);
  assert.ok(Math.abs(aligned - (b - a)) < 2e6, `${aligned} for ${b - a}`);
  const link = await link_of(page);
  assert.match(link, new RegExp(`[?&]o=${aligned}(&|$)`));
  const again = await open(file, { hash: link });
  assert.equal(Number(await again.page.locator(".offset-grip").getAttribute("aria-valuenow")), aligned);
  await again.close();
  const box = await page.locator(".offset-grip").boundingBox();
  await page.mouse.move(box.x + 100, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + 220, box.y + 8, { steps: 4 });
  await page.mouse.up();
  assert.ok(await offset() > aligned, "to the right is later");
  const dragged = await offset();
  await page.locator(".offset-grip").focus();
  await page.keyboard.press("ArrowLeft");
  assert.ok(await offset() < dragged);
  await page.getByRole("button", { name: "Align the first inferences" }).click();
  assert.equal(await offset(), first(own) - first(other));
  await page.locator(".offset button", { hasText: "A" }).first().click();
  await settled(page);
  assert.equal(await timelines.last().isVisible(), false);
  assert.match(await link_of(page), /fold=before/);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("flags of both are in the link, and both are in the picture", { skip }, async () => {
  const file = report_of(made);
  const { page, seen, close } = await open(file, { hash: `#/timeline?k=${first(own)}:mine&kb=${first(other)}:theirs` });
  const link = await link_of(page);
  assert.match(link, new RegExp(`k=${first(own)}:mine.*kb=${first(other)}:theirs`));
  const lower = await page.locator(".timeline").last().locator("canvas.rows-canvas").boundingBox();
  await page.mouse.move(lower.x + lower.width / 2, lower.y + 30);
  await page.keyboard.press("k");
  assert.match(await link_of(page), /kb=\d+:2,\d+:theirs/);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".toolbar").getByRole("button", { name: "SVG" }).click()]);
  const drawn = fs.readFileSync(await download.path(), "utf8");
  assert.equal(drawn.split("mine").length, 2);
  assert.equal(drawn.split("theirs").length, 2);
  assert.equal(drawn.split(">inferences").length, 3, "a row of each");
  assert.deepEqual(seen.errors, []);
  await close();
});

test("a group of the comparison is seen on both sides, and an arrow leads to where its point is now", { skip }, async () => {
  const { page, seen, close } = await open(report_of(made), { hash: "#/compare" });
  await page.locator(".compare .grid-row").first().click();
  await page.keyboard.press("5");
  await settled(page);
  assert.match(await page.locator(".roofline .legend").innerText(), /Arrows come from A/);
  assert.ok(await page.locator(".roofline .arrow-from").count() > 0);
  await page.keyboard.press("2");
  await settled(page);
  const colour = page.locator(".toolbar select").first();
  await colour.selectOption("change");
  await settled(page);
  assert.match(await link_of(page), /c=change/);
  await page.keyboard.press("4");
  await settled(page);
  await page.locator(".model select").selectOption("change");
  await settled(page);
  assert.match(await page.locator(".graph-legend").innerText(), /faster[\s\S]*same[\s\S]*slower/);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("two timelines have no serious violations of accessibility", { skip }, async () => {
  for (const theme of ["light", "dark"]) {
    const { page, close } = await open(report_of(made), { hash: "#/timeline", theme, lang: theme === "dark" ? "zh-CN" : "en-US" });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(violations.filter((it) => it.impact === "serious" || it.impact === "critical").map((it) => `${it.id}: ${it.nodes.map((node) => node.html).join("; ")}`), []);
    await close();
  }
});
