//! Brings together what host and device recorded of the same work.
//!
//! 1. [`host_tasks`] walks the calls of each thread and gives every task that was handed to a
//!    device its node, model and launching call; [`captured`] knows those of captured graphs.
//!    [`communication`] finds the collective operations among them, [`helpers`] the steps that further
//!    threads launch for them.
//! 2. [`batches`] numbers the wraps of task numbers, on both sides.
//! 3. [`tasks`] pairs host and device tasks.
//! 4. [`launching`] finds the tasks of collective operations that a device's AI CPU launched.
//! 5. [`counters`] gives device tasks their counters, by [`record_order`] where those carry no times.
//! 6. [`blocks`] finds the blocks of their runs.
//! 7. [`iterations`] finds the inferences in the steps that the device recorded.

mod batches;
mod blocks;
mod call_tree;
mod captured;
mod communication;
mod copies;
mod counters;
mod cursor;
mod described_tasks;
mod generation;
mod helpers;
mod host_tasks;
mod iterations;
mod launching;
mod record_order;
mod steps;
mod tasks;

pub use blocks::{BlocksOfRun, BlocksOfRuns};
pub use communication::{Collective, CollectiveTable, Communication, Step, StepTable};
pub use copies::TrackCopy;
pub use counters::TaskCounters;
pub use host_tasks::{HostTask, HostTaskTable, OpSource};
pub use iterations::{Iteration, IterationTable, Stretch, StretchTable};
pub use launching::LaunchedTasks;
pub use tasks::Matches;

use std::collections::BTreeMap;

pub(crate) use crate::join::copies::{are_tracked, copies_of};

use crate::data::{Data, Device};
use crate::join::captured::Captured;
use crate::join::generation::Generation;
use crate::parallel;
use crate::tables::{DeviceTables, HostTables, HostTaskRow, NO_CONTEXT, NO_MODEL};
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Losses, NumberSet};

/// A profile whose host and device sides were brought together.
#[derive(Debug)]
pub struct Joined {
    /// The native tables. The batches of host and device tasks are filled in.
    pub data: Data,
    /// Tasks that the host handed to devices, by thread and time.
    pub host_tasks: HostTaskTable,
    /// The collective operations that the host launched.
    pub communication: Communication,
    /// For each note on a fused operator the model that it belongs to.
    pub fusion_models: Vec<u64>,
    /// The joined devices, by device number.
    pub devices: BTreeMap<u32, JoinedDevice>,
    /// Records that didn't fit together.
    pub losses: Losses,
}

/// The relations between the tables of one device and the host's.
#[derive(Debug, Default)]
pub struct JoinedDevice {
    /// Which host task each device task belongs to.
    pub matches: Matches,
    /// Which counters each device task has.
    pub counters: TaskCounters,
    /// The inferences, in the order of their ends.
    pub iterations: IterationTable,
    /// When gradients were reduced over all devices, by inference.
    pub reduces: StretchTable,
    /// When data for a training was fetched, by inference.
    pub fetches: StretchTable,
    /// The tasks that the AI CPU launched for collective operations.
    pub launched: LaunchedTasks,
    /// The blocks of runs of tasks.
    pub blocks: BlocksOfRuns,
    /// Copies that the device's table of tasks doesn't have.
    pub copies: Vec<TrackCopy>,
    /// The tasks of which parts were executed as sub-tasks.
    divided: NumberSet<TaskNumber>,
}

/// A task's stream, its number there, and how often numbers had wrapped.
type TaskNumber = (u16, u32, u16);

fn task_number(tables: &DeviceTables, task: usize) -> TaskNumber {
    let tasks = &tables.tasks;
    (tasks.stream()[task], tasks.task()[task], tasks.batch()[task])
}

impl JoinedDevice {
    /// Whether a row of the device's table of tasks is the whole of a task for which its sub-tasks stand.
    pub fn is_divided(&self, tables: &DeviceTables, task: usize) -> bool {
        !self.divided.is_empty()
            && tables.tasks.context()[task] == NO_CONTEXT
            && self.divided.contains(&task_number(tables, task))
    }
}

/// The tasks of which parts were executed as sub-tasks.
fn divided(tables: &DeviceTables) -> NumberSet<TaskNumber> {
    let contexts = tables.tasks.context();
    let parts = (0..contexts.len()).filter(|&task| contexts[task] != NO_CONTEXT);
    parts.map(|task| task_number(tables, task)).collect()
}

/// How many tasks of a device ended before the collection began, which no result shows.
fn tasks_before_begin(device: &Device) -> u64 {
    let Some(begin) = device.metadata.session.begin else { return 0 };
    device.tables.tasks.end().iter().filter(|&&end| device.clock.local(end) < begin).count() as u64
}

/// One device's side while it is being joined.
struct Side<'a> {
    device: &'a mut Device,
    joined: JoinedDevice,
    losses: Losses,
}

impl<'a> Side<'a> {
    /// Does what the device's own tables suffice for.
    fn new(device: &'a mut Device, has_batches: bool, stop: &Stop) -> Self {
        if has_batches {
            batches::of_device(&mut device.tables, stop);
        }
        let found = iterations::iterations(&device.tables.steps);
        let iterations::Iterations { table, reduces, fetches, unmatched } = found;
        let joined = JoinedDevice { iterations: table, reduces, fetches, ..JoinedDevice::default() };
        let mut side = Self { device, joined, losses: Losses::default() };
        side.losses.count(LossKind::UnmatchedEvent, "steps of models", unmatched);
        side.find_copies();
        side.losses.count(LossKind::TimeBeforeStart, "device tasks", tasks_before_begin(side.device));
        side
    }

    /// Finds the counters of the device's tasks.
    fn find_counters(&self, stop: &Stop) -> (TaskCounters, Losses) {
        counters::task_counters(&self.device.tables, stop)
    }

    /// Finds the copies that are no tasks of their own.
    fn find_copies(&mut self) {
        let Device { metadata, clock, tables, .. } = &*self.device;
        let (mut copies, others) = copies::further_copies(tables, metadata.chip());
        let (found, begin) = (copies.len(), metadata.session.begin.unwrap_or(i64::MIN));
        copies.retain(|copy| clock.local(copy.ended) >= begin);
        self.losses.count(LossKind::UnmatchedTask, "states of copies", others);
        self.losses.count(LossKind::TimeBeforeStart, "copies", (found - copies.len()) as u64);
        self.joined.copies = copies;
    }

    /// Finds the tasks for which their sub-tasks stand.
    fn find_divided(&mut self) {
        self.joined.divided = divided(&self.device.tables);
        if self.joined.divided.is_empty() {
            return;
        }
        let (tables, clock) = (&self.device.tables, &self.device.clock);
        let begin = self.device.metadata.session.begin.unwrap_or(i64::MIN);
        let is_shown = |task: &usize| clock.local(tables.tasks.end()[*task]) >= begin;
        let wholes = (0..tables.tasks.len()).filter(|&task| self.joined.is_divided(tables, task));
        self.losses.count(LossKind::DividedTask, "device tasks", wholes.filter(is_shown).count() as u64);
    }

    /// Counts the tasks that nobody is known to have launched.
    fn count_unlaunched(&mut self) {
        let Self { joined, losses, .. } = self;
        let host_of = &joined.matches.host_of;
        let is_unknown = |task: &usize| host_of[*task].is_none();
        let without = (0..host_of.len()).filter(is_unknown).count() as u64;
        let launched = joined.launched.rows().filter(|task| is_unknown(task)).count() as u64;
        let others = joined.matches.ambiguous.saturating_add(launched);
        losses.count(LossKind::DeviceTaskWithoutHost, "device log", without.saturating_sub(others));
    }

    fn take_counters(&mut self, (counters, lost): (TaskCounters, Losses)) {
        self.joined.counters = counters;
        self.losses.merge(lost);
    }
}

impl Joined {
    /// Joins a decoded profile.
    pub fn new(data: Data) -> Self {
        Self::cut_short(data, &Stop::default())
    }

    /// As [`Joined::new`]; nothing where `stop` was wanted.
    pub fn until(data: Data, stop: &Stop) -> Option<Self> {
        let joined = Self::cut_short(data, stop);
        (!stop.is_wanted()).then_some(joined)
    }

    /// Joins a profile as far as it gets before `stop` is wanted: rows may lack what belongs to them then.
    fn cut_short(mut data: Data, stop: &Stop) -> Self {
        let mut losses = Losses::default();
        let chip = data.chip();
        let first = data.devices.values().next();
        let source_metadata = first.map_or(data.profile.metadata(), |device| Some(&device.metadata));
        let counts_wraps = source_metadata.is_some_and(|metadata| metadata.has_batches());
        let generation = Generation::of(chip, data.host.legacy, counts_wraps);
        // The options are those of the whole collection.
        let level0 = data.profile.metadata().is_some_and(|metadata| metadata.sample.level0);
        let (host, devices) = (&mut data.host, &mut data.devices);
        let numbers: Vec<u32> = devices.keys().copied().collect();
        // Much of the host's side is done by one core; the devices' side needn't wait for it.
        let ((host_tasks, fusion_models, communication), mut sides) = parallel::join(
            || {
                if generation.has_host_batches() {
                    batches::of_host(host, stop);
                }
                let captured = Captured::new(host, &mut losses);
                let (host_tasks, fusion_models) = match generation {
                    Generation::Cann5 { .. } => {
                        (described_tasks::host_tasks(host), stated_fusion_models(host, &mut losses))
                    }
                    Generation::Compiled { .. } => (
                        described_tasks::tasks_of_models(host, &numbers),
                        stated_fusion_models(host, &mut losses),
                    ),
                    _ => host_tasks::host_tasks(host, chip, level0, &captured, stop, &mut losses),
                };
                let communication = communication::communication(host, &host_tasks, &captured);
                captured.count_unused(host, &mut losses);
                (host_tasks, fusion_models, communication)
            },
            || {
                let prepare = |device| {
                    let mut side = Side::new(device, generation.has_device_batches(), stop);
                    if !generation.lacks_streams() {
                        side.take_counters(side.find_counters(stop));
                    }
                    side
                };
                devices.values_mut().map(prepare).collect::<Vec<Side<'_>>>()
            },
        );
        for side in stop.within(&mut sides) {
            match generation {
                Generation::WideNumbers | Generation::Cann5 { lacks_streams: true, .. } => {
                    tasks::fill_streams(side.device, &host_tasks);
                }
                Generation::Compiled { .. } => tasks::fill_streams_of_models(side.device, &host_tasks),
                _ => {}
            }
            let lacks_streams = generation.lacks_streams();
            let launched =
                launching::launched_tasks(&mut side.device.tables, lacks_streams, &mut side.losses);
            let identity = generation.task_identity();
            let ((matches, lost), counters) = parallel::join(
                || tasks::matches(&side.device.tables, &host_tasks, side.device.id, identity, stop),
                || generation.lacks_streams().then(|| side.find_counters(stop)),
            );
            counters.into_iter().for_each(|counters| side.take_counters(counters));
            side.joined.blocks = blocks::blocks_of_runs(&side.device.tables, stop, &mut side.losses);
            side.find_divided();
            side.joined.matches = matches;
            side.losses.merge(lost);
            side.joined.launched = launched;
            side.count_unlaunched();
            let host_only = &side.joined.matches.host_only;
            let is_operator = |row: &&HostTaskRow| host_tasks.op()[row.index()] != OpSource::None;
            let operators = host_only.iter().filter(is_operator).count() as u64;
            let others = host_only.len() as u64 - operators;
            side.losses.count(LossKind::OperatorWithoutDevice, generation.host_file(), operators);
            side.losses.count(LossKind::HostTaskWithoutDevice, generation.host_file(), others);
        }
        let mut devices = BTreeMap::new();
        for side in sides {
            losses.merge(side.losses);
            devices.insert(side.device.id, side.joined);
        }
        Self { data, host_tasks, communication, fusion_models, devices, losses }
    }

    /// How many inferences of each model were recorded, by the model's number.
    pub fn inferences(&self) -> BTreeMap<u64, u64> {
        let mut most = BTreeMap::new();
        for device in self.devices.values() {
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for model in device.iterations.model().iter().filter(|model| **model != NO_MODEL) {
                *counts.entry(*model).or_default() += 1;
            }
            for (model, count) in counts {
                let known = most.entry(model).or_insert(count);
                *known = count.max(*known);
            }
        }
        most
    }

    /// The model of which exports show the first iteration alone unless others are chosen, with the number
    /// of those that were recorded: the vendor's tool has it so on some chips. `None` where all is shown.
    pub fn first_iteration_alone(&self) -> Option<(u64, u64)> {
        let (model, recorded) = self.inferences().pop_first()?;
        (!self.data.chip().exports_whole_run()).then_some((model, recorded))
    }

    /// Everything that was dropped or doubted, while decoding and while joining.
    pub fn all_losses(&self) -> Losses {
        let mut all = self.data.losses();
        all.merge(self.losses.clone());
        all
    }
}

/// The model that each note on a fused operator states, in files that state one. Where others lie beside them,
/// nothing tells which note is which, and they count as lost.
fn stated_fusion_models(host: &HostTables, losses: &mut Losses) -> Vec<u64> {
    if host.described_fusion_models.len() == host.fusions.len() {
        return host.described_fusion_models.clone();
    }
    losses.count(LossKind::UnmatchedNote, "additional.fusion_op_info", host.fusions.len() as u64);
    vec![NO_MODEL; host.fusions.len()]
}
