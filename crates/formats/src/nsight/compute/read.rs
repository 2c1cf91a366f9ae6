//! Reading such a table.

use csv::{ByteRecord, ReaderBuilder};
use opscope_trace::{
    ByteMap, DeviceKind, ExecutionUnit, LossKind, MetricId, Nanoseconds, NumberMap, Operator, OperatorId,
    Places, Reading, StringId, Task, TaskId, TimeBasis, Trace,
};

use super::rows::{About, Break, Cells, HEADINGS, Notation, Part, Row, Rows, cell, number};
use crate::reading::Stop;

/// Bytes that are no such table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no heading.
    #[error("this is no table of Nsight Compute: there is no heading with ID and Kernel Name")]
    NoHeading,
    /// Whoever asked for it wants it no more.
    #[error("the reading was stopped")]
    Stopped,
}

/// The columns that say what a kernel was; all others of a raw page are quantities.
const ABOUT: [&str; 16] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
    "Section Name",
    "Metric Name",
    "Metric Unit",
    "Metric Value",
];

/// Names of the quantity that is a kernel's duration, in both forms.
const DURATION: [&str; 2] = ["gpu__time_duration.sum", "Duration"];

/// Told where no kernel has a duration.
const NO_DURATIONS: &str =
    "durations were not measured (gpu__time_duration.sum), so kernels last no time here";

/// Where the heading stands.
fn heading(text: &[u8]) -> Option<usize> {
    /// A program may print before its first kernel runs.
    const LINES: usize = 1_000;
    let mut at = 0;
    for line in text.split(|byte| *byte == b'\n').take(LINES) {
        let has = |name: &str| line.windows(name.len()).any(|part| part == name.as_bytes());
        if (line.starts_with(b"\"ID\",") || line.starts_with(b"ID,"))
            && has("Kernel Name")
            && has("Process ID")
        {
            return Some(at);
        }
        at += line.len() + 1;
    }
    None
}

/// Whether text that begins so is such a table.
pub fn looks_like(head: &[u8]) -> bool {
    heading(head).is_some()
}

/// Reads a table.
///
/// # Errors
/// When there is no heading, or the reading was stopped.
pub fn read(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    stop.expects(|| text.len() as u64);
    let begin = heading(text).ok_or(ReadError::NoHeading)?;
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(&text[begin..]);
    let headings = reader.byte_headers().cloned().unwrap_or_default();
    let rows = text.get(begin + reader.position().byte() as usize..).unwrap_or_default();
    let names: Vec<String> =
        headings.iter().map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned()).collect();
    let columns = Columns::of(&names);
    let quantities = quantities(&names);
    let numbers = match columns.value {
        Some(value) => vec![value],
        None => quantities.iter().map(|quantity| quantity.column).collect(),
    };
    let mut rows = Rows { text: rows, headings, about: columns.about, numbers, notation: None, stop };
    let mut is_in_blocks = true;
    let trace = loop {
        match read_rows(&rows, &quantities, columns.value.is_none(), is_in_blocks) {
            Err(Break::NoBlocks) if is_in_blocks => is_in_blocks = false,
            Err(Break::PointsPartThousands) if rows.notation.is_none() => {
                rows.notation = Some(Notation::PointsPartThousands);
            }
            read => break read,
        }
    };
    stop.has_read(text.len());
    let mut trace = trace.map_err(|_| ReadError::Stopped)?;
    trace.count_loss(LossKind::OpenLastLine, u64::from(ends_within_row(text)), "");
    Ok(trace)
}

/// Whether the last line is a row, or the heading, and has no end: what a program prints last may have none.
fn ends_within_row(text: &[u8]) -> bool {
    let last = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    match last {
        [b'"', ..] => true,
        [first, ..] => (first.is_ascii_digit() || last.starts_with(b"ID,")) && last.contains(&b','),
        [] => false,
    }
}

/// Reads the rows as far as is known of them.
fn read_rows(
    rows: &Rows<'_>,
    quantities: &[ColumnQuantity<'_>],
    is_of_kernels: bool,
    is_in_blocks: bool,
) -> Result<Trace, Break> {
    let mut kernels = Kernels { notation: rows.notation, ..Kernels::default() };
    let mut quantities = quantities.to_vec();
    let each = |part: &mut Part| match rows.stop.is_wanted() {
        true => Err(Break::Stopped),
        false => kernels.take(part, rows.numbers.len(), &mut quantities, is_of_kernels),
    };
    if is_in_blocks { rows.in_blocks(each) } else { rows.in_turn(each) }?;
    Ok(kernels.finish())
}

/// The places of the columns.
struct Columns {
    /// Of those that say what a kernel was, in the order of [`About`]; those that are missing are none.
    about: [Option<usize>; HEADINGS.len()],
    /// The value of the quantity of a row, where each has its own.
    value: Option<usize>,
}

impl Columns {
    fn of(names: &[String]) -> Self {
        let place = |name: &str| names.iter().position(|known| known == name);
        Self { about: HEADINGS.map(place), value: place("Metric Value") }
    }
}

/// The columns that are quantities, their units not yet told.
fn quantities(names: &[String]) -> Vec<ColumnQuantity<'_>> {
    let quantities = names.iter().enumerate().filter(|(_, name)| !ABOUT.contains(&name.as_str()));
    let new = |(column, name): (usize, &'_ String)| ColumnQuantity {
        column,
        name: &names[column],
        is_duration: DURATION.contains(&name.as_str()),
        unit: String::new(),
        metric: None,
    };
    quantities.map(new).collect()
}

/// A quantity that has a column of its own.
#[derive(Clone)]
struct ColumnQuantity<'n> {
    column: usize,
    name: &'n str,
    is_duration: bool,
    unit: String,
    /// Its metric, once a kernel had a value of it.
    metric: Option<MetricId>,
}

impl ColumnQuantity<'_> {
    fn take_unit(&mut self, units: &ByteRecord) {
        self.unit = String::from_utf8_lossy(cell(units, self.column)).into_owned();
        self.metric = None;
    }
}

/// Kernels while they are read.
#[derive(Default)]
struct Kernels {
    trace: Trace,
    /// How numbers are written, once one told.
    notation: Option<Notation>,
    places: Places,
    operators: NumberMap<StringId, OperatorId>,
    /// Metrics by their names and units.
    metrics: ByteMap<String, ByteMap<String, MetricId>>,
    /// The kernel whose quantities are being read, one from each row.
    open: Option<Kernel>,
    /// The lists of a row that has all quantities, which are used again for each.
    metrics_of_row: Vec<MetricId>,
    values_of_row: Vec<f64>,
    /// The end of the kernels so far.
    end: Nanoseconds,
    has_duration: bool,
    /// Durations in units that aren't known.
    unknown_durations: u64,
    /// Durations that are no number.
    durations_without_number: u64,
    /// Whether each task's duration is known.
    is_known: Vec<bool>,
    unreadable: u64,
    no_number: u64,
}

/// A kernel with its quantities so far.
struct Kernel {
    id: Vec<u8>,
    /// The process, each of which counts its kernels by itself.
    process: Vec<u8>,
    task: TaskId,
    metrics: Vec<MetricId>,
    values: Vec<f64>,
}

impl Kernels {
    /// Adds what the rows of a part say, of which each has so many numbers: of one kernel, or of one quantity.
    fn take(
        &mut self,
        part: &Part,
        numbers: usize,
        quantities: &mut [ColumnQuantity<'_>],
        is_of_kernels: bool,
    ) -> Result<(), Break> {
        if part.is_within_cell {
            return Err(Break::NoBlocks);
        }
        self.notation = match (self.notation, part.notation) {
            (None, Some(Notation::PointsPartThousands)) => return Err(Break::PointsPartThousands),
            (known, of_part) => known.or(of_part),
        };
        self.unreadable += part.unreadable;
        self.no_number += part.no_number;
        for row in part.rows(numbers) {
            match row {
                Row::Units(units) => quantities.iter_mut().for_each(|column| column.take_unit(units)),
                Row::Kernel(about, values) if is_of_kernels => self.row(about, values, quantities),
                Row::Kernel(about, values) => self.quantity(about, values[0]),
            }
        }
        Ok(())
    }

    /// A kernel with all its quantities, of which those that it hasn't are no numbers.
    fn row(&mut self, about: Cells<'_>, values_of_all: &[f64], quantities: &mut [ColumnQuantity<'_>]) {
        let task = self.begin(about);
        let mut metrics = std::mem::take(&mut self.metrics_of_row);
        let mut values = std::mem::take(&mut self.values_of_row);
        metrics.clear();
        values.clear();
        for (quantity, &value) in quantities.iter_mut().zip(values_of_all) {
            if value.is_nan() {
                self.durations_without_number += u64::from(quantity.is_duration);
                continue;
            }
            if quantity.is_duration {
                self.take_duration(task, &quantity.unit, value);
            }
            let metric = *quantity.metric.get_or_insert_with(|| self.metric(quantity.name, &quantity.unit));
            metrics.push(metric);
            values.push(value);
        }
        self.trace.push_reading(task, &metrics, &values);
        (self.metrics_of_row, self.values_of_row) = (metrics, values);
    }

    /// One quantity of a kernel; those of one kernel follow one another.
    fn quantity(&mut self, about: Cells<'_>, value: f64) {
        let [id, process] = [About::Id, About::Process].map(|it| about.get(it));
        let is_of_kernel = |open: &Kernel| open.id == id && open.process == process;
        if !self.open.as_ref().is_some_and(is_of_kernel) {
            self.close();
            let task = self.begin(about);
            let [id, process] = [id, process].map(<[u8]>::to_vec);
            self.open = Some(Kernel { id, process, task, metrics: Vec::new(), values: Vec::new() });
        }
        if value.is_nan() {
            let is_duration = DURATION.iter().any(|name| name.as_bytes() == about.get(About::Name));
            self.durations_without_number += u64::from(is_duration);
            return;
        }
        let [name, unit] = [About::Name, About::Unit].map(|it| String::from_utf8_lossy(about.get(it)));
        let metric = self.metric(&name, &unit);
        if let Some(mut open) = self.open.take() {
            if DURATION.contains(&&*name) {
                self.take_duration(open.task, &unit, value);
            }
            open.metrics.push(metric);
            open.values.push(value);
            self.open = Some(open);
        }
    }

    /// Adds the task of a kernel, of which no quantity is known yet.
    fn begin(&mut self, about: Cells<'_>) -> TaskId {
        let number =
            |it| number(about.get(it), Notation::default()).filter(|number| *number >= 0.0).unwrap_or(0.0);
        let (device, stream) = (number(About::Device) as u32, number(About::Stream) as u64);
        let trace = &mut self.trace;
        let name = trace.strings.intern(&String::from_utf8_lossy(about.get(About::Kernel)));
        let operator =
            *self.operators.entry(name).or_insert_with(|| trace.operators.push(Operator::new(name, name)));
        let device = self.places.device(trace, DeviceKind::Gpu, device, "");
        let no_name = trace.strings.intern("");
        let stream = Some(self.places.stream(trace, device, stream, None, no_name));
        let task = Task {
            operator: Some(operator),
            unit: ExecutionUnit::Gpu,
            stream,
            ..Task::new(name, self.end, Nanoseconds::ZERO)
        };
        self.is_known.push(false);
        trace.tasks.push(task)
    }

    /// Heeds the quantity that is a kernel's duration.
    fn take_duration(&mut self, task: TaskId, unit: &str, value: f64) {
        if let Some(nanoseconds) = nanoseconds(value, unit) {
            self.has_duration = true;
            self.is_known[task.index()] = true;
            let row = self.trace.tasks.get(task);
            self.trace.tasks.set(task, Task { duration: nanoseconds, ..row });
            self.end = row.start + nanoseconds;
        } else {
            self.unknown_durations += 1;
        }
    }

    /// The metric of a name and unit.
    fn metric(&mut self, name: &str, unit: &str) -> MetricId {
        if let Some(&known) = self.metrics.get(name).and_then(|units| units.get(unit)) {
            return known;
        }
        let metric = self.trace.enter_metric(name, unit);
        self.metrics.entry(name.to_owned()).or_default().insert(unit.to_owned(), metric);
        metric
    }

    fn close(&mut self) {
        if let Some(Kernel { task, metrics, values, .. }) = self.open.take() {
            self.trace.push_reading(task, &metrics, &values);
        }
    }

    /// Leaves out kernels whose duration isn't known where that of others is: they would seem to last no time.
    fn leave_out_unknown(&mut self) {
        let (is_known, trace) = (&self.is_known, &mut self.trace);
        let mut places = Vec::with_capacity(is_known.len());
        let mut kept = 0;
        for known in is_known {
            places.push(kept);
            kept += usize::from(*known);
        }
        let of_known: Vec<bool> = trace.readings.task().iter().map(|task| is_known[task.index()]).collect();
        trace.readings.retain(&of_known);
        for id in trace.readings.ids() {
            let row = trace.readings.get(id);
            let task = TaskId::from_index(places[row.task.index()]);
            trace.readings.set(id, Reading { task, ..row });
        }
        trace.tasks.retain(is_known);
        // Of some no duration is there at all.
        let left_out = is_known.iter().filter(|known| !**known).count() as u64;
        let told = self.unknown_durations + self.durations_without_number;
        self.durations_without_number += left_out.saturating_sub(told);
    }

    fn finish(mut self) -> Trace {
        self.close();
        if self.has_duration && self.is_known.iter().any(|known| !known) {
            self.leave_out_unknown();
        }
        let trace = &mut self.trace;
        trace.run.layer_times = TimeBasis::Unplaced;
        let unknown = self.unknown_durations + self.durations_without_number;
        if !self.has_duration && unknown == 0 && !trace.tasks.is_empty() {
            trace.run.note = Some(NO_DURATIONS.to_owned());
        }
        trace.count_loss(LossKind::UnreadableRecord, self.unreadable, "lines");
        trace.count_loss(LossKind::MeasureNoNumber, self.no_number, "");
        trace.count_loss(LossKind::UnknownUnit, self.unknown_durations, "gpu__time_duration.sum");
        trace.count_loss(
            LossKind::LayerWithoutDuration,
            self.durations_without_number,
            "gpu__time_duration.sum",
        );
        self.trace
    }
}

/// A duration of a unit as the profiler writes it, of whatever version.
fn nanoseconds(value: f64, unit: &str) -> Option<Nanoseconds> {
    let factor = match unit {
        "ns" | "nsecond" | "nanosecond" | "nanoseconds" => 1.0,
        "us" | "usecond" | "microsecond" | "microseconds" => 1e3,
        "ms" | "msecond" | "millisecond" | "milliseconds" => 1e6,
        "s" | "second" | "seconds" => 1e9,
        _ => return None,
    };
    Some(Nanoseconds((value * factor).round() as i64)).filter(|duration| duration.0 >= 0)
}
