//! Running a model often enough to know how long it takes.

use std::time::{Duration, Instant};

use opscope_trace::Nanoseconds;

use crate::engine::{DEFAULT_BUDGET, Engine, Interrupt, RunClock, Window};
use crate::error::RunError;
use crate::memory::MemoryLog;
use crate::turn::Turn;

/// How often to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repetition {
    /// Measured iterations of each kind, unrecorded and recorded; `None` is as many as fit the time
    /// budget, at least 10.
    pub iterations: Option<usize>,
    /// Iterations of each kind before them, which are kept but marked; `None` is 2.
    pub warm_up: Option<usize>,
    /// The time budget of the measured iterations of both kinds together; `None` is 3 seconds.
    pub budget: Option<Duration>,
}

/// How far a measurement has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether it is still warming up.
    pub warming_up: bool,
    /// Iterations done in this part.
    pub done: usize,
    /// Iterations of this part, as far as is known.
    pub planned: usize,
    /// How long the last one took.
    pub last: Nanoseconds,
}

/// The measured times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// The iterations that were recorded, in order, those of the warm-up first.
    pub windows: Vec<Window>,
    /// The iterations that were timed as a whole, likewise.
    pub unrecorded: Vec<Window>,
    /// How many of each served to warm up.
    pub warm_up: usize,
    /// Memory before and after each turn, as long as it is that of the model alone.
    pub memory: MemoryLog,
    /// Whether the user stopped it early.
    pub interrupted: bool,
}

/// At least so many iterations, however long they take.
const FEWEST: usize = 10;

/// At most so many without being asked for more: beyond that, the figures don't get better.
const MOST: usize = 1_000;

/// At most so many executions of nodes are recorded without being asked for more. ONNX Runtime's
/// profiler keeps no more than a million events.
const MOST_EXECUTIONS: usize = 900_000;

/// Runs the model as often as asked, timed as a whole and recorded in turn. A request to stop ends it
/// after the iterations that are complete.
///
/// # Errors
/// When an inference fails, or when it was stopped before one of each kind was complete.
pub fn measure(
    engine: &mut dyn Engine,
    repetition: Repetition,
    clock: RunClock,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measurement, RunError> {
    let mut measurement = Measurement::default();
    measurement.memory.sample(clock);
    let warm_up = repetition.warm_up.unwrap_or(2);
    while measurement.done() < warm_up && !measurement.interrupted {
        turns(engine, warm_up - measurement.done(), clock, interrupt, &mut measurement)?;
        report(&measurement, true, measurement.done(), warm_up, progress);
    }
    measurement.warm_up = warm_up;

    let budget = repetition.budget.unwrap_or(DEFAULT_BUDGET);
    let begun = Instant::now();
    let most = repetition.iterations.unwrap_or(match repetition.budget {
        Some(_) => usize::MAX,
        None => MOST.min(MOST_EXECUTIONS / engine.node_count().max(1)).max(FEWEST),
    });
    while !measurement.interrupted {
        let done = measurement.done() - warm_up;
        let in_time = begun.elapsed() < budget;
        let wanted = match (repetition.iterations, repetition.budget) {
            (Some(wanted), None) => wanted,
            (Some(wanted), Some(_)) => {
                if in_time {
                    wanted
                } else {
                    0
                }
            }
            (None, _) => {
                if in_time {
                    most
                } else {
                    FEWEST
                }
            }
        };
        if done >= wanted {
            break;
        }
        turns(engine, wanted - done, clock, interrupt, &mut measurement)?;
        let done = measurement.done().saturating_sub(warm_up);
        report(&measurement, false, done, plan(most, budget, begun.elapsed(), done), progress);
    }
    measurement.memory.close(clock);
    if measurement.done() == 0 { Err(RunError::Interrupted) } else { Ok(measurement) }
}

impl Measurement {
    /// How many iterations of each kind are complete.
    fn done(&self) -> usize {
        self.windows.len().min(self.unrecorded.len())
    }
}

/// A turn of at most `most` unrecorded iterations, then one of as many recorded ones.
fn turns(
    engine: &mut dyn Engine,
    most: usize,
    clock: RunClock,
    interrupt: &Interrupt,
    measurement: &mut Measurement,
) -> Result<(), RunError> {
    let unrecorded = Turn::take(most, interrupt, || engine.infer(interrupt))?;
    measurement.memory.sample(clock);
    if engine.records_apart() {
        measurement.memory.close(clock);
    }
    measurement.interrupted = unrecorded.interrupted;
    let mut missing = unrecorded.windows.len();
    measurement.unrecorded.extend(unrecorded.windows);
    while missing > 0 && !measurement.interrupted {
        let recorded = Turn::take(missing, interrupt, || engine.infer_recorded(interrupt))?;
        missing -= recorded.windows.len();
        measurement.interrupted = recorded.interrupted;
        measurement.windows.extend(recorded.windows);
    }
    measurement.memory.sample(clock);
    Ok(())
}

/// How many iterations it will be, going by those so far.
fn plan(most: usize, budget: Duration, elapsed: Duration, done: usize) -> usize {
    let each = (elapsed.as_nanos() / done.max(1) as u128).max(1);
    let fitting = (budget.as_nanos() / each).max(FEWEST as u128);
    usize::try_from(fitting).unwrap_or(most).min(most).max(done)
}

fn report(
    measurement: &Measurement,
    warming_up: bool,
    done: usize,
    planned: usize,
    progress: &mut dyn FnMut(Progress),
) {
    let last = measurement.unrecorded.last().map_or(Nanoseconds::ZERO, |window| window.duration);
    progress(Progress { warming_up, done, planned, last });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Phase, Recording};
    use crate::engine_kind::EngineKind;
    use crate::host_tensor::{HostTensor, NonFinite};
    use crate::inputs::Input;

    /// An engine whose inferences take as long as it says, without waiting for them.
    struct Fake {
        inferences: usize,
        interrupt_after: usize,
        fails_at: usize,
    }

    impl Engine for Fake {
        fn kind(&self) -> EngineKind {
            EngineKind::Tract
        }
        fn version(&self) -> String {
            String::new()
        }
        fn phases(&self) -> &[Phase] {
            &[]
        }
        fn node_count(&self) -> usize {
            1
        }
        fn infer(&mut self, interrupt: &Interrupt) -> Result<Window, RunError> {
            self.inferences += 1;
            if self.inferences == self.fails_at {
                return Err(RunError::Infer {
                    engine: EngineKind::Tract,
                    message: "broken".into(),
                    details: None,
                });
            }
            if self.inferences >= self.interrupt_after {
                interrupt.request();
            }
            Ok(Window { start: Nanoseconds::ZERO, duration: Nanoseconds(1_000_000) })
        }
        fn infer_recorded(&mut self, interrupt: &Interrupt) -> Result<Window, RunError> {
            self.infer(interrupt)
        }
        fn feed(&mut self, _: &[Input]) -> Result<(), RunError> {
            Ok(())
        }
        fn outputs(&mut self) -> Result<Vec<(String, HostTensor)>, RunError> {
            Ok(Vec::new())
        }
        fn first_non_finite(&mut self) -> Result<Option<(String, NonFinite)>, RunError> {
            Ok(None)
        }
        fn finish(self: Box<Self>) -> Result<Recording, RunError> {
            Ok(Recording::default())
        }
    }

    fn run(repetition: Repetition, mut engine: Fake) -> Result<Measurement, RunError> {
        measure(&mut engine, repetition, RunClock::start(), &Interrupt::new(), &mut |_| {})
    }

    fn tireless() -> Fake {
        Fake { inferences: 0, interrupt_after: usize::MAX, fails_at: usize::MAX }
    }

    #[test]
    fn warm_up_iterations_are_kept_and_counted() {
        let repetition = Repetition { iterations: Some(4), warm_up: Some(3), budget: None };
        let measurement = run(repetition, tireless()).unwrap();
        assert_eq!((measurement.windows.len(), measurement.unrecorded.len()), (7, 7));
        assert_eq!(measurement.warm_up, 3);
    }

    #[test]
    fn without_wishes_it_runs_at_least_ten_and_at_most_a_thousand_times() {
        let measurement = run(Repetition::default(), tireless()).unwrap();
        assert_eq!(measurement.windows.len() - measurement.warm_up, MOST);
        let hurried = Repetition { budget: Some(Duration::ZERO), ..Repetition::default() };
        assert_eq!(run(hurried, tireless()).unwrap().windows.len(), 2 + FEWEST);
    }

    #[test]
    fn a_budget_ends_even_a_given_number_of_iterations() {
        let repetition = Repetition {
            iterations: Some(1_000_000_000),
            warm_up: None,
            budget: Some(Duration::from_millis(5)),
        };
        assert!(run(repetition, tireless()).unwrap().windows.len() < 1_000_000_000);
    }

    #[test]
    fn an_interruption_keeps_what_is_complete() {
        let engine = Fake { interrupt_after: 5, ..tireless() };
        let measurement = run(Repetition::default(), engine).unwrap();
        assert!(measurement.interrupted);
        assert!(measurement.done() >= 2 && measurement.done() < MOST);
    }

    #[test]
    fn unrecorded_and_recorded_iterations_take_turns() {
        /// Takes as long as a turn, and notes which kind was asked for.
        struct Slow(Vec<bool>, Fake);
        impl Engine for Slow {
            fn kind(&self) -> EngineKind {
                self.1.kind()
            }
            fn version(&self) -> String {
                self.1.version()
            }
            fn phases(&self) -> &[Phase] {
                self.1.phases()
            }
            fn node_count(&self) -> usize {
                self.1.node_count()
            }
            fn infer(&mut self, interrupt: &Interrupt) -> Result<Window, RunError> {
                std::thread::sleep(Duration::from_millis(11));
                self.0.push(false);
                self.1.infer(interrupt)
            }
            fn infer_recorded(&mut self, interrupt: &Interrupt) -> Result<Window, RunError> {
                let window = self.infer(interrupt);
                self.0.pop();
                self.0.push(true);
                window
            }
            fn feed(&mut self, inputs: &[Input]) -> Result<(), RunError> {
                self.1.feed(inputs)
            }
            fn outputs(&mut self) -> Result<Vec<(String, HostTensor)>, RunError> {
                self.1.outputs()
            }
            fn first_non_finite(&mut self) -> Result<Option<(String, NonFinite)>, RunError> {
                self.1.first_non_finite()
            }
            fn finish(self: Box<Self>) -> Result<Recording, RunError> {
                Ok(Recording::default())
            }
        }
        let mut engine = Slow(Vec::new(), tireless());
        let repetition = Repetition { iterations: Some(3), warm_up: Some(0), budget: None };
        measure(&mut engine, repetition, RunClock::start(), &Interrupt::new(), &mut |_| {}).unwrap();
        assert_eq!(engine.0, [false, true, false, true, false, true]);
    }

    #[test]
    fn an_interruption_before_anything_is_complete_is_an_error() {
        let interrupt = Interrupt::new();
        interrupt.request();
        let result =
            measure(&mut tireless(), Repetition::default(), RunClock::start(), &interrupt, &mut |_| {});
        assert!(matches!(result, Err(RunError::Interrupted)));
    }

    #[test]
    fn a_failing_inference_ends_the_measurement_with_its_error() {
        let engine = Fake { fails_at: 3, ..tireless() };
        assert!(run(Repetition::default(), engine).unwrap_err().to_string().contains("broken"));
    }
}
