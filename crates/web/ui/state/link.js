// The page's state as a link: `#/timeline?t=1200345..2400000&sel=task:1234&q=type:Conv&v=9f3a12cd`.

/** @type {readonly ScreenName[]} */
export const SCREENS = ["overview", "timeline", "operators", "model", "roofline", "compare", "advice", "about"];
/** @type {readonly Colouring[]} */
export const COLOURINGS = ["type", "operator", "unit", "stream", "share", "waiting", "change"];
/** @type {readonly Grouping[]} */
export const GROUPINGS = ["operator", "type", "name", "unit", "stream", "shape", "iteration", "call"];
const LONGEST = 2000;
// The order in which parts are given up where a link becomes too long.
const LAST = /** @type {const} */ (["hide", "fold", "pin", "kb", "k", "q", "sel"]);

/** @returns {LinkState} */
export function empty_state() {
  return { screen: "overview", p: 0, b: null, o: null, t: null, m: null, sel: null, q: "", g: "operator", s: null, c: "type", gr: "", fold: [], hide: [], pin: [], k: [], kb: [], y: false, v: null, lang: null, theme: null };
}

/**
 * The state that a fragment tells. Parts that are unknown or wrong are left out and named.
 * @param {string} fragment with or without its `#`
 * @returns {{ state: LinkState, wrong: string[] }}
 */
export function parse_link(fragment) {
  const state = empty_state();
  /** @type {string[]} */
  const wrong = [];
  const text = fragment.replace(/^#/, "");
  if (text === "") return { state, wrong };
  const parts = /^\/([^?]*)(?:\?(.*))?$/s.exec(text);
  if (!parts) return { state, wrong: [text] };
  const screen = SCREENS.find((it) => it === parts[1]);
  if (screen) state.screen = screen;
  else if (parts[1] !== "") wrong.push(parts[1]);
  for (const [name, value] of new URLSearchParams(parts[2] ?? "")) {
    if (!take(state, name, value)) wrong.push(name);
  }
  return { state, wrong };
}

/**
 * The fragment of a state, at most 2,000 characters long.
 * @param {LinkState} state
 * @returns {string}
 */
export function format_link(state) {
  /** @type {Map<string, string>} */
  const parts = new Map();
  const put = (/** @type {string} */ name, /** @type {string | null} */ value) => { if (value) parts.set(name, value); };
  put("p", state.p > 0 ? String(state.p) : null);
  put("b", state.b === null ? null : String(state.b));
  put("o", state.o === null ? null : String(state.o));
  put("t", state.t && span_text(state.t));
  put("m", state.m && span_text(state.m));
  put("sel", state.sel);
  put("q", state.q);
  put("g", state.g === "operator" ? null : state.g);
  put("s", state.s);
  put("c", state.c === "type" ? null : state.c);
  put("gr", state.gr);
  put("fold", list_text(state.fold));
  put("hide", list_text(state.hide));
  put("pin", list_text(state.pin));
  put("k", flags_text(state.k));
  put("kb", flags_text(state.kb));
  put("y", state.y ? "all" : null);
  put("v", state.v);
  put("lang", state.lang);
  put("theme", state.theme);
  let text = joined(state.screen, parts);
  for (const name of LAST) {
    if (text.length <= LONGEST) break;
    parts.delete(name);
    text = joined(state.screen, parts);
  }
  return text;
}

/** @param {LinkState} state @param {string} name @param {string} value @returns {boolean} whether it was understood */
function take(state, name, value) {
  switch (name) {
    case "p": {
      const known = /^\d{1,4}$/.test(value);
      if (known) state.p = Number(value);
      return known;
    }
    case "b": {
      const known = /^\d{1,4}$/.test(value);
      if (known) state.b = Number(value);
      return known;
    }
    case "o": {
      const known = /^-?\d{1,16}$/.test(value);
      if (known) state.o = Number(value);
      return known;
    }
    case "t": return (state.t = span_of(value)) !== null;
    case "m": return (state.m = span_of(value)) !== null;
    case "sel": {
      const known = /^(task|call|range|inference|unrecorded|mark):\d{1,10}$/.test(value) || /^((?:op|group):\d{1,10}|node:\d{1,7}|type:.{1,500}|rule:[A-Za-z0-9_-]{1,40})$/s.test(value);
      if (known) state.sel = value;
      return known;
    }
    case "q": state.q = value.slice(0, 1000); return true;
    case "g": return choose(GROUPINGS, value, (it) => { state.g = it; });
    case "s": {
      const known = /^-?[a-z_0-9]{1,30}$/.test(value);
      if (known) state.s = value;
      return known;
    }
    case "c": return choose(COLOURINGS, value, (it) => { state.c = it; });
    case "gr": {
      const known = /^[a-z.]{0,40}(@-?\d{1,9},-?\d{1,9},[\d.]{1,6})?$/.test(value);
      if (known) state.gr = value;
      return known;
    }
    case "fold": state.fold = list_of(value); return true;
    case "hide": state.hide = list_of(value); return true;
    case "pin": state.pin = list_of(value); return true;
    case "k":
    case "kb": {
      const flags = list_of(value).map((it) => /^(-?\d{1,16}):(.*)$/s.exec(it));
      state[name] = flags.flatMap((it) => (it ? [{ at: Number(it[1]), name: it[2].slice(0, 80) }] : []));
      return flags.every((it) => it !== null);
    }
    case "y": return (state.y = value === "all");
    case "v": {
      const known = /^[0-9a-f]{8}$/.test(value);
      if (known) state.v = value;
      return known;
    }
    case "lang": return choose(/** @type {const} */ (["en", "zh"]), value, (it) => { state.lang = it; });
    case "theme": return choose(/** @type {const} */ (["auto", "light", "dark"]), value, (it) => { state.theme = it; });
    default: return false;
  }
}

/**
 * @template {string} T
 * @param {readonly T[]} known @param {string} value @param {(it: T) => void} put
 */
function choose(known, value, put) {
  const found = known.find((it) => it === value);
  if (found) put(found);
  return found !== undefined;
}

/** @param {string} value @returns {Span | null} */
function span_of(value) {
  const parts = /^(-?\d{1,16})\.\.(-?\d{1,16})$/.exec(value);
  if (!parts) return null;
  const [from, to] = [Number(parts[1]), Number(parts[2])];
  return Number.isSafeInteger(from) && Number.isSafeInteger(to) && from < to ? [from, to] : null;
}

/** @param {Span} span */
function span_text(span) {
  return `${Math.floor(span[0])}..${Math.max(Math.floor(span[0]) + 1, Math.ceil(span[1]))}`;
}

/** @param {Flag[]} flags */
function flags_text(flags) {
  return list_text(flags.map((it) => `${Math.round(it.at)}:${it.name}`));
}

// A comma separates; one within a name is doubled as `~c`, the tilde as `~~`.
/** @param {string[]} values */
function list_text(values) {
  return values.map((it) => it.replaceAll("~", "~~").replaceAll(",", "~c")).join(",");
}

/** @param {string} value */
function list_of(value) {
  return value === "" ? [] : value.split(",").slice(0, 200).map((it) => it.replace(/~([~c])/g, (_, sign) => (sign === "c" ? "," : "~")));
}

/** @param {ScreenName} screen @param {Map<string, string>} parts */
function joined(screen, parts) {
  const rest = [...parts].map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2F/g, "/").replace(/%2C/g, ",")}`).join("&");
  return rest ? `#/${screen}?${rest}` : `#/${screen}`;
}
