//! Typical values, and from how many on they can be told.

use crate::clocks::median;

/// The fewest peers whose median is taken. Of fewer it is the least of all steps, as long as each step is for everybody.
pub const FEWEST: usize = 3;

/// The typical value of what peers have at a place, their median; `None` where they are too few.
pub fn of_enough(at_step: &mut [f64]) -> Option<f64> {
    (at_step.len() >= FEWEST).then(|| median(at_step))
}
