//! `kernel_details.csv`: a row for each operator, computing or communicating, by the begins. A figure that a kind of
//! operators doesn't have is `N/A`.

use std::collections::BTreeMap;

use opscope_reach::database::{Database, Texts, each_row, number, whole};
use opscope_trace::{NumberMap, NumberSet};

use super::Table;
use crate::numbers::micros_text;
use crate::profile::Span;

/// The texts of an operator: the table's names for them, and the database's.
const TEXTS: [(&str, &str); 10] = [
    ("op_name", "name"),
    ("op_type", "opType"),
    ("task_type", "taskType"),
    ("input_formats", "inputFormats"),
    ("input_shapes", "inputShapes"),
    ("input_data_types", "inputDataTypes"),
    ("output_shapes", "outputShapes"),
    ("output_formats", "outputFormats"),
    ("output_data_types", "outputDataTypes"),
    ("op_state", "opState"),
];

/// The place of the last of them, which the table has only where the database does.
const STATE: usize = 9;

/// The numbers of a task, likewise.
const NUMBERS: [(&str, &str); 5] = [
    ("device_id", "deviceId"),
    ("model_id", "modelId"),
    ("stream_id", "streamId"),
    ("context_id", "contextId"),
    ("task_id", "taskId"),
];

/// The kind of communication operators in place of a task's.
const COMMUNICATION: &str = "COMMUNICATION";

/// The word for a figure that is missing.
const MISSING: &str = "N/A";

/// An operator, whenever it runs: the numbers of its texts, and how many cores it takes.
#[derive(Clone, Copy, Debug, Default)]
struct About {
    texts: [Option<i64>; TEXTS.len()],
    blocks: [Option<i64>; 2],
}

/// The kind of an operator.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// It computes; the number of its task.
    Computing(Option<i64>),
    /// It communicates.
    Communicating,
    /// It is a part of communication.
    Scheduled,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Kernel {
    kind: Kind,
    about: About,
    span: Span,
    numbers: [Option<i64>; NUMBERS.len()],
}

/// The operators of a rank.
#[derive(Default)]
pub struct Kernels {
    kernels: Vec<Kernel>,
    texts: Texts,
    has_state: bool,
    /// The names of counters in order, with the values of each task.
    counters: BTreeMap<String, NumberMap<i64, f64>>,
}

impl Kernels {
    /// Reads them.
    ///
    /// # Errors
    /// When a table breaks off; what is before it was read.
    pub fn read(&mut self, database: &Database) -> rusqlite::Result<()> {
        let (texts, read) = Texts::read(database);
        self.texts = texts;
        self.has_state = has_column(database, "COMPUTE_TASK_INFO", "opState")?;
        let (mut computing, mut scheduled) = (NumberMap::default(), NumberMap::default());
        let blocks = match has_column(database, "COMPUTE_TASK_INFO", "blockNum")? {
            true => ["blockNum", "mixBlockNum"],
            false => ["blockDim", "mixBlockDim"],
        };
        let abouts = read_about(database, "COMPUTE_TASK_INFO", blocks, &mut computing);
        let parts = read_about(database, "COMMUNICATION_SCHEDULE_TASK_INFO", ["NULL"; 2], &mut scheduled);
        let mut communicating = Vec::new();
        let operators = read_communication(database, &mut communicating);
        let connections: NumberSet<i64> = communicating.iter().map(|(connection, _)| *connection).collect();
        let mut places: NumberMap<i64, Place> = NumberMap::default();
        let tasks = each_task(database, |task, connection, span, numbers| {
            for (abouts, kind) in [(&computing, Kind::Computing(task)), (&scheduled, Kind::Scheduled)] {
                let about = task.and_then(|task| abouts.get(&task)).filter(|_| span.can_be());
                self.kernels.extend(about.map(|about| Kernel { kind, about: *about, span, numbers }));
            }
            if let Some(connection) = connection.filter(|connection| connections.contains(connection)) {
                places.entry(connection).or_default().add(numbers);
            }
        });
        for (connection, mut kernel) in communicating {
            if let Some(place) = places.get(&connection).and_then(Place::only) {
                (kernel.numbers[0], kernel.numbers[1]) = (Some(place.0), Some(place.1));
                self.kernels.push(kernel);
            }
        }
        self.kernels.sort_by_key(|kernel| kernel.span.start);
        let counters = match computing.is_empty() {
            true => Ok(()),
            false => self.read_counters(database),
        };
        read.and(abouts).and(parts).and(operators).and(tasks).and(counters)
    }

    fn read_counters(&mut self, database: &Database) -> rusqlite::Result<()> {
        each_row(database, "TASK_PMU_INFO", &["globalTaskId", "name", "value"], |row| {
            let name = self.texts.get(whole(row, 1));
            let (Some(task), Some(value), false) = (whole(row, 0), number(row, 2), name.is_empty()) else {
                return;
            };
            match self.counters.get_mut(name) {
                Some(values) => drop(values.entry(task).or_insert(value)),
                None => drop(self.counters.entry(name.to_owned()).or_default().insert(task, value)),
            }
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// Writes the table.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, table: &mut Table<'_>) -> csv::Result<()> {
        let shown = if self.has_state { STATE } else { STATE - 1 };
        let texts = TEXTS.iter().map(|(heading, _)| *heading);
        let mut headings: Vec<&str> = texts.clone().take(1).collect();
        headings.extend(["block_dim", "mix_block_dim"]);
        headings.extend(texts.skip(1).take(shown));
        headings.extend(["task_start_time", "task_duration"]);
        headings.extend(NUMBERS.map(|(heading, _)| heading));
        headings.extend(self.counters.keys().map(|name| heading_of(name)));
        headings.push("task_wait_time");
        table.write_record(&headings)?;
        let mut previous: Option<i64> = None;
        for kernel in &self.kernels {
            let text = |at: usize| match (at, kernel.kind) {
                (2, Kind::Communicating) => COMMUNICATION.to_owned(),
                _ => match self.texts.get(kernel.about.texts.get(at).copied().flatten()) {
                    "" => MISSING.to_owned(),
                    text => text.to_owned(),
                },
            };
            let whole = |it: &Option<i64>| it.map_or(MISSING.to_owned(), |it| it.to_string());
            let mut row = vec![text(0)];
            row.extend(kernel.about.blocks.iter().map(whole));
            row.extend((1..=shown).map(text));
            row.extend([micros_text(kernel.span.start), micros_text(kernel.span.length())]);
            row.extend(kernel.numbers.iter().map(whole));
            row.extend(self.counters.iter().map(|(name, values)| counter(name, values, kernel.kind)));
            // From the begin of the one before, as the vendor's tool has it.
            let wait = previous.map_or(0, |begin| kernel.span.end.saturating_sub(begin));
            row.push(micros_text(wait));
            table.write_record(&row)?;
            previous = Some(kernel.span.start);
        }
        Ok(())
    }
}

/// A counter's value as it is shown: times in microseconds; 0 where an operator was not counted.
fn counter(name: &str, values: &NumberMap<i64, f64>, kind: Kind) -> String {
    let Kind::Computing(task) = kind else { return MISSING.to_owned() };
    let value = task.and_then(|task| values.get(&task)).copied().unwrap_or(0.0);
    if name.contains("time") { value / 1e3 } else { value }.to_string()
}

/// The heading of a counter: its name, but for the two that the vendor's own export of tables names otherwise.
fn heading_of(counter: &str) -> &str {
    match counter {
        "aic_total_time" => "aicore_time",
        "aiv_total_time" => "aiv_time",
        other => other,
    }
}

/// The device and the model of a connection's tasks.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    device: Values,
    model: Values,
}

impl Place {
    fn add(&mut self, [device, model, ..]: [Option<i64>; NUMBERS.len()]) {
        self.device.add(device);
        self.model.add(model);
    }

    /// Both, if all tasks have the same.
    fn only(&self) -> Option<(i64, i64)> {
        match (self.device, self.model) {
            (Values::One(device), Values::One(model)) => Some((device, model)),
            _ => None,
        }
    }
}

/// The different values that some rows have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Values {
    #[default]
    None,
    One(i64),
    Several,
}

impl Values {
    fn add(&mut self, value: Option<i64>) {
        let Some(value) = value else { return };
        *self = match *self {
            Self::None => Self::One(value),
            Self::One(known) if known == value => return,
            _ => Self::Several,
        };
    }
}

fn has_column(database: &Database, table: &str, column: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2)";
    database.query_row(sql, [table, column], |row| row.get(0))
}

/// Reads what operators are, by the numbers of their tasks.
fn read_about(
    database: &Database,
    table: &str,
    blocks: [&str; 2],
    abouts: &mut NumberMap<i64, About>,
) -> rusqlite::Result<()> {
    let mut columns = vec!["globalTaskId", blocks[0], blocks[1]];
    columns.extend(TEXTS.map(|(_, column)| column));
    each_row(database, table, &columns, |row| {
        if let Some(task) = whole(row, 0) {
            let texts = std::array::from_fn(|at| whole(row, at + 3));
            abouts.insert(task, About { texts, blocks: [whole(row, 1), whole(row, 2)] });
        }
    })
}

/// Reads operators that communicate, by their connections.
fn read_communication(database: &Database, all: &mut Vec<(i64, Kernel)>) -> rusqlite::Result<()> {
    let columns = ["opName", "opType", "startNs", "endNs", "connectionId"];
    each_row(database, "COMMUNICATION_OP", &columns, |row| {
        let (Some(start), Some(end), Some(connection)) = (whole(row, 2), whole(row, 3), whole(row, 4)) else {
            return;
        };
        let mut about = About::default();
        (about.texts[0], about.texts[1]) = (whole(row, 0), whole(row, 1));
        let (kind, span) = (Kind::Communicating, Span { start, end });
        if span.can_be() {
            all.push((connection, Kernel { kind, about, span, numbers: [None; NUMBERS.len()] }));
        }
    })
}

/// Hands on the tasks: number, connection, span and numbers.
fn each_task(
    database: &Database,
    mut take: impl FnMut(Option<i64>, Option<i64>, Span, [Option<i64>; NUMBERS.len()]),
) -> rusqlite::Result<()> {
    let mut columns = vec!["globalTaskId", "connectionId", "startNs", "endNs"];
    columns.extend(NUMBERS.map(|(_, column)| column));
    each_row(database, "TASK", &columns, |row| {
        if let (Some(start), Some(end)) = (whole(row, 2), whole(row, 3)) {
            let numbers = std::array::from_fn(|at| whole(row, at + 4));
            take(whole(row, 0), whole(row, 1), Span { start, end }, numbers);
        }
    })
}
