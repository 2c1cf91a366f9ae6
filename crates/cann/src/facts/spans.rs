//! Sets of stretches of time.

use opscope_columns::Column;

/// Begins and ends.
pub(crate) type Spans = Column<(i64, i64)>;

/// The union of the stretches, by begin.
pub(crate) fn union(mut spans: Spans) -> Spans {
    spans.sort_unstable();
    let mut covered = Spans::new();
    spans.iter().for_each(|span| extend(&mut covered, *span));
    covered
}

/// Adds a stretch to others without overlaps; it begins after the begin of all of them.
pub(crate) fn extend(spans: &mut Spans, span: (i64, i64)) {
    match spans.last_mut().filter(|last| span.0 <= last.1) {
        Some(last) => last.1 = last.1.max(span.1),
        None => spans.push(span),
    }
}

/// The parts of `whole` outside of `taken`; both are by begin and don't overlap in themselves.
pub(crate) fn outside(whole: &[(i64, i64)], taken: &[(i64, i64)]) -> Spans {
    let mut rest = Spans::new();
    let mut next = 0;
    for &(start, end) in whole {
        while taken.get(next).is_some_and(|(_, taken_end)| *taken_end <= start) {
            next += 1;
        }
        let mut from = start;
        for &(taken_start, taken_end) in taken[next..].iter().take_while(|(begin, _)| *begin < end) {
            if from < taken_start {
                rest.push((from, taken_start));
            }
            from = from.max(taken_end);
        }
        if from < end {
            rest.push((from, end));
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_is_joined() {
        assert_eq!(*union(vec![(5, 6), (0, 2), (2, 3), (1, 2)].into()), [(0, 3), (5, 6)]);
        assert!(union(Spans::new()).is_empty());
    }

    #[test]
    fn what_is_taken_is_cut_out() {
        let taken = [(0, 1), (3, 4), (6, 12), (19, 21)];
        assert_eq!(*outside(&[(2, 10), (11, 20)], &taken), [(2, 3), (4, 6), (12, 19)]);
        assert_eq!(*outside(&[(2, 10)], &[]), [(2, 10)]);
        assert!(outside(&[(2, 3)], &[(0, 9)]).is_empty());
    }
}
