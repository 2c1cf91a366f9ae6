//! The collective operations that devices executed, and the steps of which they consist.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use opscope_trace::NumberMap;

use crate::facts::launched;
use crate::facts::spans::{Spans, union};
use crate::facts::view::{TaskRef, View};
use crate::join::Step;
use crate::tables::{CallRow, CollectiveNote, CollectiveRow, CommunicationNote, HostTaskRow};

/// The number of a plane that isn't known.
const NO_PLANE: u32 = u32::MAX;

/// The word for a text that wasn't reported.
pub(crate) const UNKNOWN: &str = "N/A";

/// A step of a collective operation, executed.
#[derive(Clone, Debug)]
pub(crate) struct StepRun<'a> {
    pub(crate) place: TaskRef,
    pub(crate) host_task: HostTaskRow,
    /// Wall-clock nanoseconds.
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// The host's note on it, if there is one.
    pub(crate) note: Option<CommunicationNote>,
    /// The name of its action.
    pub(crate) name: &'a str,
    /// The name of its group; of fused operators with `Aicpu` behind it.
    pub(crate) group: Cow<'a, str>,
    pub(crate) is_master: bool,
    /// The place of its operation.
    pub(crate) operation: usize,
    /// Gigabytes a second.
    pub(crate) bandwidth: f64,
}

/// A collective operation, executed.
#[derive(Clone, Debug)]
pub(crate) struct OperationRun<'a> {
    /// With the end of the group's name, the number in the group and the number of the run.
    pub(crate) name: String,
    /// The place of its device in the view.
    pub(crate) device: u32,
    /// As that of its steps.
    pub(crate) group: Cow<'a, str>,
    pub(crate) op_type: &'a str,
    /// The launching call.
    pub(crate) call: CallRow,
    pub(crate) model: u64,
    pub(crate) note: Option<CollectiveNote>,
    pub(crate) algorithm: &'a str,
    pub(crate) rank_size: u32,
    /// Wall-clock nanoseconds: of the steps that count, or else of all.
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Whether steps that count were executed after the collection's begin.
    pub(crate) has_master: bool,
    /// Whether it is part of a fused operator, which computes beside it.
    pub(crate) fused: bool,
}

impl OperationRun<'_> {
    /// Takes the time of a step in. The first step that counts takes the place of those that don't.
    pub(super) fn take(&mut self, run: &StepRun<'_>, begin: i64) {
        let counts = run.is_master && run.start >= begin;
        if counts == self.has_master {
            (self.start, self.end) = (self.start.min(run.start), self.end.max(run.end));
        } else if counts {
            (self.start, self.end, self.has_master) = (run.start, run.end, true);
        }
    }
}

/// The collective operations that devices executed.
#[derive(Debug, Default)]
pub(crate) struct Collectives<'a> {
    /// By the host's time, then by their start; behind them those that devices launched.
    pub(crate) steps: Vec<StepRun<'a>>,
    pub(crate) operations: Vec<OperationRun<'a>>,
}

impl<'a> Collectives<'a> {
    /// The operations whose steps are shown.
    pub(crate) fn new(view: &'a View<'a>) -> Self {
        let mut all = Self::launched_by_host(view);
        launched::add(view, &mut all);
        all.fill_bandwidths();
        all
    }

    /// The operations that the host launched, with the steps that it launched itself.
    fn launched_by_host(view: &'a View<'a>) -> Self {
        let found = &view.joined.communication;
        if found.steps.is_empty() {
            return Self::default();
        }
        let mut by_task: NumberMap<HostTaskRow, Vec<Step>> = NumberMap::default();
        found.steps.rows().for_each(|step| by_task.entry(step.host_task).or_default().push(step));
        let mut runs: Vec<(u64, StepRun<'a>, CollectiveRow)> = Vec::new();
        for &place in &view.tasks() {
            let Some(host_task) = view.host_row(place) else { continue };
            for step in by_task.get(&host_task).into_iter().flatten() {
                let time = view.joined.host_tasks.time()[host_task.index()];
                runs.push((time, step_run(view, place, *step), step.operation));
            }
        }
        runs.sort_by_key(|(time, run, _)| (*time, run.start));
        let mut all = Self::default();
        let mut places: HashMap<(u32, String), usize> = HashMap::new();
        let mut numbering = Numbering::default();
        for (_, mut run, operation) in runs {
            let operation = found.operations.row(operation.index());
            let name = numbering.name(view, &run, operation.call);
            let device = run.place.device;
            run.operation = *places.entry((device, name.clone())).or_insert_with(|| {
                all.operations.push(operation_run(view, name, device, run.group.clone(), operation));
                all.operations.len() - 1
            });
            let whole = &mut all.operations[run.operation];
            if let Some(note) = run.note {
                whole.rank_size = note.rank_size;
            }
            whole.take(&run, view.devices[device as usize].begin);
            all.steps.push(run);
        }
        all
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How fast each step moved its bytes. A piece sent by RDMA in one go counts until the last of the
    /// notifications that close it.
    fn fill_bandwidths(&mut self) {
        const SEND_PAYLOAD: u32 = 1;
        let mut by_plane: BTreeMap<(usize, u32), Vec<usize>> = BTreeMap::new();
        for (place, run) in self.steps.iter().enumerate() {
            by_plane.entry((run.operation, run.plane())).or_default().push(place);
        }
        for ((operation, _), mut places) in by_plane {
            places.sort_by_key(|place| self.steps[*place].start);
            let name = self.operations[operation].name.to_lowercase();
            let closing = if name.contains("send") || name.contains("receive") { 3 } else { 5 };
            let is_payload =
                |place: usize| self.steps[place].note.is_some_and(|note| note.rdma == SEND_PAYLOAD);
            let mut bandwidths = Vec::with_capacity(places.len());
            let mut next = 0;
            while next < places.len() {
                let payloads = places[next..].iter().take_while(|place| is_payload(**place)).count();
                let rate = |place: usize| {
                    let run = &self.steps[place];
                    rate(run.note.map_or(0, |note| note.size), run.end - run.start)
                };
                match places.get(next + payloads + closing - 2).filter(|_| payloads > 0) {
                    Some(&last) => {
                        let sent = &places[next..next + payloads];
                        let size = |place: &usize| self.steps[*place].note.map_or(0, |note| note.size);
                        let bytes = sent.iter().map(size).fold(0u64, u64::saturating_add);
                        let time = self.steps[last].end - self.steps[places[next]].start;
                        bandwidths.extend(sent.iter().map(|place| (*place, self::rate(bytes, time))));
                        next += payloads;
                    }
                    None => {
                        bandwidths.push((places[next], rate(places[next])));
                        next += 1;
                    }
                }
            }
            for (place, bandwidth) in bandwidths {
                self.steps[place].bandwidth = bandwidth;
            }
        }
    }
}

/// Gigabytes a second, which are bytes a nanosecond.
fn rate(bytes: u64, nanoseconds: i64) -> f64 {
    if nanoseconds > 0 { bytes as f64 / nanoseconds as f64 } else { 0.0 }
}

impl StepRun<'_> {
    /// The plane; 0 if it isn't known.
    pub(crate) fn plane(&self) -> u32 {
        self.note.map(|note| note.plane).filter(|plane| *plane != NO_PLANE).unwrap_or(0)
    }
}

fn step_run<'a>(view: &'a View<'a>, place: TaskRef, step: Step) -> StepRun<'a> {
    let device = view.device(place);
    let host = &view.joined.data.host;
    let note = step.note.map(|note| host.communication_notes.row(note.index()));
    let whole = view.joined.communication.operations.row(step.operation.index());
    let of_operation = whole.note.map(|note| host.collective_notes.group()[note.index()]);
    StepRun {
        place,
        host_task: step.host_task,
        start: device.start(place.task as usize),
        end: device.end(place.task as usize),
        note,
        name: note.map_or(UNKNOWN, |note| view.text(note.name)),
        group: note.map(|note| note.group).or(of_operation).map_or(UNKNOWN, |group| view.text(group)).into(),
        is_master: step.is_master,
        operation: 0,
        bandwidth: 0.0,
    }
}

fn operation_run<'a>(
    view: &'a View<'a>,
    name: String,
    device: u32,
    group: Cow<'a, str>,
    operation: crate::join::Collective,
) -> OperationRun<'a> {
    let host = &view.joined.data.host;
    let note = operation.note.map(|note| host.collective_notes.row(note.index()));
    OperationRun {
        name,
        device,
        group: note.map_or(group, |note| view.text(note.group).into()),
        op_type: operation.node.map_or(UNKNOWN, |node| view.text(host.nodes.op_type()[node.index()])),
        call: operation.call,
        model: operation.model,
        note,
        algorithm: note.map_or(UNKNOWN, |note| view.text(note.algorithm)),
        rank_size: 0,
        start: i64::MAX,
        end: i64::MIN,
        has_master: false,
        fused: false,
    }
}

/// Gives operations their names: of each group on a device they are numbered, and of each task the runs.
#[derive(Default)]
struct Numbering {
    /// For each group on a device, apart for what runs on AI CPUs: the begin of the last operation's call,
    /// and its number.
    groups: HashMap<(u32, u64, bool), (u64, i64)>,
    /// How often each host task was executed.
    runs: NumberMap<HostTaskRow, u32>,
}

impl Numbering {
    fn name(&mut self, view: &View<'_>, run: &StepRun<'_>, call: CallRow) -> String {
        let call = view.joined.data.host.api.row(call.index());
        let name = view.text(call.item);
        let group = run.note.map_or(0, |note| note.group);
        let group_of_device = (run.place.device, group, name.contains("AicpuKernel"));
        let last = self.groups.entry(group_of_device).or_insert((0, -1));
        if run.start > view.devices[run.place.device as usize].begin && call.begin > last.0 {
            *last = (call.begin, last.1 + 1);
        }
        let number = last.1;
        let times = self.runs.entry(run.host_task).or_default();
        *times += 1;
        // The reference has the last digits of the hash, not of the name.
        let digits = if run.note.is_some() { group.to_string() } else { UNKNOWN.to_owned() };
        numbered_name(name, &digits, number, *times)
    }
}

/// An operation's name with the last digits of its group's, its number in the group, and that of its run.
pub(super) fn numbered_name(name: &str, group_digits: &str, number: i64, run: u32) -> String {
    let end = &group_digits[group_digits.len().saturating_sub(3)..];
    format!("{name}_{end}_{number}_{run}")
}

/// When a device, by its place in the view, carried out collective operations.
pub(crate) fn communicating(found: &Collectives<'_>, device: u32) -> Spans {
    let of_device = found.operations.iter().filter(|operation| operation.device == device);
    union(of_device.map(|operation| (operation.start, operation.end)).collect())
}
