// The small language of filters: `name:regex type:Conv unit:ai-core >50us <2ms dtype:float16 -stream:3 words`.
// Everything has to hold; a minus turns a part round; quotes keep blanks together.

import { parse_duration } from "../parts/units.js";

/** @typedef {{ name: string, type: string, unit: string, stream: string, data_type: string, shapes: string, mean: number }} Subject `mean` is the time of one execution */
/** @typedef {{ field: "name" | "type" | "unit" | "stream" | "data_type" | "shapes", test: (text: string) => boolean, negative: boolean } | { field: "time", test: (time: number) => boolean, negative: boolean }} Term */

/** @type {Record<string, "name" | "type" | "unit" | "stream" | "data_type" | "shapes">} */
const FIELDS = { name: "name", type: "type", unit: "unit", stream: "stream", dtype: "data_type", shape: "shapes", shapes: "shapes" };
const LOOKED_AT = 1000;

/**
 * @param {string} text
 * @returns {{ terms: Term[], wrong: string[] }} `wrong` has the parts that can't be understood
 */
export function parse_filter(text) {
  /** @type {Term[]} */
  const terms = [];
  /** @type {string[]} */
  const wrong = [];
  for (const part of text.match(/-?(?:[a-z]+:)?(?:"[^"]*"?|\S+)/gi) ?? []) {
    const negative = part.length > 1 && part.startsWith("-");
    const body = negative ? part.slice(1) : part;
    const time = /^([<>]=?)(.+)$/.exec(body);
    if (time) {
      const limit = parse_duration(time[2]);
      if (limit === null) wrong.push(part);
      else terms.push({ field: "time", negative, test: comparison(time[1], limit) });
      continue;
    }
    const named = /^([a-z]+):(.*)$/i.exec(body);
    const field = named ? FIELDS[named[1].toLowerCase()] : "name";
    if (!field || !Object.values(FIELDS).includes(field)) {
      wrong.push(part);
      continue;
    }
    const value = (named ? named[2] : body).replace(/^"([^"]*)"?$/, "$1");
    const test = field === "name" && named ? matching(value) : field === "name" || field === "shapes" ? containing(value) : equal(value);
    if (test) terms.push({ field, test, negative });
    else wrong.push(part);
  }
  return { terms, wrong };
}

/**
 * @param {Term[]} terms
 * @param {Subject} subject
 */
export function passes(terms, subject) {
  return terms.every((it) => (it.field === "time" ? it.test(subject.mean) : it.test(subject[it.field])) !== it.negative);
}

/** @param {string} sign @param {number} limit @returns {(time: number) => boolean} */
function comparison(sign, limit) {
  switch (sign) {
    case ">": return (time) => time > limit;
    case ">=": return (time) => time >= limit;
    case "<": return (time) => time < limit;
    default: return (time) => time <= limit;
  }
}

// Patterns look at the beginning of a name only: names have up to a megabyte, and patterns come with links.
/** @param {string} pattern @returns {((text: string) => boolean) | null} */
function matching(pattern) {
  try {
    const regex = new RegExp(pattern, "i");
    return (text) => regex.test(text.slice(0, LOOKED_AT));
  } catch {
    return null;
  }
}

/** @param {string} part */
function containing(part) {
  const wanted = part.toLowerCase();
  return (/** @type {string} */ text) => text.toLowerCase().includes(wanted);
}

/** @param {string} value */
function equal(value) {
  const wanted = value.toLowerCase();
  return (/** @type {string} */ text) => {
    const own = text.toLowerCase();
    return own === wanted || own.split(/[+ ,]+/).includes(wanted);
  };
}
