// The lists of profiles, where the server has several: the one that is shown, and the one that it is compared with.

import { h, fill } from "./dom.js";
import { shown } from "./text.js";
import { t } from "../locale/texts.js";

const LOOK = 1000;

/** @param {App} app @param {import("../data/source.js").ServedSource} source */
export function chooser(app, source) {
  const other = app.other ? app.other.profile.number : null;
  const list = (/** @type {string} */ name) => h("select", { class: "profiles", "aria-label": name, title: name, on: { change: go } });
  const [own, before] = [list(t("profiles")), list(t("compare_with"))];
  const element = h("span", { class: "choosers", hidden: true }, own, before);
  void look();
  return element;

  function go() {
    const parts = [own.value !== "0" && `p=${own.value}`, before.value !== "" && before.value !== own.value && `b=${before.value}`].filter(Boolean).join("&");
    location.hash = `#/${app.screen.peek()}${parts && "?"}${parts}`;
    location.reload();
  }

  async function look() {
    const profiles = await source.profiles();
    if (profiles.length < 2) return;
    element.hidden = false;
    const choices = (/** @type {number | null} */ chosen, /** @type {number} */ without) => profiles.filter((it) => it.number !== without).map((it) => h("option", { value: String(it.number), disabled: it.state === "failed", selected: it.number === chosen },
      it.state === "ready" ? shown(it.name, 60) : t(it.state === "failed" ? "profile_failed" : "profile_read", { name: shown(it.name, 60) })));
    fill(own, choices(app.profile.number, -1));
    fill(before, h("option", { value: "" }, t("compare_with_none")), choices(other, app.profile.number));
    if (element.isConnected && profiles.some((it) => it.state === "waiting" || it.state === "reading")) setTimeout(() => { if (element.isConnected) void look(); }, LOOK);
  }
}
