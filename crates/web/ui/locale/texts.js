// The page's words in the reader's language.

import { en } from "./en.js";
import { refusals_zh } from "./refusals.js";
import { zh } from "./zh.js";

/** @type {Record<string, string>} */
let current = en;

/**
 * @param {Language} language
 */
export function speak(language) {
  current = language === "zh" ? zh : en;
}

/**
 * A text with its values put in: `{n}` by name. Of two forms divided by ` | ` the first is for one.
 * @param {Key} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function t(key, values) {
  let text = current[key];
  if (text.includes(" | ")) {
    const [one, many] = text.split(" | ");
    text = String(values?.n) === "1" ? one : many;
  }
  return values ? text.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole)) : text;
}

/**
 * A text whose key is made of parts; where there is none, the last part as it is.
 * @param {string} prefix @param {string} name
 */
export function word(prefix, name) {
  const key = `${prefix}_${name.replaceAll("-", "_")}`;
  return Object.hasOwn(current, key) ? t(/** @type {Key} */ (key)) : name;
}

/**
 * A sentence of the server's in the reader's language, if it is known.
 * @param {string} english
 */
export function said(english) {
  return current === zh && Object.hasOwn(refusals_zh, english) ? refusals_zh[english] : english;
}
