//! Timelines of Ascend devices, as traces.

use std::fs;
use std::path::PathBuf;

use opscope_formats::reading::Stop;
use opscope_testing::companions::shared;
use opscope_trace::*;

use super::AscendTimeline;

fn read(bytes: &[u8]) -> Trace {
    opscope_formats::chrome::read_with(bytes, &[&AscendTimeline], &Stop::default()).expect("a timeline")
}

#[test]
fn a_real_timeline_of_an_ascend_device_is_read_to_the_last_slice() {
    let Some(folder) = shared("data/ascend-pytorch/text_level2_rank0/ASCEND_PROFILER_OUTPUT") else { return };
    let trace = read(&fs::read(folder.join("trace_view.json")).unwrap());
    let repeated = trace.losses.iter().find(|(_, loss)| loss.kind == LossKind::RepeatedSlice);
    let repeated = repeated.map_or(0, |(_, loss)| loss.count as usize);
    // Modules of the network are ranges.
    assert_eq!((trace.ranges.len(), trace.launch_sites.is_empty()), (26, false));
    let rows = trace.tasks.len() + trace.api_calls.len() + trace.iterations.len() + trace.ranges.len();
    assert_eq!(rows + repeated, 4_811);

    let computing = |task: &Task| task.operator.is_some() && task.unit != ExecutionUnit::Communication;
    let computing: Vec<Task> = trace.tasks.iter().map(|(_, task)| task).filter(computing).collect();
    assert_eq!(computing.len(), 187);
    let total: Nanoseconds = computing.iter().map(|task| task.duration).sum();
    assert!((total - Nanoseconds(8_868_215)).0.abs() < 100, "{total:?}");
    assert!(computing.iter().all(|task| task.launched_by.is_some() && task.iteration.is_some()));
    assert_eq!(trace.iterations.number(), [50]);
    assert_eq!(trace.processes.pid(), [3_178_231]);
    assert_eq!(trace.samples.len(), 4_368);
}

#[test]
fn both_exporters_of_the_vendor_give_the_same_trace() {
    let Some(golden) = shared("golden/ascend/910b_static") else { return };
    let trace_of = |exporter: &str| {
        let folder = golden.join(exporter).join("mindstudio_profiler_output");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_timeline = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("msprof_2") && name.ends_with(".json")
        };
        read(&fs::read(files.into_iter().find(is_timeline).unwrap()).unwrap())
    };
    let (first, second) = (trace_of("oracle_cpp"), trace_of("oracle_py"));
    let rows = |trace: &Trace| {
        let text = |id: StringId| trace.strings.get(id).to_owned();
        let task = |(_, task): (TaskId, Task)| {
            let call = task.launched_by.map(|call| trace.api_calls.start()[call.index()]);
            format!(
                "{} {:?} {:?} {:?} {:?} {call:?}",
                text(task.name),
                task.unit,
                task.start,
                task.duration,
                task.iteration
            )
        };
        let mut rows: Vec<_> = trace.tasks.iter().map(task).collect();
        rows.extend(
            trace
                .api_calls
                .iter()
                .map(|(_, call)| format!("{} {:?} {:?}", text(call.name), call.start, call.duration)),
        );
        rows.extend(
            trace
                .ranges
                .iter()
                .map(|(_, range)| format!("{} {:?} {:?}", text(range.name), range.kind, range.start)),
        );
        rows.extend(trace.iterations.iter().map(|(_, row)| format!("{row:?}")));
        rows.sort();
        rows
    };
    assert_eq!(rows(&first), rows(&second));
    assert_eq!(
        (first.tasks.len(), first.api_calls.len(), first.ranges.len(), first.iterations.len()),
        (105, 92, 12, 3)
    );
    assert_eq!(first.models.number(), [1]);
    let of_iterations = first.tasks.iteration().iter().flatten().count();
    // All but the marks that the program set between the inferences.
    assert_eq!(of_iterations, 102);
}

/// opscope's export of a collected program: its ranges, and ONNX Runtime's operators beside them.
const BESIDE: &str = r#"[
  {"ph": "M", "name": "process_name", "pid": 5375, "tid": 0, "args": {"name": "CANN"}},
  {"ph": "M", "name": "process_name", "pid": 5280, "tid": 0, "args": {"name": "ONNX Runtime (CPU)"}},
  {"ph": "M", "name": "process_name", "pid": 5343, "tid": 0, "args": {"name": "python3"}},
  {"ph": "X", "name": "conv1", "pid": 5280, "tid": 0, "ts": "20.000", "dur": 10.0, "args": {"Unit": "cpu", "OP Type": "Conv"}},
  {"ph": "X", "name": "something", "pid": 5280, "tid": 1, "ts": "20.000", "dur": 10.0, "args": {}},
  {"ph": "X", "name": "infer", "pid": 5343, "tid": 7, "ts": "10.000", "dur": 30.0, "args": {"event_type": "push/pop"}}
]"#;

#[test]
fn operators_that_another_recorder_saw_are_no_ranges_of_the_program() {
    let trace = read(BESIDE.as_bytes());
    let mut ranges: Vec<_> =
        trace.ranges.iter().map(|(_, row)| (trace.strings.get(row.name), row.kind)).collect();
    ranges.sort_by_key(|(name, _)| *name);
    assert_eq!(ranges, [("infer", RangeKind::PushPop), ("something", RangeKind::StartStop)]);
    let [task] = trace.tasks.iter().map(|(_, task)| task).collect::<Vec<_>>()[..] else { panic!() };
    let operator = trace.operators.get(task.operator.unwrap());
    assert_eq!((trace.strings.get(operator.op_type), task.unit), ("Conv", ExecutionUnit::Cpu));
    let device = trace.devices.get(trace.streams.device()[task.stream.unwrap().index()]);
    assert_eq!(trace.strings.get(device.name), "ONNX Runtime (CPU)");
}

#[test]
fn a_timeline_of_the_inferences_alone_has_them_all() {
    let timeline = r#"[
      {"ph": "M", "name": "process_name", "pid": 4242, "tid": 0, "args": {"name": "Step Trace"}},
      {"ph": "M", "name": "thread_name", "pid": 4242, "tid": 70001, "args": {"name": "Model ID:1"}},
      {"ph": "X", "name": "Iteration 3", "pid": 4242, "tid": 70001, "ts": "20.000", "dur": 10.0, "args": {"Iteration ID": 3}}
    ]"#;
    let trace = read(timeline.as_bytes());
    assert_eq!((trace.iterations.number(), trace.models.number()), (&[3][..], &[1][..]));
    assert_eq!((trace.iterations.duration(), trace.tasks.len()), (&[Nanoseconds(10_000)][..], 0));
}

#[test]
fn a_timeline_of_a_board_has_operators_though_it_names_its_processes_alike() {
    let timeline = r#"[
      {"ph": "M", "name": "process_name", "pid": 1234, "tid": 0, "args": {"name": "Task Scheduler"}},
      {"ph": "X", "name": "conv1", "pid": 1234, "tid": 0, "ts": 20.0, "dur": 10.0, "args": {"Task Type": "AA CORE"}}
    ]"#;
    let trace = read(timeline.as_bytes());
    assert_eq!((trace.tasks.len(), trace.operators.len()), (1, 1));
}

#[test]
fn the_parts_of_a_training_step_are_no_iterations() {
    let timeline = r#"[
      {"ph": "M", "name": "process_name", "pid": 4242, "tid": 0, "args": {"name": "Step Trace"}},
      {"ph": "M", "name": "thread_name", "pid": 4242, "tid": 5, "args": {"name": "Step Trace(Model ID:1)"}},
      {"ph": "X", "name": "Iteration 1", "pid": 4242, "tid": 5, "ts": 20, "dur": 100, "args": {"Iteration ID": 1}},
      {"ph": "X", "name": "FP_BP Time 1", "pid": 4242, "tid": 5, "ts": 30, "dur": 70, "args": {"Iteration ID": 1}},
      {"ph": "X", "name": "Iteration Refresh 1", "pid": 4242, "tid": 5, "ts": 100, "dur": 20, "args": {"Iteration ID": 1}},
      {"ph": "X", "name": "Reduce_1_0", "pid": 4242, "tid": 5, "ts": 60, "dur": 20, "args": {"Iteration ID": 1}},
      {"ph": "X", "name": "GetNext", "pid": 4242, "tid": 5, "ts": 20, "dur": 5, "args": {}}
    ]"#;
    let trace = read(timeline.as_bytes());
    assert_eq!(
        (trace.iterations.number(), trace.iterations.duration()),
        (&[1][..], &[Nanoseconds(100_000)][..])
    );
    let left: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(left, [(LossKind::RepeatedSlice, 4)]);
}

/// The devices of two processes with tasks, by their numbers and labels, and the number of losses.
fn devices(processes: [(u32, &str); 2], further: &str) -> (Vec<u32>, u64) {
    let lanes = processes.map(|(pid, label)| {
        format!(
            r#"{{"ph": "M", "name": "process_name", "pid": {pid}, "tid": 0, "args": {{"name": "Ascend Hardware"}}}},
            {{"ph": "M", "name": "process_labels", "pid": {pid}, "tid": 0, "args": {{"labels": "{label}"}}}},
            {{"ph": "X", "name": "conv", "pid": {pid}, "tid": 3, "ts": 1, "dur": 2, "args": {{"Task Type": "AI_CORE"}}}},"#
        )
    });
    let trace = read(format!("[{} {further}]", lanes.concat()).as_bytes());
    let of_stream = |stream: StreamId| trace.devices.number()[trace.streams.device()[stream.index()].index()];
    let mut numbers: Vec<u32> =
        trace.tasks.stream().iter().map(|stream| of_stream(stream.unwrap())).collect();
    numbers.sort_unstable();
    let mut all = trace.devices.number().to_vec();
    all.sort_unstable();
    assert_eq!(all, numbers, "a device on which nothing ran");
    (numbers, trace.losses.iter().map(|(_, loss)| loss.count).sum())
}

#[test]
fn devices_are_those_of_labels_and_of_numbers_that_are_known_to_hold_them() {
    let python = r#"{"ph": "M", "name": "process_name", "pid": 4251, "tid": 0, "args": {"name": "Python"}},
        {"ph": "C", "name": "memory", "pid": 4251, "ts": 1, "args": {"bytes": 5}}"#;
    let composed = |layer: u32, device: u32| 4251 << 10 | layer << 5 | device;
    // As msprof and PyTorch write them. The system's number of a process, 4251, is of no device 27.
    assert_eq!(devices([(composed(14, 2), "NPU 2"), (composed(14, 5), "NPU 5")], python), (vec![2, 5], 0));
    assert_eq!(devices([(composed(13, 2), "NPU"), (composed(13, 5), "NPU")], python), (vec![2, 5], 0));
    // Another order of layers, where the real process has lanes.
    assert_eq!(devices([(composed(12, 2), "NPU"), (composed(12, 5), "NPU")], python), (vec![2, 5], 0));
    // Numbers that hold nothing.
    assert_eq!(devices([(3, "NPU 1"), (27, "NPU 6")], python), (vec![1, 6], 0));
    assert_eq!(devices([(4251, "NPU 1"), (4252, "NPU 6")], "{}").0[..2], [1, 6]);
    // Nothing tells the devices: they stay two, and that is remarked.
    assert_eq!(devices([(1283, "NPU"), (1307, "NPU")], python), (vec![0, 1], 2));
}
