// Names from profiles, made harmless for the eye: controls and marks that reverse text become visible
// escapes, and what is too long is cut.

const SHOWN = 200;
const WHOLE = 65536;
// C0, DEL and C1 controls; line and paragraph separators; marks and overrides of direction; the BOM.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * A name as a table or a label shows it.
 * @param {string} name
 * @param {number} [limit] characters
 */
export function shown(name, limit = SHOWN) {
  return harmless(name.length > limit ? `${name.slice(0, limit - 1)}…` : name);
}

/**
 * A name whole, as the panel shows it; beyond 64 kB cut.
 * @param {string} name
 */
export function whole(name) {
  return shown(name, WHOLE);
}

/** @param {string} text */
export function harmless(text) {
  return text.replace(HIDDEN, (it) => `\\u{${it.charCodeAt(0).toString(16)}}`);
}

/** A table's cells as CSV. @param {HTMLTableElement} table */
export function csv_of(table) {
  return csv_lines([...table.rows].map((row) => [...row.cells].map((it) => it.textContent)));
}

/** Rows of values as CSV; one that isn't known is empty. @param {(string | number | null)[][]} rows */
export function csv_lines(rows) {
  return rows.map((row) => `${row.map((it) => csv_cell(it ?? "")).join(",")}\n`).join("");
}

/**
 * A cell of CSV. A leading `'` keeps spreadsheets from reading a name as a formula.
 * @param {string | number} value
 */
function csv_cell(value) {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
