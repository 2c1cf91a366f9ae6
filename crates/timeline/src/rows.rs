//! The lanes of a timeline taken apart into rows, on which nothing overlaps.

use opscope_trace::{RangeKind, Trace};

use crate::layout::{Layout, Rows};

/// A lane has at most as many rows. What lies deeper comes out of damaged or hostile files; it is counted,
/// because a picture of it would be as tall as the file is long.
const DEEPEST: usize = 1_000;

/// The slices of a lane at one depth, in the order of time. They don't overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number of the lane.
    pub lane: usize,
    /// How many slices lie around each of these.
    pub depth: usize,
    /// The slices by their places in the lane's rows of the trace.
    pub slices: Vec<u32>,
}

/// The rows of all lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    /// The rows, those of one lane behind those of another, the outermost first.
    pub rows: Vec<Row>,
    /// Slices that lie too deep to be drawn.
    pub too_deep: usize,
}

impl Layout {
    /// Start and end of a slice on the time line; a mark has no extent.
    ///
    /// # Panics
    /// If the lane has no such slice, or the layout is that of another trace.
    pub fn span(&self, trace: &Trace, lane: usize, slice: usize) -> (u64, u64) {
        let (start, duration) = match &self.lanes[lane].rows {
            Rows::Iterations(ids) => {
                let row = trace.iterations.get(ids[slice]);
                (row.start, row.duration)
            }
            Rows::Unrecorded(ids) => {
                let row = trace.unrecorded_iterations.get(ids[slice]);
                (row.start, row.duration)
            }
            Rows::Calls(ids) => {
                let index = ids[slice].index();
                (trace.api_calls.start()[index], trace.api_calls.duration()[index])
            }
            Rows::Ranges(ids) => {
                let row = trace.ranges.get(ids[slice]);
                (row.start, if row.kind == RangeKind::Mark { Default::default() } else { row.duration })
            }
            Rows::Tasks(ids) => {
                let index = ids[slice].index();
                (trace.tasks.start()[index], trace.tasks.duration()[index])
            }
        };
        self.time_line.span(start, duration)
    }

    /// Takes the lanes apart.
    pub fn depths(&self, trace: &Trace) -> Depths {
        let mut depths = Depths::default();
        for (lane, content) in self.lanes.iter().enumerate() {
            let first = depths.rows.len();
            let mut open: Vec<u64> = Vec::new();
            for slice in 0..content.rows.len() {
                let (start, end) = self.span(trace, lane, slice);
                while open.pop_if(|around| *around <= start).is_some() {}
                let depth = open.len();
                open.push(end);
                if depth >= DEEPEST {
                    depths.too_deep += 1;
                    continue;
                }
                if first + depth == depths.rows.len() {
                    depths.rows.push(Row { lane, depth, slices: Vec::new() });
                }
                // A table has fewer rows than 2^32.
                depths.rows[first + depth].slices.push(slice as u32);
            }
        }
        depths
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Nanoseconds, Task};
    use proptest::prelude::*;

    use super::*;

    fn trace_of(spans: &[(i64, i64)]) -> Trace {
        let mut trace = Trace::new();
        let name = trace.strings.intern("op");
        for &(start, duration) in spans {
            trace.tasks.push(Task::new(name, Nanoseconds(start), Nanoseconds(duration)));
        }
        trace
    }

    #[test]
    fn what_lies_within_another_slice_is_on_the_row_below() {
        let trace = trace_of(&[(0, 100), (10, 20), (30, 10), (12, 5), (100, 0), (100, 7)]);
        let depths = Layout::new(&trace).depths(&trace);
        let starts: Vec<(usize, Vec<u64>)> = depths
            .rows
            .iter()
            .map(|row| {
                let layout = Layout::new(&trace);
                let starts = row.slices.iter().map(|&slice| layout.span(&trace, row.lane, slice as usize).0);
                (row.depth, starts.collect())
            })
            .collect();
        assert_eq!(starts, [(0, vec![0, 100]), (1, vec![10, 30, 100]), (2, vec![12])]);
    }

    #[test]
    fn slices_nested_without_end_are_counted_instead_of_drawn() {
        let nested: Vec<(i64, i64)> = (0..5_000).map(|n| (n, 20_000 - 2 * n)).collect();
        let trace = trace_of(&nested);
        let depths = Layout::new(&trace).depths(&trace);
        assert_eq!((depths.rows.len(), depths.too_deep), (DEEPEST, 5_000 - DEEPEST));
    }

    proptest! {
        #[test]
        fn every_slice_is_on_one_row_and_nothing_on_a_row_overlaps(
            spans in proptest::collection::vec((0i64..300, 0i64..60), 0..200)
        ) {
            let trace = trace_of(&spans);
            let layout = Layout::new(&trace);
            let depths = layout.depths(&trace);
            prop_assert_eq!(depths.rows.iter().map(|row| row.slices.len()).sum::<usize>(), spans.len());
            for row in &depths.rows {
                let spans: Vec<_> =
                    row.slices.iter().map(|&slice| layout.span(&trace, row.lane, slice as usize)).collect();
                prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{:?}", spans);
            }
        }
    }
}
