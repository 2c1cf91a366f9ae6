// The page's state as a link: `#/ranks?sel=rank:49&m=waiting&r=0-63&v=9f3a12cd`.

/** @type {readonly Measure[]} */
const MEASURES = ["waiting", "compute", "transfer", "bubble", "idle", "step"];
/** The pictures that can be shown as tables. */
const TABLES = /** @type {const} */ (["heat", "links", "waits"]);
const LONGEST = 2000;
const LIST = /^\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*$/;

/** @returns {RanksLink} */
export function empty_state() {
  return { sel: null, m: "waiting", r: null, k: "", x: "", g: "step", s: "", lr: "", ls: "", t: null, tab: [], v: null, lang: null, theme: null };
}

/**
 * The state that a fragment tells. Parts that are unknown or wrong are left out and named.
 * @param {string} fragment with or without its `#`
 * @returns {{ state: RanksLink, wrong: string[] }}
 */
export function parse_link(fragment) {
  const state = empty_state();
  /** @type {string[]} */
  const wrong = [];
  const text = fragment.replace(/^#/, "");
  if (text === "") return { state, wrong };
  const parts = /^\/(?:ranks)?(?:\?(.*))?$/s.exec(text);
  if (!parts) return { state, wrong: [text] };
  for (const [name, value] of new URLSearchParams(parts[1] ?? "")) {
    if (!take(state, name, value)) wrong.push(name);
  }
  return { state, wrong };
}

/** The fragment of a state, at most 2,000 characters long. @param {RanksLink} state */
export function format_link(state) {
  const parts = { sel: state.sel, m: state.m === "waiting" ? null : state.m, r: state.r && state.r.join("-"), k: state.k, x: state.x, g: state.g === "step" ? null : state.g, s: state.s, lr: state.lr, ls: state.ls, t: state.t && state.t.map(Math.round).join(".."), tab: state.tab.join(","), v: state.v, lang: state.lang, theme: state.theme };
  const made = (/** @type {[string, string | null][]} */ list) => {
    const rest = list.filter(([, value]) => value).map(([name, value]) => `${name}=${encodeURIComponent(value ?? "").replace(/%3A/g, ":").replace(/%2C/g, ",")}`).join("&");
    return rest === "" ? "#/ranks" : `#/ranks?${rest}`;
  };
  const list = Object.entries(parts);
  const whole = made(list);
  return whole.length <= LONGEST ? whole : made(list.filter(([name]) => name !== "lr" && name !== "ls"));
}

/** @param {RanksLink} state @param {string} name @param {string} value @returns {boolean} whether it was understood */
function take(state, name, value) {
  switch (name) {
    case "sel": return matches(/^(rank|port|group):\d{1,9}$|^link:\d{1,9}-\d{1,9}$/, value, () => { state.sel = value; });
    case "m": return matches(MEASURES, value, () => { state.m = /** @type {Measure} */ (value); });
    case "r": {
      const range = /^(\d{1,9})-(\d{1,9})$/.exec(value);
      if (!range || Number(range[1]) > Number(range[2])) return false;
      state.r = [Number(range[1]), Number(range[2])];
      return true;
    }
    case "k": return matches(/^[a-zA-Z]{1,20} [a-zA-Z]{1,30}$/, value, () => { state.k = value; });
    case "x": return matches(/^[a-zA-Z]{1,10}$/, value, () => { state.x = value; });
    case "g": return matches(/^[a-z]{1,10}$/, value, () => { state.g = value; });
    case "s": return matches(/^-?[a-z_]{1,30}$/, value, () => { state.s = value; });
    case "lr": return matches(LIST, value, () => { state.lr = value; });
    case "ls": return matches(LIST, value, () => { state.ls = value; });
    case "t": {
      const span = /^(\d{1,16})\.\.(\d{1,16})$/.exec(value);
      if (!span || Number(span[1]) >= Number(span[2])) return false;
      state.t = [Number(span[1]), Number(span[2])];
      return true;
    }
    case "tab": {
      const tables = value.split(",");
      state.tab = TABLES.filter((it) => tables.includes(it));
      return state.tab.length === tables.length;
    }
    case "v": return matches(/^[0-9a-f]{8}$/, value, () => { state.v = value; });
    case "lang": return matches(["en", "zh"], value, () => { state.lang = /** @type {Language} */ (value); });
    case "theme": return matches(["auto", "light", "dark"], value, () => { state.theme = /** @type {Theme} */ (value); });
    default: return false;
  }
}

/** @param {RegExp | readonly string[]} known @param {string} value @param {() => void} put */
function matches(known, value, put) {
  const is = known instanceof RegExp ? known.test(value) : known.includes(value);
  if (is) put();
  return is;
}

/** The numbers of a list such as `0-3,49`; null where it is none, or has more than a million. @param {string} list @returns {number[] | null} */
export function numbers_of(list) {
  const plain = list.replace(/\s/g, "");
  if (!LIST.test(plain)) return null;
  const numbers = new Set();
  for (const part of plain.split(",")) {
    const [first, last = first] = part.split("-").map(Number);
    if (first > last || last - first > 1e6 || numbers.size > 1e6) return null;
    for (let number = first; number <= last; number += 1) numbers.add(number);
  }
  return [...numbers].sort((a, b) => a - b);
}

/** Numbers as a list such as `0-3,49`. @param {number[]} numbers in order */
export function list_of(numbers) {
  /** @type {[number, number][]} */
  const runs = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run && run[1] + 1 === number) run[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}
