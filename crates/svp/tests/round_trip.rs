//! From exported files to a trace and back, and what random files do.

use std::fs;
use std::path::Path;

use opscope_svp::{Exports, Figure, LayerColumn, TableFormat, Unit};
use opscope_trace::ExecutionUnit;
use proptest::prelude::*;

const LAYERS: &str = "\
Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Time Ratio,Mac Busy Ratio,Mac Ppen Ratio,Vec Busy Ratio,Vec Ppen Ratio,Dstr Ratio,Dtrans Ratio,DLD Ratio,WLD Ratio,Memory Bound,DDR Read(byte),DDR Write(byte),DDR Total(byte)
0,conv1,conv1_relu1,Convolution,120.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
1,mish1,softplus1,Softplus,79.5,39.75,0,0,40,25,50,N/A,10,0,2,N/A,N/A,N/A
-,-,-,-,200,100,50,40,20,10,30,2,30,20,0.6,1001590000000,4096,1001590004096
";
const TASKS: &str = r#"[
{"name": "conv1_relu1", "ph": "X", "pid": 0, "tid": 0, "ts": 1000000.5, "dur": 120.5, "args": {"Task Type": "AA CORE", "Stream Id": 0, "Task Id": 0}},
{"name": "softplus1", "ph": "X", "pid": 0, "tid": 1, "ts": 1000121, "dur": 79.5, "args": {"Task Type": "AA CPU", "Stream Id": 0, "Task Id": 1}},
{"name": "conv1_relu1", "ph": "X", "pid": 0, "tid": 0, "ts": 1000300, "dur": 121.5, "args": {"Task Type": "AA CORE", "Stream Id": 0, "Task Id": 0}}
]"#;
const CALLS: &str = r#"[
{"name": "svp_acl_mdl_load_from_mem", "ph": "X", "pid": 5, "tid": 6, "ts": 900000, "dur": 50000, "args": {"Mode": "ACL_MODEL"}},
{"name": "svp_acl_mdl_execute", "ph": "X", "pid": 5, "tid": 6, "ts": 1000000, "dur": 210, "args": {"Mode": "ACL_MODEL"}}
]"#;

fn job(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("summary")).unwrap();
    fs::create_dir(folder.path().join("timeline")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn whole_job() -> tempfile::TempDir {
    job(&[
        ("summary/op_summary_0.yolo.v3.1.1.2.1.0.600.csv", LAYERS),
        ("timeline/task_time_0.yolo.v3.1.1.json", TASKS),
        ("timeline/acl_0.yolo.v3.1.1.json", CALLS),
    ])
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn timelines_and_tables_join_in_a_trace() {
    let trace = Exports::read(whole_job().path()).unwrap().to_trace();
    assert_eq!(trace.tasks.len(), 3);
    assert_eq!(trace.operators.len(), 2);
    assert_eq!(trace.strings.get(trace.operators.op_type()[0]), "Convolution");
    assert_eq!(trace.operators.bytes_read()[0], Some(1_001_590_000_000));
    assert_eq!(trace.tasks.unit()[1], ExecutionUnit::AiCpu);
    assert_eq!(trace.tasks.number(), [Some(0), Some(1), Some(0)]);
    assert_eq!(trace.iterations.len(), 2);
    assert_eq!(trace.iterations.duration()[0].as_micros(), 200.0);
    assert_eq!(trace.api_calls.len(), 2);
    assert_eq!(trace.samples.value(), [600.0]);
    assert_eq!(trace.extent().unwrap().0.0, 0);
    let bound =
        trace.metrics.iter().find(|(_, row)| trace.strings.get(row.name) == "Memory Bound").unwrap().0;
    assert_eq!(trace.metric_values(bound).map(|(_, value)| value).collect::<Vec<_>>(), [0.5, 2.0, 0.5]);
}

#[test]
fn tables_alone_are_laid_end_to_end_and_say_so() {
    let folder = job(&[("summary/op_summary_0.yolo.v3.1.1.2.1.0.600.csv", LAYERS)]);
    let trace = Exports::read(folder.path()).unwrap().to_trace();
    let starts: Vec<f64> = trace.tasks.start().iter().map(|start| start.as_micros()).collect();
    assert_eq!(starts, [0.0, 120.5]);
    assert_eq!(trace.run.layer_times, opscope_trace::TimeBasis::Durations);
}

#[test]
fn what_the_vendor_exported_is_written_again_in_the_same_names_and_columns() {
    let (folder, out) = (whole_job(), tempfile::tempdir().unwrap());
    let exports = Exports::read(folder.path()).unwrap();
    exports.write_summary(out.path(), TableFormat::Csv).unwrap();
    exports.write_timeline(out.path()).unwrap();
    assert_eq!(read(out.path(), "summary/op_summary_0.yolo.v3.1.1.2.1.0.600.csv"), LAYERS);
    let again = Exports::read(out.path()).unwrap();
    assert_eq!((&again.layers, &again.calls), (&exports.layers, &exports.calls));
}

#[test]
fn a_trace_from_elsewhere_becomes_the_vendors_tables_with_gaps_where_it_knows_nothing() {
    let trace = Exports::read(whole_job().path()).unwrap().to_trace();
    let (exports, out) = (Exports::from_trace(&trace), tempfile::tempdir().unwrap());
    exports.write_summary(out.path(), TableFormat::Csv).unwrap();
    exports.write_timeline(out.path()).unwrap();
    let table = read(out.path(), "summary/op_summary_0.yolo.v3.1.1.2.1.NA.NA.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), LAYERS.lines().next());
    let row = "0,conv1_relu1,conv1_relu1,Convolution,120.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096";
    assert_eq!(lines.next(), Some(row));
    let row = "1,softplus1,softplus1,Softplus,79.5,39.75,0,0,40,25,50,N/A,10,0,2,N/A,N/A,N/A";
    assert_eq!(lines.next(), Some(row));
    assert!(table.lines().last().unwrap().starts_with("-,-,-,-,200,100,"));
    assert_eq!(
        read(out.path(), "summary/acl_statistic_0_1_1.csv").lines().nth(1),
        Some("5,6,model,svp_acl_mdl_load_from_mem,99.582,50000,1,50000,50000,50000")
    );
    assert_eq!(
        read(out.path(), "summary/op_statistic_0_1_2_1.csv").lines().nth(1),
        Some("0,0,conv1_relu1,AA_CORE,75.272,242,2,121,121.5,120.5")
    );
    let again = Exports::read(out.path()).unwrap();
    assert_eq!(
        again.layers[0].content.iter().map(|run| run.unit).collect::<Vec<_>>(),
        [Unit::AaCore, Unit::AaCpu, Unit::AaCore]
    );
    let second = &again.op_summaries[1];
    assert_eq!(second.name.picture, Some(2));
    assert_eq!(second.content.layers[0].figure(LayerColumn::Time), Figure(Some(121.5)));
}

proptest! {
    #[test]
    fn damaged_files_never_panic(text in ".{0,400}", cut in 0usize..2000, at in 0usize..2000, byte in any::<u8>()) {
        for whole in [LAYERS, TASKS, CALLS] {
            let mut bytes = whole.as_bytes().to_vec();
            let index = at % bytes.len();
            bytes[index] = byte;
            bytes.truncate(cut.max(1));
            let folder = tempfile::tempdir().unwrap();
            for name in ["op_summary_0.m.1.1.1.1.0.0.csv", "task_time_0_1_1.json", "acl_0_1_1.csv", "acl_statistic_0_1_1.csv"] {
                fs::write(folder.path().join(name), &bytes).unwrap();
            }
            fs::write(folder.path().join("op_statistic_0_1_1.json"), &text).unwrap();
            if let Ok(exports) = Exports::read(folder.path()) {
                let trace = exports.to_trace();
                let again = Exports::from_trace(&trace);
                prop_assert_eq!(again.layers.iter().map(|sheet| sheet.content.len()).sum::<usize>(), trace.tasks.len());
            }
        }
    }
}
