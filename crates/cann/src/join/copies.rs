//! Copies whose states the task scheduler tracked.

use std::collections::HashMap;

use opscope_cann_raw::{Chip, DeviceLog};

use crate::clock::Clock;
use crate::tables::{DeviceTables, TrackMemcpy};
use opscope_trace::NumberSet;

/// A copy; its times are device ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackCopy {
    /// The stream.
    pub stream: u16,
    /// The task's number on its stream.
    pub task: u16,
    /// When the task scheduler received it.
    pub received: u64,
    /// Its start.
    pub started: u64,
    /// Its end.
    pub ended: u64,
}

impl TrackCopy {
    /// How many microseconds it took.
    pub(crate) fn duration(&self, clock: &Clock) -> f64 {
        clock.monotonic_micros_f64(self.ended) - clock.monotonic_micros_f64(self.started)
    }

    /// How many microseconds passed between its reception and its start.
    pub(crate) fn waiting(&self, clock: &Clock) -> f64 {
        clock.monotonic_micros_f64(self.started) - clock.monotonic_micros_f64(self.received)
    }
}

/// How far a copy has come.
#[derive(Clone, Copy, Default)]
enum Progress {
    #[default]
    None,
    Received(u64),
    Started(u64, u64),
}

/// Whether the task scheduler of a chip tracks copies.
pub(crate) fn are_tracked(chip: Chip) -> bool {
    matches!(chip.device_log(), DeviceLog::TaskScheduler | DeviceLog::Hwts) || chip == Chip::V4_1_0
}

/// The copies of a device for which no row in its table of tasks stands, and how many states are of no whole
/// copy.
pub(super) fn further_copies(tables: &DeviceTables, chip: Chip) -> (Vec<TrackCopy>, u64) {
    if tables.memcpys.is_empty() || !are_tracked(chip) {
        return (Vec::new(), 0);
    }
    let (mut copies, others) = copies_of(tables.memcpys.rows().collect());
    let numbers = tables.tasks.stream().iter().copied().zip(tables.tasks.task().iter().copied());
    let numbers: NumberSet<(u16, u32)> = numbers.collect();
    copies.retain(|copy| !numbers.contains(&(copy.stream, u32::from(copy.task))));
    (copies, others)
}

/// The copies of which every state was tracked, by task in the order of first states, and how many states
/// belong to none.
pub(crate) fn copies_of(mut states: Vec<TrackMemcpy>) -> (Vec<TrackCopy>, u64) {
    const STATES: u64 = 3;
    const RECEIVED: u8 = 0;
    const STARTED: u8 = 1;
    const ENDED: u8 = 2;
    let count = states.len() as u64;
    states.sort_by_key(|state| state.time);
    let mut places: HashMap<(u16, u16), usize> = HashMap::new();
    let mut of_tasks: Vec<(Progress, Vec<TrackCopy>)> = Vec::new();
    for state in states {
        let place = *places.entry((state.stream, state.task)).or_insert(of_tasks.len());
        if place == of_tasks.len() {
            of_tasks.push((Progress::None, Vec::new()));
        }
        let (progress, copies) = &mut of_tasks[place];
        match (*progress, state.state) {
            (Progress::None | Progress::Started(..), RECEIVED) => *progress = Progress::Received(state.time),
            (Progress::Received(received), STARTED) => *progress = Progress::Started(received, state.time),
            (Progress::Received(_), ENDED) => *progress = Progress::None,
            (Progress::Started(received, started), ENDED) => {
                let (stream, task) = (state.stream, state.task);
                copies.push(TrackCopy { stream, task, received, started, ended: state.time });
                *progress = Progress::None;
            }
            // Repeated states, those that follow nothing, and unknown ones.
            _ => {}
        }
    }
    let copies: Vec<TrackCopy> = of_tasks.into_iter().flat_map(|(_, copies)| copies).collect();
    let others = count - STATES * copies.len() as u64;
    (copies, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Task, reception, start and end of each copy in states: task, state and time.
    fn found(states: &[(u16, u8, u64)]) -> Vec<(u16, u64, u64, u64)> {
        let state = |&(task, state, time): &(u16, u8, u64)| TrackMemcpy { time, stream: 1, task, state };
        let (copies, others) = copies_of(states.iter().map(state).collect());
        assert_eq!(states.len() as u64, 3 * copies.len() as u64 + others);
        copies.iter().map(|copy| (copy.task, copy.received, copy.started, copy.ended)).collect()
    }

    #[test]
    fn copies_are_in_order_of_tasks_even_where_they_ran_by_turns() {
        let states = [(7, 0, 1), (3, 0, 2), (7, 1, 3), (3, 1, 4), (3, 2, 5), (7, 2, 6)];
        assert_eq!(found(&states), [(7, 1, 3, 6), (3, 2, 4, 5)]);
    }

    #[test]
    fn a_repeated_state_counts_the_first_time() {
        let states = [(1, 0, 1), (1, 0, 2), (1, 1, 3), (1, 1, 4), (1, 2, 5), (1, 2, 6)];
        assert_eq!(found(&states), [(1, 1, 3, 5)]);
    }

    #[test]
    fn a_copy_without_one_of_its_states_is_left_out() {
        let (no_start, no_reception) = ([(1, 0, 1), (1, 2, 2)], [(1, 1, 3), (1, 2, 4)]);
        let (no_end, whole) = ([(1, 0, 5), (1, 1, 6)], [(1, 0, 7), (1, 1, 8), (1, 2, 9)]);
        assert_eq!(found(&[no_start, no_reception, no_end].concat()), []);
        assert_eq!(found(&[&no_end[..], &whole].concat()), [(1, 7, 8, 9)]);
    }
}
