// Ranks by steps as a heat map of waiting, or of another measure.

import { h, fill } from "../parts/dom.js";
import { effect, untracked } from "../state/signal.js";
import { t, word } from "../locale/texts.js";
import { about, count } from "../parts/units.js";
import { csv_lines, shown } from "../parts/text.js";
import { command_box, save_text } from "../parts/copy.js";
import { save_drawing } from "../parts/drawing.js";
import { make_grid } from "../table/grid.js";
import { heat_bins, stretches } from "./bins.js";
import { range_field } from "./range.js";
import { make_picture } from "./picture.js";
import { MEASURES, selected_ranks, suspected_ranks } from "./run.js";
import { range_of, select, toggle_table } from "./state.js";

const [LEFT, TOP] = [64, 22];
const TALLEST = 440;
const ROW = 18;
const WIDEST = 260;
/** Steps that a table shows; all are in its CSV. */
const SHOWN_STEPS = 30;
const FONT = "11px system-ui, sans-serif";

/** @param {RanksApp} app @returns {Part} */
export function heat_map(app) {
  const { run } = app;
  const suspects = suspected_ranks(run);
  let bins = heat_bins(run, new Float64Array(0), [0, 0], [0, 0]);
  let is_stale = true;
  let wide = 1;
  /** @type {ReturnType<typeof make_grid> | null} */
  let grid = null;
  const high = () => Math.max(1, Math.min(ROW, Math.floor(TALLEST / Math.max(1, bins.rows.length - 1))));
  const picture = make_picture(app, {
    label: t("heat_name"), role: t("heat_role"), help: t("heat_help"), class: "heat-canvas",
    height(width, most) {
      lay_out(width, most);
      return TOP + (bins.rows.length - 1) * high() + 6;
    },
    size: () => ({ rows: bins.rows.length - 1, columns: bins.columns.length - 1 }),
    place_at(x, y) {
      const [row, column] = [Math.floor((y - TOP) / high()), Math.floor((x - LEFT) / wide)];
      return row >= 0 && column >= 0 && row < bins.rows.length - 1 && column < bins.columns.length - 1 ? { row, column } : null;
    },
    tell: ({ row, column }) => tell(row, column),
    choose({ row, column }) {
      const rank = bins.rank[row * (bins.columns.length - 1) + column];
      const at = rank >= 0 ? rank : bins.rows[row];
      select(app, `rank:${run.order[at].number}`);
    },
    paint,
  });
  const measure = h("select", { on: { change: () => { app.measure.value = MEASURES[measure.selectedIndex]; } } }, MEASURES.map((it) => h("option", { value: it, selected: it === app.measure.peek() }, word("measure", it))));
  const legend = h("div", { class: "legend" });
  const notes = h("div", { class: "soft" });
  const table_place = h("div", { class: "grid-place ranks-grid", hidden: true });
  const as_table = h("button", { class: "chip", "aria-pressed": "false", on: { click: () => toggle_table(app, "heat") } }, t("as_table"));
  const command = h("div");
  const range = range_field(app);
  const element = h("section", { class: "card heat-card", id: "part-heat", "aria-labelledby": "heat-title" },
    h("div", { class: "card-head" }, h("h2", { id: "heat-title" }, t("heat_title")), h("label", { class: "field" }, t("measure"), " ", measure), range.element, as_table, h("span", { class: "grow" }),
      save_drawing(app, "heat", () => picture.as_svg()), save_text(app, "heat", "CSV", csv)),
    picture.element, table_place, legend, notes, command);
  const stops = [
    effect(() => {
      const [name] = [app.measure.value, app.range.value, app.selection.value, app.palette.value];
      untracked(() => {
        measure.value = name;
        is_stale = true;
        picture.request();
        show_notes();
        fill(command, command_box(app, `opscope cluster summary ${run.report.source} --by rank`));
      });
    }),
    effect(() => {
      const on = app.tables.value.includes("heat");
      const [name, span] = [app.measure.value, app.range.value];
      untracked(() => {
        as_table.setAttribute("aria-pressed", String(on));
        [picture.element.hidden, table_place.hidden] = [on, !on];
        stop_grid();
        if (on) show_grid(name, span);
        else picture.request();
      });
    }),
  ];
  return { element, dispose: () => { for (const stop of [...stops, stop_grid, picture.dispose, range.dispose]) stop(); } };

  function stop_grid() {
    grid?.dispose();
    grid = null;
  }

  /** @param {number} width @param {number} most shapes */
  function lay_out(width, most) {
    const [from, to] = untracked(() => range_of(app));
    const columns = stretches(0, run.steps.length, Math.max(1, Math.min(width - LEFT - 4, most)));
    const rows = stretches(from, to, Math.min(TALLEST, most / (columns.length - 1)));
    wide = Math.min(WIDEST, (width - LEFT - 4) / (columns.length - 1));
    if (!is_stale && bins.rows.length === rows.length && bins.columns.length === columns.length) return;
    bins = heat_bins(run, run.values(app.measure.peek()), rows, columns);
    is_stale = false;
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} width @param {number} height @param {import("./picture.js").Place | null} cursor */
  function paint(pen, width, height, cursor) {
    const palette = app.palette.peek();
    const [rows, columns] = [bins.rows.length - 1, bins.columns.length - 1];
    const tall = high();
    const selected = new Set(selected_ranks(run, app.selection.peek()));
    pen.fillStyle = palette.background;
    pen.fillRect(0, 0, width, height);
    pen.font = FONT;
    pen.textBaseline = "middle";
    const gap = tall > 8 ? 1 : 0;
    for (let row = 0; row < rows; row += 1) {
      const y = TOP + row * tall;
      if (bins.unrecorded[row]) {
        pen.fillStyle = palette.strong_line;
        for (let x = LEFT; x < LEFT + columns * wide - 3; x += 8) pen.fillRect(x, y + Math.floor(tall / 2), 4, 1);
        continue;
      }
      for (let column = 0; column < columns; column += 1) {
        const value = bins.values[row * columns + column];
        if (Number.isNaN(value)) continue;
        pen.fillStyle = shade(palette, value);
        pen.fillRect(LEFT + column * wide, y, Math.max(0.5, wide - (wide > 4 ? 1 : 0)), tall - gap);
      }
    }
    pen.textAlign = "right";
    const every = Math.max(1, Math.ceil(14 / tall));
    const chosen_rows = Array.from({ length: rows }, (_, row) => row).filter((row) => order_of(row).some((it) => selected.has(it)));
    for (let row = 0; row < rows; row += 1) {
      const numbers = order_of(row);
      const [chosen, suspect] = [chosen_rows.includes(row), numbers.some((it) => suspects.has(it))];
      const y = TOP + row * tall + (tall - gap) / 2;
      // The label of a chosen row takes the place of its neighbours'.
      if (chosen || (row % every === 0 && !chosen_rows.some((it) => Math.abs(it - row) * tall < 13))) {
        pen.fillStyle = chosen ? palette.accent : suspect ? palette.flag : palette.soft;
        pen.fillText(String(chosen ? numbers.find((it) => selected.has(it)) : numbers[0]), LEFT - 14, y);
      }
      if (suspect || chosen) {
        pen.fillStyle = chosen ? palette.accent : palette.flag;
        pen.beginPath();
        pen.moveTo(LEFT - 11, y - 4);
        pen.lineTo(LEFT - 4, y);
        pen.lineTo(LEFT - 11, y + 4);
        pen.fill();
      }
      if (chosen) {
        pen.strokeStyle = palette.accent;
        pen.lineWidth = 2;
        pen.strokeRect(LEFT - 1, TOP + row * tall - 1, columns * wide + 1, tall + 1);
      }
    }
    pen.textAlign = "left";
    pen.fillStyle = palette.soft;
    const apart = Math.max(1, Math.ceil(46 / wide));
    for (let column = 0; column < columns; column += apart) pen.fillText(String(run.steps[bins.columns[column]]), LEFT + column * wide + 2, 10);
    if (cursor) {
      pen.strokeStyle = palette.text;
      pen.lineWidth = 2;
      pen.strokeRect(LEFT + cursor.column * wide, TOP + cursor.row * tall, wide, Math.max(3, tall));
    }
    show_legend(palette);
  }

  /** @param {Palette} palette @param {number} value */
  function shade(palette, value) {
    return palette.ramp[bins.most > 0 ? Math.round((value / bins.most) * (palette.ramp.length - 1)) : 0];
  }

  /** The ranks of a row, by number. @param {number} row */
  function order_of(row) {
    return run.order.slice(bins.rows[row], bins.rows[row + 1]).map((it) => it.number);
  }

  /** @param {number} row @param {number} column */
  function tell(row, column) {
    const at = row * (bins.columns.length - 1) + column;
    const numbers = order_of(row);
    const rank = bins.rank[at];
    const [first, behind] = [bins.columns[column], bins.columns[column + 1]];
    const many = numbers.length > 1 || behind - first > 1;
    const step = rank >= 0 ? run.steps[bins.step[at]] : run.steps[first];
    if (rank < 0) {
      const { number, index } = run.order[bins.rows[row]];
      const why = bins.unrecorded[row] ? "not_recorded" : index < 0 || run.knows_account(index) ? "no_such_step" : "time_unknown";
      return [rank_text(number), t(why, { step })];
    }
    const lines = [`${rank_text(run.order[rank].number)}, ${t("step_n", { step })}`, `${word("measure", app.measure.peek())}: ${about(bins.values[at])}`];
    if (many) lines.push(t("most_of_stretch", { first: numbers[0], last: numbers.at(-1) ?? 0, n: count(numbers.length * (behind - first)) }));
    return lines;
  }

  /** @param {number} number */
  function rank_text(number) {
    const place = run.place_of(number);
    return place === "" ? t("rank_n", { rank: number }) : `${t("rank_n", { rank: number })} (${shown(place, 60)})`;
  }

  /** @param {Palette} palette */
  function show_legend(palette) {
    const text = `${bins.most} ${palette.dark} ${app.measure.peek()}`;
    if (legend.dataset.of === text) return;
    legend.dataset.of = text;
    const parts = [0, 0.25, 0.5, 0.75, 1];
    fill(legend, parts.map((part) => h("span", { class: "legend-step" }, h("span", { class: "swatch wide", style: { background: shade(palette, part * bins.most) } }), about(part * bins.most))),
      h("span", { class: "legend-step" }, h("span", { class: "triangle", "aria-hidden": "true" }, "▸"), t("legend_suspect")),
      run.report.cluster.missing.length > 0 ? h("span", { class: "legend-step" }, h("span", { class: "dashes", "aria-hidden": "true" }, "┄┄"), t("not_recorded")) : null);
  }

  function show_notes() {
    const [from, to] = range_of(app);
    const lines = [];
    if (to - from > TALLEST) lines.push(t("heat_binned", { n: count(to - from), rows: TALLEST }));
    if (run.report.steps_left_out > 0) lines.push(t("steps_left_out", { n: count(run.report.steps_left_out) }));
    lines.push(word("measure_is", app.measure.peek()));
    fill(notes, lines.map((it) => h("p", null, it)));
  }

  function csv() {
    const values = run.values(app.measure.peek());
    const [from, to] = range_of(app);
    return csv_lines([["rank", "place", ...run.steps.map((it) => `step_${it}_${app.measure.peek()}_ns`)], ...run.order.slice(from, to).map(({ number, index }) => [number, run.place_of(number), ...run.steps.map((_, step) => known(values[index * run.steps.length + step], index))])]);
  }

  /** @param {number} value @param {number} index */
  function known(value, index) {
    return index < 0 || Number.isNaN(value) ? null : value;
  }

  /** @param {Measure} name @param {Span | null} span */
  function show_grid(name, span) {
    const values = run.values(name);
    const [from, to] = span ?? [0, run.order.length];
    const steps = run.steps.slice(0, SHOWN_STEPS);
    grid = make_grid({
      label: t("heat_name"),
      columns: [
        { key: "number", title: t("rank"), width: "70px", right: true, sortable: false, cell: (/** @type {any} */ row) => row.number },
        { key: "place", title: t("place"), width: "minmax(120px, 1fr)", sortable: false, cell: (/** @type {any} */ row) => (row.index < 0 ? t("not_recorded") : shown(run.place_of(row.number), 60)) },
        ...steps.map((step, at) => ({ key: `step_${step}`, title: t("step_n", { step }), width: "90px", right: true, sortable: false, cell: (/** @type {any} */ row) => { const value = known(values[row.index * run.steps.length + at], row.index); return value === null ? "–" : about(value); } })),
      ],
      choose: (/** @type {any} */ row) => { app.selection.value = `rank:${row.number}`; },
      sort: () => {},
      empty: () => t("nothing_here"),
    });
    fill(table_place, grid.element, run.steps.length > steps.length ? h("p", { class: "soft" }, t("steps_in_csv", { n: count(steps.length), of: count(run.steps.length) })) : null);
    grid.show(run.order.slice(from, to), "number");
    const selected = new Set(selected_ranks(run, app.selection.peek()));
    grid.mark((/** @type {any} */ row) => selected.has(row.number));
  }
}
