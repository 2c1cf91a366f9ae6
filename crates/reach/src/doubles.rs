//! Ranks that two collections are of: recorded anew after the first, or by two jobs at once, of which one can't tell
//! whose the others of the folder are.

use opscope_formats::reading::Stop;

use crate::discover::jobs::numbers;
use crate::discover::{Collection, Discovery};
use crate::error::ReachError;
use crate::read;
use crate::rows::{CollectiveRow, RankRows};

/// How far the starts of one collective may lie apart in two forms of a recording, in nanoseconds: some round to
/// microseconds.
const SAME_NS: u64 = 2_000;

/// Refuses ranks that were recorded twice at the same time.
///
/// # Errors
/// When there are such.
pub fn refuse_at_once(discovery: &Discovery, stop: &Stop) -> Result<(), ReachError> {
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
    let collections = &discovery.collections;
    let used = |unused: &Collection| {
        collections.binary_search_by_key(&unused.rank, |it| it.rank).ok().map(|place| &collections[place])
    };
    let is_at_once = |unused: &Collection| {
        let Some(used) = used(unused).filter(|_| !stop.is_wanted()) else { return false };
        let (a, b) = (read::rank(used).0, read::rank(unused).0);
        overlap(&a, &b) && !is_of_same_recording(&a, &b)
    };
    let found = opscope_parallel::map(unused, is_at_once);
    let both = |unused: &'d Collection| Some((used(unused)?, unused));
    unused.iter().zip(found).filter(|(_, is_at_once)| *is_at_once).filter_map(|(it, _)| both(it)).collect()
}

/// Whether the records of two collections overlap in time.
fn overlap(a: &RankRows, b: &RankRows) -> bool {
    span_of(a).zip(span_of(b)).is_some_and(|(a, b)| a.0 < b.1 && b.0 < a.1)
}

/// The first start and the last end of a collection's records.
fn span_of(rows: &RankRows) -> Option<(i64, i64)> {
    let starts = rows.collectives.iter().map(|row| row.start_ns);
    let ends =
        rows.collectives.iter().map(|row| row.end_ns()).chain(rows.finishes.iter().map(|it| it.end_ns));
    Some((starts.min()?, ends.max()?))
}

/// Whether most of the collectives of the one with fewer are the other's as well, at the same time: one form of a
/// recording may lack a step, or its begin, that another has.
fn is_of_same_recording(a: &RankRows, b: &RankRows) -> bool {
    let key = |row: &CollectiveRow| (row.group_key, row.kind, row.sequence, row.start_ns);
    let (few, many) = if a.collectives.len() <= b.collectives.len() { (a, b) } else { (b, a) };
    let mut known: Vec<_> = many.collectives.iter().map(key).collect();
    known.sort_unstable();
    let is_known = |row: &&CollectiveRow| {
        let (group, kind, sequence, start) = key(row);
        let earliest = (group, kind, sequence, start.saturating_sub(SAME_NS as i64));
        let next = known.get(known.partition_point(|it| *it < earliest));
        next.is_some_and(|it| {
            (it.0, it.1, it.2) == (group, kind, sequence) && it.3.abs_diff(start) <= SAME_NS
        })
    };
    2 * few.collectives.iter().filter(is_known).count() > few.collectives.len()
}
