// The begin of a page: it takes the place of the text that stands in the file, or says why it can't.

import { fill, h } from "./dom.js";
import { speak, t } from "../locale/texts.js";

/**
 * Has a page opened; a served one begins with words, because it may have to wait.
 * @param {HTMLElement} root @param {boolean} is_report whether the page is a file with its content
 * @param {() => Promise<void>} open
 */
export async function opening(root, is_report, open) {
  const fallback = document.getElementById("fallback");
  try {
    if (!is_report) {
      fallback?.remove();
      first_words();
    }
    await open();
    fallback?.remove();
  } catch (error) {
    // The text that stands in the page goes on being what there is.
    console.error(error);
    first_words();
    const hint = error instanceof Error && "hint" in error ? String(error.hint) : "";
    fill(root, h("p", { class: "failed", role: "alert" }, t(is_report ? "failed" : "served_failed", { why: error instanceof Error ? error.message : String(error) })), hint === "" ? null : h("p", { class: "failed" }, hint));
  }
}

// Before its content says in which language it begins.
function first_words() {
  speak(navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
}
