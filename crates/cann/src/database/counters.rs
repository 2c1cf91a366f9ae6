//! `TASK_PMU_INFO`: what was counted while tasks ran, a row for each value.
//!
//! The rows are grouped by value, then ordered by the tasks' numbers, streams, contexts and batches
//! and by time. That is the only way to tell the runs of a replayed task apart.

use std::io::{self, Seek, Write};

use opscope_columns::Column;

use crate::database::output::Output;
use crate::database::schema;
use crate::database::tasks::Task;
use crate::dialect::Dialect;
use crate::facts::counters::CounterColumns;
use crate::facts::view::View;
use crate::metrics::{Formula, Load, Metric, group};
use crate::parallel;
use crate::tables::rows::rows;
use crate::tables::{COUNTERS, Core, Counters};

rows! {
    /// A place in [`CoreRows::counts`].
    CountsRow;
}

/// How many tasks are looked at before what was found goes to its list.
const TASKS_AT_ONCE: usize = 1 << 14;

/// The values of one device's tasks.
pub(super) struct Values<'a> {
    names: Vec<String>,
    columns: Vec<CounterValue>,
    /// The AI cores, or the cube cores and the vector cores.
    cores: Vec<CoreRows<'a>>,
    /// For each task with counters its number in the database.
    ids: Column<u32>,
}

/// A value: of which core, and how it is computed.
struct CounterValue {
    core: usize,
    value: Value,
}

/// How a value is computed.
enum Value {
    /// Nanoseconds that the core worked.
    Time,
    /// Cycles that the core worked.
    Cycles,
    /// A metric; times in nanoseconds.
    Metric(Metric),
    /// An event that belongs to no known metric.
    Event(usize),
}

/// The counters of one kind of cores, task by task.
struct CoreRows<'a> {
    core: Core,
    events: &'a [u32],
    /// Hz to which bandwidths refer.
    hertz: f64,
    /// For each task a row of `counts`, `None` where the core didn't work on the task.
    places: Column<Option<CountsRow>>,
    counts: Column<Counts>,
}

/// The counters of one core in one task: copied together because it is read once for each value, and
/// without what isn't needed because there are millions.
#[derive(Clone, Copy)]
struct Counts {
    cycles: u64,
    counters: [u64; COUNTERS],
    /// Microseconds that the core worked.
    time: f64,
}

impl Counts {
    /// The counters in the form that metrics are computed from.
    fn counters(&self, core: Core) -> Counters {
        Counters::of_core(core, self.cycles, self.counters)
    }
}

impl<'a> Values<'a> {
    /// The values of the tasks of every device. Only chips that name tasks the way the database
    /// does have them there.
    pub(super) fn of_all(view: &'a View<'a>, tasks: &[Task]) -> Vec<Self> {
        if !view.joined.data.chip().has_stars() {
            return Vec::new();
        }
        (0..view.devices.len()).filter_map(|device| Self::new(view, device, tasks)).collect()
    }

    fn new(view: &'a View<'a>, number: usize, tasks: &[Task]) -> Option<Self> {
        let device_view = &view.devices[number];
        let device = device_view.device;
        let layout = CounterColumns::new(device, view.dialect)?;
        let counters = &device_view.joined.counters;
        let table = &device.tables.tasks;
        let has_counters = |task: &&Task| {
            let row = task.place.task as usize;
            task.place.device as usize == number
                && (counters.cube[row].is_some() || counters.vector[row].is_some())
        };
        let mut counted: Column<Task> = tasks.iter().filter(has_counters).copied().collect();
        counted.sort_by_key(|task| {
            let row = table.row(task.place.task as usize);
            (row.task, row.stream, row.context, row.batch)
        });
        let split = device.metadata.chip().splits_cores();
        let core_rows = |core: Core| {
            let sample = &device.metadata.sample;
            let (own, other, events) = match core {
                Core::Cube => (&counters.cube, &counters.vector, &sample.core_events),
                Core::Vector => (&counters.vector, &counters.cube, &sample.vector_events),
            };
            let hertz = device.metadata.info.core_mhz.unwrap_or(0.0) * 1e6;
            let (mut places, mut counts) = (Column::new(), Column::new());
            for some in counted.chunks(TASKS_AT_ONCE) {
                let first = counts.len();
                let mut found_of_some = Vec::with_capacity(some.len());
                places.extend(some.iter().map(|task| {
                    let place = task.place.task as usize;
                    let found = counters.get(&device.tables, own[place])?;
                    let other = counters.get(&device.tables, other[place]);
                    let blocks = view.host_task(task.place).map_or((0, 0), |host| view.blocks(&host));
                    let time = layout.work(device, &found, other.as_ref(), blocks, core).time;
                    found_of_some.push(Counts { cycles: found.cycles, counters: found.counters, time });
                    Some(CountsRow::from_index(first + found_of_some.len() - 1))
                }));
                counts.extend(found_of_some);
            }
            CoreRows { core, events, hertz, places, counts }
        };
        let (cube, vector) =
            parallel::join(|| core_rows(Core::Cube), || split.then(|| core_rows(Core::Vector)));
        let cores = std::iter::once(cube).chain(vector).collect();
        let (names, columns) = columns(view, number, split);
        Some(Self { names, columns, cores, ids: counted.iter().map(|task| task.id).collect() })
    }

    fn rows(&self) -> usize {
        self.columns.len() * self.ids.len()
    }

    /// The value of a column in a task; 0 if the core didn't work on it.
    fn value(&self, column: &CounterValue, row: usize) -> f64 {
        const NANOSECONDS: f64 = 1_000.0;
        let core = &self.cores[column.core];
        let Some(counts) = core.places[row].map(|place| &core.counts[place.index()]) else { return 0.0 };
        match &column.value {
            Value::Time => counts.time * NANOSECONDS,
            Value::Cycles => counts.cycles as f64,
            Value::Event(index) => counts.counters.get(*index).map_or(0.0, |count| *count as f64),
            Value::Metric(metric) => {
                let load = Load {
                    counters: &counts.counters(core.core),
                    events: core.events,
                    total_time: counts.time,
                    hertz: core.hertz,
                    rounds: 1.0,
                };
                let value = metric.value(&load);
                if metric.formula == Formula::Time { value * NANOSECONDS } else { value }
            }
        }
    }
}

/// The names of the values and what they are.
fn columns(view: &View<'_>, number: usize, split: bool) -> (Vec<String>, Vec<CounterValue>) {
    let metadata = &view.devices[number].device.metadata;
    let sample = &metadata.sample;
    let prefixes: &[&str] = if split { &["aic_", "aiv_"] } else { &[""] };
    let (mut names, mut columns) = (Vec::new(), Vec::new());
    for (core, prefix) in prefixes.iter().enumerate() {
        let (metrics, events) = match core {
            0 => (&sample.core_metrics, &sample.core_events),
            _ => (&sample.vector_metrics, &sample.vector_events),
        };
        let mut push = |name: &str, value: Value| {
            names.push(format!("{prefix}{}", name.strip_suffix("_extra").unwrap_or(name)));
            columns.push(CounterValue { core, value });
        };
        push("total_time", Value::Time);
        push("total_cycles", Value::Cycles);
        let metrics = group(metrics, metadata.chip(), Dialect::of(metadata.chip()));
        if metrics.is_empty() {
            events.iter().enumerate().for_each(|(i, event)| push(&format!("r{event:x}"), Value::Event(i)));
        }
        metrics.into_iter().for_each(|metric| push(metric.name, Value::Metric(metric)));
    }
    (names, columns)
}

/// Writes the values of all devices.
pub(super) fn write<'a, W: Write + Seek + Send>(
    values: &'a [Values<'a>],
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    let rows: usize = values.iter().map(Values::rows).sum();
    if rows == 0 {
        return Ok(());
    }
    let names: Vec<Vec<u32>> =
        values.iter().map(|of| of.names.iter().map(|name| out.strings.add(name)).collect()).collect();
    out.table(&schema::TASK_PMU_INFO, rows, |mut index, row| {
        let mut device = 0;
        while index >= values[device].rows() {
            index -= values[device].rows();
            device += 1;
        }
        let values = &values[device];
        let (column, task) = (index / values.ids.len(), index % values.ids.len());
        row.integer(i64::from(values.ids[task]));
        row.integer(i64::from(names[device][column]));
        row.number(values.value(&values.columns[column], task));
    })
}
