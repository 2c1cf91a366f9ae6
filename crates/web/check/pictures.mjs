// The pictures of the README, in a real browser: the page of a profile that the program generates, of the mask
// detector before and after its change (page/mask.mjs), and of a sample model that runs here. Only that one's times
// are measured, so that the others are the same each time.
// usage: OPSCOPE=target/release/opscope node pictures.mjs [FOLDER [NAME…]]     docs/pictures and all by default
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { PNG } from "pngjs";
import { mask_detector } from "./page/mask.mjs";
import { end, hold, open, settled } from "./page/browser.mjs";

const to = process.argv[2] ?? path.join(import.meta.dirname, "../../../docs/pictures");
const MODEL = "mask-ssd";
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-pictures-"));
const program = (...words) => execFileSync(path.resolve(process.env.OPSCOPE ?? "opscope"), words, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] }).toString();

program("sample", "prof", "-o", folder, "--tasks", "4000", "-q");
const profile = fs.readdirSync(folder).find((it) => it.startsWith("PROF_"));
program("report", profile, "-o", "profile.html", "-q");
const [before, after] = mask_detector(folder);
program("report", after, "--against", before, "-o", "compared.html", "-q");
program("sample", MODEL, "-o", "model.onnx", "-q");
program("run", "model.onnx", "-n", "12", "--html", "model.html", "-q");
program("sample", "cluster", "-o", folder, "--ranks", "64", "--steps", "4", "-q");
program("report", "cluster_64_ranks_seed_1/db", "-o", "ranks.html", "-q");

const PICTURES = [
  { name: "overview", file: "profile", hash: "#/overview", ready: ".overview" },
  // Some milliseconds in the middle, with the costliest operator chosen.
  { name: "timeline", file: "profile", hash: "#/timeline?sel=op:0", ready: ".rows-canvas", then: async (page) => {
    await page.keyboard.press("Shift+.");
    await page.keyboard.press("f");
    await hold(page, "s", 700);
  } },
  { name: "model", file: "model", hash: "#/model", ready: "main#screen canvas" },
  { name: "compare", file: "compared", hash: "#/compare", ready: ".waterfall" },
  { name: "ranks", file: "ranks", hash: "#/ranks?sel=link:0-28", ready: ".heat-canvas", height: 1300 },
];
fs.mkdirSync(to, { recursive: true });
// The names of pictures to take alone, if any is told.
const wanted = process.argv.slice(3);
for (const { name, file, hash, ready, then, height } of PICTURES.filter((it) => wanted.length === 0 || wanted.includes(it.name))) {
  const { page, seen, close } = await open(path.join(folder, `${file}.html`), { hash, width: 1360, height: height ?? 760 });
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
