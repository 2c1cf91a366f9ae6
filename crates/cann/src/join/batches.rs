//! Numbers the wraps of task numbers.
//!
//! A task's number has 16 bits and starts again when they are used up; a record called *flip*
//! tells when. Tasks of one stream after the first flip are batch 1, and so on.

use crate::tables::{DeviceTables, HostTables};
use opscope_formats::reading::Stop;
use opscope_trace::NumberMap;

/// The number of a flip that only says that its stream was destroyed.
pub(super) const DESTROYED: u16 = u16::MAX;

/// A wrap of the task numbers of one stream.
#[derive(Clone, Copy, Debug)]
struct Flip {
    time: u64,
    task: u32,
    number: u16,
}

/// Fills in the batches of the host's tasks.
pub(super) fn of_host(host: &mut HostTables, stop: &Stop) {
    let mut flips: NumberMap<u32, Vec<Flip>> = NumberMap::default();
    for row in host.flips.rows() {
        let key = u32::from(row.device) << 16 | u32::from(row.stream);
        let flip = Flip { time: row.time, task: u32::from(row.task), number: row.number };
        flips.entry(key).or_default().push(flip);
    }
    let tracks = &host.task_tracks;
    let key = |i: usize| u32::from(tracks.device()[i]) << 16 | u32::from(tracks.stream()[i]);
    let batches = assign(tracks.len(), key, tracks.time(), tracks.task(), &flips, stop);
    host.task_tracks.set_batches(batches);
}

/// Fills in the batches of a device's tasks, which are in the order of their start.
pub(super) fn of_device(device: &mut DeviceTables, stop: &Stop) {
    let mut flips: NumberMap<u32, Vec<Flip>> = NumberMap::default();
    for row in device.flips.rows() {
        let flip = Flip { time: row.time, task: u32::from(row.task), number: row.number };
        flips.entry(u32::from(row.stream)).or_default().push(flip);
    }
    if flips.is_empty() {
        return;
    }
    let tasks = &device.tasks;
    let key = |i: usize| u32::from(tasks.stream()[i]);
    let batches = assign(tasks.len(), key, tasks.start(), tasks.task(), &flips, stop);
    device.tasks.set_batches(batches);
}

/// The batch of each of `count` tasks; `key` tells a task's stream.
fn assign(
    count: usize,
    key: impl Fn(usize) -> u32,
    times: &[u64],
    tasks: &[u32],
    flips: &NumberMap<u32, Vec<Flip>>,
    stop: &Stop,
) -> Vec<u16> {
    let mut batches = vec![0; count];
    let mut by_stream: NumberMap<u32, Vec<u32>> = NumberMap::default();
    for row in stop.within(0..count) {
        if flips.contains_key(&key(row)) {
            by_stream.entry(key(row)).or_default().push(row as u32);
        }
    }
    for (stream, mut rows) in by_stream {
        if !rows.is_sorted_by_key(|&row| times[row as usize]) {
            rows.sort_by_key(|&row| times[row as usize]);
        }
        let flips = flips.get(&stream).map_or(&[][..], Vec::as_slice);
        let mut batch: u16 = 0;
        let mut next = 0;
        for (position, &row) in stop.within(&rows).enumerate() {
            while let Some(flip) = flips.get(next).filter(|flip| flip.time < times[row as usize]) {
                next += 1;
                batch = batch.saturating_add(1);
                take_back(&rows[..position], tasks, flip, batch, &mut batches);
            }
            batches[row as usize] = batch;
        }
    }
    batches
}

/// Threads that launch at the same time may get numbers of the new batch before the flip is
/// recorded: tasks just before it whose number is below the flip's belong to the new batch.
fn take_back(before: &[u32], tasks: &[u32], flip: &Flip, batch: u16, batches: &mut [u16]) {
    if flip.number == DESTROYED {
        return;
    }
    for &row in before.iter().rev().take_while(|&&row| tasks[row as usize] < flip.task) {
        batches[row as usize] = batch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches_of(times: &[u64], tasks: &[u32], flips: Vec<Flip>) -> Vec<u16> {
        let map = [(0, flips)].into_iter().collect();
        assign(times.len(), |_| 0, times, tasks, &map, &Stop::default())
    }

    #[test]
    fn tasks_after_a_flip_belong_to_the_next_batch() {
        let flips = vec![Flip { time: 20, task: 0, number: 1 }, Flip { time: 40, task: 0, number: 2 }];
        assert_eq!(batches_of(&[10, 20, 21, 39, 41], &[1, 2, 0, 1, 0], flips), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn a_flip_that_came_late_takes_back_the_tasks_that_are_already_renumbered() {
        let flips = vec![Flip { time: 40, task: 2, number: 1 }];
        assert_eq!(batches_of(&[10, 20, 30, 50], &[9, 0, 1, 3], flips), [0, 1, 1, 1]);
    }

    #[test]
    fn a_destroyed_stream_counts_but_takes_nothing_back() {
        let flips = vec![Flip { time: 40, task: 9, number: DESTROYED }];
        assert_eq!(batches_of(&[10, 50], &[1, 1], flips), [0, 1]);
    }
}
