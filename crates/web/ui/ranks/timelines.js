// The timelines of chosen ranks on one axis, with arrows from whoever came last to those who waited.

import { h, fill, svg } from "../parts/dom.js";
import { effect, signal, untracked } from "../state/signal.js";
import { t } from "../locale/texts.js";
import { about, bytes, count } from "../parts/units.js";
import { csv_lines, shown } from "../parts/text.js";
import { command_box, save_text } from "../parts/copy.js";
import { drawing, save_drawing } from "../parts/drawing.js";
import { panned, within, zoomed } from "../timeline/scale.js";
import { svg_pen } from "../timeline/svg_pen.js";
import { make_grid } from "../table/grid.js";
import { first_behind, layout_of, ROW, SLICE, slice_at, waits_within } from "./drawn.js";
import { list_of, numbers_of } from "./link.js";
import { AXIS, NAMES, paint_timeline } from "./paint_timeline.js";
import { selected_ranks } from "./run.js";
import { select, toggle_table } from "./state.js";

const TALLEST = 520;
/** How near to a slice the pointer has to be, in pixels. */
const NEAR = 3;

/** @param {RanksApp} app @returns {Part} */
export function timelines(app) {
  const { run } = app;
  const facts = run.report.timeline;
  const canvas = h("canvas", { class: "ranks-canvas timeline-canvas", tabindex: "0", role: "application", "aria-label": t("timeline_name"), "aria-roledescription": t("timeline_role"), "aria-description": t("timeline_help") });
  const tip = h("div", { class: "tip", hidden: true, role: "presentation" });
  const inner = h("div", { class: "timeline-inner" });
  const scroller = h("div", { class: "timeline-scroller" }, canvas, inner);
  const place = h("div", { class: "plot-box" }, scroller, tip);
  const table_place = h("div", { class: "grid-place ranks-grid", hidden: true });
  const details = h("p", { class: "slice-details" });
  const notes = h("div", { class: "soft" });
  const command = h("div");
  const trouble = h("p", { class: "problem", role: "alert" });
  const as_table = h("button", { class: "chip", "aria-pressed": "false", on: { click: () => toggle_table(app, "waits") } }, t("waits_as_table"));
  const ranks = h("input", { class: "small-input", placeholder: list_of(facts.ranks), "aria-label": t("drawn_ranks"), on: { change: take } });
  const steps = h("input", { class: "small-input", placeholder: list_of(facts.steps), "aria-label": t("drawn_steps"), on: { change: take } });
  const button = (/** @type {string} */ sign, /** @type {string} */ name, /** @type {() => void} */ action) => h("button", { class: "icon", title: name, "aria-label": name, on: { click: action } }, sign);
  const shows = signal(/** @type {ReadonlySet<number> | null} */ (null));
  const element = h("section", { class: "card", id: "part-timelines", "aria-labelledby": "timelines-title" },
    h("div", { class: "card-head" }, h("h2", { id: "timelines-title" }, t("timelines_title")),
      h("label", { class: "field" }, t("ranks"), " ", ranks), h("label", { class: "field" }, t("steps"), " ", steps), as_table, h("span", { class: "grow" }),
      save_drawing(app, "timelines", as_svg), save_text(app, "waits", "CSV", csv),
      h("span", { class: "buttons" }, button("+", t("zoom_in"), () => zoom(1 / 1.5, 0.5)), button("−", t("zoom_out"), () => zoom(1.5, 0.5)), button("↔", t("show_everything"), everything))),
    trouble, place, table_place, details, notes, command);

  let layout = layout_of(app.drawn.peek(), () => true);
  let frame = 0;
  let pointer = 0.5;
  /** @type {{ x: number, view: Span } | null} */
  let drag = null;
  /** @type {ReturnType<typeof make_grid> | null} */
  let grid = null;
  const bounds = () => /** @type {Span} */ ([0, app.drawn.peek().end]);
  const across = () => Math.max(1, canvas.clientWidth - NAMES);
  const time_at = (/** @type {number} */ x) => { const [from, to] = app.view.peek(); return from + ((x - NAMES) / across()) * (to - from); };

  canvas.addEventListener("pointermove", (event) => {
    pointer = Math.max(0, Math.min(1, (event.offsetX - NAMES) / across()));
    if (drag) {
      app.view.value = panned(drag.view, (drag.x - event.offsetX) / across(), bounds());
      return;
    }
    const slice = slice_under(event.offsetX, event.offsetY);
    tip.hidden = slice < 0;
    if (slice < 0) return;
    fill(tip, sentences(slice).map((it, at) => h("div", { class: at === 0 ? "tip-title" : "" }, it)));
    tip.style.setProperty("left", `${Math.max(0, Math.min(event.offsetX + 14, canvas.clientWidth - tip.offsetWidth - 4))}px`);
    tip.style.setProperty("top", `${event.offsetY + 18}px`);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.offsetX, view: app.view.peek() };
    canvas.setPointerCapture(event.pointerId);
    tip.hidden = true;
  });
  canvas.addEventListener("pointerup", (event) => {
    const moved = drag && Math.abs(drag.x - event.offsetX) > 3;
    drag = null;
    if (moved) return;
    const block = event.offsetX < NAMES ? layout.blocks.find((it) => inside(it, event.offsetY)) : null;
    if (block) select(app, `rank:${block.rank}`);
    else look_at(slice_under(event.offsetX, event.offsetY));
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(Math.sign(event.deltaY) * 0.25), pointer);
    else if (event.shiftKey) pan(Math.sign(event.deltaY + event.deltaX) * 0.1);
    else return;
    event.preventDefault();
  }, { passive: false });
  scroller.addEventListener("scroll", request);
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      KeyW: () => zoom(1 / 1.4, pointer), KeyS: () => zoom(1.4, pointer), KeyA: () => pan(-0.15), KeyD: () => pan(0.15), ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15),
      Comma: () => walk(-1), Period: () => walk(1), ArrowUp: () => climb(-1), ArrowDown: () => climb(1), Digit0: everything, KeyF: fit, Enter: () => { const slice = app.slice.peek(); if (slice >= 0) select(app, `rank:${rank_of(slice)}`); },
    };
    const action = actions[/** @type {keyof typeof actions} */ (event.code)];
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  });
  const observer = new ResizeObserver(request);
  observer.observe(place);

  let asked = "";
  const stops = [
    effect(() => {
      const [of_ranks, of_steps] = [app.drawn_ranks.value, app.drawn_steps.value];
      untracked(() => {
        [ranks.value, steps.value] = [of_ranks, of_steps];
        void choose_ranks(of_ranks, of_steps);
      });
    }),
    effect(() => {
      const [drawn, only] = [app.drawn.value, shows.value];
      untracked(() => {
        layout = layout_of(drawn, (rank) => only === null || only.has(rank));
        app.slice.value = -1;
        inner.style.setProperty("height", `${layout.height + AXIS + 4}px`);
        scroller.style.setProperty("height", `${Math.min(TALLEST, layout.height + AXIS + 6)}px`);
        show_notes();
        request();
      });
    }),
    effect(() => {
      void [app.view.value, app.selection.value, app.palette.value];
      const slice = app.slice.value;
      untracked(() => {
        fill(details, slice < 0 ? t("timeline_nothing") : sentences(slice).join(" · "));
        request();
      });
    }),
    effect(() => {
      const on = app.tables.value.includes("waits");
      void [app.drawn.value, shows.value];
      untracked(() => {
        as_table.setAttribute("aria-pressed", String(on));
        [place.hidden, table_place.hidden] = [on, !on];
        stop_grid();
        if (on) show_grid();
        else request();
      });
    }),
  ];
  return { element, dispose: () => { for (const stop of [...stops, stop_grid, () => observer.disconnect(), () => cancelAnimationFrame(frame)]) stop(); } };

  function stop_grid() {
    grid?.dispose();
    grid = null;
  }

  function take() {
    app.drawn_ranks.value = ranks.value.trim();
    app.drawn_steps.value = steps.value.trim();
  }

  /** Has other ranks drawn: a server is asked, a report has what it has. @param {string} of_ranks @param {string} of_steps */
  async function choose_ranks(of_ranks, of_steps) {
    const [wanted, in_steps] = [numbers_of(of_ranks), numbers_of(of_steps)];
    const wrong = [of_ranks !== "" && wanted === null ? of_ranks : null, of_steps !== "" && in_steps === null ? of_steps : null].find((it) => it !== null);
    fill(trouble, wrong ? t("no_list", { text: shown(wrong, 60) }) : null);
    if (wrong) return;
    const { ask } = app;
    if (ask) {
      shows.value = null;
      const question = of_ranks === "" && of_steps === "" ? "" : `${of_ranks === "" ? list_of(facts.ranks) : of_ranks} ${of_steps === "" ? list_of(facts.steps) : of_steps}`;
      if (question === asked) return;
      const is_first = asked === "";
      asked = question;
      try {
        const [list, in_list = ""] = question === "" ? [list_of(facts.ranks), list_of(facts.steps)] : question.split(" ");
        const drawn = await ask(list, in_list);
        if (asked !== question) return;
        const { end } = drawn;
        app.view.value = is_first ? within(app.view.peek(), [0, end]) : [0, end];
        app.drawn.value = drawn;
      } catch (error) {
        fill(trouble, error instanceof Error ? error.message : String(error));
      }
      return;
    }
    shows.value = wanted && new Set(wanted);
    const lacking = (wanted ?? []).filter((it) => !facts.ranks.includes(it));
    const lacking_steps = (in_steps ?? []).filter((it) => !facts.steps.includes(it));
    if (lacking.length > 0 || lacking_steps.length > 0) fill(trouble, t("not_in_report", { ranks: shown(list_of(facts.ranks), 200), steps: shown(list_of(facts.steps), 200) }));
    else if (in_steps) show_steps(new Set(in_steps));
  }

  /** @param {Set<number>} wanted */
  function show_steps(wanted) {
    const { kind, step, start, duration } = app.drawn.peek();
    let [from, to] = [Infinity, 0];
    for (let slice = 0; slice < kind.length; slice += 1) {
      if (kind[slice] !== SLICE.step || !wanted.has(step[slice])) continue;
      [from, to] = [Math.min(from, start[slice]), Math.max(to, start[slice] + duration[slice])];
    }
    if (to > from) app.view.value = within([from, to], bounds());
  }

  function request() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  /** @param {number} width @param {number} height @param {number} scroll @returns {import("./paint_timeline.js").TimelineScene} */
  function scene(width, height, scroll) {
    const chosen = selected_ranks(run, app.selection.peek());
    return {
      drawn: app.drawn.peek(), layout, view: app.view.peek(), width, height, scroll, palette: app.palette.peek(), types: facts.types, selected: app.slice.peek(),
      name_of: (rank) => [t("rank_n", { rank }), shown(run.place_of(rank), 60)], row_name: (row) => (row.kind === ROW.work ? t("own_work") : row.role), step_name: (step) => t("step_n", { step }), marked: (rank) => chosen.includes(rank),
    };
  }

  function draw() {
    frame = 0;
    const width = scroller.clientWidth;
    if (width === 0) return;
    const height = scroller.clientHeight;
    const ratio = devicePixelRatio || 1;
    canvas.style.setProperty("height", `${height}px`);
    canvas.style.setProperty("margin-bottom", `${-height}px`);
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { arrows, of } = paint_timeline(pen, scene(width, height, scroller.scrollTop));
    canvas.dataset.arrows = String(arrows);
    const text = arrows < of ? t("arrows_left_out", { n: count(arrows), of: count(of) }) : t("arrows_all", { n: count(of) });
    if (notes.lastElementChild?.textContent !== text) notes.lastElementChild?.replaceChildren(text);
  }

  function as_svg() {
    const { canvas: paper, drawn } = svg_pen();
    const [width, height] = [1200, AXIS + layout.height + 6];
    paint_timeline(/** @type {CanvasRenderingContext2D} */ (paper.getContext("2d")), scene(width, height, 0));
    return drawing(app.palette.peek(), width, height, t("timeline_name"), svg("g", { "font-size": 11 }, drawn));
  }

  function show_notes() {
    const { why, of_ranks, of_steps } = facts;
    const drawn = app.drawn.peek();
    const own = drawn.ranks.length;
    const kinds = { suspects: "drawn_suspects", first: "drawn_first", asked: "drawn_asked" };
    const is_asked = app.ask !== null && (app.drawn_ranks.peek() !== "" || app.drawn_steps.peek() !== "");
    const steps_here = new Set(Array.from(drawn.kind, (kind, at) => (kind === SLICE.step ? drawn.step[at] : NaN)).filter((it) => !Number.isNaN(it)));
    fill(notes, h("p", null, t(/** @type {Key} */ (is_asked ? kinds.asked : kinds[why]), { n: count(own), of: count(of_ranks), steps: count(steps_here.size), of_steps: count(of_steps) }), app.ask ? "" : ` ${t("drawn_more")}`), h("p", null, t("timeline_meaning")), h("p"));
    const chosen = shows.peek();
    const listed = drawn.ranks.filter((it) => chosen === null || chosen.has(it));
    fill(command, command_box(app, `opscope cluster export ${run.report.source} --format timeline -o run.json --ranks ${list_of(listed)} --steps ${list_of([...steps_here].sort((a, b) => a - b))}`));
  }

  /** @param {import("./drawn.js").Block} block @param {number} y on the canvas */
  function inside(block, y) {
    const top = AXIS + block.top - scroller.scrollTop;
    return y >= top && y < top + block.height;
  }

  /** @param {number} x @param {number} y */
  function slice_under(x, y) {
    if (x < NAMES || y < AXIS) return -1;
    const inside_row = y - AXIS + scroller.scrollTop;
    const [from, to] = app.view.peek();
    const row = layout.blocks.flatMap((it) => it.rows).find((it) => inside_row >= it.top && inside_row < it.top + it.height);
    return row ? slice_at(app.drawn.peek(), row.at, time_at(x), (NEAR * (to - from)) / across()) : -1;
  }

  /** @param {number} slice */
  function rank_of(slice) {
    const drawn = app.drawn.peek();
    return drawn.rows[drawn.row[slice]].rank;
  }

  /** A slice in sentences. @param {number} slice @returns {string[]} */
  function sentences(slice) {
    const drawn = app.drawn.peek();
    const kind = drawn.kind[slice];
    const rank = rank_of(slice);
    const place_text = run.place_of(rank);
    const who = place_text === "" ? t("rank_n", { rank }) : `${t("rank_n", { rank })} (${shown(place_text, 60)})`;
    const when = t("began_at", { time: about(drawn.start[slice]) });
    if (kind === SLICE.step) return [`${t("step_n", { step: drawn.step[slice] })}, ${who}`, when, t("took", { time: about(drawn.duration[slice]) })];
    if (kind === SLICE.work) return [`${t("own_work")}, ${who}`, when, t("took", { time: about(drawn.duration[slice]) })];
    const row = drawn.rows[drawn.row[slice]];
    const lines = [`${facts.types[kind - SLICE.collective]} ${row.role} ${drawn.sequence[slice]}, ${who}, ${t("step_n", { step: drawn.step[slice] })}`, when];
    const waited = drawn.waiting[slice];
    if (drawn.inferred[slice] > 0) lines.push(t("waited_for_unrecorded", { time: about(waited) }));
    else if (drawn.last[slice] === 0) lines.push(t("came_last"));
    else lines.push(t("waited_for", { time: about(waited), rank: drawn.last[slice] - 1 }));
    lines.push(t("transferred", { time: about(drawn.duration[slice] - waited) }), t("seen_of", { n: drawn.seen[slice], of: drawn.members[slice] }));
    if (drawn.bytes[slice] > 0) lines.push(bytes(drawn.bytes[slice]));
    return lines;
  }

  /** @param {number} slice */
  function look_at(slice) {
    app.slice.value = slice;
    if (slice >= 0) app.says.value = sentences(slice).join(", ");
  }

  /** The first slice in sight, to begin with. */
  function first_in_sight() {
    const drawn = app.drawn.peek();
    for (const block of layout.blocks) {
      for (const { at } of block.rows) {
        const { kind, slices } = drawn.rows[at];
        const first = slices[first_behind(drawn, slices, app.view.peek()[0])];
        if (kind === ROW.collectives && first !== undefined) return first;
      }
    }
    return -1;
  }

  /** To the slice before or behind in the row. @param {1 | -1} step */
  function walk(step) {
    const drawn = app.drawn.peek();
    const now = app.slice.peek();
    if (now < 0) return look_at(first_in_sight());
    const { slices } = drawn.rows[drawn.row[now]];
    const next = slices[slices.indexOf(now) + step];
    if (next !== undefined) reveal(next);
  }

  /** To the row above or below, at the same time. @param {1 | -1} step */
  function climb(step) {
    const drawn = app.drawn.peek();
    const now = app.slice.peek();
    if (now < 0) return look_at(first_in_sight());
    const rows = layout.blocks.flatMap((it) => it.rows);
    const row = rows[rows.findIndex((it) => it.at === drawn.row[now]) + step];
    if (row) reveal(slice_at(drawn, row.at, drawn.start[now] + drawn.duration[now] / 2, Infinity));
  }

  /** @param {number} slice */
  function reveal(slice) {
    if (slice < 0) return;
    const drawn = app.drawn.peek();
    const [from, to] = app.view.peek();
    const middle = drawn.start[slice] + Math.min(drawn.duration[slice], to - from) / 2;
    if (middle < from || middle > to) app.view.value = within([middle - (to - from) / 2, middle + (to - from) / 2], bounds());
    const row = layout.tops.get(drawn.row[slice]);
    if (row && row.top < scroller.scrollTop) scroller.scrollTop = row.top;
    else if (row && row.top + row.height + AXIS > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = row.top + row.height + AXIS - scroller.clientHeight;
    look_at(slice);
  }

  /** @param {number} factor @param {number} share */
  function zoom(factor, share) {
    app.view.value = zoomed(app.view.peek(), factor, share, bounds());
  }

  /** @param {number} share of the width */
  function pan(share) {
    app.view.value = panned(app.view.peek(), share, bounds());
  }

  function everything() {
    app.view.value = bounds();
  }

  function fit() {
    const slice = app.slice.peek();
    if (slice < 0) return;
    const { start, duration } = app.drawn.peek();
    app.view.value = within([start[slice] - 2 * duration[slice], start[slice] + 3 * duration[slice]], bounds());
  }

  /** The waits between the ranks that are shown, the longest first. @returns {number[]} */
  function waits() {
    return waits_within(app.drawn.peek(), [-Infinity, Infinity], (row) => layout.tops.has(row));
  }

  /** @param {number} arrow */
  function wait_of(arrow) {
    const drawn = app.drawn.peek();
    const [from, to] = [drawn.from[arrow], drawn.to[arrow]];
    const row = drawn.rows[drawn.row[to]];
    return { arrow, slice: to, collective: `${facts.types[drawn.kind[to] - SLICE.collective]} ${row.role} ${drawn.sequence[to]}`, step: drawn.step[to], waited: drawn.waiting[to], waiter: row.rank, last: rank_of(from), at: drawn.start[from] };
  }

  function csv() {
    return csv_lines([["collective", "step", "waiting_rank", "last_rank", "waiting_ns", "last_came_ns"], ...waits().map(wait_of).map((it) => [it.collective, it.step, it.waiter, it.last, it.waited, it.at])]);
  }

  function show_grid() {
    const rows = waits().map(wait_of);
    const text = (/** @type {string} */ key, /** @type {string} */ title, /** @type {string} */ width, /** @type {(row: any) => Child} */ cell, right = true) => ({ key, title, width, right, sortable: false, cell });
    grid = make_grid({
      label: t("waits_name"), empty: () => t("waits_none"), sort: () => {},
      columns: [text("collective", t("collective"), "minmax(160px, 2fr)", (it) => it.collective, false), text("step", t("step"), "70px", (it) => it.step), text("waiter", t("waiting_rank"), "100px", (it) => it.waiter), text("last", t("last_rank"), "110px", (it) => it.last), text("waited", t("waited"), "100px", (it) => about(it.waited)), text("at", t("until"), "110px", (it) => about(it.at))],
      choose(/** @type {ReturnType<typeof wait_of>} */ it) {
        look_at(it.slice);
        app.view.value = within([it.at - 2 * it.waited, it.at + it.waited], bounds());
      },
    });
    fill(table_place, grid.element);
    grid.show(rows, "-waited");
  }
}

