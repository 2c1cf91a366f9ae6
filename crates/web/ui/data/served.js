// A profile of which the page holds only a part: the rest is asked for. What is pointed at becomes a guest among the
// slices that the page holds, so that screens treat it as any other.

import { signal } from "../state/signal.js";
import { open_columns } from "./columns.js";
import { make_tiles } from "./tiles.js";
import { is_partly } from "./window.js";

/** @param {Span} view @param {number} width */
function key_of([from, to], width) {
  return `${Math.floor(from)}/${Math.ceil(to)}/${width}`;
}

/** Guests that are kept; the oldest makes room. */
export const GUESTS = 4096;

/**
 * @param {import("./server.js").Server} server
 * @param {import("./profile.js").Profile} profile
 * @param {number} number the profile's
 * @returns {Served}
 */
export function make_served(server, profile, number) {
  const numbers = new Map(profile.rows.map((it, at) => [it, at]));
  const ask = async (/** @type {string} */ question) => {
    const known = { items: profile.items.count, strings: profile.strings.length };
    const answer = open_columns(await server.ask(`${number}/${question}&items=${known.items}&strings=${known.strings}`));
    profile.learn(answer, known);
    return answer;
  };
  const tiles = make_tiles(({ level, first, count, rows }) => ask(`tiles?level=${level}&first=${first}&count=${count}&rows=${rows.join(",")}`), profile.facts.end);
  const told = signal(0);
  const first_counter = profile.facts.rows.length;
  /** @type {Map<Row, Buckets>} */
  let counters = new Map();
  let [counters_for, counters_asked] = ["", ""];
  /** @type {Map<string, WindowAnswer | null>} */
  const windows = new Map();

  return {
    tiles,
    /** Changes when an answer about a range is there. */
    told,
    /** Whether a row's view is painted by tiles. @param {Row} row @param {Span} view */
    paints: (row, view) => row.kind !== "counter" && row.kind !== "inferences" && row.kind !== "unrecorded" && numbers.has(row) && is_partly(profile, view),
    row_number: (/** @type {Row} */ row) => numbers.get(row) ?? -1,
    /** The longest slice of a row within a stretch. @param {Row} row @param {number} from @param {number} to */
    longest: (row, from, to) => guest(`row=${numbers.get(row)}&from=${Math.max(0, Math.floor(from))}&to=${Math.max(0, Math.ceil(to))}`),
    /** The slice of a row nearest to a moment. @param {Row} row @param {number} time @param {number} near */
    nearest: (row, time, near) => guest(`row=${numbers.get(row)}&at=${Math.max(0, Math.round(time))}&near=${Math.min(2 ** 52, Math.ceil(near))}`),
    /** The slice of a link. @param {string} name such as `task:12` */
    named: (name) => guest(`kind=${name.split(":")[0]}&id=${name.split(":")[1]}`),
    /** The slice before or behind one in its row. @param {string} name @param {1 | -1} step */
    beside: (name, step) => guest(`kind=${name.split(":")[0]}&id=${name.split(":")[1]}&step=${step}`),
    window,
    counters: ask_for_counters,
    /** The buckets of a counter, where those of just this view are there. @param {Row} row @param {Span} view @param {number} width */
    buckets: (row, view, width) => (counters_for === key_of(view, width) ? counters.get(row) ?? null : null),
    /** The names in which a text is, of what the page may not hold. @param {string} text @returns {Promise<ServedHit[]>} */
    search: async (text) => (await server.json(`${number}/search?limit=200&q=${encodeURIComponent(text)}`)).hits,
    /** All executions of an operator. @param {number} row @returns {Promise<Executions>} */
    executions: (row) => server.json(`${number}/executions?row=${row}`),
  };

  /** Has the values of counters come, where the page holds but the ends of wide stretches. @param {Row[]} rows @param {Span} view @param {number} width */
  function ask_for_counters(rows, view, width) {
    const { samples, samples_in_full } = profile.report.left_out;
    const key = key_of(view, width);
    const ids = rows.map((it) => (numbers.get(it) ?? 0) - first_counter).join(",");
    if (samples_in_full === samples || ids === "" || counters_asked === key + ids) return;
    counters_asked = key + ids;
    server.ask(`${number}/counters?from=${Math.max(0, Math.floor(view[0]))}&to=${Math.max(1, Math.ceil(view[1]))}&width=${width}&ids=${ids}`).then((data) => {
      if (counters_asked !== key + ids) return;
      [counters_for, counters] = [key, new Map()];
      const table = open_columns(data).table("buckets");
      const part = (/** @type {string} */ name, /** @type {number} */ at) => table.numbers(name).subarray(at * width, (at + 1) * width);
      rows.forEach((row, at) => counters.set(row, { low: part("low", at), high: part("high", at), last: part("last", at) }));
      tiles.arrived.value += 1;
    }, () => { counters_asked = ""; });
  }

  /** @param {string} question @returns {Promise<number>} the slice, or -1 of none */
  async function guest(question) {
    try {
      return profile.invite((await ask(`slice?${question}`)).table("slices"));
    } catch {
      return -1;
    }
  }

  /** The contents of a stretch, or null while it is asked for. @param {Span} span @returns {WindowAnswer | null} */
  function window([from, to]) {
    const question = `${number}/window?from=${Math.floor(from)}&to=${Math.ceil(to)}`;
    const answer = windows.get(question);
    if (answer !== undefined) return answer;
    windows.set(question, null);
    server.json(question).then((it) => {
      if (windows.size > 50) windows.clear();
      windows.set(question, it);
      told.value += 1;
    }, () => windows.delete(question));
    return null;
  }
}
