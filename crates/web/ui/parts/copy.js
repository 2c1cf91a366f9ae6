// To the clipboard; where a browser doesn't let a page of a file do so, by way of a text that is selected.

import { h } from "./dom.js";
import { t } from "../locale/texts.js";
import { harmless } from "./text.js";

/** @param {Saving} app @param {string} text @param {string} done what is said then */
export async function copy(app, text, done) {
  try {
    await navigator.clipboard.writeText(text);
    app.note.value = done;
  } catch {
    const field = h("textarea", { class: "unseen", "aria-hidden": "true" }, text);
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    app.note.value = copied ? done : t("copy_failed");
  }
}

/**
 * Has the browser save a text as a file.
 * @param {string} name @param {string} type @param {string | Blob} content
 */
export function save(name, type, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const TYPES = { CSV: "text/csv", JSON: "application/json" };

/**
 * A button that saves a text under the profile's name.
 * @param {Saving} app @param {string} part of the profile @param {keyof typeof TYPES} kind @param {() => string} make
 */
export function save_text(app, part, kind, make) {
  return h("button", { class: "small", title: t("save_file"), on: { click: () => save(`${app.profile.report.name}.${part}.${kind.toLowerCase()}`, TYPES[kind], make()) } }, kind);
}

/** @param {unknown} value */
export function json_of(value) {
  return `${JSON.stringify(value, null, 1)}\n`;
}

/**
 * Saves what the server makes.
 * @param {Saving} app @param {string} question @param {string} ending @param {string} type
 */
export async function save_file(app, question, ending, type) {
  try {
    const content = await app.profile.file?.(question);
    if (content) save(`${app.profile.report.name}.${ending}`, type, content);
  } catch (error) {
    app.note.value = t("save_failed", { why: error instanceof Error ? error.message : "" });
  }
}

/**
 * A command with a button that copies it.
 * @param {Saving} app @param {string} command
 */
export function command_box(app, command) {
  return h("div", { class: "command" }, h("code", null, harmless(command)), h("button", { class: "plain", on: { click: () => copy(app, command, t("command_copied")) } }, t("copy")));
}
