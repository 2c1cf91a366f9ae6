//! The collective operations whose steps a device's AI CPU launched, put together from its notes.
//!
//! There are two ways. *Unfolded* operations are launched by the host as any other, as one task on the AI CPU that
//! launches the steps; these are further steps of the host's operation. *Fused* operators (MC2) communicate while
//! they compute, by a server on the AI CPU; their operations are known to the device alone.
//!
//! A step belongs to the operation in whose time it ended, in a group that has the step's stream.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use opscope_trace::NumberMap;

use crate::facts::collectives::{Collectives, OperationRun, StepRun, UNKNOWN, numbered_name};
use crate::facts::view::{TaskRef, View};
use crate::join::HostTask;
use crate::kinds::device_name;
use crate::tables::{
    CallRow, CommunicationNote, DeviceOperation, GroupStreams, HostTaskRow, LaunchingTables, NO_CONTEXT,
};

/// The operator that only prepares the AI CPU.
const PREPARATION: &str = "hcomAicpuInit";

/// The kind of a task on the main stream of a fused operator.
const MAIN_KIND: &str = "C_CORE_SQE";

/// The number of a plane that isn't known.
const NO_PLANE: u32 = u32::MAX;

/// A task that the AI CPU launched.
struct Launched {
    place: TaskRef,
    stream: u16,
    start: i64,
    end: i64,
    note: Option<CommunicationNote>,
    /// Whether it is the first of an operation on its main stream.
    is_first: bool,
    is_main: bool,
}

/// An operator on the AI CPU that launches steps.
struct Launcher<'a> {
    host_task: HostTaskRow,
    call: CallRow,
    start: i64,
    end: i64,
    name: String,
    op_type: &'a str,
    model: u64,
    /// Whether it is a host's operation that the AI CPU unfolds.
    unfolded: bool,
    group: Option<u64>,
    operation: Option<DeviceOperation>,
}

/// Adds the operations and steps of all devices.
pub(super) fn add<'a>(view: &'a View<'a>, all: &mut Collectives<'a>) {
    let groups = &view.joined.data.host.group_streams;
    if groups.is_empty() {
        return;
    }
    for number in 0..view.devices.len() as u32 {
        let mut device = OfDevice { view, number, groups: BTreeMap::new(), launch_groups: BTreeMap::new() };
        for group in groups.rows() {
            device.add_group(&group);
        }
        device.add_all(all);
    }
}

/// The groups of ranks on one device.
struct OfDevice<'a> {
    view: &'a View<'a>,
    number: u32,
    /// The streams of each group.
    groups: BTreeMap<u64, BTreeSet<u16>>,
    /// The group for which fused operators launch on a stream.
    launch_groups: BTreeMap<u16, u64>,
}

impl<'a> OfDevice<'a> {
    fn add_group(&mut self, group: &GroupStreams) {
        let used = &group.streams[..(group.count as usize).min(group.streams.len())];
        let streams = used.iter().filter_map(|&stream| u16::try_from(stream).ok());
        self.groups.entry(group.group).or_default().extend(streams);
        if let Ok(stream) = u16::try_from(group.launch_stream) {
            self.launch_groups.insert(stream, group.group);
        }
    }

    fn tables(&self) -> &'a LaunchingTables {
        &self.view.devices[self.number as usize].device.tables.launching
    }

    fn add_all(&self, all: &mut Collectives<'a>) {
        let mut launched = self.launched();
        launched.sort_by_key(|task| (task.end, task.start));
        let launchers = self.launchers(all);
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut of_hosts: HashMap<String, usize> = HashMap::new();
        for (place, whole) in all.operations.iter().enumerate().filter(|(_, of)| of.device == self.number) {
            of_hosts.insert(whole.name.clone(), place);
        }
        for (&group, streams) in &self.groups {
            let mut steps = launched.iter().filter(|task| streams.contains(&task.stream)).peekable();
            let mut planes = Planes::default();
            for launcher in launchers.iter().filter(|launcher| launcher.group == Some(group)) {
                while steps.next_if(|step| step.end < launcher.start).is_some() {}
                let mut operation = None;
                while let Some(step) = steps.next_if(|step| step.end <= launcher.end) {
                    let place = *operation.get_or_insert_with(|| {
                        let known =
                            if launcher.unfolded { of_hosts.get(&launcher.name).copied() } else { None };
                        known.unwrap_or_else(|| {
                            *places.entry(launcher.name.clone()).or_insert_with(|| {
                                all.operations.push(self.operation(launcher, group));
                                all.operations.len() - 1
                            })
                        })
                    });
                    let run = self.step(step, launcher, group, place, &mut planes);
                    let of_host = launcher.unfolded && of_hosts.get(&launcher.name) == Some(&place);
                    self.extend(&mut all.operations[place], &run, launcher, of_host);
                    all.steps.push(run);
                }
            }
        }
    }

    /// The tasks that the AI CPU launched, with their notes; without any notes all tasks on its streams.
    fn launched(&self) -> Vec<Launched> {
        let device = &self.view.devices[self.number as usize];
        let tables = self.tables();
        let of_ends = &device.joined.launched.of_ends;
        let firsts = tables.ends.is_first().iter().zip(of_ends).filter(|(is_first, _)| **is_first);
        let firsts: BTreeSet<u32> = firsts.filter_map(|(_, task)| *task).collect();
        // On chips with wide task numbers that number means another kind.
        let has_main_kind = !device.device.metadata.chip().has_wide_task_ids();
        let new = |task: u32, note: Option<CommunicationNote>| {
            let row = device.device.tables.tasks.row(task as usize);
            Launched {
                place: TaskRef { device: self.number, task },
                stream: row.stream,
                start: device.start(task as usize),
                end: device.end(task as usize),
                note,
                is_first: firsts.contains(&task),
                is_main: has_main_kind && device_name(row.log, row.kind) == MAIN_KIND,
            }
        };
        let is_shown = |task: &u32| device.shows(*task as usize);
        if !tables.steps.is_empty() {
            let of_steps = tables.steps.note().iter().zip(&device.joined.launched.of_steps);
            let found = of_steps.filter_map(|(note, task)| Some(((*task).filter(is_shown)?, *note)));
            return found.map(|(task, note)| new(task, Some(note))).collect();
        }
        let tasks = &device.device.tables.tasks;
        let is_launched = |task: &u32| {
            let stream = tasks.stream()[*task as usize];
            tasks.context()[*task as usize] == NO_CONTEXT
                && self.groups.values().any(|streams| streams.contains(&stream))
        };
        let all = (0..tasks.len() as u32).filter(is_launched).filter(is_shown);
        all.map(|task| new(task, None)).collect()
    }

    /// The operators that launch steps, by their start.
    fn launchers(&self, all: &Collectives<'a>) -> Vec<Launcher<'a>> {
        let view = self.view;
        let mut by_stream: BTreeMap<u16, Vec<(TaskRef, HostTaskRow, HostTask)>> = BTreeMap::new();
        for &place in &view.tasks_of(self.number) {
            let Some(row) = view.host_row(place) else { continue };
            let host = view.joined.host_tasks.row(row.index());
            let stream = view.device(place).device.tables.tasks.stream()[place.task as usize];
            let name = view.text(host.name);
            let launches = name.ends_with("AicpuKernel") || self.launch_groups.contains_key(&stream);
            if launches && name != PREPARATION && view.unit(&host).is_some() && host.call.is_some() {
                by_stream.entry(stream).or_default().push((place, row, host));
            }
        }
        let mut launchers = Vec::new();
        let calls = Calls::of_operations(view, all);
        for (stream, operators) in by_stream {
            self.launchers_on(stream, &operators, &calls, &mut launchers);
        }
        launchers.sort_by_key(|launcher| launcher.start);
        launchers
    }

    /// The operators of one stream, whose notes come in their order.
    fn launchers_on(
        &self,
        stream: u16,
        operators: &[(TaskRef, HostTaskRow, HostTask)],
        calls: &Calls,
        launchers: &mut Vec<Launcher<'a>>,
    ) {
        let view = self.view;
        let device = &view.devices[self.number as usize];
        let tables = self.tables();
        let notes = tables.operations.rows().filter(|operation| operation.stream == stream);
        let mut notes = notes.peekable();
        let unfolded = notes.peek().is_some();
        let ends = tables.ends.rows().zip(&device.joined.launched.of_ends);
        let ends = ends.filter(|(end, _)| end.launch_stream == stream);
        let mut ends = ends.filter_map(|(end, task)| Some((end, (*task)? as usize))).peekable();
        // Operators are numbered within their group by the calls that launched them, their runs by the task.
        let mut runs: NumberMap<HostTaskRow, u32> = NumberMap::default();
        let mut groups: HashMap<(Option<u64>, bool), (u64, i64)> = HashMap::new();
        for &(place, host_task, host) in operators {
            let tasks = &device.device.tables.tasks;
            let (from, to) = (tasks.start()[place.task as usize], tasks.end()[place.task as usize]);
            while notes.next_if(|note| note.note.time < from).is_some() {}
            let operation = notes.next_if(|note| note.note.time <= to);
            let (mut start, mut end) = (device.time(from), device.time(to));
            while ends.next_if(|(note, _)| note.time < from).is_some() {}
            while let Some((note, task)) = ends.next_if(|(note, _)| note.time <= to) {
                if note.is_first {
                    start = device.start(task);
                }
                end = device.end(task);
            }
            let Some(call) = host.call else { continue };
            let own = if unfolded { calls.around(view, call) } else { None };
            let name = own.map_or(host.name, |call| view.joined.data.host.api.item()[call.index()]);
            let name = view.text(name);
            let group =
                operation.map(|of| of.note.group).or_else(|| self.launch_groups.get(&stream).copied());
            let run = runs.entry(host_task).or_default();
            *run += 1;
            let last = groups.entry((group, name.contains("AicpuKernel"))).or_insert((0, -1));
            if start > device.begin && host.time > last.0 {
                *last = (host.time, last.1 + 1);
            }
            let digits = group.map_or_else(|| UNKNOWN.to_owned(), |group| group.to_string());
            launchers.push(Launcher {
                host_task,
                call: own.unwrap_or(call),
                start,
                end,
                name: numbered_name(name, &digits, last.1, *run),
                op_type: view.op(&host).map_or(UNKNOWN, |op| op.op_type),
                model: host.model,
                unfolded,
                group,
                operation,
            });
        }
    }

    /// A group's name; the lanes of fused operators are apart from those of the host's operations.
    fn group_name(&self, group: u64, launcher: &Launcher<'a>) -> Cow<'a, str> {
        let name = self.view.text(group);
        if launcher.unfolded { name.into() } else { format!("{name} Aicpu").into() }
    }

    fn operation(&self, launcher: &Launcher<'a>, group: u64) -> OperationRun<'a> {
        let note = launcher.operation.map(|operation| operation.note);
        OperationRun {
            name: launcher.name.clone(),
            device: self.number,
            group: self.group_name(group, launcher),
            op_type: launcher.op_type,
            call: launcher.call,
            model: launcher.model,
            note,
            algorithm: note.map_or(UNKNOWN, |note| self.view.text(note.algorithm)),
            rank_size: launcher.operation.map_or(0, |operation| operation.rank_size),
            start: i64::MAX,
            end: i64::MIN,
            has_master: false,
            fused: !launcher.unfolded,
        }
    }

    /// Takes a step into its operation. The host's own steps tell the time of an operation `of_host`, but not
    /// whether it was relayed and repeated.
    fn extend(
        &self,
        whole: &mut OperationRun<'a>,
        run: &StepRun<'a>,
        launcher: &Launcher<'a>,
        of_host: bool,
    ) {
        if let (Some(note), Some(told)) = (&mut whole.note, launcher.operation) {
            (note.relayed, note.retried) = (told.note.relayed, told.note.retried);
        }
        if let Some(note) = run.note.filter(|_| whole.rank_size == 0) {
            whole.rank_size = note.rank_size;
        }
        if !of_host {
            whole.take(run, self.view.devices[self.number as usize].begin);
        }
    }

    fn step(
        &self,
        task: &Launched,
        launcher: &Launcher<'a>,
        group: u64,
        operation: usize,
        planes: &mut Planes,
    ) -> StepRun<'a> {
        let (plane, is_master) = planes.of(task, launcher.unfolded);
        let note = task.note.map(|note| CommunicationNote { plane, ..note });
        StepRun {
            place: task.place,
            host_task: launcher.host_task,
            start: task.start,
            end: task.end,
            note,
            name: note.map_or(UNKNOWN, |note| self.view.text(note.name)),
            group: self.group_name(group, launcher),
            is_master,
            operation,
            bandwidth: 0.0,
        }
    }
}

/// The calls of the host's operations: of each thread begins and ends, by begin.
#[derive(Default)]
struct Calls(NumberMap<u32, Vec<(u64, u64, CallRow)>>);

impl Calls {
    fn of_operations(view: &View<'_>, all: &Collectives<'_>) -> Self {
        let mut calls: NumberMap<u32, Vec<(u64, u64, CallRow)>> = NumberMap::default();
        for row in all.operations.iter().map(|operation| operation.call) {
            let call = view.joined.data.host.api.row(row.index());
            calls.entry(call.thread).or_default().push((call.begin, call.end, row));
        }
        calls.values_mut().for_each(|calls| {
            calls.sort_unstable();
            calls.dedup();
        });
        Self(calls)
    }

    /// The last call of an operation that began before another one of its thread, if it contains that.
    fn around(&self, view: &View<'_>, inner: CallRow) -> Option<CallRow> {
        let inner = view.joined.data.host.api.row(inner.index());
        let calls = self.0.get(&inner.thread)?;
        let begun = calls.partition_point(|(begin, ..)| *begin <= inner.begin);
        let (_, end, row) = calls[..begun].last()?;
        (inner.end <= *end).then_some(*row)
    }
}

/// The planes of a group's streams, numbered as they come; the main stream has the first.
#[derive(Default)]
struct Planes {
    main: Option<u16>,
    of_streams: BTreeMap<u16, u32>,
}

impl Planes {
    /// A step's plane, and whether its time is the operation's. The host's own steps of unfolded operations have
    /// the first plane there, and the first task of the main stream waits, and so says nothing of the time.
    fn of(&mut self, task: &Launched, unfolded: bool) -> (u32, bool) {
        let is_end = task.is_main || task.is_first;
        if is_end {
            self.main = Some(task.stream);
        }
        let is_master = if is_end { !unfolded } else { self.main == Some(task.stream) };
        if task.note.is_none() {
            return (NO_PLANE, is_master);
        }
        let first = u32::from(unfolded);
        if is_master || task.is_first {
            return (first, is_master);
        }
        let next = self.of_streams.len() as u32 + 1;
        (first + *self.of_streams.entry(task.stream).or_insert(next), is_master)
    }
}
