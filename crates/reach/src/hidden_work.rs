//! The work that a rank does while collectives in the background hold it up.
//!
//! Gradients are reduced in the background, one part behind the other, while the rank computes those of the next part. The
//! last part is ready when all is computed. Where the parts take longer than the work, they begin one when the other
//! ends, and don't show that; with quicker transfers the last would wait for the work that the rank did meanwhile.

use opscope_trace::NumberMap;

use crate::run::Run;

/// Segments as short as this are launches, in nanoseconds.
const LAUNCH_NS: i64 = 20_000;

/// How far work must exceed that which shows, as a share, to count as hidden.
const BEYOND: f64 = 0.05;

/// How many collectives may run in the background one behind the other.
const MOST: usize = 1024;

/// By the last part of such a row, the event since whose end the work was done, and how much it was in nanoseconds.
pub fn find(run: &Run) -> NumberMap<u32, (u32, f64)> {
    (0..run.events.len()).filter_map(|index| behind(run, index)).collect()
}

/// The last part of the row before an event that begins with work, and the work that was hidden by it.
fn behind(run: &Run, index: usize) -> Option<(u32, (u32, f64))> {
    let is_after_work = |index: u32| {
        let event = &run.events[index as usize];
        event.segment_ns > LAUNCH_NS && !event.is_after_gap
    };
    let event = &run.events[index];
    let last = event.pred.filter(|last| is_after_work(index as u32) && !is_after_work(*last))?;
    let before = std::iter::successors(Some(last), |it| run.events[*it as usize].pred);
    let first = before.take(MOST).find(|it| is_after_work(*it))?;
    let since = run.events[first as usize].pred?;
    let begin = run.events[since as usize].end_ns();
    let between = run.events.get(since as usize + 1..index)?;
    let exposed: i64 = between.iter().fold(0, |sum, it| sum.saturating_add(it.exposed_ns));
    let end = event.start_ns.saturating_sub(event.segment_ns);
    let room = run.events[last as usize].start_ns.saturating_sub(begin);
    let work = end.saturating_sub(begin).saturating_sub(exposed).min(room) as f64;
    let shown = run.events[first as usize].segment_ns as f64;
    (work > (1.0 + BEYOND) * shown + LAUNCH_NS as f64).then_some((last, (since, work)))
}
