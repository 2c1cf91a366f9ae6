//! Reading databases: real ones, those of the reference, and small ones of every shape and state.

mod damage;

use std::path::{Path, PathBuf};

use opscope_formats::reading::Stop;
use opscope_trace::*;
use rusqlite::Connection;

use super::{ReadError, looks_like, read_bytes, read_file};
use crate::read::testing::shared;

fn losses(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    (trace.losses.iter())
        .map(|(_, row)| format!("{} {} ({})", row.count, row.kind, text(row.detail)))
        .collect()
}

/// The first file in a folder of the reference's outputs that is a database.
fn golden_database(case: &str) -> Option<PathBuf> {
    let folder = shared(&format!("golden/ascend/{case}/oracle_cpp"))?;
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "db"))
}

/// The trace as opscope's own database, which holds all of it.
fn stored(trace: &Trace) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.db");
    opscope_formats::sqlite::write_file(trace, &path).unwrap();
    std::fs::read(path).unwrap()
}

/// The tasks that compute: their number and the sum of their durations in nanoseconds.
fn computing(trace: &Trace) -> (usize, i64) {
    let computes = |task: &Task| task.operator.is_some() && task.unit != ExecutionUnit::Communication;
    let tasks: Vec<_> = trace.tasks.iter().map(|(_, task)| task).filter(computes).collect();
    (tasks.len(), tasks.iter().map(|task| task.duration.0).sum())
}

#[test]
fn the_database_of_a_real_run_gives_the_figures_of_independent_queries() {
    let run = "data/ascend-pytorch/db_level2_rank0/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db";
    let Some(path) = shared(run) else { return };
    assert!(looks_like(&path));
    let trace = read_file(&path, &Stop::default()).unwrap();
    assert_eq!(computing(&trace), (187, 8_900_456));
    // 17 of the table's rows are told by their parts.
    assert_eq!(trace.tasks.len(), 552 + 4 - 17);
    assert!(
        losses(&trace).iter().any(|loss| loss.starts_with("17 device task that is shown by its sub-tasks"))
    );
    assert_eq!(trace.api_calls.len(), 1_133 + 2_460);
    let launched = trace.tasks.launched_by().iter().flatten().count();
    // 550 tasks, the whole ones among them, and 4 collective operations name a call that is in the database.
    assert_eq!(launched, 554 - 17);
    assert_eq!(trace.iterations.number(), [50]);
    let [step] = trace.iterations.ids().collect::<Vec<_>>()[..] else { panic!() };
    let in_step = |task: &Task| task.operator.is_some() && task.iteration == Some(step);
    assert_eq!(trace.tasks.iter().filter(|(_, task)| in_step(task)).count(), 191);
    let collective: i64 = (trace.tasks.iter())
        .filter(|(_, task)| task.unit == ExecutionUnit::Communication)
        .map(|(_, task)| task.duration.0)
        .sum();
    assert_eq!(collective, 94_107_521);

    let first = trace.operators.get(trace.tasks.operator().iter().flatten().copied().next().unwrap());
    let text = |id| trace.strings.get(id);
    assert_eq!((text(first.name), text(first.op_type)), ("trans_TransData_0", "TransData"));
    let input = first.inputs().next().unwrap();
    assert_eq!(trace.shape(input), Some([32, 3, 224, 224].as_slice()));
    assert_eq!(trace.tensors.data_type()[input.index()], DataType::Float32);
    assert_eq!(trace.tensors.layout()[input.index()].map(text), Some("NCHW"));
    assert_eq!(trace.run.host.as_deref(), Some("ubuntu"));
    // 185 tasks have 28 metrics each; two more know only their numbers of blocks.
    assert_eq!(trace.readings.len(), 187);
    assert!(!losses(&trace).iter().any(|loss| loss.contains("TASK_PMU_INFO")));
    let found =
        |name, unit| trace.metrics.iter().find(|(_, row)| (text(row.name), text(row.unit)) == (name, unit));
    let (time, _) = found("aiv_time", "us").unwrap();
    let longest = trace.metric_values(time).map(|(_, value)| value).fold(0.0, f64::max);
    assert!((longest - 693.514_837_962_963).abs() < 1e-9, "{longest}");
    let (blocks, _) = found("block_num", "").unwrap();
    let first_blocks = trace.metric_values(blocks).next().map(|(_, value)| value);
    assert_eq!(first_blocks, Some(32.0));
    // Whether it is read from its file or from its bytes is the same.
    let again = read_bytes(&std::fs::read(&path).unwrap(), &path, &Stop::default()).unwrap();
    assert_eq!(stored(&again), stored(&trace));
}

/// The sum of a figure.
fn figure_sum(trace: &Trace, topic: FigureTopic, name: &str) -> f64 {
    let is_it = |row: &Figure| row.topic == topic && trace.strings.get(row.name) == name;
    trace.figures.iter().map(|(_, row)| row).filter(is_it).map(|row| row.value).sum()
}

#[test]
fn the_figures_of_real_databases_sum_up_to_those_of_independent_queries() {
    let run = "data/ascend-pytorch/db_level1_rank0/ASCEND_PROFILER_OUTPUT";
    let Some(folder) = shared(run) else { return };
    let trace = read_file(&folder.join("ascend_pytorch_profiler_0.db"), &Stop::default()).unwrap();
    let sums = read_file(&folder.join("analysis.db"), &Stop::default()).unwrap();
    let is_near =
        |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found} for {expected}");
    is_near(figure_sum(&trace, FigureTopic::Allocation, "size"), 1_495_289_344.0);
    is_near(figure_sum(&trace, FigureTopic::Allocation, "allocations"), 184.0);
    is_near(figure_sum(&trace, FigureTopic::Allocation, "not released"), 24.0);
    is_near(figure_sum(&trace, FigureTopic::Link, "size"), 488_806_752.0);
    is_near(figure_sum(&trace, FigureTopic::Link, "transit"), 28_715_084.0);
    is_near(figure_sum(&trace, FigureTopic::Link, "count"), 72.0);
    is_near(figure_sum(&sums, FigureTopic::Step, "computing"), 8_903_431.0);
    is_near(figure_sum(&sums, FigureTopic::Collective, "elapsed"), 102_108_100.093_75);
    is_near(figure_sum(&sums, FigureTopic::Collective, "wait"), 3_689_573.718_75);
    is_near(figure_sum(&sums, FigureTopic::Transport, "size"), 855_192_192.0);
    is_near(figure_sum(&sums, FigureTopic::Link, "size"), 1_111_864_008.0);
    // 500 tasks and 4 collective operations name a call of PyTorch's; 17 whole tasks are told by their parts.
    assert_eq!(trace.launch_sites.len(), 500 + 4 - 17);
    let asked = trace.launch_sites.call().iter().map(|call| trace.api_calls.level()[call.index()]);
    assert!(asked.into_iter().all(|level| level == ApiLevel::Framework));
    let stack = trace.launch_sites.stack().iter().flatten().next().map(|stack| trace.strings.get(*stack));
    assert!(stack.unwrap().lines().any(|line| line.ends_with("main.py(354): train")), "{stack:?}");
    assert!(!losses(&trace).iter().any(|loss| loss.contains("OP_MEMORY") || loss.contains("CALLCHAINS")));
}

#[test]
fn a_database_without_metrics_is_read_as_well() {
    let run = "data/ascend-pytorch/db_level0_rank0/ASCEND_PROFILER_OUTPUT";
    let Some(folder) = shared(run) else { return };
    let trace = read_file(&folder.join("ascend_pytorch_profiler_0.db"), &Stop::default()).unwrap();
    assert_eq!(computing(&trace).0, 187);
    assert_eq!(trace.iterations.len(), 1);
    // The database beside it holds only sums, which are figures.
    let sums = folder.join("analysis.db");
    assert!(looks_like(&sums));
    let sums = read_file(&sums, &Stop::default()).unwrap();
    assert_eq!((sums.tasks.len(), sums.figures.len()), (0, 9));
    assert_eq!(figure_sum(&sums, FigureTopic::Step, "computing"), 8_843_910.0);
}

#[test]
fn the_reference_databases_agree_with_the_reference_timelines() {
    for case in ["910b_static", "910b_dynamic_flip", "910_static"] {
        let Some(path) = golden_database(case) else { return };
        let database = read_file(&path, &Stop::default()).unwrap();
        let timeline = path.with_file_name("mindstudio_profiler_output");
        let timeline = std::fs::read_dir(timeline).unwrap().map(|entry| entry.unwrap().path());
        let is_timeline =
            |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("msprof_2");
        let timeline = timeline.into_iter().find(is_timeline).unwrap();
        let timeline = opscope_formats::chrome::read_with(
            &std::fs::read(timeline).unwrap(),
            &[&crate::timeline::AscendTimeline],
            &Stop::default(),
        )
        .unwrap();
        let tasks = |trace: &Trace| {
            let zero = trace.clock.unix_zero.unwrap();
            let mut rows: Vec<_> = (trace.tasks.iter())
                .filter(|(_, task)| task.operator.is_some())
                .map(|(_, task)| {
                    let call = task.launched_by.map(|call| {
                        let call = trace.api_calls.get(call);
                        (trace.strings.get(call.name).to_owned(), call.start.0 + zero, call.level)
                    });
                    let name = trace.strings.get(task.name).to_owned();
                    (task.start.0 + zero, name, task.unit, call, task.iteration, task.duration)
                })
                .collect();
            rows.sort();
            rows
        };
        let (database_rows, timeline_rows) = (tasks(&database), tasks(&timeline));
        assert!(database_rows.len() >= 100, "{case}: {}", database_rows.len());
        assert_eq!(database_rows.len(), timeline_rows.len(), "{case}");
        for (mut from_database, from_timeline) in database_rows.into_iter().zip(timeline_rows) {
            // The database cuts off parts of a nanosecond that the timeline rounds.
            let difference = from_timeline.5 - from_database.5;
            assert!((0..=1).contains(&difference.0), "{case}: {from_database:?} {from_timeline:?}");
            from_database.5 = from_timeline.5;
            assert_eq!(from_database, from_timeline, "{case}");
        }
        assert_eq!(database.ranges.len(), timeline.ranges.len(), "{case}");
    }
}

/// A database with the given tables.
fn database(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    // Characters that mean something in a URI mean nothing in a path.
    let path = folder.path().join("msprof 100%?#.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;").unwrap();
    connection.execute_batch(sql).unwrap();
    (folder, path)
}

fn read_sql(sql: &str) -> Result<Trace, ReadError> {
    let (_folder, path) = database(sql);
    read_file(&path, &Stop::default())
}

/// All principal tables with a row or two.
const SMALL: &str = r#"
    CREATE TABLE META_DATA (name TEXT, value TEXT);
    INSERT INTO META_DATA VALUES ('SCHEMA_VERSION', '1.2.0'), ('SCHEMA_VERSION_MAJOR', '1'), ('note', 'x');
    CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER, endTimeNs INTEGER);
    INSERT INTO SESSION_TIME_INFO VALUES (1760000000000000000, 1760000000100000000);
    CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
    INSERT INTO NPU_INFO VALUES (3, 'Ascend910B');
    CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO STRING_IDS VALUES (1, 'KERNEL_AICORE'), (2, 'conv1'), (3, 'Conv2D'), (4, 'AI_CORE'),
        (5, '"1,3;"'), (6, 'FLOAT16;INT32'), (7, 'NCHW;ND'), (8, 'launch'), (9, 'N/A'), (10, 'read'),
        (11, 'allReduce'), (12, 'group'), (13, 'phase'), (14, 'EVENT_WAIT'), (15, 'aic_total_time');
    CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
        globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
    INSERT INTO TASK VALUES
        (1760000000000001000, 1760000000000003000, 3, 77, 0, 5, 1, 4294967295, 2, 1, 9),
        (1760000000000004000, 1760000000000005000, 3, 78, 1, 5, 14, 4294967295, 2, 2, 9),
        (1760000000000011000, 1760000000000013500, 3, 77, 0, 5, 1, 4294967295, 2, 1, 9),
        (1760000000000014000, 1760000000000015000, 3, 78, 1, 5, 14, 4294967295, 2, 2, 9),
        (1760000000000020000, 1760000000000029000, 3, 79, 2, 5, 1, 4294967295, 4, 7, 4294967295),
        (1760000000000021000, 1760000000000028000, 3, 79, 3, 5, 4, 0, 4, 7, 4294967295);
    CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, taskType INTEGER, opType INTEGER,
        inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, outputFormats INTEGER, outputDataTypes INTEGER,
        outputShapes INTEGER);
    INSERT INTO COMPUTE_TASK_INFO VALUES (2, 0, 4, 3, 7, 6, 5, 9, 9, 9), (2, 3, 4, 3, 9, 9, 9, 9, 9, 9);
    CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY, name INTEGER);
    INSERT INTO CANN_API VALUES (1760000000000000500, 1760000000000000900, 10000, 21474836487, 77, 8);
    CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, type INTEGER);
    INSERT INTO PYTORCH_API VALUES ('1760000000000000100', '1760000000000000999', 21474836488, 1, 13, 50001),
        ('1760000000000000100', '1760000000000000200', 21474836488, 1, 13, 50004);
    CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, opType INTEGER);
    INSERT INTO COMMUNICATION_OP VALUES (11, 1760000000000030000, 1760000000000031000, 77, 12, 11);
    CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType INTEGER, message INTEGER, globalTid INTEGER, domainId INTEGER);
    INSERT INTO MSTX_EVENTS VALUES (1760000000000000200, 1760000000000000300, 2, 13, 21474836487, 12),
        (1760000000000000200, 1760000000000000200, 3, 13, 21474836487, NULL);
    CREATE TABLE HBM (deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER);
    INSERT INTO HBM VALUES (3, 1760000000000002000, 2.5, 0, 10), (3, 1760000000000001000, 1, 0, 10);
    CREATE TABLE NEW_SAMPLES (deviceId INTEGER, timestampNs INTEGER, railId INTEGER, volts REAL, amps REAL);
    INSERT INTO NEW_SAMPLES VALUES (3, 1760000000000003000, 7, 0.75, 12);
    CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);
    INSERT INTO TASK_PMU_INFO VALUES (0, 2, 1.5), (0, 2, 2.5), (0, 15, 3000), (0, 15, NULL);
    CREATE TABLE ENUM_API_TYPE (id INTEGER, name TEXT);
"#;

#[test]
fn kernels_that_launch_collectives_from_the_ai_cpu_have_their_names() {
    let sql = format!(
        "{SMALL} INSERT INTO STRING_IDS VALUES (20, 'AllReduceAicpuKernel'), (21, 'AI_CPU'), (22, 'KERNEL_AICPU');
        INSERT INTO TASK VALUES
            (1760000000000040000, 1760000000000060000, 3, 80, 4, 5, 22, 4294967295, 2, 9, 9);
        CREATE TABLE COMMUNICATION_SCHEDULE_TASK_INFO
            (name INTEGER, globalTaskId INTEGER PRIMARY KEY, taskType INTEGER, opType INTEGER);
        INSERT INTO COMMUNICATION_SCHEDULE_TASK_INFO VALUES (20, 4, 21, 20);"
    );
    let trace = read_sql(&sql).unwrap();
    let found = trace.tasks.iter().find(|(_, task)| trace.strings.get(task.name) == "AllReduceAicpuKernel");
    let (_, task) = found.expect("the kernel");
    assert_eq!((task.unit, task.duration.0), (ExecutionUnit::AiCpu, 20_000));
    assert!(task.operator.is_some());
    let unread = |row: Loss| trace.strings.get(row.detail).contains("SCHEDULE");
    assert!(!trace.losses.iter().any(|(_, row)| unread(row)));
}

#[test]
fn every_table_finds_its_place() {
    let trace = read_sql(SMALL).unwrap();
    let text = |id| trace.strings.get(id);
    assert_eq!(trace.clock.unix_zero, Some(1_760_000_000_000_000_000));
    let tasks: Vec<_> = (trace.tasks.iter())
        .map(|(_, task)| {
            (text(task.name), task.unit, task.start.0, task.duration.0, task.launched_by.is_some())
        })
        .collect();
    assert_eq!(
        tasks,
        [
            ("conv1", ExecutionUnit::AiCore, 1_000, 2_000, true),
            ("EVENT_WAIT", ExecutionUnit::Control, 4_000, 1_000, false),
            ("conv1", ExecutionUnit::AiCore, 11_000, 2_500, true),
            ("EVENT_WAIT", ExecutionUnit::Control, 14_000, 1_000, false),
            // It stands for the whole task of which it is the part.
            ("conv1", ExecutionUnit::AiCore, 21_000, 7_000, false),
            ("allReduce", ExecutionUnit::Communication, 30_000, 1_000, true),
        ]
    );
    let operator = trace.operators.get(trace.tasks.operator()[0].unwrap());
    let shapes: Vec<_> = operator.inputs().map(|input| trace.shape(input).unwrap().to_vec()).collect();
    assert_eq!(
        (text(operator.op_type), shapes, operator.output_count),
        ("Conv2D", vec![vec![1, 3], vec![]], 0)
    );
    assert_eq!(trace.tasks.operator()[0], trace.tasks.operator()[2]);
    let device = trace.devices.get(DeviceId::from_index(0));
    assert_eq!((device.number, device.kind, text(device.name)), (3, DeviceKind::Npu, "Ascend 910B"));
    assert_eq!(trace.run.chip.as_deref(), Some("Ascend 910B"));

    let calls: Vec<_> = trace.api_calls.iter().map(|(_, call)| (text(call.name), call.level)).collect();
    assert_eq!(calls, [("launch", ApiLevel::Node), ("phase", ApiLevel::Framework)]);
    let thread = trace.threads.get(trace.api_calls.thread()[0].unwrap());
    assert_eq!((trace.processes.pid(), thread.tid), ([5].as_slice(), 7));
    let ranges: Vec<_> = trace.ranges.iter().map(|(_, row)| (row.kind, row.domain.map(text))).collect();
    assert_eq!(
        ranges,
        [(RangeKind::PushPop, None), (RangeKind::StartStop, Some("group")), (RangeKind::Mark, None)]
    );
    let counters: Vec<_> = trace.counters.iter().map(|(_, row)| (text(row.name), text(row.unit))).collect();
    assert_eq!(counters, [("HBM 0 read", "B/s"), ("NEW_SAMPLES 7 volts", ""), ("NEW_SAMPLES 7 amps", "")]);
    assert_eq!(trace.samples.value(), [1.0, 2.5, 0.75, 12.0]);
    assert!(trace.run.remarks.contains(&("note".to_owned(), "x".to_owned())));
    // The second value of a metric is that of the task's second run.
    let readings: Vec<_> = (trace.readings.iter())
        .map(|(id, reading)| {
            let named = |(metric, value)| (text(trace.metrics.get(metric).name), value);
            (reading.task.index(), trace.readings_of(id).map(named).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(readings, [(0, vec![("conv1", 1.5), ("aicore_time", 3.0)]), (2, vec![("conv1", 2.5)])]);
    assert_eq!(
        losses(&trace),
        [
            "1 device task that is shown by its sub-tasks (TASK)",
            "1 dropped: a value without a task, name or number (TASK_PMU_INFO)",
            "2 an inference of which no begin and end are recorded: it lasts from its first task to its last (TASK)"
        ]
    );
}

#[test]
fn the_runs_of_a_replayed_model_are_its_iterations() {
    let trace = read_sql(SMALL).unwrap();
    let runs: Vec<_> = (trace.iterations.iter())
        .map(|(_, row)| (row.model.is_some(), row.number, row.start.0, row.duration.0))
        .collect();
    assert_eq!(runs, [(true, 1, 1_000, 4_000), (true, 2, 11_000, 4_000)]);
    let of_tasks: Vec<_> = trace.tasks.iteration().iter().map(|id| id.map(IterationId::index)).collect();
    assert_eq!(of_tasks, [Some(0), Some(0), Some(1), Some(1), None, None]);
    // A task that ran more often than the others makes the runs uncertain.
    let more = "INSERT INTO TASK SELECT startNs + 100000, endNs + 100000, deviceId, connectionId, globalTaskId, \
                globalPid, taskType, contextId, streamId, taskId, modelId FROM TASK WHERE rowid = 1;";
    assert_eq!(read_sql(&format!("{SMALL}{more}")).unwrap().iterations.len(), 0);
    // Steps that PyTorch marked go before.
    let steps = "CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER); \
                 INSERT INTO STEP_TIME VALUES (8, 1760000000000000000, 1760000000000005000);";
    let trace = read_sql(&format!("{SMALL}{steps}")).unwrap();
    assert_eq!(trace.iterations.number(), [8]);
    // The third task runs later, but its call is the one of the first.
    let of_tasks: Vec<_> = trace.tasks.iteration().iter().map(Option::is_some).collect();
    assert_eq!(of_tasks, [true, true, true, false, false, true]);
}

#[test]
fn missing_tables_and_columns_cost_only_what_they_hold() {
    let trace = read_sql(
        "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER); \
         INSERT INTO TASK VALUES (10, 30), (40, 50), (60, 55), (NULL, 70), (80, -9223372036854775808);",
    )
    .unwrap();
    let times: Vec<_> = trace.tasks.iter().map(|(_, task)| (task.start.0, task.duration.0)).collect();
    assert_eq!(times, [(10, 20), (40, 10)]);
    assert_eq!(trace.clock.unix_zero, None);
    assert_eq!(
        losses(&trace),
        [
            "1 dropped: a row that ends before it starts (TASK)",
            "2 dropped: a row without a start or end (TASK)"
        ]
    );
}

#[test]
fn the_chip_is_named_as_in_raw_directories_and_an_unknown_one_not_at_all() {
    let chip = |name: &str| read_sql(&SMALL.replace("Ascend910B", name)).unwrap().run.chip;
    assert_eq!(chip("Ascend910A").as_deref(), Some("Ascend 910"));
    assert_eq!(chip("Ascend1010").as_deref(), Some("Ascend1010"));
    assert_eq!(chip("UNKNOWN"), None);
}

#[test]
fn an_unknown_version_is_noted_and_read() {
    let trace = read_sql(&SMALL.replace("'1.2.0'", "'2.0.0'")).unwrap();
    assert_eq!(trace.tasks.len(), 6);
    assert_eq!(losses(&trace)[0], "1 doubtful: the tables have a version that is not known (2.0.0)");
}

#[test]
fn texts_are_found_whether_or_not_they_have_a_key() {
    let without_key = SMALL.replace("STRING_IDS (id INTEGER PRIMARY KEY,", "STRING_IDS (id INTEGER,");
    let spelled = |sql: &str| stored(&read_sql(sql).unwrap());
    assert_eq!(spelled(&without_key), spelled(SMALL));
    let trace = read_sql(&format!("{SMALL} DELETE FROM STRING_IDS WHERE id = 2;")).unwrap();
    assert_eq!(losses(&trace)[3], "1 doubtful: a text is named that the database lacks (STRING_IDS)");
}

#[test]
fn the_database_and_its_folder_are_left_alone() {
    let (folder, path) = database(SMALL);
    let before = std::fs::read(&path).unwrap();
    read_file(&path, &Stop::default()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [path.file_name().unwrap()]);
}

#[test]
fn other_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    assert!(!looks_like(&path));
    assert!(read_file(&path, &Stop::default()).unwrap_err().to_string().contains("x.db"));
    std::fs::write(&path, "no database at all, but long enough to be looked at as if it were one").unwrap();
    assert!(!looks_like(&path));
    let error = read_file(&path, &Stop::default()).unwrap_err().to_string();
    assert!(error.contains("x.db") && error.contains("no SQLite database"), "{error}");
    assert!(read_bytes(b"", Path::new("y.db"), &Stop::default()).unwrap_err().to_string().contains("y.db"));
}

/// Two devices, and collective operations whose table has no devices.
const TWO_DEVICES: &str = "
    CREATE TABLE TASK (startNs, endNs, deviceId, connectionId, globalTaskId, streamId, taskId);
    INSERT INTO TASK VALUES (10, 20, 1, 5, 0, 3, 0), (30, 40, 4, 6, 1, 3, 0);
    CREATE TABLE COMMUNICATION_OP (opName, startNs, endNs, connectionId, groupName, opId);
    INSERT INTO COMMUNICATION_OP VALUES (0, 50, 60, 6, 0, 8), (0, 70, 80, 99, 0, 9), (0, 90, 95, 99, 0, 10);
    CREATE TABLE COMMUNICATION_TASK_INFO (opId, globalTaskId);
    INSERT INTO COMMUNICATION_TASK_INFO VALUES (9, 0);";

#[test]
fn collective_operations_are_on_the_device_of_their_steps_and_on_none_beside_it() {
    let devices = |sql: &str| {
        let trace = read_sql(sql).unwrap();
        let of_stream =
            |stream: StreamId| trace.devices.number()[trace.streams.device()[stream.index()].index()];
        let tasks: Vec<_> = (trace.tasks.iter())
            .filter(|(_, task)| task.unit == ExecutionUnit::Communication)
            .map(|(_, task)| task.stream.map(of_stream))
            .collect();
        (tasks, trace.devices.number().to_vec(), losses(&trace))
    };
    let (of_operations, all, _) = devices(SMALL);
    assert_eq!((of_operations, all), (vec![Some(3)], vec![3]));
    // The first by its connection, the second by its step; nothing tells the third.
    let (of_operations, all, losses) = devices(TWO_DEVICES);
    assert_eq!((of_operations, all), (vec![Some(4), Some(1), None], vec![1, 4]));
    assert_eq!(losses[0], "1 metadata missing or unusable, defaults used (COMMUNICATION_OP: device)");
    // Without tasks, the only device that the database names.
    let alone = "CREATE TABLE TASK (startNs, endNs); CREATE TABLE NPU_INFO (id, name);
        INSERT INTO NPU_INFO VALUES (1, 'Ascend910B'); CREATE TABLE COMMUNICATION_OP (startNs, endNs);
        INSERT INTO COMMUNICATION_OP VALUES (1, 2);";
    assert_eq!(devices(alone), (vec![Some(1)], vec![1], vec![]));
}
