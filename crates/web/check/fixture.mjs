// Reports made without the program: an encoder of the columns' container, and a profile of a given size, the
// same each time. For unit tests, and for stories where the program isn't built.
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import crypto from "node:crypto";
import { graph_of } from "./graph_fixture.mjs";
import { link, styles } from "./link.mjs";
import { shipped } from "./shipped.mjs";

/** @param {Record<string, Record<string, any[] | Float64Array>>} tables columns of numbers or of texts */
export function encode(tables) {
  const parts = [];
  let length = 0;
  const head = { kind: "report", tables: {} };
  const columns = [];
  for (const [name, table] of Object.entries(tables)) {
    const count = Object.values(table)[0]?.length ?? 0;
    head.tables[name] = { count, columns: [] };
    for (const [column, values] of Object.entries(table)) {
      if (typeof values[0] === "string") columns.push([name, { name: column, coding: "text" }, Buffer.from(JSON.stringify(Array.from(values)))]);
      else if (Array.from(values).every((it) => it === 0)) continue;
      else if (Array.from(values).some((it) => !Number.isInteger(it))) columns.push([name, { name: column, coding: "float" }, planes(Array.from(values), 8, true)]);
      else {
        const delta = ["id", "launch", "time", "start", "bucket"].includes(column) && !name.startsWith("graph_");
        let before = 0;
        const stored = delta ? Array.from(values, (it) => { const step = it - before; before = it; return step < 0 ? -step * 2 - 1 : step * 2; }) : Array.from(values);
        const most = stored.reduce((a, b) => Math.max(a, b), 0);
        const bytes = Math.max(1, Math.ceil(Math.log2(most + 1) / 8));
        columns.push([name, { name: column, coding: delta ? "delta" : "whole", bytes }, planes(stored, bytes, false)]);
      }
    }
  }
  // Offsets count from the container's begin, so the head's length has to be known first: it is padded.
  const space = 8 + Math.ceil((JSON.stringify(head).length + columns.length * 110 + 64) / 8) * 8;
  for (const [name, facts, bytes] of columns) {
    head.tables[name].columns.push({ ...facts, bytes: facts.bytes ?? bytes.length, offset: space + length });
    const padded = Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
    parts.push(padded);
    length += padded.length;
  }
  const text = Buffer.from(JSON.stringify(head));
  const start = Buffer.alloc(space);
  start.write("OSC1");
  start.writeUInt32LE(text.length, 4);
  text.copy(start, 8);
  return Buffer.concat([start, ...parts]);
}

function planes(values, bytes, float) {
  const out = Buffer.alloc(values.length * bytes);
  values.forEach((value, row) => {
    if (float) {
      const one = Buffer.alloc(8);
      one.writeDoubleLE(value);
      for (let plane = 0; plane < 8; plane += 1) out[plane * values.length + row] = one[plane];
    } else {
      let rest = value;
      for (let plane = 0; plane < bytes; plane += 1) {
        out[plane * values.length + row] = rest % 256;
        rest = Math.floor(rest / 256);
      }
    }
  });
  return out;
}

/** A report as one file, as the program writes it; with the columns of the profile that it is compared with, if given. */
export function page(report, tables, before = null) {
  const { script, style } = shipped() ?? { script: link(), style: styles() };
  const hash = (text) => `'sha256-${crypto.createHash("sha256").update(text).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
  const json = JSON.stringify(report).replace(/[<\u2028\u2029]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const packed = (it) => zlib.deflateRawSync(encode(it), { level: 6 }).toString("base64");
  const more = before ? `<script type="text/plain" id="columns-before">${packed(before)}</script>\n` : "";
  return `<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><meta name="viewport" content="width=device-width, initial-scale=1"><title>report · opscope</title><style>${style}</style></head>\n<body>\n<div id="app"></div>\n<main id="fallback"><h1>The report as text</h1></main>\n<script type="application/json" id="report">${json}</script>\n<script type="text/plain" id="columns">${packed(tables)}</script>\n${more}<script>${script}</script>\n</body></html>\n`;
}

/** Numbers that are the same each time. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

const LAYERS = [["Conv2D", 180], ["BNInferenceD", 60], ["Relu", 22], ["Conv2D", 240], ["BNInferenceD", 70], ["Relu", 24], ["MaxPool", 45], ["Conv2D", 320], ["Add", 18], ["MatMul", 90], ["Softmax", 12], ["Transpose", 35]];

/**
 * The mask detector's story in small: a call that sleeps for five seconds, then inferences on a device of two
 * streams whose convolutions lead.
 * @param {{ inferences?: number, layers?: number, streams?: number, hostile?: string[], lost?: number, folded?: boolean }} [options]
 */
export function story({ inferences = 20, layers = 48, streams = 2, hostile = [], lost = 72, folded = false } = {}) {
  const next = random(7);
  const strings = [""];
  const text = (value) => { const at = strings.indexOf(value); if (at >= 0) return at; strings.push(value); return strings.length - 1; };
  const units = ["other", "cpu", "gpu", "ai-core", "control"];
  const items = { kind: [], name: [], category: [], unit: [], operator: [], task: [] };
  const item = (kind, name, category, unit = 0, operator = 0) => { items.kind.push(kind); items.name.push(text(name)); items.category.push(text(category)); items.unit.push(unit); items.operator.push(operator); items.task.push(0); return items.kind.length - 1; };
  const operators = Array.from({ length: layers }, (_, at) => { const [type, micros] = LAYERS[at % LAYERS.length]; return { name: hostile[at] ?? `/backbone/block${Math.floor(at / LAYERS.length)}/${type}_${at}`, type, nominal: micros * (1 + Math.floor(at / LAYERS.length) * 0.3), times: [], item: 0, stream: 1 }; });
  operators.forEach((it, at) => { it.item = item(5, it.name, it.type, 3, at + 1); it.stream = streams > 1 && at % 9 === 8 ? 2 : 1; });
  const launch_item = item(2, "aclopExecuteV2", "acl");
  const execute_item = item(2, "aclmdlExecute", "model");
  const slow_item = item(2, "CreateMultipleStreamsFromFile", "host");
  const sync_item = item(2, "aclrtSynchronizeStream", "runtime");
  const inference_item = item(0, "", "");
  const lanes = { inferences: [], outer: [], inner: [], streams: Array.from({ length: streams }, () => []) };
  let now = 1_200_000;
  lanes.outer.push({ start: now, duration: 5_645_000_000, item: slow_item, id: 0 });
  now += 5_645_000_000 + 3_000_000;
  const iterations = [];
  let task_id = 0;
  let call_id = 1;
  for (let number = 1; number <= inferences; number += 1) {
    const begin = now;
    const noise = number <= 2 ? 1.9 - number * 0.3 : number === 13 ? 1.7 : 1;
    let device = now + 180_000;
    const calls = [];
    operators.forEach((it) => {
      const launch = now + 20_000;
      calls.push({ start: launch, duration: 9_000, item: launch_item, iteration: number, id: call_id++ });
      now = launch + 9_000;
      device = Math.max(device, now) + Math.round(next() * 3_000) + (next() < 0.03 ? 120_000 : 0);
      const duration = Math.round(it.nominal * 1000 * noise * (0.93 + next() * 0.14));
      lanes.streams[it.stream - 1].push({ start: device, duration, item: it.item, iteration: number, id: task_id++, call: calls[calls.length - 1], wait: Math.round(next() * 4000) + 1 });
      if (number > 2) it.times.push(duration);
      device += it.stream === 1 ? duration : Math.round(duration * 0.2);
    });
    const end = Math.max(device, ...lanes.streams.map((it) => it.at(-1)?.start + it.at(-1)?.duration || 0)) + 60_000;
    lanes.outer.push({ start: begin + 5_000, duration: end - begin - 10_000, item: execute_item, iteration: number, id: call_id++ });
    lanes.inner.push(...calls, { start: now + 4_000, duration: end - now - 20_000, item: sync_item, iteration: number, id: call_id++ });
    iterations.push({ number, start: begin, duration: end - begin, warm_up: number <= 2 });
    lanes.inferences.push({ start: begin, duration: end - begin, item: inference_item, iteration: number, id: number - 1 });
    now = end + 900_000 + Math.round(next() * 300_000);
  }
  for (const lane of lanes.streams) lane.sort((a, b) => a.start - b.start);
  for (const lane of lanes.streams) lane.forEach((it, at) => { if (at > 0) it.start = Math.max(it.start, lane[at - 1].start + lane[at - 1].duration); });

  const slices = { gap: [], duration: [], item: [], id: [], inner: [], iteration: [], launch: [], wait: [] };
  const rows = [];
  const add = (group, kind, name, of, lane, depth = 0, number = null) => {
    const first = slices.gap.length;
    let time = 0;
    for (const it of lane) {
      it.slice = slices.gap.length;
      slices.gap.push(it.start - time);
      time = it.start + it.duration;
      slices.duration.push(it.duration);
      slices.item.push(it.item);
      slices.id.push(it.id);
      slices.inner.push(0);
      slices.iteration.push(it.iteration ?? 0);
      slices.launch.push(it.call ? it.call.slice + 1 : 0);
      slices.wait.push(it.wait ?? 0);
    }
    rows.push({ group, kind, name, of, number, process: null, copy: 0, depth, first, count: lane.length, density_first: 0, density_count: 0 });
  };
  add(0, "inferences", "inferences of mask", "mask", lanes.inferences);
  add(0, "calls", "calls of thread 100", "100", lanes.outer, 0, 100);
  add(0, "calls", "calls of thread 100", "100", lanes.inner, 1, 100);
  rows.push({ group: 1, kind: "busy", name: "any stream busy", of: "", number: null, process: null, copy: 0, depth: 0, first: 0, count: 0, density_first: 0, density_count: 0 });
  lanes.streams.forEach((lane, at) => add(1, "tasks", `stream ${at + 1}`, String(at + 1), lane, 0, at + 1));
  const end = Math.max(...[...lanes.streams, lanes.outer, lanes.inferences].filter((it) => it.length > 0).map((it) => it.at(-1).start + it.at(-1).duration));

  const measured = iterations.filter((it) => !it.warm_up);
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const figures = operators.map((it) => { const sorted = [...it.times].sort((a, b) => a - b); const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0; return { ...it, time: Math.round(sum(it.times) / Math.max(1, measured.length)), count: it.times.length, mean: Math.round(sum(it.times) / Math.max(1, it.times.length)), min: sorted[0] ?? 0, max: sorted.at(-1) ?? 0, median: at(0.5), p90: at(0.9), p99: at(0.99) }; });
  const order = figures.map((it, at) => at).sort((a, b) => figures[b].time - figures[a].time);
  const place = new Map(order.map((old, at) => [old, at]));
  items.operator = items.operator.map((it) => (it === 0 ? 0 : place.get(it - 1) + 1));
  const listed = order.map((it) => figures[it]);
  const of_operators = {
    name: listed.map((it) => text(it.name)), type: listed.map((it) => text(it.type)), shapes: listed.map(() => text("1x64x56x56 → 1x64x56x56")), data_type: listed.map(() => text("float16")),
    engine_type: listed.map((it) => text(it.type)), attributes: listed.map(() => text('{"kernel":"3x3","strides":[1,1]}')), unit: listed.map(() => 4), stream: listed.map((it) => text(String(it.stream))),
    time: listed.map((it) => it.time), count: listed.map((it) => it.count), mean: listed.map((it) => it.mean), min: listed.map((it) => it.min), max: listed.map((it) => it.max), median: listed.map((it) => it.median), p90: listed.map((it) => it.p90), p99: listed.map((it) => it.p99),
    wait: listed.map(() => 2001), flops: listed.map((it) => (it.type === "Conv2D" ? 231_211_008 : 0) + 1), bytes: listed.map(() => 1_605_632 + 1), attribution: listed.map(() => text("exact")), nodes: listed.map((it) => text(it.name)),
  };
  const whole = sum(listed.map((it) => it.time));
  const types = [...new Set(listed.map((it) => it.type))].map((type) => { const own = listed.filter((it) => it.type === type); const time = sum(own.map((it) => it.time)); return { type, time_ns: time, share: time / whole, operators: own.length, executions: sum(own.map((it) => it.count)), mean_ns: Math.round(sum(own.map((it) => it.mean)) / own.length) }; }).sort((a, b) => b.time_ns - a.time_ns);
  const durations = measured.map((it) => it.duration).sort((a, b) => a - b);
  const wall = Math.round(sum(durations) / Math.max(1, durations.length));
  const samples = { time: [], value: [] };
  for (let at = 0; at < 400; at += 1) { samples.time.push(Math.round((end * at) / 400)); samples.value.push(Math.round((300 + 80 * Math.sin(at / 9) + 40 * next()) * 100) / 100 + 0.001); }
  const report = {
    schema_version: 1, program: "opscope", program_version: "0.1.0", lang: "auto", fingerprint: "9f3a12cd", name: hostile.length > 0 ? hostile[0] : "PROF_000001",
    overview: {
      latency: { basis: "recorded", count: durations.length, median_ns: durations[Math.floor(durations.length / 2)] ?? 0, mean_ns: wall, p90_ns: durations[Math.floor(durations.length * 0.9)] ?? 0, p99_ns: durations.at(-1) ?? 0, min_ns: durations[0] ?? 0, max_ns: durations.at(-1) ?? 0, coefficient_of_variation: 0.067, recording_ratio: null, scale: 1 },
      iterations: measured.length, iterations_left_out: iterations.length - measured.length, wall_ns: wall, busy_ns: Math.min(wall, whole), idle_ns: Math.max(0, wall - whole), operator_time_ns: whole, attributed_ns: Math.round(whole * 0.982), with_flops_ns: whole, tasks: task_id,
      control: { tasks: 0, time_ns: 0 }, outside: { tasks: 0, time_ns: 0 }, devices: [], units: [{ unit: "ai-core", time_ns: whole, tasks: task_id }], waiting_ns: 96_000, peak_memory_bytes: 268_435_456, peak_memory_operator: listed[0].name, whole_ns: whole, types,
    },
    about: { path: "/data/PROF_000001", kind: "Ascend profile (raw)", facts: { engine: "ACL", chip: "310P", iterations: { count: inferences, warm_up: 2 }, models: ["mask"] }, missing: ["the host's directory: no memory of the host"], remarks: ["The clock of device 0 was set back once."], command: "opscope report /data/PROF_000001" },
    losses: lost > 0 ? [{ kind: "cut-row", severity: "lost", source: "ts_track.data.0.slice_0", scope: "device 0", reason: "a record was cut off", count: lost, detail: "the last 72 of 12,000 records", profile: "/data/PROF_000001" }] : [],
    advice: {
      target: "310P", operator_time_ns: whole, saves_together_at_most_ns: 2_400_000, rules_asked: 30, findings: [
        { id: "A12", name: "whole-second-span", title: "a call took whole seconds", note: "5.645 s in one call", saves_at_most_ns: null, share: null, share_of: "operators", kind: "change", also: [], evidence: [{ name: "CreateMultipleStreamsFromFile", op_type: null, time_ns: 5_645_000_000 }], why: "Spans of whole seconds are seldom work: most are sleeps or time-outs that were forgotten.", advice: "Look for a sleep in this call.", auto: null, confidence: "guessed", source: "common practice", limits: {}, zh: { title: "某个调用耗时整数秒", why: "整数秒的区间很少是真正的计算：多半是被遗忘的 sleep 或超时。", advice: "在该调用中查找 sleep。" } },
        { id: "G05", name: "unfused-batch-norm", title: "batch normalisation isn't folded into the convolution before it", note: null, saves_at_most_ns: 2_400_000, share: 0.21, share_of: "operators", kind: "change", also: [], evidence: listed.filter((it) => it.type === "BNInferenceD").map((it) => ({ name: it.name, op_type: it.type, time_ns: it.time, detail: "behind a convolution of the same shape" })), why: "A batch normalisation in inference is a scale and a shift: both can be part of the convolution's weights.", advice: "Fold it into the convolution.", auto: "rewrite G05", confidence: "documented", source: "ONNX Runtime's basic level", limits: { share_above: 0.05 }, zh: { title: "批归一化未折叠进前面的卷积", why: "推理时的批归一化只是缩放和平移，可并入卷积的权重。", advice: "将其折叠进卷积。" } },
      ], done_already: [], not_run: [{ id: "A10", missing: "how long operators waited" }, { id: "H03", missing: "AI Core metrics" }], silenced: [], losses: [],
    },
    compute_units: units,
    timeline: { tick_ns: 1, zero_ns: 0, end, view: [0, end], outside: 0, groups: [{ name: "Inferences and calls", kind: "host", device: null }, { name: "Device 0: 310P", kind: "device", device: 0 }], rows, counters: [{ group: 1, name: "HBM read", unit: "MB/s", first: 0, count: samples.time.length }] },
    left_out: { slices: slices.gap.length, slices_in_full: slices.gap.length, windows: [[0, end]], inferences_in_full: null, buckets: 8192, operators: operators.length, operators_in_full: operators.length, samples: samples.time.length, samples_in_full: samples.time.length, launches_backward: 0, names_cut: 0 },
  };
  Object.assign(report, other_profile(report, listed, durations));
  listed.forEach((it, at) => { it.flops = of_operators.flops[at] - 1; });
  const share = (it) => Math.max(it.flops / 22e12, 1_605_632 / 1.2e12) / (it.time / 1e9);
  of_operators.bound = listed.map((it) => (it.time === 0 ? 0 : share(it) < 0.5 ? 3 : it.flops / 22e12 > 1_605_632 / 1.2e12 ? 1 : 2));
  of_operators.ceiling = listed.map((it) => (it.time === 0 ? 0 : share(it)));
  of_operators.ideal = listed.map((it) => Math.round(Math.max(it.flops / 22e12, 1_605_632 / 1.2e12) * 1e9) + 1);
  report.roofline = { flops_per_second: 22e12, bytes_per_second: 1.2e12, bound_from: 0.5 };
  const graph = graph_of(operators.map((_, at) => { const row = place.get(at); return { ...listed[row], row }; }), { folded });
  report.graph = graph.facts;
  const by_inference = lanes.inferences.map((it) => it.slice + 1);
  return { report, tables: {
    strings: { text: strings }, items, slices,
    iterations: { number: iterations.map((it) => it.number), start: iterations.map((it) => it.start), duration: iterations.map((it) => it.duration), recorded: iterations.map(() => 1), warm_up: iterations.map((it) => Number(it.warm_up)), measured: iterations.map((it) => Number(!it.warm_up)), slice: by_inference, model: iterations.map(() => text("mask")) },
    operators: of_operators, samples, ...graph.tables,
    metrics: { name: ["mac_ratio", "vec_ratio", "total_cycles"].map(text), unit: [0, 0, 0] },
    readings: { operator: listed.flatMap((_, at) => [at, at, at]), metric: listed.flatMap(() => [0, 1, 2]), mean: listed.flatMap((it, at) => [0.81 - (at % 7) / 20, 0.0625 + (at % 5) / 50, 12_345.5 + at]) },
  } };
}

/** The answers about the profile before a change: normalisation was an operator of its own, and a call slept. */
function other_profile(report, listed, durations) {
  const member = (it, factor, name = it.name, op_type = it.type) => ({ name, op_type, time_ns: Math.round(it.time * factor) });
  const sum = (list) => list.reduce((total, it) => total + it.time_ns, 0);
  const groups = listed.map((it) => {
    const conv = it.type === "Conv2D";
    const before = conv ? [member(it, 1.1), member(it, 0.4, `${it.name}/bn`, "BNInferenceD")] : [member(it, 1.002)];
    const after = [member(it, 1)];
    return { change: conv ? "merged" : "same", story: conv ? "Conv2D + BNInferenceD became Conv2D" : `${it.type} same`, before, after, before_ns: sum(before), after_ns: sum(after), delta_ns: sum(after) - sum(before) };
  }).sort((a, b) => a.delta_ns - b.delta_ns);
  const steps = [...new Set(groups.map((it) => it.story))].map((story) => ({ name: story, kind: "operators", story, delta_ns: groups.filter((it) => it.story === story).reduce((total, it) => total + it.delta_ns, 0) }));
  const slower = durations.map((it, at) => Math.round(it * 1.3 + (at % 5) * 20_000));
  const [before, after] = [slower, durations].map((it) => Math.round(it.reduce((a, b) => a + b, 0) / Math.max(1, it.length)));
  const outside = after - before - steps.reduce((total, it) => total + it.delta_ns, 0);
  const compare = {
    basis: "mean of the measured inferences", whole_profiles: false, executions_ratio: null, before_ns: before, after_ns: after, speed_up: before / Math.max(1, after), change: before > 0 ? after / before - 1 : null,
    difference: { verdict: "faster beyond noise", change: -0.25, interval: [-0.28, -0.22], confidence: 0.95, chance: 1e-9, runs: [slower.length, durations.length] }, inferences: { before_ns: slower, after_ns: durations },
    operators_before_ns: groups.reduce((total, it) => total + it.before_ns, 0), operators_after_ns: groups.reduce((total, it) => total + it.after_ns, 0),
    waterfall: [...steps, { name: "outside operators", kind: "outside operators", story: null, delta_ns: outside }], waterfall_left_out: { count: 0, delta_ns: 0 }, matched: { before: 0.97, after: 1 }, different_models: false,
    groups, groups_left_out: { count: 0, delta_ns: 0 }, spans: [{ name: "CreateMultipleStreamsFromFile", kind: "call", place: "", before_ns: 10_647_280_000, after_ns: 5_645_000_000 }, { name: "aclmdlExecute", kind: "call", place: "", before_ns: before, after_ns: after }],
    suspects: [{ name: "CreateMultipleStreamsFromFile", delta_ns: -5_002_280_000, seconds: 5, unrecorded: false, rule: "A33" }],
  };
  const overview = JSON.parse(JSON.stringify(report.overview));
  overview.latency = { ...overview.latency, median_ns: slower[slower.length >> 1] ?? 0, mean_ns: before };
  const wall = report.overview.wall_ns;
  const whatif = { measured_ns: wall, basis: "the serial sum of the only stream", findings: [1], predicted_ns: { 1: Math.max(0, wall - 2_400_000) } };
  const calls = { whole_ns: 5_700_000_000, rows_left_out: 0, rows: [{ time_ns: 5_645_000_000, share: 0.99, cumulative_share: 0.99, count: 1, mean_ns: 5_645_000_000, phase: "one-off", level: "acl", name: "CreateMultipleStreamsFromFile" }, { time_ns: 55_000_000, share: 0.01, cumulative_share: 1, count: 20, mean_ns: 2_750_000, phase: "steady-state", level: "model", name: "aclmdlExecute" }] };
  return { against: { name: report.name, path: "/data/PROF_000000", overview }, compare, calls, whatif };
}

/** The same profile compared with one of other times, whose columns come along. */
export function compared() {
  const [own, before] = [story(), story({ inferences: 16, streams: 1 })];
  Object.assign(own.report.against, { name: "PROF_000000", timeline: before.report.timeline, left_out: before.report.left_out });
  for (const group of own.report.compare.groups) group.before.splice(1);
  before.tables.operators.time = before.tables.operators.time.map((it) => it * 2);
  return { ...own, before: before.tables };
}

/** A profile in which nothing ran. */
export function nothing() {
  const { report } = story({ inferences: 1, layers: 1, lost: 0 });
  Object.assign(report.overview, { latency: null, iterations: 0, iterations_left_out: 0, wall_ns: 0, busy_ns: 0, idle_ns: 0, operator_time_ns: 0, attributed_ns: 0, tasks: 0, whole_ns: 0, types: [], units: [], waiting_ns: null, peak_memory_bytes: null, peak_memory_operator: null });
  report.timeline = { tick_ns: 1, zero_ns: 0, end: 0, view: [0, 0], outside: 0, groups: [], rows: [], counters: [] };
  report.advice = { findings: [] };
  Object.assign(report, { against: null, compare: null, roofline: null, whatif: null, calls: { whole_ns: 0, rows_left_out: 0, rows: [] } });
  delete report.graph;
  Object.assign(report.left_out, { slices: 0, slices_in_full: 0, windows: [], operators: 0, operators_in_full: 0, samples: 0, samples_in_full: 0 });
  return { report, tables: { strings: { text: [""] } } };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [out, inferences = "20", layers = "48"] = process.argv.slice(2);
  const { report, tables } = story({ inferences: Number(inferences), layers: Number(layers) });
  fs.writeFileSync(path.resolve(out), page(report, tables));
}
