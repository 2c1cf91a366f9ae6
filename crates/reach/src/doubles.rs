//! Ranks that two collections are of: recorded anew after the first, or by two jobs at once, of which one can't tell
//! whose the others of the folder are.

use opscope_formats::reading::Stop;

use crate::discover::jobs::numbers;
use crate::discover::{Collection, Discovery};
use crate::error::ReachError;
use crate::read;
use crate::rows::RankRows;

/// How far the begins of one recording may lie apart in two of its forms, in nanoseconds: some round to microseconds,
/// and a task that one leaves out may be the first.
const SAME_NS: u64 = 1_000_000;

/// How many of the ranks that are there twice are read at first: two runs of a job lie apart in all of them.
const FIRST: usize = 4;

/// Refuses ranks that were recorded twice at the same time.
///
/// # Errors
/// When there are such.
pub fn refuse_at_once(discovery: &Discovery, stop: &Stop) -> Result<(), ReachError> {
    let first = &discovery.unused[..discovery.unused.len().min(FIRST)];
    if at_once(discovery, first, stop).is_empty() {
        return Ok(());
    }
    let twice = at_once(discovery, &discovery.unused, stop);
    let Some((used, unused)) = twice.first() else { return Ok(()) };
    Err(ReachError::AtOnce {
        ranks: numbers(twice.iter().map(|(used, _)| used.rank)),
        first: used.folder.clone(),
        second: unused.folder.clone(),
    })
}

/// Collections that aren't used and overlap in time with the one that is, without being the same recording; each with
/// that one.
fn at_once<'d>(
    discovery: &'d Discovery,
    unused: &'d [Collection],
    stop: &Stop,
) -> Vec<(&'d Collection, &'d Collection)> {
    let used = |unused: &Collection| discovery.collections.iter().find(|it| it.rank == unused.rank);
    let is_at_once = |unused: &Collection| {
        let spans = || Some((span_of(used(unused)?)?, span_of(unused)?));
        !stop.is_wanted()
            && spans().is_some_and(|(a, b)| a.0 < b.1 && b.0 < a.1 && a.0.abs_diff(b.0) > SAME_NS)
    };
    let found = opscope_parallel::map(unused, is_at_once);
    let both = |unused: &'d Collection| Some((used(unused)?, unused));
    unused.iter().zip(found).filter(|(_, is_at_once)| *is_at_once).filter_map(|(it, _)| both(it)).collect()
}

/// The first start and the last end of a collection's records.
fn span_of(collection: &Collection) -> Option<(i64, i64)> {
    let (rows, _): (RankRows, _) = read::rank(collection);
    let starts = rows.collectives.iter().map(|row| row.start_ns);
    let ends =
        rows.collectives.iter().map(|row| row.end_ns()).chain(rows.finishes.iter().map(|it| it.end_ns));
    Some((starts.min()?, ends.max()?))
}
