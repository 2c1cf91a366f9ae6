//! Files of every kind, told apart and opened.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use opscope_cann::{SampleLayout, SampleMode, SampleOptions, write_sample};
use opscope_cann_raw::Chip;
use opscope_formats::sqlite;
use opscope_testing::companions::shared;
use opscope_trace::{LossKind, Nanoseconds, Task, Trace};
use proptest::prelude::*;

use super::formats::*;
use super::*;

mod others;
mod stopping;

/// The description of a `SavedModel`.
const SAVED_MODEL: &str = "a SavedModel of TensorFlow (freeze it into a graph, or convert it with 'python3 -m \
                           tf2onnx.convert --saved-model FOLDER --output model.onnx')";

/// The descriptions of what Keras and Python leave.
const HDF5: &str =
    "an HDF5 file, perhaps a model of Keras (convert it with tf2onnx, or save it as a frozen graph)";
const PICKLE: &str =
    "a Python pickle, perhaps a checkpoint of PyTorch (export the model with 'torch.onnx.export')";

/// The description of TensorFlow's graphs as text.
const GRAPH_TEXT: &str = "a graph of TensorFlow as text (write it with 'as_text=False'; opscope reads the binary .pb of a \
                          frozen graph)";

fn open(path: &Path) -> Result<Trace, OpenError> {
    Ok(Source::at(path)?.open(&())?.trace)
}

/// A folder with one file in it.
struct OneFile {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl OneFile {
    fn new(content: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The name is no help.
        let path = folder.path().join("file.bin");
        std::fs::write(&path, content).unwrap();
        Self { _folder: folder, path }
    }

    fn compressed(content: &[u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        Self::new(&encoder.finish().unwrap())
    }
}

const ONNX_RUNTIME: &[u8] = b"[\n{\"cat\" : \"Session\",\"pid\" :1,\"tid\" :1,\"dur\" :9,\"ts\" :2,\
    \"ph\" : \"X\",\"name\" :\"model_run\",\"args\" : {}}\n]\n";

const MEGENGINE: &[u8] = br#"{"graph_exec": {"operator": {"1": {"id": "1", "name": "conv", "type": "Convolution",
    "input": [], "output": [], "node_type": "operator", "extra": {}}}, "var": {}, "mem_chunk": {},
    "comp_seq": ["1"]}, "profiler": {"device": {"1": {"CompNode(\"cpu0:0\" from \"xpux:0\")":
    {"start": 0.001, "kern": 0.002, "end": 0.003}}}, "host": {}, "opr_footprint": {}, "opr_internal_pf": {}}}"#;

fn database() -> Vec<u8> {
    let mut trace = Trace::new();
    let name = trace.strings.intern("x");
    trace.tasks.push(Task::new(name, Nanoseconds(1), Nanoseconds(2)));
    let file = OneFile::new(b"");
    sqlite::write_file(&trace, &file.path).unwrap();
    std::fs::read(&file.path).unwrap()
}

fn other_database() -> Vec<u8> {
    let file = OneFile::new(b"");
    rusqlite::Connection::open(&file.path).unwrap().execute_batch("CREATE TABLE t(x)").unwrap();
    std::fs::read(&file.path).unwrap()
}

/// A database with one task, as msprof writes it.
fn ascend_database() -> Vec<u8> {
    let file = OneFile::new(b"");
    let tables = "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER); INSERT INTO TASK VALUES (5, 9);";
    rusqlite::Connection::open(&file.path).unwrap().execute_batch(tables).unwrap();
    std::fs::read(&file.path).unwrap()
}

const KERNELS: &[u8] = b"Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\n\
    0,conv1,Conv2D,AI_CORE,1700000000000000.5\t,12.5,0\n";

const TIMELINE: &[u8] =
    b"{\"traceEvents\": [{\"ph\":\"X\",\"name\":\"x\",\"cat\":\"kernel\",\"ts\":1,\"dur\":2,\"pid\":0,\"tid\":7}]}";

/// A step of two ranks, and of the stage that they are.
const STEPS_OF_RANKS: &[u8] = b"Step,Type,Index,Computing,Communication(Not Overlapped),Free\n\
    2,rank,0,75,146,69\n2,rank,1,76,151,67\n2,stage,\"(0, 1)\",76,151,69\n";

const COLLECTIVES_OF_RANKS: &[u8] =
    b"{\"p2p\": {\"step2\": {\"hcom_send__822_0@7\": {\"0\": {}}}}, \"(0, 1)\": {}}";

fn database_of_ranks() -> Vec<u8> {
    let file = OneFile::new(b"");
    let tables = "CREATE TABLE ClusterStepTraceTime (step TEXT, type TEXT, [index] TEXT, computing REAL)";
    rusqlite::Connection::open(&file.path).unwrap().execute_batch(tables).unwrap();
    std::fs::read(&file.path).unwrap()
}

#[test]
fn summaries_of_several_ranks_are_no_profile_and_the_command_for_them_is_named() {
    let place = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("cluster_step_trace_time.csv", STEPS_OF_RANKS.to_vec()),
        ("cluster_analysis.db", database_of_ranks()),
        ("cluster_communication.json", COLLECTIVES_OF_RANKS.to_vec()),
    ] {
        let results = place.path().join(name.replace('.', "_")).join("cluster_analysis_output");
        std::fs::create_dir_all(&results).unwrap();
        let path = results.join(name);
        std::fs::write(&path, content).unwrap();
        for path in [results.parent().unwrap(), &results, &path] {
            let error = open(path).unwrap_err().to_string();
            assert!(error.contains("several ranks") && error.contains("opscope cluster"), "{error}");
        }
        // Beside the profile of a rank they are none.
        std::fs::write(results.parent().unwrap().join("kernels.csv"), KERNELS).unwrap();
        assert_eq!(open(results.parent().unwrap()).unwrap().tasks.len(), 1, "{name}");
    }
}

#[test]
fn a_profile_whose_first_record_is_long_is_known() {
    let long = "a".repeat(400_000);
    let profile = format!(
        r#"[{{"count": 10}}, {{"name": "{long}", "timeMs": 10.0, "averageMs": 1.0, "percentage": 100}}]"#
    );
    let stacks = format!("main;{long} 5\nmain;x 3\n");
    for content in [&profile, &stacks] {
        open(&OneFile::new(content.as_bytes()).path).unwrap();
        open(&OneFile::compressed(content.as_bytes()).path).unwrap();
    }
    let whole = OneFile::new("a".repeat(300_000).as_bytes());
    let error = open(&whole.path).unwrap_err().to_string();
    assert!(error.contains("this is text, not a profile"), "{error}");
    let none = OneFile::new("a".repeat(20_000_000).as_bytes());
    let error = open(&none.path).unwrap_err().to_string();
    assert!(error.contains("whose first record is longer than opscope looks at"), "{error}");
}

#[test]
fn every_kind_is_known_by_its_content_compressed_or_not() {
    let mut timeline = Vec::new();
    opscope_formats::chrome::write(&Trace::new(), &mut timeline).unwrap();
    let cases: Vec<(Vec<u8>, Result<&Format, &str>)> = vec![
        (ONNX_RUNTIME.to_vec(), Ok(&onnxruntime::FORMAT)),
        (MEGENGINE.to_vec(), Ok(&megengine::FORMAT)),
        (database(), Ok(&opscope_database::FORMAT)),
        (other_database(), Ok(&other_database::FORMAT)),
        (ascend_database(), Ok(&ascend_database::FORMAT)),
        (KERNELS.to_vec(), Ok(&ascend_table::FORMAT)),
        (STEPS_OF_RANKS.to_vec(), Ok(&ascend_ranks::FORMAT)),
        (database_of_ranks(), Ok(&ascend_ranks::FORMAT)),
        (COLLECTIVES_OF_RANKS.to_vec(), Ok(&ascend_ranks::FORMAT)),
        (b"{\"collective\": [[0, 1]], \"p2p\": []}".to_vec(), Ok(&ascend_ranks::FORMAT)),
        (TIMELINE.to_vec(), Ok(&chrome::FORMAT)),
        (timeline, Ok(&chrome::FORMAT)),
        (b"[{\"ph\":\"X\",\"name\":\"model_run\",\"cat\":\"kernel\"}]".to_vec(), Ok(&chrome::FORMAT)),
        (b"[{\"name\":\"Sort\",\"cat\":\"Node\",\"ph\":\"B\"}]".to_vec(), Ok(&chrome::FORMAT)),
        (b"\x08\x08\x12\x01x\x3a\x03abc".to_vec(), Ok(&onnx_model::FORMAT)),
        (Vec::new(), Err("an empty file")),
        (b"{\"model\": 1, \"layers\": [{\"a\": 2}]}".to_vec(), Err("a JSON object with model, layers")),
        (b"[{\"a\": 1}, {\"a\": 2}]".to_vec(), Err("a JSON list with a")),
        (b"name,time\nconv,5\n".to_vec(), Err("text")),
        (b"PK\x03\x04rest".to_vec(), Err("a zip archive")),
        (b"\x08\x01\x12\x02\x0a\0".to_vec(), Err(SAVED_MODEL)),
        (b"saved_model_schema_version: 1\nmeta_graphs {\n".to_vec(), Err(SAVED_MODEL)),
        // A description of Core ML's, and behind it a neural network.
        (
            b"\x08\x01\x12\x02\x0a\0\xa2\x1f\0".to_vec(),
            Err("a file of an unknown kind that begins with the bytes 08 01 12 02 0a 00 a2 1f"),
        ),
        ([&b"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0\x04\0\x10\0"[..], &[0xff; 16]].concat(), Err(HDF5)),
        (b"\x93NUMPY\x01\0".to_vec(), Err("an array of NumPy")),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), Err("an image")),
        (b"GGUF\x03\0\0\0".to_vec(), Err("a GGUF file, which holds weights but no graph")),
        (b"\x80\x04\x95\x05".to_vec(), Err(PICKLE)),
        (b"node {\n  calculator: \"x\"\n}\n".to_vec(), Err("text")),
        (b"node {\n  name: \"x\"\n  op: \"Relu\"\n}\n".to_vec(), Err(GRAPH_TEXT)),
        (b"\0\x01\x02\xff".to_vec(), Err("a file of an unknown kind that begins with the bytes 00 01 02 ff")),
    ];
    for (content, kind) in cases {
        let source = Source::at(&OneFile::new(&content).path).unwrap();
        let packed = Source::at(&OneFile::compressed(&content).path).unwrap();
        assert_eq!(source.format(), kind.ok());
        assert_eq!(packed.format(), kind.ok());
        match kind {
            Ok(format) => assert_eq!([source.to_string(), packed.to_string()], [format.name; 2]),
            Err(text) => {
                assert_eq!(source.to_string(), text);
                assert_eq!(packed.to_string(), format!("{text}, compressed with gzip"));
            }
        }
    }
}

#[test]
fn a_folder_with_a_saved_model_is_told_to_be_frozen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("variables")).unwrap();
    std::fs::write(folder.path().join("saved_model.pb"), b"\x08\x01\x12\x02\x0a\0").unwrap();
    assert_eq!(Source::at(folder.path()).unwrap().to_string(), SAVED_MODEL);
    let refused = open(folder.path()).unwrap_err().to_string();
    assert!(refused.contains(SAVED_MODEL), "{refused}");
    // A raw directory that can't be used is the one that is meant.
    std::fs::create_dir_all(folder.path().join("PROF_1/device_0/data")).unwrap();
    let refused = open(folder.path()).unwrap_err().to_string();
    assert!(!refused.contains(SAVED_MODEL), "{refused}");
}

#[test]
fn no_two_formats_but_a_folder_and_the_one_above_it_have_one_name() {
    let names: std::collections::HashSet<&str> = ALL.iter().map(|format| format.name).collect();
    // Boards and single operators are known by a folder, and by one that it lies in; profiles of TensorRT,
    // of OpenVINO and of servers by a file, and by its folder.
    assert_eq!(names.len() + 5, ALL.len());
}

#[test]
fn whatever_holds_a_profile_opens_as_a_trace() {
    for content in [ONNX_RUNTIME, MEGENGINE, &database(), &ascend_database(), KERNELS, TIMELINE] {
        for file in [OneFile::new(content), OneFile::compressed(content)] {
            let trace = open(&file.path).unwrap();
            assert_eq!(trace.tasks.len().max(trace.iterations.len()), 1);
        }
    }
}

#[test]
fn a_time_that_can_not_be_is_a_counted_loss_in_every_format() {
    const YEAR: i64 = 366 * 24 * 3600 * 1_000_000_000;
    let replaced = |content: &[u8], from: &str, to: &str| {
        let text = std::str::from_utf8(content).unwrap();
        assert!(text.contains(from), "{text}");
        text.replace(from, to).into_bytes()
    };
    let mut trace = Trace::new();
    let name = trace.strings.intern("x");
    trace.tasks.push(Task::new(name, Nanoseconds(1), Nanoseconds(-40)));
    trace.tasks.push(Task::new(name, Nanoseconds(1), Nanoseconds(i64::MAX)));
    let file = OneFile::new(b"");
    sqlite::write_file(&trace, &file.path).unwrap();
    let negative = std::fs::read(&file.path).unwrap();
    let ascend = |sql: &str| {
        let file = OneFile::new(&ascend_database());
        rusqlite::Connection::open(&file.path).unwrap().execute_batch(sql).unwrap();
        std::fs::read(&file.path).unwrap()
    };
    let runs = |duration: &str| {
        let sound = std::str::from_utf8(ONNX_RUNTIME).unwrap();
        let event = sound.lines().nth(1).unwrap();
        format!("[\n{event},\n{}\n]\n", event.replace("\"dur\" :9", &format!("\"dur\" :{duration}")))
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("ONNX Runtime, negative", runs("-40").into_bytes()),
        ("ONNX Runtime, absurd", runs("9000000000000000000").into_bytes()),
        ("MegEngine, end before start", replaced(MEGENGINE, "\"end\": 0.003", "\"end\": 0.0001")),
        ("MegEngine, absurd", replaced(MEGENGINE, "\"end\": 0.003", "\"end\": 1e12")),
        ("opscope's own, negative and at the end of the range", negative),
        ("Ascend's database, end before start", ascend("INSERT INTO TASK VALUES (9, 5)")),
        ("Ascend's database, absurd", ascend("INSERT INTO TASK VALUES (5, 4000000000000000000)")),
        ("Ascend's table, negative", replaced(KERNELS, ",12.5,", ",-12.5,")),
        ("Ascend's table, no number", replaced(KERNELS, ",12.5,", ",nan,")),
        ("Ascend's table, absurd", replaced(KERNELS, ",12.5,", ",900000000000000,")),
        ("a timeline, negative", replaced(TIMELINE, "\"dur\":2", "\"dur\":-2")),
        ("a timeline, absurd", replaced(TIMELINE, "\"dur\":2", "\"dur\":900000000000000")),
        ("a timeline, out of range", replaced(TIMELINE, "\"ts\":1", "\"ts\":1e300")),
    ];
    for (what, content) in cases {
        let trace = open(&OneFile::new(&content).path).unwrap();
        let durations = trace.tasks.duration().iter().chain(trace.api_calls.duration());
        let durations: Vec<_> = durations.chain(trace.iterations.duration()).collect();
        assert!(durations.iter().all(|time| (0..=YEAR).contains(&time.0)), "{what}: {durations:?}");
        assert!(trace.losses.count().iter().sum::<u64>() >= 1, "{what}: nothing is counted");
    }
}

#[test]
fn a_folder_of_outputs_opens_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = folder.path().join("ASCEND_PROFILER_OUTPUT");
    std::fs::create_dir(&outputs).unwrap();
    assert_eq!(Source::at(folder.path()).unwrap().to_string(), "a folder");
    std::fs::write(outputs.join("kernel_details.csv"), KERNELS).unwrap();
    assert!(Source::at(folder.path()).unwrap().is(&ascend_outputs::FORMAT));
    assert_eq!(open(folder.path()).unwrap().tasks.len(), 1);
}

#[test]
fn a_folder_with_one_profile_is_that_profile_and_several_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    write("notes.txt", b"nothing of interest");
    write("timeline.json", TIMELINE);
    assert_eq!(
        open(folder.path()).unwrap().tasks.len(),
        open(&folder.path().join("timeline.json")).unwrap().tasks.len()
    );
    write("run.json", MEGENGINE);
    let refused = open(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("timeline.json") && refused.contains("run.json"), "{refused}");
}

#[test]
fn profiles_beside_the_one_that_a_folder_is_read_as_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    write(
        "profile.json",
        br#"[{"count": 10}, {"name": "conv1", "timeMs": 1.0, "averageMs": 0.1, "percentage": 100.0}]"#,
    );
    let others = |folder: &Path| {
        let opened = open(folder).unwrap();
        let others = opened.losses.iter().filter(|(_, loss)| loss.kind == LossKind::OtherProfile);
        others.map(|(_, loss)| opened.strings.get(loss.detail).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(others(folder.path()), [""; 0]);
    write("timeline.json", TIMELINE);
    let told = others(folder.path());
    assert!(told.len() == 1 && told[0].ends_with("timeline.json"), "{told:?}");
    let trace = open(folder.path()).unwrap();
    opscope_formats::sqlite::write_file(&trace, &folder.path().join("opscope.db")).unwrap();
    assert_eq!(others(folder.path()), told, "an import of the folder is no other profile");
    opscope_formats::sqlite::write_file(&trace, &folder.path().join("other.db")).unwrap();
    assert_eq!(others(folder.path()).len(), 2);
}

const REQUESTS: &[u8] = b"http_rid,start_time(ms),recv_token_size,reply_token_size,execution_time(ms),\
    queue_wait_time(ms),first_token_latency(ms)\n0,1000.0,128,32,500.0,10,50\n";

#[test]
fn counters_without_a_time_give_way_to_the_graph_of_their_run() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| std::fs::write(folder.path().join(name), content).unwrap();
    let counters = |name: &str| {
        format!(
            r#"{{"report_type": "average", "avg_performance": {{"nodes": [{{"name": "{name}",
                "node_type": "Parameter", "status": "Status.NOT_RUN", "real_time": "0.000",
                "cpu_time": "0.000", "exec_type": "unknown_I8"}}], "total_real_time": "0.000"}}}}"#
        )
    };
    write(
        "graph.xml",
        r#"<?xml version="1.0"?><net name="n" version="11"><layers>
            <layer id="0" name="x" type="Input"><data execOrder="0" execTimeMcs="not_executed"
                originalLayersNames="x" primitiveType="unknown" runtimePrecision="f32"/></layer>
            <layer id="1" name="conv" type="Convolution"><data execOrder="1" execTimeMcs="57"
                originalLayersNames="conv" primitiveType="jit" runtimePrecision="f32"/></layer>
            </layers><edges></edges></net>"#,
    );
    let read = |name: &str| {
        write("average.json", &counters(name));
        let opened = Source::at(&folder.path().join("average.json")).unwrap().open(&()).unwrap();
        let is_other = opened.trace.losses.iter().any(|(_, loss)| loss.kind == LossKind::OtherNetwork);
        (opened.trace.tasks.len(), opened.remarks.len(), is_other)
    };
    assert_eq!(read("x"), (1, 1, false));
    assert_eq!(read("y"), (0, 0, false), "the graph is none that has this node");
}

#[test]
fn what_precedes_the_damage_of_a_compressed_timeline_is_kept_and_the_rest_counted() {
    let event = |n: u64| {
        // Digits that can't be compressed away.
        let time = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_000_007;
        format!(
            "{{\"ph\":\"X\",\"name\":\"x\",\"cat\":\"kernel\",\"ts\":{time},\"dur\":2,\"pid\":0,\"tid\":7}}"
        )
    };
    let events: Vec<String> = (0..20_000).map(event).collect();
    let whole =
        std::fs::read(OneFile::compressed(format!("[{}]", events.join(",")).as_bytes()).path).unwrap();
    let file = OneFile::new(&whole[..whole.len() / 2]);
    let trace = open(&file.path).unwrap();
    assert!((5_000..15_000).contains(&trace.tasks.len()), "{}", trace.tasks.len());
    let reasons: Vec<_> = trace.losses.iter().map(|(_, loss)| trace.strings.get(loss.detail)).collect();
    assert!(reasons.contains(&"the compressed file is cut off"), "{reasons:?}");

    let whole = std::fs::read(OneFile::compressed(MEGENGINE).path).unwrap();
    let failed = open(&OneFile::new(&whole[..whole.len() - 60]).path).unwrap_err().to_string();
    assert!(failed.contains("cut off") && failed.contains("file.bin"), "{failed}");
}

#[test]
fn profiles_of_a_real_chip_give_the_figures_of_independent_queries() {
    let Some(folder) = shared("data/ascend-pytorch") else { return };
    let computing = |trace: &Trace| {
        let computes =
            |task: &Task| task.operator.is_some() && task.unit != opscope_trace::ExecutionUnit::Communication;
        let tasks = trace.tasks.iter().filter(|(_, task)| computes(task));
        let times: Vec<i64> = tasks.map(|(_, task)| task.duration.0).collect();
        (times.len(), times.iter().sum::<i64>())
    };
    let database = folder.join("db_level2_rank0");
    let in_database = database.join("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db");
    assert!(Source::at(&in_database).unwrap().is(&ascend_database::FORMAT));
    assert_eq!(computing(&open(&in_database).unwrap()), (187, 8_900_456));
    assert_eq!(computing(&open(&database).unwrap()), (187, 8_900_456));
    let text = folder.join("text_level2_rank0");
    assert!(Source::at(&text).unwrap().is(&ascend_outputs::FORMAT));
    for path in [&text, &text.join("ASCEND_PROFILER_OUTPUT/kernel_details.csv")] {
        assert_eq!(computing(&open(path).unwrap()), (187, 8_868_215), "{}", path.display());
    }
    let timeline = open(&text.join("ASCEND_PROFILER_OUTPUT/trace_view.json")).unwrap();
    assert!(computing(&timeline).0 >= 187);
}

#[test]
fn what_holds_no_profile_is_refused_by_what_it_is() {
    let refusal = |content: &[u8]| {
        let file = OneFile::new(content);
        let message = open(&file.path).unwrap_err().to_string();
        assert!(message.contains("file.bin"), "{message}");
        message
    };
    assert!(refusal(b"\x08\x08\x12\x01x\x3a\x03abc").contains("this is an ONNX model"));
    assert!(refusal(b"\x08\x08\x12\x01x\x3a\x03abc").contains("opscope run"));
    assert!(refusal(b"hello").contains("this is text, not a profile"));
    assert!(refusal(b"hello").contains("opscope formats"), "where it stands what is read");
    assert!(refusal(&other_database()).contains("another program"));
    assert!(refusal(&other_database()).contains("opscope formats"));
    assert!(refusal(&database()[..50]).contains("cut off"));
    assert!(refusal(b"{\"profiler\": 7").contains("MegEngine"));
    let folder = tempfile::tempdir().unwrap();
    assert!(open(folder.path()).unwrap_err().to_string().contains("no profile found"));
    let missing = folder.path().join("missing.json");
    assert!(open(&missing).unwrap_err().to_string().contains("missing.json"));
}

#[test]
fn a_profile_below_a_folder_is_found_and_several_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("downloads/monday");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::create_dir(folder.path().join(".hidden")).unwrap();
    let kernel = r#"{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 10, "dur": 2.5, "pid": 0, "tid": 7}"#;
    let timeline = format!(r#"{{"traceEvents": [{kernel}]}}"#);
    std::fs::write(below.join("timeline.json"), &timeline).unwrap();
    std::fs::write(below.join("notes.txt"), "of no profile").unwrap();
    std::fs::write(folder.path().join(".hidden/timeline.json"), &timeline).unwrap();
    let profile = Source::at(folder.path()).unwrap().open(&()).unwrap();
    assert_eq!((profile.tasks.len(), &profile.place), (1, &below.join("timeline.json")));

    std::fs::write(folder.path().join("downloads/tuesday.json"), &timeline).unwrap();
    let message = open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("2 profiles") && message.contains("tuesday.json"), "{message}");
    // Samples below functions are looked for in the same way.
    let stacks = tempfile::tempdir().unwrap();
    std::fs::create_dir(stacks.path().join("perf")).unwrap();
    std::fs::write(stacks.path().join("perf/out.folded"), "main;run;gemm 30\nmain;run;copy 10\n").unwrap();
    let profile = Source::at(stacks.path()).unwrap().open_below("gemm", &()).unwrap();
    assert_eq!(profile.format.name, Source::at(&stacks.path().join("perf/out.folded")).unwrap().to_string());
}

#[test]
fn a_profile_that_is_known_by_more_than_a_little_is_found_in_a_folder_that_has_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stacks.txt");
    let stacks = format!("main;{} 5\nmain;x 3\n", "a".repeat(400_000));
    std::fs::write(&path, &stacks).unwrap();
    open(&path).unwrap();
    open(folder.path()).unwrap();
    // Beside a profile that is known at once, nothing more is looked at.
    std::fs::write(folder.path().join("0.json"), TIMELINE).unwrap();
    assert_eq!(Source::at(folder.path()).unwrap().open(&()).unwrap().place, folder.path().join("0.json"));
    std::fs::remove_file(folder.path().join("0.json")).unwrap();
    // Of too many long texts some aren't looked at, which is told.
    for number in 0..16 {
        std::fs::write(folder.path().join(format!("{number:02}.log")), "of no profile\n".repeat(30_000))
            .unwrap();
    }
    assert!(matches!(open(folder.path()), Err(OpenError::NotAllSeen { .. })));
    std::fs::remove_file(folder.path().join("00.log")).unwrap();
    assert_eq!(Source::at(folder.path()).unwrap().open(&()).unwrap().place, path);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(open(folder.path()), Err(OpenError::Ascend(_))));
}

#[test]
fn the_only_profile_is_none_where_not_all_files_were_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    write("0.json".to_owned(), TIMELINE);
    for number in 0..1_999 {
        write(format!("{number}.txt"), b"of no profile");
    }
    assert_eq!(Source::at(folder.path()).unwrap().open(&()).unwrap().place, folder.path().join("0.json"));
    write("z.txt".to_owned(), b"of no profile");
    let message = open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("too many files") && message.contains("0.json"), "{message}");
    std::fs::remove_file(folder.path().join("0.json")).unwrap();
    write("zz.json".to_owned(), TIMELINE);
    let message = open(folder.path()).unwrap_err().to_string();
    assert!(message.ends_with("name the profile itself"), "{message}");
    // Several are several, whatever else there is.
    write("00.json".to_owned(), TIMELINE);
    write("01.json".to_owned(), TIMELINE);
    assert!(matches!(open(folder.path()), Err(OpenError::Several { .. })));
}

#[test]
fn all_folders_below_one_share_what_may_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..256 {
        std::fs::create_dir(folder.path().join(format!("{number:03}"))).unwrap();
    }
    let profile = folder.path().join("000/a.json");
    std::fs::write(&profile, TIMELINE).unwrap();
    assert_eq!(Source::at(folder.path()).unwrap().open(&()).unwrap().place, profile);
    std::fs::create_dir(folder.path().join("256")).unwrap();
    assert!(matches!(open(folder.path()), Err(OpenError::NotAllSeen { .. })));
    std::fs::remove_dir(folder.path().join("256")).unwrap();
    for number in 0..1_000 {
        for below in ["001", "002"] {
            std::fs::write(folder.path().join(below).join(number.to_string()), "of no profile").unwrap();
        }
    }
    assert!(matches!(open(folder.path()), Err(OpenError::NotAllSeen { .. })));
}

#[test]
fn a_folder_of_tensorrt_whose_other_files_nobody_looked_at_has_no_only_profile() {
    let folder = tempfile::tempdir().unwrap();
    let profile = r#"[{"count": 1}, {"name": "a", "timeMs": 1.0, "averageMs": 1.0, "percentage": 100}]"#;
    std::fs::write(folder.path().join("0.json"), profile).unwrap();
    for number in 0..255 {
        std::fs::write(folder.path().join(format!("{number}.txt")), "of no profile").unwrap();
    }
    open(folder.path()).unwrap();
    std::fs::write(folder.path().join("more.txt"), "of no profile").unwrap();
    assert!(matches!(open(folder.path()), Err(OpenError::NotAllSeen { .. })));
}

/// A raw directory.
fn raw_directory() -> (tempfile::TempDir, PathBuf) {
    raw_directory_of(4_000)
}

/// A raw directory of a device that executed so many tasks.
fn raw_directory_of(tasks: u64) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let options = SampleOptions {
        chip: Chip::V4_1_0,
        tasks,
        mode: SampleMode::Static,
        layout: SampleLayout::Current,
        seed: 7,
    };
    let path = write_sample(folder.path(), options).unwrap();
    (folder, path)
}

#[test]
fn a_raw_directory_is_told_from_folders_above_and_within_it_whatever_its_name() {
    let (folder, raw) = raw_directory();
    let other_name = folder.path().join("kept");
    std::fs::rename(&raw, &other_name).unwrap();
    let at = |path: &Path| Source::at(path).unwrap();
    assert!(at(&other_name).is_raw_directory());
    assert_eq!(at(&other_name).profile_itself().map(|profile| &*profile.path), Some(&*other_name));
    for path in [folder.path().to_owned(), other_name.join("device_0")] {
        let source = at(&path);
        assert_eq!(source.profiles().len(), 1, "{}", path.display());
        assert!(!source.is_raw_directory() && source.profile_itself().is_none(), "{}", path.display());
    }
    let job = folder.path().join("elsewhere/JOBX");
    std::fs::create_dir_all(&job).unwrap();
    let job = at(&job);
    assert!(job.is_raw_directory() && job.profile_itself().is_none() && job.unexported_job().is_some());
}

#[test]
fn a_model_is_known_by_its_content_and_a_damaged_one_by_its_name() {
    assert!(Source::at(&OneFile::new(b"\x08\x08\x12\x01x\x3a\x03abc").path).unwrap().is_model());
    let folder = tempfile::tempdir().unwrap();
    for (content, is_model) in [(&b"\xff\xff"[..], true), (TIMELINE, false)] {
        let path = folder.path().join("net.ONNX");
        std::fs::write(&path, content).unwrap();
        assert_eq!(Source::at(&path).unwrap().is_model(), is_model);
    }
}
