// Where the page's profile comes from: from the report that the page is in, or from the server that it came from.
// Screens don't know which; what a profile doesn't hold, `profile.served` is asked for.

import { open_columns, unpack } from "./columns.js";
import { make_profile } from "./profile.js";
import { GUESTS, make_served } from "./served.js";
import { make_server } from "./server.js";

/** Whether the page is a report. */
export function is_report() {
  return document.getElementById("report") !== null;
}

/** The profile of the report that the page is in, and the one that it is compared with. */
export async function embedded() {
  const text = (/** @type {string} */ id) => {
    const element = document.getElementById(id);
    if (!element) throw new Error(`#${id} is missing`);
    const content = element.textContent ?? "";
    return { element, content };
  };
  const report = /** @type {Report} */ (JSON.parse(text("report").content));
  const packed = text("columns");
  const data = await unpack(packed.content);
  // Megabytes of text that nobody needs any more.
  packed.element.replaceChildren();
  const profile = make_profile(report, open_columns(data));
  const { against } = report;
  if (!against?.timeline) return { profile, other: null };
  const before = await unpack(text("columns-before").content);
  return { profile, other: make_profile(seen_from(report, against), open_columns(before)) };
}

/**
 * A report about the profile before a change, seen from there: what became of it lies on the other side of each group.
 * @param {Report} report of the profile after the change @param {object} its own answers
 * @returns {Report}
 */
function seen_from(report, its) {
  const groups = report.compare?.groups.map((it) => ({ ...it, before: it.after, after: it.before })) ?? [];
  return { ...report, ...its, against: null, compare: report.compare && { ...report.compare, groups } };
}

/** @typedef {{ number: number, name: string, state: "waiting" | "reading" | "ready" | "failed", step?: string, bytes?: number, of_bytes?: number, error?: string, hint?: string | null, change?: "changed" | "gone" }} ProfileState */
/** @typedef {ReturnType<typeof served>} ServedSource */

export function served() {
  const server = make_server();
  return {
    trouble: server.trouble,
    /** How far each profile is. @param {string} [how] `?watch` for who only waits for changes @returns {Promise<ProfileState[]>} */
    async profiles(how = "") {
      return (await server.json(`status${how}`)).profiles;
    },
    /** A profile that is ready, and the one that it is compared with. @param {number} number @param {number | null} before */
    async open(number, before) {
      const report = /** @type {Report} */ (await server.json(`${number}/report`));
      if (before === null) return { profile: await load(number, report), other: null };
      Object.assign(report, await server.json(`compare?a=${before}&b=${number}`));
      const other = await load(before, seen_from(report, await server.json(`${before}/report`)));
      return { profile: await load(number, report), other };
    },
  };

  /** @param {number} number @param {Report} report */
  async function load(number, report) {
    const columns = open_columns(await server.ask(`${number}/columns`));
    const left = report.left_out;
    const partly = left.slices_in_full < left.slices || left.samples_in_full < left.samples;
    const profile = make_profile(report, columns, partly ? GUESTS : 0);
    profile.number = number;
    profile.file = (question) => server.file(`${number}/${question}`);
    if (partly) profile.served = make_served(server, profile, number);
    return profile;
  }
}
