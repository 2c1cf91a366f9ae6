// The timeline screen: toolbar, strip, axis, names and rows, tooltip; draws when something changed.

import { effect, signal, untracked } from "../state/signal.js";
import { why_empty } from "../parts/why_empty.js";
import { h, fill } from "../parts/dom.js";
import { t } from "../locale/texts.js";
import { about, percent } from "../parts/units.js";
import { item_label, slice_label, row_title } from "../parts/live.js";
import { lay_out, place_at } from "./layout.js";
import { categories_of } from "./categories.js";
import { make_drawing } from "./draw.js";
import { draw_axis } from "./axis.js";
import { make_strip } from "./strip.js";
import { show_names, number } from "./names.js";
import { make_moves, watch_pointer } from "./input.js";
import { under, density_at, links_of, slice_near } from "./find.js";
import { counter_at, counter_width } from "./counter.js";
import { choose_slice, fit, flag_at } from "./moves.js";
import { toolbar } from "./toolbar.js";
import { svg_pen } from "./svg_pen.js";
import { visible_table } from "./visible_table.js";

/**
 * @param {App} app
 * @returns {ScreenView}
 */
export function timeline_screen(app) {
  const { profile } = app;
  if (profile.rows.length === 0) return { element: h("div", { class: "empty" }, h("p", null, t("timeline_empty")), why_empty(app)), dispose: () => {} };

  const help = `timeline-help${app.is_other ? "-before" : ""}`;
  const filter = signal("");
  const as_table = signal(false);
  const canvas = h("canvas", { class: "rows-canvas", tabindex: "0", role: "application", "aria-label": t("timeline_name"), "aria-roledescription": t("timeline_role"), "aria-describedby": help });
  const axis = h("canvas", { class: "axis-canvas", "aria-hidden": "true" });
  const names = h("div", { class: "names" });
  const corner = h("div", { class: "corner" });
  const spacer = h("div", { class: "rows-area" }, canvas);
  const scroller = h("div", { class: "scroller", tabindex: "-1" }, h("div", { class: "scrolled" }, names, spacer));
  const tip = h("div", { class: "tip", hidden: true, role: "presentation" });
  const handle = h("div", { class: "names-handle", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": t("names_width"), "aria-valuemin": "120", "aria-valuemax": "600", "aria-valuenow": "220" });
  const strip = make_strip(app);
  const strip_label = h("div", { class: "strip-label" }, t("whole_profile"));
  const table = h("div", { class: "visible-table", hidden: true });
  const chart = h("div", { class: "chart" }, app.is_other ? null : h("div", { class: "strip-line" }, strip_label, strip.element), h("div", { class: "axis-line" }, corner, axis), scroller, handle, tip);
  const element = h("div", { class: "timeline" }, app.is_other ? null : toolbar(app, filter, as_table, () => visible_table(app, layout.places)), chart, table, h("p", { id: help, class: "unseen" }, t("timeline_help")));

  const drawing = make_drawing(app, canvas);
  let layout = lay_out(profile, { folded: [], hidden: [], pinned: [], filter: "" });
  /** @type {Uint16Array} */
  let categories = new Uint16Array(0);
  /** @type {{ from: number, to: number }[]} */
  let links = [];
  let moving = false;
  let frame = 0;
  let names_width = 220;
  let size = { width: 0, height: 0 };
  let pointer = { x: -1, y: -1 };
  /** @type {Span | null} */
  let dragged = null;

  const moves = make_moves(app, { share: () => (pointer.x >= 0 && size.width > 0 ? pointer.x / size.width : 0.5), moving: set_moving });
  app.picture = picture;
  const observer = new ResizeObserver(measure);
  observer.observe(scroller);
  const stops = [
    strip.dispose,
    () => { app.picture = null; },
    () => observer.disconnect(),
    effect(() => {
      layout = lay_out(profile, { folded: app.folded.value, hidden: app.hidden.value, pinned: app.pinned.value, filter: filter.value });
      spacer.style.setProperty("height", `${layout.height}px`);
      names.style.setProperty("height", `${layout.height}px`);
      untracked(() => { name_rows(); request(); });
    }),
    effect(() => {
      const selection = app.selection.value;
      categories = colour();
      links = selection?.kind === "slice" ? links_of(profile, selection.slice) : [];
      request();
    }),
    effect(() => {
      app.view.value;
      app.marked.value;
      app.flags.value;
      app.all_values.value;
      request();
    }),
    effect(() => {
      if (profile.served) {
        profile.served.tiles.arrived.value;
        request();
      }
    }),
    effect(() => {
      app.palette.value;
      drawing.forget_labels();
      request();
    }),
    effect(() => {
      const selection = app.selection.value;
      if (selection?.kind === "slice") untracked(() => scroll_to(selection.slice));
    }),
    effect(() => {
      const on = as_table.value;
      chart.hidden = on;
      table.hidden = !on;
      if (on) {
        app.view.value;
        const shown = layout.places;
        untracked(() => fill(table, visible_table(app, shown)));
      }
    }),
  ];

  scroller.addEventListener("scroll", () => { name_rows(); request(); });
  watch_pointer(app, canvas, {
    width: () => size.width,
    click,
    twice: () => fit(app),
    hover,
    leave: () => { tip.hidden = true; pointer = { x: -1, y: -1 }; },
    moving: set_moving,
    vertical: (by) => { scroller.scrollTop += by; },
    drag_range(span) {
      dragged = span;
      tip.hidden = true;
      request();
      if (span) show_tip(pointer.x, pointer.y, [about(profile.ns(span[1] - span[0]))]);
    },
  });
  const widen = (/** @type {number} */ to) => {
    names_width = Math.min(600, Math.max(120, to));
    element.style.setProperty("--names", `${names_width}px`);
    handle.setAttribute("aria-valuenow", String(Math.round(names_width)));
  };
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ it) => widen(it.clientX - chart.getBoundingClientRect().left);
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
  });
  handle.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    widen(names_width + (event.key === "ArrowLeft" ? -16 : 16));
    event.preventDefault();
    event.stopPropagation();
  });
  const up = (/** @type {KeyboardEvent} */ event) => moves.up(event);
  const blur = () => moves.stop();
  addEventListener("keyup", up);
  addEventListener("blur", blur);
  widen(names_width);

  return {
    element,
    dispose() {
      for (const stop of stops) stop();
      removeEventListener("keyup", up);
      removeEventListener("blur", blur);
      cancelAnimationFrame(frame);
      moves.stop();
    },
    key(event) {
      if (moves.down(event)) return true;
      if (event.code === "KeyK" && !event.ctrlKey && !event.metaKey) {
        const [from, to] = app.view.peek();
        flag_at(app, from + (to - from) * (pointer.x >= 0 ? pointer.x / size.width : 0.5));
        return true;
      }
      if ((event.code === "ArrowUp" || event.code === "ArrowDown") && !event.ctrlKey) {
        row_by_row(event.code === "ArrowUp" ? -1 : 1);
        return true;
      }
      return false;
    },
    focus: () => canvas.focus({ preventScroll: true }),
  };

  function measure() {
    size = { width: Math.max(1, canvas.parentElement?.clientWidth ?? 1), height: Math.max(1, scroller.clientHeight) };
    canvas.style.setProperty("height", `${size.height}px`);
    // Axis and strip end where the rows end, whatever the scroll bar takes.
    element.style.setProperty("--scrollbar", `${scroller.offsetWidth - scroller.clientWidth}px`);
    name_rows();
    // At once: a canvas of another size is black until it is drawn on.
    cancelAnimationFrame(frame);
    draw();
  }

  /** @param {boolean} now */
  function set_moving(now) {
    moving = now;
    if (!now) request();
  }

  function request() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    if (size.width <= 1 || !element.isConnected || chart.hidden) return;
    if (categories.length < profile.items.count) categories = colour();
    const before = JSON.stringify([...drawing.notes]);
    const marked = app.marked.peek();
    drawing.draw({ ...frame_of(), ratio: devicePixelRatio, moving, band: dragged ?? marked });
    draw_axis(app, axis, size.width, devicePixelRatio);
    ask_for_tiles();
    if (!moving && JSON.stringify([...drawing.notes]) !== before) name_rows();
  }

  function frame_of() {
    return { places: layout.places, scroll: scroller.scrollTop, ...size, categories, links };
  }

  /** The visible part as a drawing. @returns {TimelinePicture | null} */
  function picture() {
    if (!canvas.offsetParent) return null;
    const [line, rows] = [svg_pen(), svg_pen()];
    draw_axis(app, line.canvas, size.width, 1);
    make_drawing(app, rows.canvas).draw({ ...frame_of(), ratio: 1, moving: false, band: app.marked.peek() });
    return { axis: line.drawn, rows: rows.drawn, names, names_width, ...size, scroll: scroller.scrollTop };
  }

  function colour() {
    const selection = app.selection.value;
    return categories_of(profile, app.colouring.value, selection?.kind === "type" ? selection.type : null);
  }

  // The part in sight of a profile that the page doesn't hold whole.
  function ask_for_tiles() {
    const { served } = profile;
    if (!served) return;
    const view = app.view.peek();
    const seen = layout.places.filter((it) => it.y + it.height > scroller.scrollTop && it.y < scroller.scrollTop + size.height);
    const rows = seen.flatMap((it) => (it.row && served.paints(it.row, view) ? [served.row_number(it.row)] : []));
    if (!moving) served.counters(seen.flatMap((it) => (it.row?.kind === "counter" ? [it.row] : [])), view, counter_width(size.width));
    if (rows.length > 0) served.tiles.want({ rows: [...new Set(rows)], view, across: Math.round(size.width * devicePixelRatio) });
  }

  function name_rows() {
    show_names(app, names, { places: layout.places, scroll: scroller.scrollTop, height: size.height, notes: drawing.notes });
  }

  /** @param {number} x */
  function time_at(x) {
    const [from, to] = app.view.peek();
    return from + (x / size.width) * (to - from);
  }

  /** @param {number} x @param {number} y */
  function click(x, y) {
    canvas.focus({ preventScroll: true });
    const place = place_at(layout.places, y + scroller.scrollTop);
    if (!place?.row || place.row.kind === "counter") {
      app.selection.value = null;
      return;
    }
    const [from, to] = app.view.peek();
    const { served } = profile;
    if (served?.paints(place.row, [from, to])) {
      const [row, per] = [place.row, (to - from) / size.width];
      const asked = served.tiles.under(served.row_number(row), time_at(x), per);
      if (!asked) app.selection.value = null;
      else if (row.kind === "busy") app.marked.value = [asked.start, asked.start + Math.max(1, asked.duration)];
      // Of many that are merged, the longest.
      else void (asked.count > 1 ? served.longest(row, asked.start, asked.start + per) : served.nearest(row, time_at(x), per)).then((slice) => { if (slice >= 0) choose_slice(app, slice); });
      return;
    }
    const found = under(place.row, time_at(x), (to - from) / size.width);
    if (!found) app.selection.value = null;
    else if (place.row.kind === "busy") busy_slice(place.row, found.longest);
    else choose_slice(app, place.row.first + found.longest);
  }

  // The union has no slices of its own: the range it was busy for is what can be looked at.
  /** @param {Row} row @param {number} piece */
  function busy_slice(row, piece) {
    const begin = row.index.start[piece];
    app.marked.value = [begin, begin + row.index.duration[piece]];
  }

  /** @param {number} x @param {number} y */
  function hover(x, y) {
    pointer = { x, y };
    const place = place_at(layout.places, y + scroller.scrollTop);
    if (!place?.row) {
      tip.hidden = true;
      return;
    }
    const time = time_at(x);
    const [from, to] = app.view.peek();
    const row = place.row;
    if (row.samples) {
      const value = counter_at(row.samples, time);
      if (value === null) tip.hidden = true;
      else show_tip(x, y, [`${row_title(profile, row)}: ${number(value)}`, about(profile.ns(Math.round(time)))]);
      return;
    }
    const per = (to - from) / size.width;
    const { served } = profile;
    if (served?.paints(row, [from, to])) {
      const it = served.tiles.under(served.row_number(row), time, per);
      if (!it) tip.hidden = true;
      else if (row.kind === "busy") show_tip(x, y, [it.count === 1 && it.share === 1 ? t("busy_for", { time: about(profile.ns(it.duration)) }) : t("busy_share_here", { share: percent(it.share) })]);
      else if (it.count > 1) show_tip(x, y, [t("bucket_here", { n: it.count, share: percent(it.share) }), t("longest_here", { name: item_label(profile, it.item), time: about(profile.ns(it.duration)) })]);
      else show_tip(x, y, [item_label(profile, it.item), `${about(profile.ns(it.duration))} · ${t("starts_at", { time: about(profile.ns(it.start)) })}`, profile.item_category(it.item)]);
      return;
    }
    const found = under(row, time, per);
    if (!found) {
      const entry = density_at(profile, row, time);
      const density = row.density;
      if (entry < 0 || !density) tip.hidden = true;
      else show_tip(x, y, [t("density_here", { n: density.count[entry], share: percent(density.busy[entry] / 255) }), t("longest_here", { name: item_label(profile, density.item[entry]), time: about(profile.ns(density.longest[entry])) }), t("density_why")]);
      return;
    }
    const longest = about(profile.ns(row.index.duration[found.longest]));
    if (found.count > 1) {
      show_tip(x, y, [t("bucket_here", { n: found.count, share: percent(found.share) }), t("longest_here", { name: item_label(profile, row.index.item[found.longest]), time: longest })]);
    } else if (row.kind === "busy") {
      show_tip(x, y, [t("busy_for", { time: longest })]);
    } else {
      const slice = row.first + found.slice;
      const wait = profile.column("wait")[slice];
      show_tip(x, y, [slice_label(profile, slice), `${about(profile.ns(profile.duration[slice]))} · ${t("starts_at", { time: about(profile.ns(profile.start[slice])) })}`, profile.item_category(profile.item[slice]), wait > 0 ? t("waited", { time: about(profile.ns(wait - 1)) }) : ""]);
    }
  }

  /** @param {number} x @param {number} y @param {string[]} lines */
  function show_tip(x, y, lines) {
    fill(tip, lines.filter((it) => it !== "").map((it, at) => h("div", { class: at === 0 ? "tip-title" : "" }, it)));
    tip.hidden = false;
    const left = names_width + x + 14;
    const top = scroller.offsetTop + y + 16;
    const over = left + tip.offsetWidth > chart.clientWidth - 8;
    const below = top + tip.offsetHeight > chart.clientHeight - 4;
    tip.style.setProperty("left", `${Math.max(0, over ? left - tip.offsetWidth - 28 : left)}px`);
    tip.style.setProperty("top", `${Math.max(0, below ? top - tip.offsetHeight - 28 : top)}px`);
  }

  /** @param {number} slice */
  function scroll_to(slice) {
    const row = profile.row_of(slice);
    const place = row && layout.places.find((it) => it.row === row);
    if (!place) return;
    if (place.y < scroller.scrollTop) scroller.scrollTop = place.y - 30;
    else if (place.y + place.height > scroller.scrollTop + size.height) scroller.scrollTop = place.y + place.height - size.height + 30;
  }

  /** @param {1 | -1} direction */
  function row_by_row(direction) {
    const selection = app.selection.peek();
    const rows = layout.places.filter((it) => it.row !== null && it.row.count > 0);
    if (rows.length === 0) return;
    const [from, to] = app.view.peek();
    const own = selection?.kind === "slice" ? profile.row_of(selection.slice) : null;
    let at = own ? rows.findIndex((it) => it.row === own) + direction : direction > 0 ? 0 : rows.length - 1;
    const time = selection?.kind === "slice" ? profile.start[selection.slice] + profile.duration[selection.slice] / 2 : (from + to) / 2;
    for (; at >= 0 && at < rows.length; at += direction) {
      const row = /** @type {Row} */ (rows[at].row);
      const near = slice_near(row, time, Infinity);
      if (near >= 0) {
        choose_slice(app, row.first + near);
        return;
      }
    }
  }
}
