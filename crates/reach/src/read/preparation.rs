//! The preparation of a step: the time from its begin to its first task.
//!
//! Tables of the vendor's tell it beside the other parts, which begin with that task. Other writers count it among the
//! time in which nothing ran, and tell it besides. Which of both it is, the extent of what was recorded shows.

use super::Recording;

/// Takes the preparation out of the time in which nothing ran, where it was counted there.
pub fn tell_apart(recording: &mut Recording) {
    if !is_counted_twice(recording) {
        return;
    }
    for stated in recording.stated.values_mut() {
        let preparing = stated.preparing.unwrap_or(0.0);
        stated.free = stated.free.map(|free| (free - preparing).max(0.0));
    }
    for step in recording.steps.iter_mut().filter(|step| step.start_ns.is_none()) {
        step.duration_ns = (step.duration_ns - step.preparing_ns.unwrap_or(0)).max(0);
    }
}

/// Whether the steps, one behind the other, are longer than what was recorded by what they were prepared. Collectives alone
/// don't show when the first task of a step began.
fn is_counted_twice(recording: &Recording) -> bool {
    if recording.tasks.is_empty() {
        return false;
    }
    let preparing = |step: &crate::rows::StepRow| step.preparing_ns.unwrap_or(0) as f64;
    let steps = || recording.steps.iter().filter(|step| step.start_ns.is_none());
    let (Some(first), all) = (steps().next().map(preparing), steps().map(preparing).sum::<f64>()) else {
        return false;
    };
    let Some((begin, end)) = extent(recording) else { return false };
    let told = steps().map(|step| step.duration_ns as f64).sum::<f64>() - first;
    let recorded = end.saturating_sub(begin) as f64;
    all > 0.0 && (told - all - recorded).abs() < (told - recorded).abs()
}

/// The first begin and the last end of all that was recorded.
fn extent(recording: &Recording) -> Option<(i64, i64)> {
    let tasks = recording.tasks.iter().map(|task| (task.start_ns, task.end_ns));
    let collectives = recording.collectives.iter().map(|row| (row.start_ns, row.end_ns()));
    tasks.chain(collectives).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use super::super::StatedStep;
    use super::*;
    use crate::rows::TaskSpan;

    /// The length and the free time of the second of two steps, whose parts are stated in microseconds, beside tasks of so
    /// many microseconds.
    fn told(free: f64, until_us: i64) -> (i64, Option<f64>) {
        let mut recording = Recording::default();
        for step in [1, 2] {
            let stated = StatedStep {
                computing: Some(900.0),
                exposed: Some(0.0),
                overlapped: Some(0.0),
                free: Some(free),
                preparing: Some(100.0),
            };
            recording.stated_step(step, stated);
        }
        recording.tasks.push(TaskSpan { start_ns: 1_000_000, end_ns: 1_000_000 + until_us * 1_000 });
        tell_apart(&mut recording);
        (recording.steps[1].duration_ns, recording.stated[&2].free)
    }

    #[test]
    fn preparation_is_a_part_of_its_own_wherever_it_was_counted() {
        // Two steps of 1000 us, each prepared for 100 of them: the first task comes then.
        assert_eq!(told(0.0, 1_900), (1_000_000, Some(0.0)));
        assert_eq!(told(100.0, 1_900), (1_000_000, Some(0.0)));
        // Two steps of 1100 us.
        assert_eq!(told(100.0, 2_100), (1_100_000, Some(100.0)));
    }
}
