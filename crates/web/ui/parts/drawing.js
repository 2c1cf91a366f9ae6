// Drawings of SVG: colours stand in the elements themselves, so that a saved file looks as it does here.

import { h, svg } from "./dom.js";
import { t } from "../locale/texts.js";
import { about } from "./units.js";
import { save } from "./copy.js";

/** @param {Palette} palette @param {number} width @param {number} height @param {string} label @param {...Child} children */
export function drawing(palette, width, height, label, ...children) {
  return svg("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, "font-family": "system-ui, sans-serif", "font-size": 12, fill: palette.text }, children);
}

/** @param {number} x @param {number} y @param {string} text @param {Properties} [properties] */
export function label(x, y, text, properties) {
  return svg("text", { x: x.toFixed(1), y: y.toFixed(1), ...properties }, text);
}

const SVG_TYPE = "image/svg+xml";
// Browsers have no larger pictures.
const MOST_PIXELS = 16000;

/**
 * Buttons that save a drawing: as it is, and as a picture of twice its size.
 * @param {Saving & { palette: { peek(): Palette } }} app @param {string} name @param {() => SVGSVGElement | null | undefined} make
 */
export function save_drawing(app, name, make) {
  return ["SVG", "PNG"].map((kind) => h("button", { class: "small", title: t("save_picture"), on: { click: async () => {
    const made = /** @type {SVGSVGElement | undefined} */ (make()?.cloneNode(true));
    if (!made) return;
    const [x, y, width, height] = (made.getAttribute("viewBox") ?? "").split(" ").map(Number);
    made.prepend(svg("rect", { x, y, width, height, fill: app.palette.peek().background }));
    const drawn = new Blob([new XMLSerializer().serializeToString(made)], { type: SVG_TYPE });
    const file = `${app.profile.report.name}.${name}.${kind.toLowerCase()}`;
    if (kind === "SVG") return save(file, SVG_TYPE, drawn);
    const [image, canvas] = [h("img", { src: URL.createObjectURL(drawn) }), h("canvas")];
    await image.decode();
    const scale = Math.min(2, MOST_PIXELS / Math.max(width, height));
    [canvas.width, canvas.height] = [width * scale, height * scale];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(image.src);
    canvas.toBlob((picture) => { if (picture) save(file, "image/png", picture); });
  } } }, kind));
}

/** The colours of faster and slower: never red and green. @param {Palette} palette @param {number} delta */
export function change_colour(palette, delta) {
  return delta < 0 ? (palette.dark ? "#7cb2ff" : "#0b62d6") : palette.dark ? "#ffa657" : "#c05600";
}

/** A difference of durations with its sign. @param {number} delta nanoseconds */
export function signed(delta) {
  return `${delta < 0 ? "−" : "+"}${about(Math.abs(delta))}`;
}

/** @param {number | null} change a part of the whole */
export function signed_percent(change) {
  return change === null || !Number.isFinite(change) ? "–" : `${change < 0 ? "−" : "+"}${Math.abs(change * 100).toFixed(1)} %`;
}
