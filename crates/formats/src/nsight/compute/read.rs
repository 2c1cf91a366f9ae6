//! Reading such a table.

use std::collections::HashMap;

use csv::{ByteRecord, ReaderBuilder};
use opscope_trace::{
    DeviceKind, ExecutionUnit, LossKind, MetricId, Nanoseconds, Operator, OperatorId, Places, StringId, Task,
    TaskId, TimeBasis, Trace,
};

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
    let headers = reader.byte_headers().cloned().unwrap_or_default();
    let names: Vec<String> =
        headers.iter().map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned()).collect();
    let mut kernels = Kernels::new(&names);
    let is_long = kernels.column("Metric Value").is_some();
    let mut record = ByteRecord::new();
    let mut units: Vec<String> = vec![String::new(); names.len()];
    let mut count = 0_usize;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            // The output of a further program begins with the headings again.
            Ok(true) if record == headers => continue,
            Ok(true) if record.len() == names.len() => {}
            // Anything else that the program printed.
            Ok(true) | Err(_) => {
                kernels.unreadable += 1;
                continue;
            }
        }
        count += 1;
        if count.is_multiple_of(4096) && stop.is_wanted() {
            return Err(ReadError::Stopped);
        }
        let is_units = record.get(0).is_some_and(|id| id.trim_ascii().is_empty());
        match (is_units, is_long) {
            (true, _) => {
                let texts = record.iter().map(|unit| String::from_utf8_lossy(unit.trim_ascii()).into_owned());
                units = texts.collect();
            }
            (false, true) => kernels.quantity(&record),
            (false, false) => kernels.row(&record, &units),
        }
    }
    stop.has_read(text.len());
    Ok(kernels.finish())
}

/// Kernels while they are read.
struct Kernels<'n> {
    names: &'n [String],
    trace: Trace,
    places: Places,
    operators: HashMap<StringId, OperatorId>,
    metrics: HashMap<(String, String), MetricId>,
    /// The kernel whose quantities are being read, by its number, with those and its duration.
    open: Option<Open>,
    /// The end of the kernels so far.
    end: Nanoseconds,
    has_duration: bool,
    unreadable: u64,
    no_number: u64,
}

struct Open {
    id: Vec<u8>,
    /// The process, each of which counts its kernels by itself.
    process: Vec<u8>,
    task: TaskId,
    metrics: Vec<MetricId>,
    values: Vec<f64>,
}

impl<'n> Kernels<'n> {
    fn new(names: &'n [String]) -> Self {
        Self {
            names,
            trace: Trace::new(),
            places: Places::default(),
            operators: HashMap::new(),
            metrics: HashMap::new(),
            open: None,
            end: Nanoseconds::ZERO,
            has_duration: false,
            unreadable: 0,
            no_number: 0,
        }
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn cell<'r>(&self, record: &'r ByteRecord, name: &str) -> &'r [u8] {
        self.column(name).and_then(|column| record.get(column)).unwrap_or_default().trim_ascii()
    }

    /// A kernel with all its quantities.
    fn row(&mut self, record: &ByteRecord, units: &[String]) {
        self.begin(record);
        for (index, name) in self.names.iter().enumerate() {
            if !ABOUT.contains(&name.as_str()) {
                let cell = record.get(index).unwrap_or_default().trim_ascii();
                self.value(name, &units[index], cell);
            }
        }
        self.close();
    }

    /// One quantity of a kernel; those of one kernel follow one another.
    fn quantity(&mut self, record: &ByteRecord) {
        let id = self.cell(record, "ID");
        let process = self.cell(record, "Process ID");
        if self.open.as_ref().is_none_or(|open| open.id != id || open.process != process) {
            self.close();
            self.begin(record);
        }
        let [name, unit] =
            ["Metric Name", "Metric Unit"].map(|column| String::from_utf8_lossy(self.cell(record, column)));
        let (name, unit) = (name.into_owned(), unit.into_owned());
        let value = self.cell(record, "Metric Value").to_vec();
        self.value(&name, &unit, &value);
    }

    fn begin(&mut self, record: &ByteRecord) {
        let number = |name: &str| number(self.cell(record, name)).filter(|number| *number >= 0.0);
        let (device, stream) =
            (number("Device").unwrap_or(0.0) as u32, number("Stream").unwrap_or(0.0) as u64);
        let name = String::from_utf8_lossy(self.cell(record, "Kernel Name")).into_owned();
        let trace = &mut self.trace;
        let name = trace.strings.intern(&name);
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
        let task = trace.tasks.push(task);
        let [id, process] = ["ID", "Process ID"].map(|column| self.cell(record, column).to_vec());
        self.open = Some(Open { id, process, task, metrics: Vec::new(), values: Vec::new() });
    }

    fn value(&mut self, name: &str, unit: &str, cell: &[u8]) {
        let Some(open) = &mut self.open else { return };
        if cell.is_empty() {
            return;
        }
        let Some(value) = number(cell) else {
            self.no_number += 1;
            return;
        };
        if DURATION.contains(&name)
            && let Some(nanoseconds) = nanoseconds(value, unit)
        {
            self.has_duration = true;
            let row = self.trace.tasks.get(open.task);
            self.trace.tasks.set(open.task, Task { duration: nanoseconds, ..row });
            self.end = row.start + nanoseconds;
        }
        let key = (name.to_owned(), unit.to_owned());
        let trace = &mut self.trace;
        let metric = *self.metrics.entry(key).or_insert_with(|| trace.enter_metric(name, unit));
        open.metrics.push(metric);
        open.values.push(value);
    }

    fn close(&mut self) {
        if let Some(Open { task, metrics, values, .. }) = self.open.take() {
            self.trace.push_reading(task, &metrics, &values);
        }
    }

    fn finish(mut self) -> Trace {
        self.close();
        let trace = &mut self.trace;
        trace.run.layer_times = TimeBasis::Unplaced;
        if !self.has_duration && !trace.tasks.is_empty() {
            trace.run.note = Some(NO_DURATIONS.to_owned());
        }
        trace.count_loss(LossKind::UnreadableRecord, self.unreadable, "lines");
        trace.count_loss(LossKind::MeasureNoNumber, self.no_number, "");
        self.trace
    }
}

/// A number, with commas between its thousands or without.
fn number(cell: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?;
    let number: f64 = match text.contains(',') {
        true => text.replace(',', "").parse().ok()?,
        false => text.parse().ok()?,
    };
    number.is_finite().then_some(number)
}

/// A duration of a unit as the profiler writes it, of whatever version.
fn nanoseconds(value: f64, unit: &str) -> Option<Nanoseconds> {
    let factor = match unit {
        "ns" | "nsecond" => 1.0,
        "us" | "usecond" => 1e3,
        "ms" | "msecond" => 1e6,
        "s" | "second" => 1e9,
        _ => return None,
    };
    Some(Nanoseconds((value * factor).round() as i64)).filter(|duration| duration.0 >= 0)
}
