// The matrix of links: how fast each is beside its like, senders by receivers.

import { h, fill } from "../parts/dom.js";
import { effect, untracked } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { about, bytes, count, percent } from "../parts/units.js";
import { csv_lines, shown } from "../parts/text.js";
import { command_box, save_text } from "../parts/copy.js";
import { save_drawing } from "../parts/drawing.js";
import { make_grid } from "../table/grid.js";
import { link_pairs, matrix_bins, stretches } from "./bins.js";
import { make_picture } from "./picture.js";
import { is_selected_link } from "./run.js";
import { range_of, select, toggle_table } from "./state.js";

const [LEFT, TOP] = [64, 22];
const LARGEST = 440;
const CELL = 40;
const FONT = "11px system-ui, sans-serif";

/** @typedef {{ src: number, dst: number, group: string, type: string, transport: string, bytes: number, time_ns: number, gb_per_s: number, part_gb_per_s: number, peers_gb_per_s: number, share: number, is_slow: boolean, is_of_opposite: boolean }} LinkRow */

/** @param {RanksApp} app @returns {Part} */
export function link_matrix(app) {
  const { run } = app;
  const { links, report } = run;
  const title = h("h2", { id: "links-title" }, t("links_title"));
  if (links.count === 0) {
    return { element: h("section", { class: "card", id: "part-links", "aria-labelledby": "links-title" }, title, h("p", { class: "soft" }, t("links_none"))), dispose: () => {} };
  }
  const [roles, types, transports] = [report.roles, report.types, report.transports].map((list) => list.map((it) => shown(it, 40)));
  const place_of = new Map(run.order.map((it, at) => [it.number, at]));
  const [role, type, transport, slow, opposite] = ["role", "type", "transport", "is_slow", "is_of_opposite"].map((it) => links.numbers(it));
  const kind_of = (/** @type {number} */ row) => `${roles[role[row]]} ${types[type[row]]}`;
  const kinds = [...new Set(Array.from({ length: links.count }, (_, row) => kind_of(row)))].sort();
  const takes = (/** @type {number} */ row) => (app.kind.peek() === "" || kind_of(row) === app.kind.peek()) && (app.transport.peek() === "" || transports[transport[row]] === app.transport.peek());
  /** @type {import("./bins.js").Pair[]} */
  let pairs = [];
  let bounds = [0, 1];
  /** @type {Int32Array} */
  let bins = new Int32Array(1).fill(-1);
  let is_stale = true;
  let side = 1;
  /** @type {ReturnType<typeof make_grid> | null} */
  let grid = null;
  const wide = () => bounds.length - 1;
  const picture = make_picture(app, {
    label: t("links_name"), role: t("links_role"), help: t("links_help"), class: "links-canvas",
    height(width, most) {
      lay_out(Math.min(width - LEFT - 4, LARGEST), most);
      return TOP + side * wide() + 6;
    },
    size: () => ({ rows: wide(), columns: wide() }),
    place_at(x, y) {
      const [row, column] = [Math.floor((y - TOP) / side), Math.floor((x - LEFT) / side)];
      return row >= 0 && column >= 0 && row < wide() && column < wide() ? { row, column } : null;
    },
    tell,
    choose({ row, column }) {
      const pair = pairs[bins[row * wide() + column]];
      if (pair) select(app, `link:${run.order[pair.src].number}-${run.order[pair.dst].number}`);
    },
    paint,
  });
  const chooser = (/** @type {string} */ label, /** @type {string[]} */ values, /** @type {Signal<string>} */ of) => {
    const field = h("select", { on: { change: () => { of.value = field.value; } } }, h("option", { value: "" }, t("all_kinds")), values.map((it) => h("option", { value: it, selected: it === of.peek() }, it)));
    return { field, label: h("label", { class: "field" }, label, " ", field) };
  };
  const by_kind = chooser(t("traffic"), kinds, app.kind);
  const by_transport = chooser(t("transport"), transports, app.transport);
  const legend = h("div", { class: "legend" });
  const notes = h("div", { class: "soft" });
  const command = h("div");
  const table_place = h("div", { class: "grid-place ranks-grid", hidden: true });
  const as_table = h("button", { class: "chip", "aria-pressed": "false", on: { click: () => toggle_table(app, "links") } }, t("as_table"));
  const element = h("section", { class: "card", id: "part-links", "aria-labelledby": "links-title" },
    h("div", { class: "card-head" }, title, by_kind.label, by_transport.label, as_table, h("span", { class: "grow" }),
      save_drawing(app, "links", () => picture.as_svg(LARGEST + LEFT + 4)), save_text(app, "links", "CSV", csv)),
    picture.element, table_place, legend, notes, command);
  const stops = [
    effect(() => {
      const [kind, over] = [app.kind.value, app.transport.value];
      void app.range.value;
      void app.palette.value;
      untracked(() => {
        is_stale = true;
        [by_kind.field.value, by_transport.field.value] = [kind, over];
        pairs = link_pairs(links, (number) => place_of.get(number) ?? -1, takes);
        show_notes();
        show_legend();
        fill(command, command_box(app, ["opscope cluster comm", report.source, "--matrix", ...(kind === "" ? [] : ["--group", kind.split(" ")[0], "--type", kind.split(" ")[1]])].join(" ")));
        picture.request();
      });
    }),
    effect(() => {
      void app.selection.value;
      picture.request();
    }),
    effect(() => {
      const on = app.tables.value.includes("links");
      void app.kind.value;
      void app.transport.value;
      void app.selection.value;
      untracked(() => {
        as_table.setAttribute("aria-pressed", String(on));
        [picture.element.hidden, table_place.hidden] = [on, !on];
        stop_grid();
        if (on) show_grid();
        else picture.request();
      });
    }),
  ];
  return { element, dispose: () => { for (const stop of [...stops, stop_grid, picture.dispose]) stop(); } };

  function stop_grid() {
    grid?.dispose();
    grid = null;
  }

  /** @param {number} room @param {number} most shapes */
  function lay_out(room, most) {
    const [from, to] = untracked(() => range_of(app));
    const next = stretches(from, to, Math.min(room, Math.sqrt(most)));
    side = Math.max(1, Math.min(CELL, Math.floor(room / (next.length - 1))));
    if (!is_stale && next.length === bounds.length) return;
    bounds = next;
    bins = matrix_bins(pairs, bounds);
    is_stale = false;
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} width @param {number} height @param {import("./picture.js").Place | null} cursor */
  function paint(pen, width, height, cursor) {
    const palette = app.palette.peek();
    const selection = app.selection.peek();
    pen.fillStyle = palette.background;
    pen.fillRect(0, 0, width, height);
    pen.fillStyle = palette.shade;
    pen.fillRect(LEFT, TOP, wide() * side, wide() * side);
    const gap = side > 4 ? 1 : 0;
    /** @type {[number, number, string][]} */
    const outlined = [];
    for (let row = 0; row < wide(); row += 1) {
      for (let column = 0; column < wide(); column += 1) {
        const pair = pairs[bins[row * wide() + column]];
        if (!pair) continue;
        const [x, y] = [LEFT + column * side, TOP + row * side];
        pen.fillStyle = shade(palette, pair.share);
        pen.fillRect(x, y, side - gap, side - gap);
        if (Number.isNaN(pair.share) && side > 6) {
          pen.fillStyle = palette.background;
          pen.fillRect(x + side / 2 - 1, y + side / 2 - 1, 2, 2);
        }
        if (is_selected_link(run, selection, run.order[pair.src].number, run.order[pair.dst].number)) outlined.push([x, y, palette.accent]);
        else if (pair.slow) outlined.push([x, y, palette.flag]);
      }
    }
    pen.lineWidth = 2;
    for (const [x, y, colour] of outlined) {
      pen.strokeStyle = colour;
      pen.strokeRect(x - 1, y - 1, side + 2 - gap, side + 2 - gap);
      if (side > 11) {
        pen.fillStyle = palette.background;
        pen.beginPath();
        pen.moveTo(x + side / 2 - 3, y + side / 2 - 2);
        pen.lineTo(x + side / 2 + 3, y + side / 2 - 2);
        pen.lineTo(x + side / 2, y + side / 2 + 3);
        pen.fill();
      }
    }
    pen.font = FONT;
    pen.textBaseline = "middle";
    pen.fillStyle = palette.soft;
    const every = Math.max(1, Math.ceil(14 / side));
    pen.textAlign = "right";
    for (let row = 0; row < wide(); row += every) pen.fillText(String(run.order[bounds[row]].number), LEFT - 6, TOP + row * side + side / 2);
    pen.textAlign = "left";
    const apart = Math.max(1, Math.ceil(30 / side));
    for (let column = 0; column < wide(); column += apart) pen.fillText(String(run.order[bounds[column]].number), LEFT + column * side + 1, 10);
    if (cursor) {
      pen.strokeStyle = palette.text;
      pen.strokeRect(LEFT + cursor.column * side, TOP + cursor.row * side, Math.max(3, side), Math.max(3, side));
    }
  }

  /** The colour of a share of the bandwidth of its like: the less, the darker. @param {Palette} palette @param {number} share */
  function shade(palette, share) {
    if (Number.isNaN(share)) return palette.strong_line;
    return palette.ramp[Math.round(Math.max(0, Math.min(1, 1 - share)) * (palette.ramp.length - 1))];
  }

  /** @param {import("./picture.js").Place} place */
  function tell({ row, column }) {
    const pair = pairs[bins[row * wide() + column]];
    if (!pair) return [t("link_of", { src: run.order[bounds[row]].number, dst: run.order[bounds[column]].number }), t("not_measured")];
    const lines = [t("link_of", { src: run.order[pair.src].number, dst: run.order[pair.dst].number }) + (pair.slow ? ` · ${t("slow")}` : "")];
    for (const it of pair.places.slice(0, 6).map(row_of)) lines.push(`${it.group} ${it.type}, ${it.transport}: ${speed(it.gb_per_s)} · ${beside(it)}`);
    if (pair.places.length > 6) lines.push(t("and_more", { n: pair.places.length - 6 }));
    return lines;
  }

  /** @param {LinkRow} it */
  function beside(it) {
    if (Number.isNaN(it.share)) return t("nothing_alike");
    return t(it.is_of_opposite ? "of_opposite" : "of_like", { share: percent(it.share), like: speed(it.peers_gb_per_s) });
  }

  function show_legend() {
    const palette = app.palette.peek();
    const step = (/** @type {string} */ colour, /** @type {string} */ text) => h("span", { class: "legend-step" }, h("span", { class: "swatch wide", style: { background: colour } }), text);
    fill(legend, [1, 0.75, 0.5, 0.25].map((share) => step(shade(palette, share), share === 1 ? t("as_its_like") : percent(share))), step(palette.strong_line, t("nothing_alike")), step(palette.shade, t("not_measured")),
      h("span", { class: "legend-step" }, h("span", { class: "swatch wide outlined", style: { "border-color": palette.flag } }), t("slow")));
  }

  function show_notes() {
    const [from, to] = range_of(app);
    const marked = pairs.filter((it) => it.slow).length;
    fill(notes, h("p", null, t("links_counted", { n: count(pairs.length), of: count((to - from) * (to - from - 1)), slow: marked })), to - from > LARGEST ? h("p", null, t("links_binned", { n: count(to - from), rows: LARGEST })) : null, h("p", null, t("links_meaning")));
  }

  /** @param {number} row @returns {LinkRow} */
  function row_of(row) {
    const number = (/** @type {string} */ name) => links.numbers(name)[row];
    const [part, peers] = [number("part_gb_per_s"), number("peers_gb_per_s")];
    return { src: number("src"), dst: number("dst"), group: roles[role[row]], type: types[type[row]], transport: transports[transport[row]], bytes: number("bytes"), time_ns: number("time_ns"), gb_per_s: number("gb_per_s"), part_gb_per_s: part, peers_gb_per_s: peers, share: peers > 0 ? part / peers : NaN, is_slow: slow[row] > 0, is_of_opposite: opposite[row] > 0 };
  }

  function rows() {
    return Array.from({ length: links.count }, (_, row) => row).filter(takes).map(row_of);
  }

  function csv() {
    return csv_lines([["src", "dst", "role", "type", "transport", "bytes", "time_ns", "gb_per_s", "part_gb_per_s", "peers_gb_per_s", "is_slow", "is_of_opposite"], ...rows().map((it) => [it.src, it.dst, it.group, it.type, it.transport, it.bytes, it.time_ns, it.gb_per_s, it.part_gb_per_s || null, it.peers_gb_per_s || null, String(it.is_slow), String(it.is_of_opposite)])]);
  }

  function show_grid() {
    let sorted = "share";
    const columns = [
      { key: "src", title: t("from"), width: "60px", right: true, cell: (/** @type {LinkRow} */ it) => it.src },
      { key: "dst", title: t("to"), width: "60px", right: true, cell: (/** @type {LinkRow} */ it) => it.dst },
      { key: "group", title: t("group"), width: "60px", cell: (/** @type {LinkRow} */ it) => it.group },
      { key: "type", title: t("type"), width: "minmax(100px, 1fr)", cell: (/** @type {LinkRow} */ it) => it.type },
      { key: "transport", title: t("transport"), width: "70px", cell: (/** @type {LinkRow} */ it) => it.transport },
      { key: "bytes", title: t("bytes"), width: "90px", right: true, cell: (/** @type {LinkRow} */ it) => bytes(it.bytes) },
      { key: "time_ns", title: t("time"), width: "80px", right: true, cell: (/** @type {LinkRow} */ it) => about(it.time_ns) },
      { key: "gb_per_s", title: t("bandwidth"), width: "90px", right: true, cell: (/** @type {LinkRow} */ it) => speed(it.gb_per_s) },
      { key: "share", title: t("share_of_like"), width: "100px", right: true, cell: (/** @type {LinkRow} */ it) => (Number.isNaN(it.share) ? "–" : h("span", { title: beside(it) }, (it.is_of_opposite ? "⇄ " : "") + percent(it.share))) },
      { key: "is_slow", title: t("slow"), width: "60px", cell: (/** @type {LinkRow} */ it) => (it.is_slow ? `▲ ${t("slow")}` : "") },
    ];
    const made = make_grid({
      label: t("links_name"), columns, empty: () => t("nothing_here"),
      choose: (/** @type {LinkRow} */ it) => { app.selection.value = `link:${it.src}-${it.dst}`; },
      sort(key) {
        sorted = sorted === key ? `-${key}` : key;
        show();
      },
    });
    grid = /** @type {any} */ (made);
    fill(table_place, made.element);
    show();

    function show() {
      const key = /** @type {keyof LinkRow} */ (sorted.replace(/^-/, ""));
      const sign = sorted.startsWith("-") ? -1 : 1;
      const value = (/** @type {LinkRow} */ it) => (typeof it[key] === "number" && Number.isNaN(it[key]) ? Infinity : it[key]);
      made.show(rows().sort((a, b) => { const [x, y] = [value(a), value(b)]; return x < y ? -sign : x > y ? sign : 0; }), sorted);
      made.mark((it) => is_selected_link(run, app.selection.peek(), it.src, it.dst));
    }
  }
}

/** @param {number} gigabytes a second */
function speed(gigabytes) {
  return `${gigabytes.toFixed(1)} GB/s`;
}

