// The page of a run on many ranks, of collections with known faults that the program generates: from a report, and from
// the server.
import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { end, link_of, no_program, open, program, report_by_program, serve, settled } from "./browser.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-ranks-"));
after(async () => {
  await end();
  fs.rmSync(folder, { recursive: true, force: true });
});
const skip = no_program;
/** Ranks whose faults are known: an operator of rank 5 runs on the AI CPU, and the link from 0 to 4 is slow. */
let runs = "";
let report = "";
before(() => {
  if (skip) return;
  runs = sample("--ranks", "16", "--fault", "ai-cpu=5:4ms,slow-link=0-4:0.3", "--steps", "3");
  report = report_by_program(runs);
});

function sample(...options) {
  const to = fs.mkdtempSync(path.join(folder, "runs-"));
  return path.join(program("sample", "cluster", "-o", to, ...options).trim().split("\n").at(-1), "db");
}

const SEEN = (seen) => [seen.errors, seen.dialogs];
const heat_rows = (page) => page.locator(".heat-canvas");
/** The colours of a canvas in the middle of some places, as shares of its size. */
const colours = (canvas, places) => canvas.evaluate((it, at) => at.map(([x, y]) => [...it.getContext("2d").getImageData(Math.round(it.width * x), Math.round(it.height * y), 1, 1).data.slice(0, 3)].join(" ")), places);

/** The story of the rank at fault, on a report or a served page. */
async function find_the_rank(file) {
  const { page, seen, close } = await open(file);
  const text = await page.locator("main").innerText();
  assert.match(text, /A step takes [\d.]+ ms\. If no rank and no link were slower than its peers: [\d.]+ ms \(\d+ % less\)/);
  assert.match(text, /16 ranks on 2 hosts \(tp \d, pp \d, dp \d, ep \d\), 3 steps/);
  // Each sentence of the account is a line, and no end of a line is shown as the escape of a name's.
  assert.match(text, /Where a step goes: .*, a rank's mean\n+Bubble: \d+ stages with \d+ micro-batches/);
  assert.doesNotMatch(text, /\\u\{/);
  // It is named first, with what it costs and why.
  const row = page.locator(".suspects tbody tr", { hasText: "rank 5" });
  assert.match(await row.innerText(), /IndexPut runs on the AI CPU, 32 times a step; on its peers not at all/);
  assert.match(await page.locator(".suspects").innerText(), /link 0 → 4/);
  await row.locator("button").click();
  await settled(page);
  assert.equal(await row.locator("button").getAttribute("aria-pressed"), "true");
  assert.match(await link_of(page), /sel=rank:5/);
  assert.match(await page.locator(".suspect-details").innerText(), /aclnnIndexPutImpl[\s\S]*opscope cluster slow \S+ --rank 5/);
  // The heat map is of waiting, and its row of rank 5 is marked and is the lightest: whom all wait for waits least.
  const heat = heat_rows(page);
  const tall = await heat.evaluate((it) => it.clientHeight);
  const wide = await heat.evaluate((it) => it.clientWidth);
  const middle = (rank) => (22 + 18 * (rank + 0.5)) / tall;
  const shades = await colours(heat, [4, 5, 6, 7].map((rank) => [90 / wide, middle(rank)]));
  const light = shades.map((it) => it.split(" ").reduce((sum, one) => sum + Number(one), 0));
  assert.ok(light[1] > light[0] && light[1] > light[2], shades.join("; "));
  await heat.hover({ position: { x: 90, y: 22 + 18 * 5 + 9 } });
  assert.match(await page.locator(".heat-card .tip").innerText(), /rank 5 \(.+:5\), step 10\s+waiting: /);
  // By the keyboard alone: the cell is told, and Enter selects its rank.
  await heat.focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await page.locator("[aria-live].unseen").innerText(), /rank 2 \(.+:2\), step 10, waiting: /);
  assert.match(await link_of(page), /sel=rank:2/);
  // Arrows lead to those that waited for rank 5.
  assert.ok(Number(await page.locator(".timeline-canvas").getAttribute("data-arrows")) > 10);
  await page.locator("button", { hasText: "Waits" }).click();
  await settled(page);
  const longest = await page.locator("#part-timelines .grid-row").first().innerText();
  assert.match(longest, /^reduceScatter dp \d+\n1[01]\n\d+\n\d+\n[\d.]+ ms\n/, longest);
  assert.deepEqual(SEEN(seen), [[], []]);
  return { page, seen, close };
}

test("a rank at fault is named, selected, marked in every picture, and waited for", { skip }, async () => {
  const { seen, close } = await find_the_rank(report);
  assert.equal(seen.requests.length, 1, seen.requests.join(" "));
  await close();
});

test("the served page is the same, asks nobody else, and draws any ranks", { skip }, async () => {
  const server = await serve(runs);
  const { page, seen, close } = await find_the_rank(server.url);
  assert.ok(seen.requests.every((it) => it.startsWith(new URL(server.url).origin)), seen.requests.join(" "));
  await page.locator("#part-timelines .small-input").first().fill("8-10");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => /As chosen: 3 of 16 recorded ranks, 2 of 3 steps/.test(document.body.innerText));
  await page.locator("#part-timelines .small-input").nth(1).fill("12");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => /As chosen: 3 of 16 recorded ranks, 1 of 3 steps/.test(document.body.innerText));
  assert.match(await link_of(page), /lr=8-10&ls=12/);
  await page.locator("#part-timelines .small-input").first().fill("99");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => /there is no rank 99/.test(document.querySelector("#part-timelines .problem")?.textContent ?? ""));
  seen.errors.splice(0, seen.errors.length, ...seen.errors.filter((it) => !/status of 400/.test(it)));
  assert.deepEqual(seen.errors, []);
  await close();
  assert.equal(await server.end(), 0, server.problems());
});

test("the slow link is marked, and its cell says how slow beside its like", { skip }, async () => {
  const { page, close } = await open(report);
  await page.locator(".suspects button", { hasText: "link 0 → 4" }).click();
  await page.locator("#part-links button", { hasText: "Table" }).click();
  await settled(page);
  const first = await page.locator("#part-links .grid-row").first().innerText();
  assert.match(first, /^0\n4\n[\s\S]*▲ slow/, first);
  await page.locator("#part-links button", { hasText: "Table" }).click();
  await settled(page);
  const canvas = page.locator(".links-canvas");
  const side = await canvas.evaluate((it) => Math.floor(Math.min(it.clientWidth - 68, 440) / 16));
  await canvas.hover({ position: { x: 64 + 4 * side + side / 2, y: 22 + side / 2 } });
  assert.match(await page.locator("#part-links .tip").innerText(), /link 0 → 4 · slow[\s\S]* % of its like's [\d.]+ GB\/s/);
  await canvas.hover({ position: { x: 64 + side / 2, y: 22 + side / 2 } });
  assert.match(await page.locator("#part-links .tip").innerText(), /link 0 → 0\s+not measured/);
  await close();
});

test("a slow link that nothing is like is said to be compared with its other direction", { skip }, async () => {
  const { page, seen, close } = await open(report_by_program(sample("--layout", "tp=2,pp=1,dp=1,ep=1", "--seed", "3", "--fault", "slow-link=0-1:0.3")));
  const canvas = page.locator(".links-canvas");
  const side = await canvas.evaluate((it) => Math.min(40, Math.floor(Math.min(it.clientWidth - 68, 440) / 2)));
  await canvas.hover({ position: { x: 64 + 1.5 * side, y: 22 + side / 2 } });
  assert.match(await page.locator("#part-links .tip").innerText(), /link 0 → 1 · slow[\s\S]* % of the other direction's [\d.]+ GB\/s/);
  await page.locator("#part-links button", { hasText: "Table" }).click();
  await settled(page);
  assert.match(await page.locator("#part-links .grid-row").first().innerText(), /^0\n1\n[\s\S]*⇄ \d+(\.\d+)? %\n▲ slow/);
  assert.deepEqual(SEEN(seen), [[], []]);
  await close();
});

test("a link says what is shown: what is selected, measured, chosen, in which language and theme", { skip }, async () => {
  const { page, close } = await open(report, { hash: "#/ranks?sel=rank:5&m=compute&g=host&r=4-7&tab=heat&lang=zh&theme=dark" });
  assert.match(await page.locator(".heat-card").innerText(), /计算：计算任务所占的时间/);
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  assert.equal(await page.locator(".heat-card .grid-row").count(), 4);
  assert.match(await page.locator(".heat-card .grid-row.chosen").innerText(), /^5\n/);
  assert.match(await page.locator("#part-steps .grid").innerText(), /host0/);
  assert.match(await page.locator("main").innerText(), /一个 step 用时/);
  // Back to English, the address stays in step.
  await page.locator(".bar button[lang=en]").click();
  assert.match(await link_of(page), /^#\/ranks\?sel=rank:5&m=compute&r=4-7&g=host&tab=heat&v=[0-9a-f]{8}&lang=en&theme=dark$/);
  await close();
  const other = await open(report, { hash: "#/ranks?sel=rank:99&foo=1&v=00000000" });
  assert.match(await other.page.locator(".note:not([hidden])").innerText(), /another run/);
  await other.close();
});

test("pictures, tables and answers are saved as they are, and copied as commands", { skip }, async () => {
  const { page, close } = await open(report);
  const saved = async (part, kind) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`${part} button.small`, { hasText: new RegExp(`^${kind}$`) }).click()]);
    return { name: download.suggestedFilename(), text: fs.readFileSync(await download.path(), "utf8") };
  };
  const heat = await saved("#part-heat", "CSV");
  assert.equal(heat.name, "db.heat.CSV".replace("CSV", "csv"));
  assert.equal(heat.text.split("\n").length, 1 + 16 + 1);
  assert.match(heat.text, /^rank,place,step_10_waiting_ns,step_11_waiting_ns,step_12_waiting_ns\n0,host0:0,\d+,/);
  assert.match((await saved("#part-links", "CSV")).text, /\n0,4,dp,\w+,[A-Z]+,[\d.]+,\d+,[\d.]+,[\d.]+,[\d.]+,true,false\n/);
  assert.match((await saved("#part-steps", "CSV")).text, /^step,ranks,step_ns,compute_ns,/);
  assert.match((await saved("#part-timelines", "CSV")).text, /^collective,step,waiting_rank,last_rank,waiting_ns,last_came_ns\n[\s\S]*\nallReduce tp \d+,10,4,5,\d+,\d+\n/);
  assert.match((await saved("#part-suspects", "CSV")).text, /rank 5 \(host0:5\),true,\d+/);
  const cluster = JSON.parse((await saved("#part-headline", "JSON")).text);
  assert.deepEqual(cluster, JSON.parse(program("cluster", runs, "--json")));
  for (const part of ["#part-heat", "#part-links", "#part-timelines"]) {
    const { text } = await saved(part, "SVG");
    assert.match(text, /^<svg[\s\S]*<rect/, part);
    assert.doesNotMatch(text, /NaN|undefined/, part);
  }
  const commands = await page.locator(".command code").allInnerTexts();
  for (const command of [/^opscope cluster \S+$/, /^opscope cluster slow /, /--by rank$/, / comm .* --matrix$/, /--by step$/, /export .* --format timeline -o run.json --ranks [\d,-]+ --steps 10-11$/]) assert.ok(commands.some((it) => command.test(it)), `${command} of ${commands.join("; ")}`);
  await close();
});

test("ranks that weren't recorded have their places, and damage is told of", { skip }, async () => {
  const file = report_by_program(sample("--fault", "none", "--damage", "missing=5,cut=6"));
  const { page, seen, close } = await open(file);
  assert.match(await page.locator("main").innerText(), /7 of 8 ranks \(missing 5\)[\s\S]*Nobody stands out; these are the first ranks: 4 of 7 recorded ranks/);
  await page.locator(".heat-canvas").hover({ position: { x: 90, y: 22 + 18 * 5 + 9 } });
  assert.match(await page.locator(".heat-card .tip").innerText(), /rank 5\s+not recorded/);
  await page.locator("#part-about summary").first().click();
  assert.match(await page.locator("#part-about").innerText(), /lost: cut or damaged[\s\S]*rank 6/);
  await page.locator("#part-timelines .small-input").first().fill("0,7");
  await page.keyboard.press("Tab");
  await settled(page);
  assert.match(await page.locator("#part-timelines .problem").innerText(), /This file has the timelines of ranks 0-3 in steps 10-11/);
  assert.deepEqual(seen.errors, []);
  await close();
});

test("no theme or language has serious violations of accessibility, with pictures or with their tables", { skip }, async () => {
  const axe = fs.readFileSync(path.join(import.meta.dirname, "../node_modules/axe-core/axe.min.js"), "utf8");
  for (const theme of ["light", "dark"]) {
    for (const lang of ["en-US", "zh-CN"]) {
      for (const hash of ["#/ranks?sel=rank:5", "#/ranks?sel=link:0-4&tab=heat,links,waits&g=rank"]) {
        const { page, close } = await open(report, { hash, theme, lang });
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
        const bad = violations.filter((it) => it.impact === "serious" || it.impact === "critical").map((it) => `${it.id}: ${it.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`).slice(0, 3).join("; ")}`);
        assert.deepEqual(bad, [], `${hash} ${theme} ${lang}`);
        await close();
      }
    }
  }
});

test("the keyboard alone reaches everything, and focus is seen", { skip }, async () => {
  const { page, close } = await open(report);
  const reached = new Set();
  for (let step = 0; step < 90; step += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const it = document.activeElement;
      if (!it || it === document.body) return null;
      const style = getComputedStyle(it);
      return { what: `${it.tagName} ${it.className} ${it.getAttribute("aria-label") ?? it.textContent}`.slice(0, 90), seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 };
    });
    if (!at) continue;
    reached.add(at.what);
    assert.ok(at.seen, `${at.what} has no visible focus`);
  }
  const all = [...reached].join("\n");
  for (const what of ["Skip to the content", "rank 5", "First rank", "heat-canvas", "links-canvas", "Where a step goes", "timeline-canvas", "Ranks of the timelines"]) assert.match(all, new RegExp(what), what);
  await page.keyboard.press("6");
  assert.match(await page.evaluate(() => document.activeElement?.className ?? ""), /timeline-canvas/);
  for (const key of [".", ".", "ArrowDown", "w", "w", "d"]) await page.keyboard.press(key);
  assert.match(await page.locator("[aria-live].unseen").innerText(), /rank \d+ \(host/);
  assert.match(await link_of(page), /[?&]t=\d+\.\.\d+/);
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog[open]").isVisible());
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await close();
});

test("hostile names run nothing, ask nobody and are shown as text", { skip }, async () => {
  const html = fs.readFileSync(report, "utf8");
  const begin = html.indexOf('id="report">') + 'id="report">'.length;
  const answers = JSON.parse(html.slice(begin, html.indexOf("</script>", begin)));
  const HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\u2028\u0000__proto__";
  const hostile = (value) => {
    if (typeof value === "string") return `${HOSTILE}${value}`;
    if (Array.isArray(value)) return value.map(hostile);
    return value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, it]) => [key, hostile(it)])) : value;
  };
  const { lang, fingerprint, timeline, ...others } = answers;
  const changed = { ...hostile(others), lang, fingerprint, timeline, cluster: { ...hostile(answers.cluster), suspects: answers.cluster.suspects.map((it) => ({ ...hostile(it), kind: it.kind })) } };
  const json = JSON.stringify(changed).replace(/[<\u2028\u2029]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const file = path.join(folder, "hostile.html");
  fs.writeFileSync(file, html.slice(0, begin) + json + html.slice(html.indexOf("</script>", begin)));
  const { page, seen, close } = await open(file, { hash: "#/ranks?sel=rank:5&tab=links" });
  await page.evaluate(() => { globalThis.violations = []; document.addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(event.violatedDirective)); });
  for (const key of ["1", "2", "3", "ArrowDown", "ArrowDown", "Enter", "4", "5", "6", ".", ".", "7"]) { await page.keyboard.press(key); await settled(page); }
  assert.match(await page.locator("main").innerText(), /<\/script><img/);
  assert.equal(await page.locator("main img").count(), 0);
  assert.deepEqual([seen.errors, seen.dialogs, await page.evaluate(() => globalThis.violations), seen.requests.length], [[], [], [], 1]);
  assert.deepEqual((await page.evaluate(() => document.body.innerText)).split("\n").filter((it) => /[\u202e\u2028\u0000]/.test(it)), []);
  await close();
});

test("without scripts the text stands, a damaged report keeps it, and small windows and forced colours show all", { skip }, async () => {
  const bare = await open(report, { scripts: false });
  assert.match(await bare.page.locator("#fallback").innerText(), /16 ranks on 2 hosts[\s\S]*rank 5/);
  await bare.close();
  const cut = path.join(folder, "cut.html");
  fs.writeFileSync(cut, fs.readFileSync(report, "utf8").replace(/(id="columns">.{400})[^<]*/, "$1"));
  const damaged = await open(cut);
  assert.match(await damaged.page.locator(".failed").innerText(), /can't be shown/);
  assert.ok(await damaged.page.locator("#fallback").isVisible());
  await damaged.close();
  for (const how of [{ forced: true }, { width: 640 }]) {
    const { page, seen, close } = await open(report, how);
    assert.deepEqual(seen.errors, []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 1, `it is ${wide} px wider than the window`);
    await close();
  }
});

test("a host whose ranks hide one another is one line, with its ranks marked and its command", { skip }, async () => {
  const faults = [8, 9, 10, 11, 12, 13, 14, 15].flatMap((rank) => ["--fault", `low-frequency=${rank}:1.4`]);
  const { page, seen, close } = await open(report_by_program(sample("--ranks", "64", "--layers", "1", ...faults)));
  const rows = page.locator(".suspects tbody tr:visible");
  assert.equal(await rows.count(), 1);
  assert.match(await rows.innerText(), /host host1[\s\S]*8 ranks, such as \d+: AI Core at/);
  await rows.locator("button").click();
  await settled(page);
  assert.match(await link_of(page), /sel=group:\d/);
  assert.match(await page.locator(".suspect-details").innerText(), /opscope cluster slow \S+ --host host1/);
  assert.deepEqual(SEEN(seen), [[], []]);
  await close();
});
