// Puts the page as it is now into a report that the program wrote: to try changes without building it.
// usage: node relink.mjs REPORT.html OUT.html
import fs from "node:fs";
import crypto from "node:crypto";
import { link, styles } from "./link.mjs";

const [from, to] = process.argv.slice(2);
const html = fs.readFileSync(from, "utf8");
const part = (id) => { const begin = html.indexOf(`id="${id}">`); if (begin < 0) throw new Error(`${from}: no #${id}`); return html.slice(begin + id.length + 6, html.indexOf("</script>", begin)); };
// The profile before a change has columns of its own.
const columns = ["columns", "columns-before"].filter((id) => html.includes(`id="${id}">`)).map((id) => `<script type="text/plain" id="${id}">${part(id)}</script>\n`);
const page = JSON.parse(part("report")).cluster ? "ranks" : "profile";
const [script, style] = [link(page), styles(page)];
const hash = (text) => `'sha256-${crypto.createHash("sha256").update(text).digest("base64")}'`;
const fallback = /<main id="fallback">[\s\S]*?<\/main>/.exec(html)?.[0] ?? '<main id="fallback"></main>';
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
fs.writeFileSync(to, `<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><meta name="viewport" content="width=device-width, initial-scale=1"><title>report · opscope</title><style>${style}</style></head>\n<body>\n<div id="app"></div>\n${fallback}\n<script type="application/json" id="report">${part("report")}</script>\n${columns.join("")}<script>${script}</script>\n</body></html>\n`);
