// Where the page's answers come from. This form reads the report that the page is in; a server's has the
// same functions.

import { open_columns, unpack } from "./columns.js";

/** @returns {Promise<{ report: Report, columns: Container }>} */
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
  return { report, columns: open_columns(data) };
}
