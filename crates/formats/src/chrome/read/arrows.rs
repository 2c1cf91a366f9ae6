//! Arrows between slices: those from a call to a task tell what launched it.

use std::cmp::Reverse;
use std::collections::HashMap;

use opscope_trace::{ApiCall, ApiCallId, ApiLevel, LaunchSite, LossKind, NumberMap, Task, TaskId, Trace};

use super::builder::Builder;
use super::chunk::{ArrowEnd, Chunk, Slice};
use super::lanes::{LaneId, Lanes};
use crate::reading::Row;

/// Follows all arrows; `rows` are the rows made of the slices of every chunk.
pub(super) fn follow<'a>(
    builder: &mut Builder<'a>,
    chunks: &[Chunk<'a>],
    lanes: &Lanes<'a>,
    rows: &[Vec<Row>],
) {
    if chunks.iter().all(|chunk| chunk.arrows.is_empty()) {
        return;
    }
    let slices = LaneSlices::new(chunks, lanes, rows);
    let mut calls = Calls::default();
    let mut tasks: Vec<(u64, i64, TaskId)> = Vec::new();
    let (mut begins, mut ends, mut loose) = (0u64, 0u64, 0u64);
    for (index, chunk) in chunks.iter().enumerate() {
        for end in &chunk.arrows {
            let row = match end.behind {
                Some(slice) => rows[index][slice as usize],
                None => slices.tied_to(lanes.of_chunks[index][end.lane.0 as usize], end),
            };
            if end.begins {
                begins += 1;
                if let Row::Call(call) = row {
                    calls.push(end.id, end.time, call);
                }
            } else {
                ends += 1;
                match row {
                    Row::Task(task) => tasks.push((end.id, end.time, task)),
                    Row::Call(_) | Row::Other => loose += 1,
                }
            }
        }
    }
    calls.sort();
    let mut sites: NumberMap<u32, ApiCallId> = NumberMap::default();
    for (id, time, task) in tasks {
        let call = calls.find(id, time);
        match (call, builder.trace.tasks.launched_by()[task.index()]) {
            (Some(_), None) => {
                let row = builder.trace.tasks.get(task);
                builder.trace.tasks.set(task, Task { launched_by: call, ..row });
            }
            // The numbers of the launch said the same, perhaps about the call around this one.
            (Some(call), Some(known)) if call == known || encloses(&builder.trace, known, call) => {}
            // A framework's call that asked for the task, and another thread's that launched it.
            (Some(call), Some(known)) => match [call, known].map(|it| is_of_framework(&builder.trace, it)) {
                [true, false] => drop(sites.insert(task.index() as u32, call)),
                [false, true] => {
                    let row = builder.trace.tasks.get(task);
                    builder.trace.tasks.set(task, Task { launched_by: Some(call), ..row });
                    sites.insert(task.index() as u32, known);
                }
                _ => loose += 1,
            },
            _ => loose += 1,
        }
    }
    let mut sites: Vec<(u32, ApiCallId)> = sites.into_iter().collect();
    sites.sort_unstable();
    for (task, call) in sites {
        let task = TaskId::from_index(task as usize);
        builder.trace.launch_sites.push(LaunchSite { task, call, stack: None });
    }
    // Arrows of which only the beginnings were written lead nowhere either.
    loose += begins.saturating_sub(ends);
    builder.problems.count_all(LossKind::ArrowWithoutLaunch, loose);
}

/// The calls from which arrows lead, by their ids.
#[derive(Default)]
struct Calls {
    calls: Vec<(u64, i64, ApiCallId)>,
    by_id: NumberMap<u64, u32>,
    /// Whether an id was used more than once.
    is_ambiguous: bool,
}

impl Calls {
    fn push(&mut self, id: u64, time: i64, call: ApiCallId) {
        self.is_ambiguous |= self.by_id.insert(id, self.calls.len() as u32).is_some();
        self.calls.push((id, time, call));
    }

    /// Gets ready for finding calls among others of the same id.
    fn sort(&mut self) {
        if self.is_ambiguous {
            self.calls.sort_unstable();
        }
    }

    /// The last call of an id that began before `time`: ids may be used again.
    fn find(&self, id: u64, time: i64) -> Option<ApiCallId> {
        let index = if self.is_ambiguous {
            self.calls.partition_point(|&(other, begin, _)| (other, begin) <= (id, time)).checked_sub(1)?
        } else {
            *self.by_id.get(&id)? as usize
        };
        let &(found, begin, call) = self.calls.get(index)?;
        (found == id && begin <= time).then_some(call)
    }
}

fn is_of_framework(trace: &Trace, call: ApiCallId) -> bool {
    trace.api_calls.level()[call.index()] == ApiLevel::Framework
}

/// Whether a call is, or lies within, another one.
fn encloses(trace: &Trace, around: ApiCallId, call: ApiCallId) -> bool {
    let (around, call) = (trace.api_calls.get(around), trace.api_calls.get(call));
    let end = |call: &ApiCall| call.start + call.duration;
    around.thread == call.thread && around.start <= call.start && end(&call) <= end(&around)
}

/// The slices of those lanes to or from which arrows lead, for finding the one around a moment.
struct LaneSlices {
    /// Start, end and row, by start; of those that start at once the longest first.
    of_lane: HashMap<LaneId, Vec<(i64, i64, Row)>>,
}

impl LaneSlices {
    fn new(chunks: &[Chunk<'_>], lanes: &Lanes<'_>, rows: &[Vec<Row>]) -> Self {
        let mut of_lane: HashMap<LaneId, Vec<(i64, i64, Row)>> = HashMap::new();
        for (index, chunk) in chunks.iter().enumerate() {
            for end in chunk.arrows.iter().filter(|end| end.behind.is_none()) {
                of_lane.entry(lanes.of_chunks[index][end.lane.0 as usize]).or_default();
            }
        }
        for (index, chunk) in chunks.iter().enumerate() {
            let wanted: Vec<bool> =
                lanes.of_chunks[index].iter().map(|lane| of_lane.contains_key(lane)).collect();
            for (&Slice { head, duration }, &row) in chunk.slices.iter().zip(&rows[index]) {
                if wanted[head.lane.0 as usize]
                    && let Some(slices) = of_lane.get_mut(&lanes.of_chunks[index][head.lane.0 as usize])
                {
                    slices.push((head.time, head.time.saturating_add(duration), row));
                }
            }
        }
        for slices in of_lane.values_mut() {
            slices.sort_by_key(|&(start, end, _)| (start, Reverse(end)));
        }
        Self { of_lane }
    }

    /// The row of the innermost slice around an arrow's end, or of the next one.
    fn tied_to(&self, lane: LaneId, end: &ArrowEnd) -> Row {
        /// How far back a slice around the moment is looked for.
        const NEIGHBOURS: usize = 256;
        let Some(slices) = self.of_lane.get(&lane) else { return Row::Other };
        if !end.to_enclosing {
            let next = slices.partition_point(|&(start, ..)| start < end.time);
            return slices.get(next).map_or(Row::Other, |&(.., row)| row);
        }
        let begun = slices.partition_point(|&(start, ..)| start <= end.time);
        let neighbours = &slices[begun.saturating_sub(NEIGHBOURS)..begun];
        let around = neighbours.iter().rev().find(|(_, slice_end, _)| *slice_end >= end.time);
        around.map_or(Row::Other, |&(.., row)| row)
    }
}
