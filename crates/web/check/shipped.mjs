// The page as the program carries it, its modules linked and shortened by crates/web's build script.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execFileSync } from "node:child_process";

/** @type {{ script: string, style: string } | null} */
let known = null;

/** Script and styles of a report that the program writes, or null where OPSCOPE names no program. */
export function shipped() {
  if (!known && process.env.OPSCOPE) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-shipped-"));
    const [trace, report] = [path.join(folder, "trace.json"), path.join(folder, "report.html")];
    fs.writeFileSync(trace, JSON.stringify({ traceEvents: [{ ph: "X", name: "a", pid: 1, tid: 1, ts: 1, dur: 1 }] }));
    execFileSync(process.env.OPSCOPE, ["report", trace, "-o", report], { stdio: "pipe" });
    const html = fs.readFileSync(report, "utf8");
    fs.rmSync(folder, { recursive: true });
    const part = (begin, end) => html.slice(html.lastIndexOf(begin) + begin.length, html.indexOf(end, html.lastIndexOf(begin)));
    known = { script: part("<script>", "</script>"), style: part("<style>", "</style>") };
  }
  return known;
}
