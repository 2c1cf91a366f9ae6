//! Spreading what overlaps over lanes, so that the slices of every lane nest.
//!
//! A viewer draws the complete events of one lane as a stack: each must lie wholly inside the one
//! below it or follow it. One that begins inside another and ends after it is dropped by Perfetto
//! and drawn wrongly elsewhere.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// On how many lanes slices may be stacked. Whatever overlaps more than that is laid out flat on
/// further lanes, where finding a free one stays cheap however many there are.
const STACKED_LANES: usize = 64;

/// Distributes `rows`, of which `span` tells start and end, over as few lanes as it finds.
///
/// Every lane comes back in the order in which it is drawn: by start, the longest first. Slices
/// that touch (one ends when the other starts) share a lane.
pub(super) fn spread<Row: Copy>(mut rows: Vec<Row>, span: impl Fn(Row) -> (u64, u64)) -> Vec<Vec<Row>> {
    rows.sort_by_key(|&row| {
        let (start, end) = span(row);
        (start, Reverse(end))
    });
    if nests(&rows, &span) {
        return vec![rows];
    }
    let mut lanes: Vec<Lane<Row>> = Vec::new();
    let mut flat_lanes: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for row in rows {
        let (start, end) = span(row);
        let admits = |lane: &mut Lane<Row>| lane.stack.admits(start, end);
        if let Some(index) = lanes.iter_mut().take(STACKED_LANES).position(admits) {
            lanes[index].stack.push(end);
            lanes[index].rows.push(row);
        } else if lanes.len() < STACKED_LANES {
            let mut stack = Stack::default();
            stack.push(end);
            lanes.push(Lane { rows: vec![row], stack });
        } else {
            let index = match flat_lanes.peek_mut() {
                Some(first) if first.0.0 <= start => PeekMut::pop(first).0.1,
                _ => {
                    lanes.push(Lane { rows: Vec::new(), stack: Stack::default() });
                    lanes.len() - 1
                }
            };
            lanes[index].rows.push(row);
            flat_lanes.push(Reverse((end, index)));
        }
    }
    lanes.into_iter().map(|lane| lane.rows).collect()
}

/// Whether rows that are already in drawing order fit on a single lane.
fn nests<Row: Copy>(rows: &[Row], span: impl Fn(Row) -> (u64, u64)) -> bool {
    let mut stack = Stack::default();
    rows.iter().all(|&row| {
        let (start, end) = span(row);
        let admitted = stack.admits(start, end);
        stack.push(end);
        admitted
    })
}

struct Lane<Row> {
    rows: Vec<Row>,
    stack: Stack,
}

/// The ends of the slices of one lane that are still open, outermost first.
#[derive(Default)]
struct Stack {
    ends: Vec<u64>,
}

impl Stack {
    /// Whether a slice can be drawn here; closes those that ended before it.
    fn admits(&mut self, start: u64, end: u64) -> bool {
        while self.ends.pop_if(|open| *open <= start).is_some() {}
        self.ends.last().is_none_or(|open| *open >= end)
    }

    fn push(&mut self, end: u64) {
        self.ends.push(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lanes_of(spans: &[(u64, u64)]) -> Vec<Vec<usize>> {
        spread((0..spans.len()).collect(), |row| spans[row])
    }

    #[test]
    fn nested_and_touching_slices_share_a_lane() {
        assert_eq!(
            lanes_of(&[(0, 10), (10, 20), (12, 15), (15, 20), (10, 10), (20, 20)]),
            [[0, 1, 4, 2, 3, 5]]
        );
    }

    #[test]
    fn a_slice_that_outlasts_the_one_it_began_in_moves_to_another_lane() {
        assert_eq!(lanes_of(&[(0, 10), (5, 15), (10, 12)]), vec![vec![0, 2], vec![1]]);
    }

    #[test]
    fn however_many_overlap_finding_a_lane_stays_quick() {
        // Each begins inside all before it and ends after them.
        let count = 200_000;
        let spans: Vec<_> = (0..count).map(|n| (n, n + count)).collect();
        let started = std::time::Instant::now();
        assert_eq!(lanes_of(&spans).len(), spans.len());
        assert!(started.elapsed().as_secs() < 20, "took {:?}", started.elapsed());
    }

    proptest! {
        #[test]
        fn every_row_is_on_one_lane_and_no_two_of_a_lane_cross(
            spans in proptest::collection::vec((0u64..60, 0u64..30), 0..150)
        ) {
            let spans: Vec<_> = spans.into_iter().map(|(start, length)| (start, start + length)).collect();
            let lanes = lanes_of(&spans);
            let mut seen: Vec<usize> = lanes.iter().flatten().copied().collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..spans.len()).collect::<Vec<_>>());
            for lane in &lanes {
                for (index, &first) in lane.iter().enumerate() {
                    for &second in &lane[index + 1..] {
                        let (outer, inner) = (spans[first], spans[second]);
                        prop_assert!(outer.1 <= inner.0 || (outer.0 <= inner.0 && inner.1 <= outer.1));
                    }
                }
            }
        }
    }
}
