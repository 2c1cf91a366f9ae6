//! `OVERLAP_ANALYSIS`: when each device computed, communicated, and was free.

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use crate::database::output::Output;
use crate::database::schema;
use crate::database::tasks::{Ops, Task};
use crate::export::communication::{Collectives, communicating};
use crate::export::spans::{Spans, outside, union};
use crate::export::view::View;
use crate::tables::NONE;

/// The numbers of what a stretch of time is.
const COMPUTE: i64 = 0;
const COMMUNICATION: i64 = 1;
const COMMUNICATION_ALONE: i64 = 2;
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
    found: &Collectives<'_>,
    out: &mut Output<'_, W>,
) -> io::Result<()> {
    let stretches = stretches(view, tasks, ops, found);
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

/// For each device when it computed, when it communicated, when it did that only, and when it was
/// free.
fn stretches(view: &View<'_>, tasks: &[Task], ops: &Ops, found: &Collectives<'_>) -> Vec<Stretch> {
    let computing = computing(view, ops);
    let mut by_device: BTreeMap<u32, Vec<&Task>> = BTreeMap::new();
    tasks.iter().for_each(|task| by_device.entry(task.place.device).or_default().push(task));
    let mut stretches = Vec::new();
    for (number, tasks) in by_device {
        let device = view.devices[number as usize].device;
        let table = &device.tables.tasks;
        let mut busy: Spans = Vec::new();
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
        let communicating = communicating(found, number);
        for (start, end) in &communicating {
            (first, last) = (first.min(*start), last.max(*end));
        }
        let alone = outside(&communicating, &busy);
        let taken = match communicating.is_empty() {
            true => busy.clone(),
            false => union(busy.iter().chain(&communicating).copied().collect()),
        };
        let free = if first < last { outside(&[(first, last)], &taken) } else { Vec::new() };
        for (spans, kind) in
            [(busy, COMPUTE), (communicating, COMMUNICATION), (alone, COMMUNICATION_ALONE), (free, FREE)]
        {
            let real = spans.into_iter().filter(|(start, end)| start < end);
            stretches.extend(real.map(|(start, end)| (device.id, start, end, kind)));
        }
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
