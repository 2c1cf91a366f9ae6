//! Nothing is lost or made on the way: number and summed time of tasks, calls, ranges and iterations
//! are the same in the native tables, the trace, opscope's database, the vendor's tables, its timeline and
//! its database, or the difference is counted.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use opscope_cann::join::Joined;
use opscope_cann::tables::NO_MODEL;
use opscope_cann::{
    Data, ExportOptions, IterationRange, LossKind, SampleLayout, SampleMode, SampleOptions, discover,
    export_database, export_summary, export_timeline, to_trace, write_sample,
};
use opscope_cann_raw::Chip;
use opscope_formats::sqlite;
use opscope_trace::{DeviceKind, Nanoseconds, Trace};
use rusqlite::Connection;
use serde_json::Value;

/// How many there are, and how many nanoseconds they take together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    count: u64,
    time: f64,
}

impl Sum {
    fn add(&mut self, time: f64) {
        self.count += 1;
        self.time += time;
    }

    fn of(times: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = Self::default();
        times.into_iter().for_each(|time| sum.add(time));
        sum
    }

    fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, time: self.time + other.time }
    }

    fn without(self, other: Self) -> Self {
        Self { count: self.count - other.count, time: self.time - other.time }
    }
}

/// Number and time of the rows that a part of the project holds of a run. `None` where it has no rows of
/// the kind.
#[derive(Clone, Copy, Debug, Default)]
struct Holds {
    tasks: Option<Sum>,
    /// Tasks that execute an operator.
    operators: Option<Sum>,
    calls: Option<Sum>,
    ranges: Option<Sum>,
    iterations: Option<Sum>,
}

/// Each row of a table may be rounded by a nanosecond at either end, and by one more as text.
const ROUNDING: f64 = 3.0;

impl Holds {
    /// Makes sure that this part holds what `other` does, as far as both have such rows.
    #[track_caller]
    fn must_equal(&self, other: &Self, what: &str) {
        let pairs = [
            ("tasks", self.tasks, other.tasks),
            ("operators", self.operators, other.operators),
            ("calls", self.calls, other.calls),
            ("ranges", self.ranges, other.ranges),
            ("iterations", self.iterations, other.iterations),
        ];
        for (of, own, other) in pairs {
            let (Some(own), Some(other)) = (own, other) else { continue };
            assert_eq!(own.count, other.count, "{what}: number of {of}");
            let tolerance = ROUNDING * own.count as f64;
            let apart = (own.time - other.time).abs();
            assert!(apart <= tolerance, "{what}: time of {of}: {} and {}", own.time, other.time);
        }
    }
}

/// The rows of the native tables, less those counted as lost; and the wholes of tasks for which their parts
/// stand.
fn native(joined: &Joined) -> (Holds, Sum) {
    let (mut tasks, mut wholes, mut iterations) = (Sum::default(), Sum::default(), Sum::default());
    let (mut all, mut before_begin) = (0, 0);
    for (id, device) in &joined.data.devices {
        let (rows, of, clock) = (&device.tables.tasks, &joined.devices[id], &device.clock);
        let begin = device.metadata.session.begin.unwrap_or(i64::MIN);
        let span = |start: u64, end: u64| clock.monotonic_f64(end) - clock.monotonic_f64(start);
        for row in 0..rows.len() {
            let (start, end) = (rows.start()[row], rows.end()[row]);
            match () {
                () if clock.local(end) < begin => before_begin += 1,
                () if of.is_divided(&device.tables, row) => wholes.add(span(start, end)),
                () => tasks.add(span(start, end)),
            }
        }
        all += rows.len() as u64;
        for row in of.iterations.rows().filter(|row| row.model != NO_MODEL) {
            iterations.add(span(row.start, row.end));
        }
    }
    let losses = joined.all_losses();
    let left_out = losses.total(LossKind::TimeBeforeStart) + losses.total(LossKind::DividedTask);
    assert_eq!(
        (before_begin, all),
        (losses.total(LossKind::TimeBeforeStart), tasks.count + left_out),
        "{losses:?}"
    );
    let (host, clock) = (&joined.data.host, &joined.data.host_clock);
    let span = |begin: u64, end: u64| clock.monotonic_f64(end) - clock.monotonic_f64(begin);
    let of_system = Sum::of(host.os_calls.table.rows().map(|call| call.duration as f64));
    let holds = Holds {
        tasks: Some(tasks),
        operators: None,
        calls: Some(Sum::of(host.api.rows().map(|call| span(call.begin, call.end))).and(of_system)),
        ranges: Some(Sum::of(host.tx.rows().map(|range| span(range.start, range.end)))),
        iterations: Some(iterations),
    };
    (holds, wholes)
}

/// The devices' sides of the marks that the program set: tasks of the trace, but of no table.
fn marks(joined: &Joined) -> Sum {
    const MARK: u16 = 11;
    let host = &joined.data.host.tx;
    let mut spans: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
    for device in joined.data.devices.values() {
        for step in device.tables.steps.rows().filter(|step| step.model == NO_MODEL && step.tag == MARK) {
            let time = device.clock.local(step.time);
            let (first, last) = spans.entry(step.index).or_insert((time, time));
            (*first, *last) = ((*first).min(time), (*last).max(time));
        }
    }
    let of_program = host.rows().filter(|tx| tx.mstx).filter_map(|tx| spans.get(&tx.mark));
    Sum::of(of_program.map(|(first, last)| (last - first) as f64))
}

/// Collective operations as a whole: tasks of the trace, each in the stream of a group, but of no native table.
fn collectives(trace: &Trace) -> Sum {
    const FIRST_GROUP: u64 = 1 << 32;
    let is_of_group = |task: &opscope_trace::Task| {
        task.stream.is_some_and(|stream| trace.streams.number()[stream.index()] >= FIRST_GROUP)
    };
    let of_groups = trace.tasks.iter().filter(|(_, task)| is_of_group(task));
    Sum::of(of_groups.map(|(_, task)| task.duration.0 as f64))
}

/// The work of data processing units, whose lanes and tables are their own: all of it, and that with an operator.
fn data_processing_units(trace: &Trace) -> (Sum, Sum) {
    let is_of_unit = |task: &opscope_trace::Task| {
        task.stream.is_some_and(|stream| {
            trace.devices.get(trace.streams.get(stream).device).kind == DeviceKind::Other
        })
    };
    let of_units = || trace.tasks.iter().map(|(_, task)| task).filter(is_of_unit);
    let sum = |operators: bool| {
        let tasks = of_units().filter(|task| !operators || task.operator.is_some());
        Sum::of(tasks.map(|task| task.duration.0 as f64))
    };
    (sum(false), sum(true))
}

/// The units' own records.
fn records_of_units(joined: &Joined) -> Sum {
    let (tables, clock) = (&joined.data.host.dpu, &joined.data.host_clock);
    let tasks = tables.tasks.rows().map(|task| (task.start, task.end));
    let steps = tables.steps.rows().map(|step| (step.start, step.end));
    Sum::of(tasks.chain(steps).map(|(start, end)| clock.monotonic_f64(end) - clock.monotonic_f64(start)))
}

fn of_trace(trace: &Trace) -> Holds {
    let sum = |times: &[Nanoseconds]| Some(Sum::of(times.iter().map(|time| time.0 as f64)));
    let executing = trace.tasks.iter().filter(|(_, task)| task.operator.is_some());
    Holds {
        tasks: sum(trace.tasks.duration()),
        operators: Some(Sum::of(executing.map(|(_, task)| task.duration.0 as f64))),
        calls: sum(trace.api_calls.duration()),
        ranges: sum(trace.ranges.duration()),
        iterations: sum(trace.iterations.duration()),
    }
}

/// The rows of opscope's own database.
fn of_own_database(trace: &Trace, folder: &Path) -> Holds {
    let path = folder.join("opscope.db");
    sqlite::write_file(trace, &path).expect("space on disk");
    assert_eq!(sqlite::read_file(&path).expect("a database").tasks.len(), trace.tasks.len());
    let open = Connection::open(path).expect("a database");
    let sum = |rows: &str| {
        let query = format!("SELECT count(*), coalesce(sum(duration_ns), 0) FROM {rows}");
        Some(
            open.query_row(&query, [], |row| {
                Ok(Sum { count: row.get::<_, i64>(0)? as u64, time: row.get::<_, i64>(1)? as f64 })
            })
            .expect("a sum"),
        )
    };
    Holds {
        tasks: sum("tasks"),
        operators: sum("operator_executions"),
        calls: sum("api_calls"),
        ranges: sum("ranges"),
        iterations: sum("iterations"),
    }
}

/// The rows of an exported table; none if there is no such table.
fn rows(folder: &Path, kind: &str) -> Vec<BTreeMap<String, String>> {
    let Ok(mut reader) = csv::Reader::from_path(folder.join(format!("{kind}_0.csv"))) else {
        return Vec::new();
    };
    let headers = reader.headers().expect("headers").clone();
    let named = |row: csv::StringRecord| {
        headers.iter().map(str::to_owned).zip(row.iter().map(|cell| cell.trim().to_owned())).collect()
    };
    reader.records().map(|row| named(row.expect("a row"))).collect()
}

/// Nanoseconds of a cell in microseconds. Present-day times have more digits than a double.
fn nanoseconds(row: &BTreeMap<String, String>, column: &str) -> i64 {
    let cell = &row[column];
    let (whole, fraction) = cell.split_once('.').unwrap_or((cell, "0"));
    let digits = |text: &str| text.parse::<i64>().unwrap_or_else(|_| panic!("{column}: {cell}"));
    let thousandths = format!("{fraction:0<3}");
    digits(whole) * 1_000 + digits(&thousandths[..3])
}

/// The times in a column.
fn times(rows: &[BTreeMap<String, String>], column: &str) -> Sum {
    Sum::of(rows.iter().map(|row| nanoseconds(row, column) as f64))
}

/// The sum of rows that themselves are sums.
fn sum_of_sums(rows: &[BTreeMap<String, String>], count: &str, time: &str) -> Sum {
    let count = |row: &BTreeMap<String, String>| row[count].parse::<u64>().expect("a number");
    Sum { count: rows.iter().map(count).sum(), time: times(rows, time).time }
}

/// Makes sure that the shares of all rows of a device are the whole.
#[track_caller]
fn shares_are_the_whole(rows: &[BTreeMap<String, String>], column: &str) {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        *sums.entry(&row["Device_id"]).or_default() += row[column].parse::<f64>().expect("a share");
    }
    for (device, shares) in sums {
        let apart = (shares - 100.0).abs();
        assert!(apart < 0.001 * rows.len() as f64, "{column} of device {device}: {shares} %");
    }
}

/// The rows of the first device: on some chips a table of the host has all its rows for each device.
fn of_first_device(mut rows: Vec<BTreeMap<String, String>>) -> Vec<BTreeMap<String, String>> {
    let first = rows.first().map(|row| row["Device_id"].clone());
    rows.retain(|row| Some(&row["Device_id"]) == first.as_ref());
    rows
}

/// Whether steps of collective operations are among the tasks.
fn has_collectives(joined: &Joined) -> bool {
    !joined.communication.operations.is_empty()
}

/// The rows of the vendor's tables.
#[track_caller]
fn of_tables(joined: &Joined, folder: &Path, options: ExportOptions) -> Holds {
    export_summary(joined, folder, "0", options).expect("space on disk");
    let tasks = rows(folder, "task_time");
    let tasks = match tasks.first().is_some_and(|row| row.contains_key("Count")) {
        true => {
            shares_are_the_whole(&tasks, "Time(%)");
            sum_of_sums(&tasks, "Count", "Time(us)")
        }
        false => times(&tasks, "task_time(us)"),
    };
    let operators = Some(times(&rows(folder, "op_summary"), "Task Duration(us)"));
    let types = rows(folder, "op_statistic");
    shares_are_the_whole(&types, "Ratio(%)");
    // There, operations of several steps are single rows.
    let operators = operators.filter(|_| !has_collectives(joined));
    let by_type = Some(sum_of_sums(&types, "Count", "Total Time(us)"));
    let of_operators = |operators| Holds { operators, ..Holds::default() };
    of_operators(operators)
        .must_equal(&of_operators(by_type.filter(|_| operators.is_some())), "op_summary and op_statistic");
    let ranges = rows(folder, "msprof_tx");
    let ranges =
        ranges.iter().map(|row| nanoseconds(row, "End_time(us)") - nanoseconds(row, "Start_time(us)"));
    // With chosen iterations, calls and ranges are those around them.
    let is_whole = options.iterations.is_none();
    Holds {
        tasks: Some(tasks),
        operators,
        calls: is_whole.then(|| {
            let of_libraries = of_first_device(rows(folder, "api_statistic"));
            let of_system = rows(folder, "os_runtime_statistic");
            let [of_libraries, of_system] =
                [of_libraries, of_system].map(|rows| sum_of_sums(&rows, "Count", "Time(us)"));
            of_libraries.and(of_system)
        }),
        ranges: is_whole.then(|| Sum::of(ranges.map(|time| time as f64))),
        iterations: Some(times(&rows(folder, "step_trace"), "Iteration Time(us)")),
    }
}

/// The rows of the vendor's timeline.
fn of_timeline(joined: &Joined, folder: &Path, options: ExportOptions) -> Holds {
    export_timeline(joined, folder, "0", options).expect("space on disk");
    let text = std::fs::read_to_string(folder.join("msprof_0.json")).expect("a timeline");
    let events: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    // Parts of fused tasks stand beside the tasks.
    let is_part = |event: &Value| event["args"].get("Fusion Task Type").is_some();
    let slices = || events.iter().filter(|event| event["ph"] == "X" && !is_part(event));
    let time = |event: &Value| event["dur"].as_f64().expect("a duration") * 1_000.0;
    let with = |argument: &str| {
        Some(Sum::of(slices().filter(|event| event["args"].get(argument).is_some()).map(time)))
    };
    let system = events.iter().find(|event| event["args"]["name"] == "OS Runtime API");
    let of_system = slices().filter(|event| system.is_some_and(|system| event["pid"] == system["pid"]));
    let of_system = Sum::of(of_system.map(time));
    Holds {
        tasks: with("Task Type"),
        operators: None,
        calls: with("level").map(|calls| calls.and(of_system)).filter(|_| options.iterations.is_none()),
        ranges: None,
        iterations: with("Iteration Time(us)"),
    }
}

/// The rows of the vendor's database; nothing for chips without one.
fn of_database(joined: &Joined, folder: &Path) -> Option<Holds> {
    let open =
        Connection::open(export_database(joined, folder, "0").expect("space on disk")?).expect("a database");
    let sum = |rows: &str| {
        let query = format!("SELECT count(*), coalesce(sum(endNs - startNs), 0) FROM {rows}");
        open.query_row(&query, [], |row| {
            Ok(Sum { count: row.get::<_, i64>(0)? as u64, time: row.get::<_, i64>(1)? as f64 })
        })
        .ok()
    };
    let ranges = sum("MSTX_EVENTS");
    // The devices' sides of marks are rows among the tasks.
    let marks = "WHERE ifnull(connectionId, -1) NOT IN (SELECT connectionId FROM MSTX_EVENTS)";
    Some(Holds {
        tasks: sum(&format!("TASK {}", ranges.map_or("", |_| marks))),
        operators: sum("TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId)")
            .filter(|_| !has_collectives(joined)),
        calls: sum("CANN_API").map(|calls| calls.and(sum("OSRT_API").unwrap_or_default())),
        ranges,
        iterations: None,
    })
}

/// The options by which an export holds all, also of chips whose first iteration alone is exported unasked.
fn everything(joined: &Joined) -> ExportOptions<'static> {
    let inferences = joined.inferences();
    let whole = joined.data.chip().exports_whole_run();
    let iterations = inferences.first_key_value().filter(|_| !whole);
    ExportOptions {
        iterations: iterations.map(|(&model, &count)| IterationRange { model, first: 1, count }),
        ..ExportOptions::default()
    }
}

#[track_caller]
fn is_conserved(joined: &Joined, what: &str) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let trace = to_trace(joined);
    let ((native, wholes), of_trace) = (native(joined), of_trace(&trace));
    assert!(native.tasks.is_some_and(|sum| sum.count > 0), "{what}: nothing to compare");
    let collectives = collectives(&trace);
    let (of_units, operators_of_units) = data_processing_units(&trace);
    let besides = marks(joined).and(collectives).and(records_of_units(joined));
    let with_marks = Holds { tasks: native.tasks.map(|tasks| tasks.and(besides)), ..native };
    with_marks.must_equal(&of_trace, &format!("{what}: native tables and trace"));
    let own = of_own_database(&trace, folder.path());
    of_trace.must_equal(&own, &format!("{what}: trace and opscope's database"));
    let besides = collectives.and(operators_of_units);
    let operators = of_trace.operators.map(|operators| operators.without(besides));
    let of_trace = Holds { tasks: native.tasks, operators, ..of_trace };
    let options = everything(joined);
    let tables = of_tables(joined, folder.path(), options);
    of_trace.must_equal(&tables, &format!("{what}: trace and tables"));
    let timeline = of_timeline(joined, folder.path(), options);
    // The timeline tells a kind of those tasks of units that are operators.
    let with_units = of_trace.tasks.map(|tasks| tasks.and(operators_of_units));
    Holds { tasks: with_units, ..of_trace }.must_equal(&timeline, &format!("{what}: trace and timeline"));
    if let Some(database) = of_database(joined, folder.path()) {
        let of_groups = Connection::open(folder.path().join("msprof_0.db")).expect("a database").query_row(
            "SELECT count(*), coalesce(sum(endNs - startNs), 0) FROM COMMUNICATION_OP",
            [],
            |row| Ok(Sum { count: row.get::<_, i64>(0)? as u64, time: row.get::<_, i64>(1)? as f64 }),
        );
        let rows_of_units = Connection::open(folder.path().join("msprof_0.db"))
            .expect("a database")
            .query_row("SELECT count(*), coalesce(sum(endNs - startNs), 0) FROM DPU_TASK", [], |row| {
                Ok(Sum { count: row.get::<_, i64>(0)? as u64, time: row.get::<_, i64>(1)? as f64 })
            });
        let tasks = |sum| Holds { tasks: Some(sum), ..Holds::default() };
        tasks(rows_of_units.unwrap_or_default())
            .must_equal(&tasks(of_units), &format!("{what}: data processing units"));
        tasks(of_groups.unwrap_or_default())
            .must_equal(&tasks(collectives), &format!("{what}: collective operations"));
        // It has tasks as a whole and their parts.
        let tasks = of_trace.tasks.map(|tasks| tasks.and(wholes));
        Holds { tasks, ..of_trace }
            .must_equal(&database, &format!("{what}: trace and the vendor's database"));
    }
    each_iteration_is_in_its_place(&trace, joined, what);
}

/// The tasks in the iterations and those outside are the whole; and where an export shows the first
/// iteration alone, it is the first of the trace.
#[track_caller]
fn each_iteration_is_in_its_place(trace: &Trace, joined: &Joined, what: &str) {
    let Some((&model, _)) = joined.inferences().first_key_value() else { return };
    let of = |wanted: &dyn Fn(Option<u32>) -> bool| {
        let number =
            |task: &opscope_trace::Task| task.iteration.map(|id| trace.iterations.number()[id.index()]);
        let tasks = trace.tasks.iter().filter(|(_, task)| task.operator.is_some() && wanted(number(task)));
        Sum::of(tasks.map(|(_, task)| task.duration.0 as f64))
    };
    let count = trace.iterations.len() as u32;
    let parts: Vec<Sum> = (1..=count).map(|n| of(&|number| number == Some(n))).collect();
    let (outside, whole) = (of(&|number| number.is_none()), of(&|_| true));
    assert!(parts.iter().all(|part| part.count > 0), "{what}: {parts:?}");
    assert_eq!(parts.iter().chain([&outside]).map(|part| part.count).sum::<u64>(), whole.count, "{what}");
    for number in 1..=count {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let range = IterationRange { model, first: u64::from(number), count: 1 };
        let options = ExportOptions { iterations: Some(range), ..ExportOptions::default() };
        let tables = of_tables(joined, folder.path(), options);
        let part = Holds { operators: Some(parts[number as usize - 1]), ..Holds::default() };
        part.must_equal(
            &Holds { operators: tables.operators, ..Holds::default() },
            &format!("{what}: iteration {number}"),
        );
    }
}

#[test]
fn golden_profiles_keep_everything_on_every_way() {
    let Some(golden) = common::golden() else { return };
    for case in common::cases(&golden) {
        is_conserved(&Joined::new(common::load(&golden, &case)), &case);
    }
}

#[test]
fn generated_profiles_keep_everything_on_every_way() {
    for chip in Chip::ALL.into_iter().filter(|chip| *chip != Chip::V5_1_0) {
        for mode in [SampleMode::Static, SampleMode::Dynamic, SampleMode::Graph, SampleMode::Collective] {
            for layout in [SampleLayout::Current, SampleLayout::Prof2022, SampleLayout::Job2022] {
                let directory = tempfile::tempdir().expect("a temporary directory");
                let options = SampleOptions { chip, tasks: 200, mode, layout, seed: 3 };
                if !options.is_possible() {
                    continue;
                }
                let profile = write_sample(directory.path(), options).expect("a profile");
                let profile = discover(&profile).expect("a profile").remove(0);
                let joined = Joined::new(Data::load(profile).expect("a readable profile"));
                is_conserved(&joined, &format!("{chip:?} {mode:?} {layout:?}"));
            }
        }
    }
}
