//! The way from A's figure to B's, step by step.
//!
//! The steps always sum to the change of the figures that are compared. Operators' own times seldom
//! account for all of it: between operators the device waits, operators run side by side, and a figure
//! may be of other inferences than the operators'. The rest is a step of its own.

use opscope_trace::Nanoseconds;

use super::{Basis, ChangeFamily, Comparison, Group};

/// A step of the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<'c, 't> {
    /// The part of the inference that changed.
    pub what: What<'c, 't>,
    /// By how much: B less A.
    pub delta: Nanoseconds,
}

/// The part of the inference that a step is of.
#[derive(Clone, Debug, PartialEq)]
pub enum What<'c, 't> {
    /// Operators that belong together.
    Group(&'c Group<'t>),
    /// Several groups with the same story.
    Family(ChangeFamily<'c, 't>),
    /// The lesser changes of so many groups or stories.
    Others(usize),
    /// The time of an inference in which no operator ran.
    Outside,
    /// The rest that operators' times don't account for. They were recorded in other inferences than those that
    /// are compared, or there is more of them than of the inference on a side: they ran side by side.
    Unexplained,
}

impl<'t> Comparison<'t> {
    /// The part of both figures that operators' own times leave; below zero where they are more.
    pub fn outside(&self) -> (Nanoseconds, Nanoseconds) {
        (self.before - self.operators.0, self.after - self.operators.1)
    }

    /// The `count` greatest changes of operators, the others together, and what operators leave. With
    /// `each`, groups of the same story stay apart.
    pub fn waterfall(&self, count: usize, each: bool) -> Vec<Step<'_, 't>> {
        let mut steps: Vec<Step<'_, 't>> = match each {
            true => self.groups.iter().map(single).collect(),
            false => self.families().into_iter().map(together).collect(),
        };
        steps.retain(|step| step.delta.0 != 0);
        let others = steps.split_off(count.min(steps.len()));
        let rest: Nanoseconds = others.iter().map(|step| step.delta).sum();
        if rest.0 != 0 {
            steps.push(Step { what: What::Others(others.len()), delta: rest });
        }
        let told: Nanoseconds = steps.iter().map(|step| step.delta).sum();
        let left = self.after - self.before - told;
        if left.0 != 0 {
            let (before, after) = self.outside();
            let is_outside = self.basis != Basis::Unrecorded && before.0 >= 0 && after.0 >= 0;
            steps
                .push(Step { what: if is_outside { What::Outside } else { What::Unexplained }, delta: left });
        }
        steps
    }
}

fn single<'c, 't>(group: &'c Group<'t>) -> Step<'c, 't> {
    Step { what: What::Group(group), delta: group.delta }
}

fn together<'c, 't>(family: ChangeFamily<'c, 't>) -> Step<'c, 't> {
    match family.count {
        1 => single(family.greatest),
        _ => Step { delta: family.delta, what: What::Family(family) },
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::*;
    use proptest::prelude::*;

    use super::*;

    /// A profile of operators by type and microseconds in each of so many inferences, with a gap behind
    /// each of them; inferences are recorded as iterations, as calls that execute a model, or not at all.
    fn profile(operators: &[(u8, u32)], inferences: &[u32], recorded_as: u8) -> Trace {
        let mut trace = Trace::new();
        let mut start = 0;
        for (number, gap) in inferences.iter().enumerate() {
            let from = start;
            let mut tasks = Vec::new();
            for (place, (kind, micros)) in operators.iter().enumerate() {
                let name = trace.strings.intern(&format!("op{place}"));
                let op_type =
                    trace.strings.intern(["Conv", "Relu", "BatchNormalization", "Pool"][*kind as usize % 4]);
                let operator = trace.operators.push(Operator::new(name, op_type));
                let duration = Nanoseconds(i64::from(*micros) + i64::from(*gap) / 3);
                tasks
                    .push(Task { operator: Some(operator), ..Task::new(name, Nanoseconds(start), duration) });
                start += duration.0;
            }
            start += i64::from(*gap);
            let (begin, duration) = (Nanoseconds(from), Nanoseconds(start - from));
            let iteration = (recorded_as == 0).then(|| {
                let number = number as u32;
                trace.iterations.push(Iteration {
                    model: None,
                    number,
                    warm_up: false,
                    start: begin,
                    duration,
                })
            });
            if recorded_as == 1 {
                let name = trace.strings.intern("aclmdlExecute");
                let (thread, level, iteration) = (None, ApiLevel::Application, None);
                trace.api_calls.push(ApiCall { thread, level, name, start: begin, duration, iteration });
            }
            for task in tasks {
                trace.tasks.push(Task { iteration, ..task });
            }
        }
        trace
    }

    fn operators() -> impl Strategy<Value = Vec<(u8, u32)>> {
        prop::collection::vec((0u8..4, 0u32..100_000), 0..8)
    }

    fn inferences() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(1u32..1_000_000, 1..6)
    }

    proptest! {
        #[test]
        fn the_steps_sum_to_the_change_of_the_headline(
            a in operators(), b in operators(), of_a in inferences(), of_b in inferences(),
            kinds in (0u8..3, 0u8..3), count in 0usize..6, each: bool,
        ) {
            let (a, b) = (profile(&a, &of_a, kinds.0), profile(&b, &of_b, kinds.1));
            let mut comparison = Comparison::of(&a, &b);
            let sum = |comparison: &Comparison<'_>| -> i64 {
                comparison.waterfall(count, each).iter().map(|step| step.delta.0).sum()
            };
            prop_assert_eq!(sum(&comparison), comparison.after.0 - comparison.before.0);
            // The headline may be taken by anything: here by the shortest inferences instead of the mean.
            comparison.before = Nanoseconds(i64::from(of_a.iter().copied().min().unwrap_or(0)));
            comparison.after = Nanoseconds(i64::from(of_b.iter().copied().min().unwrap_or(0)));
            prop_assert_eq!(sum(&comparison), comparison.after.0 - comparison.before.0);
        }

        #[test]
        fn operators_are_those_of_one_inference_however_inferences_were_recorded(
            operators in operators(), inferences in inferences(),
        ) {
            let of = |recorded_as| {
                let trace = profile(&operators, &inferences, recorded_as);
                let comparison = Comparison::of(&trace, &trace);
                (comparison.operators.0, comparison.before)
            };
            prop_assert_eq!(of(0), of(1));
        }
    }

    #[test]
    fn what_operators_leave_is_a_step_of_its_own() {
        let (before, after) = (profile(&[(0, 1_000)], &[9_000], 0), profile(&[(0, 600)], &[3_000], 0));
        let comparison = Comparison::of(&before, &after);
        let steps: Vec<_> =
            comparison.waterfall(10, false).into_iter().map(|it| (it.what, it.delta.0)).collect();
        // The generated operators take a third of the gap besides.
        let [(What::Group(group), operators), (What::Outside, outside)] = &steps[..] else {
            panic!("{steps:?}")
        };
        assert_eq!((group.delta.0, *operators, *outside), (-2_400, -2_400, -6_000));
    }

    #[test]
    fn what_operators_of_other_inferences_leave_is_not_said_to_lie_between_them() {
        let timed = |gap: u32, micros: i64| {
            let mut trace = profile(&[(0, 1_000)], &[gap], 0);
            let (number, start, duration) = (1, Nanoseconds(0), Nanoseconds(micros));
            let row = UnrecordedIteration { model: None, number, warm_up: false, start, duration };
            trace.unrecorded_iterations.push(row);
            trace
        };
        let (before, after) = (timed(3_000, 9_000), timed(3_000, 12_000));
        let comparison = Comparison::of(&before, &after);
        let steps: Vec<_> =
            comparison.waterfall(10, false).into_iter().map(|it| (it.what, it.delta.0)).collect();
        assert_eq!(steps, [(What::Unexplained, 3_000)]);
    }
}
