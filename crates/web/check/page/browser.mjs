// A report in a real browser, with everything recorded that a page of a stranger's profile may not do.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execFileSync, spawn } from "node:child_process";
import { chromium } from "playwright-core";
import { page as report_page } from "../fixture.mjs";

const EXECUTABLE = process.env.OPSCOPE_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((it) => fs.existsSync(it));
/** Why tests that need a browser are skipped, or false. */
export const no_browser = EXECUTABLE || process.env.OPSCOPE_REQUIRE_COMPANIONS ? false : "no Chromium: apt-get install chromium, or name one in OPSCOPE_CHROMIUM";
const OPSCOPE = process.env.OPSCOPE;
/** Why tests that need the program are skipped, or false. */
export const no_program = no_browser || (OPSCOPE || process.env.OPSCOPE_REQUIRE_COMPANIONS ? false : "no program: name one in OPSCOPE");

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-page-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));

/** @type {import("playwright-core").Browser | null} */
let browser = null;

/** @type {import("node:child_process").ChildProcess[]} */
const servers = [];

export async function end() {
  // Those of tests that failed: they would keep the process waiting.
  for (const it of servers) it.kill();
  await browser?.close();
  browser = null;
}

let made = 0;
/** A report made without the program. */
export function report_of({ report, tables, before }) {
  const file = path.join(folder, `made${made++}.html`);
  fs.writeFileSync(file, report_page(report, tables, before));
  return file;
}

/** A report that the program writes of a profile, or of a sample. */
export function report_by_program(...args) {
  const file = path.join(folder, `program${made++}.html`);
  execFileSync(OPSCOPE, ["report", ...args, "-o", file], { cwd: folder, stdio: "pipe" });
  return file;
}

/** Serves profiles with the program; the page's address, and how to end the server. */
export async function serve(...args) {
  const server = spawn(OPSCOPE, ["serve", "--no-open", "--port", "0", ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  servers.push(server);
  const ended = new Promise((done) => server.on("exit", (status) => done(status)));
  let text = "";
  let problems = "";
  server.stderr.on("data", (part) => { problems += part; });
  const url = await new Promise((done, fail) => {
    server.stdout.on("data", (part) => {
      text += part;
      const found = /^(http:\S+)\n/.exec(text);
      if (found) done(found[1]);
    });
    void ended.then((status) => fail(new Error(`the server ended with ${status}: ${problems}`)));
  });
  return { url, problems: () => problems, ended, end: () => { server.kill("SIGINT"); return ended; } };
}

export function program(...args) {
  return execFileSync(OPSCOPE, args, { cwd: folder, stdio: "pipe" }).toString();
}

/**
 * @param {string} file @param {{ hash?: string, theme?: "light" | "dark", lang?: string, forced?: boolean, scripts?: boolean, width?: number, height?: number }} [how]
 */
export async function open(file, { hash = "", theme = "light", lang = "en-US", forced = false, scripts = true, width = 1600, height = 900 } = {}) {
  browser ??= await chromium.launch({ executablePath: EXECUTABLE, headless: true, args: ["--no-sandbox", "--force-color-profile=srgb", "--font-render-hinting=none", "--disable-lcd-text"] });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: lang, forcedColors: forced ? "active" : "none", javaScriptEnabled: scripts, permissions: [] });
  const page = await context.newPage();
  const seen = { errors: [], requests: [], dialogs: [] };
  page.on("pageerror", (error) => seen.errors.push(String(error.stack ?? error)));
  page.on("console", (message) => { if (message.type() === "error") seen.errors.push(message.text()); });
  page.on("request", (request) => seen.requests.push(request.url().split("#")[0]));
  page.on("dialog", (dialog) => { seen.dialogs.push(dialog.message()); void dialog.dismiss(); });
  const served = file.startsWith("http:");
  await page.goto(served ? file : `file://${file}${hash}`);
  // Without scripts a page has no frames that could be waited for.
  if (scripts) {
    await page.waitForSelector("#app .bar, #app .failed");
    await settled(page);
  }
  return { page, seen, close: () => context.close() };
}

/** The browser's version and the fonts that a text here is set in: pictures of others can't be compared. */
export async function setting() {
  const version = execFileSync(EXECUTABLE, ["--version", "--no-sandbox"], { stdio: "pipe" }).toString().replace(/\D*(\d+)[\s\S]*/, "$1");
  const font = (name) => { try { return execFileSync("fc-match", [name], { stdio: "pipe" }).toString().trim(); } catch { return "unknown"; } };
  return ["Chromium " + version, font("system-ui"), font("monospace"), font("sans-serif:lang=zh-cn")].join("; ");
}

/** Two frames and what they set off. */
export async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))).catch(() => {});
}

export async function hold(page, key, milliseconds) {
  await page.keyboard.down(key);
  await page.waitForTimeout(milliseconds);
  await page.keyboard.up(key);
  await settled(page);
}

/** The state as the link has it; links follow with a short delay. */
export async function link_of(page) {
  await page.waitForTimeout(350);
  return page.evaluate(() => location.hash);
}
