// Quantities as the command line writes them, digit for digit (`opscope_trace::units`).

/**
 * A duration with the unit that suits it: `870 ns`, `1.23 µs`, `45.6 ms`, `2.00 s`.
 * @param {number} nanoseconds
 */
export function duration(nanoseconds) {
  if (Math.abs(nanoseconds) < 1000) return `${nanoseconds} ns`;
  return scaled(nanoseconds / 1e3, 1000, ["µs", "ms", "s"]);
}

/**
 * A duration that a division may have left with a fraction of a nanosecond.
 * @param {number} nanoseconds
 */
export function about(nanoseconds) {
  return duration(Math.round(nanoseconds));
}

/** @param {number} operations */
export function flops(operations) {
  return scaled(operations, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]);
}

/** @param {number} rate */
export function flop_rate(rate) {
  return scaled(rate, 1000, ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"]);
}

/** @param {number} count */
export function bytes(count) {
  return scaled(count, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/** @param {number} rate */
export function byte_rate(rate) {
  return scaled(rate, 1024, ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"]);
}

/** @param {number} share */
export function percent(share) {
  return `${fixed(share * 100, 1)} %`;
}

/**
 * A whole number with thin groups of three: `1 234 567`.
 * @param {number} value
 */
export function count(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/**
 * Reads a duration as people write it: `50us`, `1.5ms`, `2s`, `1min`; `null` if it isn't one.
 * @param {string} text
 * @returns {number | null}
 */
export function parse_duration(text) {
  const parts = /^\s*(\d+\.?\d*|\.\d+)\s*(ns|us|µs|μs|ms|s|min)\s*$/.exec(text);
  if (!parts) return /^\s*0+\s*$/.test(text) ? 0 : null;
  const units = { ns: 1, us: 1e3, "µs": 1e3, "μs": 1e3, ms: 1e6, s: 1e9, min: 60e9 };
  return Math.round(Number(parts[1]) * units[/** @type {keyof typeof units} */ (parts[2])]);
}

/** @param {number} value @param {number} step @param {string[]} units */
function scaled(value, step, units) {
  let at = 0;
  // 999.6 would be written as 1000: it already belongs to the next unit.
  while (at + 1 < units.length && Math.abs(value) >= step - 0.5) {
    value /= step;
    at += 1;
  }
  const size = Math.abs(value);
  let decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  if (at === 0 && Number.isInteger(value)) decimals = 0;
  return `${fixed(value, decimals)} ${units[at]}`;
}

// Rust rounds the exact binary value to the even neighbour where it lies half-way, `toFixed` away from zero:
// such halves exist for few digits only, and are decided here.
/** @param {number} value @param {number} decimals */
function fixed(value, decimals) {
  const factor = 10 ** decimals;
  const twice = value * factor * 2;
  if (Math.abs(value) < 1e6 && Number.isInteger(twice) && Math.abs(twice % 2) === 1 && twice / 2 / factor === value && exact(value, factor)) {
    const low = Math.floor(twice / 2);
    return ((low % 2 === 0 ? low : low + 1) / factor).toFixed(decimals);
  }
  return value.toFixed(decimals);
}

// Whether a product is the true one: binary fractions with few digits only are.
/** @param {number} value @param {number} factor */
function exact(value, factor) {
  const steps = value * 1024;
  return Number.isInteger(steps) && Number.isSafeInteger(steps * factor);
}
