// The model screen: the graph, its tools and legend; draws when something changed.

import { effect, signal, untracked } from "../state/signal.js";
import { h, fill } from "../parts/dom.js";
import { t, word } from "../locale/texts.js";
import { why_empty } from "../parts/why_empty.js";
import { command_box, save_text } from "../parts/copy.js";
import { save_drawing } from "../parts/drawing.js";
import { about, count } from "../parts/units.js";
import { quoted, profile_word } from "../screens/command.js";
import { KIND } from "./graph.js";
import { lay_out } from "./places.js";
import { graph_colours, make_look, part_lines } from "./look.js";
import { paint, as_svg } from "./paint.js";
import { graph_table } from "./table.js";

const STATE = /^(\w*)((?:\.\w+)*)(?:@(-?\d+),(-?\d+),([\d.]+))?$/;

/** @param {App} app @returns {ScreenView} */
export function model_screen(app) {
  const { graph } = app.profile;
  if (graph.count === 0) return { element: h("div", { class: "empty" }, h("h1", { class: "unseen" }, t("screen_model")), h("p", null, t("graph_empty")), why_empty(app), how(app)), dispose: () => {} };

  const colours = graph_colours(app.profile, graph);
  const [, first_colour, marks, ...at] = STATE.exec(app.graph.peek()) ?? ["", "", ""];
  const colour = signal(colours.includes(first_colour) ? first_colour : "share");
  const flags = { chains: signal(marks.includes(".chains")), path: signal(marks.includes(".path")), table: signal(marks.includes(".table")) };
  const canvas = h("canvas", { class: "graph-canvas", tabindex: "0", role: "application", "aria-label": t("graph_name", { n: count(graph.facts.nodes) }), "aria-roledescription": t("graph_role"), "aria-describedby": "graph-help" });
  const tip = h("div", { class: "tip", hidden: true, role: "presentation" });
  const legend = h("ul", { class: "legend inline graph-legend" });
  const place = h("div", { class: "graph-place" }, canvas, tip);
  const table = h("div", { class: "grid-place", hidden: true });
  const palette = h("select", { on: { change: () => { colour.value = colours[palette.selectedIndex]; } } }, colours.map((it) => h("option", { value: it, selected: it === colour.peek() }, word("colour", it))));
  const chip = (/** @type {keyof typeof flags} */ flag, /** @type {string} */ name, there = true) => there && h("button", { class: "chip", "data-flag": flag, "aria-pressed": "false", on: { click: () => { flags[flag].value = !flags[flag].peek(); } } }, name);
  const button = (/** @type {string} */ sign, /** @type {string} */ name, /** @type {() => void} */ action) => h("button", { class: "icon", title: name, "aria-label": name, on: { click: action } }, sign);
  const folds = graph.kind.indexOf(KIND.scope) >= 0;
  const chips = [chip("chains", t("graph_chains", { n: graph.chains }), graph.chains > 0), chip("path", t("graph_path", { time: about(graph.facts.path_ns) }), graph.facts.path_ns > 0), chip("table", t("as_table"))];
  const element = h("div", { class: "model" }, h("h1", { class: "unseen" }, t("screen_model")),
    h("div", { class: "toolbar", role: "toolbar", "aria-label": t("screen_model") },
      h("label", { class: "field" }, t("colour_by"), " ", palette), chips, h("span", { class: "grow" }),
      save_drawing(app, "model", () => as_svg(app.palette.peek(), scene())), save_text(app, "model", "CSV", () => {
        const grid = graph_table(app, graph, times, choose);
        grid.dispose();
        return grid.csv();
      }),
      h("span", { class: "buttons" }, folds && button("⊟", t("fold_all"), () => fold_all(true)), folds && button("⊞", t("unfold_all"), () => fold_all(false)),
        button("+", t("zoom_in"), () => zoom(1.5)), button("−", t("zoom_out"), () => zoom(1 / 1.5)), button("↔", t("show_everything"), everything), button("◎", t("fit_selection"), () => reveal(true)))),
    h("div", { class: "graph-facts" }, h("span", null, source_text(app)), how(app), legend), place, table, h("p", { id: "graph-help", class: "unseen" }, t("graph_help")));

  let size = { width: 0, height: 0 };
  /** @type {Eye | null} */
  let eye = at[2] ? { x: Number(at[0]), y: Number(at[1]), zoom: within(Number(at[2])) } : null;
  let frame = 0;
  /** @type {Numbers} */
  let times = graph.times(app.profile, null);
  /** @type {GraphLook} */
  let look = make_look(app, graph, colour.peek(), times);
  let places = lay_out(graph, () => false);
  /** @type {Set<number>} */
  let evidence = new Set();
  let cursor = -1;
  let pointer = { x: -1, y: -1 };

  const is_open = (/** @type {number} */ part, /** @type {ReadonlySet<string>} */ turned) => (graph.kind[part] === KIND.scope && graph.facts.is_folded !== turned.has("g*")) === turned.has(`g${part}`);
  const observer = new ResizeObserver(() => {
    size = { width: place.clientWidth, height: place.clientHeight };
    request();
  });
  observer.observe(place);
  let stop_table = () => {};
  const stops = [
    () => observer.disconnect(),
    effect(() => {
      const turned = new Set(app.folded.value);
      places = lay_out(graph, (part) => is_open(part, turned));
      request();
    }),
    effect(() => {
      times = graph.times(app.profile, app.marked.value);
      app.palette.value;
      look = make_look(app, graph, colour.value, times);
      fill(legend, look.legend().map(([css, text]) => h("li", null, h("span", { class: "swatch", "aria-hidden": "true", style: { background: css } }), text)),
        colour.peek() === "share" || colour.peek() === "call" ? h("li", { class: "soft" }, t("graph_scale")) : null, h("li", { class: "soft" }, t("graph_dashed")));
      request();
    }),
    effect(() => {
      const selection = app.selection.value;
      const names = selection?.kind === "finding" ? new Set(app.profile.report.advice.findings.find((it) => it.id === selection.rule)?.evidence.map((it) => it.name)) : null;
      evidence = new Set(names ? Array.from({ length: graph.count }, (_, part) => part).filter((part) => names.has(graph.name(part))) : []);
      cursor = selected();
      untracked(() => { if (size.width > 0 && cursor >= 0) reveal(false); });
      request();
    }),
    effect(() => {
      for (const it of chips) if (it) it.setAttribute("aria-pressed", String(flags[/** @type {keyof typeof flags} */ (it.dataset.flag)].value));
      const on = flags.table.value;
      place.hidden = on;
      table.hidden = !on;
      request();
    }),
    effect(() => {
      if (!flags.table.value) return;
      app.marked.value;
      const grid = untracked(() => graph_table(app, graph, times, choose));
      fill(table, grid.element);
      stop_table();
      stop_table = grid.dispose;
    }),
    () => stop_table(),
  ];
  let dragged = false;
  watch();

  return {
    element,
    dispose() {
      for (const stop of stops) stop();
      cancelAnimationFrame(frame);
    },
    key(event) {
      if (event.ctrlKey || event.metaKey || flags.table.peek()) return false;
      const step = 60 / (eye?.zoom ?? 1);
      const moves = { KeyW: () => zoom(1.15), KeyS: () => zoom(1 / 1.15), KeyA: () => pan(-step, 0), KeyD: () => pan(step, 0), Digit0: everything, KeyF: () => reveal(true), Enter: () => toggle(cursor),
        ArrowDown: () => walk(0, 1), ArrowUp: () => walk(0, -1), ArrowLeft: () => walk(-1, 0), ArrowRight: () => walk(1, 0) };
      const move = moves[/** @type {keyof typeof moves} */ (event.code)];
      if (!move || (event.code === "Enter" && event.target !== canvas)) return false;
      move();
      return true;
    },
    focus: () => canvas.focus({ preventScroll: true }),
  };

  function scene() {
    const selection = app.selection.peek();
    const chosen = selected();
    const type = selection?.kind === "type" ? selection.type : null;
    const shown = chosen < 0 ? -1 : places.seen[chosen];
    return { graph, places, look, times, chains: flags.chains.peek(), path: flags.path.peek(), strong: (/** @type {number} */ part) => part === shown || evidence.has(part),
      faded: (/** @type {number} */ part) => type !== null && graph.kind[part] !== KIND.scope && graph.type(part) !== type };
  }

  function request() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    if (size.width < 2 || size.height < 2 || place.hidden) return write();
    if (!eye) begin();
    paint(canvas, app.palette.peek(), scene(), /** @type {Eye} */ (eye), size);
    write();
  }

  function write() {
    const seen = eye ? `@${Math.round(eye.x)},${Math.round(eye.y)},${Number(eye.zoom.toFixed(3))}` : "";
    app.graph.value = `${colour.peek()}${Object.entries(flags).map(([name, it]) => (it.peek() ? `.${name}` : "")).join("")}${seen}`;
  }

  // A graph that isn't readable as a whole begins at what is selected, else where most time goes.
  function begin() {
    everything();
    if (!eye || eye.zoom >= 0.35) {
      if (selected() >= 0) reveal(false);
      return;
    }
    if (selected() < 0) {
      const costliest = places.boxes.reduce((best, it) => (!it.open && times[it.part] > times[best.part] ? it : best), places.boxes[0]);
      centre(costliest, 0.7);
    } else reveal(true);
  }

  function everything() {
    const fits = Math.min((size.width - 48) / Math.max(1, places.width), (size.height - 48) / Math.max(1, places.height), 1.2);
    const by = within(fits);
    eye = { zoom: by, x: places.width / 2 - size.width / 2 / by, y: places.height * by > size.height ? -24 / by : places.height / 2 - size.height / 2 / by };
    request();
  }

  /** @param {{ x: number, y: number, w: number, h: number }} box @param {number} by */
  function centre(box, by) {
    eye = { zoom: by, x: box.x + box.w / 2 - size.width / 2 / by, y: box.y + box.h / 2 - size.height / 2 / by };
    request();
  }

  /** Has the selection in sight, or in the middle and readable. @param {boolean} near */
  function reveal(near) {
    const part = selected();
    const box = part < 0 ? undefined : places.box(part);
    if (!box || !eye) {
      if (near) app.note.value = t("nothing_selected");
      return;
    }
    const inside = box.x >= eye.x && box.y >= eye.y && box.x + box.w <= eye.x + size.width / eye.zoom && box.y + box.h <= eye.y + size.height / eye.zoom;
    if (near || !inside) centre(box, near ? Math.max(eye.zoom, 0.9) : eye.zoom);
  }

  /** @param {number} by @param {{ x: number, y: number }} [about_point] */
  function zoom(by, about_point = pointer.x < 0 ? { x: size.width / 2, y: size.height / 2 } : pointer) {
    if (!eye) return;
    const next = within(eye.zoom * by);
    eye = { zoom: next, x: eye.x + about_point.x / eye.zoom - about_point.x / next, y: eye.y + about_point.y / eye.zoom - about_point.y / next };
    request();
  }

  /** @param {number} x @param {number} y */
  function pan(x, y) {
    if (!eye) return;
    eye = { ...eye, x: eye.x + x, y: eye.y + y };
    request();
  }

  function selected() {
    const selection = app.selection.peek();
    if (selection?.kind === "node") return selection.node;
    if (selection?.kind === "operator") return graph.node_of(selection.operator);
    if (selection?.kind === "slice") return graph.node_of(app.profile.items.operator[app.profile.item[selection.slice]] - 1);
    return -1;
  }

  /** @param {number} part */
  function choose(part) {
    const own = graph.operator[part] - 1;
    app.selection.value = own >= 0 ? { kind: "operator", operator: own } : { kind: "node", node: part };
    app.says.value = part_lines(app, graph, part, times, look.share(part)).join(", ");
  }

  /** @param {number} part */
  function toggle(part) {
    if (part < 0 || graph.inside[part + 1].length === 0) return;
    const before = places.box(part);
    const key = `g${part}`;
    app.folded.value = app.folded.peek().includes(key) ? app.folded.peek().filter((it) => it !== key) : [...app.folded.peek(), key];
    const now = places.box(part);
    // The clicked part stays where it was.
    pan(now.x - before.x + (now.w - before.w) / 2, now.y - before.y);
    app.says.value = t(now.open ? "unfolded" : "folded", { name: graph.name(part) });
  }

  /** @param {boolean} fold */
  function fold_all(fold) {
    const others = app.folded.peek().filter((it) => !/^g[\d*]+$/.test(it));
    app.folded.value = fold === graph.facts.is_folded ? others : [...others, "g*"];
    everything();
  }

  // The nearest part in a direction; of several, along the links if there is one.
  /** @param {number} dx @param {number} dy */
  function walk(dx, dy) {
    const from = cursor >= 0 ? places.box(cursor) : null;
    if (!from) {
      const first = places.boxes.find((it) => !it.open);
      if (first) choose(first.part);
      return;
    }
    const linked = new Set(dy === 0 ? [] : places.lines.flatMap((it) => (dy > 0 && it.from === from.part ? [it.to] : dy < 0 && it.to === from.part ? [it.from] : [])));
    let best = null;
    let least = Infinity;
    for (const it of places.boxes) {
      const [x, y] = [it.x + it.w / 2 - from.x - from.w / 2, it.y + it.h / 2 - from.y - from.h / 2];
      const ahead = x * dx + y * dy;
      if (it.open || it === from || ahead <= 0) continue;
      const far = (linked.has(it.part) ? 0 : 1e9) + ahead + 3 * Math.abs(x * dy + y * dx);
      if (far < least) [best, least] = [it, far];
    }
    if (best) choose(best.part);
  }

  /** @param {number} x @param {number} y */
  function under(x, y) {
    if (!eye) return null;
    const [gx, gy] = [eye.x + x / eye.zoom, eye.y + y / eye.zoom];
    return places.boxes.filter((it) => gx >= it.x && gy >= it.y && gx <= it.x + it.w && gy <= it.y + it.h).pop() ?? null;
  }

  function watch() {
    const point = (/** @type {MouseEvent} */ event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    /** @type {{ x: number, y: number } | null} */
    let drag = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey) zoom(Math.exp(-Math.max(-1, Math.min(1, event.deltaY * unit * 0.004))), point(event));
      else if (eye) pan(((event.shiftKey ? event.deltaY : event.deltaX) * unit) / eye.zoom, event.shiftKey ? 0 : (event.deltaY * unit) / eye.zoom);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      drag = point(event);
      dragged = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      pointer = point(event);
      if (drag && eye && (dragged || Math.hypot(pointer.x - drag.x, pointer.y - drag.y) > 3)) {
        dragged = true;
        tip.hidden = true;
        pan((drag.x - pointer.x) / eye.zoom, (drag.y - pointer.y) / eye.zoom);
        drag = pointer;
        return;
      }
      const box = under(pointer.x, pointer.y);
      tip.hidden = !box;
      if (!box) return;
      fill(tip, part_lines(app, graph, box.part, times, look.share(box.part)).map((it, line) => h("div", { class: line === 0 ? "tip-title" : "" }, it)));
      tip.style.setProperty("left", `${Math.max(0, Math.min(size.width - tip.offsetWidth - 8, pointer.x + 14))}px`);
      tip.style.setProperty("top", `${pointer.y + 16 + tip.offsetHeight > size.height ? Math.max(0, pointer.y - tip.offsetHeight - 10) : pointer.y + 16}px`);
    });
    canvas.addEventListener("pointerup", (event) => {
      drag = null;
      if (dragged) return;
      canvas.focus({ preventScroll: true });
      const { x, y } = point(event);
      const box = under(x, y);
      // The sign of what folds lies in the corner.
      const on_sign = box && eye && eye.x + x / eye.zoom < box.x + 24 && eye.y + y / eye.zoom < box.y + 24 && graph.inside[box.part + 1].length > 0;
      if (!box) app.selection.value = null;
      else if (on_sign) toggle(box.part);
      else choose(box.part);
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; pointer = { x: -1, y: -1 }; });
    canvas.addEventListener("dblclick", (event) => {
      const box = under(point(event).x, point(event).y);
      if (box && graph.inside[box.part + 1].length > 0) toggle(box.part);
      else reveal(true);
    });
  }
}

/** @param {number} zoom */
function within(zoom) {
  return Math.min(3, Math.max(0.004, zoom));
}

/** Where the graph is from, and what of it isn't drawn. @param {App} app */
function source_text(app) {
  const { facts } = app.profile.graph;
  return [t(facts.from === "model" ? "graph_from_model" : facts.from === "tensors" ? "graph_from_tensors" : "graph_from_order", { n: count(facts.nodes) }), facts.constants > 0 ? t("graph_constants", { n: count(facts.constants) }) : "", facts.in_columns > 0 ? t("graph_in_columns") : "",
    facts.is_matched ? "" : t("graph_foreign")].filter(Boolean).join(" ");
}

/** The command that shows the model's own graph. @param {App} app */
function how(app) {
  if (app.profile.graph.facts.from === "model") return null;
  return command_box(app, `opscope report ${quoted(profile_word(app))} --model MODEL.onnx`);
}
