import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import * as units from "../../ui/parts/units.js";
import { shown, csv_lines } from "../../ui/parts/text.js";
import { colour_of_type, make_palette } from "../../ui/parts/colours.js";
import { en } from "../../ui/locale/en.js";
import { refusals_zh } from "../../ui/locale/refusals.js";
import { zh } from "../../ui/locale/zh.js";
import { t, said, speak, word } from "../../ui/locale/texts.js";
import { analyze_command, quoted } from "../../ui/screens/command.js";
import { problems } from "../lint.mjs";

test("quantities are written as the command line writes them", () => {
  assert.deepEqual([870, 1_234, 999_999, 45_600_000, 7_200_000_000_000, -1_500, 0].map(units.duration), ["870 ns", "1.23 µs", "1.00 ms", "45.6 ms", "7200 s", "-1.50 µs", "0 ns"]);
  assert.equal(units.flops(236.03e6), "236 MFLOP");
  assert.equal(units.flops(12), "12 FLOP");
  assert.equal(units.flop_rate(45.92e9), "45.9 GFLOP/s");
  assert.equal(units.bytes(3.67 * 1024 * 1024), "3.67 MiB");
  assert.equal(units.bytes(512), "512 B");
  assert.equal(units.byte_rate(714 * 1024 * 1024), "714 MiB/s");
  assert.equal(units.percent(0.0407), "4.1 %");
  // Halves go to the even digit, as in Rust.
  assert.deepEqual([1_125, 1_375, 12_250, 12_750].map(units.duration), ["1.12 µs", "1.38 µs", "12.2 µs", "12.8 µs"]);
  assert.deepEqual(["50us", "1.5ms", "2 s", "0", "3", "fast"].map(units.parse_duration), [50_000, 1_500_000, 2e9, 0, null, null]);
});

test("three hundred quantities are written digit for digit as by crates/trace, which made the list", () => {
  const cases = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, "units.json"), "utf8"));
  assert.equal(cases.length, 300);
  for (const [kind, value, text] of cases) assert.equal(units[kind](value), text, `${kind} of ${value}`);
});

test("control and direction marks in names become visible", () => {
  assert.equal(shown("a\u0000b\u202ec\u2028d\u001b[31m"), "a\\u{0}b\\u{202e}c\\u{2028}d\\u{1b}[31m");
  assert.equal(shown("x".repeat(1_000_000)).length, 200);
  assert.equal(shown("算子 é 🙂"), "算子 é 🙂");
  assert.equal(shown("\ud800"), "\\u{d800}");
});

test("cells of CSV can't be formulas, and are empty where nothing is known", () => {
  assert.equal(csv_lines([["=cmd()", 'say "hi", you', -5, null]]), `'=cmd(),"say ""hi"", you",-5,\n`);
});

test("both languages have every text, with the same values in them", () => {
  assert.deepEqual(Object.keys(zh), Object.keys(en));
  const values = (text) => [...new Set(text.split(" | ").at(-1).match(/\{\w+\}/g) ?? [])].sort();
  for (const key of Object.keys(en)) {
    assert.deepEqual(values(zh[key]), values(en[key]), key);
    assert.ok(zh[key].trim() !== "" && en[key].trim() !== "", key);
  }
});

test("what the server refuses with is said in the reader's language, in the very words that it has", () => {
  const folder = path.join(import.meta.dirname, "../../src");
  const sources = ["server.rs", "guard.rs", "routes/mod.rs", "routes/profile.rs", "routes/timeline.rs", "routes/export.rs"];
  const server = sources.map((it) => fs.readFileSync(path.join(folder, it), "utf8")).join("\n");
  for (const english of Object.keys(refusals_zh)) assert.ok(server.includes(`"${english}"`), english);
  speak("zh");
  assert.equal(said("the token of this run is missing or wrong"), "缺少本次运行的令牌，或令牌有误");
  assert.equal(said("offset: invalid digit"), "offset: invalid digit");
  speak("en");
  assert.equal(said("this answer failed"), "this answer failed");
});

test("texts count and fall back", () => {
  speak("en");
  assert.equal(t("tasks_n", { n: 1 }), "1 task");
  assert.equal(t("tasks_n", { n: 2 }), "2 tasks");
  assert.equal(word("unit", "ai-core"), "ai-core");
  speak("zh");
  assert.equal(t("tasks_n", { n: 2 }), "2 个任务");
  speak("en");
  assert.equal(t("range_chip", { time: "{from}", from: "$&" }), "Range: {from} from $&");
});

test("kinds of convolutions are one colour, and colours stand out from the background", () => {
  assert.equal(colour_of_type("Conv"), colour_of_type("FusedConv"));
  assert.equal(colour_of_type("Conv2D"), colour_of_type("Conv + Relu"));
  assert.notEqual(colour_of_type("Conv"), colour_of_type("MatMul"));
  const light = (colour) => { const part = (shift) => { const it = ((colour >>> shift) & 255) / 255; return it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4; }; return 0.2126 * part(0) + 0.7152 * part(8) + 0.0722 * part(16); };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  for (const dark of [false, true]) {
    const { fills } = make_palette(dark);
    for (let at = 1; at <= 20; at += 1) {
      assert.ok(contrast(light(fills[at]), light(fills[0])) >= 3, `colour ${at} dark ${dark}`);
      assert.ok(contrast(light(fills[at]), light(0xff100d0b)) >= 4.5, `label on colour ${at} dark ${dark}`);
    }
  }
});

test("a view becomes a command that a shell takes as it is", () => {
  const view = { grouping: { peek: () => "type" }, query: { peek: () => "type:Conv >50us name:a'b" }, sort: { peek: () => "-count" } };
  const of = (path) => analyze_command({ ...view, profile: { report: { about: { path } } } });
  assert.equal(of(null).slice(0, 24), "opscope analyze PROFILE ", "of what is kept nowhere");
  assert.equal(of("/a b/PROF"), "opscope analyze '/a b/PROF' --group-by type --type Conv --min-time 50us --name 'a'\\''b' --sort count");
  assert.equal(quoted("x"), "x");
});

test("the lint sees what it forbids", () => {
  for (const line of ["element.innerHTML = name;", 'h("p", null, "Hello there")', "eval(text)", 'await fetch("x")', 'app.note.value = "Done";', 'const it = "算子";', 'x.setAttribute("style", y)']) {
    assert.equal(problems(line, "parts/x.js").length, 1, line);
  }
  assert.deepEqual(problems('h("p", null, t("done"))', "parts/x.js"), []);
  assert.equal(problems("\n".repeat(600), "parts/x.js").length, 1);
});
