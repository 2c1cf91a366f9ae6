//! Folders as people have them: files of several runs, ranks and devices side by side, of all versions of the
//! tools, with headings in another language.

use std::collections::BTreeMap;
use std::path::Path;

use opscope_trace::*;

use super::{FileFate, Folder, Stop, read_folder_until};

const TIMELINE: &str = r#"[
    {"ph":"M","name":"process_name","pid":5120,"args":{"name":"Ascend Hardware"}},
    {"ph":"M","name":"process_labels","pid":5120,"args":{"labels":"NPU 0"}},
    {"ph":"X","name":"conv1","pid":5120,"tid":2,"ts":"1736412474730135.222","dur":5.5,"args":{"Task Type":"AI_CORE","Physic Stream Id":2}}
]"#;

const HEADINGS: &str =
    "Device_id,Op Name,OP Type,Task Type,Stream ID,Task Start Time(us),Task Duration(us),aic_mac_ratio\n";

fn row(device: u32, start: &str, ratio: &str) -> String {
    format!("{device},conv1,Conv2D,AI_CORE,2,{start}\t,5.5,{ratio}\n")
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn database(path: &Path, name: &str, start: i64) {
    let tables = format!(
        "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
         INSERT INTO STRING_IDS VALUES (1, '{name}'), (2, 'Conv2D'), (3, 'AI_CORE');
         CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, globalTaskId INTEGER, taskType INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
         INSERT INTO TASK VALUES ({start}, {start} + 5500, 0, 0, 3, 2, 1, 4294967295);
         CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, taskType INTEGER, opType INTEGER);
         INSERT INTO COMPUTE_TASK_INFO VALUES (1, 0, 3, 2);"
    );
    rusqlite::Connection::open(path).unwrap().execute_batch(&tables).unwrap();
}

fn read(folder: &Path) -> Folder {
    read_folder_until(folder, &Stop::default()).unwrap()
}

fn fate<'f>(folder: &'f Folder, name: &str) -> &'f FileFate {
    &folder.files.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("{name}: {folder:?}")).fate
}

fn count(trace: &Trace, kind: LossKind) -> u64 {
    trace.losses.iter().filter(|(_, row)| row.kind == kind).map(|(_, row)| row.count).sum()
}

/// Name, type, device, start and duration of each task.
fn tasks(trace: &Trace) -> Vec<(String, String, Option<u32>, i64, i64)> {
    let text = |id| trace.strings.get(id).to_owned();
    let task = |(_, row): (TaskId, Task)| {
        let op_type = row.operator.map_or_else(String::new, |id| text(trace.operators.get(id).op_type));
        let device = row.stream.map(|id| trace.devices.number()[trace.streams.get(id).device.index()]);
        (text(row.name), op_type, device, row.start.0, row.duration.0)
    };
    trace.tasks.iter().map(task).collect()
}

/// Topic, source, step, subject, part, name and value of each figure.
fn figures(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    let figure = |(_, row): (FigureId, Figure)| {
        let texts = [row.source, row.step, row.subject, row.part, row.name].map(text);
        format!("{}: {} = {} {}", row.topic.name(), texts.join("|"), row.value, text(row.unit))
    };
    trace.figures.iter().map(figure).collect()
}

#[test]
fn of_the_databases_of_several_ranks_the_lowest_is_read_and_the_others_are_told() {
    for framework in ["pytorch", "mindspore"] {
        let folder = tempfile::tempdir().unwrap();
        for (rank, name) in [(10, "tenth"), (2, "second"), (3, "third")] {
            let file = format!("ascend_{framework}_profiler_{rank}.db");
            database(&folder.path().join(file), name, 1_736_412_474_730_135_221);
        }
        let read = read(folder.path());
        assert_eq!(tasks(&read.trace).len(), 1);
        assert_eq!(tasks(&read.trace)[0].0, "second");
        assert_eq!(count(&read.trace, LossKind::FileOfOtherRun), 2);
        let other = fate(&read, &format!("ascend_{framework}_profiler_10.db"));
        assert!(matches!(other, FileFate::OfOtherRun(_)), "{other:?}");
    }
}

#[test]
fn files_whose_times_lie_elsewhere_are_of_another_run_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "trace_view.json", TIMELINE);
    write(
        folder.path(),
        "kernel_details.csv",
        &format!("{HEADINGS}{}", row(0, "1736412494730135.222", "0.5")),
    );
    let memory = "Component,Timestamp(us),Total Reserved(KB),Device\nGE,1736412499730136.5\t,1,NPU:0\n";
    write(folder.path(), "memory_record.csv", memory);
    let read = read(folder.path());
    assert_eq!(tasks(&read.trace).len(), 1);
    assert!(read.trace.samples.is_empty() && read.trace.readings.is_empty());
    assert_eq!(count(&read.trace, LossKind::FileOfOtherRun), 2);
    for file in ["kernel_details.csv", "memory_record.csv"] {
        assert!(matches!(fate(&read, file), FileFate::OfOtherRun(_)), "{file}: {:?}", fate(&read, file));
    }
}

#[test]
fn an_earlier_export_of_the_same_run_is_not_needed_and_one_of_another_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let table = |start: &str| format!("{HEADINGS}{}", row(0, start, "0.5"));
    write(folder.path(), "op_summary_20260102000003.csv", &table("1736412474730135.222"));
    write(folder.path(), "op_summary_20260102000002.csv", &table("1736412474730135.222"));
    write(folder.path(), "op_summary_20260102000001.csv", &table("1736412174730135.222"));
    write(folder.path(), "msprof_20260102000003.json", TIMELINE);
    write(folder.path(), "msprof_20260102000001.json", &TIMELINE.replace("1736412474", "1736412174"));
    let read = read(folder.path());
    assert_eq!(tasks(&read.trace).len(), 1);
    assert!(matches!(fate(&read, "op_summary_20260102000002.csv"), FileFate::NotNeeded(_)));
    assert!(matches!(fate(&read, "op_summary_20260102000001.csv"), FileFate::OfOtherRun(_)));
    assert!(matches!(fate(&read, "msprof_20260102000001.json"), FileFate::OfOtherRun(_)));
    assert_eq!(count(&read.trace, LossKind::FileOfOtherRun), 2);
}

#[test]
fn equal_operators_of_two_devices_at_the_same_time_stay_apart() {
    let start = "1736412474730135.222";
    let table = format!("{HEADINGS}{}{}", row(1, start, "0.25"), row(0, start, "0.5"));
    let ratios = |trace: &Trace| -> Vec<(Option<u32>, f64)> {
        let of = |reading: ReadingId| {
            let task = trace.tasks.get(trace.readings.get(reading).task);
            let device = task.stream.map(|id| trace.devices.number()[trace.streams.get(id).device.index()]);
            (device, trace.readings_of(reading).map(|(_, value)| value).sum())
        };
        let mut found: Vec<_> = trace.readings.ids().map(of).collect();
        found.sort_by_key(|(device, _)| *device);
        found
    };
    let with_timeline = tempfile::tempdir().unwrap();
    write(with_timeline.path(), "msprof_20260102000003.json", TIMELINE);
    write(with_timeline.path(), "op_summary_20260102000003.csv", &table);
    let trace = read(with_timeline.path()).trace;
    assert_eq!(ratios(&trace), [(Some(0), 0.5), (Some(1), 0.25)]);
    assert_eq!(count(&trace, LossKind::AddedTask), 1);

    let with_database = tempfile::tempdir().unwrap();
    database(&with_database.path().join("msprof_20260102000003.db"), "conv1", 1_736_412_474_730_135_222);
    write(with_database.path(), "op_summary_20260102000003.csv", &table);
    let trace = read(with_database.path()).trace;
    assert_eq!(ratios(&trace), [(Some(0), 0.5)]);
    assert_eq!(count(&trace, LossKind::ValueWithoutTask), 1);
}

#[test]
fn a_timeline_that_tells_no_device_is_completed_by_a_table_that_does() {
    let folder = tempfile::tempdir().unwrap();
    let label = r#"    {"ph":"M","name":"process_labels","pid":5120,"args":{"labels":"NPU 0"}},"#;
    let timeline = TIMELINE.replace(label, "").replace("5120", "3");
    write(folder.path(), "msprof_20260102000003.json", &timeline);
    let table = format!("{HEADINGS}{}", row(1, "1736412474730135.222", "0.5"));
    write(folder.path(), "op_summary_20260102000003.csv", &table);
    assert_eq!(tasks(&read(folder.path()).trace).len(), 1);
}

#[test]
fn collectives_that_only_a_table_has_are_on_the_device_of_the_timeline_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let label = r#"    {"ph":"M","name":"process_labels","pid":5120,"args":{"labels":"NPU 0"}},"#;
    let timeline = TIMELINE.replace(label, "").replace("5120", "3");
    write(folder.path(), "msprof_20260102000003.json", &timeline);
    let collective = "3,hcom_allReduce__721_0_1,hcom_allReduce_,COMMUNICATION,N/A,1736412474730145.222,50,\n";
    let table = format!("{HEADINGS}{}{collective}", row(3, "1736412474730135.222", "0.5"));
    write(folder.path(), "op_summary_20260102000003.csv", &table);
    let trace = read(folder.path()).trace;
    let devices: Vec<_> = tasks(&trace).into_iter().map(|(_, _, device, ..)| device).collect();
    assert_eq!((devices, trace.devices.len()), (vec![Some(3), Some(3)], 1));
}

#[test]
fn a_database_above_folders_of_2022_is_completed_by_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    database(&folder.path().join("msprof_20260102000003.db"), "conv1", 1_736_412_474_730_135_222);
    let table = format!("{HEADINGS}{}", row(0, "1736412474730135.222", "0.5"));
    write(folder.path(), "device_0/summary/op_summary_0_1_1.csv", &table);
    let memory = "Component,Timestamp(us),Total Reserved(KB),Device\nGE,1736412474730136.5\t,1,NPU:0\n";
    write(folder.path(), "device_0/summary/memory_record_0_1_1.csv", memory);
    write(folder.path(), "device_0/timeline/msprof_0_1_1.json", TIMELINE);
    let read = read(folder.path());
    assert_eq!((tasks(&read.trace).len(), read.trace.readings.len(), read.trace.samples.len()), (1, 1, 1));
    for file in ["device_0/summary/op_summary_0_1_1.csv", "device_0/summary/memory_record_0_1_1.csv"] {
        assert!(matches!(fate(&read, file), FileFate::Read(_)), "{file}");
    }
    assert!(matches!(fate(&read, "device_0/timeline/msprof_0_1_1.json"), FileFate::NotNeeded(_)));
}

#[test]
fn timelines_of_2023_are_read_together_each_call_once_and_devices_apart() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = |iteration: i64| {
        format!(
            r#"[{{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{{"name":"Ascend Hardware"}}}},
            {{"ph":"M","name":"process_labels","pid":3,"tid":0,"args":{{"labels":"NPU"}}}},
            {{"ph":"M","name":"process_name","pid":4242,"tid":0,"args":{{"name":"CANN"}}}},
            {{"ph":"M","name":"thread_name","pid":3,"tid":9,"args":{{"name":"Step Trace(Model ID:1)"}}}},
            {{"ph":"X","name":"AscendCL@aclmdlLoad","pid":4242,"tid":5,"ts":10,"dur":9000,"args":{{"Mode":"aclmdlLoad","level":"acl"}}}},
            {{"ph":"X","name":"Iteration {iteration}","pid":3,"tid":9,"ts":{iteration}00,"dur":50,"args":{{"Iteration ID":{iteration}}}}},
            {{"ph":"X","name":"conv1","pid":3,"tid":2,"ts":{iteration}10,"dur":5,"args":{{"Task Type":"AI_CORE","Stream Id":2}}}}]"#
        )
    };
    for device in [0, 3] {
        for iteration in [1, 2, 3] {
            let name = format!("device_{device}/timeline/msprof_{device}_1_{iteration}.json");
            write(folder.path(), &name, &timeline(iteration));
        }
    }
    let read = read(folder.path());
    let devices: Vec<_> = tasks(&read.trace).into_iter().map(|(_, _, device, ..)| device).collect();
    assert_eq!(devices, [Some(0), Some(0), Some(0), Some(3), Some(3), Some(3)]);
    assert_eq!(read.trace.iterations.len(), 6);
    assert_eq!(read.trace.api_calls.len(), 1);
    assert!(read.files.iter().all(|file| matches!(file.fate, FileFate::Read(_))), "{:?}", read.files);
}

#[test]
fn headings_in_chinese_and_columns_in_another_order_mean_the_same() {
    let english = tempfile::tempdir().unwrap();
    let columns = [
        ("Op Name", "算子名称", "conv1"),
        ("OP Type", "算子类型", "Conv2D"),
        ("Task Type", "任务类型", "AI_CORE"),
        ("Stream ID", "流ID", "2"),
        ("Task Start Time(us)", "任务开始时间（us）", "1736412474730135.222"),
        ("Task Duration(us)", "任务耗时(μs)", "5.5"),
        ("Task Wait Time(us)", "任务等待时间(微秒)", "1.5"),
        ("Input Shapes", "输入Shapes", "\"\"\"1,3\"\"\""),
        ("Input Data Types", "输入数据类型", "FLOAT16"),
        ("Input Formats", "输入格式", "ND"),
        ("Block Num", "Block数量", "8"),
        ("aic_mac_ratio", "aic_mac_ratio", "0.5"),
    ];
    let table = |order: &[usize], chinese: bool| {
        let heading = |&column: &usize| if chinese { columns[column].1 } else { columns[column].0 };
        let headings: Vec<_> = order.iter().map(heading).collect();
        let cells: Vec<_> = order.iter().map(|&column| columns[column].2).collect();
        format!("{}\n{}\n", headings.join(","), cells.join(","))
    };
    let order: Vec<usize> = (0..columns.len()).collect();
    write(english.path(), "op_summary_20260102000003.csv", &table(&order, false));
    let steps = "Step,Computing,Communication(Not Overlapped),Free\n1,5,6,7\n";
    write(english.path(), "step_trace_time.csv", steps);
    let expected = read(english.path()).trace;
    assert_eq!(expected.readings.len(), 1);

    let chinese = tempfile::tempdir().unwrap();
    let turned: Vec<usize> = order.iter().rev().copied().collect();
    let marked = format!("\u{feff}{}", table(&turned, true));
    write(chinese.path(), "op_summary_20260102000003.csv", &marked);
    write(chinese.path(), "step_trace_time.csv", "Step,计算时间,通信时间（未被覆盖）,空闲时间\n1,5,6,7\n");
    let found = read(chinese.path()).trace;
    assert_eq!(tasks(&found), tasks(&expected));
    assert_eq!(figures(&found), figures(&expected));
    let metrics = |trace: &Trace| {
        let reading = trace.readings.ids().next().unwrap();
        let name = |id| trace.strings.get(trace.metrics.get(id).name).to_owned();
        let mut found: Vec<_> =
            trace.readings_of(reading).map(|(id, value)| format!("{} {value}", name(id))).collect();
        found.sort();
        found
    };
    assert_eq!(metrics(&found), ["aic_mac_ratio 0.5", "block_num 8"]);
    assert_eq!(metrics(&found), metrics(&expected));
    assert_eq!(found.tensors.len(), 1);
    assert_eq!(count(&found, LossKind::FileNotUnderstood), 0);
}

/// The files that MindSpore's profiler 1.x leaves of a device.
fn mindspore_of_2021(folder: &Path, device: u32) {
    write(
        folder,
        &format!("output_timeline_data_{device}.txt"),
        "op_name, stream_id, start_time(ms), duration(ms)\n\
         Default/conv1-Conv2d/Conv2D-op3,519,154907895.95956,0.0031\n\
         Default/conv1-Conv2d/Conv2D-op3,519,154907897.5,0.0041\n",
    );
    let tensors = r#""{""input_0"": {""format"": ""NC1HWC0"", ""data_type"": ""NUMBER_TYPE_FLOAT16"", ""shape"": ""2,16""}, ""input_1"": {""format"": ""DefaultFormat"", ""data_type"": ""FLOAT32"", ""shape"": [16]}, ""output_0"": {""format"": ""DefaultFormat"", ""data_type"": ""UNKNOWN"", ""shape"": """"}}""#;
    write(
        folder,
        &format!("framework_raw_{device}.csv"),
        &format!(
            "task_id,stream_id,block_dim,full_op_name,op_name,op_type,subgraph,op_info\n\
             4,519,1,Default/conv1-Conv2d/Conv2D-op3,Conv2D-op3,Conv2D,Default,{tensors}\n"
        ),
    );
    write(
        folder,
        &format!("aicpu_intermediate_{device}.csv"),
        "serial_number,kernel_type,total_time,dispatch_time,execution_time,run_start,run_end\n\
         1,GetNext,7.906,0.15,0.22,154907895100,154907895260\n",
    );
    write(
        folder,
        &format!("step_trace_raw_{device}_detail_time.csv"),
        "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n\
         1,15490789500000,15490789700000,200000,15490789510000,15490789690000,10000,180000,10000\n\
         2,15490789700000,15490789900000,200000,15490789710000,15490789890000,10000,180000,10000\n\
         -,0,0,200000,0,0,10000,180000,10000\n",
    );
    write(
        folder,
        &format!("aicore_intermediate_{device}_type.csv"),
        "kernel_type,total_time,execution_frequency,percent\nConv2D,0.0031,1,100\n",
    );
    write(
        folder,
        &format!("aicore_intermediate_{device}_detail.csv"),
        "full_op_name,execution_time\nDefault/conv1-Conv2d/Conv2D-op3,0.0031\n",
    );
    write(
        folder,
        &format!("hccl_raw_{device}.csv"),
        "step_num,communication_cost,wait_cost,link_info,communication_operator_cost\n1,2.5,270,{},{}\n-,2.5,270,{},{}\n",
    );
}

#[test]
fn earlier_outputs_of_mindspore_make_tasks_with_their_types_inferences_and_figures() {
    let folder = tempfile::tempdir().unwrap();
    mindspore_of_2021(folder.path(), 1);
    write(folder.path(), "minddata_cpu_utilization_1.json", "{}");
    let read = read(folder.path());
    let trace = &read.trace;
    let conv = |start, duration| {
        ("Default/conv1-Conv2d/Conv2D-op3".to_owned(), "Conv2D".to_owned(), Some(1), start, duration)
    };
    assert_eq!(
        tasks(trace),
        [
            conv(154_907_895_959_560, 3_100),
            conv(154_907_897_500_000, 4_100),
            ("GetNext".to_owned(), "GetNext".to_owned(), Some(1), 154_907_895_100_000, 160_000),
        ]
    );
    assert_eq!(trace.tasks.unit()[2], ExecutionUnit::AiCpu);
    let operator = trace.operators.get(trace.tasks.operator()[0].unwrap());
    assert_eq!((operator.input_count, operator.output_count), (2, 1));
    let types: Vec<_> = trace.tensors.iter().map(|(_, row)| row.data_type).collect();
    assert_eq!(types[..2], [DataType::Float16, DataType::Float32]);
    let spans: Vec<_> =
        trace.iterations.iter().map(|(_, row)| (row.number, row.start.0, row.duration.0)).collect();
    assert_eq!(spans, [(1, 154_907_895_000_000, 2_000_000), (2, 154_907_897_000_000, 2_000_000)]);
    assert!(trace.tasks.iteration().iter().all(Option::is_some), "{:?}", trace.tasks.iteration());
    let figures = figures(trace);
    for figure in [
        "step: step_trace_raw|1|||forward and backward = 1800000 ns",
        "step: hccl_raw|1|||communication = 2500000 ns",
        "operator-type: aicore_intermediate_type||Conv2D||mean of a step = 3100 ns",
        "operator: aicore_intermediate_detail||Default/conv1-Conv2d/Conv2D-op3||mean of a step = 3100 ns",
    ] {
        assert!(figures.iter().any(|known| known == figure), "{figure}: {figures:#?}");
    }
    assert_eq!(count(trace, LossKind::SummingRow), 2);
    assert!(matches!(fate(&read, "minddata_cpu_utilization_1.json"), FileFate::NotNeeded(_)));
    assert_eq!(count(trace, LossKind::FileNotUnderstood) + count(trace, LossKind::FileNotRead), 0);
}

#[test]
fn steps_behind_the_recording_of_tasks_have_no_part_in_the_mean_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut steps =
        "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n"
            .to_owned();
    for step in 0..10 {
        let (start, end) = (step * 100_000, (step + 1) * 100_000);
        steps += &format!("{},{start},{end},100000,{start},{end},0,100000,0\n", step + 1);
    }
    write(folder.path(), "step_trace_raw_0_detail_time.csv", &steps);
    let mut listed = "op_name, stream_id, start_time(ms), duration(ms)\n".to_owned();
    // Two tasks in each of the first three steps of 1 ms, none in the second, and one in the fourth.
    for start in ["0.1", "0.5", "2.1", "2.5", "3.1"] {
        listed += &format!("Default/Conv2D-op3,519,{start},0.3\n");
    }
    write(folder.path(), "output_timeline_data_0.txt", &listed);
    let trace = read(folder.path()).trace;
    assert_eq!(trace.iterations.number(), [1, 2, 3]);
    assert_eq!(trace.tasks.iteration().iter().flatten().count(), 4);
    let lost = trace.losses.iter().find(|(_, row)| row.kind == LossKind::IterationNotCovered).unwrap().1;
    assert_eq!((lost.count, trace.strings.get(lost.detail)), (7, "all tasks of 3 of 10 were recorded"));
    assert_eq!(trace.figures.iter().filter(|(_, row)| trace.strings.get(row.name) == "total").count(), 10);
}

#[test]
fn devices_whose_outputs_of_mindspore_lie_in_one_folder_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    mindspore_of_2021(folder.path(), 0);
    mindspore_of_2021(folder.path(), 5);
    let trace = read(folder.path()).trace;
    let devices: Vec<_> = tasks(&trace).into_iter().filter_map(|(_, _, device, ..)| device).collect();
    assert_eq!(devices, [0, 0, 0, 5, 5, 5]);
    let figures = figures(&trace);
    for device in [0, 5] {
        let figure = format!(
            "operator-type: aicore_intermediate_type||Conv2D|device {device}|mean of a step = 3100 ns"
        );
        assert!(figures.contains(&figure), "{figures:#?}");
    }
}

#[test]
fn a_timeline_of_mindspore_alone_makes_tasks_by_its_numbers_of_processes() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "ascend_timeline_display_1.json",
        r#"[{"name":"GetNext","ph":"X","tid":"0","ts":1.0,"dur":5.5,"pid":9000},
            {"name":"Conv2D-op3","ph":"X","tid":"519","ts":10.25,"dur":3.1,"pid":1,"args":{"type":"Conv2D","fullname":"Default/Conv2D-op3"}},
            {"name":"stream_520_parallel_0","ph":"X","tid":520,"ts":20,"dur":7,"pid":10000},
            {"name":"Merged Computation Op","ph":"X","tid":"0","ts":1,"dur":9,"pid":12000},
            {"name":"broken","ph":"X","tid":"0","dur":9,"pid":1}]"#,
    );
    let trace = read(folder.path()).trace;
    let found: Vec<_> =
        tasks(&trace).into_iter().map(|(name, _, _, start, duration)| (name, start, duration)).collect();
    assert_eq!(
        found,
        [
            ("GetNext".to_owned(), 1_000, 5_500),
            ("Default/Conv2D-op3".to_owned(), 10_250, 3_100),
            ("stream_520_parallel_0".to_owned(), 20_000, 7_000),
        ]
    );
    assert_eq!(
        trace.tasks.unit(),
        [ExecutionUnit::AiCpu, ExecutionUnit::AiCore, ExecutionUnit::Communication]
    );
    assert_eq!((count(&trace, LossKind::SummingRow), count(&trace, LossKind::TaskWithoutTime)), (1, 1));
}

/// The outputs of MindSpore 2.1 to 2.3 of one device, whose times are milliseconds since 1970.
fn mindspore_of_2023(folder: &Path) {
    write(
        folder,
        "output_timeline_data_0.txt",
        "op_name,stream_id,start_time(us),duration(ms)\n\
         Default/Conv2D-op1,3,1700000000000.0,1.5\nDefault/ReLU-op2,3,1700000000001.55,0.25\n\
         Default/Conv2D-op1,3,1700000000002.7002,1.5\n",
    );
    write(
        folder,
        "aicpu_intermediate_0.csv",
        "serial_number,op_type,total_time,dispatch_time,execution_time,run_start,run_end\n\
         1,GetNext,0.9,0.1,0.8,1700000000001.85,1700000000002.7502\n",
    );
    write(
        folder,
        "framework_raw_0.csv",
        "task_id,stream_id,block_dim,full_op_name,op_name,op_type,subgraph,op_info,model_id,kernel_type\n\
         0,3,32,Default/Conv2D-op1,Conv2D-op1,Conv2D,Default,\"{\"\"Input_0\"\": {\"\"format\"\": \"\"NCHW\"\", \
         \"\"data_type\"\": \"\"FLOAT16\"\", \"\"shape\"\": \"\"32,3,224,224\"\"}}\",1,AI_CORE\n",
    );
    write(
        folder,
        "aicore_intermediate_0_detail.csv",
        "full_op_name,task_duration,execution_frequency,task_type\nDefault/Conv2D-op1,1.5,2,AI_CORE\n",
    );
    write(
        folder,
        "ascend_timeline_display_0.json",
        r#"[{"name": "process_name", "pid": 10, "args": {"name": "Ascend Hardware"}, "ph": "M"},
            {"name": "process_name", "pid": 11, "args": {"name": "CANN"}, "ph": "M"},
            {"name": "launch", "pid": 11, "tid": 1, "ph": "X", "ts": "1700000000000000.0", "dur": 90},
            {"name": "Default/Conv2D-op1", "pid": 10, "tid": 3, "ph": "X", "ts": "1700000000000000.0", "dur": 1500.0,
             "args": {"Task Type": "AI_CORE"}},
            {"name": "Default/GetNext-op3", "pid": 10, "tid": 4, "ph": "X", "ts": "1700000000001850.0", "dur": 800.0,
             "args": {"Task Type": "AI_CPU"}}]"#,
    );
}

#[test]
fn outputs_of_mindspore_since_2_1_are_read_in_milliseconds_on_one_clock() {
    let folder = tempfile::tempdir().unwrap();
    mindspore_of_2023(folder.path());
    let read = read(folder.path());
    let conv = |start| ("Default/Conv2D-op1".to_owned(), "Conv2D".to_owned(), Some(0), start, 1_500_000);
    // The graph doesn't tell its type, in whose place its name stands.
    let name = || "Default/ReLU-op2".to_owned();
    let relu = (name(), name(), Some(0), 1_550_000, 250_000);
    let next = ("GetNext".to_owned(), "GetNext".to_owned(), Some(0), 1_850_000, 800_000);
    assert_eq!(tasks(&read.trace), [conv(0), relu, conv(2_700_200), next]);
    let units = read.trace.tasks.unit();
    assert_eq!((units[0], units[3]), (ExecutionUnit::AiCore, ExecutionUnit::AiCpu));
    let types: Vec<_> = read.trace.tensors.iter().map(|(_, row)| row.data_type).collect();
    assert_eq!(types, [DataType::Float16]);
    let figure = "operator: aicore_intermediate_detail||Default/Conv2D-op1||mean = 1500000 ns";
    assert!(figures(&read.trace).contains(&figure.to_owned()), "{:?}", figures(&read.trace));
    let losses = read.trace.losses.iter().map(|(_, row)| row);
    let lost: Vec<_> = losses.filter(|row| row.kind != LossKind::FileNotNeeded).collect();
    assert_eq!((lost.len(), lost[0].kind), (1, LossKind::UnitOfValues));
    assert_eq!(read.trace.strings.get(lost[0].detail), "output_timeline_data_0.txt, first on line 2");
}

#[test]
fn a_timeline_of_mindspore_stands_in_for_a_table_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    mindspore_of_2023(folder.path());
    for table in
        ["op_name,when,how_long\nDefault/Conv2D-op1,1,2\n", "op_name,stream_id,start_time(us),duration(ms)\n"]
    {
        write(folder.path(), "output_timeline_data_0.txt", table);
        let read = read(folder.path());
        let found: Vec<_> = tasks(&read.trace)
            .into_iter()
            .map(|(name, .., start, duration)| (name, start, duration))
            .collect();
        assert_eq!(
            found,
            [
                ("Default/Conv2D-op1".to_owned(), 0, 1_500_000),
                ("Default/GetNext-op3".to_owned(), 1_850_000, 800_000)
            ]
        );
        assert_eq!(read.trace.tasks.unit(), [ExecutionUnit::AiCore, ExecutionUnit::AiCpu]);
        assert_eq!(count(&read.trace, LossKind::PlacelessRow), 1);
        assert!(matches!(fate(&read, "ascend_timeline_display_0.json"), FileFate::Read(_)));
        assert!(matches!(fate(&read, "aicpu_intermediate_0.csv"), FileFate::NotNeeded(_)));
    }
}

#[test]
fn losses_of_files_of_a_folder_name_their_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "kernel_details.csv",
        &format!("{HEADINGS}{}0,cut\n", row(0, "1736412474730135.222", "0.5")),
    );
    write(
        folder.path(),
        "memory_record.csv",
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\nPTA,,1,2,NPU:0\n",
    );
    write(
        folder.path(),
        "step_trace_time.csv",
        "Step,Computing,Communication(Not Overlapped),Free\n1,x,y,z\n",
    );
    let trace = read(folder.path()).trace;
    let of = |kind| {
        let rows = trace.losses.iter().map(|(_, row)| row).filter(move |row| row.kind == kind);
        let mut places: Vec<_> = rows.map(|row| trace.strings.get(row.detail)).collect();
        places.sort_unstable();
        places
    };
    assert_eq!(of(LossKind::ShortRow), ["kernel_details.csv, first on line 3"]);
    assert_eq!(of(LossKind::SampleWithoutTime), ["memory_record.csv, first on line 2"]);
    assert_eq!(of(LossKind::FigureNotRead), ["step_trace_time.csv, first on line 2"]);
}

#[test]
fn tables_of_mindspore_about_data_are_figures() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = folder.path().join("ASCEND_PROFILER_OUTPUT");
    write(&outputs, "kernel_details.csv", &format!("{HEADINGS}{}", row(0, "1736412474730135.222", "0.5")));
    write(
        &outputs,
        "minddata_pipeline_raw_0.csv",
        "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,output_queue_usage_rate,sample_interval,parent_id,children_id\n\
         0,Batch,4,,,,0,10,,[1]\n1,Shuffle,1,\"[10, 20]\",15.0,64,0.25,10,0,\"[2, 3]\"\n",
    );
    let stages = "Operation,Stage,Occurrences,Avg. time(us),Custom Info\nBatch,build,3,12.5,\n";
    write(&outputs, "dataset.csv", stages);
    let read = read(folder.path());
    let figures = figures(&read.trace);
    for figure in [
        "data-operation: minddata_pipeline_raw||Shuffle|1|use of its queue = 25 %",
        "data-operation: dataset||Batch|build|mean = 12500 ns",
    ] {
        assert!(figures.iter().any(|known| known == figure), "{figure}: {figures:#?}");
    }
    assert!(matches!(fate(&read, "ASCEND_PROFILER_OUTPUT/dataset.csv"), FileFate::Read(_)));
}

#[test]
fn a_file_that_cannot_be_read_costs_what_it_holds_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "msprof_20260102000003.json", TIMELINE);
    write(folder.path(), "op_summary_20260102000003.csv", "");
    write(folder.path(), "msprof_20260102000003.db", "no database");
    let read = read(folder.path());
    assert_eq!(tasks(&read.trace).len(), 1);
    assert_eq!(count(&read.trace, LossKind::FileNotRead), 2);
    for file in ["op_summary_20260102000003.csv", "msprof_20260102000003.db"] {
        assert!(matches!(fate(&read, file), FileFate::Failed(_)), "{file}: {:?}", fate(&read, file));
    }

    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "msprof_20260102000003.json", "[");
    let table = format!("{HEADINGS}{}", row(0, "1736412474730135.222", "0.5"));
    write(folder.path(), "op_summary_slice_0_20260102000003.csv", &table);
    write(folder.path(), "op_summary_slice_1_20260102000003.csv", "");
    let read = self::read(folder.path());
    assert_eq!(tasks(&read.trace).len(), 1);
    assert_eq!(count(&read.trace, LossKind::FileNotRead), 2);
}

#[test]
fn the_parts_of_a_timeline_that_was_split_are_one_with_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let second = TIMELINE.replace("730135", "730235");
    write(folder.path(), "msprof_slice_0_20260102000003.json", TIMELINE);
    write(folder.path(), "msprof_slice_1_20260102000003.json", &second);
    let rows = [row(0, "1736412474730135.222", "0.5"), row(0, "1736412474730235.222", "0.25")].concat();
    write(folder.path(), "op_summary_20260102000003.csv", &format!("{HEADINGS}{rows}"));
    let read = read(folder.path());
    assert_eq!((tasks(&read.trace).len(), read.trace.readings.len()), (2, 2));
    assert_eq!(read.trace.operators.len(), 1);
    assert!(read.files.iter().all(|file| matches!(file.fate, FileFate::Read(_))), "{:?}", read.files);
}

#[test]
fn a_folder_of_sums_alone_is_read_as_figures() {
    let folder = tempfile::tempdir().unwrap();
    let steps = "Step,Computing,Communication(Not Overlapped),Free\n1,5,6,7\n";
    write(folder.path(), "ASCEND_PROFILER_OUTPUT/step_trace_time.csv", steps);
    let read = read(folder.path());
    assert!(read.trace.tasks.is_empty());
    assert!(figures(&read.trace).contains(&"step: step_trace_time|1|||computing = 5000 ns".to_owned()));
    let nothing = tempfile::tempdir().unwrap();
    write(nothing.path(), "notes.txt", "words");
    assert!(!super::is_folder(nothing.path()));
}

#[test]
fn operators_of_the_lowest_level_are_known_by_name_and_have_what_caches_did() {
    let table = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n\
                 5,conv1,N/A,N/A,1736412474730135.222\t,5.5,0,0\n";
    let timeline = TIMELINE.replace("\"Physic", "\"Task Id\":7,\"Physic");
    for with_timeline in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "kernel_details.csv", table);
        if with_timeline {
            write(folder.path(), "trace_view.json", &timeline);
        }
        write(
            folder.path(),
            "l2_cache.csv",
            "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,7,N/A,0.25,conv1\n",
        );
        let trace = read(folder.path()).trace;
        assert_eq!((trace.tasks.len(), trace.operators.len()), (1, 1), "{with_timeline}");
        assert_eq!((tasks(&trace)[0].0.as_str(), tasks(&trace)[0].1.as_str()), ("conv1", "conv1"));
        let victims = trace
            .readings
            .ids()
            .flat_map(|id| trace.readings_of(id))
            .filter(|(id, _)| trace.strings.get(trace.metrics.get(*id).name) == "l2_victim_rate");
        assert_eq!(
            victims.map(|(_, value)| value).collect::<Vec<_>>(),
            if with_timeline { vec![0.25] } else { vec![] }
        );
        // A table without streams tells no places for them, which is said.
        assert_eq!(count(&trace, LossKind::ValueWithoutTask), u64::from(!with_timeline));
    }
}

/// The number and nanoseconds of the tasks of each type that compute.
fn by_type(trace: &Trace) -> BTreeMap<String, (u64, f64)> {
    let mut found: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for (_, task) in trace.tasks.iter().filter(|(_, task)| task.unit != ExecutionUnit::Communication) {
        let Some(operator) = task.operator else { continue };
        let op_type = trace.strings.get(trace.operators.get(operator).op_type);
        let (count, time) = found.entry(op_type.to_owned()).or_default();
        *count += 1;
        *time += task.duration.0 as f64;
    }
    found
}

#[test]
fn real_folders_have_the_sums_of_an_independent_program_and_all_their_files() {
    let Some(data) = opscope_testing::companions::shared("data/ascend-pytorch") else { return };
    let python = std::env::var_os("OPSCOPE_PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/sums_of_folder.py");
    let mut compared = 0;
    for folder in std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path()) {
        let output =
            std::process::Command::new(&python).arg(&script).arg(&folder).output().expect("a Python 3");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let expected: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let read = read(&folder);
        let place = folder.display();

        let names: Vec<_> = read.files.iter().map(|file| file.name.as_str()).collect();
        let mut listed: Vec<_> =
            expected["files"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        listed.sort_by_key(|name| names.iter().position(|known| known == name));
        assert_eq!(names, listed, "{place}");
        let understood = |fate: &FileFate| matches!(fate, FileFate::Read(_) | FileFate::NotNeeded(_));
        assert!(read.files.iter().all(|file| understood(&file.fate)), "{place}: {:?}", read.files);

        let types: BTreeMap<String, (u64, f64)> = serde_json::from_value(expected["types"].clone()).unwrap();
        // At the lowest level a database knows no types, and the names of operators stand in.
        let found = by_type(&read.trace);
        let sum = |types: &BTreeMap<String, (u64, f64)>| {
            types.values().fold((0, 0.0), |(count, time), (more, longer)| (count + more, time + longer))
        };
        assert_eq!(sum(&found), sum(&types), "{place}");
        if types.len() > 1 {
            assert_eq!(found, types, "{place}");
        }

        for (source, name) in [
            ("step_trace_time", "computing"),
            ("op_statistic", "total"),
            ("api_statistic", "total"),
            ("operator_memory", "size"),
            ("static_op_mem", "size"),
            ("operator_details", "host"),
        ] {
            let Some(expected) = expected["tables"][source][1].as_f64() else { continue };
            let text = |id| read.trace.strings.get(id);
            let of_table = |row: &Figure| text(row.source) == source && text(row.name) == name;
            let rows = read.trace.figures.iter().map(|(_, row)| row).filter(of_table);
            let found: f64 = rows.map(|row| row.value).sum();
            assert!((found - expected).abs() <= expected * 1e-9, "{place}, {source}: {found} for {expected}");
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared} tables");
}

#[test]
fn files_of_mindspores_whose_stand_in_is_not_there_are_told_as_not_read() {
    let folder = tempfile::tempdir().unwrap();
    mindspore_of_2021(folder.path(), 1);
    write(folder.path(), "output_op_compute_time_1.txt", "optype,time\n");
    let fate = |read: &Folder, name: &str| fate(read, name).clone();
    assert!(matches!(fate(&read(folder.path()), "output_op_compute_time_1.txt"), FileFate::NotNeeded(_)));
    for name in ["aicore_intermediate_1_type.csv", "aicore_intermediate_1_detail.csv"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let without = read(folder.path());
    let FileFate::Failed(why) = fate(&without, "output_op_compute_time_1.txt") else { panic!("{without:?}") };
    assert!(why.starts_with("aicore_intermediate, "), "{why}");
    assert_eq!(count(&without.trace, LossKind::FileNotRead), 1);
}

#[test]
fn operators_on_the_ai_cpu_are_read_whatever_their_type_is_called() {
    let folder = tempfile::tempdir().unwrap();
    mindspore_of_2021(folder.path(), 1);
    let as_before = tasks(&read(folder.path()).trace);
    let path = folder.path().join("aicpu_intermediate_1.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("kernel_type", "op_type")).unwrap();
    assert_eq!(tasks(&read(folder.path()).trace), as_before);
}

#[test]
fn a_timeline_of_mindspores_is_read_as_far_as_it_is_whole() {
    let event = |name: &str, start: &str| {
        format!(
            r#"{{"name": "{name}", "ph": "X", "pid": 1, "tid": 3, "ts": {start}, "dur": 5.0, "args": {{"type": "Conv2D"}}}}"#
        )
    };
    let whole = [event("a", "154907895100.0"), event("b", "154907895200.0"), event("c", "154907895300.0")];
    let cut = &format!("[{}]", whole.join(","));
    let other = format!("[{},{},{}]", whole[0], whole[1].replace("\"ph\": \"X\"", "\"ph\": 7"), whole[2]);
    for (text, tasks_left, kind) in
        [(&cut[..cut.len() - 30], 2, LossKind::CutEventList), (&other, 2, LossKind::EventNoObject)]
    {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "ascend_timeline_display_1.json", text);
        let read = read(folder.path());
        assert_eq!(read.trace.tasks.len(), tasks_left, "{kind:?}");
        assert_eq!(count(&read.trace, kind), 1, "{kind:?}");
    }
}

#[test]
fn ranges_that_the_table_of_each_inference_has_are_taken_once() {
    let folder = tempfile::tempdir().unwrap();
    let headings = "pid,tid,event_type,Start_time(ns),End_time(ns),message\n";
    let range = "1,1,start/end,1736412474730130000,1736412474730160000,hello\n";
    let later = "1,1,start/end,1736412474730140000,1736412474730160000,hello\n";
    for (device, inference) in [(0, 1), (0, 2), (1, 1)] {
        let name = |kind: &str| format!("device_{device}/summary/{kind}_{device}_1_{inference}.csv");
        let tasks = format!("{HEADINGS}{}", row(device, "1736412474730135.222", "0.5"));
        write(folder.path(), &name("op_summary"), &tasks);
        // The program marked one of them twice.
        write(folder.path(), &name("msprof_tx"), &format!("{headings}{range}{range}{later}"));
    }
    let trace = read(folder.path()).trace;
    let zero = trace.clock.unix_zero.unwrap();
    let starts: Vec<i64> = trace.ranges.start().iter().map(|start| start.0 + zero).collect();
    assert_eq!(starts, [1_736_412_474_730_130_000, 1_736_412_474_730_130_000, 1_736_412_474_730_140_000]);
    assert_eq!(count(&trace, LossKind::RepeatedRecord), 6);
}
