// The budgets of the page that are sizes: linked script, styles and both languages.
import zlib from "node:zlib";
import { shipped } from "./shipped.mjs";

const page = shipped();
if (!page) throw new Error("name the program in OPSCOPE: the page that it carries is measured");
const text = page.script + page.style;
const packed = zlib.gzipSync(text, { level: 9 }).length;
const length = Buffer.byteLength(text);
console.log(`page: ${(length / 1000).toFixed(1)} kB as text (at most 350), ${(packed / 1000).toFixed(1)} kB gzip (at most 90)`);
if (length > 350_000 || packed > 90_000) process.exit(1);
