// Which colour each item has, by the way of colouring that is chosen; what isn't of the chosen type fades.

import { change_of } from "../state/selected.js";
import { FILL, colour_of_name, colour_of_type } from "../parts/colours.js";
import { ITEM } from "../data/profile.js";

/**
 * @param {Profile} profile @param {Colouring} colouring @param {string | null} only the type that isn't faded
 * @returns {Uint16Array} a place in the palette for each item
 */
export function categories_of(profile, colouring, only) {
  const { items, operators } = profile;
  const out = new Uint16Array(items.count);
  const most = operators.reduce((best, it) => Math.max(best, it.time), 0) || 1;
  /** @type {Map<string, number>} */
  const types = new Map();
  for (let item = 0; item < items.count; item += 1) {
    const operator = operators[items.operator[item] - 1];
    const type = profile.item_category(item);
    let place = FILL.colours;
    if (items.kind[item] <= ITEM.unrecorded) {
      place += 17;
    } else if (colouring === "operator" || (items.kind[item] !== ITEM.task && type === "")) {
      place += colour_of_name(profile.item_name(item));
    } else if (colouring === "unit") {
      place += colour_of_name(profile.item_unit(item));
    } else if (colouring === "change") {
      place = change_fill(change_of(profile, items.operator[item] - 1));
    } else if (colouring === "share" || colouring === "waiting") {
      const part = operator ? (colouring === "share" ? Math.sqrt(operator.time / most) : waiting_share(operator)) : 0;
      place = FILL.ramp + Math.min(FILL.ramp_steps - 1, Math.round(part * (FILL.ramp_steps - 1)));
    } else {
      let colour = types.get(type);
      if (colour === undefined) {
        colour = colour_of_type(type);
        types.set(type, colour);
      }
      place += colour;
    }
    if (only !== null && type !== only) place += place >= FILL.ramp ? FILL.faded_ramp - FILL.ramp : FILL.faded - FILL.colours;
    out[item] = place;
  }
  return out;
}

/** @param {Operator} operator */
function waiting_share(operator) {
  const wait = operator.wait ?? 0;
  return wait + operator.time > 0 ? wait / (wait + operator.time) : 0;
}

/**
 * The one colour of a row: of a union of streams always, of a stream where streams are told apart; else null.
 * @param {Row} row @param {Colouring} colouring
 */
export function category_of_row(row, colouring) {
  if (row.kind === "busy") return FILL.busy;
  if (colouring !== "stream" || row.kind !== "tasks") return null;
  const number = row.facts?.number ?? Number.NaN;
  return FILL.colours + (Number.isInteger(number) ? (number * 7) % 20 : colour_of_name(row.facts?.of ?? ""));
}

/** The place in the palette of what became slower. */
export const SLOWER = FILL.colours + 10;

/** Blue is faster and orange slower; what didn't change, or has no counterpart, is grey. @param {number} change */
function change_fill(change) {
  return Math.abs(change) < 0.01 ? FILL.busy : change < 0 ? FILL.colours : SLOWER;
}
