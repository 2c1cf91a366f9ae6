// Times that a reader waits for: CPU seconds of all browser processes until a report's timeline answers, CPU of a
// frame while zooming and panning, memory of the page. Wall times are upper bounds on a machine that does
// other things.
// usage: node bench.mjs REPORT.html [ROUNDS]
//        node bench.mjs 'http://127.0.0.1:8420/#token=…' [ROUNDS]    of a server that has read its profile
import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const executablePath = process.env.OPSCOPE_CHROMIUM ?? "/usr/bin/chromium";

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [file, rounds = "3"] = process.argv.slice(2);
  if (!file) {
    console.error("usage: node bench.mjs REPORT.html|URL [ROUNDS]");
    process.exit(2);
  }
  const served = /^https?:/.test(file);
  const results = [];
  for (let round = 0; round < Number(rounds); round += 1) results.push(await measure((page) => show(page, file, served)));
  const median = (key) => results.map((it) => it[key]).sort((a, b) => a - b)[Math.floor(results.length / 2)];
  console.log(JSON.stringify({ report: served ? "served" : path.basename(file), mb: served ? null : +(fs.statSync(file).size / 1e6).toFixed(2), rounds: results.length, load: fs.readFileSync("/proc/loadavg", "utf8").split(" ")[0], ...Object.fromEntries(Object.keys(results[0]).map((it) => [it, median(it)])) }));
}

/** Opens a report, or the page of a server, at its timeline. */
async function show(page, file, served) {
  await page.goto(served ? file : `file://${path.resolve(file)}#/timeline`);
  if (served) {
    await page.waitForSelector(".bar", { timeout: 60000 });
    await page.evaluate(() => { location.hash = "#/timeline"; });
  }
  await page.waitForSelector(".rows-canvas", { timeout: 60000 });
}

/** Figures of a page that `show` opens; `height` is where the pointer is while it moves. */
export async function measure(show, height = 400) {
  const browser = await chromium.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-background-networking", "--enable-precise-memory-info"] });
  const debug = await browser.newBrowserCDPSession();
  const processes = async () => (await debug.send("SystemInfo.getProcessInfo")).processInfo.map(({ id, type }) => {
    try {
      const fields = fs.readFileSync(`/proc/${id}/stat`, "utf8").split(") ")[1].split(" ");
      const pss = Number(/^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024;
      return { type, cpu: (Number(fields[11]) + Number(fields[12])) / 100, pss };
    } catch {
      return { type, cpu: 0, pss: 0 };
    }
  });
  const cpu = (list) => list.reduce((sum, it) => sum + it.cpu, 0);
  const page = await browser.newPage({ viewport: { width: 1600, height: 900 } });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const main = async () => (await session.send("Performance.getMetrics")).metrics.find((it) => it.name === "TaskDuration").value;
  const idle = cpu(await processes());
  const begun = performance.now();
  await show(page);
  for (let good = 0; good < 3;) {
    const waited = await page.evaluate(() => new Promise((done) => { const t = performance.now(); setTimeout(() => requestAnimationFrame(() => done(performance.now() - t)), 0); }));
    good = waited < 100 ? good + 1 : 0;
    await page.waitForTimeout(50);
  }
  const ready = { wall: (performance.now() - begun) / 1000, cpu: cpu(await processes()) - idle };
  await page.mouse.move(900, height);
  await page.evaluate(() => {
    globalThis.frames_seen = [];
    let last = performance.now();
    const step = (now) => { globalThis.frames_seen.push(now - last); last = now; globalThis.frame_asked = requestAnimationFrame(step); };
    globalThis.frame_asked = requestAnimationFrame(step);
  });
  const [all_before, main_before] = [cpu(await processes()), await main()];
  for (let round = 0; round < 2; round += 1) {
    for (const key of ["w", "d", "a", "s"]) {
      await page.keyboard.down(key);
      await page.waitForTimeout(800);
      await page.keyboard.up(key);
    }
  }
  const [all_after, main_after] = [cpu(await processes()), await main()];
  const frames = (await page.evaluate(() => { cancelAnimationFrame(globalThis.frame_asked); return globalThis.frames_seen.slice(2); })).sort((a, b) => a - b);
  const renderer = Math.max(...(await processes()).filter((it) => it.type === "renderer").map((it) => it.pss));
  await browser.close();
  return {
    ready_s: +ready.wall.toFixed(2), ready_cpu_s: +ready.cpu.toFixed(2), page_mb: Math.round(renderer), frames: frames.length,
    main_ms_per_frame: +((1000 * (main_after - main_before)) / frames.length).toFixed(1), all_ms_per_frame: +((1000 * (all_after - all_before)) / frames.length).toFixed(1),
    interval_p95_ms: +(frames[Math.floor(frames.length * 0.95)] ?? 0).toFixed(1),
  };
}
