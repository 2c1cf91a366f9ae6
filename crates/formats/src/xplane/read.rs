//! Reading a space into a [`Trace`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use opscope_protobuf::{Fault, Fields, Value as FieldValue};
use opscope_trace::{
    ApiCall, ApiLevel, DeviceId, DeviceKind, ExecutionUnit, Iteration, LossKind, Nanoseconds, Operator,
    OperatorId, Places, Range, RangeKind, StreamId, StringId, Task, Thread, ThreadId, Trace,
};
use serde_json::{Map, Value};

use super::event::Line;
use super::meaning::{Content, Role, content_of, executed_operator, hlo_name, is_executor, tf_type, unit_of};
use super::metadata::{KindId, Plane};
use super::part::{Occurrence, Part};
use super::stat::Known;
use crate::reading::{Iterations, Launches, Stop, WALL_CLOCK};

/// Bytes that are no space.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No plane can be read.
    #[error("this is no profile of TensorFlow or JAX: no plane can be read")]
    NoPlane,
    /// Whoever asked for it wants it no more.
    #[error("the reading was stopped")]
    Stopped,
}

/// Whether bytes that begin so may be a space: a plane with a number and a path as its name.
///
/// `head` may be cut off anywhere.
pub fn looks_like(head: &[u8]) -> bool {
    /// Planes whose names are no paths, of which the host's lines may follow.
    const OTHERS: [&[u8]; 3] = [b"Task Environment", b"#Chip", b"Host Threads"];
    let mut fields = Fields::of(head);
    let plane = match fields.next() {
        Some(Ok((1, FieldValue::Bytes(plane)))) => plane,
        // The first plane may be longer than what is looked at.
        Some(Err(Fault::Cut(0))) => match Fields::of(head).cut_content(0) {
            Some((1, plane)) => plane,
            _ => return false,
        },
        _ => return false,
    };
    let is_name = |name: &[u8]| {
        name.starts_with(b"/device:")
            || name.starts_with(b"/host:")
            || OTHERS.iter().any(|other| name.starts_with(other))
    };
    for field in Fields::of(plane).take(3) {
        match field {
            Ok((1, FieldValue::Number(_))) => {}
            Ok((2, FieldValue::Bytes(name))) => return is_name(name),
            _ => return false,
        }
    }
    false
}

/// Reads a space.
///
/// # Errors
/// When no plane can be read.
pub fn read(bytes: &[u8]) -> Result<Trace, ReadError> {
    read_until(bytes, &Stop::default())
}

/// As [`read()`], until `stop` is wanted.
///
/// # Errors
/// When no plane can be read, or it was stopped.
pub fn read_until(bytes: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    stop.expects(|| bytes.len() as u64);
    let mut reader = Reader::default();
    let mut planes = Vec::new();
    let fields = Fields::of(bytes);
    for field in fields.clone() {
        match field {
            Ok((1, FieldValue::Bytes(body))) => planes.push(Plane::read(body)),
            // Of a plane that breaks off, what is there.
            Err(Fault::Cut(start)) if let Some((1, body)) = fields.cut_content(start) => {
                planes.push(Plane { is_damaged: true, ..Plane::read(body) });
            }
            Ok((2 | 3, FieldValue::Bytes(note))) => {
                let note = String::from_utf8_lossy(note);
                reader.trace.count_loss(LossKind::NotedByProfiler, 1, &note);
            }
            Ok((4, FieldValue::Bytes(host))) => {
                reader.trace.run.host = Some(String::from_utf8_lossy(host).into_owned());
            }
            Ok(_) => {}
            Err(_) if planes.is_empty() => return Err(ReadError::NoPlane),
            Err(_) => reader.trace.count_loss(LossKind::CutProfile, 1, ""),
        }
    }
    if planes.is_empty() {
        return Err(ReadError::NoPlane);
    }
    let role = |plane: &Plane<'_>| Role::of(plane.name);
    reader.has_device = planes
        .iter()
        .any(|plane| matches!(role(plane), Role::Device(..)) && plane.lines.iter().any(Line::has_events));
    let devices = planes.iter().map(role).filter(|role| matches!(role, Role::Device(..)));
    reader.has_several_devices = devices.count() > 1;
    reader.find_zero(&planes);
    for plane in &planes {
        if stop.is_wanted() {
            return Err(ReadError::Stopped);
        }
        if plane.is_damaged {
            let name = String::from_utf8_lossy(plane.name);
            reader.trace.count_loss(LossKind::CutProfile, 1, &name);
        }
        reader.operators_of_kinds = vec![None; plane.kinds.len()];
        match Role::of(plane.name) {
            Role::Device(kind, number) => reader.device(plane, kind, number),
            Role::Cuda => reader.host(plane, ApiLevel::Runtime),
            Role::Host => reader.host(plane, ApiLevel::Framework),
            Role::Other => reader.other(plane),
        }
        stop.has_read(plane.lines.iter().map(|line| line.body.len()).sum());
    }
    Ok(reader.finish())
}

/// The tasks of a plane's events by their kinds, but for place and time, of lines of one content. Events that have no
/// values of their own are alike, and there are many more of them than kinds.
struct TasksOfKinds {
    content: Content,
    tasks: Vec<Option<Task>>,
}

impl TasksOfKinds {
    fn new(plane: &Plane<'_>, content: Content) -> Self {
        Self { content, tasks: vec![None; plane.kinds.len()] }
    }

    /// The task of an event, which `make` makes.
    fn task(&mut self, event: &Occurrence<'_>, make: impl FnOnce() -> Task) -> Task {
        match event.own.is_of_kind() {
            true => *self.tasks[event.kind.index()].get_or_insert_with(make),
            false => make(),
        }
    }
}

/// The facts by which operators are told apart: its name and type, and the module and program that it is of. Of one that no event
/// names as an HLO, the module is the whole name of its events' kind, which has its shapes.
#[derive(PartialEq, Eq, Hash)]
struct OperatorKey {
    name: StringId,
    op_type: StringId,
    module: StringId,
    program: Option<u64>,
}

/// A trace while it is made.
#[derive(Default)]
struct Reader {
    trace: Trace,
    places: Places,
    launches: Launches,
    iterations: Iterations,
    /// The device whose steps are the inferences: all devices tell the same.
    steps_of: Option<DeviceId>,
    /// The steps that the program marked, each with the thread that did.
    marked_steps: Vec<(ThreadId, Iteration)>,
    has_device: bool,
    /// Whether there are several, so that ranges lie within one another by their lines alone.
    has_several_devices: bool,
    zero: i64,
    operators: HashMap<OperatorKey, OperatorId>,
    /// The operators of the kinds of events of the present plane, as far as events were met.
    operators_of_kinds: Vec<Option<OperatorId>>,
    /// The long texts, by where they lie: begin and length.
    long_texts: HashMap<(usize, usize), StringId>,
    counted: u64,
    unreadable: u64,
    impossible: u64,
    unnamed: u64,
    repeated: u64,
}

impl Reader {
    /// Times since 1970 are counted from the first line on. Others are counted from the begin of the recording, which
    /// a plane of its own tells.
    fn find_zero(&mut self, planes: &[Plane<'_>]) {
        let begins = planes.iter().flat_map(|plane| &plane.lines).filter(|line| line.has_events());
        let first = begins.map(|line| line.begin).min().unwrap_or(0);
        if first >= WALL_CLOCK {
            self.zero = first;
            self.trace.clock.unix_zero = Some(first);
            return;
        }
        let mut of_recording = planes.iter().filter(|plane| plane.name == b"Task Environment");
        let begin = of_recording.find_map(|plane| plane.own_stat("profile_start_time")?.number());
        let begin = begin.and_then(|begin| i64::try_from(begin).ok());
        self.trace.clock.unix_zero = begin.filter(|begin| *begin >= WALL_CLOCK);
    }

    fn finish(mut self) -> Trace {
        self.launches.tie(&mut self.trace);
        self.take_marked_steps();
        self.iterations.enter(&mut self.trace);
        let trace = &mut self.trace;
        trace.count_loss(LossKind::CountedEvent, self.counted, "");
        trace.count_loss(LossKind::UnreadableRecord, self.unreadable, "events");
        trace.count_loss(LossKind::RecordWithoutTime, self.impossible, "events");
        trace.count_loss(LossKind::UnnamedRecord, self.unnamed, "events");
        trace.count_loss(LossKind::RepeatedSlice, self.repeated, "");
        self.trace
    }

    /// Takes the steps that the program marked for inferences where no device tells of any: those of one thread, the
    /// one that marked most.
    fn take_marked_steps(&mut self) {
        let marked = std::mem::take(&mut self.marked_steps);
        if self.steps_of.is_some() {
            return;
        }
        let mut counts: BTreeMap<ThreadId, usize> = BTreeMap::new();
        marked.iter().for_each(|(thread, _)| *counts.entry(*thread).or_default() += 1);
        let Some((thread, _)) = counts.into_iter().max_by_key(|(thread, count)| (*count, Reverse(*thread)))
        else {
            return;
        };
        for (_, step) in marked.into_iter().filter(|(of, _)| *of == thread) {
            self.iterations.push(step);
        }
    }

    /// Hands the events of a line on, which are read on all cores.
    fn each_event<'a>(
        &mut self,
        plane: &Plane<'a>,
        line: &Line<'a>,
        mut take: impl FnMut(&mut Self, Occurrence<'a>) + Send,
    ) {
        let zero = self.zero;
        let Ok(()) = opscope_parallel::parts(
            line.parts(),
            |number, part: &mut Part<'a>| part.read(plane, line, number, zero),
            |part| {
                self.unreadable += part.unreadable;
                self.counted += part.counted;
                self.impossible += part.impossible;
                self.unnamed += part.unnamed;
                part.drain(|event| take(self, event));
                Ok::<(), Infallible>(())
            },
        );
    }

    /// The text of bytes of the space. Any number of events may name one text, which is only looked at once
    /// where that takes longer than to find it by its place.
    fn text(&mut self, bytes: &[u8]) -> StringId {
        const LONG: usize = 64;
        let strings = &mut self.trace.strings;
        if bytes.len() < LONG {
            return strings.intern(&String::from_utf8_lossy(bytes));
        }
        let place = (bytes.as_ptr().addr(), bytes.len());
        *self.long_texts.entry(place).or_insert_with(|| strings.intern(&String::from_utf8_lossy(bytes)))
    }

    fn device(&mut self, plane: &Plane<'_>, kind: DeviceKind, number: u32) {
        let name = plane.own_stat("device_type_string").map(|name| String::from_utf8_lossy(name.text()));
        let name = name.unwrap_or_default().into_owned();
        if !name.is_empty() {
            self.trace.run.chip.get_or_insert_with(|| name.clone());
        }
        let device = self.places.device(&mut self.trace, kind, number, &name);
        let has_streams = plane.lines.iter().any(|line| line.name.starts_with(b"Stream #"));
        let mut known: Vec<TasksOfKinds> = Vec::new();
        for line in &plane.lines {
            match content_of(line.name, has_streams) {
                content @ (Content::Work | Content::Beside | Content::Waits) => {
                    let place = known.iter().position(|known| known.content == content);
                    let place = place.unwrap_or_else(|| {
                        known.push(TasksOfKinds::new(plane, content));
                        known.len() - 1
                    });
                    self.tasks(plane, line, device, kind, &mut known[place]);
                }
                Content::Steps if self.steps_of.is_some_and(|of| of != device) => {
                    self.repeated += line.events().count() as u64;
                }
                Content::Steps => {
                    if line.has_events() {
                        self.steps_of = Some(device);
                    }
                    self.steps(plane, line);
                }
                Content::Repeated => self.repeated += line.events().count() as u64,
                // Threads have those that are executed.
                Content::Executed | Content::Ranges => self.ranges(plane, line),
            }
        }
    }

    fn tasks<'a>(
        &mut self,
        plane: &Plane<'a>,
        line: &Line<'a>,
        device: DeviceId,
        kind: DeviceKind,
        tasks: &mut TasksOfKinds,
    ) {
        // `Stream #7(Compute)`: the number is CUDA's, the rest says what runs there.
        let stream = line.name.strip_prefix(b"Stream #").unwrap_or_default();
        let digits = stream.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&stream[..digits]).ok().and_then(|digits| digits.parse().ok());
        let number = number.unwrap_or(line.number.cast_unsigned());
        let name = self.text(line.name);
        let stream = self.places.stream(&mut self.trace, device, number, None, name);
        let content = tasks.content;
        self.each_event(plane, line, |reader, event| {
            let known = event.own.or(&plane.kinds.get(event.kind).known);
            let task = tasks.task(&event, || reader.task(plane, event.kind, &known, content, kind));
            let (start, duration) = (event.start, event.duration);
            let task = Task { stream: Some(stream), start, duration, ..task };
            let task = reader.trace.tasks.push(task);
            if let Some(correlation) = known.correlation {
                reader.launches.task(0, correlation, task);
            }
        });
    }

    /// The task of an event, but for its place and time.
    fn task<'a>(
        &mut self,
        plane: &Plane<'a>,
        id: KindId,
        known: &Known<'a>,
        content: Content,
        device: DeviceKind,
    ) -> Task {
        let kind = *plane.kinds.get(id);
        // Events beside the operators all bear one name, and name the operator that waits for them.
        let (shown, known) = match content {
            Content::Beside => (hlo_name(kind.name), &Known { hlo_op: b"", ..*known }),
            Content::Executed => {
                (executed_operator(kind.name).unwrap_or(kind.name), &Known { tf_op: kind.name, ..*known })
            }
            _ if kind.display_name.is_empty() => (kind.name, known),
            _ => (kind.display_name, known),
        };
        let unit = unit_of(kind.name, known, content, device);
        let name = self.text(shown);
        let task = Task { unit, ..Task::new(name, Nanoseconds::ZERO, Nanoseconds::ZERO) };
        let is_copy =
            unit == ExecutionUnit::MemoryCopy && content == Content::Work && known.hlo_op.is_empty();
        if content == Content::Waits || is_copy {
            return task;
        }
        // The operator that a kind of event tells holds for all of them, unless an event names its own.
        if known.hlo_op.is_empty()
            && let Some(operator) = self.operators_of_kinds[id.index()]
        {
            return Task { operator: Some(operator), ..task };
        }
        let operator = self.operator(shown, kind.name, known);
        // Events whose kind isn't told have nothing in common.
        if known.hlo_op.is_empty() && id != KindId::default() {
            self.operators_of_kinds[id.index()] = Some(operator);
        }
        Task { operator: Some(operator), ..task }
    }

    /// The operator that an event ran: the HLO that it names, or itself.
    fn operator(&mut self, shown: &[u8], whole: &[u8], known: &Known<'_>) -> OperatorId {
        let name = if known.hlo_op.is_empty() { shown } else { known.hlo_op };
        let tf_type = tf_type(known.tf_op);
        let kind = if shown == known.hlo_op { without_number(shown) } else { shown };
        let op_type = [known.category, tf_type, kind].into_iter().find(|text| !text.is_empty());
        let (name, op_type) = (self.text(name), self.text(op_type.unwrap_or_default()));
        let module = match (known.module, known.hlo_op) {
            (b"", b"") => whole,
            (module, _) => module,
        };
        let key = OperatorKey { name, op_type, module: self.text(module), program: known.program };
        let trace = &mut self.trace;
        *self.operators.entry(key).or_insert_with(|| {
            let text = |bytes: &[u8]| {
                (!bytes.is_empty()).then(|| Value::from(String::from_utf8_lossy(bytes).into_owned()))
            };
            let told = [
                ("tf_op", text(known.tf_op)),
                ("hlo_module", text(known.module)),
                ("program_id", known.program.map(Value::from)),
            ];
            let told: Map<String, Value> =
                told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
            let attributes =
                (!told.is_empty()).then(|| trace.strings.intern(&Value::Object(told).to_string()));
            trace.operators.push(Operator {
                flops: known.flops.filter(|flops| *flops > 0),
                attributes,
                ..Operator::new(name, op_type)
            })
        })
    }

    fn steps<'a>(&mut self, plane: &Plane<'a>, line: &Line<'a>) {
        let mut place = 0;
        self.each_event(plane, line, |reader, Occurrence { kind, start, duration, .. }| {
            place += 1;
            // No number has more digits, and a name may be as long as the file.
            let name = Some(plane.kinds.get(kind).name).filter(|name| name.len() <= 20);
            let name = name.and_then(|name| std::str::from_utf8(name).ok());
            let number = name.and_then(|name| name.parse().ok()).unwrap_or(place);
            reader.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
        });
    }

    fn ranges<'a>(&mut self, plane: &Plane<'a>, line: &Line<'a>) {
        let thread = self.thread_of_ranges(plane, line);
        let domain = if line.name.is_empty() { None } else { Some(self.text(line.name)) };
        self.each_event(plane, line, |reader, Occurrence { kind, start, duration, .. }| {
            let name = reader.text(plane.kinds.get(kind).shown());
            let kind = if duration.0 == 0 { RangeKind::Mark } else { RangeKind::StartStop };
            reader.trace.ranges.push(Range { thread, kind, name, domain, start, duration });
        });
    }

    /// The thread that stands for a line of ranges: of several devices, one for each. Ranges of one device lie within one
    /// another whatever lines they are on.
    fn thread_of_ranges(&mut self, plane: &Plane<'_>, line: &Line<'_>) -> Option<ThreadId> {
        /// Behind the numbers that a system gives threads.
        const FIRST: u64 = 1 << 32;
        if !self.has_several_devices || !line.has_events() {
            return None;
        }
        let process = self.places.process(&mut self.trace, 0);
        let [plane, line] = [plane.name, line.name].map(String::from_utf8_lossy);
        let name = self.trace.strings.intern(format!("{plane} {line}").trim_end());
        let tid = FIRST + self.trace.threads.len() as u64;
        Some(self.trace.threads.push(Thread { process, tid, name }))
    }

    /// The threads of the host.
    fn host(&mut self, plane: &Plane<'_>, level: ApiLevel) {
        let process = self.places.process(&mut self.trace, 0);
        let mut tasks = TasksOfKinds::new(plane, Content::Work);
        let mut executed = TasksOfKinds::new(plane, Content::Executed);
        // Names are looked at once: one may be as long as the file.
        let is_executed: Vec<bool> = match self.has_device {
            true => Vec::new(),
            false => plane.kinds.iter().map(|kind| executed_operator(kind.name).is_some()).collect(),
        };
        let mut names = vec![None; plane.kinds.len()];
        for line in &plane.lines {
            let name = String::from_utf8_lossy(line.name).into_owned();
            let thread = self.places.thread(&mut self.trace, process, line.number.cast_unsigned(), &name);
            let mut stream = None;
            let is_executor = is_executor(line.name);
            self.each_event(plane, line, |reader, event| {
                let kind = plane.kinds.get(event.kind);
                let known = event.own.or(&kind.known);
                let (start, duration) = (event.start, event.duration);
                let is_executed = is_executor
                    && is_executed.get(event.kind.index()).is_some_and(|is_executed| *is_executed);
                if !reader.has_device && (known.is_operator || is_executed) {
                    let stream = *stream.get_or_insert_with(|| reader.host_stream(thread, line));
                    let tasks = if known.is_operator { &mut tasks } else { &mut executed };
                    let content = tasks.content;
                    let make = || reader.task(plane, event.kind, &known, content, DeviceKind::Cpu);
                    let task = tasks.task(&event, make);
                    reader.trace.tasks.push(Task { stream: Some(stream), start, duration, ..task });
                    return;
                }
                if let Some(number) = known.step {
                    let step = Iteration { model: None, number, warm_up: false, start, duration };
                    reader.marked_steps.push((thread, step));
                }
                // Python's functions begin with a sign, behind which file and line stand.
                let level = if kind.name.starts_with(b"$") { ApiLevel::Other } else { level };
                let name = *names[event.kind.index()].get_or_insert_with(|| reader.text(kind.shown()));
                let call = ApiCall { thread: Some(thread), level, name, start, duration, iteration: None };
                let call = reader.trace.api_calls.push(call);
                if let Some(correlation) = known.correlation {
                    reader.launches.call(0, correlation, call);
                }
            });
        }
    }

    fn host_stream(&mut self, thread: ThreadId, line: &Line<'_>) -> StreamId {
        let device = self.places.device(&mut self.trace, DeviceKind::Cpu, 0, "CPU");
        let name = self.text(line.name);
        self.places.stream(&mut self.trace, device, line.number.cast_unsigned(), Some(thread), name)
    }

    /// Planes of other kinds: their lines are ranges.
    fn other(&mut self, plane: &Plane<'_>) {
        for line in &plane.lines {
            self.ranges(plane, line);
        }
    }
}

/// The name of an HLO without the number by which a module tells apart those of one name: `fusion.10` is a `fusion`.
fn without_number(hlo: &[u8]) -> &[u8] {
    let digits = hlo.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    match hlo[..hlo.len() - digits].strip_suffix(b".") {
        Some(name) if digits > 0 && !name.is_empty() => name,
        _ => hlo,
    }
}
