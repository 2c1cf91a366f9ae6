// The panel below the screens (`Q`): everything about what is selected, else about the marked range.

import { h, fill } from "./dom.js";
import { effect, untracked, batch } from "../state/signal.js";
import { t, word } from "../locale/texts.js";
import { about, percent, count, flops, bytes } from "./units.js";
import { whole, shown } from "./text.js";
import { named, slice_label, row_title, share_of_inference, item_label, group_title, unit_word } from "./live.js";
import { ITEM } from "../data/profile.js";
import { show_in_model } from "../state/app.js";
import { part_lines } from "../graph/look.js";
import { window_of } from "../data/window.js";
import { executions_of, links_of } from "../timeline/find.js";
import { BOUNDS } from "./colours.js";
import { moment } from "../timeline/scale.js";
import { choose_slice, reveal } from "../timeline/moves.js";

/** @param {App} app */
export function panel(app) {
  const body = h("div", { class: "panel-body" });
  const toggle = h("button", { class: "plain panel-toggle", "aria-expanded": "true", "aria-controls": "panel", title: t("panel_toggle"), on: { click: () => { app.panel.value = !app.panel.peek(); } } });
  const element = h("aside", { class: "panel", id: "panel", "aria-label": t("selection") }, toggle, body);
  const stop = effect(() => {
    const open = app.panel.value;
    const selection = app.selection.value;
    const marked = app.marked.value;
    const screen = app.screen.value;
    app.other?.selection.value;
    app.other?.marked.value;
    app.flags.value;
    // The server's answer about a range comes later.
    app.profile.served?.told.value;
    untracked(() => {
      // Findings and operators are shown whole by their own screens.
      const own = (selection?.kind === "finding" && screen === "advice") || (selection?.kind === "operator" && screen === "operators");
      const some = selection !== null || marked !== null || screen === "timeline";
      element.hidden = !some || own || screen === "about";
      body.hidden = !open;
      toggle.setAttribute("aria-expanded", String(open));
      fill(toggle, h("span", { class: open ? "arrow" : "arrow folded", "aria-hidden": "true" }), open ? t("selection") : headline(app, selection, marked));
      if (open) fill(body, content(app, selection, marked));
    });
  });
  return { element, dispose: stop };
}

/** @param {App} app @param {Chosen | null} selection @param {Span | null} marked */
function headline(app, selection, marked) {
  if (selection?.kind === "slice") return `${t("selection")}: ${slice_label(app.profile, selection.slice)}`;
  if (marked) return t("range_says", { time: about(app.profile.ns(marked[1] - marked[0])) });
  return t("selection");
}

/** @param {App} app @param {Chosen | null} selection @param {Span | null} marked @returns {Child} */
function content(app, selection, marked) {
  const parts = [];
  if (selection?.kind === "slice") parts.push(slice_card(app, selection.slice));
  else if (selection?.kind === "operator") parts.push(operator_card(app, selection.operator));
  else if (selection?.kind === "type") parts.push(type_card(app, selection.type));
  else if (selection?.kind === "finding") parts.push(finding_card(app, selection.rule));
  const node = app.screen.peek() === "model" && selection?.kind === "operator" ? app.profile.graph.node_of(selection.operator) : selection?.kind === "node" ? selection.node : -1;
  if (node >= 0) parts.push(node_card(app, node));
  if (marked) parts.push(range_card(app, marked));
  if (app.screen.peek() === "timeline" && app.flags.peek().length > 0) parts.push(flags_card(app));
  if (app.other && app.screen.peek() === "timeline") parts.push(other_cards(app.other));
  return parts.length > 0 ? parts : h("p", { class: "soft" }, t("panel_empty"));
}

/** The selected slice and range of the other profile. @param {App} app */
function other_cards(app) {
  const [selection, marked] = [app.selection.peek(), app.marked.peek()];
  return selection?.kind !== "slice" && !marked ? null : h("section", { class: "range-card other" }, h("h3", null, `A ${shown(app.profile.report.name, 100)}`), selection?.kind === "slice" ? slice_card(app, selection.slice) : null, marked ? range_card(app, marked) : null);
}

/** The flags, whose names are the reader's. @param {App} app */
function flags_card(app) {
  const of = (/** @type {Flag} */ flag) => {
    const { flags, profile, view } = app;
    const at = moment(profile.ns(flag.at), profile.ns(view.peek()[1] - view.peek()[0]) / 100);
    const name = h("input", { class: "small-input", value: flag.name, "aria-label": `${t("flags")} ${at}`, on: { change: () => { flags.value = flags.peek().map((it) => (it === flag ? { ...flag, name: name.value } : it)); } } });
    return h("li", null, name, " ", at);
  };
  return h("section", { class: "range-card" }, h("h3", null, t("flags")), h("ol", { class: "gaps" }, app.flags.peek().map(of)));
}

/** @param {[string, Child][]} pairs */
export function facts_list(pairs) {
  return h("dl", { class: "pairs" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

/** @param {App} app @param {number} slice */
function slice_card(app, slice) {
  const { profile } = app;
  const item = profile.item[slice];
  const row = profile.row_of(slice);
  const iteration = profile.iteration_of(slice);
  const operator = profile.operators[profile.items.operator[item] - 1];
  const inner = profile.column("inner")[slice];
  const wait = profile.column("wait")[slice];
  const share = share_of_inference(profile, slice);
  const links = links_of(profile, slice);
  const go = (/** @type {number} */ to) => h("button", { class: "plain link", on: { click: () => { app.screen.value = "timeline"; reveal(app, to); choose_slice(app, to); } } }, slice_label(profile, to));
  const by = links.find((it) => it.to === slice);
  const launched = links.filter((it) => it.from === slice);
  const all = operator ? executions_of(profile, operator.row) : null;
  const kind = profile.items.kind[item];
  return h("section", { class: "card-line" },
    h("h2", { class: "selected-name" }, kind <= ITEM.unrecorded ? slice_label(profile, slice) : name_whole(profile.item_name(item))),
    facts_list([
      [t("kind"), word("kind", Object.keys(ITEM)[kind] ?? "")],
      [t("type"), kind === ITEM.task && profile.item_category(item) !== "" ? type_button(app, profile.item_category(item)) : shown(profile.item_category(item))],
      [t("own_name"), profile.items.task[item] > 0 ? shown(profile.text(profile.items.task[item])) : ""],
      [t("row"), row ? row_title(profile, row) : ""],
      [t("unit"), kind === ITEM.task ? unit_word(profile.item_unit(item)) : ""],
      [t("start"), moment(profile.ns(profile.start[slice]), profile.ns(Math.max(1, profile.duration[slice])) / 10)],
      [t("duration"), about(profile.ns(profile.duration[slice]))],
      [t("own_time"), inner > 0 ? about(profile.ns(profile.duration[slice] - inner)) : ""],
      [t("waiting"), wait > 0 ? about(profile.ns(wait - 1)) : ""],
      [t("of_inference"), iteration ? `${iteration.number}${share === null ? "" : ` · ${percent(share)}`}` : ""],
      [t("launched_by"), by ? go(by.from) : ""],
      [t("launched"), launched.length > 0 ? h("span", null, go(launched[0].to), launched.length > 1 ? ` ${t("and_more", { n: count(launched.length - 1) })}` : "") : ""],
      [t("executions"), operator && profile.is_guest(slice) ? count(operator.count) : all ? h("span", null, t("one_of", { at: count(all.indexOf(slice) + 1), all: count(all.length) })) : ""],
      [t("shapes"), operator ? shown(operator.shapes) : ""],
    ]),
    operator && !app.is_other ? h("div", { class: "actions" }, h("button", { class: "small", on: { click: () => batch(() => { app.selection.value = { kind: "operator", operator: operator.row }; app.screen.value = "operators"; }) } }, t("show_operator"))) : null);
}

/** @param {string} name */
function name_whole(name) {
  return name === "" ? t("no_name") : whole(name);
}

/** @param {App} app @param {string} type */
function type_button(app, type) {
  return h("button", { class: "plain link", on: { click: () => { app.selection.value = { kind: "type", type }; } } }, shown(type));
}

/** @param {App} app @param {number} number */
function operator_card(app, number) {
  const { profile } = app;
  const operator = profile.operators[number];
  if (!operator) return null;
  return h("section", { class: "card-line" },
    h("h2", { class: "selected-name" }, name_whole(operator.name)),
    facts_list([
      [t("kind"), t("operator")],
      [t("type"), type_button(app, operator.type)],
      [t("time_of_inference"), `${about(operator.time)} · ${percent(operator.time / (profile.overview.whole_ns || 1))}`],
      [t("executions"), count(operator.count)],
      [t("mean"), about(operator.mean)], [t("median"), about(operator.median)], [t("p99"), about(operator.p99)],
      [t("unit"), unit_word(operator.unit)],
      [t("compute"), operator.flops === null ? "" : flops(operator.flops)],
      [t("moved"), operator.bytes === null ? "" : bytes(operator.bytes)],
      [t("ideal"), at_ceiling(operator)],
      [t("shapes"), shown(operator.shapes)],
    ]),
    h("div", { class: "actions" },
      h("button", { class: "small", on: { click: () => { app.screen.value = "operators"; } } }, t("show_operator")),
      h("button", { class: "small", on: { click: () => { const first = executions_of(profile, number)[0]; app.screen.value = "timeline"; if (first !== undefined) reveal(app, first); } } }, t("show_on_timeline")),
      app.screen.peek() === "model" ? null : h("button", { class: "small", on: { click: () => show_in_model(app) } }, t("show_in_model"))));
}

/** A node of the graph, or what holds some. @param {App} app @param {number} at */
function node_card(app, at) {
  const { graph } = app.profile;
  const times = graph.times(app.profile, null);
  const [name, ...lines] = part_lines(app, graph, at, times, times[at] / (app.profile.overview.whole_ns || 1));
  return h("section", { class: "card-line" }, h("h2", { class: "selected-name" }, app.selection.peek()?.kind === "node" ? name : t("in_the_model")), lines.map((it) => h("p", { class: "wrap" }, it)));
}

/** The time at the ceiling, how near to it an operator comes, and what holds it back. @param {Operator} it */
export function at_ceiling(it) {
  return it.ideal === null ? "" : `${about(it.ideal)} · ${percent(it.ceiling)} · ${t("bound")} ${word("bound", BOUNDS[it.bound - 1])}`;
}

/** @param {App} app @param {string} type */
function type_card(app, type) {
  const facts = app.profile.overview.types.find((it) => it.type === type);
  return h("section", { class: "card-line" },
    h("h2", { class: "selected-name" }, named(type)),
    facts_list([
      [t("kind"), t("type")],
      [t("time_of_inference"), facts ? `${about(facts.time_ns)} · ${percent(facts.share)}` : ""],
      [t("operators"), facts ? count(facts.operators) : ""],
      [t("executions"), facts ? count(facts.executions) : ""],
      [t("mean"), facts ? about(facts.mean_ns) : ""],
    ]),
    h("div", { class: "actions" }, h("button", { class: "small", on: { click: () => batch(() => { app.query.value = `type:${/\s/.test(type) ? `"${type}"` : type}`; app.grouping.value = "operator"; app.screen.value = "operators"; }) } }, t("show_operators_of_type"))));
}

/** @param {App} app @param {string} rule */
function finding_card(app, rule) {
  const finding = app.profile.report.advice.findings.find((it) => it.id === rule);
  if (!finding) return null;
  return h("section", { class: "card-line" }, h("h2", { class: "selected-name" }, `${finding.id} · ${app.language.peek() === "zh" && finding.zh ? finding.zh.title : finding.title}`),
    h("div", { class: "actions" }, h("button", { class: "small", on: { click: () => { app.screen.value = "advice"; } } }, t("show_finding"))));
}

/** @param {App} app @param {Span} marked */
function range_card(app, marked) {
  const { profile } = app;
  const span = marked[1] - marked[0];
  const found = window_of(profile, marked);
  const most = found.top[0]?.time || 1;
  return h("section", { class: "range-card" },
    h("h2", { class: "selected-name" }, t("range_says", { time: about(profile.ns(span)) })),
    h("p", { class: "soft" }, t("from_to", { from: moment(profile.ns(marked[0]), profile.ns(span) / 10), to: moment(profile.ns(marked[1]), profile.ns(span) / 10) })),
    found.partly ? h("p", { class: "problem" }, t("range_partly")) : null,
    h("div", { class: "range-columns" },
      h("div", null, h("h3", null, t("busy_and_idle")),
        found.groups.length === 0 ? h("p", { class: "soft" }, t("no_devices")) : h("table", { class: "simple" }, h("tbody", null, found.groups.map((it) => h("tr", null,
          h("th", { scope: "row" }, group_title(it.group)),
          h("td", { class: "bar-cell" }, meter((it.busy ?? 0) / span)),
          h("td", { class: "right" }, t("busy_of", { time: about(profile.ns(it.busy ?? 0)), share: percent((it.busy ?? 0) / span) })),
          h("td", { class: "right" }, t("idle_of", { time: about(profile.ns(span - (it.busy ?? 0))) })),
          h("td", { class: "right" }, found.partly ? "" : t("tasks_n", { n: count(it.tasks) })))))),
        found.gaps.length === 0 ? null : h("h3", null, t("gaps", { n: found.gaps.length })),
        found.gaps.length === 0 ? null : h("ol", { class: "gaps" }, found.gaps.slice(0, 20).map((it) => h("li", null, h("button", { class: "plain link", on: { click: () => { app.screen.value = "timeline"; const room = (it[1] - it[0]) * 0.6; app.view.value = [Math.max(app.bounds[0], it[0] - room), Math.min(app.bounds[1], it[1] + room)]; } } }, t("gap_at", { time: about(profile.ns(it[1] - it[0])), at: moment(profile.ns(it[0]), profile.ns(it[1] - it[0]) / 10) })))))),
      h("div", null, found.partly && found.top.length === 0 ? null : h("h3", null, t("top_in_range", { n: found.top.length, all: count(found.operators) })),
        found.top.length === 0 ? h("p", { class: "soft" }, t(found.partly ? "nothing_kept" : "nothing_ran")) : h("table", { class: "simple" }, h("tbody", null, found.top.map((it) => h("tr", null,
          h("th", { scope: "row", class: "name-cell" }, it.operator >= 0 ? h("button", { class: "plain link", on: { click: () => { app.selection.value = { kind: "operator", operator: it.operator }; } } }, named(profile.operators[it.operator].name)) : "name" in it ? named(String(it.name)) : item_label(profile, it.item)),
          h("td", { class: "bar-cell" }, meter(it.time / most)),
          h("td", { class: "right" }, about(profile.ns(it.time))),
          h("td", { class: "right" }, percent(it.time / span)),
          h("td", { class: "right" }, `${count(it.count)}×`))))))));
}

/** A share as a bar. @param {number} share */
export function meter(share) {
  return h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${(Math.min(1, Math.max(0, share)) * 100).toFixed(2)}%` } }));
}
