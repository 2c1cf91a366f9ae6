// Links the page's modules into one script, by the rules of crates/web's build script: for reports made
// without the program, and to read errors in. The program itself links in Rust, and shortens names.
import fs from "node:fs";
import path from "node:path";

export const UI = path.resolve(path.dirname(new URL(import.meta.url).pathname), "../ui");

/** The pages: the module that begins each, the folder of its texts, the styles of others alone. */
export const PAGES = {
  profile: { entry: "main.js", texts: "locale", without: ["4-ranks.css"] },
  ranks: { entry: "ranks.js", texts: "ranks/locale", without: [] },
};

/** A module's text in a page, which has its own texts; the second language's keys are those of the first, as the program links them. @param {string} file @param {string} texts_folder */
function source(file, texts_folder) {
  const is_text = path.dirname(file) === path.join(UI, "locale") && ["en.js", "zh.js"].includes(path.basename(file));
  const text = fs.readFileSync(is_text ? path.join(UI, texts_folder, path.basename(file)) : file, "utf8");
  if (!is_text || path.basename(file) === "en.js") return text;
  const texts = [...text.matchAll(/: ("(?:[^"\\]|\\.)*")/g)].map((it) => it[1]);
  return `import { en } from "./en.js";\nconst texts = [${texts.join(", ")}];\nexport const zh = Object.fromEntries(Object.keys(en).map((key, at) => [key, texts[at]]));\n`;
}

/** @param {keyof typeof PAGES} [page] */
export function link(page = "profile") {
  const { done, order } = visited(page);
  const body = order.map((file) => `const ${id(file)} = (() => {\n${done.get(file).body}return { ${done.get(file).exports.join(", ")} };\n})();`);
  return `"use strict";\n${body.join("\n")}\n`;
}

/** The modules of a page. @param {keyof typeof PAGES} page @returns {string[]} by their names below the pages' folder */
export function modules(page) {
  return visited(page).order.map((it) => path.relative(UI, it));
}

function id(file) {
  return `$${path.relative(UI, file).replace(/[^A-Za-z0-9]/g, "_")}`;
}

/** @param {keyof typeof PAGES} page */
function visited(page) {
  const { entry, texts } = PAGES[page];
  const done = new Map();
  const order = [];
  visit(path.join(UI, entry), []);
  return { done, order };

  function visit(file, open) {
    if (done.has(file)) return;
    if (open.includes(file)) throw new Error(`${file}: imports itself in a circle: ${[...open.slice(open.indexOf(file)), file].map((it) => path.relative(UI, it)).join(" → ")}`);
    let body = "";
    const exports = [];
    let documents = false;
    source(file, texts).split("\n").forEach((line, at) => {
      const place = `${file}:${at + 1}`;
      if (/<\/script|<!--/i.test(line)) throw new Error(`${place}: ends the script`);
      if (documents) {
        documents = !line.includes("*/");
        if (!documents && line.split("*/")[1].trim() !== "") throw new Error(`${place}: something follows a comment`);
        return;
      }
      if (line.trimStart().startsWith("/**")) {
        documents = !line.includes("*/");
        if (!documents && line.split("*/").slice(1).join("*/").trim() !== "") throw new Error(`${place}: something follows a comment`);
        return;
      }
      if (line.split("`").length % 2 === 0) throw new Error(`${place}: a template literal ends on the line that it begins on`);
      if (/\bimport\(/.test(line) || /^await\b/.test(line)) throw new Error(`${place}: modules are static`);
      if (line.startsWith("import ")) {
        const parts = /^import \{ (.+) \} from "(\..+)";$/.exec(line);
        if (!parts) throw new Error(`${place}: only import { a, b } from "./c.js";`);
        const target = path.resolve(path.dirname(file), parts[2]);
        visit(target, [...open, file]);
        const names = parts[1].split(", ").map((it) => {
          const [name, alias] = it.split(" as ");
          if (!done.get(target).exports.includes(name)) throw new Error(`${place}: ${parts[2]} has no ${name}`);
          return alias ? `${name}: ${alias}` : name;
        });
        body += `const { ${names.join(", ")} } = ${id(target)};\n`;
      } else if (line.startsWith("export ")) {
        const name = /^export (?:async function\*?|function\*?|class|const) ([\w$]+)/.exec(line);
        if (!name) throw new Error(`${place}: only declarations are exported`);
        exports.push(name[1]);
        body += `${without_types(line.slice(7))}\n`;
      } else if (line.trim() !== "" && !line.trim().startsWith("//")) {
        body += `${without_types(line.trim())}\n`;
      }
    });
    done.set(file, { body, exports });
    order.push(file);
  }
}

/** A line without the comments for the type checker within it. @param {string} line */
function without_types(line) {
  return line.replace(/\/\*\*.*?\*\/ ?/g, "");
}

/** The styles of a page in the order of their names. @param {keyof typeof PAGES} [page] */
export function styles(page = "profile") {
  const folder = path.join(UI, "style");
  return fs.readdirSync(folder).filter((it) => it.endsWith(".css") && !PAGES[page].without.includes(it)).sort().map((it) => fs.readFileSync(path.join(folder, it), "utf8")).join("");
}
