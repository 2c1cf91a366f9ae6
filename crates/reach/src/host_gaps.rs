//! Gaps in which a device waits for its host: it has nothing to do, and the task behind the gap starts as soon as it is
//! launched.

use std::collections::BTreeMap;

use crate::read::{Call, Span};

/// The time within which a task starts on an idle device once it is launched, in nanoseconds.
const AT_ONCE: i64 = 20_000;

/// The calls under way at a time that are looked at.
const MOST_OPEN: usize = 256;

/// The gaps before computing tasks, by start and end. `spans` are all computing tasks by start, `collectives` and
/// `copies` start and end of these, by start, `steps` the begins of steps: a gap before the first task or collective of
/// a step doesn't count, which may have copies of its input before it.
pub fn of(
    spans: &[Span],
    collectives: &[(i64, i64)],
    copies: &[(i64, i64)],
    steps: &[i64],
) -> Vec<(i64, i64)> {
    let mut collectives = collectives.iter().copied().peekable();
    let mut copies = copies.iter().copied().peekable();
    let mut gaps = Vec::new();
    let (mut busy_until, mut last_start) = (i64::MIN, i64::MIN);
    for span in spans {
        while let Some((start, end)) = collectives.next_if(|(start, _)| *start < span.start) {
            busy_until = busy_until.max(end);
            last_start = last_start.max(start);
        }
        while let Some((_, end)) = copies.next_if(|(start, _)| *start < span.start) {
            busy_until = busy_until.max(end);
        }
        let is_first = busy_until == i64::MIN;
        let is_waited_for =
            span.launch.time().is_some_and(|launch| span.start.saturating_sub(launch) < AT_ONCE);
        let begins = steps.partition_point(|step| *step <= span.start);
        // A task that began before may end within the step.
        let is_at_begin = begins.checked_sub(1).is_some_and(|step| steps[step] > last_start);
        if busy_until < span.start && is_waited_for && !is_first && !is_at_begin {
            gaps.push((busy_until, span.start));
        }
        busy_until = busy_until.max(span.end);
        last_start = span.start;
    }
    gaps
}

/// The rest of spans of time, each of which counts once, without those in which something else ran. All are start and
/// end, by start.
pub fn without(spans: impl IntoIterator<Item = (i64, i64)>, others: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut others = others.iter().copied().peekable();
    let (mut left, mut taken_until) = (Vec::new(), i64::MIN);
    for (start, end) in spans {
        let mut from = start.max(taken_until);
        while let Some((begin, until)) = others.next_if(|(begin, _)| *begin < end) {
            if from < begin {
                left.push((from, begin));
            }
            taken_until = taken_until.max(until);
            from = from.max(until);
        }
        if from < end {
            left.push((from, end));
        }
        taken_until = taken_until.max(end);
    }
    left
}

/// Whether a call spans more than half of a gap.
pub fn spans_most(call: &Call, (start, end): (i64, i64)) -> bool {
    let both = call.end.min(end).saturating_sub(call.start.max(start)).max(0);
    both > end.saturating_sub(start) / 2
}

/// The call in which most of the time in gaps lies, if it is half of it: of calls within one another, the shortest that
/// spans most of a gap counts. `gaps` and `calls` are by start.
pub fn call_in_most<'c>(gaps: &[(i64, i64)], calls: &'c [Call]) -> Option<&'c str> {
    let mut by_name: BTreeMap<&str, i64> = BTreeMap::new();
    let mut next = calls.iter().peekable();
    let mut open: Vec<&Call> = Vec::new();
    let mut whole = 0_i64;
    for &(start, end) in gaps {
        whole = whole.saturating_add(end - start);
        while let Some(call) = next.next_if(|call| call.start < end) {
            open.push(call);
        }
        open.retain(|call| call.end > start);
        // No program has more calls within one another.
        if open.len() > MOST_OPEN {
            open.sort_by_key(|call| call.end - call.start);
            open.truncate(MOST_OPEN);
        }
        let around = open.iter().filter(|call| spans_most(call, (start, end)));
        if let Some(call) = around.min_by_key(|call| call.end - call.start) {
            *by_name.entry(&call.name).or_default() += end - start;
        }
    }
    let (name, time) = by_name.into_iter().max_by_key(|(_, time)| *time)?;
    (time >= whole / 2).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_something_else_ran_is_taken_off_once() {
        let others = [(0, 12), (15, 18), (16, 17), (29, 45), (60, 61)];
        let left = without([(10, 20), (18, 30), (40, 50), (70, 80)], &others);
        assert_eq!(left, [(12, 15), (18, 20), (20, 29), (45, 50), (70, 80)]);
    }
    use crate::read::Launch;

    fn span(start: i64, end: i64, launched: i64) -> Span {
        Span { start, end, key: 0, launch: Launch::at(Some(launched)) }
    }

    #[test]
    fn a_gap_counts_whose_task_was_launched_just_before_it_started() {
        let spans = [
            span(100_000, 200_000, 90_000),
            // Launched long before: the device had something else in mind.
            span(300_000, 400_000, 150_000),
            span(450_000, 500_000, 445_000),
            // A collective ran meanwhile.
            span(900_000, 950_000, 899_000),
            Span { launch: Launch::UNTOLD, ..span(990_000, 995_000, 0) },
            // The begin of a step.
            span(1_200_000, 1_300_000, 1_199_000),
            span(1_350_000, 1_400_000, 1_360_000),
            // The begin of another, into which a collective of the one before reaches.
            span(1_600_000, 1_700_000, 1_599_000),
        ];
        let collectives = [(510_000, 880_000), (1_390_000, 1_520_000)];
        // The input of that step.
        let copies = [(1_530_000, 1_540_000)];
        let gaps = of(&spans, &collectives, &copies, &[0, 1_100_000, 1_500_000]);
        assert_eq!(gaps, [(400_000, 450_000), (880_000, 900_000), (1_300_000, 1_350_000)]);
    }

    #[test]
    fn the_shortest_call_around_most_gaps_is_named() {
        let call = |name: &str, start, end| Call { name: name.into(), start, end };
        let calls = [
            call("module", 0, 1_000),
            call("aten::item", 90, 205),
            call("aten::short", 110, 120),
            call("aten::item", 390, 505),
            call("aten::add", 700, 760),
        ];
        assert_eq!(call_in_most(&[(100, 200), (400, 500), (700, 750)], &calls), Some("aten::item"));
        assert_eq!(call_in_most(&[(100, 200), (2_000, 2_500)], &calls), None);
        assert_eq!(call_in_most(&[], &calls), None);
    }
}
