// The search: operators, types, calls and ranges, findings, commands. Enter walks the matches.

import { h, fill } from "./dom.js";
import { t, word } from "../locale/texts.js";
import { batch } from "../state/signal.js";
import { shown } from "./text.js";
import { about, count, percent } from "./units.js";
import { ITEM } from "../data/profile.js";
import { commands } from "./commands.js";
import { choose_slice, reveal } from "../timeline/moves.js";
import { executions_of } from "../timeline/find.js";

const SHOWN = 40;

/** @typedef {{ kind: string, text: string, more: string, go: () => void }} Hit */

/** @param {App} app */
export function search_box(app) {
  const input = h("input", { type: "search", role: "combobox", "aria-expanded": "false", "aria-controls": "search-hits", "aria-autocomplete": "list", placeholder: t("search_hint"), "aria-label": t("search"), autocomplete: "off", spellcheck: "false" });
  const list = h("div", { class: "hits", id: "search-hits", role: "listbox", "aria-label": t("search_hits"), hidden: true });
  const element = h("div", { class: "search" }, input, list);
  /** @type {Hit[]} */
  let hits = [];
  let at = 0;

  input.addEventListener("input", look);
  input.addEventListener("focus", look);
  input.addEventListener("blur", () => setTimeout(close, 150));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.code === "ArrowDown" || event.code === "ArrowUp") {
      event.preventDefault();
      at = Math.max(0, Math.min(hits.length - 1, at + (event.code === "ArrowDown" ? 1 : -1)));
      paint();
    } else if (event.key === "Enter" && !event.isComposing) {
      hits[at]?.go();
      // The next Enter goes on to the next match.
      if (hits.length > 1 && !input.value.startsWith(">")) at = (at + (event.shiftKey ? hits.length - 1 : 1)) % hits.length;
      else close();
      paint();
    } else if (event.key === "Escape") {
      input.value = "";
      close();
      document.getElementById("screen")?.focus();
    }
  });

  return {
    element,
    /** @param {boolean} [only_commands] */
    open(only_commands) {
      if (only_commands) input.value = "> ";
      input.focus();
      if (!only_commands) input.select();
      look();
    },
    dispose() {},
  };

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function look() {
    const text = input.value.trim();
    at = 0;
    hits = text === "" ? [] : find(app, text);
    paint();
    // Of a profile that the page doesn't hold whole the server knows the other names.
    const { served } = app.profile;
    if (served && text !== "" && !text.startsWith(">")) {
      served.search(text).then((found) => {
        if (input.value.trim() !== text) return;
        const known = hits.length;
        hits = [...hits, ...found.filter((it) => it.ids).map((it) => hit_of(app, it))].slice(0, SHOWN);
        if (hits.length > known) paint();
      }, () => {});
    }
  }

  function paint() {
    list.hidden = input.value.trim() === "" || document.activeElement !== input;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (hits.length > 0) input.setAttribute("aria-activedescendant", `hit-${at}`);
    else input.removeAttribute("aria-activedescendant");
    fill(list, hits.length === 0
      ? h("div", { class: "hit none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, t("search_none"))
      : hits.map((hit, number) => h("div", { class: number === at ? "hit now" : "hit", id: `hit-${number}`, role: "option", "aria-selected": String(number === at), on: { pointerdown: (/** @type {Event} */ event) => { event.preventDefault(); at = number; hit.go(); close(); } } },
        h("span", { class: "hit-kind" }, hit.kind), h("span", { class: "hit-text" }, hit.text), h("span", { class: "hit-more" }, hit.more))));
    list.querySelector(".now")?.scrollIntoView({ block: "nearest" });
  }
}

/** @param {App} app @param {string} text @returns {Hit[]} */
function find(app, text) {
  const { profile } = app;
  const only_commands = text.startsWith(">");
  const wanted = (only_commands ? text.slice(1) : text).trim().toLowerCase();
  /** @type {Hit[]} */
  const hits = [];
  const room = () => hits.length < SHOWN;
  const of_commands = commands(app).filter((it) => it.name.toLowerCase().includes(wanted));
  if (only_commands) return of_commands.slice(0, SHOWN).map((it) => ({ kind: it.key, text: it.name, more: "", go: it.run }));
  for (const it of profile.overview.types) {
    if (room() && it.type.toLowerCase().includes(wanted)) hits.push({ kind: t("type"), text: shown(it.type), more: percent(it.share), go: () => { app.selection.value = { kind: "type", type: it.type }; } });
  }
  for (const it of profile.operators) {
    if (!room()) break;
    if (!it.name.toLowerCase().includes(wanted)) continue;
    hits.push({ kind: t("operator"), text: shown(it.name), more: about(it.time), go: () => {
      const first = executions_of(profile, it.row)[0];
      batch(() => {
        app.selection.value = { kind: "operator", operator: it.row };
        if (app.screen.peek() === "timeline" && first !== undefined) reveal(app, first);
      });
    } });
  }
  for (let item = 0; item < profile.items.count && room() && !profile.served; item += 1) {
    const kind = profile.items.kind[item];
    if (kind !== ITEM.call && kind !== ITEM.range && kind !== ITEM.mark) continue;
    if (!profile.item_name(item).toLowerCase().includes(wanted)) continue;
    hits.push({ kind: word("kind", kind === ITEM.call ? "call" : kind === ITEM.range ? "range" : "mark"), text: shown(profile.item_name(item)), more: "", go: () => next_of_item(app, item) });
  }
  for (const it of profile.report.advice.findings) {
    if (room() && `${it.id} ${it.title} ${it.zh?.title ?? ""}`.toLowerCase().includes(wanted)) {
      hits.push({ kind: t("finding"), text: shown(app.language.peek() === "zh" && it.zh ? it.zh.title : it.title), more: it.id, go: () => batch(() => { app.selection.value = { kind: "finding", rule: it.id }; app.screen.value = "advice"; }) });
    }
  }
  for (const it of of_commands) if (room()) hits.push({ kind: t("command"), text: it.name, more: it.key, go: it.run });
  return hits;
}

// Each turn shows the next slice of a name.
/** @param {App} app @param {ServedHit} it @returns {Hit} */
function hit_of(app, it) {
  const ids = it.ids ?? [];
  let at = -1;
  return { kind: word("kind", it.kind), text: shown(it.name), more: `× ${count(it.count ?? ids.length)}`, go: () => {
    at = (at + 1) % ids.length;
    show_named(app, `${it.kind}:${ids[at]}`);
  } };
}

/** Goes to a slice that the page may not hold, by its name in links. @param {App} app @param {string} name */
export function show_named(app, name) {
  void app.profile.served?.named(name).then((slice) => {
    if (slice < 0) return;
    app.screen.value = "timeline";
    reveal(app, slice);
    choose_slice(app, slice);
  });
}

// The next slice of an item after the selected one, from the first on again behind the last.
/** @param {App} app @param {number} item */
export function next_of_item(app, item) {
  const { profile } = app;
  const selection = app.selection.peek();
  const after = selection?.kind === "slice" && profile.item[selection.slice] === item ? selection.slice + 1 : 0;
  let found = profile.item.indexOf(item, after);
  if (found < 0) found = profile.item.indexOf(item);
  if (found < 0) return;
  app.screen.value = "timeline";
  reveal(app, found);
  choose_slice(app, found);
}
