//! Typical values, and from how many on they can be told.

use crate::clocks::median;

/// The fewest peers whose median is taken. Of fewer it is the least of all steps.
pub const FEWEST: usize = 3;

/// The typical value of what peers have at a place: their median, of few the least of all steps.
pub fn typical(at_step: &mut [f64], least: f64) -> f64 {
    if at_step.len() >= FEWEST { median(at_step) } else { least }
}

/// The least of some values.
pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MAX, f64::min)
}
