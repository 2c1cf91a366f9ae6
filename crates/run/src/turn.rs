//! Whose turn it is, where two engines are timed side by side.
//!
//! A machine's speed drifts, so both must run at the same time; yet an inference right behind one of
//! the other engine's finds caches that the other filled, and threads of the other that still wait
//! actively for work. On models of a fraction of a millisecond that doubles the time. So each engine
//! has the machine to itself for a while before the other takes its turn.

use std::time::{Duration, Instant};

use crate::engine::{Interrupt, Window};
use crate::error::RunError;

/// How long a turn lasts: many inferences of a small model, one of a large one.
const TURN: Duration = Duration::from_millis(10);

/// The inferences of one turn, at least one and at most `most`.
#[derive(Debug, Default)]
pub struct Turn {
    /// The inferences that are complete.
    pub windows: Vec<Window>,
    /// Whether the user asked to stop.
    pub interrupted: bool,
}

impl Turn {
    /// Infers until the turn is over.
    ///
    /// # Errors
    /// When an inference fails; being asked to stop is none.
    pub fn take(
        most: usize,
        interrupt: &Interrupt,
        mut infer: impl FnMut() -> Result<Window, RunError>,
    ) -> Result<Self, RunError> {
        let begun = Instant::now();
        let mut turn = Self::default();
        while turn.windows.len() < most.max(1) {
            let done = if interrupt.is_requested() { Err(RunError::Interrupted) } else { infer() };
            match done {
                Ok(window) => turn.windows.push(window),
                Err(RunError::Interrupted) => {
                    turn.interrupted = true;
                    break;
                }
                Err(error) => return Err(error),
            }
            if begun.elapsed() >= TURN {
                break;
            }
        }
        Ok(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opscope_trace::Nanoseconds;

    const WINDOW: Window = Window { start: Nanoseconds::ZERO, duration: Nanoseconds(1) };

    #[test]
    fn a_turn_of_tiny_inferences_has_many_and_one_of_a_long_one_has_it_alone() {
        let tiny = Turn::take(20, &Interrupt::new(), || Ok(WINDOW)).unwrap();
        assert_eq!((tiny.windows.len(), tiny.interrupted), (20, false));
        let long = Turn::take(20, &Interrupt::new(), || {
            std::thread::sleep(TURN);
            Ok(WINDOW)
        });
        assert_eq!(long.unwrap().windows.len(), 1);
    }

    #[test]
    fn a_request_to_stop_keeps_what_is_complete() {
        let mut left = 3;
        let turn = Turn::take(20, &Interrupt::new(), || {
            left -= 1;
            if left == 0 { Err(RunError::Interrupted) } else { Ok(WINDOW) }
        });
        let turn = turn.unwrap();
        assert_eq!((turn.windows.len(), turn.interrupted), (2, true));
    }
}
