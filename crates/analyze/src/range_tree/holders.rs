//! The shortest range that holds another whole, however ranges cross one another.
//!
//! Of ranges that began before, those hold another that end no earlier. So all ends of a lane lie in a Fenwick tree,
//! the last first, and the shortest range of a prefix is the answer: each takes a time that grows with the logarithm
//! of their number.

use std::cmp::Reverse;

use opscope_trace::Nanoseconds;

use crate::cover::Span;

/// The duration of a range and its place in its lane; of ranges that last as long the last begun is the least.
type Holder = (Nanoseconds, Reverse<usize>);

/// The ranges of a lane that began so far.
pub(super) struct Holders {
    /// The ends of all ranges of the lane, the last first.
    ends: Vec<Nanoseconds>,
    shortest: Vec<Option<Holder>>,
}

impl Holders {
    /// None of the ranges of a lane, whose ends are given in any order.
    pub fn new(ends: impl Iterator<Item = Nanoseconds>) -> Self {
        let mut ends: Vec<Nanoseconds> = ends.collect();
        ends.sort_unstable_by_key(|end| Reverse(*end));
        ends.dedup();
        Self { shortest: vec![None; ends.len()], ends }
    }

    /// Enters the range of a place, which begins no earlier than those before it.
    pub fn enter(&mut self, place: usize, (start, end): Span) {
        let new: Holder = (end - start, Reverse(place));
        let mut at = self.ends.partition_point(|known| *known > end) + 1;
        while let Some(known) = self.shortest.get_mut(at - 1) {
            *known = Some(known.map_or(new, |known| known.min(new)));
            at += at & at.wrapping_neg();
        }
    }

    /// The place of the shortest range so far that holds a span which begins next; one that ends when it begins
    /// holds it no more.
    pub fn of(&self, (start, end): Span) -> Option<usize> {
        let mut count = self.ends.partition_point(|known| *known >= end && *known > start);
        let mut shortest: Option<Holder> = None;
        while count > 0 {
            shortest = shortest.into_iter().chain(self.shortest[count - 1]).min();
            count &= count - 1;
        }
        shortest.map(|(_, Reverse(place))| place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The holder of each of some ranges in their order.
    fn holders(spans: &[Span]) -> Vec<Option<usize>> {
        let mut holders = Holders::new(spans.iter().map(|(_, end)| *end));
        let mut found = Vec::with_capacity(spans.len());
        for (place, &span) in spans.iter().enumerate() {
            found.push(holders.of(span));
            holders.enter(place, span);
        }
        found
    }

    proptest! {
        #[test]
        fn the_holder_is_the_shortest_that_holds_a_range_whole(
            mut ranges in proptest::collection::vec((0_i64..40, -3_i64..30), 0..30),
        ) {
            ranges.sort_by_key(|&(start, long)| (start, -long));
            let spans: Vec<Span> =
                ranges.iter().map(|&(start, long)| (Nanoseconds(start), Nanoseconds(start + long))).collect();
            let expected: Vec<Option<usize>> = (0..spans.len())
                .map(|place| {
                    let (start, end) = spans[place];
                    let holds = |other: &usize| spans[*other].1 >= end && spans[*other].1 > start;
                    (0..place).filter(holds).min_by_key(|&other| (ranges[other].1, Reverse(other)))
                })
                .collect();
            prop_assert_eq!(holders(&spans), expected);
        }
    }
}
