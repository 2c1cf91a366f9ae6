// Keys and pointer of the timeline. Keys are taken by their place (`KeyboardEvent.code`), so that they work on
// any layout and while an input method is on.

import { zoomed, panned } from "./scale.js";
import { set_range } from "./moves.js";

const HELD = { KeyW: "in", KeyS: "out", KeyA: "left", KeyD: "right", ArrowLeft: "left", ArrowRight: "right" };

/**
 * Moves the view for as long as keys are held: 60 steps a second, whatever the screen's rate is.
 * @param {App} app
 * @param {{ share: () => number, moving: (now: boolean) => void }} view
 */
export function make_moves(app, view) {
  /** @type {Set<string>} */
  const held = new Set();
  let fast = false;
  let frame = 0;
  let before = 0;

  return {
    /** @param {KeyboardEvent} event @returns {boolean} whether the key was ours */
    down(event) {
      if (!(event.code in HELD) || event.ctrlKey || event.metaKey || event.altKey) return false;
      fast = event.shiftKey;
      if (!held.has(event.code)) {
        held.add(event.code);
        step(1);
        if (!frame) {
          before = performance.now();
          view.moving(true);
          frame = requestAnimationFrame(tick);
        }
      }
      return true;
    },
    /** @param {KeyboardEvent} event */
    up(event) {
      fast = event.shiftKey;
      held.delete(event.code);
    },
    stop() {
      held.clear();
    },
  };

  /** @param {number} now */
  function tick(now) {
    frame = 0;
    if (held.size === 0) {
      view.moving(false);
      return;
    }
    // A pause of the browser isn't a leap.
    const steps = Math.min(6, Math.max(0.2, (now - before) / (1000 / 60)));
    before = now;
    step(steps);
    frame = requestAnimationFrame(tick);
  }

  /** @param {number} steps */
  function step(steps) {
    const doing = new Set([...held].map((it) => HELD[/** @type {keyof typeof HELD} */ (it)]));
    const much = steps * (fast ? 3 : 1);
    let span = app.view.peek();
    if (doing.has("in")) span = zoomed(span, 0.955 ** much, view.share(), app.bounds);
    if (doing.has("out")) span = zoomed(span, 1.047 ** much, view.share(), app.bounds);
    if (doing.has("left")) span = panned(span, -0.018 * much, app.bounds);
    if (doing.has("right")) span = panned(span, 0.018 * much, app.bounds);
    app.view.value = span;
  }
}

/**
 * @param {App} app @param {HTMLElement} area the rows' canvas
 * @param {{ width: () => number, click: (x: number, y: number) => void, twice: () => void, hover: (x: number, y: number) => void, leave: () => void,
 *   moving: (now: boolean) => void, vertical: (by: number) => void, drag_range: (span: Span | null) => void }} view
 */
export function watch_pointer(app, area, view) {
  /** @type {{ x: number, y: number, view: Span, mode: "range" | "pan" | "zoom", moved: boolean, last_y: number } | null} */
  let drag = null;
  let rest = 0;
  const place = (/** @type {MouseEvent} */ event) => {
    const box = area.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const time_of = (/** @type {number} */ x, /** @type {Span} */ span) => span[0] + (Math.min(Math.max(0, x), view.width()) / view.width()) * (span[1] - span[0]);
  const moved = () => {
    view.moving(true);
    clearTimeout(rest);
    rest = setTimeout(() => view.moving(false), 120);
  };

  area.addEventListener("wheel", (event) => {
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const by = (event.deltaY || event.deltaX) * unit;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      app.view.value = zoomed(app.view.peek(), Math.exp(Math.max(-1, Math.min(1, by * 0.004))), place(event).x / view.width(), app.bounds);
      moved();
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      app.view.value = panned(app.view.peek(), ((event.deltaX || event.deltaY) * unit) / view.width(), app.bounds);
      moved();
    }
  }, { passive: false });

  area.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const at = place(event);
    drag = { ...at, last_y: at.y, view: app.view.peek(), mode: event.altKey ? "zoom" : event.shiftKey || event.ctrlKey || event.metaKey ? "pan" : "range", moved: false };
    area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (!drag) {
      view.hover(at.x, at.y);
      return;
    }
    if (!drag.moved && Math.abs(at.x - drag.x) < 4 && Math.abs(at.y - drag.y) < 4) return;
    drag.moved = true;
    if (drag.mode === "pan") {
      app.view.value = panned(drag.view, (drag.x - at.x) / view.width(), app.bounds);
      view.vertical(drag.last_y - at.y);
      drag.last_y = at.y;
      moved();
    } else {
      const span = /** @type {Span} */ ([time_of(drag.x, drag.view), time_of(at.x, drag.view)].sort((a, b) => a - b));
      view.drag_range(span);
    }
  });
  const end = (/** @type {PointerEvent} */ event) => {
    if (!drag) return;
    const done = drag;
    drag = null;
    view.drag_range(null);
    if (event.type === "pointercancel") return;
    const at = place(event);
    if (!done.moved) {
      view.click(at.x, at.y);
      return;
    }
    const span = /** @type {Span} */ ([time_of(done.x, done.view), time_of(at.x, done.view)].sort((a, b) => a - b));
    if (done.mode === "range") set_range(app, span);
    else if (done.mode === "zoom" && span[1] - span[0] > 10) app.view.value = span;
  };
  area.addEventListener("pointerup", end);
  area.addEventListener("pointercancel", end);
  area.addEventListener("pointerleave", () => view.leave());
  area.addEventListener("dblclick", () => view.twice());
}
