//! Databases that are built by the public schema.

use opscope_trace::*;
use rusqlite::Connection;

use super::{bytes_look_like, looks_like, read_file};
use crate::reading::Stop;

/// Process 12, thread 13, as a global number of a machine's first processes.
const THREAD: i64 = (1 << 56) | (12 << 24) | 13;
const PROCESS: i64 = (1 << 56) | (12 << 24);

/// A database with these statements, as a file.
fn database(statements: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let database = Connection::open(file.path()).expect("SQLite");
    database.execute_batch(statements).expect(statements);
    drop(database);
    file
}

fn read(statements: &str) -> Trace {
    let file = database(statements);
    assert!(looks_like(file.path()));
    read_file(file.path(), &Stop::default()).expect("a profile")
}

fn losses(trace: &Trace) -> Vec<(LossKind, u64)> {
    trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect()
}

const TEXTS: &str = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'void gemm<float>(int)'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000'),
        (4, 'cudaMemcpyAsync_v3020'), (5, 'step'), (6, 'main'), (7, 'ncclAllReduce(int)');";

#[test]
fn kernels_copies_and_waits_are_tasks_that_calls_launched() {
    let trace = read(&format!(
        "{TEXTS}
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId INT,
            nameId INT, returnValue INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, 0, {THREAD}, 1, 3, 0),
            (120, 125, 0, {THREAD}, 2, 4, 0);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
            correlationId INT, globalPid INT, demangledName INT, shortName INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (200, 290, 0, 1, 7, 1, {PROCESS}, 1, 2),
            (300, 310, 0, 1, 7, 9, {PROCESS}, 7, NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, correlationId INT,
            globalPid INT, bytes INT, copyKind INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (400, 450, 0, 13, 2, {PROCESS}, 4096, 1);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, streamId INT,
            correlationId INT, globalPid INT, syncType INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (460, 470, 0, 13, 0, {PROCESS}, 3);
        CREATE TABLE TARGET_INFO_GPU (vmId INT, id INT, name TEXT, chipName TEXT);
        INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H100', 'GH100');
        CREATE TABLE ThreadNames (nameId INT, priority INT, globalTid INT);
        INSERT INTO ThreadNames VALUES (6, 0, {THREAD});
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '');"
    ));
    let name = |task: usize| trace.strings.get(trace.tasks.name()[task]);
    assert_eq!(
        [0, 1, 2, 3].map(name),
        ["void gemm<float>(int)", "ncclAllReduce(int)", "memcpy host to device", "wait for stream",]
    );
    assert_eq!(
        trace.tasks.unit(),
        [ExecutionUnit::Gpu, ExecutionUnit::Communication, ExecutionUnit::MemoryCopy, ExecutionUnit::Control,]
    );
    let call = |index| Some(ApiCallId::from_index(index));
    assert_eq!(trace.tasks.launched_by(), [call(0), None, call(1), None]);
    assert_eq!(trace.tasks.duration().iter().sum::<Nanoseconds>(), Nanoseconds(160));
    let kernel = trace.operators.get(trace.tasks.operator()[0].expect("an operator"));
    assert_eq!(trace.strings.get(kernel.op_type), "gemm");
    assert_eq!(trace.strings.get(trace.api_calls.name()[0]), "cudaLaunchKernel");
    let device = trace.devices.get(DeviceId::from_index(0));
    assert_eq!((trace.strings.get(device.name), device.kind), ("NVIDIA H100", DeviceKind::Gpu));
    let streams: Vec<_> = trace.streams.number().to_vec();
    assert_eq!(streams, [7, 13]);
    let thread = trace.threads.get(trace.api_calls.thread()[0].expect("a thread"));
    assert_eq!((thread.tid, trace.strings.get(thread.name)), (13, "main"));
    assert_eq!(trace.processes.pid(), [12]);
    assert_eq!(trace.clock.unix_zero, Some(1_700_000_000_000_000_000));
    assert_eq!(losses(&trace), [(LossKind::MissingLaunch, 1)]);
}

#[test]
fn lines_of_json_make_the_same_as_a_database() {
    let text = r#"{"data":["[unknown]","void gemm<float>(int)","gemm","cudaLaunchKernel_v7000","cudaStreamSynchronize_v3020"]}
{"Type":75,"NvtxEvent":{"Type":75,"Timestamp":"1","Text":"layers","GlobalTid":"72057594239254541","DomainId":"3"}}
{"Type":59,"NvtxEvent":{"Type":59,"Timestamp":"10","Text":"step","GlobalTid":"72057594239254541","EndTimestamp":"90","DomainId":"3","NsTime":true}}
{"Type":59,"NvtxEvent":{"Type":59,"Timestamp":"40","Text":"never ended","GlobalTid":"72057594239254541","DomainId":"0"}}
{"Type":48,"TraceProcessEvent":{"startNs":"20","endNs":"30","correlationId":745,"eventClass":27,"name":"3","globalTid":"72057594239254541"}}
{"Type":48,"TraceProcessEvent":{"startNs":"100","endNs":"110","correlationId":745,"eventClass":1,"name":"3","returnValue32":0,"globalTid":"72057594239254541"}}
{"Type":48,"TraceProcessEvent":{"startNs":"120","endNs":"320","correlationId":746,"eventClass":0,"name":"4","globalTid":"72057594239254541"}}
{"Type":79,"CudaEvent":{"startNs":"200","endNs":"290","correlationId":745,"deviceId":1,"contextId":"1","streamId":"7","eventClass":3,"globalPid":"72057594239254528","kernel":{"demangledName":"1","shortName":"2","gridX":"4"}}}
{"Type":80,"CudaEvent":{"startNs":"300","endNs":"310","correlationId":0,"deviceId":1,"contextId":"1","streamId":"7","eventClass":1,"globalPid":"72057594239254528","memcpy":{"sizebytes":"64","copyKind":"2"}}}
{"Type":106,"CudaEvent":{"startNs":"121","endNs":"319","correlationId":746,"deviceId":0,"contextId":"1","streamId":"7","eventClass":5,"globalPid":"72057594239254528","sync":{"eventId":1,"syncType":"SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE"}}}
{"Type":127,"CudaEvent":{"startNs":"0","endNs":"0","correlationId":1,"deviceId":1,"cudaEventRecord":{"eventId":1}}}
{"Type":49,"DiagnosticEvent":{"Text":"x"}}
{"Type":79,"CudaEvent":{"startNs":"200"
"#;
    assert!(super::lines_look_like(text.as_bytes()));
    let trace = super::read_lines(text.as_bytes(), &Stop::default()).expect("events");
    let name = |task: usize| trace.strings.get(trace.tasks.name()[task]);
    assert_eq!([0, 1, 2].map(name), ["void gemm<float>(int)", "memcpy device to host", "wait for stream"]);
    assert_eq!(
        trace.tasks.launched_by(),
        [Some(ApiCallId::from_index(1)), None, Some(ApiCallId::from_index(2)),]
    );
    // Calls of the operating system have numbers of their own.
    assert_eq!(trace.api_calls.level(), [ApiLevel::System, ApiLevel::Runtime, ApiLevel::Runtime]);
    // The record of a wait tells another device than that of its context.
    assert_eq!((trace.devices.number(), trace.streams.number()), (&[1][..], &[7][..]));
    assert_eq!(trace.strings.get(trace.api_calls.name()[0]), "cudaLaunchKernel");
    let range = trace.ranges.get(RangeId::from_index(0));
    let domain = range.domain.map(|domain| trace.strings.get(domain));
    assert_eq!((range.duration.0, domain, trace.ranges.len()), (80, Some("layers"), 1));
    assert_eq!(
        losses(&trace),
        [
            (LossKind::OpenRange, 1),
            (LossKind::PlacelessRecord, 1),
            (LossKind::PlacelessRecord, 1),
            (LossKind::UnreadableRecord, 1),
        ]
    );
    assert!(super::read_lines(b"{}", &Stop::default()).is_err() && !super::lines_look_like(b"{\"a\": 1}\n"));
}

#[test]
fn calls_in_lines_are_of_the_level_of_their_class() {
    let line = |(id, class): (usize, &str)| {
        format!(
            "{{\"Type\":48,\"TraceProcessEvent\":{{\"startNs\":\"{id}\",\"endNs\":\"{id}9\",\"correlationId\":{id}{class}}}}}\n"
        )
    };
    let classes = ["", "0", "1", "13", "26", "27", "31", "28", "29", "33", "36", "78"];
    let told = classes
        .map(|class| if class.is_empty() { String::new() } else { format!(",\"eventClass\":{class}") });
    let text: String = told.iter().enumerate().map(|(id, class)| line((id + 1, class))).collect();
    let trace = super::read_lines(text.as_bytes(), &Stop::default()).unwrap();
    let [cuda, system, libraries] = [ApiLevel::Runtime, ApiLevel::System, ApiLevel::Node];
    let expected = [&[cuda; 5][..], &[system; 2], &[libraries; 4], &[ApiLevel::Other]].concat();
    assert_eq!(trace.api_calls.level(), expected);
}

#[test]
fn ranges_have_their_text_their_domain_and_their_kind() {
    let trace = read(&format!(
        "{TEXTS}
        CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, category INT, text TEXT,
            globalTid INT, endGlobalTid INT, textId INT, domainId INT);
        INSERT INTO NVTX_EVENTS VALUES (1, NULL, 75, NULL, NULL, 'layers', {THREAD}, NULL, NULL, 3),
            (10, 90, 59, NULL, NULL, NULL, {THREAD}, NULL, 5, 3),
            (20, 60, 60, 1, NULL, 'batch', {THREAD}, {THREAD}, NULL, 0),
            (30, NULL, 34, NULL, NULL, 'here', {THREAD}, NULL, NULL, 0),
            (40, NULL, 59, NULL, NULL, 'never ended', {THREAD}, NULL, NULL, 0),
            (50, 45, 59, NULL, NULL, 'backwards', {THREAD}, NULL, NULL, 0),
            (5, NULL, 33, NULL, NULL, 'a category', {THREAD}, NULL, NULL, 0);"
    ));
    let rows: Vec<_> = (trace.ranges.iter())
        .map(|(_, row)| (trace.strings.get(row.name), row.kind, row.start.0, row.duration.0))
        .collect();
    assert_eq!(
        rows,
        [
            ("step", RangeKind::PushPop, 10, 80),
            ("batch", RangeKind::StartStop, 20, 40),
            ("here", RangeKind::Mark, 30, 0),
        ]
    );
    let domain = trace.ranges.domain()[0].map(|domain| trace.strings.get(domain));
    assert_eq!(domain, Some("layers"));
    let expected =
        [(LossKind::OpenRange, 1), (LossKind::RecordEndsBeforeStart, 1), (LossKind::PlacelessRecord, 1)];
    assert_eq!(losses(&trace), expected);
}

#[test]
fn samples_of_a_gpus_counters_have_their_names_and_units() {
    let trace = read(&format!(
        "{TEXTS} CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, nameId INT);
        CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INT, sourceId INT, typeName TEXT, metricId INT, metricName TEXT);
        INSERT INTO TARGET_INFO_GPU_METRICS VALUES (281474976710657, 0, 'x', 4, 'SMs Active [Throughput %]');
        CREATE TABLE GPU_METRICS (timestamp INT, typeId INT, metricId INT, value INT);
        INSERT INTO GPU_METRICS VALUES (10, 281474976710657, 4, 80), (20, 281474976710657, 4, 90),
            (NULL, 281474976710657, 4, 1), (30, 281474976710657, 4, 'x');"
    ));
    let counter = trace.counters.get(CounterId::from_index(0));
    assert_eq!((trace.strings.get(counter.name), trace.strings.get(counter.unit)), ("SMs Active", "%"));
    assert_eq!(trace.devices.get(counter.device.expect("a device")).number, 1);
    assert_eq!(trace.samples.value(), [80.0, 90.0]);
    assert_eq!(losses(&trace), [(LossKind::RecordWithoutTime, 1), (LossKind::MeasureNoNumber, 1)]);
}

#[test]
fn what_lacks_columns_texts_or_times_is_counted_and_the_rest_kept() {
    let trace = read(&format!(
        "{TEXTS}
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, streamId INT, shortName INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 5, 7, 99), (2, NULL, 7, 2), (9, 3, 7, 2), ('x', 4, 7, 2),
            (-9223372036854775808, 9223372036854775807, 7, 2);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (timestamp INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1);
        CREATE TABLE SCHED_EVENTS (start INT, cpu INT);
        INSERT INTO SCHED_EVENTS VALUES (1, 2), (3, 4);
        CREATE TABLE DIAGNOSTIC_EVENT (timestamp INT, severity INT, text TEXT);
        INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 'fine'), (2, 2, 'events were dropped');"
    ));
    assert_eq!(trace.tasks.len(), 1);
    let expected = [
        (LossKind::NotedByProfiler, 1),
        (LossKind::RecordWithoutTime, 3),
        (LossKind::RecordEndsBeforeStart, 1),
        (LossKind::TableWithoutColumns, 1),
        (LossKind::PlacelessRecord, 2),
        (LossKind::UnnamedRecord, 1),
    ];
    assert_eq!(losses(&trace), expected);
}

#[test]
fn copies_of_unified_memory_have_their_direction() {
    let trace = read(&format!(
        "{TEXTS} CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, copyKind INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 7, 11), (3, 4, 0, 7, 12), (5, 6, 0, 7, 13), (7, 8, 0, 7, 99);"
    ));
    let names: Vec<_> = trace.tasks.name().iter().map(|name| trace.strings.get(*name)).collect();
    let [to_device, to_host, between] = ["host to device", "device to host", "device to device"]
        .map(|it| format!("memcpy {it} (unified memory)"));
    assert_eq!(names, [&to_device, &to_host, &between, "memcpy"]);
}

#[test]
fn an_export_without_events_is_one_of_nsight_systems() {
    let empty = database(
        "CREATE TABLE StringIds (id INT, value TEXT); CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
         CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT);
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '');",
    );
    assert!(looks_like(empty.path()));
    let trace = read_file(empty.path(), &Stop::default()).expect("an export");
    assert_eq!((trace.tasks.len(), trace.clock.unix_zero), (0, Some(1_700_000_000_000_000_000)));
}

#[test]
fn other_databases_are_none_and_one_that_is_cut_off_says_so() {
    let none = database("CREATE TABLE StringIds (id INT, value TEXT); CREATE TABLE x (start INT);");
    assert!(!looks_like(none.path()) && read_file(none.path(), &Stop::default()).is_err());
    let rows: String = (0..5_000).map(|n| format!("({n}, {n} + 1, 7, 2),")).collect();
    let whole = database(&format!(
        "{TEXTS} CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, streamId INT, shortName INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {};",
        rows.trim_end_matches(',')
    ));
    let bytes = std::fs::read(whole.path()).expect("a file");
    assert!(bytes_look_like(&bytes));
    let cut = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(cut.path(), &bytes[..bytes.len() / 2]).expect("space on disk");
    let trace = read_file(cut.path(), &Stop::default()).expect("a part of it");
    assert!(trace.tasks.len() < 5_000);
    let kinds: Vec<_> = losses(&trace).into_iter().map(|(kind, _)| kind).collect();
    assert!(kinds.contains(&LossKind::CutProfile), "{kinds:?}");
}

/// Kernels of two processes, each of which calls its GPU 0 and its stream 7.
const TWO_PROCESSES: &str =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
        correlationId INT, globalPid INT, shortName INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 800, 0, 1, 7, 1, 1000 << 24, 2),
        (100, 600, 0, 1, 7, 1, 1001 << 24, 5);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, contextId INT,
        streamId INT, correlationId INT, globalPid INT, syncType INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (610, 620, 5, 1, 7, 0, 1001 << 24, 3);
    CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100'), (1, 'NVIDIA H100');";

#[test]
fn a_gpu_that_two_processes_number_alike_is_that_of_each_process() {
    let trace = read(&format!(
        "{TEXTS} {TWO_PROCESSES}
        CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT);
        INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 1000), (0, 0, 1001);"
    ));
    let device_of = |task: usize| {
        let stream = trace.streams.get(trace.tasks.stream()[task].expect("a stream"));
        assert_eq!((stream.number, trace.strings.get(stream.name)), (7, ""));
        let device = trace.devices.get(stream.device);
        (device.number, trace.strings.get(device.name))
    };
    assert_eq!([0, 1, 2].map(device_of), [(1, "NVIDIA H100"), (0, "NVIDIA A100"), (0, "NVIDIA A100")]);
}

#[test]
fn gpus_of_different_chips_are_no_chip_of_the_run() {
    let chip = |rows: &str| {
        read(&format!(
            "{TEXTS} CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, nameId INT);
            CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, chipName TEXT); INSERT INTO TARGET_INFO_GPU VALUES {rows};"
        ))
        .run
        .chip
    };
    let a100 = "(0, 'NVIDIA A100', 'GA100')";
    assert_eq!(chip(&format!("{a100}, (1, 'NVIDIA A100', 'GA100')")).as_deref(), Some("GA100"));
    assert_eq!(chip(&format!("{a100}, (1, 'NVIDIA H100', 'GH100')")), None);
}

#[test]
fn streams_of_two_processes_on_one_gpu_are_two() {
    let trace = read(&format!("{TEXTS} {TWO_PROCESSES}"));
    assert_eq!(trace.devices.number(), [0]);
    let streams: Vec<_> =
        trace.streams.iter().map(|(_, row)| (row.number, trace.strings.get(row.name))).collect();
    assert_eq!(streams, [(7, "stream 7 of process 1000"), (7, "stream 7 of process 1001")]);
    let of_tasks: Vec<_> = trace.tasks.stream().iter().flatten().map(|stream| stream.index()).collect();
    assert_eq!(of_tasks, [0, 1, 1]);
}

#[test]
fn streams_of_two_processes_in_lines_of_json_are_two() {
    let kernel = |process: u64| {
        format!(
            r#"{{"CudaEvent":{{"startNs":"0","endNs":"9","deviceId":0,"contextId":"1","streamId":"7","globalPid":"{}","kernel":{{"shortName":"0"}}}}}}"#,
            process << 24
        )
    };
    let text = format!("{{\"data\":[\"gemm\"]}}\n{}\n{}\n", kernel(12), kernel(13));
    let trace = super::read_lines(text.as_bytes(), &Stop::default()).expect("events");
    assert_eq!((trace.tasks.len(), trace.streams.len(), trace.devices.len()), (2, 2, 1));
}

#[test]
fn a_graph_traced_as_a_whole_is_a_task_of_its_launch() {
    let trace = read(&format!(
        "{TEXTS}
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 10, {THREAD}, 50, 3);
        CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, contextId INT, streamId INT,
            correlationId INT, globalPid INT, graphId INT, graphExecId INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (20, 520, 0, 1, 7, 50, {PROCESS}, 4, 9),
            (600, 700, 0, 1, 7, 51, {PROCESS}, 4, 9), (800, 900, 0, 1, 7, 52, {PROCESS}, NULL, NULL);"
    ));
    let name = |task: usize| trace.strings.get(trace.tasks.name()[task]);
    assert_eq!([0, 1, 2].map(name), ["CUDA graph 4", "CUDA graph 4", "CUDA graph"]);
    assert_eq!(trace.tasks.duration(), [500, 100, 100].map(Nanoseconds));
    assert_eq!(trace.tasks.launched_by(), [Some(ApiCallId::from_index(0)), None, None]);
    assert!(trace.tasks.unit().iter().all(|unit| *unit == ExecutionUnit::Gpu));
    let types = trace.operators.op_type().iter().map(|text| trace.strings.get(*text));
    assert_eq!(types.collect::<Vec<_>>(), ["CUDA graph"; 2]);
}

/// The tasks of graphs beside a kernel, each with the name, and the kind and number of its device. `place` is process,
/// device, context and stream.
fn graphs(kernels: &[[i64; 4]], graphs: &[[i64; 4]]) -> Vec<(String, DeviceKind, u32)> {
    let columns =
        "start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT";
    let values = |start: usize, [process, device, context, stream]: [i64; 4]| {
        format!("{}, {}, {device}, {context}, {stream}, 0, {}", start * 10, start * 10 + 5, process << 24)
    };
    let mut statements = format!(
        "{TEXTS} CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns}, shortName INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE ({columns}, graphId INT);"
    );
    for (start, place) in kernels.iter().enumerate() {
        let row = values(start, *place);
        statements.push_str(&format!("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({row}, 1);"));
    }
    for (start, place) in graphs.iter().enumerate() {
        let row = values(100 + start, *place);
        statements.push_str(&format!("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES ({row}, 5);"));
    }
    let trace = read(&statements);
    let of_graph = |(_, task): (TaskId, Task)| {
        let device = trace.devices.get(trace.streams.get(task.stream?).device);
        Some((trace.strings.get(task.name).to_owned(), device.kind, device.number))
    };
    trace.tasks.iter().skip(kernels.len()).map(|task| of_graph(task).expect("a stream")).collect()
}

const ON_HOST: i64 = i32::MAX as i64;

#[test]
fn a_graph_that_begins_on_the_host_is_on_the_device_that_other_records_tell() {
    let name = || "CUDA graph 5".to_owned();
    let kernels = [[12, 2, 1, 7], [12, 3, 2, 8]];
    let gpu = |kernels: &[[i64; 4]], graph: [i64; 4]| {
        let (found, kind, number) = graphs(kernels, &[graph]).remove(0);
        assert_eq!((found, kind), (name(), DeviceKind::Gpu));
        number
    };
    assert_eq!(gpu(&kernels, [12, ON_HOST, 2, 7]), 3, "of its context");
    assert_eq!(gpu(&kernels, [12, ON_HOST, 9, 8]), 3, "of the stream");
    assert_eq!(gpu(&kernels[..1], [12, ON_HOST, 9, 9]), 2, "the only one of the process");
    // A later graph may tell the context's.
    let both = graphs(&[], &[[12, ON_HOST, 1, 7], [12, 2, 1, 7]]);
    assert_eq!(both, [(name(), DeviceKind::Gpu, 2), (name(), DeviceKind::Gpu, 2)]);
}

#[test]
fn a_graph_of_which_nothing_tells_the_device_is_on_no_gpu_that_others_use() {
    let found = graphs(&[[12, 0, 1, 7], [12, 1, 2, 8]], &[[12, ON_HOST, 9, 9]]);
    assert_eq!(found, [("CUDA graph 5".to_owned(), DeviceKind::Other, 0)]);
}

#[test]
fn graphs_of_one_number_in_several_processes_are_told_apart() {
    let found = graphs(&[], &[[12, 0, 1, 7], [13, 0, 1, 7]]);
    let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["CUDA graph 5 of process 12", "CUDA graph 5 of process 13"]);
}

#[test]
fn calls_of_mpi_have_their_names() {
    let tables = ["MPI_COLLECTIVES_EVENTS", "MPI_P2P_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS"];
    let statements = tables.map(|table| {
        format!(
            "CREATE TABLE {table} (start INT, end INT, globalTid INT, textId INT);
            INSERT INTO {table} VALUES (0, 800, {THREAD}, 7);"
        )
    });
    let trace = read(&format!("{TEXTS} {}", statements.concat()));
    let names: Vec<_> = trace.api_calls.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(names, ["ncclAllReduce(int)"; 4]);
    assert!(trace.api_calls.level().iter().all(|level| *level == ApiLevel::Communication));
    assert!(trace.losses.is_empty());
}

#[test]
fn a_range_in_lines_of_json_has_its_own_text_or_a_registered_one_or_is_counted() {
    let event = |text: &str| {
        format!(
            "{{\"Type\":59,\"NvtxEvent\":{{\"Timestamp\":\"1\",\"EndTimestamp\":\"9\",{text}\"DomainId\":\"0\"}}}}\n"
        )
    };
    let texts =
        [event("\"Text\":\"plain\","), event("\"TextId\":\"1\","), event("\"TextId\":\"7\","), event("")];
    let graph = "{\"CudaEvent\":{\"startNs\":\"1\",\"endNs\":\"2\",\"graphTrace\":{\"graphId\":1}}}\n";
    let text = format!("{{\"data\":[\"[unknown]\",\"registered\"]}}\n{}{graph}", texts.concat());
    let trace = super::read_lines(text.as_bytes(), &Stop::default()).expect("events");
    let names: Vec<_> = trace.ranges.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(names, ["plain", "registered", "", ""]);
    let lost: Vec<_> =
        trace.losses.iter().map(|(_, row)| (row.kind, row.count, trace.strings.get(row.detail))).collect();
    let expected =
        [(LossKind::PlacelessRecord, 1, "CudaEvent of a graph"), (LossKind::UnnamedRecord, 2, "data")];
    assert_eq!(lost, expected);
}
