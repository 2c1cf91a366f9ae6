// The page from the program's server: the same screens as in a report, of profiles that it doesn't hold whole as well.
import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import os from "node:os";
import { no_program, open, end, program, report_by_program, serve, settled, hold, link_of } from "./browser.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-served-"));
after(async () => {
  await end();
  fs.rmSync(folder, { recursive: true, force: true });
});
const skip = no_program;

/** Two streams of tasks, a host that launches them, a counter, and five seconds in which nothing runs. */
function trace(name, tasks = 3000) {
  const events = [{ ph: "X", pid: 1, tid: 100, ts: 0, dur: 5_645_000, name: "CreateMultipleStreamsFromFile" }];
  for (let at = 0; at < tasks; at += 1) {
    const ts = 5_650_000 + (at >> 1) * 100;
    events.push({ ph: "X", cat: "kernel", pid: 0, tid: at % 2, ts, dur: 20 + (at % 7) * 10, name: at % 3 ? `Conv2D_${at % 20}` : `Relu_${at % 20}` });
    if (at % 10 === 0) events.push({ ph: "X", pid: 1, tid: 100, ts, dur: 5, name: `launch_${at / 10}` });
    if (at % 10 === 0) events.push({ ph: "C", pid: 0, ts, name: "memory", args: { value: at } });
  }
  const file = path.join(folder, name);
  fs.writeFileSync(file, JSON.stringify({ traceEvents: events }));
  return file;
}

// A timeline for other viewers is the server's to write.
const SERVED_ONLY = "CSV\nJSON\n";

/** The texts of all screens, without the command and the name of what it makes. */
async function texts_of(page) {
  const texts = {};
  for (const key of ["1", "2", "i", "3", "7", "8"]) {
    await page.keyboard.press(key);
    await settled(page);
    texts[key] = (await page.evaluate(() => document.body.innerText)).replaceAll(/opscope (?:report|serve)[^\n]*/g, "COMMAND").replace(SERVED_ONLY, "CSV\n");
  }
  return texts;
}

test("a served profile shows what its report shows, asks its own server alone and keeps the token to itself", { skip }, async () => {
  const file = trace("same.json");
  const server = await serve(file);
  const { page, seen, close } = await open(server.url);
  assert.doesNotMatch(await page.evaluate(() => location.href), /token/);
  const served = await texts_of(page);
  assert.deepEqual(seen.errors, []);
  const origin = new URL(server.url).origin;
  assert.ok(seen.requests.every((it) => it.startsWith(origin)), seen.requests.join(" "));
  // The address without its token does as long as the server runs.
  await page.goto(`${origin}/#/operators`);
  await page.reload();
  await page.waitForSelector(".bar");
  assert.match(await page.evaluate(() => document.body.innerText), /Conv2D/);
  await close();
  const report = await open(report_by_program(file));
  assert.deepEqual(served, await texts_of(report.page));
  await report.close();
  assert.equal(await server.end(), 0, "Ctrl-C is how it ends");
});

test("of a large profile the page asks for what it shows, and what is pointed at is selected as ever", { skip }, async () => {
  const server = await serve(trace("large.json"), "--slices", "500");
  const { page, seen, close } = await open(server.url);
  await page.keyboard.press("2");
  await settled(page);
  const asked = () => seen.requests.filter((it) => it.includes("/tiles?"));
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((it) => it.name.includes("/tiles?")));
  const place = async (name) => (await page.locator(".row-name", { hasText: name }).first().boundingBox());
  // Into the last tasks, which the page has not got.
  await page.evaluate(() => { location.hash = "#/timeline?t=5799000000..5799400000"; });
  const before = asked().length;
  await page.waitForTimeout(600);
  assert.ok(asked().length > before, "a new zoom is asked for");
  const box = await place("stream 0").catch(() => null) ?? await place("0");
  const canvas = await page.locator("canvas.rows-canvas").boundingBox();
  await page.mouse.move(canvas.x + 30, box.y + box.height / 2);
  await settled(page);
  assert.match(await page.locator(".tip").innerText(), /(Conv2D|Relu)_\d+[\s\S]*µs/);
  await page.mouse.click(canvas.x + 30, box.y + box.height / 2);
  await page.waitForFunction(() => /Conv2D_\d+|Relu_\d+/.test(document.querySelector(".panel")?.innerText ?? ""));
  const chosen = await page.locator(".panel .selected-name").innerText();
  const link = await link_of(page);
  assert.match(link, /sel=task:\d+/);
  await page.keyboard.press(".");
  await page.waitForTimeout(300);
  assert.notEqual(await link_of(page), link, "the next slice of the row");
  // The same link shows the same slice.
  await page.evaluate((it) => { location.hash = it; }, link);
  await page.reload();
  await page.waitForFunction((name) => document.querySelector(".panel .selected-name")?.innerText === name, chosen);
  // A range is summed up by the server, whole.
  await page.keyboard.press("Escape");
  await page.evaluate(() => { location.hash = "#/timeline?t=5700000000..5790000000&m=5700000000..5790000000"; });
  await page.waitForFunction(() => /Costliest 10 of \d+ operators/.test(document.querySelector(".range-card")?.innerText ?? ""));
  assert.doesNotMatch(await page.locator(".range-card").innerText(), /left out/);
  await hold(page, "w", 300);
  await hold(page, "s", 300);
  assert.deepEqual(seen.errors, []);
  await close();
  await server.end();
});

test("names, executions and the timeline of what the page has not got are the server's to tell", { skip }, async () => {
  const file = trace("asked.json");
  const server = await serve(file, "--slices", "500");
  const { page, seen, close } = await open(server.url);
  // A range that is in none of the slices that came with the page.
  await page.keyboard.press("/");
  await page.keyboard.type("launch_29");
  await page.locator(".hit", { hasText: "launch_299" }).first().waitFor();
  await page.locator(".hit", { hasText: "launch_299" }).first().dispatchEvent("pointerdown");
  await page.waitForFunction(() => document.querySelector(".panel .selected-name")?.innerText === "launch_299");
  assert.match(await link_of(page), /#\/timeline.*sel=range:\d+/);
  // An operator of which most executions are elsewhere.
  await page.evaluate(() => { location.hash = "#/operators?sel=op:0"; });
  await page.waitForFunction(() => /Slowest executions/.test(document.querySelector(".details")?.innerText ?? ""));
  assert.doesNotMatch(await page.locator(".details").innerText(), /in this report one by one/);
  await page.locator(".details .evidence button").first().click();
  await page.waitForFunction(() => /sel=task:/.test(location.hash) && location.hash.startsWith("#/timeline"));
  // The visible part as a file for other viewers: all that touches it, and no more.
  await page.evaluate(() => { location.hash = "#/timeline?t=5700000000..5701000000"; });
  await settled(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".toolbar button", { hasText: "JSON" }).click()]);
  const written = JSON.parse(fs.readFileSync(await download.path(), "utf8")).traceEvents.filter((it) => it.ph === "X");
  const touching = JSON.parse(fs.readFileSync(file, "utf8")).traceEvents.filter((it) => it.ph === "X" && it.ts <= 5_701_000 && it.ts + it.dur >= 5_700_000);
  const spans = (list) => list.map((it) => `${it.name} ${Math.round(it.ts * 1000)} ${Math.round(it.dur * 1000)}`).sort();
  assert.deepEqual(spans(written), spans(touching));
  assert.ok(written.length > 10 && written.length < 100);
  assert.deepEqual(seen.errors, []);
  // The table is the command line's.
  const token = /token=(\w+)/.exec(server.url)[1];
  const csv = await fetch(`${new URL(server.url).origin}/api/0/table?format=csv`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(await csv.text(), program("analyze", file, "--csv"));
  await close();
  await server.end();
});

test("several profiles are chosen from a list, and one that can't be read says why", { skip }, async () => {
  const damaged = path.join(folder, "damaged.db");
  fs.writeFileSync(damaged, "SQLite format 3\u0000 and nothing else");
  const server = await serve(trace("first.json"), trace("second.json", 100), damaged);
  const { page, seen, close } = await open(server.url);
  const [list, before] = [page.locator("select.profiles").first(), page.locator("select.profiles").last()];
  await list.waitFor();
  await page.waitForFunction(() => document.querySelector("select.profiles option:last-child")?.disabled);
  assert.deepEqual(await list.locator("option").allInnerTexts(), ["first.json", "second.json", "damaged.db (can't be read)"]);
  await list.selectOption("1");
  await page.waitForFunction(() => document.title.includes("second.json"));
  assert.match(await page.evaluate(() => location.hash), /p=1/);
  await page.goBack();
  await page.waitForFunction(() => document.title.includes("first.json"));
  // The second one is compared with the first, on every screen that shows both.
  await page.evaluate(() => { location.hash = "#/overview?p=1"; });
  await page.waitForFunction(() => document.title.includes("second.json"));
  await page.locator("select.profiles").last().locator("option").nth(2).waitFor({ state: "attached" });
  assert.deepEqual(await before.locator("option").allInnerTexts(), ["compare with …", "first.json", "damaged.db (can't be read)"]);
  await before.selectOption("0");
  await page.waitForSelector(".versus");
  assert.match(await link_of(page), /p=1&b=0/);
  await page.keyboard.press("2");
  await settled(page);
  assert.equal(await page.locator(".timeline").count(), 2);
  await page.evaluate(() => { location.hash = "#/overview?p=2"; });
  await page.waitForSelector(".failed");
  assert.match(await page.locator("#app").innerText(), /damaged\.db/);
  assert.match(server.problems(), /damaged\.db/);
  assert.deepEqual(seen.errors.filter((it) => !/damaged/.test(it)), []);
  await close();
  await server.end();
});

test("a page that has all it needs finds out by itself that its server is gone", { skip }, async () => {
  const server = await serve(trace("whole.json", 20));
  const { page, close } = await open(server.url);
  await server.end();
  await page.waitForFunction(() => /doesn't answer/.test(document.body.innerText), null, { timeout: 30000 });
  await close();
});

test("a server that goes away is told of, and what is there stays", { skip }, async () => {
  const server = await serve(trace("gone.json"), "--slices", "500");
  const { page, close } = await open(server.url);
  await page.keyboard.press("2");
  await settled(page);
  await server.end();
  await page.evaluate(() => { location.hash = "#/timeline?t=5790000000..5790400000"; });
  await page.waitForFunction(() => /doesn't answer/.test(document.body.innerText));
  await page.keyboard.press("3");
  await settled(page);
  assert.match(await page.evaluate(() => document.body.innerText), /Conv2D/);
  await close();
});

test("of a file that changes while it is served stays what was read, and the page says that it changed", { skip }, async () => {
  const file = trace("changing.json");
  const server = await serve(file, "--slices", "500");
  const { page, seen, close } = await open(server.url);
  await page.keyboard.press("3");
  await settled(page);
  const before = await page.locator("main#screen").innerText();
  const said = (text) => page.waitForFunction((it) => document.querySelector(".facts").innerText.includes(it), text, { timeout: 30000 });
  assert.doesNotMatch(await page.locator(".facts").innerText(), /has changed/);
  for (const change of [() => fs.appendFileSync(file, "\n]}garbage"), () => fs.truncateSync(file, 1000), () => fs.rmSync(file)]) {
    change();
    // A page that is looked at finds out by itself.
    await said("A file has changed or is gone");
    // Tiles that the page has not got yet, and all of it anew.
    await page.evaluate((at) => { location.hash = `#/timeline?t=${at}..${at + 400000}`; }, 5_700_000_000 + Math.round(1e6 * fs.existsSync(file)));
    // Until the page has written its address.
    await link_of(page);
    await page.waitForTimeout(300);
    await page.goto(`${new URL(server.url).origin}/#/operators`);
    await page.reload();
    await page.waitForSelector(".grid-row");
    await settled(page);
    assert.equal(await page.locator("main#screen").innerText(), before);
  }
  assert.deepEqual(seen.errors, []);
  await close();
  assert.equal(await server.end(), 0, server.problems());
});

test("without the token the page says what is missing", { skip }, async () => {
  const server = await serve(trace("token.json"));
  const { page, close } = await open(new URL(server.url).origin);
  assert.match(await page.locator(".failed").first().innerText(), /token/);
  await close();
  await server.end();
});
