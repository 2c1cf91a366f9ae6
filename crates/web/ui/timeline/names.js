// The rows' names at the left: only those in sight are elements. Groups fold, rows are pinned and hidden.

import { h, fill } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { group_title, row_title } from "../parts/live.js";
import { about } from "../parts/units.js";
import { group_key } from "./layout.js";

const INDENT = 12;

/**
 * @param {App} app @param {HTMLElement} element
 * @param {{ places: Place[], scroll: number, height: number, notes: Map<string, { counters: { least: number, most: number } | null, merged: boolean }> }} frame
 */
export function show_names(app, element, { places, scroll, height, notes }) {
  const focused = element.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.name : undefined;
  const shown = places.filter((it) => it.y + it.height > scroll - 200 && it.y < scroll + height + 200);
  fill(element, shown.map((it) => (it.row === null ? group_name(app, it) : row_name(app, it, it.row, notes.get(it.row.key)))));
  if (focused) /** @type {HTMLElement | null} */ (element.querySelector(`[data-name="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
}

/** @param {App} app @param {Place} place */
function group_name(app, place) {
  const style = { top: `${place.y}px`, height: `${place.height}px` };
  if (place.pinned) return h("div", { class: "group-name", style }, h("span", { class: "group-pinned" }, t("pinned")));
  const group = app.profile.facts.groups[place.group];
  const key = group_key(group);
  const toggle = () => {
    const list = app.folded.peek();
    app.folded.value = list.includes(key) ? list.filter((it) => it !== key) : [...list, key];
  };
  const title = group_title(group);
  return h("div", { class: "group-name", style },
    h("button", { class: "plain fold", "aria-expanded": String(!place.folded), title, data: { name: `g${key}` }, on: { click: toggle } },
      h("span", { class: place.folded ? "arrow folded" : "arrow", "aria-hidden": "true" }), title));
}

/** @param {App} app @param {Place} place @param {Row} row @param {{ counters: { least: number, most: number } | null, merged: boolean } | undefined} note */
function row_name(app, place, row, note) {
  const title = row_title(app.profile, row);
  const whole = row.facts?.process ? `${title} · ${row.facts.process}` : title;
  const pinned = app.pinned.peek().includes(row.key);
  const nested = row.depth > 0;
  return h("div", { class: `row-name${nested ? " nested" : ""}${row.kind === "busy" ? " busy" : ""}`, style: { top: `${place.y}px`, height: `${place.height}px`, "padding-left": `${14 + (place.pinned ? 0 : INDENT)}px` } },
    h("span", { class: "row-title", title: whole }, nested ? t("depth_n", { n: row.depth + 1 }) : whole),
    note?.merged ? h("span", { class: "merged", title: t("merged_why") }, t("merged")) : null,
    note?.counters ? h("span", { class: "counter-range" }, number(note.counters.most)) : null,
    h("span", { class: "row-tools" },
      h("button", { class: "plain tool", "aria-label": t(pinned ? "unpin_row" : "pin_row", { row: title }), title: t(pinned ? "unpin" : "pin"), "aria-pressed": String(pinned), data: { name: `p${row.key}` }, on: { click: () => { app.pinned.value = pinned ? app.pinned.peek().filter((it) => it !== row.key) : [...app.pinned.peek(), row.key]; } } }, pinned ? "▾" : "▴"),
      h("button", { class: "plain tool", "aria-label": t("hide_row", { row: title }), title: t("hide"), data: { name: `h${row.key}` }, on: { click: () => { app.hidden.value = [...app.hidden.peek(), row.key]; } } }, "×")));
}

/** @param {number} value */
export function number(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return value.toExponential(2);
  const [scale, sign] = size >= 1e12 ? [1e12, "T"] : size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  const part = value / scale;
  return `${Number.isInteger(part) ? part : part.toPrecision(3)}${sign && `\u202f${sign}`}`;
}

/** @param {Profile} profile @param {number} ticks */
export function time_of(profile, ticks) {
  return about(profile.ns(ticks));
}
