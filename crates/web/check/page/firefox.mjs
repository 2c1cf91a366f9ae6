// A page in Firefox, driven by the protocol that it speaks itself: messages of JSON behind their length. (Playwright
// drives a Firefox of its own making only.)
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { spawn } from "node:child_process";

const EXECUTABLE = process.env.OPSCOPE_FIREFOX ?? ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((it) => fs.existsSync(it));
/** Why tests that need Firefox are skipped, or false. */
export const no_firefox = EXECUTABLE || process.env.OPSCOPE_REQUIRE_COMPANIONS ? false : "no Firefox: apt-get install firefox-esr, or name one in OPSCOPE_FIREFOX";

/** Starts Firefox without a window. */
export async function firefox() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-firefox-"));
  // A free port, which it writes down; nothing is asked of the network by itself.
  const settings = { "marionette.port": 0, "browser.shell.checkDefaultBrowser": false, "datareporting.policy.dataSubmissionEnabled": false, "app.update.enabled": false, "network.captive-portal-service.enabled": false };
  fs.writeFileSync(path.join(folder, "user.js"), Object.entries(settings).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""));
  const child = spawn(EXECUTABLE ?? "firefox", ["--headless", "--marionette", "--no-remote", "--profile", folder, "--width", "1600", "--height", "900"], { stdio: "ignore", env: { ...process.env, HOME: folder } });
  const ended = new Promise((done) => { child.on("exit", done); child.on("error", done); });
  const socket = net.connect(await port_of(folder, child), "127.0.0.1");
  const send = conversation(socket);
  await send("WebDriver:NewSession", { capabilities: { alwaysMatch: { acceptInsecureCerts: false } } });
  return {
    go: (/** @type {string} */ url) => send("WebDriver:Navigate", { url }),
    /** The value of a function's body in the page. */
    ask: async (/** @type {string} */ script) => (await send("WebDriver:ExecuteScript", { script, args: [], sandbox: null, newSandbox: false })).value,
    picture: async () => Buffer.from((await send("WebDriver:TakeScreenshot", { full: false })).value, "base64"),
    async end() {
      await send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
      socket.destroy();
      child.kill();
      await ended;
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The port that the browser listens at, once it does. */
async function port_of(folder, child) {
  const file = path.join(folder, "MarionetteActivePort");
  for (let tries = 0; tries < 600; tries += 1) {
    if (fs.existsSync(file) && fs.readFileSync(file, "utf8") !== "") return Number(fs.readFileSync(file, "utf8"));
    if (child.exitCode !== null) throw new Error(`Firefox ended with ${child.exitCode}`);
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("Firefox named no port within a minute");
}

/** Asks one question after another: `[0, number, command, parameters]`, answered by `[1, number, error, value]`. */
function conversation(socket) {
  let bytes = Buffer.alloc(0);
  let number = 0;
  const waiting = new Map();
  socket.on("data", (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (let colon = bytes.indexOf(":"); colon > 0; colon = bytes.indexOf(":")) {
      const end = colon + 1 + Number(bytes.toString("latin1", 0, colon));
      if (bytes.length < end) return;
      const message = JSON.parse(bytes.toString("utf8", colon + 1, end));
      bytes = bytes.subarray(end);
      // The first message is a greeting.
      if (!Array.isArray(message)) continue;
      const [, asked, error, value] = message;
      const { done, fail } = waiting.get(asked);
      waiting.delete(asked);
      if (error) fail(new Error(`${error.error}: ${error.message}`));
      else done(value);
    }
  });
  const lost = (/** @type {Error | undefined} */ problem) => { for (const { fail } of waiting.values()) fail(problem ?? new Error("Firefox hung up")); };
  socket.on("error", lost);
  socket.on("close", () => lost(undefined));
  return (command, parameters) => new Promise((done, fail) => {
    const text = JSON.stringify([0, (number += 1), command, parameters]);
    waiting.set(number, { done, fail });
    socket.write(`${Buffer.byteLength(text)}:${text}`);
  });
}
