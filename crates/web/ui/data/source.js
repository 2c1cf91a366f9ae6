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

/** The profile of the report that the page is in. */
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
  return make_profile(report, open_columns(data));
}

/** @typedef {{ number: number, name: string, state: "waiting" | "reading" | "ready" | "failed", step?: string, error?: string, hint?: string | null }} ProfileState */
/** @typedef {ReturnType<typeof served>} ServedSource */

export function served() {
  const server = make_server();
  return {
    trouble: server.trouble,
    /** How far each profile is. @returns {Promise<ProfileState[]>} */
    async profiles() {
      return (await server.json("status")).profiles;
    },
    /** A profile that is ready. @param {number} number */
    async open(number) {
      const report = /** @type {Report} */ (await server.json(`${number}/report`));
      const columns = open_columns(await server.ask(`${number}/columns`));
      const left = report.left_out;
      const partly = left.slices_in_full < left.slices || left.samples_in_full < left.samples;
      const profile = make_profile(report, columns, partly ? GUESTS : 0);
      profile.number = number;
      profile.file = (question) => server.file(`${number}/${question}`);
      if (partly) profile.served = make_served(server, profile, number);
      return profile;
    },
  };
}
