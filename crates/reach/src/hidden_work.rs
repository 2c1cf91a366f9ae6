//! The work that a rank does while collectives in the background hold it up.
//!
//! Gradients are reduced in the background, one part behind the other, while the rank computes those of the next part. The
//! last part is ready when all is computed. Where the parts take longer than the work, they begin one when the other
//! ends, and don't show that; with quicker transfers the last would wait for the work that the rank did meanwhile.
//!
//! Time in which nothing is computed is waiting for the transfers, or a gap between operators of a host that launches them
//! late, which is the rank's own as much as its operators are. Where it does nothing but that row meanwhile, the longest
//! such stretch of each part is taken for waiting and the rest for gaps; beside other collectives nothing tells them apart.

use opscope_trace::NumberMap;

use crate::run::{Event, Run};

/// Segments as short as this are launches, in nanoseconds.
const LAUNCH_NS: i64 = 20_000;

/// How far work must exceed that which shows, as a share, to count as hidden.
const BEYOND: f64 = 0.05;

/// How many collectives may run in the background one behind the other.
const MOST: usize = 1024;

/// Work that was hidden.
#[derive(Clone, Copy, Debug)]
pub struct Hidden {
    /// The event since whose end it was done; `None` since the run's begin.
    pub since: Option<u32>,
    /// That time, by the rank's own clock.
    pub begin_ns: i64,
    /// How much it was, in nanoseconds.
    pub work_ns: f64,
}

/// The hidden work by the last part of such a row.
pub fn find(run: &Run) -> NumberMap<u32, Hidden> {
    (0..run.events.len()).filter_map(|index| behind(run, index)).collect()
}

/// The last part of the row before an event that begins with work, and the work that was hidden by it.
fn behind(run: &Run, index: usize) -> Option<(u32, Hidden)> {
    let is_after_work = |index: u32| {
        let event = &run.events[index as usize];
        event.segment_ns > LAUNCH_NS && !event.is_after_gap
    };
    let event = &run.events[index];
    let last = event.pred.filter(|last| is_after_work(index as u32) && !is_after_work(*last))?;
    let before = std::iter::successors(Some(last), |it| run.events[*it as usize].pred);
    let (others, first) = before.take(MOST).enumerate().find(|(_, it)| is_after_work(*it))?;
    let since = run.events[first as usize].pred;
    let (begin, next) = match since {
        Some(since) => (run.events[since as usize].end_ns(), since as usize + 1),
        None => (run.begin_of(event.rank)?.0, run.ranks[event.rank as usize].events.start),
    };
    let between = run.events.get(next..index)?;
    let has_only_row = between.len() == others + 1;
    let waited = |it: &Event| if has_only_row { it.exposed_longest_ns } else { it.exposed_ns };
    let waited: i64 = between.iter().fold(0, |sum, it| sum.saturating_add(waited(it)));
    let end = event.start_ns.saturating_sub(event.segment_ns);
    let room = run.events[last as usize].start_ns.saturating_sub(begin);
    let work_ns = end.saturating_sub(begin).saturating_sub(waited).min(room) as f64;
    let shown = run.events[first as usize].segment_ns as f64;
    let is_more = work_ns > (1.0 + BEYOND) * shown + LAUNCH_NS as f64;
    is_more.then_some((last, Hidden { since, begin_ns: begin, work_ns }))
}
