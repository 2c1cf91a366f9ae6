//! The trace while its rows are made of events, with what all dialects need for that.

use std::collections::HashMap;
use std::num::NonZeroU64;

use opscope_trace::{
    ApiCall, ApiCallId, ApiLevel, ByteMap, DeviceKind, ExecutionUnit, ModelId, Nanoseconds, NumberMap,
    OperatorId, Places, Range, RangeKind, StreamId, StringId, Task, ThreadId, Trace,
};

use super::chunk::{Chunk, Details, DetailsId, Head, Text};
use super::executed::Executed;
use super::lanes::{Lane, LaneId};
use super::problems::Problems;
use super::signature::Described;
use super::text::{Raw, text_of, unquoted};
use crate::reading::{Iterations, Row};

/// How many operators are found without a look at all of them.
const RECENT_OPERATORS: usize = 1_024;

/// A slice or mark with its text, independent of the chunk that it was read in.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The name.
    pub name: StringId,
    /// The name as it stands in the file.
    pub raw_name: Raw<'a>,
    /// The text between the quotes of the category.
    pub category: &'a [u8],
    /// The lane.
    pub lane: LaneId,
    /// The start in the trace's time.
    pub start: Nanoseconds,
    /// The duration; zero for a mark.
    pub duration: Nanoseconds,
    /// The text between the quotes of the argument that names a kind of task, layer or range, in the
    /// format's word.
    pub kind: &'a [u8],
    /// The argument with a further word: a range's domain, a task's or type's own name.
    pub word: Raw<'a>,
    /// The arguments that describe an operator, as they stand in the file.
    pub signature: Raw<'a>,
    pub(super) details: Details,
}

impl Item<'_> {
    /// The number of the stream among the arguments.
    pub fn stream(&self) -> Option<u64> {
        Some(self.details.stream).filter(|stream| *stream != Details::NO_STREAM)
    }

    /// The number of the device among the arguments.
    pub fn device(&self) -> Option<u32> {
        Some(self.details.device).filter(|device| *device != Details::NONE)
    }

    /// The number of the model among the arguments.
    pub fn model(&self) -> Option<u32> {
        Some(self.details.model).filter(|model| *model != Details::NONE)
    }

    /// The number of the inference among the arguments.
    pub fn iteration(&self) -> Option<u32> {
        Some(self.details.iteration).filter(|iteration| *iteration != Details::NONE)
    }
}

/// A trace while it is being made.
pub struct Builder<'a> {
    /// The rows that were made so far.
    pub trace: Trace,
    /// The lanes, by their number.
    pub lanes: Vec<Lane<'a>>,
    /// The inferences that were found so far.
    pub iterations: Iterations,
    /// Whether tasks of a device were recorded, so that what the host did is no task itself.
    pub has_device: bool,
    /// Whether the file is a framework's profile, of which other slices are only phases.
    pub is_framework: bool,
    /// The number of slices that repeat what others show.
    pub repeated: u64,
    pub(super) places: Places,
    pub(super) problems: Problems,
    /// The time of the file that is the trace's zero, in nanoseconds.
    pub(super) zero: i64,
    /// The calls by the number that the tasks name which they launched.
    pub(super) calls_by_link: NumberMap<NonZeroU64, ApiCallId>,
    /// The host's operators that tasks of the device execute.
    pub(super) executed: Executed<'a>,
    /// The names of devices, by their number.
    pub(super) device_names: HashMap<u32, String>,
    operators: ByteMap<OperatorKey<'a>, OperatorId>,
    /// Descriptions that stand differently in the file may be of one operator.
    described: HashMap<Described, OperatorId>,
    /// The operators that were asked for last, each in the place of its name: slices mostly repeat few of them.
    recent_operators: Vec<Option<(OperatorKey<'a>, OperatorId)>>,
}

/// The facts by which operators are told apart.
#[derive(Clone, Copy, Debug, Eq, Hash)]
pub struct OperatorKey<'a> {
    /// The name.
    pub name: StringId,
    /// The type.
    pub op_type: StringId,
    /// The model that it belongs to.
    pub model: Option<ModelId>,
    /// The arguments that describe it, as they stand in the file.
    pub signature: Raw<'a>,
}

impl PartialEq for OperatorKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        // No bytes may lie at no address, over which the C library's comparison stumbles for many times as long as it
        // takes otherwise; and most operators have no signature.
        let is_alike = self.signature.len() == other.signature.len()
            && (self.signature.is_empty() || self.signature == other.signature);
        (self.name, self.op_type, self.model) == (other.name, other.op_type, other.model) && is_alike
    }
}

impl<'a> Builder<'a> {
    pub(super) fn new(lanes: Vec<Lane<'a>>) -> Self {
        Self {
            trace: Trace::new(),
            lanes,
            iterations: Iterations::default(),
            has_device: false,
            is_framework: false,
            repeated: 0,
            places: Places::default(),
            problems: Problems::default(),
            zero: 0,
            calls_by_link: NumberMap::default(),
            executed: Executed::default(),
            device_names: HashMap::new(),
            operators: ByteMap::default(),
            described: HashMap::new(),
            recent_operators: vec![None; RECENT_OPERATORS],
        }
    }

    /// The lane of a slice.
    pub fn lane(&self, lane: LaneId) -> &Lane<'a> {
        &self.lanes[lane.0]
    }

    /// A time of the file as one of the trace.
    pub(super) fn time(&self, time: i64) -> Nanoseconds {
        Nanoseconds(time) - Nanoseconds(self.zero)
    }

    /// The text of a JSON value, interned.
    pub fn intern(&mut self, raw: Raw<'_>) -> StringId {
        self.trace.strings.intern(&text_of(raw))
    }

    /// The thread of a lane; nothing for a lane that stands for none.
    pub fn thread(&mut self, lane: LaneId) -> Option<ThreadId> {
        let row = &self.lanes[lane.0];
        if row.thread_id.is_some() || row.is_no_thread {
            return row.thread_id;
        }
        let (pid, tid) = (row.pid, row.tid);
        let (process_name, name) = (row.process_name.clone(), row.name.clone());
        let process = self.places.process(&mut self.trace, pid);
        self.places.name_process(&mut self.trace, process, &process_name);
        let thread = self.places.thread(&mut self.trace, process, tid, &name);
        self.lanes[lane.0].thread_id = Some(thread);
        Some(thread)
    }

    /// The stream of a lane whose thread itself executes operators.
    pub(super) fn host_stream(&mut self, lane: LaneId) -> StreamId {
        if let Some(stream) = self.lanes[lane.0].stream_id {
            return stream;
        }
        let thread = self.thread(lane);
        let device = self.places.device(&mut self.trace, DeviceKind::Cpu, 0, "CPU");
        let name = self.trace.strings.intern(&self.lanes[lane.0].name);
        // Threads of several processes may have the same number, so none is looked up.
        let number = self.lanes[lane.0].tid;
        let row = opscope_trace::Stream { device, number, thread, name };
        let stream = self.trace.streams.push(row);
        self.lanes[lane.0].stream_id = Some(stream);
        stream
    }

    /// A stream of a device.
    pub fn device_stream(
        &mut self,
        kind: DeviceKind,
        device: u32,
        device_name: &str,
        stream: u64,
        name: &str,
    ) -> StreamId {
        let device = self.places.device(&mut self.trace, kind, device, device_name);
        let name = self.trace.strings.intern(name);
        self.places.stream(&mut self.trace, device, stream, None, name)
    }

    /// Adds a call of the host.
    pub fn call(&mut self, item: &Item<'a>, name: StringId, level: ApiLevel) -> Row {
        let thread = self.thread(item.lane);
        let (start, duration) = (item.start, item.duration);
        let call =
            self.trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration: None });
        if let Some(link) = item.details.link {
            self.calls_by_link.insert(link, call);
        }
        Row::Call(call)
    }

    /// Adds a task; what it belongs to may come later in the file.
    pub fn task(
        &mut self,
        item: &Item<'a>,
        stream: Option<StreamId>,
        unit: ExecutionUnit,
        operator: Option<OperatorId>,
    ) -> Row {
        let Details { link, external, task: number, .. } = item.details;
        let number = Some(number).filter(|number| *number != Details::NONE);
        let mut task =
            Task { operator, number, stream, unit, ..Task::new(item.name, item.start, item.duration) };
        let is_complete = self.tie(&mut task, link, external);
        let task = self.trace.tasks.push(task);
        if !is_complete {
            self.executed.wait(task, link, external);
        }
        Row::Task(task)
    }

    /// Adds a range of a lane's thread.
    pub fn range(&mut self, item: &Item<'a>, kind: RangeKind, domain: Raw<'a>) -> Row {
        let thread = self.thread(item.lane);
        self.range_of(item, kind, domain, thread)
    }

    /// Adds a range of a thread, or of none.
    pub(super) fn range_of(
        &mut self,
        item: &Item<'a>,
        kind: RangeKind,
        domain: Raw<'a>,
        thread: Option<ThreadId>,
    ) -> Row {
        let domain = if domain.is_empty() { None } else { Some(self.intern(domain)) };
        let (name, start, duration) = (item.name, item.start, item.duration);
        self.trace.ranges.push(Range { thread, kind, name, domain, start, duration });
        Row::Other
    }

    /// The operator of a name, type, model and description.
    pub fn operator(&mut self, key: OperatorKey<'a>) -> OperatorId {
        let place = key.name.index() % RECENT_OPERATORS;
        if let Some((recent, operator)) = self.recent_operators[place]
            && recent == key
        {
            return operator;
        }
        let operator = *self.operators.entry(key).or_insert_with(|| {
            let mut described = Described::new(key.name, key.op_type, key.model);
            described.read(&mut self.trace, key.signature);
            let trace = &mut self.trace;
            *self.described.entry(described).or_insert_with_key(|described| described.enter(trace))
        });
        self.recent_operators[place] = Some((key, operator));
        operator
    }
}

/// The text of every name of a chunk, interned when it is first asked for.
pub(super) struct ChunkNames {
    names: Vec<Option<StringId>>,
}

impl ChunkNames {
    pub fn new(chunk: &Chunk<'_>) -> Self {
        Self { names: vec![None; chunk.texts().len() + 1] }
    }

    /// The slice, mark or range that an event is, with its text.
    pub fn item<'a>(
        &mut self,
        builder: &mut Builder<'a>,
        chunk: &Chunk<'a>,
        lanes: &[LaneId],
        head: &Head,
        duration: i64,
    ) -> Item<'a> {
        let details = details_of(chunk, head.details);
        Item {
            name: self.name(builder, chunk, head.name),
            raw_name: chunk.raw(head.name),
            category: unquoted(chunk.raw(head.category)),
            lane: lanes[head.lane.0 as usize],
            start: builder.time(head.time),
            duration: Nanoseconds(duration),
            kind: unquoted(chunk.raw(details.kind)),
            word: chunk.raw(details.word),
            signature: chunk.raw(details.signature),
            details,
        }
    }

    fn name(&mut self, builder: &mut Builder<'_>, chunk: &Chunk<'_>, text: Text) -> StringId {
        let slot = &mut self.names[text.0 as usize];
        *slot.get_or_insert_with(|| builder.trace.strings.intern(&text_of(chunk.raw(text))))
    }
}

fn details_of(chunk: &Chunk<'_>, id: DetailsId) -> Details {
    let index = (id.0 as usize).checked_sub(1);
    index.and_then(|index| chunk.details.get(index)).copied().unwrap_or_default()
}
