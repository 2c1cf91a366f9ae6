//! Which lanes a timeline has, and which rows of the trace are drawn on each.

use std::cmp::Reverse;
use std::collections::HashMap;

use opscope_trace::{
    ApiCallId, DeviceId, IterationId, LanePacker, Nanoseconds, RangeId, RangeKind, StreamId, TaskId,
    ThreadId, Trace, UnrecordedIterationId,
};

/// The lanes of a timeline, in groups that viewers show as processes.
///
/// - The first group holds the inferences of each model, those that weren't recorded on lanes of their
///   own, and the calls of each thread.
/// - The second holds the ranges and marks that the program set, a lane for every thread.
/// - Every device is a group of its own, with a lane for every stream.
///
/// Rows that overlap without nesting move to further lanes of the same thread or stream.
pub(super) struct Layout {
    pub groups: Vec<String>,
    pub lanes: Vec<Lane>,
    /// The group of every counter, and the name that it has there.
    pub counters: Vec<(usize, String)>,
    pub time_line: TimeLine,
}

/// One line of slices.
pub(super) struct Lane {
    pub group: usize,
    pub name: String,
    pub rows: Rows,
}

/// The rows that a lane draws, in drawing order.
pub(super) enum Rows {
    Iterations(Vec<IterationId>),
    Unrecorded(Vec<UnrecordedIterationId>),
    Calls(Vec<ApiCallId>),
    Ranges(Vec<RangeId>),
    Tasks(Vec<TaskId>),
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Iterations(rows) => rows.len(),
            Self::Unrecorded(rows) => rows.len(),
            Self::Calls(rows) => rows.len(),
            Self::Ranges(rows) => rows.len(),
            Self::Tasks(rows) => rows.len(),
        }
    }
}

impl Layout {
    pub(super) fn new(trace: &Trace) -> Self {
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

    /// The number by which events name a group; viewers take 0 for the idle process.
    pub(super) fn process_number(group: usize) -> usize {
        group + 1
    }

    /// The number by which events name a lane. No group has the same number, because a thread
    /// with the number of its process passes for the main thread, which viewers rename.
    pub(super) fn thread_number(&self, lane: usize) -> usize {
        self.groups.len() + 1 + lane
    }

    fn lay_host_out(&mut self, trace: &Trace) -> Option<usize> {
        let has_host_counter = trace.counters.device().contains(&None) && !trace.samples.is_empty();
        if trace.iterations.is_empty()
            && trace.unrecorded_iterations.is_empty()
            && trace.api_calls.is_empty()
            && !has_host_counter
        {
            return None;
        }
        let group = self.add_group("Inferences and calls".to_owned());
        let time_line = self.time_line;

        let models = trace.iterations.model();
        let by_model =
            grouped(trace.iterations.ids(), trace.models.len(), |id| models[id.index()].map(|m| m.index()));
        let (starts, durations) = (trace.iterations.start(), trace.iterations.duration());
        for (model, rows) in by_model.into_iter().enumerate() {
            let name = match trace.models.name().get(model) {
                Some(&model) => format!("inferences of {}", trace.strings.get(model)),
                None => "inferences".to_owned(),
            };
            let lanes = spread(rows, |id| time_line.span(starts[id.index()], durations[id.index()]));
            self.add_lanes(group, &name, lanes, Rows::Iterations);
        }

        let unrecorded = &trace.unrecorded_iterations;
        let models = unrecorded.model();
        let by_model =
            grouped(unrecorded.ids(), trace.models.len(), |id| models[id.index()].map(|m| m.index()));
        let (starts, durations) = (unrecorded.start(), unrecorded.duration());
        for (model, rows) in by_model.into_iter().enumerate() {
            let name = match trace.models.name().get(model) {
                Some(&model) => format!("unrecorded inferences of {}", trace.strings.get(model)),
                None => "unrecorded inferences".to_owned(),
            };
            let lanes = spread(rows, |id| time_line.span(starts[id.index()], durations[id.index()]));
            self.add_lanes(group, &name, lanes, Rows::Unrecorded);
        }

        let threads = trace.api_calls.thread();
        let by_thread =
            grouped(trace.api_calls.ids(), trace.threads.len(), |id| threads[id.index()].map(|t| t.index()));
        let (starts, durations) = (trace.api_calls.start(), trace.api_calls.duration());
        for (thread, rows) in by_thread.into_iter().enumerate() {
            let name = match thread_name(trace, thread) {
                Some(thread) => format!("calls of {thread}"),
                None => "calls".to_owned(),
            };
            let lanes = spread(rows, |id| time_line.span(starts[id.index()], durations[id.index()]));
            self.add_lanes(group, &name, lanes, Rows::Calls);
        }
        Some(group)
    }

    fn lay_ranges_out(&mut self, trace: &Trace) {
        if trace.ranges.is_empty() {
            return;
        }
        let group = self.add_group("Ranges and marks".to_owned());
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
            let name = thread_name(trace, thread).unwrap_or_else(|| "ranges".to_owned());
            // Started and stopped ranges overlap at will; among the pushed ones they would only
            // scatter what nests.
            let (loose, nesting): (Vec<_>, Vec<_>) =
                rows.into_iter().partition(|id| kinds[id.index()] == RangeKind::StartStop);
            self.add_lanes(group, &name, spread(nesting, span), Rows::Ranges);
            self.add_lanes(group, &format!("{name}, started and stopped"), spread(loose, span), Rows::Ranges);
        }
    }

    /// Returns the group of every device that has one.
    fn lay_devices_out(&mut self, trace: &Trace) -> Vec<Option<usize>> {
        let streams = trace.tasks.stream();
        let mut by_stream =
            grouped(trace.tasks.ids(), trace.streams.len(), |id| streams[id.index()].map(|s| s.index()));
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
            let group = self.add_group(device_name(trace, device));
            groups[device.index()] = Some(group);
            for &stream in streams {
                let rows = std::mem::take(&mut by_stream[stream.index()]);
                self.add_tasks(trace, group, &stream_name(trace, stream), rows);
            }
        }
        if !without_stream.is_empty() {
            let group = self.add_group("Tasks without a stream".to_owned());
            self.add_tasks(trace, group, "tasks", without_stream);
        }
        groups
    }

    fn add_tasks(&mut self, trace: &Trace, group: usize, name: &str, rows: Vec<TaskId>) {
        let (starts, durations) = (trace.tasks.start(), trace.tasks.duration());
        let time_line = self.time_line;
        let lanes = spread(rows, |id| time_line.span(starts[id.index()], durations[id.index()]));
        self.add_lanes(group, name, lanes, Rows::Tasks);
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
            self.counters.push((group, if *copy == 1 { name } else { format!("{name} #{copy}") }));
        }
    }

    fn add_group(&mut self, name: String) -> usize {
        self.groups.push(name);
        self.groups.len() - 1
    }

    fn add_lanes<Row>(
        &mut self,
        group: usize,
        name: &str,
        lanes: Vec<Vec<Row>>,
        rows_of: impl Fn(Vec<Row>) -> Rows,
    ) {
        for (index, rows) in lanes.into_iter().enumerate() {
            let name = if index == 0 { name.to_owned() } else { format!("{name} ({})", index + 1) };
            self.lanes.push(Lane { group, name, rows: rows_of(rows) });
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

fn thread_name(trace: &Trace, index: usize) -> Option<String> {
    if index == trace.threads.len() {
        return None;
    }
    let thread = trace.threads.get(ThreadId::from_index(index));
    let name = match trace.strings.get(thread.name) {
        "" => format!("thread {}", thread.tid),
        name => name.to_owned(),
    };
    if trace.processes.len() < 2 {
        return Some(name);
    }
    let process = trace.processes.get(thread.process);
    Some(format!("{name} of {} {}", trace.strings.get(process.name), process.pid))
}

fn device_name(trace: &Trace, id: DeviceId) -> String {
    let device = trace.devices.get(id);
    let kind = device.kind.name();
    match trace.strings.get(device.name) {
        "" => format!("{kind} {}", device.number),
        name => format!("{name} ({kind} {})", device.number),
    }
}

fn stream_name(trace: &Trace, id: StreamId) -> String {
    let stream = trace.streams.get(id);
    match trace.strings.get(stream.name) {
        "" => format!("stream {}", stream.number),
        name => name.to_owned(),
    }
}

/// Maps the trace's times onto those of the file, which begin at 0 or later.
#[derive(Clone, Copy)]
pub(super) struct TimeLine {
    /// The trace's time that becomes the file's 0.
    pub zero: Nanoseconds,
}

/// The first time that viewers no longer keep to the nanosecond: they read microseconds as
/// floating-point numbers, and beyond 2^52 ns (52 days) three decimals no longer fit.
const TOO_LATE: Nanoseconds = Nanoseconds(1 << 52);

impl TimeLine {
    /// The trace's own zero stays the zero if it can. Where something happened before it, or so
    /// long after it that viewers would lose nanoseconds (and with them slices that touch), the
    /// first event becomes the zero.
    fn new(trace: &Trace) -> Self {
        let columns = [
            trace.iterations.start(),
            trace.unrecorded_iterations.start(),
            trace.api_calls.start(),
            trace.ranges.start(),
            trace.tasks.start(),
            trace.samples.time(),
        ];
        let bounds = columns.into_iter().flatten().fold(None, |bounds, &time| {
            let (first, last) = bounds.unwrap_or((time, time));
            Some((time.min(first), time.max(last)))
        });
        let (first, last) = bounds.unwrap_or_default();
        let keeps_zero = first >= Nanoseconds::ZERO && last < TOO_LATE;
        Self { zero: if keeps_zero { Nanoseconds::ZERO } else { first } }
    }

    /// A point in time; what a reader's signed nanoseconds can't hold becomes their end.
    pub(super) fn point(self, time: Nanoseconds) -> u64 {
        // The true difference is not negative and fits in 64 bits unsigned.
        (time.0.wrapping_sub(self.zero.0) as u64).min(i64::MAX as u64)
    }

    /// Start and end. Both are mapped by themselves, so that what nests or touches in the trace
    /// does so in the file.
    pub(super) fn span(self, start: Nanoseconds, duration: Nanoseconds) -> (u64, u64) {
        let end = start + duration.max(Nanoseconds::ZERO);
        (self.point(start), self.point(end))
    }
}
