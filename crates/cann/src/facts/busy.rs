//! When each device computed, communicated, did that only, and was free.

use crate::columns::made_in_parts;
use crate::facts::collectives::{Collectives, communicating};
use crate::facts::spans::{Spans, outside, union};
use crate::facts::view::{DeviceView, TaskRef, View};
use crate::kinds::RuntimeKind;

/// Kinds of tasks that don't count for when a device's work begins and ends, unless they compute.
const NOT_WORK: [RuntimeKind; 6] = [
    RuntimeKind::AiCore,
    RuntimeKind::AiVectorCore,
    RuntimeKind::FftsPlus,
    RuntimeKind::MixAic,
    RuntimeKind::MixAiv,
    RuntimeKind::Profiling,
];

/// The work of a device, as stretches of wall-clock time.
pub(crate) struct Busy {
    /// The device's place in the view.
    pub(crate) device: u32,
    pub(crate) computing: Spans,
    pub(crate) communicating: Spans,
    /// When it communicated and didn't compute.
    pub(crate) alone: Spans,
    /// When it did neither, between the first and the last of its work.
    pub(crate) free: Spans,
}

/// The wall-clock time of a device's counter value.
pub(crate) type TimeOf = fn(&DeviceView<'_>, u64) -> i64;

/// The work of each device that has shown tasks.
pub(crate) fn busy(view: &View<'_>, found: &Collectives<'_>, time: TimeOf) -> Vec<Busy> {
    let tasks = view.tasks();
    let of_devices = tasks.chunk_by(|a, b| a.device == b.device);
    of_devices.map(|of_device| of_one(view, of_device, found, time)).collect()
}

fn of_one(view: &View<'_>, tasks: &[TaskRef], found: &Collectives<'_>, time: TimeOf) -> Busy {
    let number = tasks[0].device;
    let device = view.device(tasks[0]);
    let table = &device.device.tables.tasks;
    let span = |task: &TaskRef| {
        (time(device, table.start()[task.task as usize]), time(device, table.end()[task.task as usize]))
    };
    let computing = made_in_parts(tasks.len(), |places, spans| {
        spans.extend(tasks[places].iter().filter(|task| computes(view, **task)).map(span));
    });
    // Of each part of the other work the first begin and the last end.
    let other: Spans = made_in_parts(tasks.len(), |places, ends| {
        let others = tasks[places].iter().filter(|task| is_other_work(view, **task)).map(span);
        ends.extend(others.reduce(|all, next| (all.0.min(next.0), all.1.max(next.1))));
    });
    let computing = union(computing);
    let communicating = communicating(found, number);
    let ends = computing.iter().chain(&communicating).chain(&other).copied();
    let (first, last) =
        ends.fold((i64::MAX, i64::MIN), |(first, last), (start, end)| (first.min(start), last.max(end)));
    let alone = outside(&communicating, &computing);
    let taken = match communicating.is_empty() {
        true => &computing,
        false => &union(computing.iter().chain(&communicating).copied().collect()),
    };
    let free = if first < last { outside(&[(first, last)], taken) } else { Spans::new() };
    let mut busy = Busy { device: number, computing, communicating, alone, free };
    for spans in [&mut busy.computing, &mut busy.communicating, &mut busy.alone, &mut busy.free] {
        spans.retain(|(start, end)| start < end);
    }
    busy
}

/// Whether a task that doesn't compute counts for when its device's work begins and ends.
fn is_other_work(view: &View<'_>, task: TaskRef) -> bool {
    view.host_task(task).is_none_or(|host| !NOT_WORK.contains(&view.kind(host.kind)))
}

/// Whether a task is an operator that computes; those that only serve collective ones don't.
fn computes(view: &View<'_>, task: TaskRef) -> bool {
    let Some(host) = view.host_task(task).filter(|host| view.unit(host).is_some()) else { return false };
    !view.only_launches(&host) && !view.text(host.name).ends_with("AivKernel")
}
