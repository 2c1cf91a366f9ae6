//! Tables and folders: real ones, those of the reference, and small ones of every shape and state.

use std::path::Path;

use opscope_formats::reading::Stop;
use opscope_trace::*;
use proptest::prelude::*;

use super::{ReadError, looks_like};
use crate::read::testing::shared;
use crate::read::{FolderError, is_folder, read_folder};

fn read(text: &[u8]) -> Result<Trace, ReadError> {
    super::read(text, &Stop::default())
}

fn losses(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    let loss = |(_, row): (LossId, Loss)| format!("{} {} ({})", row.count, row.kind, text(row.detail));
    trace.losses.iter().map(loss).collect()
}

/// The tasks that compute: their number and the sum of their durations in nanoseconds.
fn computing(trace: &Trace) -> (usize, i64) {
    let computes = |task: &Task| task.operator.is_some() && task.unit != ExecutionUnit::Communication;
    let tasks: Vec<_> = trace.tasks.iter().map(|(_, task)| task).filter(computes).collect();
    (tasks.len(), tasks.iter().map(|task| task.duration.0).sum())
}

const RUN: &str = "data/ascend-pytorch/text_level2_rank0";

#[test]
fn the_table_of_a_real_run_gives_the_figures_of_independent_queries() {
    let Some(folder) = shared(&format!("{RUN}/ASCEND_PROFILER_OUTPUT")) else { return };
    let text = std::fs::read(folder.join("kernel_details.csv")).unwrap();
    assert!(looks_like(&text) && looks_like(&text[..1000]));
    let trace = read(&text).unwrap();
    assert_eq!(computing(&trace), (187, 8_868_215));
    assert_eq!(trace.tasks.len(), 191);
    assert_eq!(trace.iterations.number(), [50]);
    assert_eq!(trace.tasks.iteration().iter().flatten().count(), 191);
    let first = trace.operators.get(trace.tasks.operator()[2].unwrap());
    let text = |id| trace.strings.get(id);
    assert_eq!((text(first.name), text(first.op_type), first.input_count), ("Conv2D1", "Conv2D", 3));
    assert_eq!(trace.tasks.wait()[2], Some(Nanoseconds(112_442)));
    assert_eq!(trace.tasks.unit()[2], ExecutionUnit::AiCore);
    assert_eq!(trace.readings.len(), 191);
    let (mac, _) = trace.metrics.iter().find(|(_, row)| text(row.name) == "aic_mac_ratio").unwrap();
    assert_eq!(trace.metric_values(mac).count(), 185);
}

#[test]
fn a_real_folder_joins_the_table_with_the_timeline() {
    let Some(folder) = shared(RUN) else { return };
    assert!(is_folder(&folder) && is_folder(&folder.join("ASCEND_PROFILER_OUTPUT")));
    let trace = read_folder(&folder).unwrap();
    assert_eq!(computing(&trace), (187, 8_868_215));
    // All from the timeline, none beside it.
    assert_eq!(trace.tasks.len(), 539);
    assert!(!losses(&trace).iter().any(|loss| loss.contains("added")), "{:?}", losses(&trace));
    let described = trace.tasks.operator().iter().flatten().count();
    let launched = (trace.tasks.iter())
        .filter(|(_, task)| task.operator.is_some() && task.launched_by.is_some() && task.wait.is_some())
        .count();
    assert_eq!((described, launched), (191, 191));
    // No operator is left that only a name in the timeline stood for.
    let used: std::collections::HashSet<_> = trace.tasks.operator().iter().flatten().collect();
    assert_eq!(used.len(), trace.operators.len());
    let conv = trace.operators.iter().find(|(_, row)| trace.strings.get(row.name) == "Conv2D1").unwrap().1;
    assert_eq!(trace.strings.get(conv.op_type), "Conv2D");
}

#[test]
fn a_real_folder_with_a_database_is_read_from_it() {
    let Some(folder) = shared("data/ascend-pytorch/db_level2_rank0") else { return };
    assert!(is_folder(&folder));
    assert_eq!(computing(&read_folder(&folder).unwrap()), (187, 8_900_456));
}

#[test]
fn every_table_of_the_reference_is_read_or_refused_with_the_reason() {
    let Some(golden) = shared("golden/ascend") else { return };
    let mut read_tables = std::collections::BTreeMap::new();
    for case in [
        "310_static/oracle_py",
        "910_static/oracle_cpp",
        "910b_static/oracle_cpp",
        "910b_static/oracle_py",
        "910b_dynamic_flip/oracle_py",
    ] {
        for entry in std::fs::read_dir(golden.join(case).join("mindstudio_profiler_output")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "csv") {
                continue;
            }
            let text = std::fs::read(&path).unwrap();
            let kind = path.file_name().unwrap().to_string_lossy().split("_2").next().unwrap().to_owned();
            let rows = match read(&text) {
                Ok(trace) => {
                    let recorded = trace.tasks.len() + trace.iterations.len() + trace.ranges.len();
                    recorded + trace.samples.len() + trace.figures.len()
                }
                Err(ReadError::NoTrace) => 0,
                Err(error) => panic!("{}: {error}", path.display()),
            };
            assert!(looks_like(&text), "{}", path.display());
            *read_tables.entry(kind).or_insert(0) += rows;
        }
    }
    let empty: Vec<_> = read_tables.iter().filter(|(_, rows)| **rows == 0).map(|(kind, _)| &**kind).collect();
    assert_eq!(empty, ["fusion_op", "hbm"]);
    let full: Vec<_> = read_tables.iter().filter(|(_, rows)| **rows > 0).map(|(kind, _)| &**kind).collect();
    assert_eq!(
        full,
        [
            "aicpu",
            "api_statistic",
            "msprof_tx",
            "npu_mem",
            "op_statistic",
            "op_summary",
            "step_trace",
            "task_time"
        ]
    );
}

#[test]
fn the_reference_summary_agrees_with_the_reference_database() {
    let Some(folder) = shared("golden/ascend/910b_static/oracle_cpp/mindstudio_profiler_output") else {
        return;
    };
    let file = |prefix: &str| {
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let found =
            files.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix));
        std::fs::read(found.unwrap()).unwrap()
    };
    let summary = read(&file("op_summary")).unwrap();
    let by_unit = |unit| -> i64 {
        summary.tasks.iter().filter(|(_, task)| task.unit == unit).map(|(_, task)| task.duration.0).sum()
    };
    assert_eq!(summary.tasks.len(), 102);
    assert_eq!(by_unit(ExecutionUnit::AiCore), 200_420);
    assert_eq!(by_unit(ExecutionUnit::AiVectorCore), 245_760);
    assert_eq!(by_unit(ExecutionUnit::MixAiCore), 17_640);
    assert_eq!(by_unit(ExecutionUnit::AiCpu), 81_060);
    // A static model: 34 operators, each run three times.
    assert_eq!(summary.operators.len(), 34);
    let joined = read_folder(&folder).unwrap();
    assert_eq!(computing(&joined), computing(&summary));
    assert_eq!((joined.operators.len(), joined.iterations.len()), (34, 3));
}

#[test]
fn old_and_new_names_of_columns_mean_the_same() {
    let new = "Model ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)\n\
               1,2,conv,Conv2D,AI_CORE,10.5\t,2.25\t,N/A\n";
    let old = "\u{feff}Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Stream ID,Model ID\r\n\
               conv,Conv2D,AI_CORE,10.5,2.25,N/A,2,1\r\n";
    let task = |text: &str| {
        let trace = read(text.as_bytes()).unwrap();
        let task = trace.tasks.get(TaskId::from_index(0));
        let operator = trace.operators.get(task.operator.unwrap());
        let stream = trace.streams.get(task.stream.unwrap()).number;
        let op_type = trace.strings.get(operator.op_type).to_owned();
        (task.start, task.duration, task.wait, task.unit, stream, op_type, trace.models.number().to_vec())
    };
    assert_eq!(task(new), task(old));
    assert_eq!(
        task(old),
        (
            Nanoseconds(10_500),
            Nanoseconds(2_250),
            None,
            ExecutionUnit::AiCore,
            2,
            "Conv2D".to_owned(),
            vec![1]
        )
    );
}

#[test]
fn what_the_hardware_counted_is_kept_with_the_task() {
    let trace = read(
        b"Name,Type,OP State,Start Time(us),Duration(us),Block Dim,aic_mac_time(us),GM_to_L1_datas(KB),cube_utilization(%)\n\
          a,A,dynamic,1,5,32,2.5,N/A,80\nb,B,static,9,5,N/A,N/A,N/A,N/A\nc,C,,20,5,1,0,7,0\n",
    )
    .unwrap();
    let text = |id| trace.strings.get(id);
    let metrics: Vec<_> = trace.metrics.iter().map(|(_, row)| (text(row.name), text(row.unit))).collect();
    assert_eq!(
        metrics,
        [("block_num", ""), ("aic_mac_time", "us"), ("GM_to_L1_datas", "KB"), ("cube_utilization", "%")]
    );
    let values = |name: &str| -> Vec<(usize, f64)> {
        let (metric, _) = trace.metrics.iter().find(|(_, row)| text(row.name) == name).unwrap();
        trace.metric_values(metric).map(|(task, value)| (task.index(), value)).collect()
    };
    assert_eq!(values("block_num"), [(0, 32.0), (2, 1.0)]);
    assert_eq!(values("GM_to_L1_datas"), [(2, 7.0)]);
    let all = trace.readings.ids().flat_map(|id| trace.readings_of(id));
    assert!(all.into_iter().all(|(_, value)| value.is_finite()));
    assert_eq!(trace.operators.dynamic(), [Some(true), Some(false), None]);
    assert!(trace.losses.is_empty());
}

#[test]
fn words_for_what_is_no_number_are_text_among_metrics() {
    let trace =
        read(b"Name,Type,Start Time(us),Duration(us),aic_mac_ratio\na,A,1,5,nan\nb,B,9,5,-inf\n").unwrap();
    assert!(trace.readings.is_empty());
    assert_eq!(trace.losses.kind(), [LossKind::TextAmongMetrics]);
    assert_eq!(trace.losses.count(), [2]);
}

#[test]
fn steps_span_their_tasks_and_are_in_the_order_of_time() {
    let trace = read(
        b"Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n\
          9,a,A,AI_CORE,100,5\n8,a,A,AI_CORE,10,5\n8,b,B,AI_CORE,12,50\n,c,C,AI_CORE,200,1\n",
    )
    .unwrap();
    let steps: Vec<_> =
        trace.iterations.iter().map(|(_, row)| (row.number, row.start.0, row.duration.0)).collect();
    assert_eq!(steps, [(8, 10_000, 52_000), (9, 100_000, 5_000)]);
    let of_tasks: Vec<_> = trace.tasks.iteration().iter().map(|id| id.map(IterationId::index)).collect();
    assert_eq!(of_tasks, [Some(1), Some(0), Some(0), None]);
}

#[test]
fn rows_that_cannot_be_used_are_counted_and_the_others_kept() {
    let trace = read(
        b"Name,Type,Start Time(us),Duration(us),aic_mac_ratio\n\
          a,A,1,5,0.5\n\
          a,A,1,5,half\n\
          b,B,N/A,5,N/A\n\
          c,C,2,-1,N/A\n\
          d,D,3,fast,N/A\n\
          \"e\nwith a line\",E,4,5,N/A\n\
          f,F,5,5",
    )
    .unwrap();
    let names: Vec<_> = trace.tasks.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(names, ["a", "a", "e\nwith a line"]);
    assert_eq!(trace.readings.task(), [TaskId::from_index(0)]);
    assert_eq!(
        losses(&trace),
        [
            "1 left out: values of further columns that are no numbers (first on line 3)",
            "2 dropped: a task without a time or duration (first on line 4)",
            "1 dropped: a task with a negative duration (first on line 5)",
            "1 dropped: a row with too few cells (first on line 9)",
        ]
    );
}

#[test]
fn samples_of_every_component_are_counters() {
    let trace = read(
        b"Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Stream Ptr,Device Type\n\
          APP,1736412474627968.240\t,,2109.6,,NPU:0\nAPP,1736412474607990.240\t,,1.5,,NPU:0\nPTA,1736412474627968.240,7,8,1,NPU:1\n",
    )
    .unwrap();
    let text = |id| trace.strings.get(id);
    let counters: Vec<_> = (trace.counters.iter())
        .map(|(_, row)| (text(row.name), text(row.unit), trace.devices.get(row.device.unwrap()).number))
        .collect();
    assert_eq!(
        counters,
        [
            ("memory of APP reserved", "B", 0),
            ("memory of PTA allocated", "B", 1),
            ("memory of PTA reserved", "B", 1)
        ]
    );
    let megabytes: Vec<f64> = trace.samples.value().iter().map(|bytes| bytes / 1_048_576.0).collect();
    assert_eq!(megabytes, [1.5, 2109.6, 7.0, 8.0]);
    assert_eq!(trace.clock.unix_zero, Some(1_736_412_474_607_990_240));
    assert_eq!(trace.samples.time()[1], Nanoseconds(19_978_000));
}

#[test]
fn tables_that_make_no_trace_are_refused_with_what_to_give_instead() {
    let error = read(b"Device_id,Model Name,Model ID,Fusion Op,Original Ops\n").unwrap_err();
    assert_eq!(error, ReadError::NoTrace);
    assert!(error.to_string().contains("kernel_details.csv"));
    // "任务,时长" in GBK.
    let error = read(b"\xc8\xce\xce\xf1,\xca\xb1\xb3\xa4(us)\n1,2\n").unwrap_err();
    assert_eq!(error, ReadError::Encoding("GBK (GB 18030)"));
    assert!(error.to_string().contains("as UTF-8"));
    for text in [&b""[..], b"a,b,c\n1,2,3\n", b"Name,Duration\n", b"\0\0", b"{\"a\": 1}"] {
        assert_eq!(read(text).unwrap_err(), ReadError::NotATable, "{text:?}");
        assert!(!looks_like(text), "{text:?}");
    }
}

/// The figures of a table: topic, step, subject, part, name and value.
fn figures(trace: &Trace) -> Vec<(FigureTopic, [&str; 4], f64)> {
    let text = |id| trace.strings.get(id);
    let row = |(_, row): (FigureId, Figure)| {
        (row.topic, [row.step, row.subject, row.part, row.name].map(text), row.value)
    };
    trace.figures.iter().map(row).collect()
}

/// The sum of a figure.
fn figure_sum(trace: &Trace, topic: FigureTopic, name: &str) -> f64 {
    let found = figures(trace).into_iter().filter(|(of, texts, _)| *of == topic && texts[3] == name);
    found.map(|(.., value)| value).sum()
}

#[test]
fn tables_that_sum_up_become_figures_in_one_unit() {
    let memory =
        b"Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)\nhost,a,0,0,1,2,3\n";
    assert!(looks_like(memory));
    let trace = read(memory).unwrap();
    assert_eq!(
        figures(&trace)[0],
        (FigureTopic::PlannedMemory, ["", "a", "model 0 graph 0", "size"], 3072.0)
    );
    let steps = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n50,8.5,1,0,1,N/A\n,x,,,,\n";
    let trace = read(steps.as_bytes()).unwrap();
    assert_eq!(figures(&trace)[0], (FigureTopic::Step, ["50", "", "", "computing"], 8500.0));
    assert_eq!(figures(&trace).len(), 4);
    assert_eq!(
        losses(&trace),
        [
            "1 dropped: a row of stated figures without a subject or a figure that is a number (first on line 3)"
        ]
    );
    // Allocations and calls are summed up by name.
    let allocations = "Name,Size(KB),Allocation Time(us),Release Time(us),Device Type\n\
                       a,1,5\t,6\t,NPU:1\na,3,7\t,,NPU:1\nb,2,7\t,,NPU:0\n";
    let trace = read(allocations.as_bytes()).unwrap();
    let found: Vec<_> =
        figures(&trace).into_iter().map(|(_, texts, value)| (texts[1], texts[2], texts[3], value)).collect();
    assert_eq!(
        found,
        [
            ("a", "device 1", "size", 4096.0),
            ("a", "device 1", "allocations", 2.0),
            ("a", "device 1", "largest", 3072.0),
            ("a", "device 1", "not released", 1.0),
            ("b", "device 0", "size", 2048.0),
            ("b", "device 0", "allocations", 1.0),
            ("b", "device 0", "largest", 2048.0),
            ("b", "device 0", "not released", 1.0),
        ]
    );
    let calls = "Name,Host Self Duration(us),Host Total Duration(us),Device Self Duration(us),Device Total Duration(us)\n\
                 aten::add,1.5,2,0,3\naten::add,0.25,1,,x\n";
    let trace = read(calls.as_bytes()).unwrap();
    assert_eq!(figure_sum(&trace, FigureTopic::FrameworkCall, "host"), 1750.0);
    assert_eq!(figure_sum(&trace, FigureTopic::FrameworkCall, "count"), 2.0);
    assert_eq!(figure_sum(&trace, FigureTopic::FrameworkCall, "device with callees"), 3000.0);
}

/// Sums of columns that a few lines of Python took with decimal numbers.
const INDEPENDENT: [(&str, FigureTopic, &str, f64); 10] = [
    ("step_trace_time.csv", FigureTopic::Step, "computing", 8_873_756.0),
    ("step_trace_time.csv", FigureTopic::Step, "free", 25_744_050.0),
    ("op_statistic.csv", FigureTopic::OperatorType, "total", 8_873_751.0),
    ("op_statistic.csv", FigureTopic::OperatorType, "count", 187.0),
    ("api_statistic.csv", FigureTopic::HostCall, "total", 123_965_130.0),
    ("operator_details.csv", FigureTopic::FrameworkCall, "host", 148_925_220.0),
    ("operator_details.csv", FigureTopic::FrameworkCall, "device with callees", 461_150_213.093_75),
    ("operator_memory.csv", FigureTopic::Allocation, "size", 1_495_289_344.0),
    ("operator_memory.csv", FigureTopic::Allocation, "not released", 24.0),
    ("l2_cache.csv", FigureTopic::Cache, "victim rate", 22.300_258),
];

#[test]
fn the_figures_of_real_tables_sum_up_to_independent_ones() {
    let Some(folder) = shared("data/ascend-pytorch/text_level1_rank0/ASCEND_PROFILER_OUTPUT") else { return };
    for (file, topic, name, expected) in INDEPENDENT {
        let trace = read(&std::fs::read(folder.join(file)).unwrap()).unwrap();
        let sum = figure_sum(&trace, topic, name);
        assert!((sum - expected).abs() <= expected * 1e-9, "{file} {name}: {sum}");
        assert!(losses(&trace).is_empty(), "{file}: {:?}", losses(&trace));
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

const TABLE: &str = "Op Name,OP Type,Task Type,Stream ID,Task Start Time(us),Task Duration(us)\nconv1,Conv2D,AI_VECTOR_CORE,2,1736412474730135.221,5.5\n";

const TIMELINE: &str = r#"[
    {"ph":"M","name":"process_name","pid":5120,"args":{"name":"Ascend Hardware"}},
    {"ph":"X","name":"conv1","pid":5120,"tid":3,"ts":"1736412474730135.222","dur":5.4996,"args":{"Task Type":"AI_CORE","Physic Stream Id":3}},
    {"ph":"X","name":"conv1","pid":5120,"tid":2,"ts":"1736412474730135.222","dur":5.4996,"args":{"Task Type":"AI_CORE","Physic Stream Id":2}}
]"#;

#[test]
fn the_last_export_of_a_folder_counts_and_split_tables_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = folder.path().join("mindstudio_profiler_output");
    assert!(!is_folder(folder.path()));
    let nothing = read_folder(folder.path()).unwrap_err();
    assert!(matches!(nothing, FolderError::NoOutputs { .. }) && nothing.to_string().contains("op_summary"));
    write(&outputs, "op_summary_20260101000000.csv", &TABLE.replace("conv1", "old"));
    write(&outputs, "op_summary_20260102000000_slice_0.csv", TABLE);
    write(&outputs, "op_summary_20260102000000_slice_1.csv", &TABLE.replace("conv1", "conv2"));
    assert!(is_folder(folder.path()) && is_folder(&outputs));
    let trace = read_folder(folder.path()).unwrap();
    let names: Vec<_> = trace.tasks.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(names, ["conv1", "conv2"]);

    write(&outputs, "msprof_20260102000001.json", TIMELINE);
    let trace = read_folder(folder.path()).unwrap();
    let tasks: Vec<_> = (trace.tasks.iter())
        .map(|(_, task)| (trace.strings.get(task.name), task.unit, task.duration.0, task.operator.is_some()))
        .collect();
    assert_eq!(
        tasks,
        [
            // The table tells about the one on its stream; nothing about the other.
            ("conv1", ExecutionUnit::AiCore, 5_500, true),
            ("conv1", ExecutionUnit::AiVectorCore, 5_500, true),
            ("conv2", ExecutionUnit::AiVectorCore, 5_500, true),
        ]
    );
    assert_eq!(
        losses(&trace),
        [
            "1 added: tasks of the table that the timeline lacks ()",
            "1 left out: a file whose content other files of the folder have \
             (mindstudio_profiler_output/op_summary_20260101000000.csv: of an export made before the last, or the \
             same as kernel_details)"
        ]
    );

    write(&outputs, "msprof_20260102000001.json", "broken");
    let trace = read_folder(folder.path()).unwrap();
    assert_eq!(trace.tasks.len(), 2);
    assert!(losses(&trace)[0].contains("msprof_20260102000001.json"), "{:?}", losses(&trace));
    write(&outputs, "msprof_20260103000000.db", "no database");
    let trace = read_folder(folder.path()).unwrap();
    assert_eq!(trace.tasks.len(), 2);
    assert!(losses(&trace)[0].contains("msprof_20260103000000.db"), "{:?}", losses(&trace));
}

/// A database of a task that its model ran twice.
const DATABASE: &str = "
    CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO STRING_IDS VALUES (1, 'conv1'), (2, 'Conv2D'), (3, 'AI_CORE');
    CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, globalTaskId INTEGER, taskType INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
    INSERT INTO TASK VALUES (1736412474730135221, 1736412474730140721, 0, 0, 3, 2, 1, 1), (1736412474730235221, 1736412474730240721, 0, 0, 3, 2, 1, 1);
    CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, taskType INTEGER, opType INTEGER, blockNum INTEGER);
    INSERT INTO COMPUTE_TASK_INFO VALUES (1, 0, 3, 2, 8);";

#[test]
fn a_database_is_completed_by_the_metrics_and_the_inferences_of_the_tables_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(folder.path().join("msprof_20260102000000.db")).unwrap();
    database.execute_batch(DATABASE).unwrap();
    drop(database);
    let spans = |trace: &Trace| -> Vec<(u32, i64, i64)> {
        trace.iterations.iter().map(|(_, row)| (row.number, row.start.0, row.duration.0)).collect()
    };
    let readings = |trace: &Trace| -> Vec<Vec<(String, f64)>> {
        let name = |id| trace.strings.get(trace.metrics.get(id).name).to_owned();
        let of = |id| trace.readings_of(id).map(|(metric, value)| (name(metric), value)).collect();
        trace.readings.ids().map(of).collect()
    };
    let trace = read_folder(folder.path()).unwrap();
    assert_eq!(spans(&trace), [(1, 0, 5_500), (2, 100_000, 5_500)]);
    let spanned =
        "an inference of which no begin and end are recorded: it lasts from its first task to its last";
    assert_eq!(losses(&trace), [format!("2 {spanned} (msprof_20260102000000.db: TASK)")]);

    let outputs = folder.path().join("mindstudio_profiler_output");
    let heading = "Op Name,OP Type,Stream ID,Task Start Time(us),Task Duration(us),Block Num,mac_ratio,cube_utilization(%)\n";
    let rows = "conv1,Conv2D,2,1736412474730135.221,5.5,9,0.25,80\n\
                conv1,Conv2D,2,1736412474730235.221,5.5,9,0.5,N/A\n\
                other,Conv2D,2,1736412474730300.221,5.5,9,0.5,N/A\n";
    write(&outputs, "op_summary_20260102000000.csv", &format!("{heading}{rows}"));
    let steps = "Iteration ID,Iteration End(us),Iteration Time(us),Model ID\n1,1736412474730142.221,9,1\n";
    write(&outputs, "step_trace_20260102000000.csv", steps);
    let trace = read_folder(folder.path()).unwrap();
    let metric = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        readings(&trace),
        [
            // Metrics that both know are the database's.
            vec![metric("block_num", 8.0), metric("mac_ratio", 0.25), metric("cube_utilization", 80.0)],
            vec![metric("block_num", 8.0), metric("mac_ratio", 0.5)],
        ]
    );
    assert_eq!(spans(&trace), [(1, -2_000, 9_000), (2, 100_000, 5_500)]);
    assert_eq!(
        losses(&trace),
        [
            "1 dropped: a value without a task, name or number (tables of tasks)".to_owned(),
            format!("1 {spanned} ()")
        ]
    );

    write(&outputs, "op_summary_20260102000000.csv", "no table");
    let trace = read_folder(folder.path()).unwrap();
    assert_eq!(readings(&trace)[0], [metric("block_num", 8.0)]);
    let named = losses(&trace).iter().any(|loss| loss.contains("op_summary_20260102000000.csv"));
    assert!(named, "{:?}", losses(&trace));
}

#[test]
fn a_folder_of_tables_tells_of_memory_and_the_device_that_its_tables_name() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "kernel_details.csv",
        "Name,Type,Start Time(us),Duration(us)\nconv,Conv2D,1736412474730135.5\t,8\n",
    );
    write(
        folder.path(),
        "memory_record.csv",
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n\
         PTA,1736412474730145.5\t,2,4,NPU:1\nPTA,1736412474730130.5\t,1,3,NPU:1\nPTA,1.73641E+15,9,9,NPU:1\n",
    );
    write(
        folder.path(),
        "npu_module_mem.csv",
        "Component,Timestamp(us),Total Reserved(MB),Device\nPTA,1736412474730137.5\t,0.5,NPU:1\n",
    );
    let trace = read_folder(folder.path()).unwrap();
    assert_eq!((trace.tasks.len(), trace.devices.number()), (1, &[1][..]));
    let begin = trace.tasks.start()[0];
    let samples: Vec<_> = (trace.samples.iter())
        .map(|(_, row)| {
            let counter = trace.counters.get(row.counter);
            (trace.strings.get(counter.unit), (row.time - begin).0, row.value / 1_048_576.0)
        })
        .collect();
    assert_eq!(
        samples,
        [("B", -5_000, 1.0), ("B", -5_000, 3.0), ("B", 2_000, 0.5), ("B", 10_000, 2.0), ("B", 10_000, 4.0)]
    );
    let mut names: Vec<_> = trace.counters.name().iter().map(|name| trace.strings.get(*name)).collect();
    names.sort_unstable();
    assert_eq!(names, ["memory of PTA allocated", "memory of PTA module reserved", "memory of PTA reserved"]);
    // A time that a spreadsheet rounded tells nothing.
    assert_eq!(losses(&trace), ["1 dropped: a sample without a time (memory_record.csv, first on line 4)"]);
    // Counters that other outputs have are not added again.
    let text = std::fs::read(folder.path().join("memory_record.csv")).unwrap();
    write(folder.path(), "npu_mem_20250109090000.csv", std::str::from_utf8(&text).unwrap());
    assert_eq!(read_folder(folder.path()).unwrap().samples.len(), 5);
}

#[test]
fn tables_of_memory_and_sums_in_the_layout_of_2022_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("device_0").join("summary");
    write(&tables, "op_summary_0_1.csv", TABLE);
    let memory = "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n\
                  0,GE,1736412474730136.5\t,1,2,NPU:0\n";
    write(&tables, "memory_record_0_1.csv", memory);
    write(
        &tables,
        "op_statistic_0_1.csv",
        "OP Type,Core Type,Count,Total Time(us),Ratio(%)\nConv2D,AI_CORE,1,5.5,100\n",
    );
    let trace = read_folder(folder.path()).unwrap();
    assert_eq!((trace.tasks.len(), trace.samples.value()), (1, &[1024.0, 2048.0][..]));
    assert_eq!(figure_sum(&trace, FigureTopic::OperatorType, "total"), 5_500.0);
    assert_eq!(losses(&trace), [] as [&str; 0]);
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let error = read_folder(Path::new("nowhere/at/all")).unwrap_err().to_string();
    assert!(error.contains("nowhere/at/all"), "{error}");
}

proptest! {
    #[test]
    fn mutated_tables_are_read_or_refused(
        table in 0usize..4,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..10),
        cut in any::<proptest::sample::Index>(),
    ) {
        let tables = [
            TABLE,
            "Iteration ID,Iteration End(us),Iteration Time(us),Model ID\n1,10.5,2,1\n2,9,2,\n",
            "pid,tid,event_type,Start_time(us),End_time(us),message,domain\n1,2,push/pop,1,2,x,N/A\n1,2,marker,2,2,y,d\n",
            "Component,Timestamp(us),a(MB)\nAPP,1,2\nB,2,\n",
        ];
        let mut text = tables[table].as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place.index(text.len());
            text[place] = byte;
        }
        text.truncate(cut.index(text.len()) + 1);
        let _ = looks_like(&text);
        let _ = read(&text);
    }

    #[test]
    fn random_bytes_are_refused(text: Vec<u8>) {
        let _ = looks_like(&text);
        let _ = read(&text);
    }
}
