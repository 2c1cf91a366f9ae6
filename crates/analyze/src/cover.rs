//! Spans of time laid over one another: what at least one of them covers, and the gaps between.

use opscope_trace::Nanoseconds;

/// A begin and an end.
pub(crate) type Span = (Nanoseconds, Nanoseconds);

/// The time that at least one of many spans covers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cover {
    /// Without overlaps, in order.
    spans: Vec<Span>,
    /// The time covered before each of them.
    before: Vec<Nanoseconds>,
}

impl Cover {
    /// Lays spans over one another; those that end before they begin cover nothing.
    pub fn of(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut all: Vec<Span> = spans.into_iter().filter(|(start, end)| start < end).collect();
        all.sort_unstable();
        let mut cover = Self::default();
        for (start, end) in all {
            match cover.spans.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => cover.spans.push((start, end)),
            }
        }
        let mut covered = Nanoseconds::ZERO;
        for (start, end) in &cover.spans {
            cover.before.push(covered);
            covered += *end - *start;
        }
        cover
    }

    /// The covered stretches in order.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// All covered time.
    pub fn total(&self) -> Nanoseconds {
        self.until(Nanoseconds(i64::MAX))
    }

    /// The covered time within a span.
    pub fn within(&self, (start, end): Span) -> Nanoseconds {
        if start < end { self.until(end) - self.until(start) } else { Nanoseconds::ZERO }
    }

    /// The longest stretch of a span that nothing covers.
    pub fn longest_gap(&self, (start, end): Span) -> Option<Span> {
        let first = self.spans.partition_point(|(_, stop)| *stop <= start);
        let mut longest: Option<Span> = None;
        let mut reached = start;
        let mut look_at = |gap: Span| {
            if gap.0 < gap.1 && longest.is_none_or(|known| gap.1 - gap.0 > known.1 - known.0) {
                longest = Some(gap);
            }
        };
        for (begin, stop) in self.spans[first..].iter().take_while(|(begin, _)| *begin < end) {
            look_at((reached, *begin));
            reached = *stop;
        }
        look_at((reached, end));
        longest
    }

    fn until(&self, time: Nanoseconds) -> Nanoseconds {
        let after = self.spans.partition_point(|(start, _)| *start < time);
        let Some(last) = after.checked_sub(1) else { return Nanoseconds::ZERO };
        let (start, end) = self.spans[last];
        self.before[last] + (end.min(time) - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: i64, end: i64) -> Span {
        (Nanoseconds(start), Nanoseconds(end))
    }

    #[test]
    fn each_moment_is_covered_once() {
        let cover = Cover::of([span(10, 20), span(15, 30), span(30, 40), span(60, 70), span(9, 3)]);
        assert_eq!(cover.spans(), [span(10, 40), span(60, 70)]);
        assert_eq!(cover.total(), Nanoseconds(40));
        assert_eq!(cover.within(span(0, 65)), Nanoseconds(35));
        assert_eq!(cover.within(span(20, 25)), Nanoseconds(5));
        assert_eq!(cover.within(span(41, 50)), Nanoseconds::ZERO);
        assert_eq!(cover.within(span(50, 41)), Nanoseconds::ZERO);
    }

    #[test]
    fn the_longest_gap_is_cut_to_the_span_that_is_asked_about() {
        let cover = Cover::of([span(10, 20), span(50, 60)]);
        assert_eq!(cover.longest_gap(span(0, 100)), Some(span(60, 100)));
        assert_eq!(cover.longest_gap(span(0, 70)), Some(span(20, 50)));
        assert_eq!(cover.longest_gap(span(15, 25)), Some(span(20, 25)));
        assert_eq!(cover.longest_gap(span(12, 18)), None);
        assert_eq!(Cover::default().longest_gap(span(1, 2)), Some(span(1, 2)));
    }
}
