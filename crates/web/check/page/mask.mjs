// The mask detector of the reference documents, before and after: a forgotten sleep of five seconds, and seven
// times convolution, normalisation and activation, which a converter's rules fuse: 7.209 ms become 2.305 ms.
import fs from "node:fs";
import path from "node:path";

const ZERO = 1_760_000_000_000_000;

/** Both profiles as folders of tables that Ascend's tools export. @param {string} folder */
export function mask_detector(folder) {
  const unfused = Array.from({ length: 7 }, (_, at) => [[`conv${at}`, "Conv2D", 600], [`bn${at}`, "BNInferenceD", 250], [`relu${at}`, "Relu", 177]]).flat();
  const fused = Array.from({ length: 7 }, (_, at) => [`conv${at}`, "Conv2D", 329]);
  return [
    write(path.join(folder, "before"), 5645.052, [...unfused, ["prior", "Softmax", 20]]),
    write(path.join(folder, "after"), 642.772, [...fused, ["prior", "Softmax", 2]]),
  ];
}

/** @param {string} folder @param {number} milliseconds of the call @param {any[][]} operators name, type, microseconds */
function write(folder, milliseconds, operators) {
  fs.mkdirSync(folder);
  const [host, device, stamp] = [4344063, 4344256, "20251009085320"];
  const process = (pid, name, label) => [{ ph: "M", pid, tid: 0, name: "process_name", args: { name } }, { ph: "M", pid, tid: 0, name: "process_labels", args: { labels: label } }];
  const events = [
    ...process(host, "CANN", "CPU"), ...process(device, "Ascend Hardware", "NPU 0"), { ph: "M", pid: device, tid: 2, name: "thread_name", args: { name: "Stream 2" } },
    { ph: "X", pid: host, tid: 100, ts: ZERO.toFixed(3), dur: milliseconds * 1000, name: "AscendCL@CreateMultipleStreamsFromFile", args: { "Thread Id": 100, Mode: "CreateMultipleStreamsFromFile", level: "acl", id: "0" } },
  ];
  const lines = [];
  let start = ZERO + milliseconds * 1000 + 500;
  operators.forEach(([name, type, micros], task) => {
    lines.push(`0,1,${task},2,${name},${type},AI_CORE,${start.toFixed(3)}\t,${micros.toFixed(3)},0`);
    events.push({ ph: "X", pid: device, tid: 2, ts: start.toFixed(3), dur: micros, name, args: { "Task Type": "AI_CORE", "Physic Stream Id": 2, "Task Id": task, "Batch Id": 0 } });
    start += micros;
  });
  fs.writeFileSync(path.join(folder, `op_summary_${stamp}.csv`), `Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)\n${lines.join("\n")}\n`);
  fs.writeFileSync(path.join(folder, `msprof_${stamp}.json`), JSON.stringify(events));
  return folder;
}
