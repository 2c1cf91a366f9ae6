// The visible part as a picture: names, axis and rows on one canvas, at twice the resolution of the screen or more.

import { save } from "../parts/copy.js";
import { FONT } from "./draw.js";

/**
 * @param {App} app
 * @param {{ axis: HTMLCanvasElement, rows: HTMLCanvasElement, names: HTMLElement, corner_width: number, scroll: number }} parts
 */
export function save_picture(app, { axis, rows, names, corner_width, scroll }) {
  const palette = app.palette.peek();
  const scale = Math.max(2, devicePixelRatio);
  const [width, axis_height, rows_height] = [corner_width + rows.clientWidth, axis.clientHeight, rows.clientHeight];
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round((axis_height + rows_height) * scale);
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.scale(scale, scale);
  pen.fillStyle = palette.background;
  pen.fillRect(0, 0, width, axis_height + rows_height);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(axis, corner_width, 0, rows.clientWidth, axis_height);
  pen.drawImage(rows, corner_width, axis_height, rows.clientWidth, rows_height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  for (const it of /** @type {HTMLElement[]} */ ([...names.children])) {
    const y = it.offsetTop - scroll + it.offsetHeight / 2;
    if (y < 0 || y > rows_height) continue;
    const group = it.classList.contains("group-name");
    const text = (group ? it : it.querySelector(".row-title"))?.textContent ?? "";
    pen.fillStyle = it.classList.contains("nested") ? palette.soft : palette.text;
    pen.font = group || it.classList.contains("busy") ? `600 ${FONT}` : FONT;
    pen.fillText(fitting(pen, text, corner_width - 34), group ? 12 : 26, axis_height + y);
  }
  canvas.toBlob((blob) => { if (blob) save(`${app.profile.report.name}.timeline.png`, "image/png", blob); }, "image/png");
}

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function fitting(pen, text, room) {
  const size = pen.measureText(text).width;
  return size <= room ? text : `${text.slice(0, Math.max(1, Math.floor((text.length * room) / size) - 1))}…`;
}
