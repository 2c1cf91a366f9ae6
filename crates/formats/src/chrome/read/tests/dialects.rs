//! The rows that the events of each dialect become.

use super::*;

const KINETO: &str = r#"{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 1}, {"id": 1, "name": "other"}],
  "displayTimeUnit": "ms", "baseTimeNanoseconds": 1728000000000000000, "cupti_version": 18,
  "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 4242, "tid": 0, "ts": 0, "args": {"name": "python"}},
  {"ph": "M", "name": "thread_name", "pid": 4242, "tid": 4243, "args": {"name": "worker"}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 90.000, "dur": 4.000,
   "args": {"External id": 9, "device": 0, "stream": 20, "correlation": 11}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 4242, "tid": 4242, "ts": 10.000, "dur": 60.500},
  {"ph": "X", "cat": "user_annotation", "name": "my phase", "pid": 4242, "tid": 4242, "ts": 11, "dur": 5},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "my phase", "pid": 0, "tid": 7, "ts": 12, "dur": 5},
  {"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": 4242, "tid": 4243, "ts": 12.001, "dur": 8.25,
   "args": {"External id": 5, "Input type": ["float", "float", "Scalar"],
            "Input Dims": [[1, 3, 8, 8], [4, 3, 3, 3], []], "Ev Idx": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4243, "ts": 13, "dur": 2,
   "args": {"External id": 5, "cbid": 211, "correlation": 10}},
  {"ph": "s", "id": 10, "cat": "ac2g", "name": "ac2g", "pid": 4242, "tid": 4243, "ts": 13},
  {"ph": "X", "cat": "kernel", "name": "implicit_gemm", "pid": 0, "tid": 7, "ts": 80.125, "dur": 31.744,
   "args": {"External id": 5, "device": 0, "stream": 7, "correlation": 10}},
  {"ph": "f", "id": 10, "cat": "ac2g", "name": "ac2g", "bp": "e", "pid": 0, "tid": 7, "ts": 80.125},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 70, "dur": 1,
   "args": {"device": 0, "stream": 7, "correlation": 12, "bytes": 100}},
  {"ph": "X", "cat": "python_function", "name": "model.py(3): forward", "pid": 4242, "tid": 4242, "ts": 11, "dur": 3,
   "args": {"Python id": 1}},
  {"ph": "i", "s": "t", "name": "[memory]", "pid": 4242, "tid": 4242, "ts": 14,
   "args": {"Total Reserved": 2097152, "Total Allocated": 512, "Bytes": 512, "Device Id": 0, "Device Type": 1}},
  {"ph": "i", "s": "t", "name": "[memory]", "pid": 4242, "tid": 4242, "ts": 13,
   "args": {"Total Allocated": 64, "Bytes": 64, "Device Id": -1, "Device Type": 0}},
  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 99}
  ],
  "traceName": "profile.json"
}"#;

#[test]
fn a_profile_of_pytorch_ties_kernels_to_operators_and_launches() {
    let trace = read(KINETO.as_bytes()).unwrap();
    assert_eq!(losses(&trace), [] as [&str; 0]);
    assert_eq!(trace.clock.unix_zero, Some(1_728_000_000_000_000_000));
    assert_eq!(names_of_tasks(&trace), ["ncclDevKernel_AllReduce", "implicit_gemm", "Memcpy HtoD"]);
    let [reduce, gemm, copy] = [0, 1, 2].map(|index| trace.tasks.get(TaskId::from_index(index)));
    let units = [reduce.unit, gemm.unit, copy.unit];
    assert_eq!(units, [ExecutionUnit::Communication, ExecutionUnit::Gpu, ExecutionUnit::MemoryCopy]);
    assert_eq!((gemm.start, gemm.duration), (Nanoseconds(80_125), Nanoseconds(31_744)));

    let operator = trace.operators.get(gemm.operator.unwrap());
    assert_eq!(trace.strings.get(operator.name), "aten::conv2d");
    let shapes: Vec<_> = operator.inputs().map(|input| trace.shape(input).unwrap()).collect();
    assert_eq!(shapes, [[1, 3, 8, 8], [4, 3, 3, 3]]);
    assert_eq!(reduce.operator, None);

    let call = trace.api_calls.get(gemm.launched_by.unwrap());
    assert_eq!((trace.strings.get(call.name), call.level), ("cudaLaunchKernel", ApiLevel::Runtime));
    let thread = trace.threads.get(call.thread.unwrap());
    assert_eq!((thread.tid, trace.strings.get(thread.name)), (4243, "worker"));

    let stream = trace.streams.get(gemm.stream.unwrap());
    let device = trace.devices.get(stream.device);
    assert_eq!(
        (stream.number, device.kind, trace.strings.get(device.name)),
        (7, DeviceKind::Gpu, "NVIDIA A100")
    );
}

#[test]
fn steps_of_the_profiler_are_iterations_and_kernels_belong_to_that_of_their_launch() {
    let trace = read(KINETO.as_bytes()).unwrap();
    let [step] = trace.iterations.iter().map(|(_, row)| row).collect::<Vec<_>>()[..] else {
        panic!("{:?}", trace.iterations)
    };
    assert_eq!((step.number, step.start, step.duration), (3, Nanoseconds(10_000), Nanoseconds(60_500)));
    // The first kernel has no launch and lies behind the step; the second was launched in it.
    let of_tasks: Vec<_> = trace.tasks.iteration().iter().map(Option::is_some).collect();
    assert_eq!(of_tasks, [false, true, true]);
    let levels: Vec<_> = trace.api_calls.level().to_vec();
    assert_eq!(levels, [ApiLevel::Framework, ApiLevel::Runtime, ApiLevel::Other]);
}

#[test]
fn memory_marks_become_counters_in_the_order_of_time() {
    let trace = read(KINETO.as_bytes()).unwrap();
    let counters: Vec<_> = (trace.counters.iter())
        .map(|(_, row)| (trace.strings.get(row.name), trace.strings.get(row.unit), row.device.is_some()))
        .collect();
    assert_eq!(
        counters,
        [("memory reserved", "B", true), ("memory allocated", "B", true), ("memory allocated", "B", false)]
    );
    assert_eq!(trace.samples.value(), [64.0, 2_097_152.0, 512.0]);
    assert!(trace.run.remarks.contains(&("traceName".to_owned(), "profile.json".to_owned())));
    assert!(trace.run.remarks.contains(&("cupti_version".to_owned(), "18".to_owned())));
    let ranges: Vec<_> =
        trace.ranges.iter().map(|(_, row)| (trace.strings.get(row.name), row.kind)).collect();
    assert_eq!(
        ranges,
        [
            ("my phase", RangeKind::PushPop),
            ("my phase", RangeKind::StartStop),
            ("Record Window End", RangeKind::Mark)
        ]
    );
}

#[test]
fn modules_are_ranges_and_the_memory_at_the_peak_is_of_who_took_it() {
    let span = |name: &str, category: &str, ts: u32, dur: u32| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {ts}, "dur": {dur}}}"#
        )
    };
    let memory = |ts: u32, address: u32, bytes: i32, allocated: u32| {
        format!(
            r#"{{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": {ts}, "args": {{"Addr": {address},
                "Bytes": {bytes}, "Total Allocated": {allocated}, "Total Reserved": 9000, "Device Id": 0, "Device Type": 1}}}}"#
        )
    };
    let events = [
        span("nn.Module: Net_0", "python_function", 10, 100),
        span("nn.Module: Linear_0", "python_function", 20, 30),
        span("net.py(5): forward", "python_function", 21, 28),
        span("aten::linear", "cpu_op", 22, 20),
        span("aten::addmm", "cpu_op", 23, 10),
        span("autograd::engine", "cpu_op", 200, 50),
        span("aten::mul", "cpu_op", 210, 10),
        span("gemm", "kernel", 30, 5),
        // A thousand bytes were there before.
        memory(25, 1, 300, 1300),
        memory(60, 2, 500, 1800),
        memory(70, 1, -300, 1500),
        memory(215, 3, 400, 1900),
        memory(230, 2, -500, 1400),
        memory(300, 4, 100, 1500),
    ];
    let text = format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(","));
    let trace = read(text.as_bytes()).unwrap();
    let names: Vec<_> = trace.ranges.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(names, ["nn.Module: Net_0", "nn.Module: Linear_0"]);
    assert!(trace.api_calls.name().iter().any(|name| trace.strings.get(*name) == "net.py(5): forward"));
    let rows: Vec<_> = (trace.figures.iter())
        .filter(|(_, figure)| figure.topic == FigureTopic::PeakMemory)
        .map(|(_, figure)| {
            (
                trace.strings.get(figure.step),
                trace.strings.get(figure.subject),
                trace.strings.get(figure.name),
                figure.value,
            )
        })
        .collect();
    let held = |owner: &str| {
        rows.iter()
            .find(|(_, subject, name, _)| *subject == owner && *name == "held at the peak")
            .map(|row| row.3)
    };
    assert_eq!(held("from before the recording"), Some(1000.0));
    assert_eq!(held("nn.Module: Net_0"), Some(500.0));
    assert_eq!(held("autograd::engine"), Some(400.0));
    assert_eq!(held("nn.Module: Linear_0"), Some(0.0));
    let sum: f64 = rows.iter().filter(|row| row.2 == "held at the peak").map(|row| row.3).sum();
    assert_eq!(sum, 1900.0, "what is allocated at the peak");
    let taken: f64 = rows.iter().filter(|row| row.2 == "taken").map(|row| row.3).sum();
    assert_eq!(taken, 1300.0, "what was taken in all");
    assert!(rows.iter().all(|row| row.0 == "gpu 0"), "{rows:?}");
}

#[test]
fn without_a_device_the_operators_of_the_host_are_the_tasks() {
    let text = r#"[
      {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":0,"dur":10,"args":{"External id":1,"Input Dims":[[2,2]],"Input type":["float"]}},
      {"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":1,"dur":8,"args":{"External id":2,"Input Dims":[[2,2]],"Input type":["float"]}},
      {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":20,"dur":10,"args":{"External id":3,"Input Dims":[[2,2]],"Input type":["float"]}},
      {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":40,"dur":10,"args":{"External id":4,"Input Dims":[[3,2]],"Input type":["float"]}}
    ]"#;
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!((trace.api_calls.len(), trace.tasks.len()), (0, 4));
    assert!(trace.tasks.unit().iter().all(|unit| *unit == ExecutionUnit::Cpu));
    // Equal shapes are one operator, others another.
    let operators: Vec<_> = trace.tasks.operator().iter().map(|operator| operator.unwrap().index()).collect();
    assert_eq!(operators, [0, 1, 0, 2]);
    let stream = trace.streams.get(trace.tasks.stream()[0].unwrap());
    assert_eq!(stream.thread, Some(ThreadId::from_index(0)));
}

#[test]
fn slices_of_any_other_program_are_work_of_its_threads() {
    let text = r#"{"otherData": {"version": "tool 1.0", "nested": {}}, "traceEvents": [
      {"ph":"M","name":"thread_name","pid":7,"tid":"main loop","args":{"name":"main"}},
      {"ph":"X","cat":"layer","name":"conv","pid":7,"tid":"main loop","ts":"1.5","dur":"2.25"},
      {"ph":"X","name":"relu","pid":7,"tid":"other","ts":2,"dur":1},
      {"ph":"X","name":"MatMul_3","pid":7,"tid":"other","ts":4,"dur":1,"args":{"op":"MatMul"}},
      {"ph":"C","name":"heap","pid":7,"ts":3,"args":{"used":5,"free":"7"}},
      {"ph":"C","name":"heap","pid":7,"ts":2,"args":{"used":4}},
      {"ph":"i","cat":"note","name":"here","pid":7,"tid":"other","ts":9}
    ], "displayTimeUnit": "ns"}"#;
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(times_of_tasks(&trace), [(1_500, 2_250), (2_000, 1_000), (4_000, 1_000)]);
    let types: Vec<_> = trace.operators.op_type().iter().map(|id| trace.strings.get(*id)).collect();
    assert_eq!(types, ["layer", "relu", "MatMul"]);
    let threads: Vec<_> = trace.threads.name().iter().map(|id| trace.strings.get(*id)).collect();
    assert_eq!(threads, ["main", "other"]);
    assert_eq!((trace.streams.len(), trace.processes.pid()), (2, [7].as_slice()));
    assert_eq!(trace.samples.value(), [4.0, 5.0, 7.0]);
    assert!(trace.run.remarks.contains(&("version".to_owned(), "tool 1.0".to_owned())));
    assert_eq!(losses(&trace), ["1 left out: a member that is no event and no short text (nested)"]);
    assert_eq!(trace.strings.get(trace.ranges.name()[0]), "here");
}

#[test]
fn beginnings_and_ends_nest_by_thread_whatever_their_order_in_the_file() {
    let text = r#"[
      {"ph":"B","name":"outer","pid":1,"tid":1,"ts":10},
      {"ph":"B","name":"inner","pid":1,"tid":1,"ts":20,"args":{"op":"Conv"}},
      {"ph":"B","name":"elsewhere","pid":1,"tid":2,"ts":21},
      {"ph":"E","pid":1,"tid":1,"ts":30},
      {"ph":"E","pid":1,"tid":2,"ts":31,"args":{"op":"Relu"}},
      {"ph":"E","pid":1,"tid":1,"ts":50},
      {"ph":"E","pid":1,"tid":1,"ts":60},
      {"ph":"B","name":"killed","pid":1,"tid":1,"ts":70},
      {"ph":"E","pid":1,"tid":3,"ts":5},
      {"ph":"B","name":"late","pid":1,"tid":3,"ts":1}
    ]"#;
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(names_of_tasks(&trace), ["late", "inner", "elsewhere", "outer"]);
    assert_eq!(
        times_of_tasks(&trace),
        [(1_000, 4_000), (20_000, 10_000), (21_000, 10_000), (10_000, 40_000)]
    );
    let type_of = |task: usize| {
        let operator = trace.tasks.operator()[task].unwrap();
        trace.strings.get(trace.operators.op_type()[operator.index()])
    };
    assert_eq!((type_of(1), type_of(2)), ("Conv", "Relu"));
    assert_eq!(
        losses(&trace),
        ["1 dropped: an end without a beginning", "1 dropped: a beginning without an end"]
    );
}

#[test]
fn what_an_id_ties_together_is_a_range() {
    let text = r#"[
      {"ph":"b","cat":"net","id":"0x1","name":"request","pid":1,"tid":1,"ts":1},
      {"ph":"b","cat":"net","id":"0x2","name":"request","pid":1,"tid":1,"ts":2},
      {"ph":"n","cat":"net","id":"0x1","name":"redirect","pid":1,"tid":1,"ts":3},
      {"ph":"e","cat":"net","id":"0x1","name":"request","pid":1,"tid":2,"ts":4},
      {"ph":"e","cat":"net","id":"0x2","name":"request","pid":1,"tid":1,"ts":8},
      {"ph":"S","cat":"old","id":3,"name":"a","pid":1,"tid":1,"ts":10},
      {"ph":"F","cat":"old","id":3,"name":"b","pid":1,"tid":1,"ts":11},
      {"ph":"F","cat":"old","id":3,"name":"a","pid":1,"tid":1,"ts":12}
    ]"#;
    let trace = read(text.as_bytes()).unwrap();
    let ranges: Vec<_> = (trace.ranges.iter())
        .map(|(_, row)| (trace.strings.get(row.name), row.kind, row.start.0, row.duration.0))
        .collect();
    assert_eq!(
        ranges,
        [
            ("request", RangeKind::StartStop, 1_000, 3_000),
            ("request", RangeKind::StartStop, 2_000, 6_000),
            ("a", RangeKind::StartStop, 10_000, 2_000),
            ("redirect", RangeKind::Mark, 3_000, 0),
        ]
    );
    assert_eq!(losses(&trace), ["1 dropped: an end without a beginning"]);
}

#[test]
fn arrows_tell_launches_where_no_numbers_do() {
    let text = |arrows: &str| {
        format!(
            r#"[
      {{"ph":"X","cat":"x_runtime","name":"around","pid":1,"tid":1,"ts":0,"dur":100}},
      {{"ph":"X","cat":"x_runtime","name":"launch","pid":1,"tid":1,"ts":10,"dur":5}},
      {{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":1,"ts":40,"dur":5}},
      {{"ph":"X","cat":"kernel","name":"next","pid":0,"tid":1,"ts":50,"dur":5}},
      {arrows}]"#
        )
    };
    let launches = |arrows: &str| {
        let trace = read(text(arrows).as_bytes()).unwrap();
        let name = |call: &Option<ApiCallId>| {
            call.map(|call| trace.strings.get(trace.api_calls.name()[call.index()]).to_owned())
        };
        (trace.tasks.launched_by().iter().map(name).collect::<Vec<_>>(), losses(&trace).len())
    };
    let call = |name: &str| Some(name.to_owned());
    // The innermost slice around the beginning, and the one around the end.
    let arrow = r#"{"ph":"f","cat":"c","id":1,"bp":"e","pid":0,"tid":1,"ts":42}, {"ph":"s","cat":"c","id":"1","pid":1,"tid":1,"ts":12}"#;
    assert_eq!(launches(arrow), (vec![call("launch"), None], 0));
    let arrow = r#"{"ph":"s","cat":"c","id":1,"pid":1,"tid":1,"ts":20}, {"ph":"f","cat":"c","id":1,"pid":0,"tid":1,"ts":42}"#;
    assert_eq!(launches(arrow), (vec![None, call("around")], 0));
    // Another category is another arrow; an id may be used again.
    let arrow = r#"{"ph":"s","cat":"c","id":1,"pid":1,"tid":1,"ts":12}, {"ph":"f","cat":"d","id":1,"bp":"e","pid":0,"tid":1,"ts":42}"#;
    assert_eq!(launches(arrow), (vec![None, None], 1));
    let arrow = r#"{"ph":"s","cat":"c","id":1,"pid":1,"tid":1,"ts":12}, {"ph":"s","cat":"c","id":1,"pid":1,"tid":1,"ts":45},
        {"ph":"f","cat":"c","id":1,"bp":"e","pid":0,"tid":1,"ts":42}, {"ph":"f","cat":"c","id":1,"bp":"e","pid":0,"tid":1,"ts":52}"#;
    assert_eq!(launches(arrow), (vec![call("launch"), call("around")], 0));
}

#[test]
fn collectives_that_differ_in_their_launches_only_are_one_operator() {
    let kernel = |start: u32, group: &str| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "nccl", "pid": 0, "tid": 20, "ts": {start}, "dur": 4, "args":
            {{"Collective name": "allreduce", "External id": {start}, "In msg nelems": 10, "Process Group Name": "{group}",
            "correlation": {start}, "dtype": "Float"}}}}"#
        )
    };
    let events = [kernel(10, "tp"), kernel(20, "dp"), kernel(30, "tp")].join(",");
    let trace = read(format!("[{events}]").as_bytes()).unwrap();
    let operators: Vec<_> = trace.tasks.operator().iter().map(|operator| operator.unwrap().index()).collect();
    assert_eq!(operators, [0, 1, 0]);
}

#[test]
fn a_kernel_of_nccl_is_the_collective_that_it_tells() {
    let text = r#"{
      "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4, "pg_config": [{"pg_name": "7"}]},
      "traceEvents": [
      {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(x)", "pid": 0, "tid": 20, "ts": 90.5,
       "dur": 4.000, "args": {"External id": 9, "device": 0, "stream": 20, "correlation": 11,
       "Collective name": "_allgather_base", "In msg nelems": 10, "Out msg nelems": 40, "Group size": 4,
       "dtype": "BFloat16", "In split size": "[]", "Process Group Name": "7",
       "Process Group Description": "mesh_tp", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": 12}},
      {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 5, "tid": 5, "ts": 80, "dur": 1,
       "args": {"External id": 9}}
      ]}"#;
    let trace = read(text.as_bytes()).unwrap();
    let task = trace.tasks.get(TaskId::from_index(0));
    assert_eq!((task.unit, task.number), (ExecutionUnit::Communication, Some(12)));
    let operator = trace.operators.get(task.operator.unwrap());
    let text = |id| trace.strings.get(id);
    assert_eq!(text(operator.op_type), "_allgather_base");
    assert_eq!((operator.bytes_read, operator.bytes_written), (Some(20), Some(80)));
    assert_eq!(
        operator.attributes.map(text),
        Some(
            r#"{"Group size":4,"Process Group Name":"7","Process Group Description":"mesh_tp","Process Group Ranks":"[0, 1, 2, 3]"}"#
        )
    );
    let remark =
        |name: &str| trace.run.remarks.iter().find(|(key, _)| key == name).map(|(_, it)| it.as_str());
    assert_eq!(remark("distributedInfo.rank"), Some("3"));
    assert_eq!(remark("distributedInfo.pg_config"), Some(r#"[{"pg_name": "7"}]"#));
    assert_eq!(losses(&trace), [] as [&str; 0]);
}

#[test]
fn memory_marks_of_old_versions_tell_who_took_memory_and_no_more() {
    let memory = |ts: u32, bytes: i32| {
        format!(
            r#"{{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": {ts},
                "args": {{"Device Type": 0, "Device Id": -1, "Bytes": {bytes}}}}}"#
        )
    };
    let operator =
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 1, "ts": 5, "dur": 90}"#;
    let kernel =
        r#"{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 9, "args": {}}"#;
    let events = [operator.to_owned(), kernel.to_owned(), memory(10, 64), memory(20, 16), memory(30, -64)];
    let trace =
        read(format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(",")).as_bytes()).unwrap();
    assert_eq!(losses(&trace), [] as [&str; 0]);
    let figures: Vec<_> = (trace.figures.iter())
        .map(|(_, row)| (trace.strings.get(row.subject), trace.strings.get(row.name), row.value))
        .collect();
    // Without addresses it isn't known what the negative number gave back.
    assert_eq!(figures, [("aten::empty", "taken", 80.0), ("aten::empty", "allocations", 2.0)]);
    assert_eq!(trace.figures.topic()[0], FigureTopic::TakenMemory, "a sum is no peak");
}

#[test]
fn the_span_of_the_profilers_own_recording_is_no_range_of_the_program() {
    let span = |category: &str, name: &str, pid: &str| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": 1, "ts": 5, "dur": 90}}"#
        )
    };
    let events = [
        span("cpu_op", "aten::mm", "1"),
        span("user_annotation", "mine", "1"),
        span("Trace", "PyTorch Profiler (0)", r#""Spans""#),
    ];
    let text = format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(","));
    let trace = read(text.as_bytes()).unwrap();
    let names: Vec<_> = trace.ranges.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!((names, losses(&trace)), (vec!["mine"], vec![]));
}

/// Four kernels whose number of the launch is also that of an operator: that in which it lies, one before it, and one
/// that nobody has; the fourth isn't tied to a launch.
fn kernels(external: [u32; 4]) -> String {
    let span = |name: &str, category: &str, ts: u32, dur: u32, more: &str| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {ts}, "dur": {dur}, "args": {{{more}}}}}"#
        )
    };
    let operator = |name, ts, dur, id: u32| span(name, "cpu_op", ts, dur, &format!(r#""External id": {id}"#));
    let launch =
        |ts, id: u32| span("cudaLaunchKernel", "cuda_runtime", ts, 2, &format!(r#""correlation": {id}"#));
    let kernel = |ts, link: u32, external: u32| {
        let more = format!(r#""correlation": {link}, "External id": {external}, "device": 0, "stream": 7"#);
        span("gemm", "kernel", ts, 10, &more)
    };
    let events = [
        operator("aten::empty_strided", 10, 5, 21),
        operator("aten::to", 20, 60, 1),
        operator("aten::copy_", 30, 20, 2),
        launch(35, 20),
        launch(40, 21),
        operator("aten::mul", 60, 10, 3),
        launch(65, 22),
        kernel(100, 20, external[0]),
        kernel(110, 21, external[1]),
        kernel(120, 22, external[2]),
        kernel(130, 99, external[3]),
    ];
    format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(","))
}

#[test]
fn kernels_are_of_an_operator_only_where_they_were_launched_within_it() {
    let operators = |external| {
        let trace = read(kernels(external).as_bytes()).unwrap();
        let name = |operator: Option<_>| {
            operator.map(|id| trace.strings.get(trace.operators.get(id).name).to_owned()).unwrap_or_default()
        };
        trace.tasks.operator().iter().map(|operator| name(*operator)).collect::<Vec<_>>()
    };
    // As profilers mean it.
    assert_eq!(operators([2, 2, 3, 3]), ["aten::copy_", "aten::copy_", "aten::mul", "aten::mul"]);
    // Numbers of launches: the second is another operator's, and so may be the fourth, of which nothing is known.
    assert_eq!(operators([20, 21, 22, 21]), ["aten::copy_", "aten::copy_", "aten::mul", ""]);
}
