// Twenty colours, the same hues in both themes, at least 3:1 against the background. A type's colour is that
// of its kind: `Conv`, `Conv2D` and `FusedConv` are one, in every screen and every profile.

const COUNT = 20;
const RAMP = 16;

// The commonest kinds, by a part of the type's name in small letters; the first that fits counts.
/** @type {readonly (readonly [string, number])[]} */
const KINDS = [
  ["depthwiseconv", 10], ["deconv", 11], ["convtranspose", 11], ["conv", 0], ["matmul", 2], ["gemm", 2], ["fullyconnected", 2], ["linear", 2],
  ["attention", 12], ["batchnorm", 4], ["bninfer", 4], ["layernorm", 14], ["rmsnorm", 14], ["norm", 4], ["softmax", 6], ["softplus", 16],
  ["leakyrelu", 8], ["relu", 8], ["sigmoid", 18], ["tanh", 18], ["gelu", 18], ["silu", 18], ["swish", 18], ["mish", 18], ["activation", 8],
  ["pool", 1], ["add", 3], ["sub", 3], ["mul", 13], ["div", 13], ["concat", 5], ["split", 15], ["slice", 15], ["transpose", 7], ["transdata", 7],
  ["permute", 7], ["reshape", 17], ["flatten", 17], ["squeeze", 17], ["cast", 9], ["quant", 9], ["gather", 19], ["reduce", 11], ["pad", 17],
  ["resize", 16], ["upsample", 16], ["memcpy", 9], ["memset", 9], ["copy", 9], ["allreduce", 12], ["allgather", 12], ["hcom", 12], ["lstm", 10], ["gru", 10],
];

/**
 * The number of a type's colour, 0 to 19.
 * @param {string} type
 */
export function colour_of_type(type) {
  const small = type.toLowerCase();
  // The first part of a fused type leads: `Conv + Relu` is a convolution.
  const lead = small.split("+")[0].replace(/^fused_?|^qlinear|^quantized/, "");
  const found = KINDS.find(([part]) => lead.includes(part));
  return found ? found[1] : colour_of_name(type);
}

/** @param {string} name */
export function colour_of_name(name) {
  let hash = 2166136261;
  const end = Math.min(name.length, 256);
  for (let at = 0; at < end; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 16777619);
  return (hash >>> 0) % COUNT;
}

/**
 * The colours that canvases need of a theme. `fills`: 0 background, 1 to 20 the colours, 21 to 40 the same faded,
 * then a ramp from light to dark and the same faded, then
 * that of rows which only say whether something ran.
 * @param {boolean} dark
 */
export function make_palette(dark) {
  const background = dark ? [22, 25, 31] : [255, 255, 255];
  /** @type {number[][]} */
  const colours = [];
  for (let number = 0; number < COUNT; number += 1) {
    const hue = 250 + Math.floor(number / 2) * 36;
    const lightness = dark ? (number % 2 ? 0.66 : 0.77) : number % 2 ? 0.6 : 0.65;
    colours.push(oklch(lightness, 0.115, hue));
  }
  /** @type {number[][]} */
  const ramp = [];
  for (let step = 0; step < RAMP; step += 1) {
    const part = step / (RAMP - 1);
    ramp.push(dark ? oklch(0.42 + 0.45 * part, 0.05 + 0.09 * part, 70) : oklch(0.86 - 0.42 * part, 0.06 + 0.1 * part, 45));
  }
  const faded = (/** @type {number[]} */ colour) => colour.map((it, at) => Math.round(background[at] + (it - background[at]) * 0.25));
  const busy = dark ? [126, 140, 160] : [112, 126, 146];
  const all = [background, ...colours, ...colours.map(faded), ...ramp, ...ramp.map(faded), busy];
  return {
    dark,
    fills: Uint32Array.from(all, ([red, green, blue]) => (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0),
    css: colours.map(css),
    ramp: ramp.map(css),
    background: css(background),
    raised: dark ? "#1d2129" : "#f5f6f8",
    line: dark ? "#323844" : "#dde1e7",
    strong_line: dark ? "#566072" : "#a9b1bd",
    text: dark ? "#e8ebf0" : "#1b1f26",
    soft: dark ? "#a4adba" : "#5a6472",
    on_fill: "#0b0d10",
    on_faded: dark ? "#a4adba" : "#5a6472",
    accent: dark ? "#7cb2ff" : "#0b62d6",
    mark: dark ? "rgba(124,178,255,0.16)" : "rgba(11,98,214,0.12)",
    shade: dark ? "rgba(255,255,255,0.045)" : "rgba(20,30,50,0.045)",
    flag: dark ? "#ffb454" : "#b45309",
    counter: dark ? "#86b7d8" : "#3c7ba4",
    counter_band: dark ? "rgba(134,183,216,0.28)" : "rgba(60,123,164,0.22)",
  };
}

/** @typedef {ReturnType<typeof make_palette>} Palette */

/** The limits of a roofline, in the order of their numbers from 1. */
export const BOUNDS = ["compute", "memory", "neither"];
/** The same limits as signs beside their colours. */
export const BOUND_SIGNS = "●■▲";
/** Faster, same and slower as signs. */
export const CHANGE_SIGNS = "▼=▲";

/** Places in `fills`. */
export const FILL = { colours: 1, faded: 1 + COUNT, ramp: 1 + 2 * COUNT, faded_ramp: 1 + 2 * COUNT + RAMP, ramp_steps: RAMP, busy: 1 + 2 * COUNT + 2 * RAMP };

/**
 * sRGB of OKLCH; where a screen can't show it, with less colour.
 * @param {number} lightness @param {number} chroma @param {number} hue in degrees
 * @returns {[number, number, number]}
 */
export function oklch(lightness, chroma, hue) {
  for (let part = chroma; ; part -= 0.005) {
    const a = part * Math.cos((hue * Math.PI) / 180);
    const b = part * Math.sin((hue * Math.PI) / 180);
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
    if (part > 0 && linear.some((it) => it < -0.0005 || it > 1.0005)) continue;
    const [red, green, blue] = linear.map((it) => {
      const value = Math.min(1, Math.max(0, it));
      return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
    });
    return [red, green, blue];
  }
}

/** @param {number[]} colour */
function css([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}
