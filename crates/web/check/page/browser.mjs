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
  // Servers of tests that failed would keep the process waiting.
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
  browser ??= await chromium.launch({ executablePath: EXECUTABLE, headless: true, env: with_fonts(), args: ["--no-sandbox", "--force-color-profile=srgb", "--font-render-hinting=none", "--disable-lcd-text"] });
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

const FONTS = { en: ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"], zh: ["NotoSansCJK-Regular.ttc", "NotoSansCJK-Bold.ttc"] };

/**
 * The fonts of each language with their releases, where this system has them. Then pages are set in them alone,
 * whatever else is installed: what they look like doesn't depend on it.
 */
export const fonts = (() => {
  const run = (...words) => { try { return execFileSync(words[0], words.slice(1), { stdio: "pipe" }).toString().trim().split("\n"); } catch { return []; } };
  const known = run("fc-list", ":", "file").map((it) => it.replace(/:\s*$/, ""));
  const files = (language) => FONTS[language].map((name) => known.find((it) => path.basename(it) === name) ?? "");
  const release = (language) => (files(language).includes("") ? null : files(language).map((it) => `${path.basename(it)} ${run("fc-query", "-f", "%{fontversion}\n", it)[0]}`).join(", "));
  return { en: release("en"), zh: release("zh"), files: [...files("en"), ...files("zh")].filter((it) => it !== "") };
})();

/** The environment of a browser that knows those fonts alone; all others where one is missing. */
function with_fonts() {
  if (!fonts.en || !fonts.zh) return process.env;
  const alias = (family, ...others) => `<alias binding="same"><family>${family}</family><prefer>${others.map((it) => `<family>${it}</family>`).join("")}</prefer></alias>`;
  const own = path.join(folder, "fonts");
  fs.mkdirSync(own, { recursive: true });
  for (const it of fonts.files) fs.symlinkSync(it, path.join(own, path.basename(it)));
  const families = [["system-ui", "DejaVu Sans"], ["sans-serif", "DejaVu Sans"], ["ui-monospace", "DejaVu Sans Mono"], ["monospace", "DejaVu Sans Mono"]];
  fs.writeFileSync(path.join(folder, "fonts.conf"), `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${own}</dir><cachedir>${path.join(folder, "font-cache")}</cachedir>${families.map(([family, first]) => alias(family, first, "Noto Sans CJK SC")).join("")}</fontconfig>`);
  return { ...process.env, FONTCONFIG_FILE: path.join(folder, "fonts.conf") };
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
