//! Tables on their way into a trace.

use opscope_trace::{
    ApiCall, ApiLevel, ExecutionUnit, FigureSubject, FigureTopic, LossKind, MetricId, Nanoseconds, NumberMap,
    Operator, OperatorId, Places, Range, RangeKind, StreamId, Task, TaskId, ThreadId, TimeBasis, Trace,
};

use super::agents::{Agent, Agents, Listed};
use super::lost::Lost;
use super::records::{Called, Copied, Dispatched, Launch};
use super::table::{Kind, ReadError, Row, Rows, kind_of};
use crate::reading::{Launches, OwnStream, OwnStreams, Stop};

/// The name of the source of figures of a table that is read alone.
pub const SOURCE: &str = "rocprofv3";

/// Reads one table.
///
/// # Errors
/// When it is none, or the reading was stopped.
pub fn read(bytes: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let kind = kind_of(bytes).ok_or(ReadError::NoTable)?;
    let mut reader = Reader::default();
    reader.table(kind, bytes, SOURCE, 0, stop);
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
    agents: Agents,
    operators: NumberMap<u32, OperatorId>,
    streams: OwnStreams<Agent>,
    /// The words for processes by their numbers here.
    processes: NumberMap<u32, String>,
    threads: NumberMap<(u32, u64), ThreadId>,
    /// Kernels by process and number, to which counters belong; nothing where one number has several.
    kernels: NumberMap<(u32, Launch), Option<TaskId>>,
    /// Kernels that aren't among them yet: where no counters come, nobody asks.
    further_kernels: Vec<((u32, Launch), TaskId)>,
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
        lost.count(&mut self.trace, source);
        if !bytes.is_empty() && !bytes.ends_with(b"\n") && is_cut(bytes) {
            self.trace.count_loss(LossKind::OpenLastLine, 1, source);
        }
    }

    /// The trace of all tables.
    pub fn finish(mut self) -> Trace {
        self.launches.tie(&mut self.trace);
        let processes = self.processes;
        let word = |process| processes.get(&process).cloned().unwrap_or_else(|| process.to_string());
        self.streams.name(&mut self.trace, word);
        self.trace
    }

    fn agents(&mut self, bytes: &[u8]) {
        let wanted =
            ["Node_Id", "Agent_Type", "Product_Name", "Name", "Logical_Node_Id", "Logical_Node_Type_Id"];
        let mut rows = Rows::of(bytes, &wanted);
        let mut list = Vec::new();
        while let Some(row) = rows.next() {
            if let (Row::Whole, Some(node)) = (row, rows.small(0)) {
                let name = if rows.cell(2).is_empty() { rows.text(3) } else { rows.text(2) };
                list.push(Listed {
                    node: Some(node),
                    place: rows.small(4),
                    of_kind: rows.small(5),
                    is_host: rows.cell(1) == b"CPU",
                    name: name.into_owned(),
                });
            }
        }
        self.list_agents(&list);
    }

    /// Hands the rows that have a start and an end on.
    fn each_record(
        &mut self,
        bytes: &[u8],
        further: &[&str],
        lost: &mut Lost,
        stop: &Stop,
        mut record: impl FnMut(&mut Self, &Rows<'_>, Nanoseconds, Nanoseconds, &mut Lost),
    ) {
        self.each_row(bytes, further, lost, stop, |reader, row, lost| {
            if let Some((start, duration)) = span(row, lost) {
                record(reader, row, start, duration, lost);
            }
        });
    }

    /// Hands the rows that can be read on; the columns of their start and end come first.
    fn each_row(
        &mut self,
        bytes: &[u8],
        further: &[&str],
        lost: &mut Lost,
        stop: &Stop,
        mut each: impl FnMut(&mut Self, &Rows<'_>, &mut Lost),
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
            match row {
                Row::Unreadable => lost.unreadable += 1,
                Row::Whole => each(self, &rows, lost),
            }
        }
    }

    /// Enters the agents of one list, in its order. GPUs of different names are no chip of the run.
    pub fn list_agents(&mut self, list: &[Listed]) {
        let mut gpus = list.iter().filter(|listed| !listed.is_host && !listed.name.is_empty());
        if let Some(first) = gpus.next()
            && gpus.all(|gpu| gpu.name == first.name)
        {
            self.trace.run.chip.get_or_insert_with(|| first.name.clone());
        }
        self.agents.enter(list);
    }

    /// Gives a process its word, by which streams are told apart.
    pub fn name_process(&mut self, process: u32, word: String) {
        self.processes.insert(process, word);
    }

    /// An agent that no record tells.
    pub fn unknown_agent(&mut self, text: &str) -> Agent {
        Agent::Other(self.trace.strings.intern(text))
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
        let &Dispatched { agent, queue, .. } = dispatched;
        let (number, queue) = match dispatched.stream {
            Some(stream) => (stream, queue),
            None => (queue.unwrap_or(0), None),
        };
        let stream = OwnStream { process, device: agent, number, queue };
        let stream = self.streams.get(stream).unwrap_or_else(|| self.add_stream(stream));
        let (operator, stream) = (Some(operator), Some(stream));
        let task = self.trace.tasks.push(Task { operator, unit, stream, ..Task::new(name, start, duration) });
        if let Some(correlation) = dispatched.correlation {
            self.launches.task(process, correlation, task);
        }
        let dispatch = dispatched.dispatch.map(Launch::Dispatch);
        if let Some(launch) = dispatch.or(dispatched.correlation.map(Launch::Correlation)) {
            self.further_kernels.push(((process, launch), task));
        }
        task
    }

    /// The kernel of a process that was launched under one of these numbers: that of its dispatch, or of the call,
    /// which may launch several.
    pub fn kernel(
        &mut self,
        process: u32,
        dispatch: Option<u64>,
        correlation: Option<u64>,
    ) -> Option<TaskId> {
        for ((process, launch), task) in self.further_kernels.drain(..) {
            let is_one = matches!(launch, Launch::Dispatch(_));
            (self.kernels.entry((process, launch)))
                .and_modify(|known| *known = is_one.then_some(task))
                .or_insert(Some(task));
        }
        let launches = [dispatch.map(Launch::Dispatch), correlation.map(Launch::Correlation)];
        let found = |launch| self.kernels.get(&(process, launch)).copied().flatten();
        launches.into_iter().flatten().find_map(found)
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
        let gpu = sides.into_iter().flatten().find(|agent| !self.agents.is_host(*agent));
        let agent = gpu.or(sides[0]).or(sides[1]).unwrap_or_else(|| self.unknown_agent(""));
        let stream = OwnStream { process, device: agent, number: copied.stream, queue: None };
        let stream = self.streams.of_any_queue(stream).unwrap_or_else(|| self.add_stream(stream));
        let stream = Some(stream);
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
                agent: row.agent(3).unwrap_or_else(|| reader.unknown_agent(&row.text(3))),
                queue: row.number(4),
                stream: row.number(5),
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
                source: reader.side(row, 3),
                destination: reader.side(row, 4),
                stream: row.number(5).unwrap_or(0),
                correlation: row.number(6),
            };
            reader.copied(&copied, (start, duration), process);
        });
    }

    /// Counters of kernels, a row for each, in any order.
    fn counters(&mut self, bytes: &[u8], process: u32, lost: &mut Lost, stop: &Stop) {
        let wanted = [
            "Kernel_Name",
            "Agent_Id",
            "Queue_Id",
            "Stream_Id",
            "Dispatch_Id",
            "Counter_Name",
            "Counter_Value",
            "Correlation_Id",
        ];
        let mut metrics: NumberMap<u32, MetricId> = NumberMap::default();
        let mut counted: Vec<(TaskId, MetricId, f64)> = Vec::new();
        let is_untimed = self.are_untimed(bytes);
        self.each_row(bytes, &wanted, lost, stop, |reader, row, lost| {
            let Some(task) = reader.counted(row, process, is_untimed, lost) else { return };
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
            counted.push((task, metric, value));
        });
        self.push_readings(counted);
    }

    /// Adds a reading for each task. Those of a task may lie anywhere, and stay in their order.
    pub fn push_readings(&mut self, mut counted: Vec<(TaskId, MetricId, f64)>) {
        counted.sort_by_key(|(task, ..)| task.index());
        let (mut metrics, mut values) = (Vec::new(), Vec::new());
        for of_task in counted.chunk_by(|one, next| one.0 == next.0) {
            metrics.clear();
            values.clear();
            metrics.extend(of_task.iter().map(|(_, metric, _)| *metric));
            values.extend(of_task.iter().map(|(.., value)| *value));
            self.trace.push_reading(of_task[0].0, &metrics, &values);
        }
    }

    /// Whether a table of counters has no times, and no other table told of kernels. The kernels of such a run are
    /// known by their counters alone, and no time of the profile is one.
    fn are_untimed(&mut self, bytes: &[u8]) -> bool {
        let has_times = Rows::of(bytes, &["Start_Timestamp"]).has(0);
        let is_untimed =
            !has_times && (self.trace.tasks.is_empty() || self.trace.run.layer_times == TimeBasis::Untold);
        if is_untimed {
            self.trace.run.layer_times = TimeBasis::Untold;
        }
        is_untimed
    }

    /// The kernel that a row of counters is of. Tables of ROCm 6.2 tell no times, so that only the kernels' own table
    /// has it.
    fn counted(&mut self, row: &Rows<'_>, process: u32, is_untimed: bool, lost: &mut Lost) -> Option<TaskId> {
        let dispatch = row.number(6);
        let known = self.kernel(process, dispatch, row.number(9));
        known.or_else(|| {
            let span = if is_untimed { Default::default() } else { span(row, lost)? };
            let dispatched = Dispatched {
                name: &row.text(2),
                agent: row.agent(3).unwrap_or_else(|| self.unknown_agent(&row.text(3))),
                queue: row.number(4),
                stream: row.number(5),
                correlation: None,
                dispatch,
            };
            Some(self.dispatched(&dispatched, span, process))
        })
    }

    /// Sums by name, of kernels or of calls.
    fn totals(&mut self, bytes: &[u8], source: &str, lost: &mut Lost) {
        let wanted = ["Name", "TotalDurationNs", "Calls", "AverageNs", "MinNs", "MaxNs", "StdDev"];
        let of_calls = ["_api_", "hip_", "hsa_", "rocdecode", "rocjpeg"];
        let mut rows = Rows::of(bytes, &wanted);
        let mut sums: Vec<(String, [Option<f64>; 6])> = Vec::new();
        while let Some(row) = rows.next() {
            if matches!(row, Row::Unreadable) || rows.double(1).is_none() {
                lost.unreadable += 1;
                continue;
            }
            sums.push((rows.text(0).into_owned(), [1, 2, 3, 4, 5, 6].map(|column| rows.double(column))));
        }
        // A table that is read alone has no name.
        let is_of_calls = of_calls.iter().any(|word| source.contains(word))
            || !sums.is_empty() && sums.iter().all(|(name, _)| is_call(name));
        let is_of_domains = source.contains("domain_stats")
            || !sums.is_empty() && sums.iter().all(|(name, _)| is_domain(name));
        let topic = match (is_of_domains, is_of_calls) {
            (true, _) => FigureTopic::Domain,
            (false, true) => FigureTopic::HostCall,
            (false, false) => FigureTopic::OperatorType,
        };
        for (subject, [total, count, mean, least, greatest, deviation]) in &sums {
            let about = FigureSubject { topic, source, step: "", subject, part: "" };
            let figures = [
                ("total", "ns", *total),
                ("count", "", *count),
                ("mean", "ns", *mean),
                ("min", "ns", *least),
                ("max", "ns", *greatest),
                ("standard deviation", "ns", *deviation),
            ];
            self.trace.push_figures(about, &figures);
        }
    }

    /// The agent on a side of a copy; nothing where none is told.
    fn side(&mut self, row: &Rows<'_>, column: usize) -> Option<Agent> {
        let is_told = !row.cell(column).is_empty();
        is_told.then(|| row.agent(column).unwrap_or_else(|| self.unknown_agent(&row.text(column))))
    }

    fn add_stream(&mut self, stream: OwnStream<Agent>) -> StreamId {
        let device = self.agents.device(&mut self.trace, &mut self.places, stream.device);
        self.streams.add(&mut self.trace, stream, device)
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

/// Start and duration of a row, whose columns come first.
fn span(row: &Rows<'_>, lost: &mut Lost) -> Option<(Nanoseconds, Nanoseconds)> {
    lost.span(row.whole(0), row.whole(1))
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

/// Whether a name is that of a domain of `rocprofv3`, such as `HIP_RUNTIME_API` and `KERNEL_DISPATCH`.
fn is_domain(name: &str) -> bool {
    const ENDS: [&str; 6] = ["_API", "_API_EXT", "_DISPATCH", "_COPY", "_ALLOCATION", "_TRACE"];
    ENDS.iter().any(|end| name.ends_with(end)) && !name.contains(|letter: char| letter.is_ascii_lowercase())
}

/// Whether a name is that of a function of AMD's libraries. Names of kernels mostly have their arguments behind them.
fn is_call(name: &str) -> bool {
    const LIBRARIES: [&str; 8] = ["hip", "__hip", "hsa_", "roctx", "rocDec", "rocJpeg", "nccl", "rccl"];
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && LIBRARIES.iter().any(|library| name.starts_with(library))
}

/// Whether the last line ends within a text.
fn is_cut(bytes: &[u8]) -> bool {
    let last = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let columns = |line: &[u8]| line.iter().filter(|byte| **byte == b',').count();
    let head = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // Whether its last cell is whole can't be told; writers end every line.
    columns(last) >= columns(head)
}
