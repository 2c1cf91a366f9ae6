// Where the run comes from: the report that the page is in, or the server that it came from.

import { open_columns, unpack } from "../data/columns.js";
import { make_server } from "../data/server.js";
import { make_drawn } from "./drawn.js";
import { make_run } from "./run.js";

/** Whether the page is a report. */
export function is_report() {
  return document.getElementById("report") !== null;
}

/** The run of the report that the page is in. */
export async function embedded() {
  const content = (/** @type {string} */ id) => {
    const element = document.getElementById(id);
    if (!element) throw new Error(`#${id} is missing`);
    return element;
  };
  const report = /** @type {RanksReport} */ (JSON.parse(content("report").textContent ?? ""));
  const packed = content("columns");
  const columns = open_columns(await unpack(packed.textContent ?? ""));
  // Megabytes of text that nobody needs any more.
  packed.replaceChildren();
  return { run: make_run(report, columns), drawn: make_drawn(columns), ask: null };
}

export function served() {
  const server = make_server();
  return {
    trouble: server.trouble,
    /** @returns {Promise<import("../data/source.js").ProfileState[]>} */
    async profiles() {
      return (await server.json("status")).profiles;
    },
    async open() {
      const report = /** @type {RanksReport} */ (await server.json("report"));
      const columns = open_columns(await server.ask("columns"));
      const ask = async (/** @type {string} */ ranks, /** @type {string} */ steps) => make_drawn(open_columns(await server.ask(`timeline?ranks=${encodeURIComponent(ranks)}${steps === "" ? "" : `&steps=${encodeURIComponent(steps)}`}`)));
      return { run: make_run(report, columns), drawn: make_drawn(columns), ask };
    },
  };
}
