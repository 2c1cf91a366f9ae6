// The budgets that are sizes: the pages with their styles and both languages, and reports of profiles of some size.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { execFileSync } from "node:child_process";
import { shipped } from "./shipped.mjs";

// Bytes at most, as text and packed.
const PAGES = { profile: [350_000, 90_000], ranks: [150_000, 45_000] };
let kept = true;
for (const [name, [most, most_packed]] of Object.entries(PAGES)) {
  const page = shipped(/** @type {any} */ (name));
  if (!page) throw new Error("name the program in OPSCOPE: the pages that it carries are measured");
  const text = page.script + page.style;
  const title = name === "profile" ? "page" : `page of ${name}`;
  kept = within(title, Buffer.byteLength(text), most, "as text") && within(title, zlib.gzipSync(text, { level: 9 }).length, most_packed, "gzip") && kept;
}

// Executions, different operators, bytes at most. A million executions are measured by benches/page.py: an
// unoptimised program takes minutes for them.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-sizes-"));
for (const [executions, operators, most] of [[1_000, 100, 500_000], [100_000, 2_000, 1_200_000], [100_000, 100_000, 8_000_000]]) {
  const [trace, report] = [path.join(folder, "trace.json"), path.join(folder, "report.html")];
  fs.writeFileSync(trace, JSON.stringify({ traceEvents: events(executions, operators) }));
  execFileSync(process.env.OPSCOPE, ["report", trace, "-o", report], { stdio: "pipe" });
  kept = within(`report of ${executions} executions of ${operators} operators`, fs.statSync(report).size, most, "") && kept;
}
for (const [ranks, most] of [[64, 1_000_000]]) {
  const report = path.join(folder, "ranks.html");
  execFileSync(process.env.OPSCOPE, ["sample", "cluster", "-o", folder, "--ranks", String(ranks)], { stdio: "pipe" });
  execFileSync(process.env.OPSCOPE, ["report", path.join(folder, `cluster_${ranks}_ranks_seed_1`, "db"), "-o", report], { stdio: "pipe" });
  kept = within(`report of ${ranks} ranks`, fs.statSync(report).size, most, "") && kept;
}
fs.rmSync(folder, { recursive: true });
if (!kept) process.exit(1);

/** Tasks of two streams and a call for every fourth; times as a real run has them, the same each time. */
function events(executions, operators) {
  let seed = 1;
  const chance = () => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32;
  const base = Array.from({ length: operators }, () => 2 + 60 * chance() ** 3);
  const list = [];
  const now = [1000, 1000.5];
  for (let at = 0; at < executions; at += 1) {
    const [stream, operator] = [at % 2, at % operators];
    const [gap, duration] = [0.3 + chance() * (chance() < 0.125 ? 80 : 1), base[operator] * (0.9 + 0.2 * chance())];
    list.push({ ph: "X", cat: "kernel", pid: 0, tid: stream, ts: rounded(now[stream] + gap), dur: rounded(duration), name: `/model/layers.${operator >> 4}/${["Conv", "MatMul", "Add", "Relu"][operator % 4]}_${operator}` });
    if (at % 4 === 0) list.push({ ph: "X", pid: 1, tid: 100, ts: rounded(now[0]), dur: rounded(duration / 3), name: "launch" });
    now[stream] += gap + duration;
  }
  return list;
}

function rounded(microseconds) {
  return Math.round(microseconds * 1000) / 1000;
}

function within(name, bytes, most, form) {
  console.log(`${name}: ${(bytes / 1000).toFixed(1)} kB ${form} (at most ${most / 1000})`.replace("  ", " "));
  return bytes <= most;
}
