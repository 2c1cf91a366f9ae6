// The work of the page's main thread for what its reader does, in milliseconds: a click on the timeline until its panel
// stands, a pointer's move over it, a table's sort, a letter more in its filter. Of a served profile, also how long a
// picture takes by the clock to be whole after a jump to another part or zoom.
// usage: node reactions.mjs REPORT.html
//        node reactions.mjs REPORT.html compare               seconds until the comparison that it holds is shown
//        node reactions.mjs 'http://127.0.0.1:8420/#token=…'    of a server that has read its profile
import path from "node:path";
import { chromium } from "playwright-core";

const [file, screen] = process.argv.slice(2);
if (!file) {
  console.error("usage: node reactions.mjs REPORT.html|URL");
  process.exit(2);
}
const served = /^https?:/.test(file);
const executablePath = process.env.OPSCOPE_CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-background-networking"] });
const page = await browser.newPage({ viewport: { width: 1600, height: 900 } });
const begun = performance.now();
await page.goto(served ? file : `file://${path.resolve(file)}${screen ? `#/${screen}` : ""}`);
if (screen) {
  await page.waitForSelector(`.${screen} .figure`, { timeout: 60000 });
  console.log(JSON.stringify({ shown_s: +((performance.now() - begun) / 1000).toFixed(2) }));
  await browser.close();
  process.exit(0);
}
await page.waitForSelector(".bar", { timeout: 60000 });
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable", { timeDomain: "threadTicks" });
const main = async () => (await session.send("Performance.getMetrics")).metrics.find((it) => it.name === "TaskDuration").value;

await show("timeline", "canvas.rows-canvas");
const box = await page.locator("canvas.rows-canvas").boundingBox();
const middle = { x: box.x + box.width / 2, y: box.y + Math.min(box.height, 700) / 2 };
const figures = {};
figures.panel_ms = await work(20, (at) => page.mouse.click(box.x + 80 + ((box.width - 160) * at) / 20, box.y + 40 + ((at * 37) % Math.min(400, box.height - 60))));
figures.hover_ms = await work(200, (at) => page.mouse.move(middle.x - 300 + at * 3, middle.y + (at % 40)));
if (served) figures.picture_p95_ms = await pictures();
await show("operators", ".grid-row");
figures.operators = Number(await page.locator(".grid").getAttribute("aria-rowcount")) - 1;
const heads = ["Executions", "Mean", "Type", "Share"];
figures.sort_ms = await work(heads.length, (at) => page.locator(".grid-head button", { hasText: heads[at] }).first().click());
await page.locator("input.query").click();
const letters = "conv >1us";
figures.filter_ms = await work(letters.length, (at) => page.keyboard.type(letters[at]));
await browser.close();
console.log(JSON.stringify(figures));

/** @param {string} screen @param {string} selector */
async function show(screen, selector) {
  await page.evaluate((it) => { location.hash = `#/${it}`; }, screen);
  await page.waitForSelector(selector, { timeout: 60000 });
  await page.waitForTimeout(500);
}

/** The main thread's work for each of so many actions, what they set off within three frames with it. */
async function work(count, act) {
  const before = await main();
  for (let at = 0; at < count; at += 1) {
    await act(at);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
  }
  return +((1000 * (await main() - before)) / count).toFixed(1);
}

/** The 95th percentile of how long the parts of a picture take to come after a jump, and to be drawn. */
async function pictures() {
  const times = await page.evaluate(async () => {
    const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const view = () => /[?&]t=(\d+)\.\.(\d+)/.exec(location.hash);
    location.hash = "#/timeline";
    await wait(500);
    document.dispatchEvent(new KeyboardEvent("keydown", { code: "Digit0", ctrlKey: true, bubbles: true }));
    await wait(500);
    const end = Math.max(...performance.getEntriesByType("resource").map((it) => Number(/[?&]end=(\d+)/.exec(it.name)?.[1] ?? 0)), Number(view()?.[2] ?? 0), 1e9);
    const found = [];
    let seed = 7;
    const chance = () => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32;
    for (let at = 0; at < 40; at += 1) {
      const length = end / 2 ** (1 + chance() * 12);
      const from = Math.floor(chance() * (end - length));
      performance.clearResourceTimings();
      const begun = performance.now();
      location.hash = `#/timeline?t=${from}..${Math.floor(from + length)}`;
      await frame();
      const drawn = performance.now();
      let seen = 0;
      // Nothing comes any more when nothing came for a while.
      for (let quiet = 0; quiet < 8; quiet += 1) {
        await wait(25);
        const came = performance.getEntriesByType("resource").filter((it) => it.name.includes("/tiles"));
        if (came.length > seen) quiet = 0;
        seen = came.length;
      }
      // The parts in sight are of the finest level and asked for first; those beside them and a level above come behind.
      const parts = performance.getEntriesByType("resource").filter((it) => it.name.includes("/tiles"));
      const level = (it) => Number(/[?&]level=(\d+)/.exec(it.name)[1]);
      const finest = Math.min(...parts.map(level));
      const last = Math.max(drawn, parts.find((it) => level(it) === finest)?.responseEnd ?? 0);
      found.push(last - begun);
    }
    return found;
  });
  times.sort((a, b) => a - b);
  return +times[Math.floor(times.length * 0.95)].toFixed(1);
}
