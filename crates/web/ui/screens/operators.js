// The table of operators, with what is known of the chosen one beside it.

import { why_empty } from "../parts/why_empty.js";
import { h, fill } from "../parts/dom.js";
import { effect, untracked } from "../state/signal.js";
import { t, word } from "../locale/texts.js";
import { about, percent, count, flops, bytes, flop_rate, byte_rate } from "../parts/units.js";
import { named, unit_word } from "../parts/live.js";
import { shown, csv_lines } from "../parts/text.js";
import { item_of } from "../timeline/find.js";
import { choose_slice } from "../timeline/moves.js";
import { meter } from "../parts/panel.js";
import { save, save_file, save_text, json_of } from "../parts/copy.js";
import { GROUPINGS } from "../state/link.js";
import { parse_filter } from "../data/filter.js";
import { chip, range_chip } from "../parts/range_chip.js";
import { table_of, sorted, metric_of, METRIC } from "../data/table.js";
import { make_grid, nothing_matches } from "../table/grid.js";
import { operator_details, metric_text } from "./operator_details.js";
import { operator_of } from "../state/selected.js";
import { colour_of_type } from "../parts/colours.js";
import { analyze_command } from "./command.js";

/** @param {App} app @returns {ScreenView} */
export function operators_screen(app) {
  const { profile } = app;
  if (profile.operators.length === 0 && profile.items.count === 0) {
    return { element: h("div", { class: "empty" }, h("h1", { class: "unseen" }, t("screen_operators")), why_empty(app)), dispose: () => {} };
  }
  const query = h("input", { type: "search", class: "query", value: app.query.peek(), placeholder: t("filter_example"), "aria-label": t("filter_title"), spellcheck: "false", autocomplete: "off", on: { input: () => { app.query.value = query.value; } } });
  const problem = h("span", { class: "problem", role: "status" });
  const group = h("select", { on: { change: () => { app.grouping.value = GROUPINGS[group.selectedIndex]; } } }, GROUPINGS.slice(0, -1).map((it) => h("option", { value: it, selected: it === app.grouping.peek() }, word("group", it))));
  const by = h("label", { class: "field" }, t("group_by"), " ", group);
  const tab = (/** @type {Key} */ name, /** @type {boolean} */ calls) => h("button", { class: "small", "aria-pressed": "false", on: { click: () => { if ((app.grouping.peek() === "call") !== calls) app.grouping.value = calls ? "call" : "operator"; } } }, t(name));
  const tabs = h("span", { class: "buttons" }, tab("operators", false), tab("calls_tab", true));
  const summary = h("span", { class: "soft" });
  const chips = h("span", { class: "chip-place" });
  const place = h("div", { class: "grid-place" });
  const details = h("aside", { class: "details", "aria-label": t("details") });
  const element = h("div", { class: "operators" },
    h("h1", { class: "unseen" }, t("screen_operators")),
    h("div", { class: "toolbar" }, tabs, query, by, chips, problem, h("span", { class: "grow" }), summary,
      h("button", { class: "small", on: { click: save_csv } }, "CSV"),
      save_text(app, "operators", "JSON", json)),
    h("div", { class: "beside" }, place, details));

  /** @type {TableRow[]} */
  let rows = [];
  /** @type {ReturnType<typeof make_grid<TableRow>> | null} */
  let grid = null;
  let grid_for = "";
  // The latest question to the table and its answer: another order of the rows needs no new one.
  let asked = "";
  /** @type {ReturnType<typeof table_of>} */
  let answer = { rows: [], whole: 0 };

  const stops = [
    effect(() => { if (query.value !== app.query.value) query.value = app.query.value; }),
    effect(() => {
      const calls = app.grouping.value === "call";
      group.value = app.grouping.value;
      by.hidden = calls;
      details.hidden = calls;
      [...tabs.children].forEach((it, at) => it.setAttribute("aria-pressed", String(calls === (at === 1))));
    }),
    effect(() => {
      const { terms, wrong } = parse_filter(app.query.value);
      fill(problem, wrong.length > 0 ? t("filter_wrong", { parts: wrong.join(" ") }) : "");
      const grouping = app.grouping.value;
      const span = app.marked.value;
      const selection = app.selection.value;
      const type = selection?.kind === "type" && grouping === "operator" ? selection.type : null;
      const question = JSON.stringify([grouping, app.query.value, span]);
      if (question !== asked) answer = table_of(profile, { grouping, terms, span });
      asked = question;
      const sort = app.sort.value ?? "-time";
      rows = sorted(profile, type === null ? answer.rows : answer.rows.filter((it) => it.type === type), sort);
      const key = `${grouping}/${span !== null}`;
      untracked(() => {
        if (key !== grid_for || !grid) {
          grid?.dispose();
          grid = make_grid({ label: t("screen_operators"), columns: columns(app, grouping, span !== null), choose, sort: change_sort, empty: () => (grouping === "call" && !profile.report.calls?.rows.length ? t("no_calls") : nothing_matches()) });
          grid_for = key;
          fill(place, grid.element);
        }
        grid.show(rows, sort);
        const shown_time = rows.reduce((sum, it) => sum + it.time, 0);
        fill(summary, t("rows_of_time", { n: count(rows.length), time: about(shown_time), share: percent(answer.whole > 0 ? shown_time / answer.whole : 0) }));
        fill(chips, span && range_chip(app, span), type !== null && chip(named(type), t("let_go"), () => { app.selection.value = null; }));
        mark_chosen();
      });
    }),
    effect(() => {
      const selection = app.selection.value;
      untracked(() => {
        mark_chosen();
        const operator = operator_of(profile, selection);
        fill(details, operator < 0 ? details_empty(app) : operator_details(app, operator));
      });
    }),
    effect(() => {
      app.palette.value;
      untracked(() => grid?.show(rows, app.sort.peek() ?? "-time"));
    }),
  ];
  requestAnimationFrame(() => grid?.reveal_chosen());
  return { element, dispose: () => { for (const stop of stops) stop(); grid?.dispose(); }, focus: () => grid?.element.focus() };

  function mark_chosen() {
    const selection = app.selection.peek();
    const operator = operator_of(profile, selection);
    grid?.mark((it) => (operator >= 0 && it.operator === operator) || (selection?.kind === "type" && app.grouping.peek() === "type" && it.name === selection.type));
  }

  /** @param {TableRow} row */
  function choose(row) {
    if (row.operator !== null) app.selection.value = { kind: "operator", operator: row.operator };
    else if (app.grouping.peek() === "type") app.selection.value = { kind: "type", type: row.name };
    else if (app.grouping.peek() === "call") {
      const item = item_of(profile, row.name);
      if (item >= 0) choose_slice(app, profile.item.indexOf(item));
    } else if (row.iteration !== null) {
      const slice = profile.iterations.at(row.iteration)?.slice ?? -1;
      if (slice >= 0) app.selection.value = { kind: "slice", slice };
    }
    app.says.value = `${named(row.name)}, ${about(row.time)}, ${percent(row.share)}`;
  }

  /** @param {string} key */
  function change_sort(key) {
    const now = app.sort.peek() ?? "-time";
    const text = ["name", "type", "unit", "shapes", "data_type", "stream"].includes(key);
    app.sort.value = now === key ? `-${key}` : now === `-${key}` ? key : text ? key : `-${key}`;
  }

  // A page holds the costliest operators only; all of them are the server's to tell.
  function save_csv() {
    const { operators, operators_in_full } = profile.report.left_out;
    const whole = app.query.peek().trim() === "" && app.marked.peek() === null;
    if (profile.file && whole && operators_in_full < operators && app.grouping.peek() === "operator") void save_file(app, "table?format=csv", "operators.csv", "text/csv");
    else save(`${profile.report.name}.operators.csv`, "text/csv", csv());
  }

  function csv() {
    const metrics = metric_columns(app);
    return csv_lines([["rank", ...FIELDS.map(field_name), ...metrics], ...rows.map((row, at) => [at + 1, ...FIELDS.map((it) => row[it]), ...metrics.map((it) => metric_of(profile, row, it)?.mean ?? null)])]);
  }

  // The members of `opscope analyze --json`, and the quantities of hardware by their own names.
  function json() {
    const of_row = (/** @type {TableRow} */ row, /** @type {number} */ at) => {
      const metrics = row.operator === null ? [] : profile.metrics_of(row.operator);
      const fields = FIELDS.flatMap((it) => (row[it] === null || row[it] === "" ? [] : [[field_name(it), row[it]]]));
      return { rank: at + 1, ...Object.fromEntries(fields), ...(metrics.length > 0 ? { metrics: metrics.map(({ name, unit, mean }) => ({ name, unit, mean })) } : {}) };
    };
    return json_of({ schema_version: profile.report.schema_version, command: analyze_command(app), rows: rows.map(of_row) });
  }
}

// The columns of `opscope analyze --csv` by their names there.
const FIELDS = /** @type {const} */ (["name", "type", "unit", "stream", "data_type", "shapes", "time", "share", "cumulative", "count", "mean", "median", "p90", "p99", "min", "max", "wait", "flops", "bytes"]);
const MOST_METRICS = 24;

/** @param {typeof FIELDS[number]} field */
function field_name(field) {
  return field === "cumulative" ? "cumulative_share" : ["time", "mean", "median", "p90", "p99", "min", "max", "wait"].includes(field) ? `${field}_ns` : field;
}

/** The quantities of hardware that are columns. @param {App} app */
function metric_columns(app) {
  return app.grouping.peek() === "operator" ? app.profile.metric_names.slice(0, MOST_METRICS) : [];
}

/** @param {App} app */
function details_empty(app) {
  return h("div", { class: "details-empty soft" }, h("p", null, t("details_empty")), app.profile.report.left_out.slices_in_full < app.profile.report.left_out.slices ? h("p", null, t("details_partly")) : null);
}

/** @param {App} app @param {Grouping} grouping @param {boolean} limited @returns {GridColumn[]} */
function columns(app, grouping, limited) {
  const { profile } = app;
  const time = (/** @type {number | null} */ it) => (it === null ? "–" : about(it));
  const some = (/** @type {(it: Operator) => boolean} */ has) => profile.operators.some(has);
  const single = grouping === "operator";
  const calls = grouping === "call";
  /** @type {GridColumn[]} */
  const list = [
    { key: "rank", title: "#", width: "36px", right: true, sortable: false, cell: (_, at) => count(at + 1) },
    { key: "name", title: word("group", grouping), width: "minmax(260px, 2.4fr)", cell: (row) => [swatch(app, row), h("span", { class: "cell-name", title: shown(row.name) }, grouping === "unit" ? unit_word(row.name) : row.iteration !== null ? t("inference_n", { number: row.name }) : named(row.name))] },
  ];
  if (single) list.push({ key: "type", title: t("type"), width: "minmax(90px, 1fr)", cell: (row) => h("span", { title: shown(row.type) }, shown(row.type, 60)) });
  list.push(
    { key: "time", title: limited ? t("time_in_range") : profile.overview.iterations > 0 && !calls && grouping !== "iteration" ? t("time_of_inference") : t("time"), width: "148px", right: true, cell: (row) => about(row.time) },
    { key: "share", title: t("share"), width: "132px", right: true, cell: (row) => h("span", { class: "share-cell" }, meter(row.share), h("span", null, percent(row.share))) },
    { key: "cumulative", title: t("cumulative"), width: "72px", right: true, sortable: false, cell: (row) => percent(row.cumulative), why: t("cumulative_why") },
    { key: "count", title: t("executions"), width: "84px", right: true, cell: (row) => count(row.count) },
  );
  if (!single && !calls && grouping !== "iteration") list.push({ key: "operators", title: t("operators"), width: "84px", right: true, cell: (row) => count(row.operators) });
  if (calls) list.push({ key: "type", title: t("level"), width: "110px", cell: (row) => shown(row.type, 40) });
  if (calls && profile.report.calls?.rows.some((it) => it.phase)) list.push({ key: "unit", title: t("phase"), width: "110px", cell: (row) => shown(row.unit, 40) });
  list.push({ key: "mean", title: t("mean"), width: "84px", right: true, cell: (row) => time(row.mean) });
  if (single && !limited) for (const key of /** @type {const} */ (["median", "p90", "p99"])) list.push({ key, title: t(key), width: "84px", right: true, cell: (row) => time(row[key]) });
  if (!calls && grouping !== "iteration" && !limited) for (const key of /** @type {const} */ (["min", "max"])) list.push({ key, title: t(key), width: "84px", right: true, cell: (row) => time(row[key]) });
  if (!limited && !calls && grouping !== "iteration") {
    if (some((it) => it.wait !== null)) list.push({ key: "wait", title: t("waiting"), width: "84px", right: true, cell: (row) => time(row.wait) });
    if (some((it) => it.flops !== null)) list.push({ key: "flops", title: t("compute"), width: "104px", right: true, cell: (row) => (row.flops === null ? "–" : flops(row.flops)) }, { key: "rate", title: t("rate"), width: "104px", right: true, sortable: false, cell: (row) => (row.flops === null || row.time === 0 ? "–" : flop_rate((row.flops / row.time) * 1e9)) });
    if (some((it) => it.bytes !== null)) list.push({ key: "bytes", title: t("moved"), width: "92px", right: true, cell: (row) => (row.bytes === null ? "–" : bytes(row.bytes)) }, { key: "bandwidth", title: t("bandwidth"), width: "96px", right: true, sortable: false, cell: (row) => (row.bytes === null || row.time === 0 ? "–" : byte_rate((row.bytes / row.time) * 1e9)) });
  }
  if (single) {
    if (some((it) => it.unit !== "")) list.push({ key: "unit", title: t("unit"), width: "92px", cell: (row) => unit_word(row.unit) });
    if (some((it) => it.stream !== "")) list.push({ key: "stream", title: t("stream"), width: "72px", cell: (row) => shown(row.stream, 20) });
    if (some((it) => it.data_type !== "")) list.push({ key: "data_type", title: t("data_type"), width: "84px", cell: (row) => shown(row.data_type, 30) });
    // Means over all executions, whatever stretch of time is looked at.
    if (!limited) for (const name of metric_columns(app)) list.push({ key: `${METRIC}${name}`, title: shown(name, 60), width: "124px", right: true, cell: (row) => { const it = metric_of(profile, row, name); return it ? metric_text(it) : "–"; } });
    if (some((it) => it.shapes !== "")) list.push({ key: "shapes", title: t("shapes"), width: "minmax(160px, 2fr)", cell: (row) => h("span", { title: shown(row.shapes) }, shown(row.shapes, 100)) });
  }
  return list;
}

/** @param {App} app @param {TableRow} row */
function swatch(app, row) {
  if (row.type === "" || row.key.startsWith("call:")) return null;
  return h("span", { class: "swatch", "aria-hidden": "true", style: { background: app.palette.peek().css[colour_of_type(row.type)] } });
}
