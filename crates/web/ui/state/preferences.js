// The reader's own language and theme, until another is chosen.

import { computed, signal } from "./signal.js";

/** @param {"auto" | Language} asked @returns {Language} */
export function first_language(asked) {
  if (asked !== "auto") return asked;
  return navigator.languages.some((it) => it.toLowerCase().startsWith("zh")) && !navigator.language.toLowerCase().startsWith("en") ? "zh" : "en";
}

/** The theme that is chosen, and whether that is dark; it follows the system's. */
export function system_theme() {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const system_dark = signal(media.matches);
  media.addEventListener("change", () => { system_dark.value = media.matches; });
  const theme = signal(/** @type {Theme} */ ("auto"));
  const dark = computed(() => (theme.value === "auto" ? system_dark.value : theme.value === "dark"));
  return { theme, dark };
}
