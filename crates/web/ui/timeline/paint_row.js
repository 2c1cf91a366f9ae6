// A row's pixels: what was measured, drawn as it was. A pixel of many short slices has the colour of the
// longest over the background, as strongly as the row was busy there.

// A row that was hardly busy is still seen: 15 % of 255.
const FAINTEST = 38;
// Positions within a pixel are counted in 256ths, so that colours are made of whole numbers only.
const PARTS = 256;

/**
 * @param {RowColumns} columns
 * @param {number} from first moment shown
 * @param {number} to first moment no longer shown
 * @param {number} width device pixels
 * @param {Uint32Array} palette colours as 0xAABBGGRR by category; number 0 is the background
 * @param {Uint32Array} [out] where the pixels go
 * @returns {Uint32Array}
 */
export function paint_row(columns, from, to, width, palette, out = new Uint32Array(width)) {
  out.fill(palette[0], 0, width);
  paint_over(columns, from, to, width, palette, out);
  return out;
}

/**
 * The same over what is painted already: exact slices over the density of those that were left out.
 * @param {RowColumns} columns @param {number} from @param {number} to @param {number} width @param {Uint32Array} palette @param {Uint32Array} out
 */
export function paint_over(columns, from, to, width, palette, out) {
  if (!(to > from)) return;
  paint_fine(columns, from, to, width, palette, out);
  paint_wide(columns, from, to, width, palette, out);
}

/** @param {RowColumns} columns @param {number} from @param {number} to @param {number} width @param {Uint32Array} palette @param {Uint32Array} out */
function paint_fine(columns, from, to, width, palette, out) {
  const { origin, bucket, fine } = columns;
  const scale = (width * PARTS) / (to - from);
  const end = width * PARTS;
  let pixel = -1;
  let busy = 0;
  let category = 0;
  let longest = -1;
  const finish = () => {
    if (pixel >= 0 && longest >= 0) {
      const strength = Math.min(255, Math.floor(busy / PARTS));
      out[pixel] = mix(palette[0], palette[category], Math.max(FAINTEST, strength));
    }
  };
  for (let entry = 0; entry < fine.count; entry += 1) {
    const left = Math.floor((origin + fine.bucket[entry] * bucket - from) * scale + 0.5);
    const right = Math.floor((origin + (fine.bucket[entry] + 1) * bucket - from) * scale + 0.5);
    const first = Math.max(0, left);
    const last = Math.min(end, right);
    for (let at = first; at < last;) {
      const here = Math.floor(at / PARTS);
      const stop = Math.min(last, (here + 1) * PARTS);
      if (here !== pixel) {
        finish();
        pixel = here;
        busy = 0;
        longest = -1;
      }
      busy += fine.busy[entry] * (stop - at);
      if (fine.longest[entry] > longest) {
        longest = fine.longest[entry];
        category = fine.category[entry];
      }
      at = stop;
    }
  }
  finish();
}

/** @param {RowColumns} columns @param {number} from @param {number} to @param {number} width @param {Uint32Array} palette @param {Uint32Array} out */
function paint_wide(columns, from, to, width, palette, out) {
  const { wide } = columns;
  const scale = width / (to - from);
  for (let entry = 0; entry < wide.count; entry += 1) {
    const left = Math.floor((wide.start[entry] - from) * scale);
    const right = Math.floor((wide.start[entry] + wide.duration[entry] - from) * scale);
    if (right < 0 || left >= width) continue;
    const first = Math.max(0, left);
    // The last pixel is the gap before the next one; a slice that goes on beyond the edge has none.
    const last = Math.min(width, Math.max(first + 1, right - 1 < width - 1 ? right - 1 : width));
    out.fill(palette[wide.category[entry]], first, last);
  }
}

/** @param {number} under @param {number} over @param {number} strength 0 to 255 */
function mix(under, over, strength) {
  const rest = 255 - strength;
  const red = ((over & 255) * strength + (under & 255) * rest + 127) / 255;
  const green = (((over >>> 8) & 255) * strength + ((under >>> 8) & 255) * rest + 127) / 255;
  const blue = (((over >>> 16) & 255) * strength + ((under >>> 16) & 255) * rest + 127) / 255;
  return (0xff000000 | (Math.floor(blue) << 16) | (Math.floor(green) << 8) | Math.floor(red)) >>> 0;
}
