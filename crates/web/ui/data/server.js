// The page's requests to the server that it came from. The token of the server's run comes with the address and is
// kept for as long as the server runs; it goes into a head of each request and nowhere else.

import { said } from "../locale/texts.js";
import { signal } from "../state/signal.js";

const KEPT = "opscope-token";
const AGAIN = 2000;

/** Why the server gave no answer. */
export class Refused extends Error {
  /** @param {number} status @param {string} error @param {string} hint */
  constructor(status, error, hint) {
    super(error);
    this.status = status;
    this.hint = hint;
  }
}

/** @typedef {ReturnType<typeof make_server>} Server */

export function make_server() {
  const token = take_token();
  /** Why it can't be asked: it answers no more, which whoever asks waits out, or it is another run by now. */
  const trouble = signal(/** @type {null | "server_gone" | "server_new"} */ (null));
  return { trouble, ask, file, json: async (/** @type {string} */ path) => JSON.parse(new TextDecoder().decode(await ask(path))) };

  /** @param {string} path */
  function send(path) {
    return fetch(`/api/${path}`, { headers: { authorization: `Bearer ${token}` }, cache: "no-store" });
  }

  /** The content of a file to save: the browser keeps it where it likes. @param {string} path below `/api/` */
  async function file(path) {
    const answer = await send(path);
    if (!answer.ok) throw refusal(answer.status, new Uint8Array(await answer.arrayBuffer()));
    return answer.blob();
  }

  /**
   * @param {string} path below `/api/`
   * @returns {Promise<Uint8Array>}
   */
  async function ask(path) {
    for (;;) {
      const answer = await send(path).then(
        async (it) => ({ ok: it.ok, status: it.status, data: new Uint8Array(await it.arrayBuffer()) }),
        () => null,
      );
      trouble.value = answer === null ? "server_gone" : answer.status === 401 ? "server_new" : null;
      if (answer?.ok) return answer.data;
      if (answer) throw refusal(answer.status, answer.data);
      await new Promise((done) => setTimeout(done, AGAIN));
    }
  }
}

/** @param {number} status @param {Uint8Array} data */
function refusal(status, data) {
  try {
    const { error, hint } = JSON.parse(new TextDecoder().decode(data));
    return new Refused(status, said(String(error)), said(String(hint ?? "")));
  } catch {
    return new Refused(status, String(status), "");
  }
}

// Taken out of the address at once, so that no link that somebody copies carries it.
function take_token() {
  const given = /^#token=([0-9a-f]{32})$/.exec(location.hash);
  try {
    if (given) localStorage.setItem(KEPT, given[1]);
    if (given) history.replaceState(null, "", location.pathname);
    return given?.[1] ?? localStorage.getItem(KEPT) ?? "";
  } catch {
    return given?.[1] ?? "";
  }
}
