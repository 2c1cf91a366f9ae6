// The page as the program carries it, its modules linked and shortened by crates/web's build script.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execFileSync } from "node:child_process";

/** @type {Map<string, { script: string, style: string }>} */
const known = new Map();

/** Makers of a report of each page, of next to nothing. */
const MADE = {
  profile(folder, report) {
    const trace = path.join(folder, "trace.json");
    fs.writeFileSync(trace, JSON.stringify({ traceEvents: [{ ph: "X", name: "a", pid: 1, tid: 1, ts: 1, dur: 1 }] }));
    program("report", trace, "-o", report);
  },
  ranks(folder, report) {
    program("sample", "cluster", "-o", folder, "--layers", "1", "--microbatches", "1", "--steps", "1");
    program("report", path.join(folder, fs.readdirSync(folder)[0], "db"), "-o", report);
  },
};

/** Script and styles of a report that the program writes, or null where OPSCOPE names no program. @param {keyof typeof MADE} [page] */
export function shipped(page = "profile") {
  if (!known.has(page) && process.env.OPSCOPE) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-shipped-"));
    const report = path.join(folder, "report.html");
    MADE[page](folder, report);
    const html = fs.readFileSync(report, "utf8");
    fs.rmSync(folder, { recursive: true });
    const part = (begin, end) => html.slice(html.lastIndexOf(begin) + begin.length, html.indexOf(end, html.lastIndexOf(begin)));
    known.set(page, { script: part("<script>", "</script>"), style: part("<style>", "</style>") });
  }
  return known.get(page) ?? null;
}

function program(...words) {
  execFileSync(process.env.OPSCOPE, words, { stdio: "pipe" });
}
