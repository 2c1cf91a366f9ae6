//! The same records in JSON (`rocprofv3 --output-format json`).
//!
//! ```text
//! rocprofiler-sdk-tool: an object, or a list with one for each process
//!   metadata.pid · agents[].id.handle, .type (1 host, 2 GPU), .node_id, .name, .product_name
//!   kernel_symbols[kernel_id].formatted_kernel_name
//!   strings.buffer_records[kind].kind, .operations[operation]
//!   strings.marker_api[].key, .value                             the texts of markers by correlation
//!   counters[].id.handle, .agent_id.handle, .name
//!   buffer_records.kernel_dispatch · memory_copy · hip_api · hsa_api · rccl_api · marker_api
//!   callback_records.counter_collection[].dispatch_data           a kernel, as in kernel_dispatch
//!                                       .records[].counter_id.handle, .value · .stream_id.handle
//! ```
//!
//! Records name kernels, agents and calls by numbers that may be told behind them, so they are kept as rows until all
//! is read.

use std::collections::{BTreeMap, BTreeSet};

use opscope_trace::{LossKind, Nanoseconds, NumberMap, RangeKind, TaskId, TimeBasis, Trace};

use super::agents::{Agent, Listed};
use super::counted::Counted;
use super::lost::Lost;
use super::reader::Reader;
use super::records::{Called, Copied, Dispatched};
use super::table::ReadError;
use crate::json::{Scanned, Scanner, string_text};
use crate::reading::{Stop, decimal};

/// The member by which such a file is known.
const TOOL: &str = "rocprofiler-sdk-tool";

/// Whether bytes that begin so are such a file.
pub fn is_json(head: &[u8]) -> bool {
    let mut scanner = Scanner::new(head);
    let mut is_one = false;
    if scanner.peek() == Some(b'{') {
        // The end of the head is an error.
        let _ = scanner.entries("an object", |scanner, name| {
            is_one |= name.bytes == TOOL.as_bytes();
            scanner.skip().map(drop)
        });
    }
    is_one
}

/// Reads a file.
///
/// # Errors
/// When it holds no process, or the reading was stopped.
pub fn read_json(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    stop.expects(|| text.len() as u64);
    let mut reader = Reader::default();
    let mut number = 0;
    let mut scanner = Scanner::new(text);
    let read = scanner.entries("an object", |scanner, name| {
        if name.bytes != TOOL.as_bytes() {
            return scanner.skip().map(drop);
        }
        let mut take = |scanner: &mut Scanner<'_>| {
            number += 1;
            let mut process = Process::default();
            // Records before a fault are kept.
            let read = process.read(scanner);
            process.enter(&mut reader, number);
            read
        };
        if scanner.peek() == Some(b'[') { scanner.array("a list of processes", take) } else { take(scanner) }
    });
    stop.has_read(text.len());
    if stop.is_wanted() {
        return Err(ReadError::Stopped);
    }
    match read {
        Err(_) if number == 0 => return Err(ReadError::NoProcess),
        Err(error) => reader.trace.count_loss(LossKind::CutProfile, 1, &error.to_string()),
        Ok(()) if number == 0 => return Err(ReadError::NoProcess),
        Ok(()) => {}
    }
    Ok(reader.finish())
}

/// A record of any kind.
#[derive(Clone, Copy, Default)]
pub(super) struct Record {
    kind: u64,
    operation: u64,
    thread: u64,
    pub correlation: Option<u64>,
    start: Option<i64>,
    end: Option<i64>,
    kernel: u64,
    pub dispatch: Option<u64>,
    pub agent: u64,
    destination: u64,
    queue: Option<u64>,
    stream: Option<u64>,
}

/// The records of one process.
#[derive(Default)]
struct Process {
    pid: u64,
    /// Number, kind and name of agents by their handles.
    agents: NumberMap<u64, (u32, bool, String)>,
    kernels: NumberMap<u64, String>,
    kinds: Vec<(String, Vec<String>)>,
    markers: NumberMap<u64, String>,
    dispatches: Vec<Record>,
    copies: Vec<Record>,
    calls: Vec<Record>,
    counted: Counted,
    placeless: BTreeMap<String, u64>,
}

impl Process {
    fn read(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        scanner.entries("a process", |scanner, name| match name.bytes {
            b"metadata" => object(scanner, |scanner, name| match name {
                b"pid" => whole(scanner, |number| self.pid = number),
                _ => scanner.skip().map(drop),
            }),
            b"agents" => each(scanner, |scanner| self.agent(scanner)),
            b"kernel_symbols" => each(scanner, |scanner| self.kernel(scanner)),
            b"strings" => object(scanner, |scanner, name| match name {
                b"buffer_records" => each(scanner, |scanner| self.kind(scanner)),
                b"marker_api" => each(scanner, |scanner| self.marker(scanner)),
                _ => scanner.skip().map(drop),
            }),
            b"buffer_records" => object(scanner, |scanner, name| match name {
                b"kernel_dispatch" | b"kernel_dispatches" => records(scanner, &mut self.dispatches),
                b"memory_copy" | b"memory_copies" => records(scanner, &mut self.copies),
                b"hip_api" | b"hsa_api" | b"rccl_api" | b"marker_api" => records(scanner, &mut self.calls),
                name => self.leave_out(scanner, name),
            }),
            b"counters" => each(scanner, |scanner| self.counted.counter(scanner)),
            b"callback_records" => object(scanner, |scanner, name| match name {
                b"counter_collection" => each(scanner, |scanner| self.counted.kernel(scanner)),
                name => self.leave_out(scanner, name),
            }),
            _ => scanner.skip().map(drop),
        })
    }

    /// Counts records for which a trace has no place.
    fn leave_out(&mut self, scanner: &mut Scanner<'_>, name: &[u8]) -> Scanned<()> {
        let mut count = 0;
        let read = each(scanner, |scanner| {
            count += 1;
            scanner.skip().map(drop)
        });
        *self.placeless.entry(String::from_utf8_lossy(name).into_owned()).or_default() += count;
        read
    }

    fn agent(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let (mut id, mut is_host, mut node, mut name, mut product) =
            (0, false, None, String::new(), String::new());
        object(scanner, |scanner, member| match member {
            b"id" => handle(scanner, |handle| id = handle),
            b"type" => whole(scanner, |number| is_host = number == 1),
            b"node_id" => whole(scanner, |number| node = u32::try_from(number).ok()),
            b"name" => text(scanner, &mut name),
            b"product_name" => text(scanner, &mut product),
            _ => scanner.skip().map(drop),
        })?;
        let number = node.unwrap_or(self.agents.len() as u32);
        self.agents.insert(id, (number, is_host, if product.is_empty() { name } else { product }));
        Ok(())
    }

    fn kernel(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        // Their list begins with one of number 0, so that places are numbers where none is told.
        let (mut id, mut name, mut plain) = (self.kernels.len() as u64, String::new(), String::new());
        object(scanner, |scanner, member| match member {
            b"kernel_id" => whole(scanner, |number| id = number),
            b"formatted_kernel_name" => text(scanner, &mut name),
            b"kernel_name" => text(scanner, &mut plain),
            _ => scanner.skip().map(drop),
        })?;
        self.kernels.insert(id, if name.is_empty() { plain } else { name });
        Ok(())
    }

    fn kind(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let (mut kind, mut operations) = (String::new(), Vec::new());
        object(scanner, |scanner, member| match member {
            b"kind" => text(scanner, &mut kind),
            b"operations" => each(scanner, |scanner| {
                let mut name = String::new();
                text(scanner, &mut name)?;
                operations.push(name);
                Ok(())
            }),
            _ => scanner.skip().map(drop),
        })?;
        self.kinds.push((kind, operations));
        Ok(())
    }

    fn marker(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let (mut key, mut value) = (0, String::new());
        object(scanner, |scanner, member| match member {
            b"key" => whole(scanner, |number| key = number),
            b"value" => text(scanner, &mut value),
            _ => scanner.skip().map(drop),
        })?;
        self.markers.insert(key, value);
        Ok(())
    }

    /// The agents in the order of the system.
    fn list(&self) -> Vec<Listed> {
        let mut agents: Vec<_> = self.agents.values().collect();
        agents.sort();
        let listed = |(node, is_host, name): &&(u32, bool, String)| Listed {
            node: Some(*node),
            place: None,
            of_kind: None,
            is_host: *is_host,
            name: name.clone(),
        };
        agents.iter().map(listed).collect()
    }

    /// Makes the rows of all records; processes are told apart by their number in the file.
    fn enter(self, reader: &mut Reader, number: u32) {
        let mut lost = Lost::default();
        reader.name_process(number, self.pid.to_string());
        reader.list_agents(&self.list());
        self.enter_calls(reader, number, &mut lost);
        let mut refused = BTreeSet::new();
        for record in &self.dispatches {
            match lost.span(record.start, record.end) {
                Some(span) => drop(self.enter_kernel(reader, record, span, number, &mut lost)),
                None => refused.extend(record.dispatch),
            }
        }
        self.enter_copies(reader, number, &mut lost);
        self.enter_counters(reader, number, &refused, &mut lost);
        lost.count(&mut reader.trace, TOOL);
        for (name, count) in self.placeless {
            reader.trace.count_loss(LossKind::PlacelessRecord, count, &name);
        }
    }

    fn enter_calls(&self, reader: &mut Reader, number: u32, lost: &mut Lost) {
        for record in &self.calls {
            let Some(span) = lost.span(record.start, record.end) else { continue };
            let kind = self.kinds.get(usize::try_from(record.kind).unwrap_or(usize::MAX));
            let operation = usize::try_from(record.operation).unwrap_or(usize::MAX);
            let name = kind.and_then(|(_, operations)| operations.get(operation));
            let domain = kind.map_or("", |(kind, _)| kind);
            let marker = record.correlation.and_then(|correlation| self.markers.get(&correlation));
            let name = marker.filter(|_| domain.starts_with("MARKER")).or(name).map_or("", String::as_str);
            lost.unnamed += u64::from(name.is_empty());
            // A range that was pushed lasts until it is popped; of one that was started, which ROCm 7 calls the process's, its
            // thread says nothing.
            let kind = match name_of(kind, operation) {
                Some("roctxMarkA") => RangeKind::Mark,
                Some("roctxRangeStartA" | "roctxProcessRangeA") => RangeKind::StartStop,
                _ => RangeKind::PushPop,
            };
            let (process, thread) = (self.pid, record.thread);
            let called = Called { domain, name, process, thread, correlation: record.correlation, kind };
            reader.called(&called, span, number);
        }
    }

    fn enter_kernel(
        &self,
        reader: &mut Reader,
        record: &Record,
        span: (Nanoseconds, Nanoseconds),
        number: u32,
        lost: &mut Lost,
    ) -> TaskId {
        let name = self.kernels.get(&record.kernel).map_or("", String::as_str);
        lost.unnamed += u64::from(name.is_empty());
        let dispatched = Dispatched {
            name,
            agent: self.agent_of(record.agent).unwrap_or_else(|| reader.unknown_agent("")),
            queue: record.queue,
            stream: record.stream,
            correlation: record.correlation,
            dispatch: record.dispatch,
        };
        reader.dispatched(&dispatched, span, number)
    }

    fn enter_copies(&self, reader: &mut Reader, number: u32, lost: &mut Lost) {
        for record in &self.copies {
            let Some(span) = lost.span(record.start, record.end) else { continue };
            let kind = self.kinds.get(usize::try_from(record.kind).unwrap_or(usize::MAX));
            let direction = name_of(kind, usize::try_from(record.operation).unwrap_or(usize::MAX));
            let copied = Copied {
                direction: direction.unwrap_or_default(),
                source: self.agent_of(record.agent),
                destination: self.agent_of(record.destination),
                stream: record.stream.unwrap_or(0),
                correlation: record.correlation,
            };
            reader.copied(&copied, span, number);
        }
    }

    /// Gives kernels what was counted while they ran. Where kernels weren't traced by themselves, those that were counted
    /// are all that is known of them. `refused` has the numbers of traced kernels that can't be.
    fn enter_counters(&self, reader: &mut Reader, number: u32, refused: &BTreeSet<u64>, lost: &mut Lost) {
        let are_untimed = self.are_untimed(reader);
        let mut readings = Vec::new();
        for (record, values) in self.counted.kernels() {
            if record.dispatch.is_some_and(|dispatch| refused.contains(&dispatch)) {
                continue;
            }
            let known = reader.kernel(number, record.dispatch, record.correlation);
            let task = known.or_else(|| {
                let span =
                    if are_untimed { Default::default() } else { lost.span(record.start, record.end)? };
                Some(self.enter_kernel(reader, record, span, number, lost))
            });
            let Some(task) = task else { continue };
            for (name, value) in self.counted.of(record.agent, values, lost) {
                readings.push((task, reader.trace.enter_metric(name, ""), value));
            }
        }
        reader.push_readings(readings);
    }

    /// Whether kernels are known by their counters alone, of which ROCm 6.2 tells no times: no time of the profile is one
    /// then.
    fn are_untimed(&self, reader: &mut Reader) -> bool {
        let mut kernels = self.counted.kernels().map(|(record, _)| record).peekable();
        let layer_times = &mut reader.trace.run.layer_times;
        let is_first = reader.trace.tasks.is_empty() || *layer_times == TimeBasis::Untold;
        let are_untimed = is_first
            && kernels.peek().is_some()
            && kernels.all(|record| record.start.is_none() && record.end.is_none());
        if are_untimed {
            *layer_times = TimeBasis::Untold;
        }
        are_untimed
    }

    fn agent_of(&self, handle: u64) -> Option<Agent> {
        self.agents.get(&handle).map(|(node, ..)| Agent::Node(*node))
    }
}

/// The name of an operation of a kind.
fn name_of(kind: Option<&(String, Vec<String>)>, operation: usize) -> Option<&str> {
    kind.and_then(|(_, operations)| operations.get(operation)).map(String::as_str)
}

fn records(scanner: &mut Scanner<'_>, rows: &mut Vec<Record>) -> Scanned<()> {
    each(scanner, |scanner| {
        let mut row = Record::default();
        object(scanner, |scanner, member| record_member(scanner, member, &mut row))?;
        rows.push(row);
        Ok(())
    })
}

pub(super) fn record_member(scanner: &mut Scanner<'_>, member: &[u8], row: &mut Record) -> Scanned<()> {
    match member {
        b"kind" => whole(scanner, |number| row.kind = number),
        b"operation" => whole(scanner, |number| row.operation = number),
        b"thread_id" => whole(scanner, |number| row.thread = number),
        b"start_timestamp" => whole(scanner, |number| row.start = i64::try_from(number).ok()),
        b"end_timestamp" => whole(scanner, |number| row.end = i64::try_from(number).ok()),
        b"kernel_id" => whole(scanner, |number| row.kernel = number),
        b"dispatch_id" => whole(scanner, |number| row.dispatch = Some(number)),
        b"correlation_id" => object(scanner, |scanner, member| match member {
            b"internal" => whole(scanner, |number| row.correlation = Some(number)),
            _ => scanner.skip().map(drop),
        }),
        b"agent_id" | b"src_agent_id" => handle(scanner, |number| row.agent = number),
        b"dst_agent_id" => handle(scanner, |number| row.destination = number),
        b"queue_id" => handle(scanner, |number| row.queue = Some(number)),
        b"stream_id" => handle(scanner, |number| row.stream = Some(number)),
        b"dispatch_info" => object(scanner, |scanner, member| record_member(scanner, member, row)),
        _ => scanner.skip().map(drop),
    }
}

/// The members of an object; any other value is passed over.
pub(super) fn object<'t>(
    scanner: &mut Scanner<'t>,
    mut member: impl FnMut(&mut Scanner<'t>, &[u8]) -> Scanned<()>,
) -> Scanned<()> {
    match scanner.peek() {
        Some(b'{') => scanner.entries("an object", |scanner, name| member(scanner, name.bytes)),
        _ => scanner.skip().map(drop),
    }
}

/// The elements of a list; any other value is passed over.
pub(super) fn each<'t>(
    scanner: &mut Scanner<'t>,
    element: impl FnMut(&mut Scanner<'t>) -> Scanned<()>,
) -> Scanned<()> {
    match scanner.peek() {
        Some(b'[') => scanner.array("a list", element),
        _ => scanner.skip().map(drop),
    }
}

fn whole(scanner: &mut Scanner<'_>, take: impl FnOnce(u64)) -> Scanned<()> {
    let value = scanner.value()?;
    if let Some(number) = decimal::whole(value).ok().and_then(|number| u64::try_from(number).ok()) {
        take(number);
    }
    Ok(())
}

pub(super) fn text(scanner: &mut Scanner<'_>, into: &mut String) -> Scanned<()> {
    *into = string_text(scanner.value()?).into_owned();
    Ok(())
}

/// A number within an object, as handles are written, or alone.
pub(super) fn handle(scanner: &mut Scanner<'_>, take: impl FnOnce(u64)) -> Scanned<()> {
    let mut number = None;
    if scanner.peek() == Some(b'{') {
        object(scanner, |scanner, member| match member {
            b"handle" => whole(scanner, |handle| number = Some(handle)),
            _ => scanner.skip().map(drop),
        })?;
    } else {
        whole(scanner, |handle| number = Some(handle))?;
    }
    number.map(take);
    Ok(())
}
