// A pen like that of a canvas, whose strokes become the elements of an SVG drawing.

import { svg } from "../parts/dom.js";

/** @type {Record<string, string>} */
const ANCHORS = { center: "middle", right: "end" };

/** @typedef {{ canvas: HTMLCanvasElement, drawn: SVGElement[] }} SvgPen */

/**
 * @returns {SvgPen} a canvas that those who draw take for one, and what they drew
 */
export function svg_pen() {
  /** @type {SVGElement[]} */
  const drawn = [];
  const ruler = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  let [way, dashes] = ["", ""];
  const put = (/** @type {"rect" | "path" | "text"} */ name, /** @type {Properties} */ place, /** @type {string} */ text = "") => {
    drawn.push(svg(name, { opacity: pen.globalAlpha < 1 && pen.globalAlpha, ...place }, text));
  };
  const go = (/** @type {string} */ kind) => (/** @type {number[]} */ ...at) => { way += kind + at.map(short).join(" "); };
  const line = () => ({ fill: "none", stroke: pen.strokeStyle, "stroke-width": pen.lineWidth, "stroke-dasharray": dashes || false });
  const pen = {
    fillStyle: "", strokeStyle: "", lineWidth: 1, globalAlpha: 1, font: "", textAlign: "left",
    createImageData: ruler.createImageData.bind(ruler),
    measureText: (/** @type {string} */ text) => {
      ruler.font = pen.font;
      return ruler.measureText(text);
    },
    setTransform() {},
    setLineDash: (/** @type {number[]} */ lengths) => { dashes = lengths.join(" "); },
    beginPath: () => { way = ""; },
    moveTo: go("M"), lineTo: go("L"), bezierCurveTo: go("C"),
    rect: (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height) => { way += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`; },
    // A whole circle.
    arc: (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ radius) => { way += `M${short(x - radius)} ${short(y)}${[2, -2].map((turn) => `a${short(radius)} ${short(radius)} 0 1 0 ${short(turn * radius)} 0`).join("")}`; },
    fill: () => put("path", { d: way, fill: pen.fillStyle }),
    stroke: () => put("path", { d: way, ...line() }),
    fillRect: (/** @type {number[]} */ ...at) => put("rect", { ...box(...at), fill: pen.fillStyle }),
    strokeRect: (/** @type {number[]} */ ...at) => put("rect", { ...box(...at), ...line() }),
    fillText: (/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y) => put("text", { x: short(x), y: short(y), "dominant-baseline": "central", "text-anchor": ANCHORS[pen.textAlign], fill: pen.fillStyle }, text),
    // A row of pixels: those of one colour beside one another are one shape.
    drawImage(/** @type {HTMLCanvasElement} */ image, /** @type {number} */ _x, /** @type {number} */ row, /** @type {number} */ across, /** @type {number} */ _one, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ _wide, /** @type {number} */ high) {
      const pixels = new Uint32Array(/** @type {CanvasRenderingContext2D} */ (image.getContext("2d")).getImageData(0, row, across, 1).data.buffer);
      for (let from = 0, at = 1; at <= across; at += 1) {
        if (at < across && pixels[at] === pixels[from]) continue;
        const [red, green, blue] = [0, 8, 16].map((bits) => ((pixels[from] >>> bits) & 255).toString(16).padStart(2, "0"));
        put("rect", { ...box(x + from, y, at - from, high), fill: `#${red}${green}${blue}` });
        from = at;
      }
    },
  };
  return { canvas: /** @type {any} */ ({ width: 0, height: 0, getContext: () => pen }), drawn };
}

/** @param {number[]} at */
function box(...at) {
  const [x, y, width, height] = at.map(short);
  return { x, y, width, height };
}

/** @param {number} value */
function short(value) {
  return Number(value.toFixed(2));
}
