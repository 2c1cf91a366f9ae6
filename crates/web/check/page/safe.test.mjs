import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { story } from "../fixture.mjs";
import { no_browser, open, end, report_of, settled } from "./browser.mjs";

after(end);
const skip = no_browser;
const SCREENS = ["overview", "timeline", "operators", "model", "roofline", "compare", "advice", "about"];
const HOSTILE = [
  "</script><img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "__proto__", "constructor", "=cmd()|' /C calc'!A0", "a\u202egnp.exe", "line\u2028separator", "nul\u0000byte",
  "\u001b]0;title\u0007", "x".repeat(1_000_000), "javascript:alert(1)", "{{7*7}}${7*7}", "", "../../etc/passwd", "\ud800", "<!--",
];

test("hostile names run nothing, ask nobody and are shown as text", { skip }, async () => {
  const made = story({ hostile: HOSTILE });
  Object.assign(made.report.about, { path: HOSTILE[0], kind: HOSTILE[1], remarks: HOSTILE, missing: HOSTILE, facts: { [HOSTILE[0]]: HOSTILE[1], nested: { __proto__: 1, [HOSTILE[2]]: [HOSTILE[3]] } }, command: HOSTILE[0] });
  made.report.losses[0].detail = HOSTILE[0];
  made.report.timeline.groups[1].name = HOSTILE[0];
  made.report.timeline.rows[4].name = HOSTILE[5];
  made.report.timeline.counters[0].name = HOSTILE[1];
  made.report.advice.findings.forEach((it) => Object.assign(it, { title: HOSTILE[0], why: HOSTILE[1], advice: HOSTILE[5], source: HOSTILE[0], zh: null, limits: { [HOSTILE[1]]: HOSTILE[0] } }));
  const { page, seen, close } = await open(report_of(made));
  await page.evaluate(() => { globalThis.violations = []; document.addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(event.violatedDirective)); });
  for (const key of ["1", "2", "i", "3", "4", "5", "6", "7", "8"]) { await page.keyboard.press(key); await settled(page); }
  await page.keyboard.press("3");
  await settled(page);
  await page.locator("[role=grid]").focus();
  for (let row = 0; row < 20; row += 1) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("/");
  await page.keyboard.type("script");
  await settled(page);
  assert.match(await page.locator(".hits").innerText(), /<\/script><img/);
  assert.equal(await page.locator("main img, main svg[onload]").count(), 0);
  assert.deepEqual(seen.dialogs, []);
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(await page.evaluate(() => globalThis.violations), []);
  assert.equal(seen.requests.length, 1, seen.requests.join(" "));
  assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /[\u202e\u2028\u0000]/);
  await close();
});

test("the policy holds: markup, code and requests are refused", { skip }, async () => {
  const { page, close } = await open(report_of(story()));
  const refused = await page.evaluate(async () => {
    const out = {};
    try { document.body.innerHTML = "<b>x</b>"; out.markup = false; } catch { out.markup = true; }
    out.request = await fetch("https://example.com/").then(() => false, () => true);
    const script = document.createElement("script");
    try { script.textContent = "globalThis.ran = true"; document.body.append(script); } catch { /* refused */ }
    out.script = globalThis.ran !== true;
    return out;
  });
  assert.deepEqual(refused, { markup: true, request: true, script: true });
  await close();
});

test("no screen, theme or language has serious violations of accessibility", { skip }, async () => {
  const axe = fs.readFileSync(path.join(import.meta.dirname, "../node_modules/axe-core/axe.min.js"), "utf8");
  const file = report_of(story());
  for (const theme of ["light", "dark"]) {
    for (const lang of ["en-US", "zh-CN"]) {
      for (const screen of SCREENS) {
        const { page, close } = await open(file, { hash: `#/${screen}?sel=${screen === "advice" ? "rule:G05" : "op:2"}&m=5650000000..5660000000`, theme, lang });
        // The page's own policy refuses a script element; the debugger's door is none of the page's.
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
        const bad = violations.filter((it) => it.impact === "serious" || it.impact === "critical").map((it) => `${it.id}: ${it.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`).slice(0, 3).join("; ")}`);
        assert.deepEqual(bad, [], `${screen} ${theme} ${lang}`);
        await close();
      }
    }
  }
});

test("the keyboard alone reaches everything, and focus is seen", { skip }, async () => {
  const { page, close } = await open(report_of(story()), { hash: "#/timeline" });
  const reached = new Set();
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const it = document.activeElement;
      if (!it || it === document.body) return null;
      const style = getComputedStyle(it);
      return { what: `${it.tagName} ${it.className} ${it.getAttribute("aria-label") ?? it.textContent}`.slice(0, 80), seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 };
    });
    if (!at) continue;
    reached.add(at.what);
    assert.ok(at.seen, `${at.what} has no visible focus`);
  }
  const all = [...reached].join("\n");
  for (const what of ["Skip to the content", "Operators", "Search", "72 records lost", "SELECT", "Zoom in", "CANVAS rows-canvas", "Width of the names"]) assert.match(all, new RegExp(what), what);
  await page.locator(".rows-canvas").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.match(await page.locator("[aria-live]").innerText(), /starts at/);
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog[open]").isVisible());
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await close();
});

test("without scripts the text stands, and a damaged report says what is wrong and keeps it", { skip }, async () => {
  const file = report_of(story());
  const bare = await open(file, { scripts: false });
  assert.match(await bare.page.locator("#fallback").innerText(), /The report as text/);
  await bare.close();
  const text = fs.readFileSync(file, "utf8");
  const cut = `${file}.cut.html`;
  fs.writeFileSync(cut, text.replace(/(id="columns">.{400})[^<]*/, "$1"));
  const { page, close } = await open(cut);
  assert.match(await page.locator(".failed").innerText(), /can't be shown/);
  assert.ok(await page.locator("#fallback").isVisible());
  await close();
});

test("forced colours, small windows and print show every screen", { skip }, async () => {
  const file = report_of(story());
  for (const how of [{ forced: true }, { width: 640 }]) {
    for (const screen of SCREENS) {
      const { page, seen, close } = await open(file, { hash: `#/${screen}`, ...how });
      assert.deepEqual(seen.errors, []);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 1, `${screen} is ${wide} px wider than the window`);
      await close();
    }
  }
  const { page, close } = await open(file);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".bar nav").isVisible(), false);
  await close();
});
