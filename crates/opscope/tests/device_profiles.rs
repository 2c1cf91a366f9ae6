//! Profiles of the profilers of processors and systems: files that Python builds by their public schemas, with its
//! own SQLite and protocol buffers, and what the program says of them.

mod common;

use std::process::Command;

use common::Place;
use opscope_testing::companions;
use serde_json::Value;

/// The only row of an answer in SQL about a profile.
fn row(place: &Place, profile: &str, question: &str) -> Value {
    place.done(&["sql", profile, "--json", question]).json()["rows"][0].clone()
}

/// The kinds of losses of a profile, with their counts.
fn losses(place: &Place, profile: &str) -> Vec<(String, u64)> {
    let answer = place.done(&["info", profile, "--json"]).json();
    let rows = answer["losses"].as_array().expect("a list of losses").iter();
    rows.map(|row| {
        let kind = row["kind"].as_str().expect("a kind").to_owned();
        (kind, row["count"].as_u64().expect("a count"))
    })
    .collect()
}

/// Runs a script of Python's in the place.
fn python(place: &Place, module: &str, script: &str) -> bool {
    let Some(python) = companions::python_with(module) else { return false };
    let file = place.write("build.py", script);
    let output = Command::new(python).arg(file).current_dir(place.path("")).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// Every command that asks one profile answers about it.
fn is_answered(place: &Place, profile: &str) {
    for command in ["info", "show", "analyze"] {
        let answer = place.done(&[command, profile]);
        assert!(!answer.stdout.is_empty(), "{command}");
        place.done(&[command, profile, "--json"]).json();
    }
    place.done(&["compare", profile, profile]);
    place.done(&["report", profile, "-o", "report.html"]);
    place.done(&["import", profile, "--db", "again.db", "--quiet"]);
    let count = "SELECT (SELECT count(*) FROM tasks) tasks, (SELECT count(*) FROM api_calls) calls, \
                 (SELECT sum(duration_ns) FROM tasks) time";
    assert_eq!(row(place, profile, count), row(place, "again.db", count));
}

/// 1,000 launches of two kernels with a copy each, below ranges that nest.
const NSIGHT: &str = r#"
import sqlite3
d = sqlite3.connect("report.sqlite")
d.executescript("""
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId INT,
    nameId INT, returnValue INT, callchainId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
    correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, blockX INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT, streamId INT,
    correlationId INT, globalPid INT, bytes INT, copyKind INT);
CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, category INT, text TEXT, globalTid INT,
    endGlobalTid INT, textId INT, domainId INT);
CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, chipName TEXT);
CREATE TABLE SCHED_EVENTS (start INT, cpu INT, isSchedIn INT, globalTid INT);
""")
names = ["void gemm<float>(int)", "gemm", "void relu<float>(int)", "relu", "cudaLaunchKernel_v7000",
         "cudaMemcpyAsync_v3020"]
d.executemany("INSERT INTO StringIds VALUES (?, ?)", list(enumerate(names)))
process = (5 << 24) | (1 << 56)
thread = process | 6
for n in range(1000):
    t = n * 10000
    d.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, NULL, ?, ?, NULL, NULL, 0)", (t, t + 9000, f"step", thread))
    for kind, (start, took) in enumerate([(100, 50), (200, 40)]):
        number = n * 3 + kind + 1
        d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 4, 0, NULL)",
                  (t + start, t + start + 20, thread, number))
        d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?, 1, 128)",
                  (t + start + 1000, t + start + 1000 + took, number, process, kind * 2, kind * 2 + 1))
    d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 5, 0, NULL)", (t + 400, t + 430, thread, n * 3 + 3))
    d.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, 8, ?, ?, 1024, 2)",
              (t + 2000, t + 2100, n * 3 + 3, process))
d.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA Test', 'TT100')")
d.execute("INSERT INTO SCHED_EVENTS VALUES (1, 2, 3, 4)")
d.commit()
"#;

#[test]
fn an_export_of_nsight_systems_has_its_kernels_copies_calls_ranges_and_launches() {
    let place = Place::new();
    if !python(&place, "sqlite3", NSIGHT) {
        return;
    }
    let profile = "report.sqlite";
    let text = place.done(&["info", profile]).stdout;
    assert!(text.contains("a profile of Nsight Systems") && text.contains("NVIDIA Test"), "{text}");
    let by_unit = "SELECT sum(unit = 'gpu') kernels, sum(unit = 'memory-copy') copies, sum(duration_ns) time, \
                   sum(launched_by_id IS NOT NULL) launched FROM tasks";
    let expected = serde_json::json!({"kernels": 2000, "copies": 1000, "time": 190_000, "launched": 3000});
    assert_eq!(row(&place, profile, by_unit), expected);
    let calls = "SELECT count(*) calls, sum(duration_ns) time FROM api_calls";
    assert_eq!(row(&place, profile, calls), serde_json::json!({"calls": 3000, "time": 70_000}));
    let ranges = "SELECT count(*) ranges, sum(duration_ns) time FROM ranges";
    assert_eq!(row(&place, profile, ranges), serde_json::json!({"ranges": 1000, "time": 9_000_000}));
    let analyzed = place.done(&["analyze", profile]).stdout;
    assert!(analyzed.contains("gemm") && analyzed.contains("relu"), "{analyzed}");
    assert_eq!(losses(&place, profile), [("placeless-record".to_owned(), 1)]);
    is_answered(&place, profile);
    // Lines of JSON tell the same.
    place.write(
        "report.jsonl",
        [
            r#"{"data":["[unknown]","void gemm<float>(int)","gemm","cudaLaunchKernel_v7000"]}"#,
            r#"{"Type":48,"TraceProcessEvent":{"startNs":"100","endNs":"110","correlationId":7,"name":"3","globalTid":"83886086"}}"#,
            r#"{"Type":79,"CudaEvent":{"startNs":"200","endNs":"290","correlationId":7,"deviceId":0,"streamId":"7","globalPid":"83886080","kernel":{"demangledName":"1","shortName":"2"}}}"#,
            r#"{"Type":59,"NvtxEvent":{"Timestamp":"10","Text":"step","GlobalTid":"83886086","EndTimestamp":"90"}}"#,
            "",
        ]
        .join("\n"),
    );
    let expected = serde_json::json!({"kernels": 1, "copies": 0, "time": 90, "launched": 1});
    assert_eq!(row(&place, "report.jsonl", by_unit), expected);
    assert_eq!(row(&place, "report.jsonl", ranges), serde_json::json!({"ranges": 1, "time": 80}));
    assert!(place.done(&["info", "report.jsonl"]).stdout.contains("lines of JSON"));
    // Another program's database stays one.
    python(
        &place,
        "sqlite3",
        "import sqlite3; sqlite3.connect('other.db').execute('CREATE TABLE StringIds (id, value)')",
    );
    place.fails(1, &["another program"], &["analyze", "other.db"]);
}

/// Two GPUs with 300 kernels and 100 copies each, which calls of CUDA launched; a step for every 100 kernels.
const SPACE: &str = r#"
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
f = descriptor_pb2.FileDescriptorProto(name="x.proto", package="x", syntax="proto3")
def message(name, *fields):
    m = f.message_type.add(name=name)
    for field, number, kind, repeated in fields:
        row = m.field.add(name=field, number=number, label=3 if repeated else 1)
        types = {"int": 3, "uint": 4, "double": 1, "text": 9, "bytes": 12}
        row.type = types.get(kind, 11)
        if kind not in types:
            row.type_name = ".x." + kind
message("Stat", ("metadata_id", 1, "int", 0), ("double_value", 2, "double", 0), ("uint64_value", 3, "uint", 0),
        ("int64_value", 4, "int", 0), ("str_value", 5, "text", 0), ("bytes_value", 6, "bytes", 0), ("ref_value", 7, "uint", 0))
message("StatMetadata", ("id", 1, "int", 0), ("name", 2, "text", 0))
message("EventMetadata", ("id", 1, "int", 0), ("name", 2, "text", 0), ("display_name", 4, "text", 0), ("stats", 5, "Stat", 1))
message("Events", ("key", 1, "int", 0), ("value", 2, "EventMetadata", 0))
message("Stats", ("key", 1, "int", 0), ("value", 2, "StatMetadata", 0))
message("Event", ("metadata_id", 1, "int", 0), ("offset_ps", 2, "int", 0), ("duration_ps", 3, "int", 0), ("stats", 4, "Stat", 1))
message("Line", ("id", 1, "int", 0), ("name", 2, "text", 0), ("timestamp_ns", 3, "int", 0), ("events", 4, "Event", 1))
message("Plane", ("id", 1, "int", 0), ("name", 2, "text", 0), ("lines", 3, "Line", 1), ("event_metadata", 4, "Events", 1),
        ("stat_metadata", 5, "Stats", 1))
message("Space", ("planes", 1, "Plane", 1), ("errors", 2, "text", 1), ("hostnames", 4, "text", 1))
pool = descriptor_pool.DescriptorPool()
pool.Add(f)
space = message_factory.GetMessageClass(pool.FindMessageTypeByName("x.Space"))()
begin = 1_700_000_000_000_000_000
host = space.planes.add(id=9, name="/host:CUPTI")
thread = host.lines.add(id=77, name="python/77", timestamp_ns=begin)
def named(plane, events, stats):
    for number, name in enumerate(events, 1):
        row = plane.event_metadata.add(key=number)
        row.value.id, row.value.name = number, name
    for number, name in enumerate(stats, 1):
        row = plane.stat_metadata.add(key=number)
        row.value.id, row.value.name = number, name
named(host, ["cuLaunchKernel", "cuMemcpyAsync"], ["correlation_id"])
correlation = 0
for gpu in range(2):
    plane = space.planes.add(id=gpu, name=f"/device:GPU:{gpu}")
    named(plane, ["gemm_kernel", "MemcpyD2H", "0", "1", "2"], ["correlation_id", "hlo_op", "dot.7"])
    compute = plane.lines.add(id=13, name="Stream #13(Compute)", timestamp_ns=begin)
    copies = plane.lines.add(id=14, name="Stream #14(MemcpyD2H)", timestamp_ns=begin)
    steps = plane.lines.add(id=99, name="Steps", timestamp_ns=begin)
    for n in range(400):
        correlation += 1
        line, kind = (copies, 2) if n % 4 == 3 else (compute, 1)
        event = line.events.add(metadata_id=kind, offset_ps=n * 10_000_000 + 5_000_000, duration_ps=2_000_000)
        event.stats.add(metadata_id=1, uint64_value=correlation)
        if kind == 1:
            event.stats.add(metadata_id=2, ref_value=3)
        call = thread.events.add(metadata_id=kind, offset_ps=n * 10_000_000 + gpu * 2_000_000, duration_ps=1_000_000)
        call.stats.add(metadata_id=1, uint64_value=correlation)
    for n in range(3):
        steps.events.add(metadata_id=3 + n, offset_ps=n * 1_330_000_000, duration_ps=1_330_000_000)
space.hostnames.append("machine")
space.errors.append("a buffer was full")
import os
os.makedirs("run", exist_ok=True)
open("run/host.xplane.pb", "wb").write(space.SerializeToString())
open("run/host.trace.json.gz", "wb").write(b"")
"#;

#[test]
fn a_profile_of_jax_has_its_kernels_operators_calls_launches_and_steps() {
    let place = Place::new();
    if !python(&place, "google.protobuf", SPACE) {
        return;
    }
    let profile = "run/host.xplane.pb";
    let by_unit = "SELECT sum(unit = 'gpu') kernels, sum(unit = 'memory-copy') copies, sum(duration_ns) time, \
                   sum(launched_by_id IS NOT NULL) launched FROM tasks";
    let expected = serde_json::json!({"kernels": 600, "copies": 200, "time": 1_600_000, "launched": 800});
    assert_eq!(row(&place, profile, by_unit), expected);
    let calls = "SELECT count(*) calls, sum(duration_ns) time FROM api_calls";
    assert_eq!(row(&place, profile, calls), serde_json::json!({"calls": 800, "time": 800_000}));
    let operators = "SELECT count(DISTINCT text) names, min(text) name FROM operators \
                     JOIN strings ON strings.id = name_id";
    assert_eq!(row(&place, profile, operators), serde_json::json!({"names": 1, "name": "dot.7"}));
    // Both devices tell of the same three steps, which count once.
    let lost = [("noted-by-profiler".to_owned(), 1), ("repeated-slice".to_owned(), 3)];
    assert_eq!(losses(&place, profile), lost);
    let steps = "SELECT count(*) steps FROM iterations";
    assert_eq!(row(&place, profile, steps), serde_json::json!({"steps": 3}));
    is_answered(&place, profile);
    // The folder of the run is the same profile; the timeline beside it is named and left out.
    let answer = place.done(&["analyze", "run"]);
    assert!(answer.stdout.contains("dot.7"), "{}", answer.stdout);
    assert_eq!(row(&place, "run", by_unit), expected);
    let text = format!("{}{}", answer.stdout, answer.stderr);
    assert!(text.contains("host.trace.json.gz tells of the same run"), "{text}");
    std::fs::copy(place.path(profile), place.path("run/other.xplane.pb")).expect("a copy");
    place.fails(1, &["other.xplane.pb", "name one of them"], &["analyze", "run"]);
}

#[test]
fn the_tables_of_rocprofv3_are_read_alone_and_as_one_run() {
    let place = Place::new();
    std::fs::create_dir(place.path("rocm")).expect("a folder");
    let (mut kernels, mut calls, mut copies, mut marks) = (
        "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n".to_owned(),
        "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n".to_owned(),
        "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n".to_owned(),
        "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n".to_owned(),
    );
    for n in 0..500_u64 {
        let start = 2_414_192_765_353_337 + n * 10_000;
        let (number, name) = (n * 2 + 1, if n % 2 == 0 { "void gemm<float>(int, int)" } else { "relu" });
        kernels += &format!(
            "\"KERNEL_DISPATCH\",\"Agent 2\",1,3,9,{n},4,\"{name}\",{number},{},{}\n",
            start + 500,
            start + 900
        );
        calls += &format!("\"HIP_RUNTIME_API\",\"hipLaunchKernel\",8,9,{number},{start},{}\n", start + 20);
        calls += &format!(
            "\"HIP_RUNTIME_API\",\"hipMemcpyAsync\",8,9,{},{},{}\n",
            number + 1,
            start + 30,
            start + 60
        );
        copies += &format!(
            "\"MEMORY_COPY\",\"MEMORY_COPY_DEVICE_TO_HOST\",3,\"Agent 2\",\"Agent 0\",{},{},{}\n",
            number + 1,
            start + 1_000,
            start + 1_100
        );
        marks += &format!("\"MARKER_CORE_API\",\"step\",8,9,{},{start},{}\n", 5_000 + n, start + 9_000);
    }
    for (name, text) in [
        ("8_kernel_trace.csv", &kernels),
        ("8_hip_api_trace.csv", &calls),
        ("8_memory_copy_trace.csv", &copies),
        ("8_marker_api_trace.csv", &marks),
    ] {
        place.write(&format!("rocm/{name}"), text);
    }
    let sums = "SELECT sum(unit = 'gpu') kernels, sum(unit = 'memory-copy') copies, sum(duration_ns) time, \
                sum(launched_by_id IS NOT NULL) launched FROM tasks";
    let expected = serde_json::json!({"kernels": 500, "copies": 500, "time": 250_000, "launched": 1000});
    assert_eq!(row(&place, "rocm", sums), expected);
    let calls = "SELECT count(*) calls, sum(duration_ns) time FROM api_calls";
    assert_eq!(row(&place, "rocm", calls), serde_json::json!({"calls": 1000, "time": 25_000}));
    let ranges = "SELECT count(*) ranges, sum(duration_ns) time FROM ranges";
    assert_eq!(row(&place, "rocm", ranges), serde_json::json!({"ranges": 500, "time": 4_500_000}));
    assert_eq!(losses(&place, "rocm"), Vec::new());
    is_answered(&place, "rocm");
    // JSON of several processes, whose correlations are their own.
    let process = |pid: u32, start: u64| {
        serde_json::json!({
            "metadata": {"pid": pid},
            "agents": [{"id": {"handle": 9}, "type": 2, "node_id": 4, "name": "gfx942"}],
            "strings": {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel"]}]},
            "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "gemm"}],
            "buffer_records": {
                "hip_api": [{"kind": 0, "operation": 0, "thread_id": pid, "correlation_id": {"internal": 1},
                             "start_timestamp": start, "end_timestamp": start + 10}],
                "kernel_dispatch": [{"correlation_id": {"internal": 1}, "start_timestamp": start + 50,
                                     "end_timestamp": start + 150,
                                     "dispatch_info": {"agent_id": {"handle": 9}, "kernel_id": 1}}],
            },
        })
    };
    let json = serde_json::json!({"rocprofiler-sdk-tool": [process(70, 1_000), process(71, 1_020)]});
    place.write("results.json", json.to_string());
    let expected = serde_json::json!({"kernels": 2, "copies": 0, "time": 200, "launched": 2});
    assert_eq!(row(&place, "results.json", sums), expected);
    assert_eq!(losses(&place, "results.json"), Vec::new());
    is_answered(&place, "results.json");
    let alone = row(&place, "rocm/8_kernel_trace.csv", sums);
    assert_eq!((&alone["kernels"], &alone["time"]), (&Value::from(500), &Value::from(200_000)));
    place.write(
        "stats.csv",
        "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n\"gemm\",4,1000,250.0,100.0,1,500,2.0\n",
    );
    let text = place.done(&["analyze", "stats.csv"]).stdout;
    assert!(text.contains("gemm") && text.contains("250 ns"), "{text}");
}

#[test]
fn ranges_of_two_processes_that_name_no_thread_are_of_one_row_and_in_none() {
    let place = Place::new();
    std::fs::create_dir(place.path("run")).expect("a folder");
    for process in [11, 12] {
        let kernels = format!(
            "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n\
             \"KERNEL_DISPATCH\",\"Agent 4\",1,\"gemm\",{},{}\n",
            2_000 + process,
            3_000 + process
        );
        let markers = format!(
            "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\
             \"End_Timestamp\"\n\"MARKER_CORE_RANGE_API\",\"step\",{process},0,1,{},{}\n",
            1_000 + process,
            5_000 - process
        );
        place.write(&format!("run/{process}_kernel_trace.csv"), kernels);
        place.write(&format!("run/{process}_marker_api_trace.csv"), markers);
    }
    let answer = place.done(&["analyze", "run", "--json"]).json();
    let rows = answer["ranges"]["rows"].as_array().expect("ranges");
    let [row] = &rows[..] else { panic!("{rows:?}") };
    let told = ["count", "depth", "total_ns", "own_ns"].map(|name| row[name].as_u64());
    assert_eq!(told, [2, 0, 7_954, 7_954].map(Some));
}

/// How many functions there are, and how many samples were within themselves.
const SAMPLED: &str = "SELECT count(*) rows, sum(value) samples FROM figures JOIN strings ON strings.id = name_id \
                       WHERE text = 'itself'";

#[test]
fn samples_of_perf_are_a_table_of_functions() {
    let place = Place::new();
    let sample = "python 7 [003] 12.345678:  250000 cpu-clock:pppH:\n\t 7f3a gemm+0x1f (libblas.so)\n\t 55d0 main+0x10 (python)\n\n";
    place.write("script.txt", sample.repeat(300));
    let text = place.done(&["analyze", "script.txt"]).stdout;
    assert!(text.contains("gemm") && text.contains("libblas.so") && text.contains("300"), "{text}");
    assert_eq!(row(&place, "script.txt", SAMPLED), serde_json::json!({"rows": 2, "samples": 300.0}));
    place.write("folded.txt", "main;run;gemm 25\nmain;run 5\n");
    assert_eq!(row(&place, "folded.txt", SAMPLED), serde_json::json!({"rows": 3, "samples": 30.0}));
    for command in ["info", "show", "analyze"] {
        place.done(&[command, "folded.txt", "--json"]).json();
    }
    // No sample tells when it was.
    for file in ["script.txt", "folded.txt"] {
        for option in ["--trace", "--profile"] {
            place.fails(
                1,
                &["no timeline was written", "no times to draw"],
                &["import", file, option, "none"],
            );
        }
        assert!(!place.path("none").exists(), "{file}");
    }
}

#[test]
fn a_table_of_nsight_compute_has_its_kernels_and_what_hardware_counted() {
    let place = Place::new();
    let mut table = "==PROF== Connected to process 7\n\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\
        \"Context\",\"Stream\",\"Device\",\"dram__bytes.sum\",\"gpu__time_duration.sum\"\n\
        \"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"us\"\n"
        .to_owned();
    for n in 0..40 {
        table += &format!(
            "\"{n}\",\"7\",\"app\",\"host\",\"gemm(float *)\",\"1\",\"7\",\"0\",\"1,024\",\"2.5\"\n"
        );
    }
    place.write("ncu.csv", table);
    let sums = "SELECT count(*) kernels, sum(duration_ns) time FROM tasks";
    assert_eq!(row(&place, "ncu.csv", sums), serde_json::json!({"kernels": 40, "time": 100_000}));
    let text = place.done(&["analyze", "ncu.csv"]).stdout;
    assert!(text.contains("gemm(float *)"), "{text}");
    is_answered(&place, "ncu.csv");
    // Kernels that ran one by one have no times to draw.
    place.fails(1, &["no timeline was written"], &["import", "ncu.csv", "--trace", "no.pftrace"]);
    assert_eq!(losses(&place, "ncu.csv"), Vec::new());
}

#[test]
fn names_of_a_megabyte_are_kept_and_shown_shortened() {
    let place = Place::new();
    let name = format!("gemm_{}", "x".repeat(1 << 20));
    let event = |index: usize| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {}, "dur": 10}}"#,
            index * 20
        )
    };
    place.write("timeline.json", format!("{{\"traceEvents\": [{}, {}]}}", event(1), event(2)));
    place.done(&["import", "timeline.json", "--trace", "long.pftrace", "--quiet"]);
    place.write(
        "long.csv",
        format!(
            "\"Kind\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n\"KERNEL_DISPATCH\",\"{name}\",20,30\n\"KERNEL_DISPATCH\",\"{name}\",40,50\n"
        ),
    );
    place.write("long.txt", format!("main;run 1\nmain;{name} 2\n"));
    for profile in ["long.pftrace", "long.csv", "long.txt"] {
        let text = place.done(&["analyze", profile]).stdout;
        assert!(text.contains("gemm_xxx") && text.len() < 20_000, "{profile}: {} bytes", text.len());
    }
    for profile in ["long.pftrace", "long.csv"] {
        let kept = "SELECT count(*) tasks, max(length(text)) longest FROM tasks JOIN strings ON strings.id = name_id";
        assert_eq!(
            row(&place, profile, kept),
            serde_json::json!({"tasks": 2, "longest": name.len()}),
            "{profile}"
        );
    }
}

#[test]
fn folded_stacks_with_two_counts_are_those_of_two_profiles() {
    let place = Place::new();
    place.write("both.folded", "main;gemm 10 12\nmain;copy 5 9\n");
    let text = place.done(&["analyze", "both.folded"]).stdout;
    for told in ["first count", "second count", "gemm", "copy"] {
        assert!(text.contains(told), "{text}");
    }
    assert!(!text.contains("gemm 10"), "{text}");
    let info = place.done(&["info", "both.folded"]).stdout;
    assert!(info.contains("every line ends in two numbers"), "{info}");
    for told in ["itself 15 (folded stacks, first count)", "itself 21 (folded stacks, second count)"] {
        assert!(info.contains(told), "{info}");
    }
    place.write("one.folded", "main;worker 1 12\nmain;copy 9\n");
    assert_eq!(losses(&place, "one.folded"), [("number-behind-name".to_owned(), 1)]);
}

#[test]
fn programs_with_hexadecimal_names_are_no_functions_where_blank_lines_were_taken_out() {
    let place = Place::new();
    let sample = |program: &str| {
        format!("{program} 7 [003] 12.345678:  1000 cycles:\n\t 7f3a gemm+0x1f (libblas.so)\n")
    };
    place.write("dense.txt", [sample("dd"), sample("cc1"), sample("fade")].concat());
    assert_eq!(row(&place, "dense.txt", SAMPLED), serde_json::json!({"rows": 1, "samples": 3.0}));
    assert_eq!(losses(&place, "dense.txt"), Vec::new());
}

#[test]
fn a_library_that_was_replaced_while_it_ran_is_told_as_such() {
    let place = Place::new();
    let sample = "python 7 [003] 12.345678:  1000 cycles:\n\t 7f3a gemm+0x1f (/lib/libblas.so (deleted))\n\n";
    place.write("script.txt", sample);
    let text = place.done(&["analyze", "script.txt"]).stdout;
    assert!(text.contains("/lib/libblas.so (deleted)"), "{text}");
}

#[test]
fn a_text_of_perf_that_begins_with_its_records_is_read() {
    let place = Place::new();
    let record =
        "dd 7 [003] 12.345678: PERF_RECORD_MMAP2 7/7: [0x55d0(0x1000) @ 0 08:01 7 8]: r-xp /bin/dd\n";
    let sample = "dd 7 [003] 12.345678:  1000 cycles:\n\t 7f3a gemm+0x1f (libblas.so)\n\n";
    // More records than what tells the format of a file.
    place.write("script.txt", record.repeat(5_000) + sample + record + sample);
    assert_eq!(row(&place, "script.txt", SAMPLED), serde_json::json!({"rows": 1, "samples": 2.0}));
    assert_eq!(losses(&place, "script.txt"), Vec::new());
}

#[test]
fn samples_of_perf_without_stacks_and_heads_are_read() {
    let place = Place::new();
    place.write("places.txt", " ffffffff81a01234 copy\n     7f5a0c0012a0 gemm(int)\n".repeat(9));
    assert_eq!(row(&place, "places.txt", SAMPLED), serde_json::json!({"rows": 2, "samples": 18.0}));
    assert_eq!(losses(&place, "places.txt"), Vec::new());
}

#[test]
fn folded_stacks_with_fractions_are_added_up_with_them() {
    let place = Place::new();
    place.write("scaled.folded", "main;gemm 12.5\nmain;copy 2.25\nmain;gemm 1\n");
    assert_eq!(row(&place, "scaled.folded", SAMPLED), serde_json::json!({"rows": 3, "samples": 15.75}));
    let text = place.done(&["analyze", "scaled.folded"]).stdout;
    assert!(text.contains("13.500") && text.contains("2.250"), "{text}");
    assert_eq!(losses(&place, "scaled.folded"), Vec::new());
}

#[test]
fn samples_of_two_events_are_summed_apart() {
    let place = Place::new();
    let sample =
        |event: &str| format!("python 7 [003] 12.5:  1000 {event}:u:\n\t 7f3a gemm (libblas.so)\n\n");
    let text = sample("cycles").repeat(3) + &sample("cache-misses").repeat(2);
    place.write("script.txt", text);
    let info = place.done(&["info", "script.txt"]).stdout;
    for told in ["itself 3 (perf script, cycles:u)", "itself 2 (perf script, cache-misses:u)"] {
        assert!(info.contains(told), "{info}");
    }
}

#[test]
fn samples_that_perf_lost_are_told_and_those_without_an_event_read() {
    let place = Place::new();
    let lost = "python 7 [003] 12.345678: PERF_RECORD_LOST lost 12\n";
    let sample = "python  4712  1234.567890: \n\t    7f5a0c0012a0 gemm(int)\n\n";
    place.write("script.txt", sample.repeat(30) + lost + sample);
    assert_eq!(row(&place, "script.txt", SAMPLED), serde_json::json!({"rows": 1, "samples": 31.0}));
    assert_eq!(losses(&place, "script.txt"), [("dropped-by-profiler".to_owned(), 12)]);
}

#[test]
fn what_a_function_called_is_told_as_a_share_of_each_event() {
    let place = Place::new();
    let sample =
        |event: &str| format!("python 7 [003] 12.5:  1000 {event}:u:\n\t 7f3a gemm (libblas.so)\n\n");
    place.write("script.txt", sample("cycles").repeat(3) + &sample("misses").repeat(2));
    let arguments = ["analyze", "script.txt", "--below", "gemm"];
    let text = place.done(&arguments).stdout;
    assert!(text.contains("of each event: 3 of 3 (cycles:u), 2 of 2 (misses:u)"), "{text}");
    let chinese = place.done(&[&arguments[..], &["--lang", "zh"]].concat()).stdout;
    assert!(chinese.contains("按事件：") && !chinese.contains("of each event"), "{chinese}");
    // The counts of two profiles are shares of each, also where one has nothing.
    let asking = |file: &str, further: &[&str]| {
        let text = place.done(&[&["analyze", file, "--below", "run"], further].concat()).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    place.write("two.folded", "main;run;conv 100 50\nmain;run;pool 20 60\nmain;load 30 5\n");
    let text = asking("two.folded", &[]);
    for told in [
        "of each event: 120 of 150 (first count), 110 of 115 (second count); every line ends in two numbers",
        "first count 100 100 conv",
        "second count 60 60 pool",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let chinese = asking("two.folded", &["--lang", "zh"]);
    assert!(chinese.contains("按事件：120 of 150") && !chinese.contains("every line"), "{chinese}");
    place.write("one.folded", "main;run;conv 100 0\nmain;load 30 0\n");
    let text = asking("one.folded", &[]);
    assert!(text.contains("of each event: 100 of 130 (first count); every line"), "{text}");
}

#[test]
fn modules_of_several_devices_of_jax_lie_within_one_another_on_each() {
    use opscope_testing::protobuf::Message;
    let place = Place::new();
    let event = |kind: i64, offset: i64, duration: i64| {
        Message::new().int(1, kind).int(2, offset * 1_000_000).int(3, duration * 1_000_000)
    };
    // The second device begins 5 µs later.
    let plane = |number: i64| {
        let line = |name: &str, events: &[Message]| {
            let line = Message::new().int(1, 1).bytes(2, name).int(3, 5_000 * number);
            events.iter().fold(line, |line, event| line.message(4, event))
        };
        let lines =
            [line("XLA Modules", &[event(1, 0, 50), event(2, 10, 20)]), line("XLA Ops", &[event(3, 12, 10)])];
        let plane = Message::new().bytes(2, format!("/device:TPU:{number}"));
        let plane = lines.iter().fold(plane, |plane, line| plane.message(3, line));
        ["jit_train", "jit_inner", "fusion"].iter().zip(1..).fold(plane, |plane, (name, kind)| {
            let about = Message::new().int(1, kind).bytes(2, name);
            plane.message(4, &Message::new().int(1, kind).message(2, &about))
        })
    };
    let space = Message::new().message(1, &plane(0)).message(1, &plane(1));
    place.write("run.xplane.pb", space.0);
    // The same as the timeline that the profiler writes beside it, with a call of the host.
    let mut events = Vec::new();
    let name = |process: i64, thread: i64, kind: &str, name: &str| {
        format!(
            r#"{{"ph": "M", "pid": {process}, "tid": {thread}, "name": "{kind}_name", "args": {{"name": "{name}"}}}}"#
        )
    };
    let slice = |process: i64, thread: i64, name: &str, start: i64, duration: i64| {
        format!(
            r#"{{"ph": "X", "pid": {process}, "tid": {thread}, "name": "{name}", "ts": {start}, "dur": {duration}}}"#
        )
    };
    for number in 0..2 {
        let (process, begin) = (number + 1, 100 + 5 * number);
        events.extend([
            name(process, 0, "process", &format!("/device:TPU:{number}")),
            name(process, 1, "thread", "XLA Modules"),
            name(process, 2, "thread", "XLA Ops"),
            slice(process, 1, "jit_train", begin, 50),
            slice(process, 1, "jit_inner", begin + 10, 20),
            slice(process, 2, "fusion", begin + 12, 10),
        ]);
    }
    events.extend([name(701, 0, "process", "/host:CPU"), slice(701, 1, "run", 90, 5)]);
    place.write("run.trace.json", format!(r#"{{"traceEvents": [{}]}}"#, events.join(",")));
    for profile in ["run.xplane.pb", "run.trace.json"] {
        let answer = place.done(&["analyze", profile, "--json"]).json();
        let rows = answer["ranges"]["rows"].as_array().expect("ranges");
        let told: Vec<_> = rows
            .iter()
            .map(|row| {
                (row["name"].as_str(), row["depth"].as_u64(), row["count"].as_u64(), row["own_ns"].as_i64())
            })
            .collect();
        let of = |name, depth, own| (Some(name), Some(depth), Some(2), Some(own));
        assert_eq!(told, [of("jit_train", 0, 60_000), of("jit_inner", 1, 40_000)], "{profile}: {answer}");
    }
}
