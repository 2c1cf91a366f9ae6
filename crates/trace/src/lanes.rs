//! Spreading slices over lanes, so that those of every lane nest.
//!
//! A viewer draws the slices of one lane as a stack: each must lie wholly inside the one below it or
//! follow it. One that begins inside another and ends after it is dropped by Perfetto and drawn
//! wrongly elsewhere.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The number of lanes on which slices may be stacked. Slices that overlap more than that are laid out
/// flat on further lanes, where finding a free one stays cheap however many there are.
const STACKED_LANES: usize = 64;

/// Finds a lane for each of many slices, on as few lanes as it can.
///
/// Slices come in the order in which they are drawn: by start, of those that start together the
/// longest first. Slices that touch (one ends when the other starts) share a lane.
///
/// ```
/// let mut lanes = opscope_trace::LanePacker::default();
/// // The second slice lies within the first, the third outlasts it, the fourth follows it.
/// assert_eq!([(0, 10), (2, 5), (8, 12), (10, 20)].map(|span| lanes.place(span)), [0, 0, 1, 0]);
/// assert_eq!(lanes.count(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct LanePacker<Time> {
    /// The ends of the slices that are still open on each of the first lanes, the innermost last.
    stacked: Vec<Vec<Time>>,
    /// The further lanes by the end of their last slice.
    flat: BinaryHeap<Reverse<(Time, usize)>>,
}

impl<Time: Copy + Ord> Default for LanePacker<Time> {
    fn default() -> Self {
        Self { stacked: Vec::new(), flat: BinaryHeap::new() }
    }
}

impl<Time: Copy + Ord> LanePacker<Time> {
    /// The lane of a slice with this start and end, by its number from 0.
    pub fn place(&mut self, (start, end): (Time, Time)) -> usize {
        for (lane, open) in self.stacked.iter_mut().enumerate() {
            while open.pop_if(|end| *end <= start).is_some() {}
            if open.last().is_none_or(|around| end <= *around) {
                open.push(end);
                return lane;
            }
        }
        if self.stacked.len() < STACKED_LANES {
            self.stacked.push(vec![end]);
            return self.stacked.len() - 1;
        }
        let free = self.flat.peek_mut().filter(|first| first.0.0 <= start);
        let lane = match free.map(PeekMut::pop) {
            Some(Reverse((_, lane))) => lane,
            None => self.count(),
        };
        self.flat.push(Reverse((end, lane)));
        lane
    }

    /// The number of lanes that were needed so far.
    pub fn count(&self) -> usize {
        self.stacked.len() + self.flat.len()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    fn lanes_of(spans: &[(i64, i64)]) -> Vec<usize> {
        let mut lanes = LanePacker::default();
        spans.iter().map(|&span| lanes.place(span)).collect()
    }

    #[test]
    fn nested_and_touching_slices_share_a_lane() {
        assert_eq!(lanes_of(&[(0, 10), (10, 20), (10, 10), (12, 15), (15, 20), (20, 20)]), [0; 6]);
    }

    #[test]
    fn a_slice_that_outlasts_the_one_it_began_in_moves_to_another_lane() {
        let spans = [(0, 10), (2, 5), (5, 10), (8, 12), (9, 11), (12, 13)];
        assert_eq!(lanes_of(&spans), [0, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn lanes_beyond_the_stacked_ones_are_used_again() {
        let crowd = 3 * STACKED_LANES as i64;
        // As many slices that cross one another, twice.
        let crossing = |zero: i64| (0..crowd).map(move |n| (zero + n, zero + n + crowd));
        let spans: Vec<_> = crossing(0).chain(crossing(2 * crowd)).collect();
        assert_eq!(lanes_of(&spans).into_iter().max(), Some(crowd as usize - 1));
    }

    thread_local! {
        static COMPARISONS: Cell<u64> = const { Cell::new(0) };
    }

    /// A time that counts how often it is compared.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Counted(i64);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    #[test]
    fn however_many_slices_overlap_each_finds_its_lane_in_few_steps() {
        const COUNT: i64 = 100_000;
        /// A look at every stacked lane (has it ended, does it hold the slice), and at the way through a heap.
        const STEPS: u64 = 2 * STACKED_LANES as u64 + 40;
        let crossing = |n| (n, n + COUNT);
        let alike = |_| (0, COUNT);
        let nested = |n| (n, 3 * COUNT - n);
        let check = |span: &dyn Fn(i64) -> (i64, i64), expected: i64| {
            COMPARISONS.set(0);
            let mut lanes = LanePacker::default();
            for (start, end) in (0..COUNT).map(span) {
                lanes.place((Counted(start), Counted(end)));
            }
            assert_eq!(lanes.count(), expected as usize);
            assert!(COMPARISONS.get() <= COUNT as u64 * STEPS, "{} comparisons", COMPARISONS.get());
        };
        check(&crossing, COUNT);
        check(&alike, 1);
        check(&nested, 1);
    }

    proptest! {
        #[test]
        fn no_two_slices_of_a_lane_cross_and_no_lane_is_wasted(
            spans in proptest::collection::vec((0i64..60, 0i64..30), 0..150)
        ) {
            let mut spans: Vec<_> = spans.into_iter().map(|(start, length)| (start, start + length)).collect();
            spans.sort_by_key(|&(start, end)| (start, Reverse(end)));
            let lanes = lanes_of(&spans);
            for (first, &outer) in spans.iter().enumerate() {
                for (second, &inner) in spans.iter().enumerate().skip(first + 1) {
                    let nests = outer.1 <= inner.0 || inner.1 <= outer.1;
                    prop_assert!(lanes[first] != lanes[second] || nests);
                }
            }
            // No more lanes than slices that are open at one moment.
            let open_at = |time| spans.iter().filter(|(start, end)| *start <= time && time < *end).count();
            let most = spans.iter().map(|&(start, _)| open_at(start)).max().unwrap_or(0);
            prop_assert!(lanes.iter().max().map_or(0, |last| last + 1) <= most.max(1));
        }
    }
}
