// The selection in words: for the panel's heading, the live region and tooltips.

import { t, word } from "../locale/texts.js";
import { about, percent } from "./units.js";
import { shown } from "./text.js";
import { ITEM } from "../data/profile.js";

/** @param {string} name */
export function named(name) {
  return name === "" ? t("no_name") : shown(name);
}

/**
 * A slice's name as labels show it.
 * @param {Profile} profile @param {number} item
 */
export function item_label(profile, item) {
  const kind = profile.items.kind[item];
  const name = profile.item_name(item);
  if (kind === ITEM.inference || kind === ITEM.unrecorded) return name === "" ? t(kind === ITEM.inference ? "inference" : "unrecorded_inference") : shown(name);
  return named(name);
}

/** @param {Pick<Iteration, "number" | "warm_up" | "recorded">} it */
export function inference_label({ number, warm_up, recorded }) {
  return t(warm_up ? (recorded ? "warm_up_n" : "unrecorded_warm_up_n") : recorded ? "inference_n" : "unrecorded_n", { number });
}

/**
 * The label of one slice; inferences have their number.
 * @param {Profile} profile @param {number} slice
 */
export function slice_label(profile, slice) {
  const item = profile.item[slice];
  const kind = profile.items.kind[item];
  if (kind === ITEM.inference || kind === ITEM.unrecorded) {
    const iteration = profile.iteration_of(slice);
    if (iteration) return inference_label(iteration);
  }
  return item_label(profile, item);
}

/**
 * One slice in a sentence: "Conv2D_12, stream 3, starts at 12.3 ms, 45 µs, 3.2 % of its inference".
 * @param {Profile} profile @param {number} slice
 */
export function slice_sentence(profile, slice) {
  const row = profile.row_of(slice);
  const parts = [
    slice_label(profile, slice),
    row ? row_title(profile, row) : "",
    t("starts_at", { time: about(profile.ns(profile.start[slice])) }),
    about(profile.ns(profile.duration[slice])),
  ];
  const share = share_of_inference(profile, slice);
  if (share !== null) parts.push(t("share_of_inference", { share: percent(share) }));
  return parts.filter((it) => it !== "").join(", ");
}

/** @param {Profile} profile @param {number} slice @returns {number | null} */
export function share_of_inference(profile, slice) {
  if (profile.items.kind[profile.item[slice]] !== ITEM.task) return null;
  const iteration = profile.iteration_of(slice);
  return iteration && iteration.duration > 0 ? profile.duration[slice] / iteration.duration : null;
}

/**
 * A row's name in the reader's language where its parts are known, else as the profile has it.
 * @param {Profile} profile @param {Row} row
 */
export function row_title(profile, row) {
  const facts = row.facts;
  if (!facts) return row.counter?.unit ? `${shown(row.title)} · ${shown(row.counter.unit)}` : shown(row.title);
  const of = facts.of === "" ? "" : shown(facts.of, 80);
  const more = facts.copy > 0 ? ` (${facts.copy + 1})` : "";
  switch (facts.kind) {
    case "busy": return t("any_stream_busy");
    case "inferences": return (of ? t("inferences_of", { of }) : t("inferences")) + more;
    case "unrecorded": return (of ? t("unrecorded_of", { of }) : t("unrecorded_inferences")) + more;
    case "tasks": return of && /^\d+$/.test(of) ? t("stream_n", { of }) + more : named(row.title);
    case "calls": return of ? t("calls_of", { of: /^\d+$/.test(of) ? t("thread_n", { of }) : of }) + more : named(row.title);
    default: return named(row.title);
  }
}

/** @param {TimelineGroup} group */
export function group_title(group) {
  if (group.name === "Inferences and calls") return t("group_host");
  return shown(group.name);
}

/** @param {string} unit */
export function unit_word(unit) {
  return word("unit", unit);
}
