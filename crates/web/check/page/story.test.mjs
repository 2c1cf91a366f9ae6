import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import { story, nothing } from "../fixture.mjs";
import { no_browser, open, end, report_of, hold, settled, link_of } from "./browser.mjs";

after(end);
const skip = no_browser;
const view_of = (hash) => { const parts = /[?&]t=(\d+)\.\.(\d+)/.exec(hash); return parts ? [Number(parts[1]), Number(parts[2])] : null; };
const SLOW = { x: 800, y: 240 };

test("five lost seconds are found by keys, and their range says that nothing ran", { skip }, async () => {
  const { page, seen, close } = await open(report_of(story()));
  assert.match(await page.locator(".facts").innerText(), /18 of 20 inferences[\s\S]*Device 0: 310P[\s\S]*72 records lost/);
  await page.keyboard.press("2");
  await settled(page);
  // W zooms in at the pointer, D pans to the right.
  await page.mouse.move(SLOW.x, SLOW.y);
  await hold(page, "w", 300);
  const zoomed = view_of(await link_of(page));
  assert.ok(zoomed && zoomed[1] - zoomed[0] < 4e9, String(zoomed));
  await hold(page, "d", 300);
  const panned = view_of(await link_of(page));
  assert.ok(panned[0] > zoomed[0] && Math.abs(panned[1] - panned[0] - (zoomed[1] - zoomed[0])) < 10, `${zoomed} ${panned}`);
  await page.keyboard.press("0");
  await settled(page);
  await page.mouse.click(SLOW.x, SLOW.y);
  assert.match(await page.locator(".panel").innerText(), /CreateMultipleStreamsFromFile[\s\S]*5\.6[45] s/);
  assert.match(await page.locator("[aria-live]").innerText(), /CreateMultipleStreamsFromFile, calls of thread 100, starts at/);
  await page.keyboard.press("m");
  await settled(page);
  const panel = await page.locator(".panel").innerText();
  assert.match(panel, /Range of 5\.6[45] s/);
  assert.match(panel, /0 ns busy \(0\.0 %\)/);
  assert.match(panel, /Nothing ran in the range/);
  await page.keyboard.press("f");
  const fitted = view_of(await link_of(page)) ?? [0, Infinity];
  assert.ok(fitted[0] <= 1_200_000 && fitted[1] >= 5_646_200_000);
  await page.keyboard.press("m");
  await settled(page);
  assert.doesNotMatch(await page.locator(".panel").innerText(), /Range of/);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("a dragged range limits the operators, and taking its chip off lets go", { skip }, async () => {
  const { page, close } = await open(report_of(story()), { hash: "#/timeline" });
  await page.keyboard.press("i");
  await settled(page);
  await page.mouse.move(500, 330);
  await page.mouse.down();
  await page.mouse.move(900, 335, { steps: 6 });
  await page.mouse.up();
  await settled(page);
  assert.match(await page.locator(".range-card").innerText(), /Costliest \d+ of \d+ operators in the range[\s\S]*Conv2D/);
  await page.keyboard.press("3");
  await settled(page);
  assert.match(await page.locator(".operators .chip").innerText(), /Limited to the range of/);
  const limited = await page.locator(".toolbar .soft").innerText();
  await page.locator(".operators .chip button").click();
  await settled(page);
  assert.notEqual(await page.locator(".toolbar .soft").innerText(), limited);
  assert.match(await page.locator(".toolbar .soft").innerText(), /48 rows, .* 100\.0 %/);
  await close();
});

test("Conv2D leads the table, which sorts, filters and says so to assistive technology", { skip }, async () => {
  const { page, seen, close } = await open(report_of(story()), { hash: "#/operators?g=type" });
  const first = () => page.locator(".grid-row").first().innerText();
  assert.match(await first(), /Conv2D[\s\S]*66\.\d %/);
  await page.locator("select").selectOption("operator");
  await settled(page);
  assert.equal(await page.locator("[role=grid]").getAttribute("aria-rowcount"), "49");
  assert.equal(await page.locator("[aria-sort=descending]").innerText().then((it) => it.split("\n")[0].trim()), "Time per inference");
  await page.getByRole("columnheader", { name: "operator" }).getByRole("button").click();
  await settled(page);
  assert.match(await first(), /\/backbone\/block0\/Add_8/);
  await page.locator(".query").fill("type:Softmax >10us");
  await settled(page);
  assert.match(await page.locator(".toolbar .soft").innerText(), /^4 rows/);
  await page.locator(".query").fill("type:Softmax colour:red");
  await settled(page);
  assert.match(await page.locator(".problem").innerText(), /not understood: colour:red/);
  await page.locator(".query").fill("nothing like it");
  await settled(page);
  assert.match(await page.locator(".grid").innerText(), /Nothing matches/);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("the table is walked by keyboard, and O and T take the selection along", { skip }, async () => {
  const { page, close } = await open(report_of(story()), { hash: "#/operators" });
  await page.locator("[role=grid]").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await settled(page);
  assert.match(await page.locator(".details").innerText(), /All executions/);
  const name = await page.locator(".details h2").innerText();
  const active = await page.locator("[role=grid]").getAttribute("aria-activedescendant");
  assert.match(await page.locator(`#${active}`).innerText(), new RegExp(name));
  await page.keyboard.press("End");
  await settled(page);
  assert.equal(await page.locator(".grid-row.chosen").getAttribute("aria-rowindex"), "49");
  await page.keyboard.press("t");
  await settled(page);
  assert.match(await link_of(page), /^#\/timeline\?t=/);
  await page.keyboard.press(".");
  await settled(page);
  assert.match(await page.locator(".panel").innerText(), /1 of 20/);
  await page.keyboard.press("Shift+Period");
  await settled(page);
  assert.match(await page.locator(".panel").innerText(), /2 of 20|第 2/);
  await page.keyboard.press("o");
  await settled(page);
  assert.match(await link_of(page), /^#\/operators\?.*sel=op:/);
  await close();
});

test("inferences are walked at the same zoom, and the view before comes back", { skip }, async () => {
  const { page, close } = await open(report_of(story()), { hash: "#/timeline" });
  await page.keyboard.press("i");
  const one = view_of(await link_of(page));
  await page.keyboard.press("i");
  const two = view_of(await link_of(page));
  assert.ok(Math.abs(two[1] - two[0] - (one[1] - one[0])) < 10, "same zoom");
  assert.ok(two[0] > one[0]);
  await page.keyboard.press("Shift+I");
  assert.deepEqual(view_of(await link_of(page)), one);
  await page.keyboard.press("Backspace");
  assert.deepEqual(view_of(await link_of(page)), two);
  await close();
});

test("keys work while a Chinese input method is on, and not within fields", { skip }, async () => {
  const { page, close } = await open(report_of(story()), { hash: "#/timeline", lang: "zh-CN" });
  await page.evaluate(() => {
    const key = (type) => document.body.dispatchEvent(new KeyboardEvent(type, { code: "KeyW", key: "Process", bubbles: true, cancelable: true }));
    key("keydown");
    key("keyup");
  });
  assert.ok(view_of(await link_of(page)), "zoomed");
  const before = await link_of(page);
  await page.locator(".search input").fill("");
  await page.locator(".search input").pressSequentially("wasd");
  assert.equal(await link_of(page), before);
  assert.equal(await page.locator("nav a[aria-current]").innerText(), "时间线");
  await close();
});

test("a link brings back view, selection, range, flags, filter and theme; its wrong parts are named", { skip }, async () => {
  const file = report_of(story());
  const { page, close } = await open(file, { hash: "#/timeline" });
  await page.keyboard.press("i");
  await settled(page);
  await page.mouse.click(900, 330);
  await page.keyboard.press("m");
  await page.mouse.move(700, 330);
  await page.keyboard.press("k");
  await page.locator(".bar button", { hasText: "☾" }).click();
  const link = await link_of(page);
  assert.match(link, /t=.*m=.*sel=task:\d+.*k=.*v=9f3a12cd.*theme=dark/);
  const panel = await page.locator(".panel").innerText();
  await close();
  const again = await open(file, { hash: link });
  assert.equal(await again.page.locator(".panel").innerText(), panel);
  assert.equal(await link_of(again.page), link);
  assert.equal(await again.page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await again.close();
  const wrong = await open(file, { hash: "#/timeline?t=9..1&sel=task:99999999&v=00000000&foo=1" });
  assert.match(await wrong.page.locator(".note[role=status]").innerText(), /another profile/);
  await wrong.close();
});

test("what is visible is saved as a drawing, as a picture of twice its size and as a table", { skip }, async () => {
  const { page, seen, close } = await open(report_of(story()), { hash: "#/timeline?t=5650000000..5680000000&k=5660000000:here" });
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".toolbar").getByRole("button", { name, exact: true }).click()]);
    return fs.readFileSync(await download.path());
  };
  const drawn = (await saved("SVG")).toString();
  for (const text of ["any stream busy", "Device 0: 310P", "warm-up 1 · ", "inference 3 · ", ">here<"]) assert.ok(drawn.includes(text), text);
  const size = (name) => Number(new RegExp(`^<svg[^>]* ${name}="([\\d.]+)"`).exec(drawn)[1]);
  const fills = [...drawn.matchAll(/<rect[^>]* fill="([^"]+)"/g)].map((it) => it[1]);
  assert.ok(new Set(fills).size > 5 && fills.length < 20_000, `${new Set(fills).size} colours, ${fills.length} shapes`);
  const picture = await saved("PNG");
  assert.equal(picture.toString("latin1", 1, 4), "PNG");
  assert.deepEqual([picture.readUInt32BE(16), picture.readUInt32BE(20)], [2 * size("width"), 2 * size("height")].map(Math.floor));
  const lines = (await saved("CSV")).toString().split("\n");
  assert.equal(lines[0], "Group,Row,Slices,Busy,Busy share,Longest");
  assert.match(lines.find((it) => it.includes("any stream busy")), /^Device 0: 310P,any stream busy,\d+,[\d.]+ ms,[\d.]+ %,/);
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.requests.filter((it) => !it.startsWith("blob:")).length, 1, seen.requests.join(" "));
  await close();
});

test("flags have the reader's names, and counters the scale of all their values where that is asked for", { skip }, async () => {
  const { page, seen, close } = await open(report_of(story()), { hash: "#/timeline?k=5660000000:1&t=5650000000..5680000000" });
  const name = page.getByLabel(/^Flags /);
  await name.fill("the slow one");
  await name.press("Enter");
  assert.match(await link_of(page), /k=5660000000:the%20slow%20one/);
  const rows = () => page.locator("canvas.rows-canvas").evaluate((it) => it.toDataURL());
  const before = await rows();
  await page.getByRole("button", { name: "Full scale" }).click();
  await settled(page);
  assert.match(await link_of(page), /y=all/);
  assert.notEqual(await rows(), before);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("a chosen type limits the operators by a chip, and findings are limited to a family", { skip }, async () => {
  const { page, close } = await open(report_of(story()), { hash: "#/operators?sel=type:Relu" });
  const types = () => page.locator(".grid-row [aria-colindex='3']").allInnerTexts();
  assert.deepEqual([...new Set(await types())], ["Relu"]);
  await page.locator(".operators .chip", { hasText: "Relu" }).getByRole("button").click();
  await settled(page);
  assert.ok(new Set(await types()).size > 1);
  await page.keyboard.press("7");
  await settled(page);
  const all = await page.locator(".finding").count();
  await page.getByLabel("Family").selectOption("G");
  await settled(page);
  const ids = await page.locator(".finding .tags .tag:first-of-type").allInnerTexts();
  assert.ok(ids.length > 0 && ids.length < all && ids.every((it) => it.startsWith("G")), ids.join(" "));
  await close();
});

test("each screen is copied as a command", { skip }, async () => {
  const { page, close } = await open(report_of(story()));
  await page.evaluate(() => { globalThis.copied = []; Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { globalThis.copied.push(text); } } }); });
  for (const key of "12345678") {
    await page.keyboard.press(key);
    await page.getByRole("button", { name: "Copy as command" }).click();
  }
  const copied = await page.evaluate(() => globalThis.copied);
  assert.deepEqual(copied.map((it) => it.split(" ").slice(0, 2).join(" ")), ["show", "report", "analyze", "report", "analyze", "compare", "advise", "info"].map((it) => `opscope ${it}`));
  await close();
});

test("the search finds operators, calls, findings and commands, and Enter goes there", { skip }, async () => {
  const { page, close } = await open(report_of(story()));
  await page.keyboard.press("/");
  await page.keyboard.type("createmul");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await page.locator(".panel").innerText(), /CreateMultipleStreamsFromFile/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("advice");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await link_of(page), /^#\/advice/);
  assert.match(await page.locator(".finding").first().innerText(), /batch normalisation[\s\S]*2\.40 ms[\s\S]*at most/);
  await page.locator(".finding .evidence button").first().click();
  assert.match(await link_of(page), /^#\/operators\?sel=op:/);
  await close();
});

test("rows fold, hide, are pinned and come back", { skip }, async () => {
  const { page, close } = await open(report_of(story()), { hash: "#/timeline" });
  const rows = () => page.locator(".row-name").count();
  const all = await rows();
  await page.locator(".fold").first().click();
  await settled(page);
  assert.equal(await rows(), all - 3);
  assert.equal(await page.locator(".fold").first().getAttribute("aria-expanded"), "false");
  await page.locator(".row-name", { hasText: "stream 2" }).hover();
  await page.getByRole("button", { name: "Pin stream 2 to the top" }).click();
  await settled(page);
  assert.match(await page.locator(".names").innerText(), /Pinned\s*stream 2/);
  await page.locator(".row-name", { hasText: "stream 1" }).hover();
  await page.getByRole("button", { name: "Hide stream 1" }).click();
  await settled(page);
  assert.match(await link_of(page), /fold=.*hide=.*pin=/);
  await page.getByRole("button", { name: "1 row hidden: show" }).click();
  await settled(page);
  assert.equal(await page.locator(".row-name", { hasText: "stream 1" }).count(), 1);
  await close();
});

test("zoomed out, a busy row isn't solid: pixels are as strong as the row was busy", { skip }, async () => {
  const { page, close } = await open(report_of(story()), { hash: "#/timeline?t=5640000000..5820000000" });
  await page.mouse.move(1200, 600);
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector(".rows-canvas");
    const pen = canvas.getContext("2d");
    const names = [...document.querySelectorAll(".row-name")];
    const row = names.find((it) => it.textContent.includes("stream 1"));
    const y = Math.round((row.offsetTop + 10) * devicePixelRatio);
    const line = pen.getImageData(0, y, canvas.width, 1).data;
    return new Set(Array.from({ length: canvas.width }, (_, x) => `${line[x * 4]},${line[x * 4 + 1]},${line[x * 4 + 2]}`)).size;
  });
  assert.ok(colours > 20, `${colours} strengths`);
  assert.match(await page.locator(".row-name", { hasText: "stream 1" }).innerText(), /merged/);
  await close();
});

test("a finding that is tried shows what opscope predicts, as a prediction with its basis", { skip }, async () => {
  const made = story();
  const { page, seen, close } = await open(report_of(made), { hash: "#/advice" });
  const boxes = page.locator(".finding input[type=checkbox]");
  assert.equal(await boxes.count(), 1, "only the finding that saves operators' time can be tried");
  await boxes.check();
  await settled(page);
  const { measured_ns: from, predicted_ns: to } = made.report.whatif;
  const text = await page.locator(".prediction").innerText();
  assert.ok(text.includes(`−${((1 - to[1] / from) * 100).toFixed(1)} %`) && /Prediction[\s\S]*not a measurement[\s\S]*serial sum/.test(text), text);
  await boxes.uncheck();
  await settled(page);
  assert.equal(await page.locator(".prediction").isVisible(), false);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("a selection is the same on every screen", { skip }, async () => {
  const { page, seen, close } = await open(report_of(story()), { hash: "#/compare" });
  await page.locator(".compare .grid-row").first().click();
  await settled(page);
  assert.match(await link_of(page), /sel=group:0/);
  const name = (await page.locator(".compare .grid-row.chosen > div").last().innerText()).trim();
  await page.keyboard.press("r");
  await settled(page);
  assert.equal(await page.locator(".roofline .grid-row.chosen > div").first().innerText(), name);
  assert.equal(await page.locator(".roofline .point[stroke-width='3']").count(), 1);
  await page.keyboard.press("o");
  await settled(page);
  assert.equal(await page.locator(".details .selected-name").innerText(), name);
  assert.match(await page.locator(".details .metrics").innerText(), /mac_ratio[\s\S]*\d %[\s\S]*total_cycles\s+12350/);
  // The same quantities are columns of the table, which sort it, and go into both files.
  await page.locator(".operators .grid-head button", { hasText: "mac_ratio" }).click();
  await settled(page);
  assert.match(await link_of(page), /s=-metric/);
  const shares = (await page.locator(".operators .grid-row").evaluateAll((rows, at) => rows.map((row) => row.children[at].innerText), await page.locator(".operators .grid-head > div").evaluateAll((heads) => heads.findIndex((it) => it.innerText.startsWith("mac_ratio")))));
  const figures = shares.map((it) => (it === "–" ? -1 : Number.parseFloat(it)));
  assert.ok(figures[0] > 0 && figures.every((it, at) => at === 0 || it <= figures[at - 1]), shares.join(" "));
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".operators .toolbar button", { hasText: name }).click()]);
    return fs.readFileSync(await download.path(), "utf8");
  };
  const { rows: told, schema_version } = JSON.parse(await saved("JSON"));
  const [head, first] = (await saved("CSV")).split("\n").map((it) => it.split(","));
  assert.equal(schema_version, 1);
  assert.equal(Number(first[head.indexOf("mac_ratio")]), told[0].metrics.find((it) => it.name === "mac_ratio").mean);
  assert.equal(Number(first[head.indexOf("time_ns")]), told[0].time_ns);
  await page.keyboard.press("t");
  await settled(page);
  assert.match(await page.locator(".panel").innerText(), new RegExp(name.replace(/[/.]/g, "\\$&")));
  await page.keyboard.press("6");
  await settled(page);
  assert.equal((await page.locator(".compare .grid-row.chosen > div").last().innerText()).trim(), name);
  // A type stays in colour where all others fade.
  await page.keyboard.press("1");
  await page.locator(".overview .name-cell .link", { hasText: "MatMul" }).first().click();
  await page.keyboard.press("5");
  await settled(page);
  const faded = await page.locator(".roofline .point[fill-opacity='0.18']").count();
  assert.ok(faded > 0 && faded === await page.locator(".roofline .point").count(), "MatMul has no operations here, so that every point is of another type");
  assert.deepEqual(seen.errors, []);
  await close();
});

test("the roofline of a range has the executions in it alone, and says so", { skip }, async () => {
  const made = story();
  const { start, duration } = made.tables.iterations;
  const { page, seen, close } = await open(report_of(made), { hash: "#/roofline" });
  const text = () => page.locator("main#screen").innerText();
  const all = await page.locator(".roofline .point").count();
  const sum = async () => page.locator(".roofline .grid-row > div:nth-child(4)").evaluateAll((cells) => cells.reduce((total, it) => total + Number.parseFloat(it.innerText), 0));
  assert.doesNotMatch(await text(), /Limited to/);
  const five = start.slice(0, 6).at(-1);
  await page.evaluate((hash) => { location.hash = hash; }, `#/roofline?m=${five}..${five + Math.round(duration[5] / 2)}`);
  await settled(page);
  assert.match(await text(), /Limited to the range/);
  assert.ok(await page.locator(".roofline .point").count() > 0 && await page.locator(".roofline .point").count() < all, "half an inference has fewer operators");
  assert.ok(await sum() > 90);
  await page.locator("#screen").getByRole("button", { name: "Remove the range" }).click();
  await settled(page);
  assert.equal(await page.locator(".roofline .point").count(), all);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("a profile in which nothing ran says so on every screen", { skip }, async () => {
  const { page, seen, close } = await open(report_of(nothing()));
  for (const key of ["1", "2", "3", "5", "6", "7", "8"]) {
    await page.keyboard.press(key);
    await settled(page);
    assert.ok((await page.locator("main#screen").innerText()).trim().length > 40, key);
  }
  await page.keyboard.press("2");
  for (const key of ["w", "s", "a", "d", "0", "f", "m", "i", "k", ".", ","]) await page.keyboard.press(key);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("one inference of one task works", { skip }, async () => {
  const { page, seen, close } = await open(report_of(story({ inferences: 1, layers: 1, streams: 1 })));
  for (const key of ["2", "w", "i", "3", "5", "6", "7", "8", "1"]) { await page.keyboard.press(key); await settled(page); }
  assert.deepEqual(seen.errors, []);
  await close();
});
