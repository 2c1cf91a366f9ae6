//! Timelines that opscope wrote: `chrome::write` tells what stands where.

use std::collections::{HashMap, HashSet};

use opscope_trace::{
    ApiLevel, DeviceKind, ExecutionUnit, Iteration, Loss, LossKind, Nanoseconds, RangeKind, Severity, Stream,
    Trace, UnrecordedIteration,
};

use super::builder::{Builder, Item, OperatorKey};
use super::chunk::Details;
use super::dialect::{AboutFile, Dialect, DialectReader};
use super::lanes::{Lane, Lanes};
use super::text::{Raw, number, text_of};
use crate::json::Scanner;
use crate::reading::{Row, decimal};

/// The dialect of the timelines that opscope itself writes.
pub(super) struct Own;

impl Dialect for Own {
    fn begin<'a>(
        &self,
        about: &AboutFile<'_, 'a>,
        builder: &mut Builder<'a>,
    ) -> Option<Box<dyn DialectReader<'a> + 'a>> {
        let other_data = about.member("otherData").filter(|other_data| is_writer(other_data))?;
        let told = read_other_data(&mut builder.trace, other_data);
        let roles = assign_roles(&mut builder.lanes, about.lanes, &told.threads);
        Some(Box::new(OwnReader { zero: told.zero.saturating_neg(), roles }))
    }
}

struct OwnReader {
    zero: i64,
    /// The content of every lane.
    roles: Vec<Role>,
}

impl<'a> DialectReader<'a> for OwnReader {
    fn slice(&mut self, builder: &mut Builder<'a>, slice: &Item<'a>) -> Option<Row> {
        Some(row_of(builder, slice, &self.roles[slice.lane.index()]))
    }

    fn zero(&self) -> Option<i64> {
        Some(self.zero)
    }

    fn has_read(&self, member: &[u8]) -> bool {
        member == b"otherData"
    }

    fn domain_of_mark(&self, mark: &Item<'a>) -> Raw<'a> {
        mark.word
    }

    fn device_of_counters(&self, _pid: Option<u32>, group: &str) -> Option<(DeviceKind, u32, String)> {
        let is_host =
            matches!(group, "" | "Inferences and calls" | "Ranges and marks" | "Tasks without a stream");
        (!is_host).then(|| parse_device(group))
    }

    /// Counters of one name are told apart by a number behind it.
    fn counter_name<'name>(&self, name: &'name str) -> &'name str {
        let numbered = name.rsplit_once(" #");
        let copied = numbered.filter(|(_, number)| number.parse().is_ok_and(|number: u32| number > 1));
        copied.map_or(name, |(name, _)| name)
    }
}

/// The content of a lane of a timeline of opscope's.
#[derive(Clone, Debug, PartialEq)]
enum Role {
    /// The inferences of a model, if it is named.
    Iterations(Option<String>),
    /// The inferences of a model that were timed as a whole.
    Unrecorded(Option<String>),
    /// The calls of a thread.
    Calls,
    /// Ranges and marks.
    Ranges,
    /// The tasks of a stream.
    Stream {
        /// The device's kind, number and name.
        device: (DeviceKind, u32, String),
        /// The stream's name on its device.
        name: String,
        /// The thread that executes it.
        thread: Option<HostThread>,
    },
    /// Tasks without a stream.
    LooseTasks,
}

/// A thread of the host, which may have no lane of its own.
#[derive(Clone, Debug, PartialEq)]
struct HostThread {
    name: String,
    number: u64,
}

/// The facts of `otherData` that are needed to make rows.
#[derive(Default)]
struct OtherData {
    /// Where the trace's zero lies in the file's times.
    zero: i64,
    /// The names of the threads that execute streams, by the numbers of the streams' lanes.
    threads: HashMap<u64, String>,
}

/// Whether the outer object's `otherData` names opscope as the writer.
fn is_writer(other_data: Raw<'_>) -> bool {
    let mut is_own = false;
    let _ = Scanner::new(other_data).entries("an object", |scanner, name| {
        let value = scanner.value()?;
        is_own |= name.bytes == b"writer" && value.starts_with(b"\"opscope ");
        Ok(())
    });
    is_own
}

/// Reads `otherData`: the clock, facts and remarks about the run, and losses, which it enters, and what else it tells.
fn read_other_data(trace: &mut Trace, other_data: Raw<'_>) -> OtherData {
    let mut told = OtherData::default();
    let _ = Scanner::new(other_data).object("an object", |scanner, name| {
        let value = scanner.value()?;
        let name = String::from_utf8_lossy(name);
        if name == "zero_ns" {
            told.zero = decimal::whole(value).unwrap_or(0);
        } else if name == "unix_zero_ns" {
            trace.clock.unix_zero = decimal::whole(value).ok();
        } else if name == "clock_domain" {
            trace.clock.domain = Some(trace.strings.intern(&text_of(value)));
        } else if let Some(key) = name.strip_prefix("property ") {
            let text = text_of(value);
            if !trace.run.read_fact(key, &text) {
                trace.run.remark(key, &text);
            }
        } else if let Some(key) = name.strip_prefix("remark ") {
            trace.run.remark(key, &text_of(value));
        } else if let Some(lane) = name.strip_prefix("thread of lane ") {
            told.threads.extend(lane.parse().ok().map(|lane: u64| (lane, text_of(value).into_owned())));
        } else if let Some((kind, detail)) = kind_and_detail(&name) {
            let count = number(value).unwrap_or(0);
            let detail = trace.strings.intern(detail);
            trace.losses.push(Loss { kind, count, detail });
        }
        Ok(())
    });
    told
}

/// `SEVERITY: SENTENCE (DETAIL)`; a sentence that isn't known becomes the detail.
fn kind_and_detail(name: &str) -> Option<(LossKind, &str)> {
    let (severity, loss) = name.split_once(": ")?;
    let severity = Severity::from_name(severity)?;
    let known = LossKind::ALL.into_iter().find_map(|kind| {
        let detail = loss.strip_prefix(kind.sentence())?.strip_prefix(" (")?.strip_suffix(')')?;
        Some((kind, detail))
    });
    Some(known.unwrap_or((LossKind::of_another_version(severity), loss)))
}

/// Finds out what every lane shows; `threads` has those that execute streams, by the numbers of the streams' lanes.
fn assign_roles(lanes: &mut [Lane<'_>], of_file: &Lanes<'_>, threads: &HashMap<u64, String>) -> Vec<Role> {
    let written = of_file.names.iter().map(|((process, _), name)| (*process, name.as_str()));
    let written: HashSet<(Raw<'_>, &str)> = written.collect();
    let mut numbers = ThreadNumbers::default();
    let mut roles = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let name = base_name(lane, &written);
        let role = match &*lane.process_name {
            "Inferences and calls" => {
                let of = |lane: &str| Some(name.strip_prefix(lane)?.strip_prefix(" of ").map(str::to_owned));
                let unrecorded = || of("unrecorded inferences").map(Role::Unrecorded);
                of("inferences").map(Role::Iterations).or_else(unrecorded).unwrap_or(Role::Calls)
            }
            "Ranges and marks" => Role::Ranges,
            "Tasks without a stream" => Role::LooseTasks,
            device => {
                let thread = threads.get(&lane.tid);
                let thread = thread.map(|name| HostThread { name: name.clone(), number: numbers.of(name) });
                Role::Stream { device: parse_device(device), name: name.clone(), thread }
            }
        };
        lane.is_no_thread = matches!(
            (&role, &*name),
            (Role::Calls, "calls") | (Role::Ranges, "ranges" | "ranges, started and stopped")
        );
        lane.name = match role {
            Role::Calls => name.strip_prefix("calls of ").unwrap_or_default().to_owned(),
            Role::Ranges => name.strip_suffix(", started and stopped").unwrap_or(&name).to_owned(),
            _ => name,
        };
        // The file doesn't know the system's numbers.
        lane.pid = 0;
        lane.process_name = String::new();
        lane.tid = numbers.of(&lane.name);
        roles.push(role);
    }
    roles
}

/// Numbers for threads: one has the same name on all its lanes.
#[derive(Default)]
struct ThreadNumbers(HashMap<String, u64>);

impl ThreadNumbers {
    fn of(&mut self, name: &str) -> u64 {
        let next = self.0.len() as u64;
        *self.0.entry(name.to_owned()).or_insert(next)
    }
}

/// The name of a lane without the number that tells it from the lane which it was split off from, one of those that
/// were written, each with its process.
fn base_name(lane: &Lane<'_>, written: &HashSet<(Raw<'_>, &str)>) -> String {
    let split = lane.name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let base = split.filter(|(_, number)| number.parse().is_ok_and(|number: u32| number > 1));
    match base {
        Some((base, _)) if written.contains(&(lane.process, base)) => base.to_owned(),
        _ => lane.name.clone(),
    }
}

/// `NAME (KIND NUMBER)`, or `KIND NUMBER` for a device without a name.
fn parse_device(text: &str) -> (DeviceKind, u32, String) {
    let kind_and_number = |text: &str| {
        let (kind, number) = text.rsplit_once(' ')?;
        Some((DeviceKind::from_name(kind)?, number.parse().ok()?))
    };
    let named = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    if let Some((name, rest)) = named
        && let Some((kind, number)) = kind_and_number(rest)
    {
        return (kind, number, name.to_owned());
    }
    let (kind, number) = kind_and_number(text).unwrap_or((DeviceKind::Other, 0));
    (kind, number, String::new())
}

/// Makes a row of a slice.
fn row_of<'a>(builder: &mut Builder<'a>, item: &Item<'a>, role: &Role) -> Row {
    match role {
        Role::Iterations(model) => {
            let model = model.as_deref().map(|name| builder.trace.enter_named_model(name));
            let (number, warm_up) = (item.details.iteration, item.details.warm_up);
            let (start, duration) = (item.start, item.duration);
            builder.iterations.push(Iteration { model, number, warm_up, start, duration });
            Row::Other
        }
        Role::Unrecorded(model) => {
            let model = model.as_deref().map(|name| builder.trace.enter_named_model(name));
            let (number, warm_up) = (item.details.iteration, item.details.warm_up);
            let (start, duration) = (item.start, item.duration);
            let row = UnrecordedIteration { model, number, warm_up, start, duration };
            builder.trace.unrecorded_iterations.push(row);
            Row::Other
        }
        Role::Calls => {
            let level = ApiLevel::from_name(&String::from_utf8_lossy(item.kind)).unwrap_or(ApiLevel::Other);
            let row = builder.call(item, item.name, level);
            note_iteration(builder, row, &item.details);
            row
        }
        Role::Ranges => {
            let kind = match item.category {
                b"start-stop" => RangeKind::StartStop,
                _ => RangeKind::PushPop,
            };
            builder.range(item, kind, item.word)
        }
        Role::Stream { device, name, thread } => {
            let stream = stream(builder, item, device, name, thread.as_ref());
            task(builder, item, Some(stream))
        }
        Role::LooseTasks => task(builder, item, None),
    }
}

fn stream(
    builder: &mut Builder<'_>,
    item: &Item<'_>,
    (kind, number, device_name): &(DeviceKind, u32, String),
    name: &str,
    thread: Option<&HostThread>,
) -> opscope_trace::StreamId {
    if let Some(stream) = builder.lanes[item.lane.0].stream_id {
        return stream;
    }
    let device = builder.places.device(&mut builder.trace, *kind, *number, device_name);
    let written = name.strip_prefix("stream ").and_then(|number| number.parse().ok());
    let tid = builder.lanes[item.lane.0].tid;
    let name = builder.trace.strings.intern(if written.is_some() { "" } else { name });
    let thread = thread.map(|thread| {
        let process = builder.places.process(&mut builder.trace, 0);
        builder.places.thread(&mut builder.trace, process, thread.number, &thread.name)
    });
    let row = Stream { device, number: written.unwrap_or(tid), thread, name };
    let known = builder.trace.streams.iter().find(|(_, known)| *known == row).map(|(id, _)| id);
    let stream = known.unwrap_or_else(|| builder.trace.streams.push(row));
    builder.lanes[item.lane.0].stream_id = Some(stream);
    stream
}

/// The slice's name is the operator's; the task has its own only where that differs.
fn task<'a>(builder: &mut Builder<'a>, item: &Item<'a>, stream: Option<opscope_trace::StreamId>) -> Row {
    let unit = ExecutionUnit::from_name(&String::from_utf8_lossy(item.kind)).unwrap_or_default();
    let operator = if item.signature.is_empty() {
        None
    } else {
        // The type stands in the description.
        let op_type = builder.trace.strings.intern("");
        let (name, signature) = (item.name, item.signature);
        Some(builder.operator(OperatorKey { name, op_type, model: None, signature }))
    };
    let name = if item.word.is_empty() { item.name } else { builder.intern(item.word) };
    let row = builder.task(&Item { name, ..*item }, stream, unit, operator);
    if let Row::Task(task) = row
        && item.details.wait != Details::NO_WAIT
    {
        let wait = Some(Nanoseconds(item.details.wait));
        let task_row = builder.trace.tasks.get(task);
        builder.trace.tasks.set(task, opscope_trace::Task { wait, ..task_row });
    }
    note_iteration(builder, row, &item.details);
    row
}

fn note_iteration(builder: &mut Builder<'_>, row: Row, details: &Details) {
    if details.iteration != Details::NONE {
        builder.iterations.number(row, details.iteration, details.warm_up);
    }
}
