// Rules that the type checker doesn't know: calls by which a profile's text could become markup or code, texts outside
// of `locale/`, files that are too long, the rules of the linker.
import fs from "node:fs";
import path from "node:path";
import { link, modules, PAGES, UI } from "./link.mjs";

const FORBIDDEN = [
  [/\b(?:inner|outer)HTML\b/, "no HTML from text"], [/insertAdjacentHTML/, "no HTML from text"], [/document\.write/, "no HTML from text"],
  [/\beval\s*\(/, "no code from text"], [/\bnew Function\b/, "no code from text"], [/\bset(?:Timeout|Interval)\s*\(\s*["'`]/, "no code from text"],
  [/\.on(?:click|load|error|key\w+|pointer\w+|mouse\w+)\s*=/, "listeners by addEventListener"], [/setAttribute\(\s*["']on/i, "listeners by addEventListener"],
  [/setAttribute\(\s*["']style/, "the policy refuses style attributes"], [/XMLHttpRequest|WebSocket|EventSource|sendBeacon|document\.cookie|indexedDB|sessionStorage/, "a report asks nobody"],
  [/\bexport default\b/, "named exports only"],
];
// One module asks the server, with the token of its run; in a report nobody calls it, and the policy refuses it.
const SERVER = "data/server.js";
const FORBIDDEN_ELSEWHERE = [[/\bfetch\s*\(/, "a report asks nobody"], [/localStorage/, "state lives in the link"]];
// Letters between quotes where a text would be: a child of an element, a label, a title.
const TEXT = [
  /\bh\("[a-z0-9]+", (?:null|\{[^{}]*\}), "([^"]*[A-Za-z]{2}[^"]*)"/,
  /(?:"aria-label"|title|placeholder): "([^"]*[A-Za-z][^"]*)"/,
  /(?:note|says)\.value = "([^"]*[A-Za-z][^"]*)"/,
  /fillText\("([^"]*[A-Za-z]{2}[^"]*)"/,
];
// Names of formats and of the filter's own words are the same in every language.
const SAME_EVERYWHERE = new Set(["CSV", "PNG", "JSON", "name:regex type:Conv unit:ai-core >50us <2ms dtype:float16 -stream:3"]);
const LONGEST = 500;

/** @param {string} text @param {string} file @returns {string[]} */
export function problems(text, file) {
  const found = [];
  const lines = text.split("\n");
  if (lines.length > LONGEST) found.push(`${file}: ${lines.length} lines, at most ${LONGEST}`);
  lines.forEach((line, at) => {
    const code = line.replace(/^\s*(?:\/\/|\*|\/\*\*).*$/, "");
    for (const [pattern, why] of file === SERVER ? FORBIDDEN : [...FORBIDDEN, ...FORBIDDEN_ELSEWHERE]) if (pattern.test(code)) found.push(`${file}:${at + 1}: ${why}: ${code.trim()}`);
    if (file.startsWith("locale/") || file.startsWith("ranks/locale/")) return;
    for (const pattern of TEXT) {
      const text_found = pattern.exec(code);
      if (text_found && !SAME_EVERYWHERE.has(text_found[1])) found.push(`${file}:${at + 1}: text outside of locale/: ${text_found[1]}`);
    }
    if (/[\u4e00-\u9fff]/.test(code)) found.push(`${file}:${at + 1}: text outside of locale/: ${code.trim()}`);
  });
  return found;
}

/** @param {string} folder @param {string} ending */
export function files(folder, ending) {
  return fs.readdirSync(folder, { recursive: true }).map(String).filter((it) => it.endsWith(ending)).sort();
}

/** Texts of a page that nobody says, and those that its modules ask for in vain. @param {keyof typeof PAGES} page */
function texts_of(page) {
  const { texts } = PAGES[page];
  const known = new Set([...fs.readFileSync(path.join(UI, texts, "en.js"), "utf8").matchAll(/\b(\w+): "/g)].map((it) => it[1]));
  const own = modules(page).filter((it) => !/^locale\/(?:en|zh)\.js$/.test(it)).map((it) => ({ file: it, text: fs.readFileSync(path.join(UI, it), "utf8") }));
  const all = own.map((it) => it.text).join("\n");
  const by_word = /^(?:screen|colour|group|kind|confidence|severity|unit|fact|change|bound|measure|by|loss)_/;
  const unsaid = [...known].filter((key) => !by_word.test(key) && !all.includes(`"${key}"`)).map((key) => `${texts}: nobody says ${key}`);
  const lacking = own.flatMap(({ file, text }) => [...text.matchAll(/\bt\("(\w+)"/g)].filter((it) => !known.has(it[1])).map((it) => `${file}: ${texts} has no ${it[1]}`));
  return [...unsaid, ...lacking];
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const found = files(UI, ".js").flatMap((it) => problems(fs.readFileSync(path.join(UI, it), "utf8"), it));
  for (const it of files(path.join(UI, "style"), ".css")) {
    const text = fs.readFileSync(path.join(UI, "style", it), "utf8");
    if (/@import|url\((?!["']?data:)|<\//.test(text)) found.push(`style/${it}: styles stand alone`);
    if (text.split("\n").length > LONGEST) found.push(`style/${it}: too long`);
  }
  for (const page of Object.keys(PAGES)) {
    try {
      link(page);
      found.push(...texts_of(page));
    } catch (error) {
      found.push(String(error.message));
    }
  }
  for (const it of found) console.error(it);
  if (found.length > 0) process.exit(1);
}
