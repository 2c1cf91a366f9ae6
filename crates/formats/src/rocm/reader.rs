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
                let is_cpu = rows.cell(1) == b"CPU";
                let name = if rows.cell(2).is_empty() { rows.text(3) } else { rows.text(2) }.into_owned();
                let kind = if is_cpu { DeviceKind::Cpu } else { DeviceKind::Gpu };
                if !is_cpu && !name.is_empty() {
                    self.trace.run.chip.get_or_insert_with(|| name.clone());
                }
                self.agents.insert(number, (kind, name));
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

    fn calls(&mut self, bytes: &[u8], process: u32, lost: &mut Lost, stop: &Stop) {
        let wanted = ["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id"];
        self.each_record(bytes, &wanted, lost, stop, |reader, row, start, duration, _| {
            let name = reader.trace.strings.intern(&row.text(3));
            let thread = reader.thread(row.number(4).unwrap_or(0), row.number(5).unwrap_or(0));
            let domain = row.cell(2);
            if domain.starts_with(b"MARKER") {
                let kind = if duration.0 == 0 { RangeKind::Mark } else { range_kind(row.number(5)) };
                let domain = Some(reader.trace.strings.intern(&row.text(2)));
                let thread = if kind == RangeKind::StartStop { None } else { Some(thread) };
                reader.trace.ranges.push(Range { thread, kind, name, domain, start, duration });
                return;
            }
            let level = level_of(domain);
            let call = ApiCall { thread: Some(thread), level, name, start, duration, iteration: None };
            let call = reader.trace.api_calls.push(call);
            if let Some(correlation) = row.number(6).filter(|_| level == ApiLevel::Runtime) {
                reader.launches.call(process, correlation, call);
            }
        });
    }

    fn kernels(&mut self, bytes: &[u8], process: u32, lost: &mut Lost, stop: &Stop) {
        let wanted = ["Kernel_Name", "Agent_Id", "Queue_Id", "Stream_Id", "Correlation_Id", "Dispatch_Id"];
        self.each_record(bytes, &wanted, lost, stop, |reader, row, start, duration, _| {
            let task = reader.kernel(row, 2, start, duration);
            if let Some(correlation) = row.number(6) {
                reader.launches.task(process, correlation, task);
            }
            if let Some(dispatch) = row.number(7) {
                reader.dispatches.insert((process, dispatch), task);
            }
        });
    }

    /// The task of a kernel, whose name, agent, queue and stream stand in four columns from `first` on.
    fn kernel(&mut self, row: &Rows<'_>, first: usize, start: Nanoseconds, duration: Nanoseconds) -> TaskId {
        let name = self.trace.strings.intern(&row.text(first));
        let is_collective = row.cell(first).starts_with(b"nccl") || row.cell(first).starts_with(b"rccl");
        let unit = if is_collective { ExecutionUnit::Communication } else { ExecutionUnit::Gpu };
        let trace = &mut self.trace;
        let operator = *(self.operators.entry(name.index() as u32))
            .or_insert_with(|| trace.operators.push(Operator::new(name, name)));
        // Streams are the program's; queues are those of the hardware, which older versions tell alone.
        let number = row.number(first + 3).or(row.number(first + 2)).unwrap_or(0);
        let stream = Some(self.stream(row.agent(first + 1).unwrap_or(0), number));
        let operator = Some(operator);
        self.trace.tasks.push(Task { operator, unit, stream, ..Task::new(name, start, duration) })
    }

    fn copies(&mut self, bytes: &[u8], process: u32, lost: &mut Lost, stop: &Stop) {
        let wanted = ["Direction", "Source_Agent_Id", "Destination_Agent_Id", "Stream_Id", "Correlation_Id"];
        self.each_record(bytes, &wanted, lost, stop, |reader, row, start, duration, _| {
            let direction = row.text(2);
            let word = direction.strip_prefix("MEMORY_COPY_").unwrap_or(&direction);
            let word = format!("memory copy {}", word.to_ascii_lowercase().replace('_', " "));
            let name = reader.trace.strings.intern(&word);
            // A copy belongs to the side that is a GPU; older versions have an agent's number from 0 as well.
            let agents = [row.agent(4), row.agent(3)];
            let is_host = |agent: &u32| match reader.agents.get(agent) {
                Some((kind, _)) => *kind == DeviceKind::Cpu,
                None => false,
            };
            let to_host = row.cell(2).ends_with(b"DEVICE_TO_HOST");
            let agents = if to_host { [agents[1], agents[0]] } else { agents };
            let agent = agents.into_iter().flatten().find(|agent| !is_host(agent)).unwrap_or(0);
            let stream = Some(reader.stream(agent, row.number(5).unwrap_or(0)));
            let unit = ExecutionUnit::MemoryCopy;
            let task = reader.trace.tasks.push(Task { unit, stream, ..Task::new(name, start, duration) });
            if let Some(correlation) = row.number(6) {
                reader.launches.task(process, correlation, task);
            }
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
            let dispatch = (process, row.number(6).unwrap_or(0));
            let known = reader.dispatches.get(&dispatch).copied();
            let task = known.unwrap_or_else(|| {
                let task = reader.kernel(row, 2, start, duration);
                reader.dispatches.insert(dispatch, task);
                task
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

fn level_of(domain: &[u8]) -> ApiLevel {
    match domain {
        _ if domain.starts_with(b"HIP") || domain.starts_with(b"HSA") => ApiLevel::Runtime,
        _ if domain.starts_with(b"RCCL") => ApiLevel::Communication,
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
