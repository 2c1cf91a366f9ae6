// While the server reads the profile: what it is doing, or why it can't.

import { Refused } from "../data/server.js";
import { effect } from "../state/signal.js";
import { h, fill } from "./dom.js";
import { shown } from "./text.js";
import { bytes } from "./units.js";
import { t } from "../locale/texts.js";

const LOOK = 150;

/**
 * Ends when the profile can be asked.
 * @param {HTMLElement} root @param {Pick<import("../data/source.js").ServedSource, "trouble" | "profiles">} source @param {number} number the profile's
 */
export async function waiting_room(root, source, number) {
  const text = h("p", { role: "status" }, t("connecting"));
  const gone = h("p", { role: "alert" });
  const bar = h("progress", { "aria-label": t("reading_name") });
  fill(root, h("main", { class: "waiting-room" }, h("h1", null, t("brand")), text, bar, gone));
  const stop = effect(() => fill(gone, source.trouble.value === "server_gone" ? t("server_gone") : ""));
  try {
    for (;;) {
      const profiles = await source.profiles();
      const own = profiles[number];
      if (!own) throw new Error(t("no_such_profile", { number }));
      if (own.state === "ready") return;
      if (own.state === "failed") throw new Refused(422, `${own.name}: ${own.error ?? ""}`, own.hint ?? "");
      const before = profiles.slice(0, number).find((it) => it.state !== "ready" && it.state !== "failed");
      const name = shown((before ?? own).name, 100);
      const { step, bytes: done, of_bytes: all } = before ?? own;
      fill(text, step ? t("reading_step", { name, step }) : t("reading", { name }), done && all ? ` ${bytes(done)} / ${bytes(all)}` : "");
      // Where nobody counts, the bar only says that something is going on.
      if (done && all) bar.value = Math.min(1, done / all);
      else bar.removeAttribute("value");
      await new Promise((done) => setTimeout(done, LOOK));
    }
  } finally {
    stop();
  }
}
