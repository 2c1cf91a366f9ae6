// A grid of any number of rows, of which only those in sight are elements. A real grid for assistive
// technology: counts, sort state, a cell that the keyboard moves.

import { h, fill } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { csv_lines } from "../parts/text.js";

const ROW = 28;
// Browsers can't have elements of any height; beyond it the bar's steps become coarser.
const TALLEST = 8_000_000;

/**
 * @template R
 * @typedef {{ key: string, title: string, width: string, right?: boolean, sortable?: boolean, cell: (row: R, at: number) => Child, why?: string, of?: (row: R) => string | number | null }} Column
 * The value of a cell is what `of` tells, else the row's member by the column's key.
 */

/**
 * @template R
 * @param {{ label: string, columns: Column<R>[], choose: (row: R) => void, sort: (key: string) => void, empty: () => Child }} options
 */
export function make_grid(options) {
  const { columns } = options;
  const template = columns.map((it) => it.width).join(" ");
  // Head and rows are grids of their own: the same least width keeps their columns below one another.
  const least = `${columns.reduce((sum, it) => sum + Number(/(\d+)px/.exec(it.width)?.[1] ?? 80) + 12, 16)}px`;
  const head = h("div", { class: "grid-head", role: "row", "aria-rowindex": "1", style: { "grid-template-columns": template, "min-width": least } });
  const body = h("div", { class: "grid-body", role: "rowgroup", style: { "min-width": least } });
  const element = h("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": options.label, "aria-colcount": String(columns.length) }, h("div", { role: "rowgroup", class: "grid-head-group" }, head), body);
  /** @type {R[]} */
  let rows = [];
  let now = 0;
  /** @type {(row: R) => boolean} */
  let chosen = () => false;
  let frame = 0;
  const buttons = columns.map((column) => h("button", { class: "plain", tabindex: "-1", title: column.why ?? column.title, on: { click: () => options.sort(column.key) } }, h("span", null, column.title), h("span", { class: "sort-sign", "aria-hidden": "true" })));
  const heads = columns.map((column, at) => h("div", { role: "columnheader", class: column.right ? "right" : "", "aria-colindex": String(at + 1) }, column.sortable === false ? h("span", { class: "plain-head", title: column.why ?? column.title }, column.title) : buttons[at]));
  fill(head, heads);

  element.addEventListener("scroll", request);
  const observer = new ResizeObserver(request);
  observer.observe(element);
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((element.clientHeight - ROW) / ROW) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined && rows.length > 0) {
      now = Math.min(rows.length - 1, Math.max(0, now + step));
      reveal(now);
      options.choose(rows[now]);
    } else if (event.key === "Enter" && event.target === element && rows[now]) {
      options.choose(rows[now]);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    element,
    /** @param {R[]} next @param {string} sorted key, with `-` in front where the largest is first */
    show(next, sorted) {
      rows = next;
      now = Math.min(now, Math.max(0, rows.length - 1));
      element.setAttribute("aria-rowcount", String(rows.length + 1));
      const key = sorted.replace(/^-/, "");
      columns.forEach((column, at) => {
        const on = column.key === key;
        heads[at].setAttribute("aria-sort", !on ? "none" : sorted.startsWith("-") ? "descending" : "ascending");
        heads[at].classList.toggle("sorted", on);
        const sign = buttons[at].querySelector(".sort-sign");
        if (sign) fill(sign, on ? (sorted.startsWith("-") ? "▾" : "▴") : "");
      });
      body.style.setProperty("height", `${Math.max(1, Math.min(TALLEST, rows.length * ROW))}px`);
      request();
    },
    /** @param {(row: R) => boolean} is */
    mark(is) {
      chosen = is;
      const at = rows.findIndex(is);
      if (at >= 0 && at !== now) now = at;
      request();
    },
    /** All rows as CSV, under the columns' keys. */
    csv() {
      const value = (/** @type {Column<R>} */ it, /** @type {any} */ row) => (it.of ? it.of(row) : row[it.key]);
      return csv_lines([columns.map((it) => it.key), ...rows.map((row) => columns.map((it) => value(it, row)))]);
    },
    reveal_chosen() {
      const at = rows.findIndex(chosen);
      if (at >= 0) {
        now = at;
        reveal(at);
      }
    },
    dispose() {
      observer.disconnect();
      cancelAnimationFrame(frame);
    },
  };

  function request() {
    if (!frame) frame = requestAnimationFrame(paint);
  }

  function first_shown() {
    const tall = rows.length * ROW;
    if (tall <= TALLEST) return element.scrollTop / ROW;
    const share = element.scrollTop / Math.max(1, TALLEST + ROW - element.clientHeight);
    return share * Math.max(0, rows.length - (element.clientHeight - ROW) / ROW);
  }

  /** @param {number} at */
  function reveal(at) {
    const room = (element.clientHeight - ROW) / ROW;
    const first = first_shown();
    let wanted = first;
    if (at < first) wanted = at;
    else if (at + 1 > first + room) wanted = at + 1 - room;
    if (wanted !== first) {
      element.scrollTop = rows.length * ROW <= TALLEST ? wanted * ROW : (wanted / Math.max(1, rows.length - room)) * (TALLEST + ROW - element.clientHeight);
    }
    request();
  }

  function paint() {
    frame = 0;
    if (rows.length === 0) {
      fill(body, h("div", { class: "grid-empty", role: "row" }, h("div", { role: "gridcell" }, options.empty())));
      element.removeAttribute("aria-activedescendant");
      return;
    }
    const first = first_shown();
    const from = Math.max(0, Math.floor(first) - 4);
    const to = Math.min(rows.length, Math.ceil(first + element.clientHeight / ROW) + 4);
    const base = rows.length * ROW <= TALLEST ? 0 : element.scrollTop - first * ROW;
    /** @type {HTMLElement[]} */
    const shown = [];
    for (let at = from; at < to; at += 1) {
      const row = rows[at];
      const on = chosen(row);
      shown.push(h("div", {
        class: `grid-row${at === now ? " now" : ""}${on ? " chosen" : ""}`, role: "row", id: `${options_id}-${at}`, "aria-rowindex": String(at + 2), "aria-selected": String(on),
        style: { top: `${base + at * ROW}px`, "grid-template-columns": template }, on: { click: () => { now = at; options.choose(row); } },
      }, columns.map((column, number) => h("div", { role: "gridcell", class: column.right ? "right" : "", "aria-colindex": String(number + 1) }, column.cell(row, at)))));
    }
    fill(body, shown);
    if (now >= from && now < to) element.setAttribute("aria-activedescendant", `${options_id}-${now}`);
    else element.removeAttribute("aria-activedescendant");
  }
}

const options_id = "row";

/** The sentence of a grid that has nothing to show. */
export function nothing_matches() {
  return t("nothing_matches");
}
