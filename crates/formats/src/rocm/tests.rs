//! Tables as rocprofv3's documentation shows them.

use opscope_trace::*;
use proptest::prelude::*;

use super::{is_folder, is_json, looks_like, read, read_folder, read_json};
use crate::reading::Stop;

const KERNELS: &str = r#""Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","Private_Segment_Size"
"KERNEL_DISPATCH","Agent 2",1,3,21,1,11,"void add<float>(float*, int)",7,1000,1500,0
"KERNEL_DISPATCH","Agent 2",1,3,21,2,14,"sub(float*, int)",9,2000,2300,0
"KERNEL_DISPATCH","Agent 2",2,4,21,3,11,"void add<float>(float*, int)",11,2500,2600,0
"#;

const CALLS: &str = r#""Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HIP_RUNTIME_API","hipLaunchKernel",717,718,7,900,910
"HIP_RUNTIME_API","hipLaunchKernel",717,718,9,1900,1910
"HIP_RUNTIME_API","hipMemcpyAsync",717,718,20,2900,2950
"#;

const MARKERS: &str = r#""Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MARKER_CORE_API","here",717,718,1,800,800
"MARKER_CORE_API","step",717,718,2,850,2960
"MARKER_CORE_API","batch",717,0,3,860,2970
"#;

const COPIES: &str = r#""Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",3,"Agent 0","Agent 2",20,2960,3060
"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_HOST",3,"Agent 2","Agent 0",99,3070,3060
"#;

const AGENTS: &str = r#""Node_Id","Agent_Type","Name","Product_Name"
0,"CPU","cpu","EPYC"
2,"GPU","gfx942","AMD Instinct MI300X"
"#;

const COUNTERS: &str = r#""Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Kernel_Name","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
7,1,"Agent 2",1,"void add<float>(float*, int)","SQ_WAVES",16384.000000,1000,1500
7,1,"Agent 2",1,"void add<float>(float*, int)","GRBM_COUNT",5,1000,1500
9,2,"Agent 2",1,"sub(float*, int)","SQ_WAVES",x,2000,2300
"#;

const TOTALS: &str = r#""Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"
"void add<float>(float*, int)",2,600,300.000000,66.6,100,500,2.0e+02
"sub(float*, int)",1,300,300.000000,33.3,300,300,0.0
"#;

fn read_text(text: &str) -> Trace {
    assert!(looks_like(text.as_bytes()));
    read(text.as_bytes(), &Stop::default()).unwrap()
}

fn losses(trace: &Trace) -> Vec<(LossKind, u64)> {
    trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect()
}

#[test]
fn the_tables_of_a_folder_are_one_run() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("42_kernel_trace.csv", KERNELS),
        ("42_hip_api_trace.csv", CALLS),
        ("42_marker_api_trace.csv", MARKERS),
        ("42_memory_copy_trace.csv", COPIES),
        ("42_agent_info.csv", AGENTS),
        ("42_counter_collection.csv", COUNTERS),
        ("notes.csv", "a,b\n1,2\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert!(is_folder(folder.path()));
    let trace = read_folder(folder.path(), &Stop::default()).unwrap();
    let name = |task: usize| trace.strings.get(trace.tasks.name()[task]);
    assert_eq!(
        [0, 1, 2, 3].map(name),
        [
            "void add<float>(float*, int)",
            "sub(float*, int)",
            "void add<float>(float*, int)",
            "memory copy host to device",
        ]
    );
    let call = |index| Some(ApiCallId::from_index(index));
    assert_eq!(trace.tasks.launched_by(), [call(0), call(1), None, call(2)]);
    assert_eq!(trace.tasks.duration().iter().sum::<Nanoseconds>(), Nanoseconds(1_000));
    assert_eq!(trace.operators.len(), 2);
    let device = trace.devices.get(DeviceId::from_index(0));
    assert_eq!((device.number, trace.strings.get(device.name)), (2, "AMD Instinct MI300X"));
    assert_eq!((trace.devices.len(), trace.streams.number()), (1, &[3, 4][..]));
    let kinds = [RangeKind::Mark, RangeKind::PushPop, RangeKind::StartStop];
    assert_eq!(trace.ranges.kind(), kinds);
    let reading = trace.readings_of(ReadingId::from_index(0)).map(|(_, value)| value);
    assert_eq!((trace.readings.len(), reading.collect::<Vec<_>>()), (1, vec![16_384.0, 5.0]));
    let expected = [
        (LossKind::FileNotUnderstood, 1),
        (LossKind::RecordEndsBeforeStart, 1),
        (LossKind::MeasureNoNumber, 1),
        (LossKind::MissingLaunch, 1),
    ];
    assert_eq!(losses(&trace), expected);
}

fn read_files(files: &[(&str, &str)]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert!(is_folder(folder.path()));
    read_folder(folder.path(), &Stop::default()).unwrap()
}

/// The streams of tasks, each as its device's number and its own name.
fn streams(trace: &Trace) -> Vec<(u32, &str)> {
    let stream = |id: &Option<StreamId>| {
        let row = trace.streams.get(id.unwrap());
        (trace.devices.get(row.device).number, trace.strings.get(row.name))
    };
    trace.tasks.stream().iter().map(stream).collect()
}

/// A table of kernels with these rows of agent, queue, stream, start and end.
fn kernels(rows: &[(&str, u32, u32, u32, u32)]) -> String {
    let mut text =
        r#""Kind","Agent_Id","Queue_Id","Stream_Id","Kernel_Name","Start_Timestamp","End_Timestamp"
"#
        .to_owned();
    for (agent, queue, stream, start, end) in rows {
        text += &format!("\"KERNEL_DISPATCH\",\"{agent}\",{queue},{stream},\"gemm\",{start},{end}\n");
    }
    text
}

#[test]
fn streams_of_two_processes_on_one_gpu_are_two() {
    let trace = read_files(&[
        ("11_kernel_trace.csv", &kernels(&[("Agent 2", 1, 0, 0, 800)])),
        ("12_kernel_trace.csv", &kernels(&[("Agent 2", 1, 0, 100, 600)])),
    ]);
    assert_eq!(streams(&trace), [(2, "stream 0 of process 11"), (2, "stream 0 of process 12")]);
    assert_eq!((trace.devices.len(), trace.streams.number()), (1, &[0, 0][..]));
}

#[test]
fn queues_that_share_a_stream_are_streams_of_their_own() {
    let rows = [("Agent 4", 1, 0, 1000, 2000), ("Agent 4", 2, 0, 1100, 1900), ("Agent 4", 5, 3, 0, 1)];
    let trace = read_text(&kernels(&rows));
    assert_eq!(streams(&trace), [(4, "stream 0, queue 1"), (4, "stream 0, queue 2"), (4, "")]);
    assert_eq!(trace.streams.number(), [0, 0, 3]);
}

#[test]
fn agents_are_told_apart_however_they_are_numbered() {
    let names = |agents: [&str; 3], list: &str| {
        let rows = agents.map(|agent| (agent, 1, 0, 0, 10));
        let trace = read_files(&[("1_kernel_trace.csv", &kernels(&rows)), ("1_agent_info.csv", list)]);
        let device = |(_, row): (_, Device)| (row.kind, row.number, trace.strings.get(row.name).to_owned());
        trace.devices.iter().map(device).collect::<Vec<_>>()
    };
    const LIST: &str = r#""Node_Id","Logical_Node_Id","Agent_Type","Name"
0,0,"CPU","host"
3,1,"GPU","first"
7,2,"GPU","second"
"#;
    let gpu = |number, name: &str| (DeviceKind::Gpu, number, name.to_owned());
    let host = (DeviceKind::Cpu, 0, "host".to_owned());
    let relative = names(["Agent 0", "Agent 1", "Agent 2"], LIST);
    assert_eq!(relative, [host.clone(), gpu(1, "first"), gpu(2, "second")]);
    let absolute = names(["Agent 0", "Agent 3", "Agent 7"], LIST);
    assert_eq!(absolute, [host.clone(), gpu(3, "first"), gpu(7, "second")]);
    let by_kind = names(["CPU 0", "GPU 0", "GPU 1"], LIST);
    assert_eq!(by_kind, [host, gpu(0, "first"), gpu(1, "second")]);
    let none = |number, name: &str| (DeviceKind::Other, number, name.to_owned());
    assert_eq!(names(["GPU 1", "", "NIC 0"], LIST), [gpu(1, "second"), none(0, ""), none(1, "NIC 0")]);
}

#[test]
fn gpus_of_different_names_are_no_chip_of_the_run() {
    let chip = |second: &str| {
        let list = format!("{AGENTS}3,\"GPU\",\"gfx\",\"{second}\"\n");
        let rows = kernels(&[("Agent 2", 1, 0, 0, 10)]);
        read_files(&[("1_kernel_trace.csv", &rows), ("1_agent_info.csv", &list)]).run.chip
    };
    assert_eq!(chip("AMD Instinct MI300X").as_deref(), Some("AMD Instinct MI300X"));
    assert_eq!(chip("AMD Radeon Graphics"), None);
}

#[test]
fn counters_without_times_belong_to_the_kernels_of_the_other_table() {
    // The layouts of ROCm 6.2, where a kernel is known by the number of its call alone.
    const TRACE: &str = r#""Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"
"KERNEL_DISPATCH",4,1,15,"divide(float*)",1,100,200
"#;
    const COUNTED: &str = r#""Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Kernel_Name","Counter_Name","Counter_Value"
1,1,4,1,36499,"divide(float*)","SQ_WAVES",16384
2,2,4,1,36499,"divide(float*)","SQ_WAVES",16384
"#;
    let trace = read_files(&[("42_kernel_trace.csv", TRACE), ("42_counter_collection.csv", COUNTED)]);
    assert_eq!((trace.tasks.len(), trace.readings.len()), (1, 1));
    let lost: Vec<_> =
        trace.losses.iter().map(|(_, row)| (row.kind, trace.strings.get(row.detail))).collect();
    assert!(lost.contains(&(LossKind::RecordWithoutTime, "42_counter_collection.csv")), "{lost:?}");
    let alone = read_files(&[("42_counter_collection.csv", COUNTED)]);
    assert_eq!((alone.tasks.len(), alone.readings.len(), losses(&alone)), (2, 2, vec![]));
    assert_eq!(alone.run.layer_times, TimeBasis::Untold);
    assert_eq!(read_text(COUNTED).tasks.duration(), [Nanoseconds::ZERO; 2]);
    let several = format!("{COUNTED}2,2,4,1,36499,\"divide(float*)\",\"SQ_BUSY\",7\n");
    let several = read_text(&several);
    assert_eq!((several.tasks.len(), several.readings.len(), several.metrics.len()), (2, 2, 2));
}

#[test]
fn sums_of_calls_are_known_without_the_name_of_their_file() {
    let table = |name: &str| {
        format!(
            "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\"\n\"{name}\",2,300,150\n\"hipMalloc\",1,9,9\n"
        )
    };
    let topic = |name| read_text(&table(name)).figures.topic()[0];
    assert_eq!(topic("__hipPushCallConfiguration"), FigureTopic::HostCall);
    assert_eq!(topic("hipKernel(float*)"), FigureTopic::OperatorType);
}

#[test]
fn sums_of_domains_are_no_types_of_operators() {
    let table = "\"Name\",\"Calls\",\"TotalDurationNs\"\n\"HIP_API\",2,300\n\"KERNEL_DISPATCH\",1,9\n";
    assert_eq!(read_text(table).figures.topic()[0], FigureTopic::Domain);
    let of_folder = read_files(&[("42_kernel_trace.csv", KERNELS), ("42_domain_stats.csv", table)]);
    assert_eq!(of_folder.figures.topic()[0], FigureTopic::Domain);
}

#[test]
fn a_table_alone_has_what_it_says_and_sums_are_figures() {
    assert_eq!(read_text(KERNELS).tasks.len(), 3);
    assert_eq!(read_text(CALLS).api_calls.len(), 3);
    let trace = read_text(COUNTERS);
    assert_eq!((trace.tasks.len(), trace.readings.len()), (2, 1));
    let totals = read_text(TOTALS);
    assert!(totals.tasks.is_empty());
    let sum = |name: &str| -> f64 {
        let rows = totals.figures.iter().filter(|(_, row)| totals.strings.get(row.name) == name);
        rows.map(|(_, row)| row.value).sum()
    };
    assert_eq!((sum("total"), sum("count")), (900.0, 3.0));
    assert!(!looks_like(AGENTS.as_bytes()) && !looks_like(b"Name,Duration\n") && !looks_like(b""));
}

#[test]
fn rows_that_are_short_or_have_no_times_are_counted() {
    let text =
        format!("{KERNELS}\"KERNEL_DISPATCH\",2,1\n{}", KERNELS.lines().nth(1).unwrap().replace("1000", "x"));
    let trace = read_text(&text);
    assert_eq!(trace.tasks.len(), 3);
    let expected =
        [(LossKind::UnreadableRecord, 1), (LossKind::RecordWithoutTime, 1), (LossKind::OpenLastLine, 1)];
    assert_eq!(losses(&trace), expected);
}

const JSON: &str = r#"{"rocprofiler-sdk-tool": [{
"metadata": {"pid": 717, "node": {"id": 1}},
"agents": [{"size": 1, "id": {"handle": 100}, "type": 1, "node_id": 0, "name": "cpu"},
    {"size": 1, "id": {"handle": 200}, "type": 2, "node_id": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"}],
"counters": [],
"strings": {"callback_records": [], "buffer_records": [
    {"kind": "NONE", "operations": []},
    {"kind": "HIP_RUNTIME_API", "operations": ["hipInit", "hipLaunchKernel", "hipMemcpyAsync"]},
    {"kind": "KERNEL_DISPATCH", "operations": ["NONE"]},
    {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
    {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA", "roctxRangeStartA",
        "roctxProcessRangeA"]}],
  "marker_api": [{"key": 3, "value": "step"}, {"key": 4, "value": "batch"}, {"key": 5, "value": "epoch"}]},
"kernel_symbols": [{"kernel_id": 0, "formatted_kernel_name": ""},
    {"kernel_id": 11, "kernel_name": "_Z3add.kd", "formatted_kernel_name": "add(float*, int)"}],
"buffer_records": {
  "kernel_dispatch": [{"kind": 2, "operation": 0, "thread_id": 718, "correlation_id": {"internal": 7, "external": 0},
    "start_timestamp": 1000, "end_timestamp": 1500, "dispatch_info": {"agent_id": {"handle": 200},
    "queue_id": {"handle": 1}, "kernel_id": 11, "dispatch_id": 1, "grid_size": {"x": 1}}, "stream_id": {"handle": 3}}],
  "hip_api": [{"kind": 1, "operation": 1, "thread_id": 718, "correlation_id": {"internal": 7}, "start_timestamp": 900,
    "end_timestamp": 910}, {"kind": 1, "operation": 9, "thread_id": 718, "correlation_id": {"internal": 8},
    "start_timestamp": 950, "end_timestamp": 940}],
  "memory_copy": [{"kind": 3, "operation": 1, "correlation_id": {"internal": 20}, "start_timestamp": 2000,
    "end_timestamp": 2100, "src_agent_id": {"handle": 100}, "dst_agent_id": {"handle": 200}}],
  "marker_api": [{"kind": 4, "operation": 1, "thread_id": 718, "correlation_id": {"internal": 3},
    "start_timestamp": 850, "end_timestamp": 2200}, {"kind": 4, "operation": 2, "thread_id": 718,
    "correlation_id": {"internal": 4}, "start_timestamp": 860, "end_timestamp": 2300}, {"kind": 4, "operation": 3,
    "thread_id": 718, "correlation_id": {"internal": 5}, "start_timestamp": 870, "end_timestamp": 2400}],
  "scratch_memory": [{"kind": 9}, {"kind": 9}]}}]}"#;

#[test]
fn json_makes_the_same_rows_as_tables() {
    assert!(is_json(JSON.as_bytes()) && is_json(&JSON.as_bytes()[..60]) && !is_json(b"{\"a\": 1}"));
    let trace = read_json(JSON.as_bytes(), &Stop::default()).unwrap();
    let name = |task: usize| trace.strings.get(trace.tasks.name()[task]);
    assert_eq!([0, 1].map(name), ["add(float*, int)", "memory copy host to device"]);
    assert_eq!(trace.tasks.launched_by(), [Some(ApiCallId::from_index(0)), None]);
    assert_eq!(trace.strings.get(trace.api_calls.name()[0]), "hipLaunchKernel");
    let device = trace.devices.get(DeviceId::from_index(0));
    assert_eq!((trace.devices.len(), device.number), (1, 2));
    assert_eq!(trace.strings.get(device.name), "AMD Instinct MI300X");
    let ranges: Vec<_> =
        trace.ranges.iter().map(|(_, row)| (trace.strings.get(row.name), row.kind, row.duration.0)).collect();
    let [batch, epoch] =
        [("batch", 1_440), ("epoch", 1_530)].map(|(name, long)| (name, RangeKind::StartStop, long));
    assert_eq!(ranges, [("step", RangeKind::PushPop, 1_350), batch, epoch]);
    assert_eq!((trace.processes.pid(), trace.threads.tid()), (&[717][..], &[718][..]));
    assert_eq!(
        losses(&trace),
        [(LossKind::RecordEndsBeforeStart, 1), (LossKind::PlacelessRecord, 2), (LossKind::MissingLaunch, 1),]
    );
    // Another process has agents, queues and streams of the same numbers.
    let process = JSON.find("[{").unwrap() + 1..JSON.len() - 2;
    let both = format!(
        "{{\"rocprofiler-sdk-tool\": [{0}, {1}]}}",
        &JSON[process.clone()],
        JSON[process].replace("717", "9")
    );
    let both = read_json(both.as_bytes(), &Stop::default()).unwrap();
    let names =
        [(2, "stream 3 of process 717"), (2, "stream 0 of process 717"), (2, "stream 3 of process 9")];
    assert_eq!(streams(&both)[..3], names);
    // Records before the damage are kept.
    let cut = &JSON.as_bytes()[..JSON.find("\"memory_copy\"").unwrap() + 30];
    let trace = read_json(cut, &Stop::default()).unwrap();
    assert_eq!((trace.tasks.len(), trace.api_calls.len()), (1, 1));
    assert!(losses(&trace).contains(&(LossKind::CutProfile, 1)));
    for length in 0..JSON.len() {
        let _ = read_json(&JSON.as_bytes()[..length], &Stop::default());
    }
    assert!(read_json(b"{}", &Stop::default()).is_err());
}

/// [`JSON`] with what hardware counted of two kernels, the first of which was traced as well.
fn counted_json() -> String {
    let kernel = |dispatch: u32, begin: u32, values: &str| {
        format!(
            r#"{{"thread_id": 718, "dispatch_data": {{"correlation_id": {{"internal": {}}}, "start_timestamp": {begin},
            "end_timestamp": {}, "dispatch_info": {{"agent_id": {{"handle": 200}}, "queue_id": {{"handle": 1}},
            "kernel_id": 11, "dispatch_id": {dispatch}}}}}, "records": [{values}]}}"#,
            dispatch + 6,
            begin + 500
        )
    };
    let value =
        |counter: u32, value: &str| format!(r#"{{"counter_id": {{"handle": {counter}}}, "value": {value}}}"#);
    // The waves of each of two shader engines, and a counter of which nothing tells the name.
    let first = [value(7, "24.5"), value(7, "40.0"), value(8, "3.0"), value(9, "1.0")].join(", ");
    let kernels = [kernel(1, 1000, &first), kernel(2, 3000, &value(7, "8.0"))].join(", ");
    let counters = r#""counters": [{"agent_id": {"handle": 200}, "id": {"handle": 7}, "name": "SQ_WAVES"},
        {"agent_id": {"handle": 200}, "id": {"handle": 8}, "name": "GRBM_COUNT"}], "callback_records": {
        "counter_collection": [KERNELS], "other": []}"#;
    JSON.replace(r#""counters": []"#, &counters.replace("KERNELS", &kernels))
}

#[test]
fn counters_in_json_are_of_the_kernels_that_they_tell() {
    let readings = |trace: &Trace| -> Vec<(usize, Vec<(String, f64)>)> {
        let of = |(id, task): (_, usize)| {
            let name = |metric| trace.strings.get(trace.metrics.get(metric).name).to_owned();
            let named = |(metric, value)| (name(metric), value);
            (task, trace.readings_of(id).map(named).collect())
        };
        trace.readings.iter().map(|(id, row)| (id, row.task.index())).map(of).collect()
    };
    let trace = read_json(counted_json().as_bytes(), &Stop::default()).unwrap();
    let first = vec![("GRBM_COUNT".to_owned(), 3.0), ("SQ_WAVES".to_owned(), 64.5)];
    assert_eq!(readings(&trace), [(0, first.clone()), (2, vec![("SQ_WAVES".to_owned(), 8.0)])]);
    // The second was counted alone.
    assert_eq!((trace.tasks.start()[2].0, trace.tasks.duration()[2].0), (3_000, 500));
    assert!(losses(&trace).contains(&(LossKind::PlacelessRecord, 1)));

    let alone = counted_json().replace("\"kernel_dispatch\"", "\"kernel_dispatches_of_nobody\"");
    let trace = read_json(alone.as_bytes(), &Stop::default()).unwrap();
    let name = |task: usize| trace.strings.get(trace.tasks.name()[task]);
    assert_eq!([1, 2].map(name), ["add(float*, int)"; 2]);
    assert_eq!(readings(&trace)[0], (1, first));

    // ROCm 6.2 tells no times of counted kernels.
    let untimed = alone.replace("\"start_timestamp\": 1000,", "").replace("\"start_timestamp\": 3000,", "");
    let untimed = untimed.replace("\"end_timestamp\": 1500,", "").replace("\"end_timestamp\": 3500,", "");
    let untimed = untimed.replace("\"memory_copy\"", "\"memory_copies_of_nobody\"");
    let trace = read_json(untimed.as_bytes(), &Stop::default()).unwrap();
    assert_eq!((trace.tasks.len(), readings(&trace).len()), (2, 2));
    assert_eq!(trace.run.layer_times, TimeBasis::Untold);
}

proptest! {
    #[test]
    fn any_text_is_read_to_an_end(cells in "[a-z0-9\",\\n]{0,80}", bytes: Vec<u8>) {
        for table in [KERNELS, CALLS, COPIES, COUNTERS, TOTALS] {
            let head = table.lines().next().unwrap();
            let _ = read(format!("{head}\n{cells}").as_bytes(), &Stop::default());
        }
        let _ = (looks_like(&bytes), read(&bytes, &Stop::default()));
    }
}

#[test]
fn counters_of_a_kernel_are_one_reading_in_whichever_order_their_rows_stand() {
    let row = |dispatch: u32, counter: &str, value: u32| {
        format!("{dispatch},{dispatch},\"Agent 2\",1,\"k\",\"{counter}\",{value},1000,1500\n")
    };
    let rows = ["A", "B", "C"].map(|counter| [row(1, counter, 5), row(2, counter, 6)].concat());
    let head = COUNTERS.lines().next().unwrap();
    let trace = read_text(&format!("{head}\n{}", rows.concat()));
    let readings: Vec<_> = (trace.readings.iter())
        .map(|(id, row)| {
            (row.task.index(), trace.readings_of(id).map(|(_, value)| value).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(readings, [(0, vec![5.0; 3]), (1, vec![6.0; 3])]);
}
