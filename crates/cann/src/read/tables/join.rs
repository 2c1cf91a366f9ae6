//! Joining a timeline with the table of the same run: the timeline has the calls, the table the
//! operators' types and shapes.

use std::collections::{HashMap, HashSet};

use opscope_formats::reading::Stop;
use opscope_trace::{
    Device, DeviceKind, ExecutionUnit, IterationId, LossKind, Nanoseconds, NumberMap, OperatorTable, Places,
    StreamId, StringId, Task, TaskId, Trace,
};

use super::kernels::{Entry, Kernel, Kernels};

/// By how much the starts of one task may differ between two files, which round differently.
const TOLERANCE: Nanoseconds = Nanoseconds(500);

/// Completes the tasks of a timeline by what a table tells about them, and adds those that the
/// timeline lacks, until `stop` is wanted.
pub(in crate::read) fn add_table(trace: &mut Trace, kernels: &Kernels, stop: &Stop) {
    let zero = Nanoseconds(trace.clock.unix_zero.unwrap_or(0));
    let mut tasks = TasksByName::new(trace);
    if let Some(device) = kernels.only_device().filter(|_| tasks.has_any(trace, kernels, zero)) {
        set_device(trace, device);
    }
    let mut entry = Entry::with(Places::of(trace));
    let steps =
        if trace.iterations.is_empty() { kernels.iterations(trace, zero) } else { Default::default() };
    let devices = CommonDevices::of(trace, kernels);
    let mut numbered: NumberMap<u32, IterationId> = NumberMap::default();
    for (id, iteration) in trace.iterations.iter() {
        numbered.entry(iteration.number).or_insert(id);
    }
    let mut added = 0;
    for kernel in stop.within(&kernels.rows) {
        let told = entry.task(trace, &kernels.texts, kernel, zero);
        let device = devices.number(kernels, kernel);
        let iteration = steps.get(&super::kernels::step_of(kernel)).copied();
        let iteration = iteration.or_else(|| numbered.get(&kernel.step?).copied());
        let task = match tasks.take(trace, told.name, told.start, told.stream, device) {
            Some(id) => {
                let known = trace.tasks.get(id);
                // The kind in the table is the finer one; a device's word is kept where it has none.
                let unit = if told.unit == ExecutionUnit::Other { known.unit } else { told.unit };
                let iteration = known.iteration.or(iteration);
                let Task { stream, launched_by, .. } = known;
                let (number, operator) = (told.number.or(known.number), told.operator.or(known.operator));
                let completed = Task { number, operator, stream, launched_by, iteration, unit, ..told };
                trace.tasks.set(id, completed);
                id
            }
            None => {
                added += 1;
                let stream = entry.stream_of(trace, kernels, kernel, &told);
                trace.tasks.push(Task { iteration, stream, ..told })
            }
        };
        kernels.enter_reading(trace, &mut entry, task, kernel);
    }
    entry.part_streamless(trace);
    kernels.name_models(trace);
    drop_unused_operators(trace);
    kernels.losses.report(trace);
    trace.count_loss(LossKind::AddedTask, added, "");
}

/// The tasks of a trace that are still to be found, by name and start.
pub(super) struct TasksByName {
    tasks: HashMap<StringId, Vec<(Nanoseconds, TaskId)>>,
    taken: Vec<bool>,
}

impl TasksByName {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut tasks: HashMap<StringId, Vec<(Nanoseconds, TaskId)>> = HashMap::new();
        for (id, task) in trace.tasks.iter() {
            tasks.entry(task.name).or_default().push((task.start, id));
        }
        tasks.values_mut().for_each(|tasks| tasks.sort_unstable());
        Self { tasks, taken: vec![false; trace.tasks.len()] }
    }

    /// Whether any row of the tables has a task.
    fn has_any(&self, trace: &mut Trace, kernels: &Kernels, zero: Nanoseconds) -> bool {
        kernels.rows.iter().any(|kernel| {
            let name = trace.strings.intern(kernels.texts.get(kernel.name));
            self.near(name, kernel.start - zero).next().is_some()
        })
    }

    /// The tasks of a name that start at about a time.
    fn near(&self, name: StringId, at: Nanoseconds) -> impl Iterator<Item = (Nanoseconds, TaskId)> + '_ {
        let tasks = self.tasks.get(&name).map_or(&[][..], Vec::as_slice);
        let first = tasks.partition_point(|&(start, _)| start < at - TOLERANCE);
        tasks[first..].iter().copied().take_while(move |(start, _)| *start <= at + TOLERANCE)
    }

    /// The task of a name that starts at a time, on the device if there is one, and on the stream if there are
    /// several; it isn't given twice.
    pub(super) fn take(
        &mut self,
        trace: &Trace,
        name: StringId,
        at: Nanoseconds,
        stream: Option<StreamId>,
        device: Option<u32>,
    ) -> Option<TaskId> {
        let is_there = |id: TaskId| {
            device.is_none_or(|device| device_of(trace, id).is_none_or(|number| number == device))
        };
        let free = self.near(name, at).filter(|(_, id)| !self.taken[id.index()] && is_there(*id));
        let best = free.min_by_key(|&(start, id)| {
            let elsewhere = stream.is_some() && trace.tasks.stream()[id.index()] != stream;
            (elsewhere, (start - at).0.unsigned_abs())
        });
        let (_, id) = best?;
        self.taken[id.index()] = true;
        Some(id)
    }
}

/// Whether tables and a trace mean the same devices by their numbers. A timeline may not tell them, and its only
/// device then has the first number; but where one number is in both, rows of another are of another device, at
/// which equal operators may run at the same time.
pub(super) struct CommonDevices(bool);

impl CommonDevices {
    pub(super) fn of(trace: &Trace, kernels: &Kernels) -> Self {
        let known: HashSet<u32> = trace.tasks.ids().filter_map(|id| device_of(trace, id)).collect();
        let named = kernels.rows.iter().filter(|row| kernels.names_device(row));
        Self(named.map(|row| row.device).any(|device| known.contains(&device)))
    }

    /// The number of the device on which the task of a row is; nothing where it may be on any.
    pub(super) fn number(&self, kernels: &Kernels, row: &Kernel) -> Option<u32> {
        (self.0 && kernels.names_device(row)).then_some(row.device)
    }
}

/// Gives the only device of a timeline that doesn't tell its number the one that something else tells.
pub(in crate::read) fn set_device(trace: &mut Trace, device: u32) {
    let npus: Vec<_> = trace.devices.iter().filter(|(_, row)| row.kind == DeviceKind::Npu).collect();
    if let [(id, row)] = npus[..]
        && row.number == 0
    {
        trace.devices.set(id, Device { number: device, ..row });
    }
}

/// The number of the device that a task is on.
fn device_of(trace: &Trace, task: TaskId) -> Option<u32> {
    let stream = trace.tasks.stream()[task.index()]?;
    let device = trace.streams.device()[stream.index()];
    Some(trace.devices.number()[device.index()])
}

/// Drops the operators that only the timeline's names stood for.
fn drop_unused_operators(trace: &mut Trace) {
    let mut kept = vec![None; trace.operators.len()];
    for operator in trace.tasks.operator().iter().flatten() {
        kept[operator.index()] = Some(*operator);
    }
    let mut operators = OperatorTable::default();
    for operator in kept.iter_mut().flatten() {
        *operator = operators.push(trace.operators.get(*operator));
    }
    for id in trace.tasks.ids() {
        let task = trace.tasks.get(id);
        if let Some(operator) = task.operator {
            trace.tasks.set(id, Task { operator: kept[operator.index()], ..task });
        }
    }
    trace.operators = operators;
}
