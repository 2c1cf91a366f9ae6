//! Steps of a rank of which its profile tells no times: those that its collectives name, or those of the period in which
//! they come again.
//!
//! Each step has the same collectives in the same order in each group: gradients that are reduced, then parameters
//! that are gathered. The group whose sequence comes again least often tells the steps; others come again within one,
//! layer by layer. A step ends with the group's collective before the longest pause, which all its members end at the
//! same time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Recording;
use crate::clocks::median;
use crate::rows::{CollectiveRow, CollectiveType, StepRow};

/// How many times its next shorter pause the longest must be.
const PAUSE: f64 = 1.5;

/// The fewest collectives of a group that can be a step's: gathering and scattering come again with each layer.
const FEWEST: usize = 4;

/// The most steps that are inferred: what comes again more often is more likely a layer, or a part of a batch.
const MOST_STEPS: usize = 50;

/// Gives a rank its steps, numbered from 1; false where nothing tells them.
pub fn infer_steps(recording: &mut Recording) -> bool {
    recording.collectives.sort_by_key(|row| (row.start_ns, row.end_ns()));
    let Some(ends) = ends_of_steps(&recording.collectives) else { return false };
    let numbers = 1..=ends.len() as i32 + 1;
    divide(recording, &numbers.collect::<Vec<_>>(), &ends);
    for row in &mut recording.collectives {
        row.step = ends.partition_point(|end| *end <= row.start_ns) as i32 + 1;
    }
    true
}

/// The steps that collectives name and a table of steps lacks, of which it tells lengths alone: what such a step has
/// would count as the one's before.
pub fn unstated_steps(recording: &Recording) -> Vec<i32> {
    if recording.steps.is_empty() || recording.steps.iter().any(|step| step.start_ns.is_some()) {
        return Vec::new();
    }
    let stated: BTreeSet<i32> = recording.steps.iter().map(|step| step.step).collect();
    let named: BTreeSet<i32> = recording.collectives.iter().map(|row| row.step).collect();
    // Where none is named, all have this number.
    if named.iter().all(|step| *step == 0) {
        return Vec::new();
    }
    named.difference(&stated).copied().collect()
}

/// Stretches outside of all steps that are told with their times, in which a rank has about as much as in a step: the
/// table of steps lacks one there. Each with its begin and end, as collectives have them.
pub fn stretches_without_step(recording: &Recording) -> Vec<(i64, i64)> {
    let spans = recording
        .steps
        .iter()
        .filter_map(|step| step.start_ns.map(|start| (start, start.saturating_add(step.duration_ns))));
    let mut spans: Vec<(i64, i64)> = spans.collect();
    if spans.is_empty() || spans.len() < recording.steps.len() {
        return Vec::new();
    }
    spans.sort_unstable();
    let mut within = vec![0_usize; spans.len()];
    // By how many steps began before: how many collectives, the first start and the last end.
    let mut outside: BTreeMap<usize, (usize, i64, i64)> = BTreeMap::new();
    for row in &recording.collectives {
        let begun = spans.partition_point(|(start, _)| *start <= row.start_ns);
        match begun.checked_sub(1).filter(|before| row.start_ns < spans[*before].1) {
            Some(step) => within[step] += 1,
            None => {
                let (count, first, last) = outside.entry(begun).or_insert((0, i64::MAX, i64::MIN));
                (*count, *first, *last) = (*count + 1, (*first).min(row.start_ns), (*last).max(row.end_ns()));
            }
        }
    }
    let usual = median(&mut within.iter().map(|count| *count as f64).collect::<Vec<_>>());
    let length = median(&mut spans.iter().map(|(start, end)| (end - start) as f64).collect::<Vec<_>>());
    let is_step = |(count, first, last): &(usize, i64, i64)| {
        2.0 * *count as f64 >= usual.max(FEWEST as f64) && 2.0 * (last - first) as f64 >= length
    };
    outside.into_values().filter(is_step).map(|(_, first, last)| (first, last)).collect()
}

/// Enters steps for stretches without any, by numbers that another table has of them; false where it hasn't as many.
pub fn fill_stretches(recording: &mut Recording, stretches: &[(i64, i64)]) -> bool {
    let told: BTreeSet<i32> = recording.steps.iter().map(|step| step.step).collect();
    let lacking: Vec<i32> = recording.other_steps.keys().copied().filter(|it| !told.contains(it)).collect();
    if lacking.len() != stretches.len() {
        return false;
    }
    for (step, (first, last)) in lacking.into_iter().zip(stretches) {
        let ends = recording.steps.iter().filter_map(|it| Some(it.start_ns?.saturating_add(it.duration_ns)));
        let begins = recording.steps.iter().filter_map(|it| it.start_ns);
        let start = ends.filter(|end| end <= first).max().unwrap_or(*first);
        let end = begins.filter(|begin| begin >= first).min().unwrap_or(*last);
        let duration_ns = end.saturating_sub(start);
        recording.steps.push(StepRow { step, start_ns: Some(start), duration_ns, preparing_ns: None });
        let is_in_it = |time: i64| (start..end).contains(&time);
        recording.collectives.iter_mut().filter(|row| is_in_it(row.start_ns)).for_each(|row| row.step = step);
    }
    recording.steps.sort_by_key(|step| step.start_ns);
    true
}

/// Leaves out what a rank has in stretches without a step.
pub fn drop_stretches(recording: &mut Recording, stretches: &[(i64, i64)]) {
    let is_in_one = |time: i64| stretches.iter().any(|(first, last)| (*first..*last).contains(&time));
    recording.collectives.retain(|row| !is_in_one(row.start_ns));
    recording.tasks.retain(|task| !is_in_one(task.start_ns));
}

/// Gives a rank the steps that its collectives name; false where they name none.
pub fn take_named_steps(recording: &mut Recording) -> bool {
    let mut named: BTreeMap<i32, (i64, i64)> = BTreeMap::new();
    for row in &recording.collectives {
        let (first, last) = named.entry(row.step).or_insert((i64::MAX, i64::MIN));
        (*first, *last) = ((*first).min(row.start_ns), (*last).max(row.end_ns()));
    }
    let mut named: Vec<(i64, i64, i32)> =
        named.into_iter().map(|(step, (first, last))| (first, last, step)).collect();
    named.sort_unstable();
    if named.iter().all(|(.., step)| *step == 0) {
        return false;
    }
    let numbers: Vec<i32> = named.iter().map(|(.., step)| *step).collect();
    // Work before the first collective of a step is of that step.
    let ends: Vec<i64> = named.windows(2).map(|pair| pair[0].1.min(pair[1].0)).collect();
    divide(recording, &numbers, &ends);
    true
}

/// Enters steps of these numbers, of which each but the last ends at one of these times.
fn divide(recording: &mut Recording, numbers: &[i32], ends: &[i64]) {
    let begins = recording.tasks.iter().map(|task| task.start_ns);
    let begins = begins.chain(recording.collectives.iter().map(|row| row.start_ns));
    let finishes = recording.tasks.iter().map(|task| task.end_ns);
    let finishes = finishes.chain(recording.collectives.iter().map(CollectiveRow::end_ns));
    let (Some(begin), Some(end)) = (begins.min(), finishes.max()) else { return };
    let mut start = begin;
    for (step, step_end) in numbers.iter().zip(ends.iter().copied().chain([end])) {
        let duration_ns = step_end.saturating_sub(start);
        recording.steps.push(StepRow { step: *step, start_ns: Some(start), duration_ns, preparing_ns: None });
        start = step_end;
    }
}

/// The ends of all steps but the last.
fn ends_of_steps(collectives: &[CollectiveRow]) -> Option<Vec<i64>> {
    let mut groups: BTreeMap<u64, Vec<&CollectiveRow>> = BTreeMap::new();
    for row in collectives {
        groups.entry(row.group_key).or_default().push(row);
    }
    let fewest = groups.values().map(Vec::len).min()?;
    // Sends and receives pause longest in the middle of a step on some stages of a pipeline.
    let of_all = groups.values().filter(|rows| rows.iter().all(|row| !row.kind.is_between_two()));
    let cycles = of_all.filter_map(|rows| Some((rows, cycle(rows)?)));
    let repeats = |rows: &[&CollectiveRow], period: usize| rows.len() / period;
    // Of groups that come again as often, ranks choose the same where they share both.
    let by = |(rows, (period, _)): &(&Vec<&CollectiveRow>, (usize, usize))| {
        (repeats(rows, *period), Reverse(*period))
    };
    let (rows, (period, first)) = cycles.min_by_key(by)?;
    // Collectives that come again more often than another group communicates at all do so within a step.
    if repeats(rows, period) > fewest.min(MOST_STEPS) {
        return None;
    }
    // A step that is recorded in part belongs to the one beside it.
    let begins = (if first == 0 { period } else { first + period }..rows.len()).step_by(period);
    let begins = begins.filter(|begin| rows.len() - begin >= period);
    let ends: Vec<i64> = begins.map(|begin| rows[begin - 1].end_ns()).collect();
    let is_rising = ends.windows(2).all(|pair| pair[0] < pair[1]);
    (!ends.is_empty() && is_rising).then_some(ends)
}

/// After how many of a group's collectives all come again, at least twice, and how many of them are of a step that had
/// begun before.
fn cycle(rows: &[&CollectiveRow]) -> Option<(usize, usize)> {
    let whole = |row: &&CollectiveRow| (row.kind, row.bytes);
    // Bytes of tokens differ from step to step.
    let kind = |row: &&CollectiveRow| (row.kind, 0);
    let periods = [period(rows, whole), period(rows, kind)];
    periods.into_iter().flatten().find_map(|period| Some((period, first_behind_pause(rows, period)?)))
}

/// The least number of collectives after which all come again, if there are enough of them and it is half of all at
/// most.
fn period(
    rows: &[&CollectiveRow],
    symbol: impl Fn(&&CollectiveRow) -> (CollectiveType, u64),
) -> Option<usize> {
    // How many of the last collectives up to each are the first ones again (Knuth, Morris, Pratt).
    let mut again = vec![0_usize; rows.len()];
    let mut length = 0;
    for place in 1..rows.len() {
        while length > 0 && symbol(&rows[place]) != symbol(&rows[length]) {
            length = again[length - 1];
        }
        length += usize::from(symbol(&rows[place]) == symbol(&rows[length]));
        again[place] = length;
    }
    let period = rows.len() - again.last()?;
    (period >= FEWEST && 2 * period <= rows.len()).then_some(period)
}

/// The place within a period behind the longest pause, if that is much longer than the next.
fn first_behind_pause(rows: &[&CollectiveRow], period: usize) -> Option<usize> {
    let mut pauses = vec![(0.0, 0.0); period];
    for (place, pair) in rows.windows(2).enumerate() {
        let (sum, count) = &mut pauses[(place + 1) % period];
        *sum += pair[1].start_ns.saturating_sub(pair[0].end_ns()) as f64;
        *count += 1.0;
    }
    let mut means: Vec<(f64, usize)> =
        pauses.iter().enumerate().map(|(place, (sum, count))| (sum / f64::max(*count, 1.0), place)).collect();
    means.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (longest, first) = means[0];
    (longest > PAUSE * means[1].0.max(0.0)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A collective of a group: kind, bytes, start and length in microseconds.
    fn row(group: u64, kind: CollectiveType, bytes: u64, start: i64, length: i64) -> CollectiveRow {
        CollectiveRow { bytes, ..CollectiveRow::new(group, 0, kind, 0, start * 1_000, length * 1_000) }
    }

    /// Steps of 1,000 µs: collectives of each layer in group 1, and at the end four of gradients in group 2.
    fn recorded(steps: i64) -> Vec<CollectiveRow> {
        let mut rows = Vec::new();
        for step in 0..steps {
            let begin = 10_000 + 1_000 * step;
            rows.extend((0..8).map(|layer| row(1, CollectiveType::AllReduce, 64, begin + 100 * layer, 20)));
            rows.push(row(2, CollectiveType::ReduceScatter, 100, begin + 805, 10));
            rows.push(row(2, CollectiveType::ReduceScatter, 100, begin + 820, 10));
            rows.push(row(2, CollectiveType::ReduceScatter, 200, begin + 850, 10));
            rows.push(row(2, CollectiveType::AllGather, 300, begin + 880, 60));
        }
        rows
    }

    fn inferred(collectives: Vec<CollectiveRow>) -> Option<Vec<(i32, i64, i64)>> {
        let mut recording = Recording { collectives, ..Recording::default() };
        let step = |it: &StepRow| (it.step, it.start_ns.unwrap_or(0) / 1_000, it.duration_ns / 1_000);
        infer_steps(&mut recording).then(|| recording.steps.iter().map(step).collect())
    }

    #[test]
    fn the_group_that_comes_again_least_often_tells_the_steps() {
        assert_eq!(
            inferred(recorded(3)).unwrap(),
            [(1, 10_000, 940), (2, 10_940, 1_000), (3, 11_940, 1_000)]
        );
        let mut recording = Recording { collectives: recorded(2), ..Recording::default() };
        assert!(infer_steps(&mut recording));
        let of_second = recording.collectives.iter().filter(|row| row.step == 2).count();
        assert_eq!((of_second, recording.collectives.len()), (12, 24));
    }

    #[test]
    fn steps_that_are_recorded_in_part_belong_to_those_beside_them() {
        let steps = inferred(recorded(4).split_off(10)).unwrap();
        assert_eq!(steps, [(1, 10_850, 1_090), (2, 11_940, 1_000), (3, 12_940, 1_000)]);
        let mut rows = recorded(4);
        rows.truncate(rows.len() - 2);
        assert_eq!(inferred(rows).unwrap(), [(1, 10_000, 940), (2, 10_940, 1_000), (3, 11_940, 1_890)]);
    }

    #[test]
    fn steps_that_collectives_name_are_theirs() {
        let mut collectives = recorded(2);
        collectives.iter_mut().enumerate().for_each(|(place, row)| row.step = 7 + place as i32 / 12);
        let mut recording = Recording { collectives, ..Recording::default() };
        assert!(take_named_steps(&mut recording));
        let steps = recording.steps.iter().map(|it| (it.step, it.start_ns.unwrap_or(0), it.duration_ns));
        assert_eq!(steps.collect::<Vec<_>>(), [(7, 10_000_000, 940_000), (8, 10_940_000, 1_000_000)]);
        assert!(!take_named_steps(&mut Recording { collectives: recorded(2), ..Recording::default() }));
    }

    #[test]
    fn layers_are_no_steps() {
        // Gathering and scattering of each layer, with a long pause and a short one between.
        let pair = |layer: i64| {
            let begin = 10_000 + 1_000 * layer;
            let gather = row(1, CollectiveType::AllGather, 64, begin, 100);
            [gather, row(1, CollectiveType::ReduceScatter, 64, begin + 800, 100)]
        };
        let layers = || (0..40).flat_map(pair).collect::<Vec<_>>();
        assert_eq!(inferred(layers()), None);
        // Experts beside them: four of each layer, far more often than steps are recorded.
        let experts = |layer: i64| {
            let begin = 10_000 + 1_000 * layer;
            let kinds = [CollectiveType::AllGather, CollectiveType::AllToAll, CollectiveType::AllToAll];
            let first =
                kinds.into_iter().zip(0..).map(move |(kind, place)| row(1, kind, 64, begin + 50 * place, 20));
            first.chain([row(1, CollectiveType::ReduceScatter, 64, begin + 800, 100)])
        };
        assert_eq!(inferred((0..64).flat_map(experts).collect()), None);
        // Another group communicates less often.
        let mut rows = layers();
        rows.push(row(2, CollectiveType::AllReduce, 1, 12_050, 5));
        assert_eq!(inferred(rows), None);
        // A single step, and nothing but alike collectives.
        assert_eq!(inferred(recorded(1)), None);
        let alike = (0..50).map(|place| row(1, CollectiveType::AllReduce, 64, 10_000 + 50 * place, 20));
        assert_eq!(inferred(alike.collect()), None);
    }

    #[test]
    fn buckets_of_gradients_tell_steps_alone() {
        let step = |step: i64| {
            let begin = 10_000 + 1_000 * step;
            let bucket = move |(place, bytes): (i64, u64)| {
                row(1, CollectiveType::AllReduce, bytes, begin + 500 + 80 * place, 40)
            };
            [(0, 10), (1, 25), (2, 25), (3, 25), (4, 7)].map(bucket)
        };
        let steps = inferred((0..3).flat_map(step).collect()).unwrap();
        assert_eq!(steps, [(1, 10_500, 360), (2, 10_860, 1_000), (3, 11_860, 1_000)]);
    }
}
