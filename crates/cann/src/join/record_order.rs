//! Places records among the runs that left them, by the order of both.
//!
//! A stream executes its tasks one after another, and a task leaves its record when it ends. Records so come
//! in the order of the runs, and where nothing was lost both are one sequence of task numbers. Elsewhere a
//! record is placed in two steps, each between the records that have their place already:
//! 1. A number that occurs as often among the records as among the runs pairs its k-th record with its k-th
//!    run, unless that goes against the order of most other pairs.
//! 2. If all records have room among the runs in their order, those with one possible place take it.
//!
//! A record that still has none could belong to several runs. It stays alone, because the counters of a
//! neighbour look as right as one's own.

use std::ops::Range;

use opscope_columns::Column;
use opscope_trace::NumberMap;

/// The number by which records and runs name a task.
pub(super) type Number = u64;

/// For each record its run, if that is certain. `records` and `runs` are the numbers of one stream's records
/// and runs in their order; `known` has the places that are told by something else than the order.
pub(super) fn place(records: &[Number], runs: &[Number], known: Column<Option<u32>>) -> Column<Option<u32>> {
    let agrees = |(place, known): (u32, &Option<u32>)| known.is_none_or(|known| known == place);
    if records == runs && (0..).zip(&known).all(agrees) {
        return (0..runs.len() as u32).map(Some).collect();
    }
    let mut places = Places { records, runs, run_of: known, is_taken: vec![false; runs.len()] };
    for &run in places.run_of.iter().flatten() {
        places.is_taken[run as usize] = true;
    }
    // Records that the first round has placed divide the rest into pieces in which more numbers are paired.
    for step in [Places::pair_numbers, Places::pair_numbers, Places::take_only_places] {
        for piece in places.pieces() {
            step(&mut places, piece);
        }
    }
    places.run_of
}

struct Places<'a> {
    records: &'a [Number],
    runs: &'a [Number],
    run_of: Column<Option<u32>>,
    is_taken: Vec<bool>,
}

/// The records and runs between two records that have their place.
struct Piece {
    records: Range<usize>,
    runs: Range<usize>,
}

impl Places<'_> {
    fn pieces(&self) -> Vec<Piece> {
        let pairs = (0u32..).zip(&self.run_of).filter_map(|(record, run)| Some((record, (*run)?))).collect();
        let mut pieces = Vec::new();
        let mut begin = (0, 0);
        let end = (self.records.len(), self.runs.len());
        let borders =
            longest_in_order(pairs).into_iter().map(|(record, run)| (record as usize, run as usize));
        for (record, run) in borders.chain([end]) {
            if begin.0 < record && begin.1 < run {
                pieces.push(Piece { records: begin.0..record, runs: begin.1..run });
            }
            begin = (record + 1, run + 1);
        }
        pieces
    }

    /// The records of a piece that have no place, and the runs that have no record.
    fn open(&self, piece: Piece) -> (Vec<u32>, Vec<u32>) {
        let records = piece.records.filter(|&record| self.run_of[record].is_none());
        let runs = piece.runs.filter(|&run| !self.is_taken[run]);
        (records.map(|record| record as u32).collect(), runs.map(|run| run as u32).collect())
    }

    fn pair(&mut self, record: u32, run: u32) {
        self.run_of[record as usize] = Some(run);
        self.is_taken[run as usize] = true;
    }

    /// Pairs the records and runs of numbers that have as many of one as of the other.
    fn pair_numbers(&mut self, piece: Piece) {
        let (records, runs) = self.open(piece);
        let mut by_number: NumberMap<Number, (Vec<u32>, Vec<u32>)> = NumberMap::default();
        for record in records {
            by_number.entry(self.records[record as usize]).or_default().0.push(record);
        }
        for run in runs {
            // A number without records needs no place.
            if let Some((_, runs)) = by_number.get_mut(&self.runs[run as usize]) {
                runs.push(run);
            }
        }
        let equal = by_number.into_values().filter(|(records, runs)| records.len() == runs.len());
        let mut pairs: Vec<(u32, u32)> =
            equal.flat_map(|(records, runs)| records.into_iter().zip(runs)).collect();
        pairs.sort_unstable();
        longest_in_order(pairs).into_iter().for_each(|(record, run)| self.pair(record, run));
    }

    /// Places the records whose first possible place is their last one too, if there is room for all.
    fn take_only_places(&mut self, piece: Piece) {
        let (records, runs) = self.open(piece);
        let fits = |record: &u32, run: &u32| self.records[*record as usize] == self.runs[*run as usize];
        let first = in_turn(records.iter(), runs.iter(), fits);
        let last = in_turn(records.iter().rev(), runs.iter().rev(), fits);
        let (Some(first), Some(last)) = (first, last) else { return };
        for ((&record, first), last) in records.iter().zip(first).zip(last.into_iter().rev()) {
            if first == last {
                self.pair(record, first);
            }
        }
    }
}

/// For each record the next run that fits, behind that of the record before; `None` if there aren't enough.
fn in_turn<'a>(
    records: impl Iterator<Item = &'a u32>,
    mut runs: impl Iterator<Item = &'a u32>,
    fits: impl Fn(&u32, &u32) -> bool,
) -> Option<Vec<u32>> {
    records.map(|record| runs.find(|run| fits(record, run)).copied()).collect()
}

/// As many of the pairs as possible whose second numbers rise with the first, by which they are sorted.
fn longest_in_order(pairs: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    if pairs.is_sorted_by(|a, b| a.1 < b.1) {
        return pairs;
    }
    // For each length the pair with the lowest end of a chain that long, and for each pair the one before it.
    let mut lowest: Vec<u32> = Vec::new();
    let mut before: Vec<Option<u32>> = Vec::with_capacity(pairs.len());
    for (place, &(_, run)) in (0u32..).zip(&pairs) {
        let length = lowest.partition_point(|&end| pairs[end as usize].1 < run);
        before.push(length.checked_sub(1).map(|shorter| lowest[shorter]));
        match lowest.get_mut(length) {
            Some(end) => *end = place,
            None => lowest.push(place),
        }
    }
    let chain = std::iter::successors(lowest.last().copied(), |&place| before[place as usize]);
    let mut chain: Vec<(u32, u32)> = chain.map(|place| pairs[place as usize]).collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(records: &[Number], runs: &[Number]) -> Vec<Option<u32>> {
        place(records, runs, records.iter().map(|_| None).collect()).to_vec()
    }

    /// The numbers of a model's tasks, executed several times.
    fn replayed(tasks: Number, times: usize) -> Vec<Number> {
        (0..times).flat_map(|_| 1..=tasks).collect()
    }

    #[test]
    fn nothing_lost_is_one_sequence() {
        assert_eq!(placed(&[4, 4, 5], &[4, 4, 5]), [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn a_lost_record_leaves_all_others_at_their_runs() {
        let runs = replayed(5, 4);
        for lost in 0..runs.len() {
            let kept: Vec<usize> = (0..runs.len()).filter(|&run| run != lost).collect();
            let records: Vec<Number> = kept.iter().map(|&run| runs[run]).collect();
            let expected: Vec<Option<u32>> = kept.iter().map(|&run| Some(run as u32)).collect();
            assert_eq!(placed(&records, &runs), expected, "without record {lost}");
        }
    }

    #[test]
    fn a_record_without_a_run_is_left_alone() {
        let all = replayed(5, 4);
        for lost in 0..all.len() {
            let runs: Vec<Number> = (0..all.len()).filter(|&run| run != lost).map(|run| all[run]).collect();
            let expected: Vec<Option<u32>> = (0..all.len() as u32)
                .map(|record| match record.cmp(&(lost as u32)) {
                    std::cmp::Ordering::Less => Some(record),
                    std::cmp::Ordering::Equal => None,
                    std::cmp::Ordering::Greater => Some(record - 1),
                })
                .collect();
            assert_eq!(placed(&all, &runs), expected, "without run {lost}");
        }
    }

    #[test]
    fn a_record_and_another_run_of_the_same_number_may_both_be_lost() {
        let all = replayed(5, 6);
        // The record of task 3 is missing from the second execution, its run from the fifth.
        let (lost_record, lost_run) = (7, 22);
        let keep = |lost| (0..all.len()).filter(move |&place| place != lost);
        let records: Vec<Number> = keep(lost_record).map(|place| all[place]).collect();
        let runs: Vec<Number> = keep(lost_run).map(|place| all[place]).collect();
        let place_of_run = |place: usize| place as u32 - u32::from(place > lost_run);
        let expected: Vec<Option<u32>> =
            keep(lost_record).map(|place| (place != lost_run).then(|| place_of_run(place))).collect();
        assert_eq!(placed(&records, &runs), expected);
    }

    #[test]
    fn some_records_of_every_task_may_be_lost() {
        let (tasks, times) = (7, 30);
        let runs = replayed(tasks, times);
        // Each task lacks a record, and each in another execution.
        let is_lost = |run: usize| run / tasks as usize == 4 * (run % tasks as usize) + 1;
        let kept: Vec<usize> = (0..runs.len()).filter(|&run| !is_lost(run)).collect();
        assert_eq!(runs.len() - kept.len(), 7);
        let records: Vec<Number> = kept.iter().map(|&run| runs[run]).collect();
        let expected: Vec<Option<u32>> = kept.iter().map(|&run| Some(run as u32)).collect();
        assert_eq!(placed(&records, &runs), expected);
    }

    #[test]
    fn a_record_with_several_possible_runs_is_given_to_none() {
        assert_eq!(placed(&[4], &[4, 4]), [None]);
        // The records of a whole execution are missing, and nothing tells of which.
        assert_eq!(placed(&replayed(3, 2), &replayed(3, 3)), [None; 6]);
        // The task behind tells the second of these executions.
        assert_eq!(placed(&[4, 9], &[4, 4, 9]), [None, Some(2)]);
    }

    #[test]
    fn places_that_are_known_part_the_others() {
        let known = Column::from(vec![None, Some(1), None]);
        assert_eq!(place(&[4, 4, 4], &[4, 4, 4, 5], known.clone())[..], [Some(0), Some(1), Some(2)]);
        assert_eq!(place(&[4, 4, 4], &[4, 4, 4, 4], known)[..], [Some(0), Some(1), None]);
    }

    #[test]
    fn the_longest_order_is_found() {
        let pairs = |runs: &[u32]| (0u32..).zip(runs.iter().copied()).collect::<Vec<_>>();
        let runs = |pairs: Vec<(u32, u32)>| pairs.into_iter().map(|(_, run)| run).collect::<Vec<_>>();
        assert_eq!(runs(longest_in_order(pairs(&[0, 5, 1, 2, 3, 9, 4]))), [0, 1, 2, 3, 4]);
        assert_eq!(runs(longest_in_order(pairs(&[3, 2, 1]))), [1]);
        assert_eq!(longest_in_order(Vec::new()), []);
    }
}
