// The lists of profiles, where the server has several: the one that is shown, and the one that it is compared with. They
// follow the server: how far it is, whether it is there, and whether files are as it read them.

import { h, fill } from "./dom.js";
import { shown } from "./text.js";
import { t } from "../locale/texts.js";

const [LOOK, WATCH] = [1000, 5000];

/** @param {App} app @param {import("../data/source.js").ServedSource} source */
export function chooser(app, source) {
  const other = app.other ? app.other.profile.number : null;
  const list = (/** @type {string} */ name) => h("select", { class: "profiles", "aria-label": name, title: name, on: { change: go } });
  const [own, before] = [list(t("profiles")), list(t("compare_with"))];
  const element = h("span", { class: "choosers", hidden: true }, own, before);
  void look("");
  return element;

  function go() {
    const parts = [own.value !== "0" && `p=${own.value}`, before.value !== "" && before.value !== own.value && `b=${before.value}`].filter(Boolean).join("&");
    location.hash = `#/${app.screen.peek()}${parts && "?"}${parts}`;
    location.reload();
  }

  /** @param {string} how */
  async function look(how) {
    const profiles = await source.profiles(how);
    if (!element.isConnected) return;
    app.changed.value = [app, app.other].some((it) => it && profiles[it.profile.number]?.change);
    const reading = profiles.some((it) => it.state === "waiting" || it.state === "reading");
    setTimeout(again, reading ? LOOK : WATCH, reading ? "" : "?watch");
    if (profiles.length < 2 || (how !== "" && !element.hidden)) return;
    element.hidden = false;
    const choices = (/** @type {number | null} */ chosen, /** @type {number} */ without) => profiles.filter((it) => it.number !== without).map((it) => h("option", { value: String(it.number), disabled: it.state === "failed", selected: it.number === chosen },
      it.state === "ready" ? shown(it.name, 60) : t(it.state === "failed" ? "profile_failed" : "profile_read", { name: shown(it.name, 60) })));
    fill(own, choices(app.profile.number, -1));
    fill(before, h("option", { value: "" }, t("compare_with_none")), choices(other, app.profile.number));
  }

  // Whom nobody looks at needs no news.
  /** @param {string} how */
  function again(how) {
    if (!element.isConnected) return;
    if (document.hidden) setTimeout(again, WATCH, how);
    else void look(how);
  }
}
