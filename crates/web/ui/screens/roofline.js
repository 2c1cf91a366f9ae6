// How near each operator is to the machine's limits, and the operators of which that isn't known.

import { h, fill } from "../parts/dom.js";
import { effect, signal, untracked } from "../state/signal.js";
import { operator_of } from "../state/selected.js";
import { t, word } from "../locale/texts.js";
import { about, percent, count, flop_rate, byte_rate } from "../parts/units.js";
import { named } from "../parts/live.js";
import { shown } from "../parts/text.js";
import { command_box, save_text } from "../parts/copy.js";
import { save_drawing } from "../parts/drawing.js";
import { BOUNDS, BOUND_SIGNS } from "../parts/colours.js";
import { make_grid, nothing_matches } from "../table/grid.js";
import { roofline_plot, befores, scales, intensity, rate, has_place, bound_colour, WIDE, HIGH } from "../plot/roofline.js";
import { operators_within } from "../data/window.js";
import { range_chip } from "../parts/range_chip.js";
import { card_head } from "./compare.js";
import { profile_word, quoted } from "./command.js";

const MOST = 2000;

/** @param {App} app @returns {ScreenView} */
export function roofline_screen(app) {
  const { profile } = app;
  const { roofline: roof } = profile.report;
  let placed = profile.operators.filter(has_place);
  const all_placed = placed;
  const others = profile.operators.filter((it) => !has_place(it));
  const path = quoted(profile_word(app));
  if (placed.length === 0) return { element: h("div", { class: "empty" }, h("h1", null, t("screen_roofline")), h("p", null, t("roofline_empty")), command_box(app, "opscope run MODEL.onnx --db run.db"), command_box(app, "opscope report run.db --roofline -o report.html")), dispose: () => {} };
  let whole = profile.overview.whole_ns || 1;
  const upto = signal(95);
  const brush = signal(/** @type {{ from: number[], to: number[] } | null} */ (null));
  const from = befores(app, placed);
  const scale = scales([...placed, ...from.values()], roof);
  const slider = h("input", { type: "range", min: "10", max: "100", step: "5", value: "95", on: { input: () => { upto.value = Number(slider.value); } } });
  const told = h("span", { class: "soft" });
  const plot = h("div", { class: "roofline-plot" });
  const frame = h("div", { class: "brush", hidden: true });
  const choose = (/** @type {number} */ operator) => { app.selection.value = { kind: "operator", operator }; };
  const bound_word = (/** @type {Operator} */ it) => (it.bound > 0 ? word("bound", BOUNDS[it.bound - 1]) : "–");
  const bandwidth = (/** @type {Operator} */ it) => ((it.bytes ?? 0) / it.time) * 1e9;
  const grid = make_grid({
    label: t("screen_roofline"), sort: () => {}, empty: nothing_matches,
    choose: (/** @type {Operator} */ it) => { choose(it.row); app.says.value = `${named(it.name)}, ${about(it.time)}, ${flop_rate(rate(it))}, ${bound_word(it)}`; },
    columns: [
      { key: "name", title: t("name"), width: "minmax(240px, 2fr)", sortable: false, cell: (it) => h("span", { title: shown(it.name) }, named(it.name)) },
      { key: "type", title: t("type"), width: "minmax(90px, 1fr)", sortable: false, cell: (it) => shown(it.type, 60) },
      { key: "time_ns", title: t("time"), width: "90px", right: true, sortable: false, of: (it) => it.time, cell: (it) => about(it.time) },
      { key: "share", title: t("share"), width: "72px", right: true, sortable: false, of: (it) => it.time / whole, cell: (it) => percent(it.time / whole) },
      { key: "flops_per_second", title: t("rate"), width: "110px", right: true, sortable: false, of: rate, cell: (it) => flop_rate(rate(it)) },
      { key: "bytes_per_second", title: t("bandwidth"), width: "100px", right: true, sortable: false, of: bandwidth, cell: (it) => byte_rate(bandwidth(it)) },
      { key: "intensity", title: t("intensity"), width: "90px", right: true, sortable: false, of: intensity, cell: (it) => intensity(it).toFixed(1) },
      ...(roof ? [
        { key: "bound", title: t("bound"), width: "110px", sortable: false, of: (/** @type {Operator} */ it) => BOUNDS[it.bound - 1], cell: bound_word },
        { key: "ceiling_share", title: t("ceiling"), width: "80px", right: true, sortable: false, of: (/** @type {Operator} */ it) => (it.bound > 0 ? it.ceiling : null), cell: (/** @type {Operator} */ it) => (it.bound > 0 ? percent(it.ceiling) : "–") },
        { key: "ideal_ns", title: t("ideal"), width: "96px", right: true, sortable: false, of: (/** @type {Operator} */ it) => it.ideal, cell: (/** @type {Operator} */ it) => (it.ideal === null ? "–" : about(it.ideal)) }] : []),
    ],
  });
  const rest_time = others.reduce((sum, it) => sum + it.time, 0);
  const chips = h("span", { class: "chip-place" });
  const legend = h("ul", { class: "legend" });
  const element = h("div", { class: "page roofline" }, h("h1", { class: "unseen" }, t("screen_roofline")),
    h("section", { class: "card" },
      card_head(roof ? t("roof_of", { flops: flop_rate(roof.flops_per_second), bytes: byte_rate(roof.bytes_per_second), ridge: (roof.flops_per_second / roof.bytes_per_second).toFixed(1) }) : t("no_roof"),
        h("label", { class: "field" }, t("upto"), " ", slider), told, chips, save_drawing(app, "roofline", () => plot.querySelector("svg"))),
      roof ? null : [h("p", { class: "soft" }, t("no_roof_why")), command_box(app, `opscope report ${path} --peak-flops 22TFLOPS --peak-bandwidth 1.2TB/s`)],
      h("div", { class: "scrolling tall", tabindex: "0", role: "region", "aria-label": t("screen_roofline") }, h("div", { class: "roofline-place" }, plot, frame)), legend),
    h("section", { class: "card" }, card_head(t("operators"), save_text(app, "roofline", "CSV", () => grid.csv())), h("div", { class: "groups-grid" }, grid.element)),
    h("section", { class: "card" }, h("h2", null, t("not_on_roofline", { n: count(others.length), time: about(rest_time), share: percent(rest_time / whole) })),
      others.length === 0 ? null : h("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": t("operators") }, h("table", { class: "simple" }, h("tbody", null, others.slice(0, 300).map((it) => h("tr", null,
        h("th", { scope: "row", class: "name-cell" }, h("button", { class: "plain link", on: { click: () => choose(it.row) } }, named(it.name))), h("td", { class: "soft" }, shown(it.type, 60)),
        h("td", { class: "right" }, about(it.time)), h("td", { class: "soft" }, t(it.flops === null ? "flops_unknown" : it.bytes === null ? "bytes_unknown" : it.flops === 0 ? "computes_nothing" : "moves_nothing")))))), others.length > 300 ? h("p", { class: "soft" }, t("first_rows", { n: 300, all: count(others.length) })) : null)));

  /** @type {Operator[]} */
  let shown_now = [];
  const stops = [
    effect(() => {
      const span = app.marked.value;
      placed = span ? within(profile, span).filter(has_place) : all_placed;
      whole = (span ? placed.reduce((total, it) => total + it.time, 0) : profile.overview.whole_ns) || 1;
      fill(chips, span && range_chip(app, span));
      const limit = (whole * upto.value) / 100;
      let sum = 0;
      shown_now = placed.filter((it) => { const before = sum; sum += it.time; return before < limit; }).slice(0, MOST);
      const selection = app.selection.value;
      const chosen = operator_of(profile, selection);
      fill(plot, roofline_plot(app, shown_now, { scale, chosen, choose, from: span ? new Map() : from, type: selection?.kind === "type" ? selection.type : null }));
      fill(told, `${upto.value} % · ${t("points", { n: count(shown_now.length), all: count(placed.length) })}`);
      fill(legend, !roof ? null : BOUNDS.map((it, at) => h("li", null, h("span", { "aria-hidden": "true", style: { color: bound_colour(app.palette.value, at + 1, "") } }, BOUND_SIGNS[at]), word("bound", it), h("b", null, about(shown_now.filter((operator) => operator.bound === at + 1).reduce((total, operator) => total + operator.time, 0))))), from.size > 0 ? h("li", { class: "soft" }, t("roofline_arrows")) : null);
      const area = brush.value;
      untracked(() => {
        grid.show(area ? shown_now.filter((it) => inside(area, it)) : shown_now, "-");
        grid.mark((it) => it.row === chosen);
      });
    }),
  ];
  watch_brush();
  return { element, dispose: () => { for (const stop of stops) stop(); grid.dispose(); } };

  /** @param {{ from: number[], to: number[] }} area @param {Operator} it */
  function inside({ from, to }, it) {
    const [x, y] = [scale.x_of(intensity(it)), scale.y_of(rate(it))];
    return x >= Math.min(from[0], to[0]) && x <= Math.max(from[0], to[0]) && y >= Math.min(from[1], to[1]) && y <= Math.max(from[1], to[1]);
  }

  // A dragged rectangle limits the list; a click beside the points takes the limit off.
  function watch_brush() {
    /** @type {number[] | null} */
    let from = null;
    const at = (/** @type {PointerEvent} */ event) => {
      const box = plot.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * WIDE, ((event.clientY - box.top) / box.height) * HIGH];
    };
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = at(event);
    });
    plot.addEventListener("pointermove", (event) => {
      if (!from) return;
      const to = at(event);
      if (Math.hypot(to[0] - from[0], to[1] - from[1]) < 5 && frame.hidden) return;
      if (frame.hidden) plot.setPointerCapture(event.pointerId);
      frame.hidden = false;
      const percent_of = (/** @type {number} */ value, /** @type {number} */ all) => `${(value / all) * 100}%`;
      frame.style.setProperty("left", percent_of(Math.min(from[0], to[0]), WIDE));
      frame.style.setProperty("top", percent_of(Math.min(from[1], to[1]), HIGH));
      frame.style.setProperty("width", percent_of(Math.abs(to[0] - from[0]), WIDE));
      frame.style.setProperty("height", percent_of(Math.abs(to[1] - from[1]), HIGH));
    });
    plot.addEventListener("pointerup", (event) => {
      const to = at(event);
      if (from && !frame.hidden && Math.hypot(to[0] - from[0], to[1] - from[1]) >= 5) {
        brush.value = { from, to };
        app.says.value = t("points", { n: count(shown_now.filter((it) => inside({ from: /** @type {number[]} */ (from), to }, it)).length), all: count(placed.length) });
      } else if (!(/** @type {Element} */ (event.target).closest(".point"))) {
        brush.value = null;
        frame.hidden = true;
      }
      from = null;
    });
  }
}

// Figures of the executions that lie whole in a stretch: operations and bytes of one are those of the average one.
/** @param {Profile} profile @param {Span} span @returns {Operator[]} */
function within(profile, span) {
  const { roofline: roof } = profile.report;
  return operators_within(profile, span, true).flatMap((it) => {
    const operator = profile.operators[it.operator];
    const time = profile.ns(it.time);
    if (!operator || time === 0) return [];
    const part = (it.count * Math.max(1, profile.overview.iterations)) / Math.max(1, operator.count);
    const [flops, bytes] = [operator.flops === null ? null : operator.flops * part, operator.bytes === null ? null : operator.bytes * part];
    const found = { ...operator, time, count: it.count, flops, bytes, bound: 0, ceiling: 0, ideal: /** @type {number | null} */ (null) };
    if (!roof || !has_place(found)) return [found];
    const ceiling = Math.min(roof.flops_per_second, intensity(found) * roof.bytes_per_second);
    const share = rate(found) / ceiling;
    const memory = intensity(found) * roof.bytes_per_second < roof.flops_per_second;
    return [{ ...found, ceiling: share, bound: share < roof.bound_from ? 3 : memory ? 2 : 1, ideal: ((flops ?? 0) / ceiling) * 1e9 }];
  });
}
