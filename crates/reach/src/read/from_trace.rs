//! Ranks whose profile is opened as any profile is: raw directories, timelines of PyTorch's, databases of opscope's,
//! and the vendor's databases of several devices.
//!
//! A collective is a task of the unit `communication`. Its group is told by its stream (`Group … Communication`: the
//! vendor's) or by its operator's attributes (PyTorch's); its number by its name or by the task's number.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use opscope_open::{Opened, Source};
use opscope_trace::{
    ApiCallId, ApiLevel, DeviceKind, ExecutionUnit, IterationId, LossKind, Nanoseconds, NumberMap,
    OperatorId, Severity, StreamId, TaskId, Trace,
};

use super::groups::{Described, key_of_lane};
use super::operators::{Kind, Launch, OperatorKey, Ran, Work, is_kept};
use super::{Recording, room};
use crate::clocks::median;
use crate::discover::{Collection, Declared, Format, Whole};
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveRow, CollectiveType, StepRow, TaskSpan, sequence_of};

/// The counter of the AI cores' frequency, as all of its readers name it.
const FREQUENCY: &str = "AI core frequency";

/// Reads a collection that is a profile of its own, or the timeline beside texts that tell no collective, as those of
/// the profiler's level 0 don't.
pub fn read(collection: &Collection, recording: &mut Recording, losses: &mut Vec<Loss>) {
    let outputs = &collection.outputs;
    let is_beside = outputs.whole.is_none();
    let timeline = outputs.timeline.as_ref().filter(|_| recording.collectives.is_empty());
    // A timeline that is read for suspects alone is told to be cut all the same, whoever is one.
    let unread = outputs.timeline.as_ref().filter(|_| timeline.is_none() && is_beside);
    losses.extend(unread.and_then(|it| Some(of_end(collection.rank, it, loss_of_end(&it.path)?, 1))));
    if let Some(whole) = outputs.whole.as_ref().or(timeline) {
        room::within(whole, || {
            let Some(opened) = open_telling(collection.rank, whole, None, losses) else { return };
            let rank = OfDevice::new(&opened.trace, whole);
            let untold = match is_beside {
                true => rank.add_collectives(recording),
                false => rank.read_all(recording),
            };
            for (reason, count) in
                [(LossReason::Ungrouped, untold.groups), (LossReason::NamedGroups, untold.members)]
            {
                if count > 0 {
                    let source = whole.path.display().to_string();
                    losses.push(Loss::new(Some(collection.rank), source, reason, count));
                }
            }
        });
    }
}

/// The loss that a timeline ends before its list of events does, as its ends tell it. None is of what can't be read.
fn loss_of_end(path: &Path) -> Option<LossKind> {
    /// More blanks than anybody leaves at the begin.
    const HEAD: u64 = 64;
    /// Room for some dozens of events.
    const TAIL: u64 = 32 << 10;
    let found = || -> std::io::Result<Option<LossKind>> {
        let mut file = opscope_files::open_plain(path)?;
        let length = file.metadata()?.len();
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        (&mut file).take(HEAD).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        file.take(TAIL).read_to_end(&mut tail)?;
        Ok(opscope_formats::chrome::loss_of_end(&head, &tail, length))
    };
    found().unwrap_or_default()
}

/// Whether a loss is that a list of events isn't whole at its end.
fn is_of_end(kind: LossKind) -> bool {
    matches!(kind, LossKind::OpenEventList | LossKind::CutEventList)
}

/// A loss of a rank's: its timeline ends before the list of events does.
fn of_end(rank: u32, whole: &Whole, kind: LossKind, count: u64) -> Loss {
    let loss = |reason| Loss::new(Some(rank), whole.path.display().to_string(), reason, count);
    match kind {
        LossKind::OpenEventList => loss(LossReason::OpenList),
        kind => loss(LossReason::Damaged).because(kind.sentence()),
    }
}

/// Opens a profile, and says what of it is lost, but for how its list of events ends where that is `known`; none if it
/// can't be opened at all.
fn open_telling(rank: u32, whole: &Whole, known: Option<LossKind>, losses: &mut Vec<Loss>) -> Option<Opened> {
    let mut lose = |count, why: String| {
        if count > 0 {
            let source = whole.path.display().to_string();
            losses.push(Loss::new(Some(rank), source, LossReason::Damaged, count).because(why));
        }
    };
    let opened = match open(whole) {
        Ok(opened) => opened,
        Err(error) => {
            // A file that is cut before its first event can't be opened.
            if known != Some(LossKind::CutEventList) {
                lose(1, error.to_string());
            }
            return None;
        }
    };
    let all = || opened.trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count));
    let lost = || all().filter(|(kind, _)| kind.severity() == Severity::Lost && !is_of_end(*kind));
    let first = lost().next().map_or(String::new(), |(kind, _)| kind.sentence().to_owned());
    let count = lost().fold(0, |sum: u64, (_, count)| sum.saturating_add(count));
    lose(count, first);
    let ends = all().filter(|(kind, _)| is_of_end(*kind) && Some(*kind) != known);
    losses.extend(ends.map(|(kind, count)| of_end(rank, whole, kind, count)));
    Some(opened)
}

/// Hands on what the rank did, of a collection that is a profile of its own.
pub fn each(collection: &Collection, work: &mut dyn Work) {
    // That it can't be read is told when the rank is read.
    with_opened(collection.outputs.whole.as_ref(), |rank| rank.hand_on(work));
}

/// Hands on what the timeline beside texts tells of the host and the device, but for the operators, which the texts tell
/// more of, and tells what of the timeline is lost; returns when these were launched.
pub fn host_of(collection: &Collection, work: &mut dyn Work, losses: &mut Vec<Loss>) -> Launches {
    let mut launches = Launches::default();
    let Some(whole) = &collection.outputs.timeline else { return launches };
    room::within(whole, || {
        // That it is cut is told when the rank is read.
        let known = loss_of_end(&whole.path);
        let Some(opened) = open_telling(collection.rank, whole, known, losses) else { return };
        let rank = OfDevice::new(&opened.trace, whole);
        work.tells_copies();
        for (task, unit, start, end) in rank.tasks() {
            let name = rank.name(task);
            if unit == ExecutionUnit::MemoryCopy && is_with_host(name) {
                work.copy(name, start, end);
            } else if rank.computes(task, unit) {
                launches.add(start, rank.launch_of(task));
            }
        }
        rank.hand_on_calls(work);
        rank.frequencies().for_each(|(time, megahertz)| work.frequency(time, megahertz));
    });
    launches
}

/// When computing tasks were launched, by their starts.
#[derive(Default)]
pub struct Launches(NumberMap<u64, Launch>);

impl Launches {
    fn add(&mut self, start: i64, launch: Launch) {
        // Of two tasks that start at once, nobody knows which is whose.
        self.0.entry(start as u64).and_modify(|known| *known = Launch::UNTOLD).or_insert(launch);
    }

    /// When the task that starts at a time was launched.
    pub fn of(&self, start: i64) -> Launch {
        self.0.get(&(start as u64)).copied().unwrap_or(Launch::UNTOLD)
    }
}

fn with_opened(whole: Option<&Whole>, take: impl FnOnce(&OfDevice<'_>)) {
    let Some(whole) = whole else { return };
    room::within(whole, || {
        if let Ok(opened) = open(whole) {
            take(&OfDevice::new(&opened.trace, whole));
        }
    });
}

fn open(whole: &Whole) -> Result<Opened, opscope_open::OpenError> {
    Source::at(&whole.path)?.open(&())
}

/// How many collectives lack something that tells their groups apart.
#[derive(Clone, Copy, Default)]
struct Untold {
    /// Collectives without any group.
    groups: u64,
    /// Collectives whose group has a name, and neither here nor in the profile's head a list of its members.
    members: u64,
}

/// A trace, looked at for one of its devices.
struct OfDevice<'t> {
    trace: &'t Trace,
    /// The device, where the profile has several.
    device: Option<u32>,
    /// The groups whose members are declared.
    declared: &'t Declared,
    /// Whether its steps are those of a host, which is ahead of its device.
    are_steps_of_host: bool,
    /// Whether each stream is of the device.
    is_wanted: Vec<bool>,
    /// The trace's zero in the ranks' clock.
    zero: i64,
}

impl<'t> OfDevice<'t> {
    fn new(trace: &'t Trace, whole: &'t Whole) -> Self {
        let device = whole.device;
        // Units for communication of their own are devices as well.
        let is_accelerator = |kind| matches!(kind, DeviceKind::Npu | DeviceKind::Gpu);
        let is_wanted = trace.streams.iter().map(|(_, stream)| {
            let of = trace.devices.get(stream.device);
            is_accelerator(of.kind) && device.is_none_or(|device| of.number == device)
        });
        let zero = trace.clock.unix_zero.unwrap_or(0);
        let has_gpu = trace.devices.iter().any(|(_, device)| device.kind == DeviceKind::Gpu);
        Self {
            trace,
            device,
            declared: &whole.declared,
            are_steps_of_host: has_gpu || whole.format == Format::Timeline,
            is_wanted: is_wanted.collect(),
            zero,
        }
    }

    /// Reads all that a rank is; returns what isn't told of its collectives' groups.
    fn read_all(&self, recording: &mut Recording) -> Untold {
        self.read_tasks(recording);
        let untold = self.read_collectives(recording);
        recording.steps = self.steps();
        name_steps(recording);
        recording.frequency_mhz = self.frequency();
        untold
    }

    /// Adds collectives to a rank whose tables tell the rest, and where its steps begin; returns what isn't told of
    /// their groups.
    fn add_collectives(&self, recording: &mut Recording) -> Untold {
        // These stand for those of the tables.
        let unmatchable = std::mem::take(&mut recording.unmatchable);
        let untold = self.read_collectives(recording);
        if recording.collectives.is_empty() {
            recording.unmatchable.add(unmatchable);
            return untold;
        }
        if recording.steps.iter().all(|step| step.start_ns.is_none()) {
            let steps = self.steps();
            if !steps.is_empty() {
                recording.steps = steps;
            }
        }
        name_steps(recording);
        untold
    }

    /// A time by the rank's clock.
    fn time(&self, time: Nanoseconds) -> i64 {
        self.zero.saturating_add(time.0)
    }

    /// The device's tasks, each with its unit, start and end.
    fn tasks(&self) -> impl Iterator<Item = (TaskId, ExecutionUnit, i64, i64)> + '_ {
        let tasks = &self.trace.tasks;
        let of_device = |stream: &Option<StreamId>| stream.is_some_and(|it| self.is_wanted[it.index()]);
        (0..tasks.len()).filter(move |index| of_device(&tasks.stream()[*index])).map(|index| {
            let start = self.time(tasks.start()[index]);
            let end = start.saturating_add(tasks.duration()[index].0);
            (TaskId::from_index(index), tasks.unit()[index], start, end)
        })
    }

    fn read_tasks(&self, recording: &mut Recording) {
        let computing = self.tasks().filter(|(task, unit, ..)| self.computes(*task, *unit));
        recording.tasks.extend(computing.map(|(_, _, start_ns, end_ns)| TaskSpan { start_ns, end_ns }));
    }

    /// A task's name.
    fn name(&self, task: TaskId) -> &str {
        self.trace.strings.get(self.trace.tasks.name()[task.index()])
    }

    /// Whether a task is of an operator, and no collective.
    fn computes(&self, task: TaskId, unit: ExecutionUnit) -> bool {
        let is_described = self.trace.tasks.operator()[task.index()].is_some();
        match unit {
            // Its kernels that launch collectives compute nothing.
            ExecutionUnit::AiCpu if self.name(task).contains("AicpuKernel") => false,
            ExecutionUnit::AiCore
            | ExecutionUnit::AiVectorCore
            | ExecutionUnit::MixAiCore
            | ExecutionUnit::MixVectorCore
            | ExecutionUnit::AiCpu
            | ExecutionUnit::Dvpp => is_described,
            ExecutionUnit::Gpu => true,
            _ => false,
        }
    }

    /// Enters the collectives of groups; returns what isn't told of these.
    fn read_collectives(&self, recording: &mut Recording) -> Untold {
        let mut untold = Untold::default();
        let mut described: NumberMap<u64, Described> = NumberMap::default();
        let mut uncounted: Vec<usize> = Vec::new();
        for (task, unit, start_ns, end_ns) in self.tasks() {
            if unit != ExecutionUnit::Communication {
                continue;
            }
            let row = self.trace.tasks.get(task);
            let name = self.trace.strings.get(row.name);
            let lane = row.stream.and_then(|stream| self.group_of_stream(stream));
            let of_vendor = lane.and_then(|group| key_of_lane(group, name, &self.declared.keys));
            let operator = row.operator.map(|id| {
                described
                    .entry(id.index() as u64)
                    .or_insert_with(|| Described::of(self.trace, id, self.declared))
                    .clone()
            });
            let operator = operator.unwrap_or_default();
            // In a group of more than two, one untold pair would be taken for another.
            let is_untold_pair = of_vendor.is_none()
                && operator.kind.is_between_two()
                && !operator.is_pair_known(&self.declared.keys);
            let group_key = of_vendor.or(operator.group_key).filter(|_| !is_untold_pair);
            let Some(group_key) = group_key else {
                // The vendor's own steps of collectives are tasks of the same unit, in streams of the device.
                untold.groups +=
                    u64::from(lane.is_some() || name.starts_with("nccl") || name.starts_with("rccl"));
                continue;
            };
            untold.members += u64::from(of_vendor.is_none() && operator.is_by_name_alone);
            let (kind, sequence) = match of_vendor {
                Some(_) => (CollectiveType::of_name(name), sequence_of(name)),
                None => (operator.kind, row.number.and_then(|number| i32::try_from(number).ok())),
            };
            if sequence.is_none() {
                if of_vendor.is_some() {
                    recording.unmatchable.unnumbered += 1;
                    continue;
                }
                uncounted.push(recording.collectives.len());
            }
            let duration_ns = end_ns.saturating_sub(start_ns);
            recording.collectives.push(CollectiveRow {
                bytes: operator.bytes,
                peer: operator.peer,
                ..CollectiveRow::new(group_key, sequence.unwrap_or(0), kind, 0, start_ns, duration_ns)
            });
        }
        count_in_order(recording, uncounted);
        untold
    }

    /// The group whose operations as a whole a stream has, as the stream's name tells it.
    fn group_of_stream(&self, stream: StreamId) -> Option<&str> {
        let name = self.trace.strings.get(self.trace.streams.name()[stream.index()]);
        name.strip_prefix("Group ")?.strip_suffix(" Communication")
    }

    /// The steps one behind the other; none where inferences overlap, as those of several models or devices do.
    fn steps(&self) -> Vec<StepRow> {
        let iterations = &self.trace.iterations;
        let row = |index: usize| {
            Some(StepRow {
                step: i32::try_from(iterations.number()[index]).ok()?,
                start_ns: Some(self.time(iterations.start()[index])),
                duration_ns: iterations.duration()[index].0,
                preparing_ns: None,
            })
        };
        // Of several devices those count that the device's own tasks name.
        let named: Option<BTreeSet<usize>> = self.device.map(|_| {
            let iteration = |(task, ..): (TaskId, ExecutionUnit, i64, i64)| {
                self.trace.tasks.iteration()[task.index()].map(IterationId::index)
            };
            self.tasks().filter_map(iteration).collect()
        });
        let is_of_device = |index: &usize| named.as_ref().is_none_or(|named| named.contains(index));
        let mut steps: Vec<StepRow> = (0..iterations.len()).filter(is_of_device).filter_map(row).collect();
        steps.sort_by_key(|step| (step.start_ns, step.step));
        let end = |step: &StepRow| step.start_ns.unwrap_or(0).saturating_add(step.duration_ns);
        let follow =
            |pair: &[StepRow]| pair[1].start_ns.unwrap_or(0) >= end(&pair[0]) && pair[0].step < pair[1].step;
        if !steps.windows(2).all(follow) {
            return Vec::new();
        }
        if self.are_steps_of_host {
            self.move_to_device(&mut steps);
        }
        steps
    }

    /// Moves the steps of a host, which is ahead of its device, to where the device has done what was launched before;
    /// where the host is late, the device waits within the step.
    fn move_to_device(&self, steps: &mut [StepRow]) {
        // By step, the last end of what was launched in it: of what computes, and of all.
        let mut ends: Vec<(i64, i64)> = vec![(i64::MIN, i64::MIN); steps.len()];
        // The last end of a task that was launched before the first.
        let mut done = i64::MIN;
        let tasks = &self.trace.tasks;
        for (task, unit, _, end) in self.tasks() {
            let Some(call) = tasks.launched_by()[task.index()] else { continue };
            let launched = self.time(self.trace.api_calls.start()[call.index()]);
            let behind = steps.partition_point(|step| step.start_ns.unwrap_or(i64::MIN) <= launched);
            let computing = if self.computes(task, unit) { end } else { i64::MIN };
            match behind.checked_sub(1) {
                Some(step) => ends[step] = (ends[step].0.max(computing), ends[step].1.max(end)),
                None => done = done.max(computing),
            }
        }
        let ends_of_host: Vec<i64> =
            steps.iter().map(|step| step.start_ns.unwrap_or(0).saturating_add(step.duration_ns)).collect();
        for (step, (computed, _)) in steps.iter_mut().zip(&ends) {
            step.start_ns = step.start_ns.map(|start| start.max(done));
            done = done.max(*computed);
        }
        let starts: Vec<i64> = steps.iter().map(|step| step.start_ns.unwrap_or(0)).collect();
        for (index, step) in steps.iter_mut().enumerate() {
            let own_end = ends_of_host[index].max(ends[index].1);
            let end = starts.get(index + 1).copied().unwrap_or(own_end);
            step.duration_ns = end.saturating_sub(starts[index]).max(0);
        }
    }

    /// The median of the AI cores' frequency in MHz.
    fn frequency(&self) -> Option<f64> {
        let mut values: Vec<f64> = self.frequencies().map(|(_, value)| value).collect();
        (!values.is_empty()).then(|| median(&mut values))
    }

    /// The samples of the AI cores' frequency in MHz, each with its time.
    fn frequencies(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        let number = |device| self.trace.devices.get(device).number;
        let is_of_device = |device: Option<_>| self.device.is_none() || device.map(number) == self.device;
        let counters = self.trace.counters.iter().filter(|(_, counter)| is_of_device(counter.device));
        let named = counters.filter(|(_, it)| self.trace.strings.get(it.name) == FREQUENCY);
        let named: Vec<_> = named.map(|(id, _)| id).collect();
        let samples = self.trace.samples.iter().filter(move |(_, sample)| named.contains(&sample.counter));
        let samples = samples.filter(|(_, sample)| sample.value > 0.0);
        samples.map(|(_, sample)| (self.time(sample.time), sample.value))
    }

    fn hand_on(&self, work: &mut dyn Work) {
        work.tells_copies();
        // Kernels of one operator differ, and so do the operators of one kernel.
        let mut kinds: BTreeMap<(usize, Option<usize>, ExecutionUnit), u32> = BTreeMap::new();
        for (task, unit, start, end) in self.tasks() {
            let row = self.trace.tasks.get(task);
            let name = self.trace.strings.get(row.name);
            if unit == ExecutionUnit::MemoryCopy {
                if is_with_host(name) {
                    work.copy(name, start, end);
                }
                continue;
            }
            if !self.computes(task, unit) {
                continue;
            }
            let name_of_kind =
                if unit == ExecutionUnit::Gpu || row.operator.is_none() { row.name.index() } else { 0 };
            let number = (name_of_kind, row.operator.map(OperatorId::index), unit);
            let next = kinds.len() as u32;
            let kind = *kinds.entry(number).or_insert_with(|| {
                work.kind(self.kind(name, row.operator, unit));
                next
            });
            let stream = row.stream.map(|stream| self.trace.streams.number()[stream.index()]);
            let stream = stream.and_then(|number| i32::try_from(number).ok());
            work.operator(Ran { start, end, kind, stream, launch: self.launch_of(task) });
        }
        self.hand_on_calls(work);
        if work.keeps_all() {
            self.frequencies().for_each(|(time, megahertz)| work.frequency(time, megahertz));
        }
    }

    fn kind(&self, name: &str, operator: Option<OperatorId>, unit: ExecutionUnit) -> Kind {
        let text = |id| self.trace.strings.get(id).to_owned();
        let unit = word_of(unit).to_owned();
        let Some(operator) = operator else {
            let key = OperatorKey { name: name.to_owned(), op_type: name.to_owned(), unit };
            return Kind { key, shapes: String::new(), types: String::new() };
        };
        let row = self.trace.operators.get(operator);
        let name = if unit == word_of(ExecutionUnit::Gpu) { name.to_owned() } else { text(row.name) };
        let shape = |tensor| {
            let dimensions = self.trace.shape(tensor).unwrap_or_default();
            dimensions.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
        };
        let shapes: Vec<String> = row.inputs().map(shape).collect();
        let shapes = if shapes.is_empty() { String::new() } else { format!("\"{}\"", shapes.join(";")) };
        let types: Vec<&str> =
            row.inputs().map(|tensor| self.trace.tensors.data_type()[tensor.index()].name()).collect();
        Kind { key: OperatorKey { name, op_type: text(row.op_type), unit }, shapes, types: types.join(";") }
    }

    /// When a task had been launched.
    fn launch_of(&self, task: TaskId) -> Launch {
        let calls = &self.trace.api_calls;
        let end = |call: ApiCallId| {
            self.time(calls.start()[call.index()]).saturating_add(calls.duration()[call.index()].0)
        };
        Launch::at(self.trace.tasks.launched_by()[task.index()].map(end))
    }

    /// Hands on the framework's calls and ranges. Those of the runtime lie within them, and wait for the device.
    fn hand_on_calls(&self, work: &mut dyn Work) {
        let is_above = |level| !matches!(level, ApiLevel::Runtime | ApiLevel::System);
        let calls = self.trace.api_calls.iter().filter(|(_, call)| is_above(call.level));
        let calls = calls.map(|(_, call)| (call.name, call.start, call.duration));
        // Ranges without a thread are the device's.
        let ranges = self.trace.ranges.iter().filter(|(_, range)| range.thread.is_some());
        let ranges = ranges.map(|(_, range)| (range.name, range.start, range.duration));
        for (name, start, duration) in calls.chain(ranges) {
            let (name, start) = (self.trace.strings.get(name), self.time(start));
            let end = start.saturating_add(duration.0);
            if is_kept(name, start, end) {
                work.call(name, start, end);
            }
        }
        if work.keeps_all() {
            for (_, range) in self.trace.ranges.iter().filter(|(_, range)| range.thread.is_some()) {
                let start = self.time(range.start);
                work.mark(self.trace.strings.get(range.name), start, start.saturating_add(range.duration.0));
            }
        }
    }
}

/// Enters to which of the steps each collective belongs.
fn name_steps(recording: &mut Recording) {
    let steps = &recording.steps;
    for row in &mut recording.collectives {
        let behind = steps.partition_point(|step| step.start_ns.unwrap_or(i64::MIN) <= row.start_ns);
        row.step = steps.get(behind.saturating_sub(1)).map_or(0, |step| step.step);
    }
}

/// Numbers collectives that the profile doesn't number, by their order in their group.
fn count_in_order(recording: &mut Recording, mut uncounted: Vec<usize>) {
    uncounted.sort_by_key(|index| recording.collectives[*index].start_ns);
    let mut counts: NumberMap<u64, i32> = NumberMap::default();
    for index in uncounted {
        let row = &mut recording.collectives[index];
        // Sends and receives are counted by their pairs.
        let count = counts.entry(row.group_key ^ u64::from(row.kind.is_between_two())).or_default();
        row.sequence = *count;
        *count += 1;
    }
}

/// Whether a copy is between host and device: by the vendor's word for it, or that of GPUs.
fn is_with_host(name: &str) -> bool {
    name.starts_with("MEMCPY") || name.contains("HtoD") || name.contains("DtoH")
}

/// The word of the vendor's tables for a unit.
fn word_of(unit: ExecutionUnit) -> &'static str {
    match unit {
        ExecutionUnit::AiCore => "AI_CORE",
        ExecutionUnit::AiVectorCore => "AI_VECTOR_CORE",
        ExecutionUnit::MixAiCore => "MIX_AIC",
        ExecutionUnit::MixVectorCore => "MIX_AIV",
        ExecutionUnit::AiCpu => "AI_CPU",
        ExecutionUnit::Dvpp => "DVPP",
        ExecutionUnit::Gpu => "GPU",
        _ => "",
    }
}
