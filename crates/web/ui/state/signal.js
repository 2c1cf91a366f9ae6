// Values that tell those who read them when they change: the page's only way of keeping itself up to date.

/** @typedef {{ run: () => void, sources: Set<Set<Reader>>, stopped: boolean }} Reader */

/** @type {Reader | null} */
let reading = null;
let depth = 0;
/** @type {Set<Reader>} */
const waiting = new Set();

/**
 * A value. Reading `value` within an effect has the effect run again after a change.
 * @template T
 * @param {T} first
 * @returns {Signal<T>}
 */
export function signal(first) {
  let current = first;
  /** @type {Set<Reader>} */
  const readers = new Set();
  return {
    get value() {
      if (reading) {
        readers.add(reading);
        reading.sources.add(readers);
      }
      return current;
    },
    set value(next) {
      if (Object.is(next, current)) return;
      current = next;
      for (const reader of readers) waiting.add(reader);
      if (depth === 0) settle();
    },
    peek: () => current,
  };
}

/**
 * Runs `action` now and after each change of what it read; the answer stops it.
 * @param {() => void} action
 * @returns {() => void}
 */
export function effect(action) {
  /** @type {Reader} */
  const reader = { run: () => track(reader, action), sources: new Set(), stopped: false };
  reader.run();
  return () => {
    reader.stopped = true;
    forget(reader);
  };
}

/**
 * A value made of others.
 * @template T
 * @param {() => T} make
 * @returns {{ readonly value: T, peek: () => T, stop: () => void }}
 */
export function computed(make) {
  const inner = signal(/** @type {T} */ (/** @type {unknown} */ (undefined)));
  const stop = effect(() => { inner.value = make(); });
  return { get value() { return inner.value; }, peek: inner.peek, stop };
}

/**
 * Several changes, of which the readers see only the last.
 * @param {() => void} changes
 */
export function batch(changes) {
  depth += 1;
  try {
    changes();
  } finally {
    depth -= 1;
    if (depth === 0) settle();
  }
}

/**
 * Reads without being told of changes.
 * @template T
 * @param {() => T} action
 * @returns {T}
 */
export function untracked(action) {
  const before = reading;
  reading = null;
  try {
    return action();
  } finally {
    reading = before;
  }
}

/** @param {Reader} reader @param {() => void} action */
function track(reader, action) {
  if (reader.stopped) return;
  forget(reader);
  const before = reading;
  reading = reader;
  try {
    action();
  } finally {
    reading = before;
  }
}

/** @param {Reader} reader */
function forget(reader) {
  for (const readers of reader.sources) readers.delete(reader);
  reader.sources.clear();
}

// Effects that change values have others run in the next round; a circle of them is a defect.
function settle() {
  depth += 1;
  try {
    for (let round = 0; waiting.size > 0; round += 1) {
      if (round > 100) {
        waiting.clear();
        throw new Error("effects change one another without an end");
      }
      const now = [...waiting];
      waiting.clear();
      for (const reader of now) reader.run();
    }
  } finally {
    depth -= 1;
  }
}
