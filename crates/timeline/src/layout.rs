//! The lanes of a timeline, and the rows of the trace that are drawn on each.

use std::cmp::Reverse;
use std::collections::HashMap;

use opscope_trace::{
    ApiCallId, DeviceId, IterationId, LanePacker, ModelId, Nanoseconds, RangeId, RangeKind, StreamId, TaskId,
    ThreadId, Trace, UnrecordedIterationId,
};

use crate::label::{Label, LaneKind, Owner};
use crate::time_line::TimeLine;

/// The lanes of a timeline, in groups that viewers show as processes.
///
/// - The first group holds the inferences of each model, those that weren't recorded on lanes of their
///   own, and the calls of each thread.
/// - The second holds the ranges and marks that the program set, a lane for every thread.
/// - Every device is a group of its own, with a lane for every stream.
///
/// Tasks, inferences and calls whose starts are made up ([`TimeBasis::Unplaced`](opscope_trace::TimeBasis::Unplaced))
/// are on no lane.
///
/// Rows that overlap without nesting move to further lanes of the same thread or stream.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The groups, in order.
    pub groups: Vec<Group>,
    /// The lanes, those of one group behind those of another.
    pub lanes: Vec<Lane>,
    /// The place of every counter of the trace.
    pub counters: Vec<CounterPlace>,
    /// The times at which all is drawn.
    pub time_line: TimeLine,
}

/// Lanes that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The kind of things on its lanes.
    pub kind: GroupKind,
}

/// The kind of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// Inferences and the host's calls.
    Host,
    /// Ranges and marks that the program set.
    Ranges,
    /// The streams of a device.
    Device(DeviceId),
    /// Tasks of which no stream is known.
    Loose,
}

/// Slices that nest, drawn as a stack.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The number of its group.
    pub group: usize,
    /// Its name, in parts.
    pub label: Label,
    /// The rows of the trace on it.
    pub rows: Rows,
}

/// The place of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterPlace {
    /// The number of its group.
    pub group: usize,
    /// Its name with the unit; no two counters of a group have the same.
    pub name: String,
}

/// The rows of one table of the trace, in drawing order: by start, of those that start together the longest
/// first.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Inferences.
    Iterations(Vec<IterationId>),
    /// Inferences that were timed as a whole.
    Unrecorded(Vec<UnrecordedIterationId>),
    /// Calls of the host.
    Calls(Vec<ApiCallId>),
    /// Ranges and marks.
    Ranges(Vec<RangeId>),
    /// Tasks of a stream.
    Tasks(Vec<TaskId>),
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Iterations(rows) => rows.len(),
            Self::Unrecorded(rows) => rows.len(),
            Self::Calls(rows) => rows.len(),
            Self::Ranges(rows) => rows.len(),
            Self::Tasks(rows) => rows.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Layout {
    /// Lays a trace out.
    pub fn new(trace: &Trace) -> Self {
        let mut layout = Self {
            groups: Vec::new(),
            lanes: Vec::new(),
            counters: Vec::new(),
            time_line: TimeLine::new(trace),
        };
        let host = layout.lay_host_out(trace);
        layout.lay_ranges_out(trace);
        let devices = layout.lay_devices_out(trace);
        layout.name_counters(trace, host, &devices);
        layout
    }

    /// The thread that executes the tasks of a lane, by the name that lanes of its own have; `None` where a device
    /// does.
    pub fn executing_thread(&self, trace: &Trace, lane: usize) -> Option<String> {
        let Rows::Tasks(tasks) = &self.lanes[lane].rows else { return None };
        // All tasks of a lane are of one stream.
        let stream = trace.tasks.stream()[tasks.first()?.index()]?;
        let thread = trace.streams.thread()[stream.index()]?;
        let owner = thread_owner(trace, thread.index());
        Some(Label { kind: LaneKind::Ranges, owner, copy: 0 }.to_string())
    }

    fn lay_host_out(&mut self, trace: &Trace) -> Option<usize> {
        let has_host_counter = trace.counters.device().contains(&None) && !trace.samples.is_empty();
        let (layers, calls) = (trace.run.layer_times.is_placed(), trace.run.call_times.is_placed());
        if (trace.iterations.is_empty() || !layers)
            && trace.unrecorded_iterations.is_empty()
            && (trace.api_calls.is_empty() || !calls)
            && !has_host_counter
        {
            return None;
        }
        let group = self.add_group("Inferences and calls".to_owned(), GroupKind::Host);
        let time_line = self.time_line;

        let models = trace.iterations.model();
        let by_model = grouped(trace.iterations.ids().filter(|_| layers), trace.models.len(), |id| {
            models[id.index()].map(|m| m.index())
        });
        let (starts, durations) = (trace.iterations.start(), trace.iterations.duration());
        for (model, rows) in by_model.into_iter().enumerate() {
            let lanes = spread(rows, |id| time_line.span(starts[id.index()], durations[id.index()]));
            self.add_lanes(group, LaneKind::Inferences, model_owner(trace, model), lanes, Rows::Iterations);
        }

        let unrecorded = &trace.unrecorded_iterations;
        let models = unrecorded.model();
        let by_model =
            grouped(unrecorded.ids(), trace.models.len(), |id| models[id.index()].map(|m| m.index()));
        let (starts, durations) = (unrecorded.start(), unrecorded.duration());
        for (model, rows) in by_model.into_iter().enumerate() {
            let lanes = spread(rows, |id| time_line.span(starts[id.index()], durations[id.index()]));
            self.add_lanes(group, LaneKind::Unrecorded, model_owner(trace, model), lanes, Rows::Unrecorded);
        }

        let threads = trace.api_calls.thread();
        let by_thread = grouped(trace.api_calls.ids().filter(|_| calls), trace.threads.len(), |id| {
            threads[id.index()].map(|t| t.index())
        });
        let (starts, durations) = (trace.api_calls.start(), trace.api_calls.duration());
        for (thread, rows) in by_thread.into_iter().enumerate() {
            let lanes = spread(rows, |id| time_line.span(starts[id.index()], durations[id.index()]));
            self.add_lanes(group, LaneKind::Calls, thread_owner(trace, thread), lanes, Rows::Calls);
        }
        Some(group)
    }

    fn lay_ranges_out(&mut self, trace: &Trace) {
        if trace.ranges.is_empty() {
            return;
        }
        let group = self.add_group("Ranges and marks".to_owned(), GroupKind::Ranges);
        let time_line = self.time_line;
        let (threads, kinds) = (trace.ranges.thread(), trace.ranges.kind());
        let span = |id: RangeId| {
            let duration = match kinds[id.index()] {
                RangeKind::Mark => Nanoseconds::ZERO,
                RangeKind::PushPop | RangeKind::StartStop => trace.ranges.duration()[id.index()],
            };
            time_line.span(trace.ranges.start()[id.index()], duration)
        };
        let by_thread =
            grouped(trace.ranges.ids(), trace.threads.len(), |id| threads[id.index()].map(|t| t.index()));
        for (thread, rows) in by_thread.into_iter().enumerate() {
            let owner = thread_owner(trace, thread);
            // Started and stopped ranges overlap at will; among the pushed ones they would only
            // scatter what nests.
            let (loose, nesting): (Vec<_>, Vec<_>) =
                rows.into_iter().partition(|id| kinds[id.index()] == RangeKind::StartStop);
            self.add_lanes(group, LaneKind::Ranges, owner.clone(), spread(nesting, span), Rows::Ranges);
            self.add_lanes(group, LaneKind::LooseRanges, owner, spread(loose, span), Rows::Ranges);
        }
    }

    /// Returns the group of every device that has one.
    fn lay_devices_out(&mut self, trace: &Trace) -> Vec<Option<usize>> {
        let streams = trace.tasks.stream();
        let mut by_stream = grouped(
            trace.tasks.ids().filter(|_| trace.run.layer_times.is_placed()),
            trace.streams.len(),
            |id| streams[id.index()].map(|s| s.index()),
        );
        let without_stream = by_stream.pop().unwrap_or_default();

        let mut streams_of = vec![Vec::new(); trace.devices.len()];
        for (id, rows) in trace.streams.ids().zip(&by_stream) {
            if !rows.is_empty() {
                streams_of[trace.streams.device()[id.index()].index()].push(id);
            }
        }
        let mut has_counter = vec![false; trace.devices.len()];
        if !trace.samples.is_empty() {
            trace.counters.device().iter().flatten().for_each(|device| has_counter[device.index()] = true);
        }
        let mut groups = vec![None; trace.devices.len()];
        for device in trace.devices.ids() {
            let streams = &streams_of[device.index()];
            if streams.is_empty() && !has_counter[device.index()] {
                continue;
            }
            let group = self.add_group(device_name(trace, device), GroupKind::Device(device));
            groups[device.index()] = Some(group);
            for &stream in streams {
                let rows = std::mem::take(&mut by_stream[stream.index()]);
                self.add_tasks(trace, group, Some(stream_owner(trace, stream)), rows);
            }
        }
        if !without_stream.is_empty() {
            let group = self.add_group("Tasks without a stream".to_owned(), GroupKind::Loose);
            self.add_tasks(trace, group, None, without_stream);
        }
        groups
    }

    fn add_tasks(&mut self, trace: &Trace, group: usize, stream: Option<Owner>, rows: Vec<TaskId>) {
        let (starts, durations) = (trace.tasks.start(), trace.tasks.duration());
        let time_line = self.time_line;
        let lanes = spread(rows, |id| time_line.span(starts[id.index()], durations[id.index()]));
        self.add_lanes(group, LaneKind::Tasks, stream, lanes, Rows::Tasks);
    }

    fn name_counters(&mut self, trace: &Trace, host: Option<usize>, devices: &[Option<usize>]) {
        let mut copies: HashMap<(usize, String), u32> = HashMap::new();
        for (_, counter) in trace.counters.iter() {
            let group = match counter.device {
                Some(device) => devices[device.index()],
                None => host,
            };
            // Only a counter without samples has no group, and then nothing is written of it.
            let group = group.unwrap_or(0);
            let (name, unit) = (trace.strings.get(counter.name), trace.strings.get(counter.unit));
            let name = if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") };
            // Viewers take counters of one name for one.
            let copy = copies.entry((group, name.clone())).or_default();
            *copy += 1;
            let name = if *copy == 1 { name } else { format!("{name} #{copy}") };
            self.counters.push(CounterPlace { group, name });
        }
    }

    fn add_group(&mut self, name: String, kind: GroupKind) -> usize {
        self.groups.push(Group { name, kind });
        self.groups.len() - 1
    }

    fn add_lanes<Row>(
        &mut self,
        group: usize,
        kind: LaneKind,
        owner: Option<Owner>,
        lanes: Vec<Vec<Row>>,
        rows_of: impl Fn(Vec<Row>) -> Rows,
    ) {
        for (copy, rows) in lanes.into_iter().enumerate() {
            let label = Label { kind, owner: owner.clone(), copy };
            self.lanes.push(Lane { group, label, rows: rows_of(rows) });
        }
    }
}

/// Parts rows by the row that they name in a table of `keys` rows; the last group is that of the
/// rows that name none.
fn grouped<Row>(
    rows: impl Iterator<Item = Row>,
    keys: usize,
    key: impl Fn(&Row) -> Option<usize>,
) -> Vec<Vec<Row>> {
    let mut groups: Vec<Vec<Row>> = (0..=keys).map(|_| Vec::new()).collect();
    for row in rows {
        let group = key(&row).unwrap_or(keys);
        groups[group].push(row);
    }
    groups
}

/// Spreads rows, of which `span` tells start and end, over lanes on which they nest; each lane has its
/// rows in drawing order.
fn spread<Row: Copy>(mut rows: Vec<Row>, span: impl Fn(Row) -> (u64, u64)) -> Vec<Vec<Row>> {
    rows.sort_by_key(|&row| {
        let (start, end) = span(row);
        (start, Reverse(end))
    });
    let (mut packer, mut lanes) = (LanePacker::default(), Vec::new());
    for row in rows {
        let lane = packer.place(span(row));
        lanes.resize_with(packer.count(), Vec::new);
        lanes[lane].push(row);
    }
    lanes
}

/// The model of a number; the number behind the last one stands for none.
fn model_owner(trace: &Trace, index: usize) -> Option<Owner> {
    let model = (index < trace.models.len()).then(|| trace.models.get(ModelId::from_index(index)))?;
    Some(Owner { name: trace.strings.get(model.name).to_owned(), ..Owner::default() })
}

/// The thread of a number, likewise.
fn thread_owner(trace: &Trace, index: usize) -> Option<Owner> {
    let thread = (index < trace.threads.len()).then(|| trace.threads.get(ThreadId::from_index(index)))?;
    let process = (trace.processes.len() > 1).then(|| {
        let process = trace.processes.get(thread.process);
        format!("{} {}", trace.strings.get(process.name), process.pid)
    });
    Some(Owner { name: trace.strings.get(thread.name).to_owned(), number: Some(thread.tid), process })
}

fn device_name(trace: &Trace, id: DeviceId) -> String {
    let device = trace.devices.get(id);
    let kind = device.kind.name();
    match trace.strings.get(device.name) {
        "" => format!("{kind} {}", device.number),
        name => format!("{name} ({kind} {})", device.number),
    }
}

fn stream_owner(trace: &Trace, id: StreamId) -> Owner {
    let stream = trace.streams.get(id);
    Owner { name: trace.strings.get(stream.name).to_owned(), number: Some(stream.number), process: None }
}
