//! Tables on their way into a trace.

use opscope_trace::{
    ApiCall, ApiLevel, DeviceKind, ExecutionUnit, FigureSubject, FigureTopic, LossKind, MetricId,
    Nanoseconds, NumberMap, Operator, OperatorId, Places, Range, RangeKind, StreamId, StringId, Task, TaskId,
    ThreadId, Trace,
};

use super::table::{Kind, ReadError, Row, Rows, kind_of};
use crate::reading::{Launches, Stop};

/// Reads one table.
///
/// # Errors
/// When it is none, or the reading was stopped.
pub fn read(bytes: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let kind = kind_of(bytes).ok_or(ReadError::NoTable)?;
    let mut reader = Reader::default();
    reader.table(kind, bytes, "rocprofv3", 0, stop);
    if stop.is_wanted() {
        return Err(ReadError::Stopped);
    }
    Ok(reader.finish())
}

/// A trace while it is made of tables.
#[derive(Default)]
pub struct Reader {
    pub trace: Trace,
    places: Places,
    launches: Launches,
    agents: NumberMap<u32, (DeviceKind, String)>,
    operators: NumberMap<u32, OperatorId>,
    streams: NumberMap<(u32, u64), StreamId>,
    threads: NumberMap<(u32, u64), ThreadId>,
    /// Kernels by process and the number of their dispatch, to which counters belong.
    dispatches: NumberMap<(u32, u64), TaskId>,
    /// Kernels that aren't among them yet: where no counters come, nobody asks.
    further_dispatches: Vec<((u32, u64), TaskId)>,
}

impl Reader {
    /// Takes a table in. `source` names it; the tables of one process have one number, because correlations hold
    /// within it.
    pub fn table(&mut self, kind: Kind, bytes: &[u8], source: &str, process: u32, stop: &Stop) {
        stop.expects(|| bytes.len() as u64);
        let mut lost = Lost::default();
        match kind {
            Kind::Agents => self.agents(bytes),
            Kind::Calls => self.calls(bytes, process, &mut lost, stop),
            Kind::Kernels => self.kernels(bytes, process, &mut lost, stop),
            Kind::Copies => self.copies(bytes, process, &mut lost, stop),
            Kind::Counters => self.counters(bytes, process, &mut lost, stop),
            Kind::Totals => self.totals(bytes, source, &mut lost),
            Kind::Other => {
                let mut rows = Rows::of(bytes, &[]);
                let mut count = 0;
                while rows.next().is_some() {
                    count += 1;
                }
                self.trace.count_loss(LossKind::PlacelessRecord, count, source);
            }
        }
        stop.has_read(bytes.len());
        for (kind, count) in [
            (LossKind::UnreadableRecord, lost.unreadable),
            (LossKind::RecordWithoutTime, lost.without_time),
            (LossKind::RecordEndsBeforeStart, lost.backwards),
            (LossKind::MeasureNoNumber, lost.no_number),
        ] {
            self.trace.count_loss(kind, count, source);
        }
        if !bytes.is_empty() && !bytes.ends_with(b"\n") && is_cut(bytes) {
            self.trace.count_loss(LossKind::OpenLastLine, 1, source);
        }
    }

    /// The trace of all tables.
    pub fn finish(mut self) -> Trace {
        self.launches.tie(&mut self.trace);
        self.trace
    }

    fn agents(&mut self, bytes: &[u8]) {
        let wanted = ["Node_Id", "Agent_Type", "Product_Name", "Name"];
        let mut rows = Rows::of(bytes, &wanted);
        while let Some(row) = rows.next() {
            if let (Row::Whole, Some(number)) = (row, rows.agent(0)) {
                let name = if rows.cell(2).is_empty() { rows.text(3) } else { rows.text(2) };
                self.agent(number, rows.cell(1) == b"CPU", name.into_owned());
            }
        }
    }

    /// Hands the rows that have a start and an end on; the columns of those come first.
    fn each_record(
        &mut self,
        bytes: &[u8],
        further: &[&str],
        lost: &mut Lost,
        stop: &Stop,
        mut record: impl FnMut(&mut Self, &Rows<'_>, Nanoseconds, Nanoseconds, &mut Lost),
    ) {
        /// Few enough to take no more than some milliseconds.
        const BETWEEN: usize = 1 << 12;
        let wanted = [&["Start_Timestamp", "End_Timestamp"], further].concat();
        let mut rows = Rows::of(bytes, &wanted);
        let mut count = 0_usize;
        while let Some(row) = rows.next() {
            count += 1;
            if count.is_multiple_of(BETWEEN) && stop.is_wanted() {
                return;
            }
            if matches!(row, Row::Unreadable) {
                lost.unreadable += 1;
                continue;
            }
            match (rows.whole(0), rows.whole(1)) {
                (Some(start), Some(end)) => match end.checked_sub(start) {
                    Some(duration @ 0..) => {
                        record(self, &rows, Nanoseconds(start), Nanoseconds(duration), lost);
                    }
                    _ => lost.backwards += 1,
                },
                _ => lost.without_time += 1,
            }
        }
    }

    /// Enters an agent by its number.
    pub fn agent(&mut self, number: u32, is_host: bool, name: String) {
        let kind = if is_host { DeviceKind::Cpu } else { DeviceKind::Gpu };
        if !is_host && !name.is_empty() {
            self.trace.run.chip.get_or_insert_with(|| name.clone());
        }
        self.agents.insert(number, (kind, name));
    }

    /// Adds a call, or the range or mark that a call of the marker interface is. `process` is the one within which
    /// correlations hold.
    pub fn called(
        &mut self,
        called: &Called<'_>,
        (start, duration): (Nanoseconds, Nanoseconds),
        process: u32,
    ) {
        let name = self.trace.strings.intern(called.name);
        let thread = self.thread(called.process, called.thread);
        if called.domain.starts_with("MARKER") {
            let kind = if duration.0 == 0 { RangeKind::Mark } else { called.kind };
            let domain = Some(self.trace.strings.intern(called.domain));
            let thread = if kind == RangeKind::StartStop { None } else { Some(thread) };
            self.trace.ranges.push(Range { thread, kind, name, domain, start, duration });
            return;
        }
        let level = level_of(called.domain);
        let call = ApiCall { thread: Some(thread), level, name, start, duration, iteration: None };
        let call = self.trace.api_calls.push(call);
        if let Some(correlation) = called.correlation.filter(|_| level == ApiLevel::Runtime) {
            self.launches.call(process, correlation, call);
        }
    }

    /// Adds a kernel.
    pub fn dispatched(
        &mut self,
        dispatched: &Dispatched<'_>,
        (start, duration): (Nanoseconds, Nanoseconds),
        process: u32,
    ) -> TaskId {
        let text = dispatched.name;
        let name = self.trace.strings.intern(text);
        let is_collective = text.starts_with("nccl") || text.starts_with("rccl");
        let unit = if is_collective { ExecutionUnit::Communication } else { ExecutionUnit::Gpu };
        let trace = &mut self.trace;
        let operator = *(self.operators.entry(name.index() as u32))
            .or_insert_with(|| trace.operators.push(Operator::new(name, name)));
        let stream = Some(self.stream(dispatched.agent, dispatched.stream));
        let operator = Some(operator);
        let task = self.trace.tasks.push(Task { operator, unit, stream, ..Task::new(name, start, duration) });
        if let Some(correlation) = dispatched.correlation {
            self.launches.task(process, correlation, task);
        }
        if let Some(dispatch) = dispatched.dispatch {
            self.further_dispatches.push(((process, dispatch), task));
        }
        task
    }

    /// The kernel of a dispatch of a process.
    fn kernel(&mut self, process: u32, dispatch: u64) -> Option<TaskId> {
        self.dispatches.extend(self.further_dispatches.drain(..));
        self.dispatches.get(&(process, dispatch)).copied()
    }

    /// Adds a copy.
    pub fn copied(
        &mut self,
        copied: &Copied<'_>,
        (start, duration): (Nanoseconds, Nanoseconds),
        process: u32,
    ) {
        let word = copied.direction.strip_prefix("MEMORY_COPY_").unwrap_or(copied.direction);
        let word = format!("memory copy {}", word.to_ascii_lowercase().replace('_', " "));
        let name = self.trace.strings.intern(word.trim_end());
        // A copy belongs to the side that is a GPU.
        let to_host = copied.direction.ends_with("DEVICE_TO_HOST");
        let sides = [copied.destination, copied.source];
        let sides = if to_host { [sides[1], sides[0]] } else { sides };
        let is_host = |agent: &u32| self.agents.get(agent).is_some_and(|(kind, _)| *kind == DeviceKind::Cpu);
        let agent = sides.into_iter().flatten().find(|agent| !is_host(agent)).unwrap_or(0);
        let stream = Some(self.stream(agent, copied.stream));
        let unit = ExecutionUnit::MemoryCopy;
        let task = self.trace.tasks.push(Task { unit, stream, ..Task::new(name, start, duration) });
        if let Some(correlation) = copied.correlation {
            self.launches.task(process, correlation, task);
        }
    }

    fn calls(&mut self, bytes: &[u8], process: u32, lost: &mut Lost, stop: &Stop) {
        let wanted = ["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id"];
        self.each_record(bytes, &wanted, lost, stop, |reader, row, start, duration, _| {
            let called = Called {
                domain: &row.text(2),
                name: &row.text(3),
                process: row.number(4).unwrap_or(0),
                thread: row.number(5).unwrap_or(0),
                correlation: row.number(6),
                kind: range_kind(row.number(5)),
            };
            reader.called(&called, (start, duration), process);
        });
    }

    fn kernels(&mut self, bytes: &[u8], process: u32, lost: &mut Lost, stop: &Stop) {
        let wanted = ["Kernel_Name", "Agent_Id", "Queue_Id", "Stream_Id", "Correlation_Id", "Dispatch_Id"];
        self.each_record(bytes, &wanted, lost, stop, |reader, row, start, duration, _| {
            let name = row.text(2);
            let dispatched = Dispatched {
                name: &name,
                agent: row.agent(3).unwrap_or(0),
                // Streams are the program's; queues are those of the hardware, which older versions tell alone.
                stream: row.number(5).or(row.number(4)).unwrap_or(0),
                correlation: row.number(6),
                dispatch: row.number(7),
            };
            reader.dispatched(&dispatched, (start, duration), process);
        });
    }

    fn copies(&mut self, bytes: &[u8], process: u32, lost: &mut Lost, stop: &Stop) {
        let wanted = ["Direction", "Source_Agent_Id", "Destination_Agent_Id", "Stream_Id", "Correlation_Id"];
        self.each_record(bytes, &wanted, lost, stop, |reader, row, start, duration, _| {
            let copied = Copied {
                direction: &row.text(2),
                source: row.agent(3),
                destination: row.agent(4),
                stream: row.number(5).unwrap_or(0),
                correlation: row.number(6),
            };
            reader.copied(&copied, (start, duration), process);
        });
    }

    /// Counters of kernels, a row for each; those of a kernel follow one another.
    fn counters(&mut self, bytes: &[u8], process: u32, lost: &mut Lost, stop: &Stop) {
        let wanted = [
            "Kernel_Name",
            "Agent_Id",
            "Queue_Id",
            "Stream_Id",
            "Dispatch_Id",
            "Counter_Name",
            "Counter_Value",
        ];
        let mut metrics: NumberMap<u32, MetricId> = NumberMap::default();
        let mut pending: Option<(TaskId, Vec<MetricId>, Vec<f64>)> = None;
        self.each_record(bytes, &wanted, lost, stop, |reader, row, start, duration, lost| {
            let dispatch = row.number(6);
            let known = dispatch.and_then(|number| reader.kernel(process, number));
            let task = known.unwrap_or_else(|| {
                let dispatched = Dispatched {
                    name: &row.text(2),
                    agent: row.agent(3).unwrap_or(0),
                    stream: row.number(5).or(row.number(4)).unwrap_or(0),
                    correlation: None,
                    dispatch,
                };
                reader.dispatched(&dispatched, (start, duration), process)
            });
            let Some(value) = row.double(8) else {
                lost.no_number += 1;
                return;
            };
            let name = reader.trace.strings.intern(&row.text(7));
            let metric = match metrics.get(&(name.index() as u32)) {
                Some(&metric) => metric,
                None => {
                    let metric = reader.trace.enter_metric(&row.text(7), "");
                    metrics.insert(name.index() as u32, metric);
                    metric
                }
            };
            match &mut pending {
                Some((of, metrics, values)) if *of == task => {
                    metrics.push(metric);
                    values.push(value);
                }
                _ => {
                    let before = pending.replace((task, vec![metric], vec![value]));
                    if let Some((task, metrics, values)) = before {
                        reader.trace.push_reading(task, &metrics, &values);
                    }
                }
            }
        });
        if let Some((task, metrics, values)) = pending {
            self.trace.push_reading(task, &metrics, &values);
        }
    }

    /// Sums by name, of kernels or of calls.
    fn totals(&mut self, bytes: &[u8], source: &str, lost: &mut Lost) {
        let wanted = ["Name", "TotalDurationNs", "Calls", "AverageNs", "MinNs", "MaxNs", "StdDev"];
        let of_calls = ["_api_", "hip_", "hsa_", "rocdecode", "rocjpeg"];
        let topic = match of_calls.iter().any(|word| source.contains(word)) {
            true => FigureTopic::HostCall,
            false => FigureTopic::OperatorType,
        };
        let mut rows = Rows::of(bytes, &wanted);
        while let Some(row) = rows.next() {
            if matches!(row, Row::Unreadable) || rows.double(1).is_none() {
                lost.unreadable += 1;
                continue;
            }
            let subject = rows.text(0);
            let about = FigureSubject { topic, source, step: "", subject: &subject, part: "" };
            let figures = [
                ("total", "ns", rows.double(1)),
                ("count", "", rows.double(2)),
                ("mean", "ns", rows.double(3)),
                ("min", "ns", rows.double(4)),
                ("max", "ns", rows.double(5)),
                ("standard deviation", "ns", rows.double(6)),
            ];
            self.trace.push_figures(about, &figures);
        }
    }

    fn stream(&mut self, agent: u32, number: u64) -> StreamId {
        if let Some(&known) = self.streams.get(&(agent, number)) {
            return known;
        }
        let (kind, name) = self.agents.get(&agent).cloned().unwrap_or((DeviceKind::Gpu, String::new()));
        let device = self.places.device(&mut self.trace, kind, agent, &name);
        let name: StringId = self.trace.strings.intern("");
        let stream = self.places.stream(&mut self.trace, device, number, None, name);
        self.streams.insert((agent, number), stream);
        stream
    }

    fn thread(&mut self, process: u64, thread: u64) -> ThreadId {
        let pid = process as u32;
        if let Some(&known) = self.threads.get(&(pid, thread)) {
            return known;
        }
        let process = self.places.process(&mut self.trace, pid);
        let id = self.places.thread(&mut self.trace, process, thread, "");
        self.threads.insert((pid, thread), id);
        id
    }
}

/// A call, as its record tells it.
pub struct Called<'r> {
    pub domain: &'r str,
    pub name: &'r str,
    /// The system's number of the process.
    pub process: u64,
    pub thread: u64,
    pub correlation: Option<u64>,
    /// How a range of the marker interface was opened and closed.
    pub kind: RangeKind,
}

/// A kernel, as its record tells it.
pub struct Dispatched<'r> {
    pub name: &'r str,
    pub agent: u32,
    pub stream: u64,
    pub correlation: Option<u64>,
    pub dispatch: Option<u64>,
}

/// A copy, as its record tells it.
pub struct Copied<'r> {
    pub direction: &'r str,
    pub source: Option<u32>,
    pub destination: Option<u32>,
    pub stream: u64,
    pub correlation: Option<u64>,
}

/// Rows that were lost, by why.
#[derive(Default)]
struct Lost {
    unreadable: u64,
    without_time: u64,
    backwards: u64,
    no_number: u64,
}

/// Ranges that were started and stopped anywhere have no thread, which is written as 0.
fn range_kind(thread: Option<u64>) -> RangeKind {
    if thread == Some(0) { RangeKind::StartStop } else { RangeKind::PushPop }
}

fn level_of(domain: &str) -> ApiLevel {
    match domain {
        _ if domain.starts_with("HIP") || domain.starts_with("HSA") => ApiLevel::Runtime,
        _ if domain.starts_with("RCCL") => ApiLevel::Communication,
        _ => ApiLevel::Other,
    }
}

/// Whether the last line ends within a text.
fn is_cut(bytes: &[u8]) -> bool {
    let last = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let columns = |line: &[u8]| line.iter().filter(|byte| **byte == b',').count();
    let head = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // Whether its last cell is whole can't be told; writers end every line.
    columns(last) >= columns(head)
}
