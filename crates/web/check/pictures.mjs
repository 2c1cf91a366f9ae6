// The pictures of the README: the page of a sample model, measured by the program before and after a change, in a real
// browser. What they show is measured, so that no two runs make the same pictures.
// usage: OPSCOPE=target/release/opscope node pictures.mjs [FOLDER]     docs/pictures by default
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { PNG } from "pngjs";
import { end, hold, open, settled } from "./page/browser.mjs";

const to = process.argv[2] ?? path.join(import.meta.dirname, "../../../docs/pictures");
const MODEL = "mask-ssd";
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-pictures-"));
const program = (...words) => execFileSync(path.resolve(process.env.OPSCOPE ?? "opscope"), words, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] }).toString();

program("sample", MODEL, "-o", "before.onnx", "-q");
program("rewrite", "before.onnx", "-o", "after.onnx", "-q");
for (const side of ["before", "after"]) program("run", `${side}.onnx`, "-n", "12", "--db", `${side}.db`, "-q");
program("report", "after.db", "--against", "before.db", "--model", "after.onnx", "-o", "report.html", "-q");

const PICTURES = [
  { name: "overview", hash: "#/overview", ready: ".overview" },
  // The costliest operator, walked to, with what lies round it.
  { name: "timeline", hash: "#/timeline?sel=op:0", ready: ".rows-canvas", then: async (page) => {
    await page.keyboard.press("Shift+.");
    await page.keyboard.press("f");
    await hold(page, "s", 900);
  } },
  { name: "model", hash: "#/model", ready: "main#screen canvas" },
  { name: "compare", hash: "#/compare", ready: ".waterfall" },
];
fs.mkdirSync(to, { recursive: true });
for (const { name, hash, ready, then } of PICTURES) {
  const { page, seen, close } = await open(path.join(folder, "report.html"), { hash, width: 1280, height: 760 });
  await page.waitForSelector(ready);
  await then?.(page);
  await settled(page);
  await page.waitForTimeout(400);
  const picture = PNG.sync.read(await page.screenshot({ animations: "disabled", caret: "hide" }));
  if (seen.errors.length > 0) throw new Error(`${name}: ${seen.errors.join("; ")}`);
  // Thirty-two steps of each colour look the same and are a third less to store.
  picture.data.forEach((it, at) => { picture.data[at] = Math.round(Math.round((it * 31) / 255) * (255 / 31)); });
  fs.writeFileSync(path.join(to, `${name}.png`), PNG.sync.write(picture, { colorType: 2, deflateLevel: 9, deflateStrategy: 0 }));
  await close();
}
await end();
fs.rmSync(folder, { recursive: true });
