//! `OVERLAP_ANALYSIS`: when each device computed and when it was free.

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use crate::database::output::Output;
use crate::database::schema;
use crate::database::tasks::{Ops, Task};
use crate::export::view::View;
use crate::tables::NONE;

/// The numbers of what a stretch of time is.
const COMPUTE: i64 = 0;
const FREE: i64 = 3;

/// Kinds of tasks that don't count for when a device's work begins and ends, unless they compute.
const NOT_WORK: [&str; 7] = [
    "KERNEL_AICORE",
    "KERNEL_AIVEC",
    "FFTS_PLUS",
    "KERNEL_MIX_AIC",
    "KERNEL_MIX_AIV",
    "PROFILING_ENABLE",
    "PROFILING_DISABLE",
];

/// A stretch of time: the device, begin, end and what it is.
type Stretch = (u32, i64, i64, i64);

/// Writes the table.
pub(super) fn write<W: Write + Seek>(
    view: &View<'_>,
    tasks: &[Task],
    ops: &Ops,
    out: &mut Output<'_, W>,
) -> io::Result<()> {
    let stretches = stretches(view, tasks, ops);
    if stretches.is_empty() {
        return Ok(());
    }
    out.table(&schema::OVERLAP_ANALYSIS, stretches.len(), |index, row| {
        let (device, start, end, kind) = stretches[index];
        row.key(index as i64);
        row.integer(i64::from(device));
        row.integer(start);
        row.integer(end);
        row.integer(kind);
    })
}

/// For each device when it computed, then when it was free.
fn stretches(view: &View<'_>, tasks: &[Task], ops: &Ops) -> Vec<Stretch> {
    let computing = computing(view, ops);
    let mut by_device: BTreeMap<u32, Vec<&Task>> = BTreeMap::new();
    tasks.iter().for_each(|task| by_device.entry(task.place.device).or_default().push(task));
    let mut stretches = Vec::new();
    for (number, tasks) in by_device {
        let device = view.devices[number as usize].device;
        let table = &device.tables.tasks;
        let mut busy: Vec<(i64, i64)> = Vec::new();
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for task in tasks {
            let row = task.place.task as usize;
            let (start, end) = (device.clock.local(table.start()[row]), device.clock.local(table.end()[row]));
            let computes = computing.get(task.id as usize).copied().unwrap_or(false);
            if computes || is_work(view, task) {
                (first, last) = (first.min(start), last.max(end));
            }
            if !computes {
                continue;
            }
            match busy.last_mut().filter(|busy| start <= busy.1) {
                Some(busy) => busy.1 = busy.1.max(end),
                None => busy.push((start, end)),
            }
        }
        let stretch = |start, end, kind| (start < end).then_some((device.id, start, end, kind));
        stretches.extend(busy.iter().filter_map(|(start, end)| stretch(*start, *end, COMPUTE)));
        let ends = std::iter::once(first).chain(busy.iter().map(|(_, end)| *end));
        let starts = busy.iter().map(|(start, _)| *start).chain(std::iter::once(last));
        stretches.extend(ends.zip(starts).filter_map(|(end, start)| stretch(end, start, FREE)));
    }
    stretches
}

/// Which tasks compute, by their number.
fn computing(view: &View<'_>, ops: &Ops) -> Vec<bool> {
    let mut computing = vec![false; ops.computing.last().map_or(0, |(id, _)| *id as usize + 1)];
    for (id, row) in &ops.computing {
        let name = view.joined.host_tasks.name()[*row as usize];
        computing[*id as usize] = !view.text(name).ends_with("AivKernel");
    }
    computing
}

/// Whether a task counts for when its device's work begins and ends.
fn is_work(view: &View<'_>, task: &Task) -> bool {
    match view.device(task.place).joined.matches.host_of[task.place.task as usize] {
        NONE => true,
        host => !NOT_WORK.contains(&view.kind_name(view.joined.host_tasks.kind()[host as usize])),
    }
}
