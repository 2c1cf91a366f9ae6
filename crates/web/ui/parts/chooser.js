// The list of profiles, where the server has several.

import { h, fill } from "./dom.js";
import { shown } from "./text.js";
import { t } from "../locale/texts.js";

const LOOK = 1000;

/** @param {App} app @param {import("../data/source.js").ServedSource} source */
export function chooser(app, source) {
  const list = h("select", { class: "profiles", hidden: true, "aria-label": t("profiles"), title: t("profiles"), on: { change: () => {
    location.hash = `#/${app.screen.peek()}${Number(list.value) > 0 ? `?p=${list.value}` : ""}`;
    location.reload();
  } } });
  void look();
  return list;

  async function look() {
    const profiles = await source.profiles();
    if (profiles.length < 2) return;
    list.hidden = false;
    fill(list, profiles.map((it) => h("option", { value: String(it.number), disabled: it.state === "failed", selected: it.number === app.profile.number },
      it.state === "ready" ? shown(it.name, 60) : t(it.state === "failed" ? "profile_failed" : "profile_read", { name: shown(it.name, 60) }))));
    if (list.isConnected && profiles.some((it) => it.state === "waiting" || it.state === "reading")) setTimeout(() => { if (list.isConnected) void look(); }, LOOK);
  }
}
