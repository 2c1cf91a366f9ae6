// Reports in a browser of another make: what is read, drawn and moved there.
import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { story } from "../fixture.mjs";
import { end, no_program, report_of, serve, report_by_program } from "./browser.mjs";
import { firefox, no_firefox } from "./firefox.mjs";

after(end);
const SCREENS = ["overview", "timeline", "operators", "model", "roofline", "compare", "advice", "about"];

/** Waits until an expression holds in the page. */
async function until(browser, expression) {
  for (let tries = 0; tries < 100; tries += 1) {
    if (await browser.ask(`return Boolean(${expression})`)) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(`${expression} never held: ${await browser.ask("return document.body.innerText.slice(0, 2000)")}`);
}

test("every screen of a report is shown in Firefox, and its timeline is drawn and moved by keys", { skip: no_firefox }, async () => {
  const browser = await firefox();
  try {
    const made = story();
    const file = `file://${report_of(made)}`;
    await browser.go(file);
    await until(browser, "document.querySelector('#app .bar')");
    // Of sizes that change once more while they are told, a browser says that the rest comes a frame later.
    await browser.ask("window.wrong = []; addEventListener('error', (it) => { if (!it.message.startsWith('ResizeObserver loop')) window.wrong.push(it.message); }); addEventListener('unhandledrejection', (it) => window.wrong.push(String(it.reason))); addEventListener('securitypolicyviolation', (it) => window.wrong.push(it.violatedDirective));");
    for (const screen of SCREENS) {
      await browser.ask(`location.hash = "#/${screen}"`);
      await until(browser, `document.querySelector("nav a[aria-current=page]")?.hash === "#/${screen}"`);
      assert.ok((await browser.ask("return document.querySelector('main').innerText")).length > 60, screen);
    }
    assert.match(await browser.ask("location.hash = '#/overview'; return document.title"), /opscope/);
    await until(browser, "document.querySelector('.headline .figure')");
    assert.match(await browser.ask("return document.querySelector('.headline .figure').innerText"), /^[\d.]+ (?:ms|s|µs)/);
    await browser.ask("location.hash = '#/timeline'");
    await until(browser, "document.querySelector('canvas.rows-canvas')?.width > 800");
    // Rows have more colours than a ground and its lines.
    const colours = "(() => { const it = document.querySelector('canvas.rows-canvas'); return new Set(new Uint32Array(it.getContext('2d').getImageData(0, 0, it.width, it.height).data.buffer)).size; })()";
    await until(browser, `${colours} > 20`);
    const before = await browser.ask("return location.hash");
    await browser.ask("document.activeElement.blur(); for (const kind of ['keydown', 'keyup']) document.body.dispatchEvent(new KeyboardEvent(kind, { code: 'KeyI', key: 'i', bubbles: true }));");
    await until(browser, `location.hash !== ${JSON.stringify(before)} && /[?&]t=/.test(location.hash)`);
    assert.equal((await browser.picture()).toString("latin1", 1, 4), "PNG");
    assert.deepEqual(await browser.ask("return window.wrong"), []);
  } finally {
    await browser.end();
  }
});

test("a profile is served to Firefox, and says there what its report says", { skip: no_firefox || no_program }, async () => {
  const browser = await firefox();
  const profile = trace();
  const server = await serve(profile);
  const texts = async () => {
    const told = [];
    for (const screen of ["overview", "operators"]) {
      await browser.ask(`location.hash = "#/${screen}"`);
      await until(browser, `document.querySelector("nav a[aria-current=page]")?.hash === "#/${screen}" && document.querySelector("main").innerText.includes("Conv2D")`);
      told.push((await browser.ask("return document.querySelector('main').innerText")).replaceAll(/opscope (?:report|serve)[^\n]*/g, "COMMAND"));
    }
    return told;
  };
  try {
    await browser.go(server.url);
    await until(browser, "document.querySelector('#app .bar')");
    const served = await texts();
    assert.doesNotMatch(await browser.ask("return location.href"), /token/);
    await browser.go(`file://${report_by_program(profile)}`);
    await until(browser, "document.querySelector('#app .bar')");
    assert.deepEqual(served, await texts());
  } finally {
    assert.equal(await server.end(), 0, server.problems());
    await browser.end();
  }
});

/** A trace of two streams for the program. */
function trace() {
  const events = Array.from({ length: 400 }, (_, at) => ({ ph: "X", cat: "kernel", pid: 0, tid: at % 2, ts: (at >> 1) * 100, dur: 20 + (at % 7) * 10, name: at % 3 ? `Conv2D_${at % 20}` : `Relu_${at % 20}` }));
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "opscope-firefox-trace-")), "trace.json");
  fs.writeFileSync(file, JSON.stringify({ traceEvents: events }));
  after(() => fs.rmSync(path.dirname(file), { recursive: true, force: true }));
  return file;
}
