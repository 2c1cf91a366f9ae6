//! Time in which no task of the device ran, so that a wait counts as idle time only as far as it is.

use opscope_analyze::{IterationSpans, is_work};
use opscope_trace::{IterationId, Nanoseconds, Trace};

type Span = (Nanoseconds, Nanoseconds);

/// The stretches between tasks, whichever stream, engine or inference those are of.
#[derive(Default)]
pub(crate) struct Idle {
    /// In order, without overlaps.
    gaps: Vec<Span>,
    /// From the first task to the last.
    extent: Span,
    iterations: IterationSpans,
}

impl Idle {
    /// Looks at all tasks but those that only handle streams.
    pub fn of(trace: &Trace) -> Self {
        let tasks = &trace.tasks;
        let rows = tasks.unit().iter().zip(tasks.start().iter().zip(tasks.duration()));
        let rows = rows.filter(|(unit, _)| is_work(**unit));
        let mut busy: Vec<Span> = rows.map(|(_, (start, duration))| (*start, *start + *duration)).collect();
        busy.sort_unstable();
        let first = busy.first().map_or(Nanoseconds::ZERO, |(start, _)| *start);
        let iterations = IterationSpans::of(trace);
        let mut idle = Self { gaps: Vec::new(), extent: (first, first), iterations };
        for (start, end) in busy {
            if start > idle.extent.1 {
                idle.gaps.push((idle.extent.1, start));
            }
            idle.extent.1 = idle.extent.1.max(end);
        }
        idle
    }

    /// The idle stretches of a wait that ends at a time, within the inference of the operator that waited.
    /// In a profile that knows inferences, none of an operator that belongs to none.
    pub fn in_wait(
        &self,
        trace: &Trace,
        iteration: Option<IterationId>,
        wait: Nanoseconds,
        until: Nanoseconds,
    ) -> impl Iterator<Item = Span> {
        let (first, last) = match iteration {
            Some(id) => self.iterations.span(id),
            None if trace.iterations.is_empty() => self.extent,
            None => (until, until),
        };
        let (start, end) = (first.max(until - wait), last.min(until));
        let from = self.gaps.partition_point(|gap| gap.1 <= start);
        let gaps = self.gaps[from..].iter().take_while(move |gap| gap.0 < end);
        gaps.map(move |gap| (gap.0.max(start), gap.1.min(end))).filter(|gap| gap.0 < gap.1)
    }
}
