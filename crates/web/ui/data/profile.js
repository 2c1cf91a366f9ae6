// A profile as the screens see it: facts as they came, rows with their index, items, operators, iterations.

import { make_index, first_from, first_place } from "./row_index.js";
import { union_of } from "./union.js";
import { make_graph } from "../graph/graph.js";

export const ITEM = { inference: 0, unrecorded: 1, call: 2, range: 3, mark: 4, task: 5 };

/** @typedef {ReturnType<typeof make_profile>} Profile */

/**
 * @param {Report} report
 * @param {Container} columns
 * @param {number} [guests] the most slices that a server is asked for one by one and that are kept beside those of the columns
 */
export function make_profile(report, columns, guests = 0) {
  const strings = columns.table("strings").texts("text");
  const of_items = columns.table("items");
  /** @type {Items} */
  const items = {
    count: of_items.count,
    kind: of_items.numbers("kind"),
    name: of_items.numbers("name"),
    category: of_items.numbers("category"),
    unit: of_items.numbers("unit"),
    operator: of_items.numbers("operator"),
    task: of_items.numbers("task"),
  };
  const slices = columns.table("slices");
  /** @type {Map<string, Numbers>} */
  const roomy = new Map();
  // With room for guests at the end.
  const column = (/** @type {string} */ name) => {
    if (guests === 0) return slices.numbers(name);
    let values = roomy.get(name);
    if (!values) {
      values = new Float64Array(slices.count + guests);
      values.set(slices.numbers(name));
      roomy.set(name, values);
    }
    return values;
  };
  const duration = column("duration");
  const item = column("item");
  const start = new Float64Array(slices.count + guests);
  /** @type {(Row | null)[]} */
  const rows_of_guests = [];
  /** @type {Map<string, number>} */
  const known_guests = new Map();
  let invited = 0;
  const gap = slices.numbers("gap");
  const text = (/** @type {number} */ number) => strings[number] ?? "";

  /** @type {Row[]} */
  const rows = [];
  const control = report.compute_units.indexOf("control");
  report.timeline.rows.forEach((facts) => {
    const end = Math.min(slices.count, facts.first + facts.count);
    let time = 0;
    for (let at = facts.first; at < end; at += 1) {
      time += gap[at];
      start[at] = time;
      time += duration[at];
    }
    // The row of a device that says when any of its streams was busy is merged from those.
    const merge = () => union_of(rows.filter((it) => it.group === facts.group && it.kind === "tasks" && it.depth === 0).map((it) => it.index), (it) => items.unit[it] === control);
    const index = lazy(() => (facts.kind === "busy" ? merge() : make_index(start.subarray(facts.first, end), duration.subarray(facts.first, end), item.subarray(facts.first, end))));
    rows.push({
      key: row_key(report.timeline.groups[facts.group], facts),
      group: facts.group,
      kind: facts.kind,
      title: facts.name,
      depth: facts.depth,
      first: facts.first,
      count: end - facts.first,
      get index() { return index(); },
      facts,
      counter: null,
      samples: null,
      density: density_of(facts),
    });
  });
  const of_samples = columns.table("samples");
  for (const counter of report.timeline.counters) {
    const end = Math.min(of_samples.count, counter.first + counter.count);
    rows.push({
      key: `counter/${counter.group}/${counter.name}`,
      group: counter.group,
      kind: "counter",
      title: counter.name,
      depth: 0,
      first: 0,
      count: 0,
      index: make_index(new Float64Array(0), new Uint8Array(0), new Uint8Array(0)),
      facts: null,
      counter,
      samples: { time: of_samples.numbers("time").subarray(counter.first, end), value: of_samples.numbers("value").subarray(counter.first, end) },
      density: null,
    });
  }

  const iterations = iterations_of(columns.table("iterations"));
  const operators = operators_of(columns.table("operators"), text, report);
  const metrics = lazy(() => metrics_of(columns, text));
  const metric_names = lazy(() => {
    const counts = new Map();
    for (const list of metrics().values()) for (const it of list) counts.set(it.name, (counts.get(it.name) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => /** @type {string} */ (name));
  });
  /** @type {Row[]} */
  const rows_by_first = rows.filter((it) => it.count > 0).sort((a, b) => a.first - b.first);

  const graph = lazy(() => make_graph(columns, report.graph ?? NO_GRAPH, operators));
  const profile = {
    report,
    get graph() { return graph(); },
    /** Its number among those that a server has. */
    number: 0,
    /** The server of what the columns don't hold; null where they hold all. */
    served: /** @type {Served | null} */ (null),
    /** Files that only a server makes; null in a report. */
    file: /** @type {((question: string) => Promise<Blob>) | null} */ (null),
    facts: report.timeline,
    overview: report.overview,
    strings,
    items,
    rows,
    iterations,
    operators,
    /** Hardware's quantities of an operator, means over its executions. @param {number} operator */
    metrics_of: (operator) => metrics().get(operator) ?? [],
    /** Their names, those of most operators first. */
    get metric_names() { return metric_names(); },
    count: slices.count,
    start,
    duration,
    item,
    text,
    control,
    /** Ticks of a bucket of density. */
    density_bucket: Math.floor(report.timeline.end / Math.max(1, report.left_out.buckets)) + 1,
    column,
    item_name: (/** @type {number} */ it) => text(items.name[it]),
    item_category: (/** @type {number} */ it) => text(items.category[it]),
    item_unit: (/** @type {number} */ it) => report.compute_units[items.unit[it]] ?? "",
    /** Nanoseconds of ticks. @param {number} ticks */
    ns: (ticks) => ticks * report.timeline.tick_ns,
    /** @param {number} slice @returns {Row | null} */
    row_of(slice) {
      if (slice >= slices.count) return rows_of_guests[slice - slices.count] ?? null;
      const row = rows_by_first[first_place(0, rows_by_first.length, (at) => rows_by_first[at].first > slice) - 1];
      return row && slice < row.first + row.count ? row : null;
    },
    /** The inference of a slice. @param {number} slice */
    iteration_of: (slice) => iterations.at(column("iteration")[slice] - 1),
    /** Whether a slice is none of the columns'. @param {number} slice */
    is_guest: (slice) => slice >= slices.count,
    /**
     * Takes over items and text that an answer brings.
     * @param {Container} answer @param {{ items: number, strings: number }} known what was there when it was asked for
     */
    learn(answer, known) {
      // Answers that were under way at the same time bring the same.
      for (const text of answer.table("strings").texts("text").slice(strings.length - known.strings)) strings.push(text);
      const more = answer.table("items");
      const skip = items.count - known.items;
      if (more.count <= skip) return;
      for (const name of /** @type {const} */ (["kind", "name", "category", "unit", "operator", "task"])) {
        const longer = new Uint32Array(known.items + more.count);
        longer.set(items[name]);
        longer.set(more.numbers(name).subarray(skip), items.count);
        items[name] = longer;
      }
      items.count = known.items + more.count;
    },
    /** Takes in slices that a server told of. @param {Table} table @returns {number} the first of them, or -1 */
    invite(table) {
      const names = ["start", "duration", "item", "id", "inner", "iteration", "wait"];
      const [row, launch] = [table.numbers("row"), table.numbers("launch")];
      const numbers = Array.from({ length: table.count }, (_, at) => {
        const key = `${row[at]}/${table.numbers("id")[at]}`;
        const known = known_guests.get(key);
        const place = known ?? invited++ % guests;
        known_guests.set(key, place);
        rows_of_guests[place] = rows[row[at]] ?? null;
        const slice = slices.count + place;
        start[slice] = table.numbers("start")[at];
        for (const name of names.slice(1)) column(name)[slice] = table.numbers(name)[at];
        return slice;
      });
      numbers.forEach((slice, at) => { column("launch")[slice] = launch[at] > 0 ? numbers[launch[at] - 1] + 1 : 0; });
      if (known_guests.size > guests) known_guests.clear();
      return numbers[0] ?? -1;
    },
  };
  return profile;

  /** @param {RowFacts} facts @returns {Row["density"]} */
  function density_of(facts) {
    if (!facts.density_count) return null;
    const table = columns.table("density");
    const part = (/** @type {string} */ name) => table.numbers(name).subarray(facts.density_first, facts.density_first + facts.density_count);
    return { bucket: part("bucket"), busy: Uint8Array.from(part("busy")), count: part("count"), item: part("item"), longest: Float64Array.from(part("longest")) };
  }
}

/** @type {GraphFacts} */
const NO_GRAPH = { from: "order", is_matched: true, nodes: 0, constants: 0, is_folded: false, in_columns: 0, path_ns: 0 };

/**
 * A part that is made when a picture first needs it.
 * @template T
 * @param {() => T} make
 * @returns {() => T}
 */
function lazy(make) {
  /** @type {T | null} */
  let made = null;
  return () => (made ??= make());
}

/** @param {Container} columns @param {(number: number) => string} text @returns {Map<number, { name: string, unit: string, mean: number }[]>} */
function metrics_of(columns, text) {
  const [of_metrics, readings] = [columns.table("metrics"), columns.table("readings")];
  const [name, unit] = [of_metrics.numbers("name"), of_metrics.numbers("unit")];
  const [operator, metric, mean] = ["operator", "metric", "mean"].map((it) => readings.numbers(it));
  const found = new Map();
  for (let at = 0; at < readings.count; at += 1) {
    const list = found.get(operator[at]) ?? [];
    list.push({ name: text(name[metric[at]]), unit: text(unit[metric[at]]), mean: mean[at] });
    found.set(operator[at], list);
  }
  return found;
}

/** @param {TimelineGroup | undefined} group @param {RowFacts} facts */
function row_key(group, facts) {
  const place = group?.kind === "device" ? `d${group.device ?? ""}` : group?.kind ?? "";
  return [place, facts.kind, facts.process ?? "", facts.of, facts.number ?? "", facts.copy, facts.depth].join("/");
}

// Columns as they came: a long run has a hundred thousand inferences, and an object for each would take megabytes.
/** @param {Table} table */
function iterations_of(table) {
  const [number, start, duration, recorded, warm_up, measured, slice] =
    ["number", "start", "duration", "recorded", "warm_up", "measured", "slice"].map((it) => table.numbers(it));
  // The recorded ones by their start, and the longest of them: those of a stretch are found without a look at all.
  const by_start = lazy(() => {
    const order = Uint32Array.from({ length: table.count }, (_, index) => index).filter((index) => recorded[index] === 1).sort((a, b) => start[a] - start[b]);
    return { order, begins: Float64Array.from(order, (index) => start[index]), longest: order.reduce((most, index) => Math.max(most, duration[index]), 0) };
  });
  return {
    count: table.count, number, start, duration, recorded, warm_up, measured,
    /** The recorded ones that overlap a stretch; of more than `most`, so many and one. @param {Span} span @param {number} most */
    within([from, to], most) {
      const { order, begins, longest } = by_start();
      const found = [];
      for (let at = first_from(begins, from - longest, 0); begins[at] < to && found.length <= most; at += 1) {
        if (begins[at] + duration[order[at]] > from) found.push(order[at]);
      }
      return found;
    },
    /** @param {number} index @returns {Iteration | undefined} */
    at(index) {
      return number[index] === undefined ? undefined : {
        number: number[index], start: start[index], duration: duration[index], recorded: !!recorded[index], warm_up: !!warm_up[index], slice: slice[index] - 1,
      };
    },
  };
}

/** @param {Table} table @param {(number: number) => string} text @param {Report} report @returns {Operator[]} */
function operators_of(table, text, report) {
  const column = (/** @type {string} */ name) => table.numbers(name);
  const names = ["name", "type", "shapes", "data_type", "engine_type", "stream", "attribution", "nodes", "attributes"];
  const texts = Object.fromEntries(names.map((it) => [it, column(it)]));
  const figures = Object.fromEntries(["time", "count", "mean", "min", "max", "median", "p90", "p99", "unit", "wait", "flops", "bytes", "bound", "ceiling", "ideal"].map((it) => [it, column(it)]));
  const known = (/** @type {number} */ value) => (value === 0 ? null : value - 1);
  return Array.from({ length: table.count }, (_, row) => ({
    row,
    name: text(texts.name[row]), type: text(texts.type[row]), shapes: text(texts.shapes[row]), data_type: text(texts.data_type[row]),
    engine_type: text(texts.engine_type[row]), stream: text(texts.stream[row]), attribution: text(texts.attribution[row]),
    nodes: text(texts.nodes[row]), attributes: text(texts.attributes[row]),
    unit: figures.unit[row] === 0 ? "" : report.compute_units[figures.unit[row] - 1] ?? "",
    time: figures.time[row], count: figures.count[row], mean: figures.mean[row], min: figures.min[row], max: figures.max[row],
    median: figures.median[row], p90: figures.p90[row], p99: figures.p99[row],
    wait: known(figures.wait[row]), flops: known(figures.flops[row]), bytes: known(figures.bytes[row]),
    bound: figures.bound[row], ceiling: figures.ceiling[row], ideal: known(figures.ideal[row]),
  }));
}
