// The screens as they looked when a person last approved of them. `OPSCOPE_BLESS=1` keeps new pictures: look at
// them before they are committed. Pages are set in the fonts that `setting.txt` names, of whatever release of Chromium;
// where the system has other releases of a language's fonts, its pictures aren't compared, which is said.
import test, { after } from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import { story } from "../fixture.mjs";
import { no_browser, no_program, open, end, program, report_by_program, report_of, fonts } from "./browser.mjs";

after(end);
const folder = path.join(import.meta.dirname, "looks");
const bless = process.env.OPSCOPE_BLESS === "1";
const kept_setting = path.join(folder, "setting.txt");
const of = (language) => `${language}: ${fonts[language] ?? "missing"}`;
const there = fs.existsSync(kept_setting) ? fs.readFileSync(kept_setting, "utf8").trim().split("\n") : [];
const languages = ["en", "zh"].filter((it) => bless || there.includes(of(it)));
const other_fonts = ["en", "zh"].filter((it) => !languages.includes(it)).map((it) => `here is ${of(it)}`).join("; ");
const skip = no_browser || (languages.length > 0 ? false : `apt-get install fonts-dejavu-core fonts-noto-cjk: pictures are of ${there.join("; ")}, ${other_fonts}`);
const SCREENS = {
  overview: "", timeline: "?t=5650000000..5680000000&m=5655000000..5662000000", operators: "?sel=op:0", model: "?sel=op:0", roofline: "", compare: "", advice: "?sel=rule:G05", about: "",
};

/** The pages of the pictures, and what is open on them: the screens of a profile, and the one of many ranks. */
function pages() {
  const file = report_of(story());
  const of_profile = Object.entries(SCREENS).map(([screen, state]) => ({ file, screen, state, height: 620 }));
  if (no_program) return of_profile;
  // Told by a path that is the same each time, because commands on the page have it.
  program("sample", "cluster", "-o", "ranks", "--ranks", "16", "--fault", "ai-cpu=5:4ms,slow-link=0-4:0.3", "--steps", "3", "-q");
  const of_ranks = report_by_program("ranks/cluster_16_ranks_seed_1/db");
  return [...of_profile, { file: of_ranks, screen: "ranks", state: "?sel=rank:5", height: 1500 }];
}

test("every screen looks as it did, in both themes and languages", { skip }, async (it) => {
  if (other_fonts !== "") it.diagnostic(`skipped: pictures are of ${there.join("; ")}, ${other_fonts}`);
  if (no_program) it.diagnostic(`the page of many ranks isn't compared: ${no_program}`);
  fs.mkdirSync(folder, { recursive: true });
  if (bless) fs.writeFileSync(kept_setting, `${languages.map(of).join("\n")}\n`);
  const out = path.join(import.meta.dirname, "out");
  const other = [];
  for (const { file, screen, state, height } of pages()) {
    for (const theme of ["light", "dark"]) {
      for (const lang of languages) {
        const { page, close } = await open(file, { hash: `#/${screen}${state}`, theme, lang: { en: "en-US", zh: "zh-CN" }[lang], width: 1000, height });
        await page.waitForTimeout(250);
        const now = PNG.sync.read(await page.screenshot({ animations: "disabled", caret: "hide" }));
        await close();
        const name = `${screen}-${theme}-${lang}.png`;
        const kept = path.join(folder, name);
        if (bless) {
          // Four bits of each colour are two fifths less to store, and look the same.
          now.data.forEach((it, at) => { now.data[at] = it & 0xf0; });
          fs.writeFileSync(kept, PNG.sync.write(now, { colorType: 2, deflateLevel: 9, deflateStrategy: 0 }));
          continue;
        }
        const before = PNG.sync.read(fs.readFileSync(kept));
        const difference = new PNG({ width: now.width, height: now.height });
        const same_size = before.width === now.width && before.height === now.height;
        const pixels = same_size ? pixelmatch(before.data, now.data, difference.data, now.width, now.height, { threshold: 0.15 }) : Infinity;
        if (pixels > now.width * now.height * 0.001) {
          fs.mkdirSync(out, { recursive: true });
          fs.writeFileSync(path.join(out, name), PNG.sync.write(now));
          if (same_size) fs.writeFileSync(path.join(out, `difference-${name}`), PNG.sync.write(difference));
          other.push(`${name}: ${pixels} pixels`);
        }
      }
    }
  }
  assert.deepEqual(other, [], `compare ${folder} with ${out}`);
  const size = fs.readdirSync(folder).reduce((sum, it) => sum + fs.statSync(path.join(folder, it)).size, 0);
  assert.ok(size <= 2_000_000, `${size} bytes of pictures`);
});
