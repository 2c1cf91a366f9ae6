//! How much of two profiles is compared: an average iteration of each, or all of both.
//!
//! Where only one of them knows its iterations, the other may hold one inference (a table of a single
//! run) or many (operators that a program launched one by one). The numbers of executions decide.

use opscope_trace::Trace;

use crate::Measured;
use crate::measured::work;

/// How much is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// Whether all of both profiles is.
    pub whole: bool,
    /// How many times the executions of A what is compared of B has, where only one of them knows its
    /// iterations.
    pub work: Option<f64>,
}

impl Extent {
    pub fn of(before: &Trace, after: &Trace) -> Self {
        let usual = Self { whole: false, work: None };
        let has_tasks = [before, after].iter().all(|trace| work(trace).next().is_some());
        if !has_tasks || before.iterations.is_empty() == after.iterations.is_empty() {
            return usual;
        }
        let in_all = |trace: &Trace| work(trace).count() as f64;
        let in_one = |trace: &Trace| {
            let measured = Measured::of(trace);
            measured.tasks.len() as f64 / measured.count() as f64
        };
        let whole = in_all(after) / in_all(before);
        let average = in_one(after) / in_one(before);
        match whole.ln().abs() < average.ln().abs() {
            true => Self { whole: true, work: Some(whole) },
            false => Self { whole: false, work: Some(average) },
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Iteration, Nanoseconds, Task};

    use super::*;

    /// A profile of iterations with three tasks each; what says whether it knows them.
    fn profile(iterations: u32, is_known: bool) -> Trace {
        let mut trace = Trace::new();
        let name = trace.strings.intern("conv");
        for number in 1..=iterations {
            let (start, duration) = (Nanoseconds(i64::from(number) * 100), Nanoseconds(90));
            let row = Iteration { model: None, number, warm_up: false, start, duration };
            let iteration = is_known.then(|| trace.iterations.push(row));
            for _ in 0..3 {
                trace.tasks.push(Task { iteration, ..Task::new(name, start, Nanoseconds(5)) });
            }
        }
        trace
    }

    #[test]
    fn the_extent_is_that_in_which_the_work_is_most_alike() {
        let of = |a: &Trace, b: &Trace| Extent::of(a, b);
        let (ten, single, loose) = (profile(10, true), profile(1, false), profile(10, false));
        assert_eq!(of(&ten, &profile(5, true)), Extent { whole: false, work: None });
        assert_eq!(of(&loose, &single), Extent { whole: false, work: None });
        assert_eq!(of(&ten, &single), Extent { whole: false, work: Some(1.0) });
        assert_eq!(of(&ten, &loose), Extent { whole: true, work: Some(1.0) });
        assert_eq!(of(&profile(2, false), &ten), Extent { whole: false, work: Some(0.5) });
        assert_eq!(of(&ten, &Trace::new()), Extent { whole: false, work: None });
    }
}
