//! The roofline: how fast an operator could be, given what it computes and moves.
//!
//! A machine with a peak of F operations and B bytes a second can do no more than
//! `min(F, intensity × B)` operations a second, where the intensity is the operator's operations for
//! each byte moved (Williams, Waterman, Patterson: "Roofline", CACM 2009). An operator that moves
//! bytes without computing anything has the memory's peak for its ceiling.

use opscope_trace::{Nanoseconds, words};

/// The peaks of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Operations a second.
    pub flops: f64,
    /// Bytes a second.
    pub bandwidth: f64,
}

words! {
    /// The limit that holds an operator back.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Bound {
        /// It computes about as fast as the machine can.
        Compute = "compute",
        /// It moves bytes about as fast as the machine can.
        Memory = "memory",
        /// It is far from both: overhead, latency, or poor use of the machine.
        Neither = "neither",
    }
}

/// Where an operator stands under the roof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// The limit that holds it back.
    pub bound: Bound,
    /// The share of its ceiling that it reaches.
    pub share: f64,
    /// The time that it would take at its ceiling.
    pub ideal: Nanoseconds,
}

/// The share of the ceiling from which on an operator counts as bound by it.
pub const BOUND_FROM: f64 = 0.5;

impl Roofline {
    /// Operations for each byte from which on the arithmetic is the lower ceiling.
    pub fn ridge(&self) -> f64 {
        self.flops / self.bandwidth
    }

    /// Where so many operations and bytes in such a time stand; `None` when both are zero, or no time
    /// passed.
    pub fn position(&self, flops: u64, bytes: u64, time: Nanoseconds) -> Option<Position> {
        let computing = flops as f64 / self.flops;
        let moving = bytes as f64 / self.bandwidth;
        let ideal = computing.max(moving);
        if time.0 <= 0 || ideal.is_nan() || ideal <= 0.0 {
            return None;
        }
        let share = ideal / time.as_seconds();
        let bound = match () {
            () if share < BOUND_FROM => Bound::Neither,
            () if computing >= moving => Bound::Compute,
            () => Bound::Memory,
        };
        Some(Position { bound, share, ideal: Nanoseconds::from_seconds(ideal) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_bound_by_the_lower_of_its_ceilings_if_it_comes_near() {
        // 100 GFLOP/s and 10 GB/s: the ridge lies at 10 operations a byte.
        let roof = Roofline { flops: 100e9, bandwidth: 10e9 };
        assert_eq!(roof.ridge(), 10.0);
        let at = |flops, bytes, micros| roof.position(flops, bytes, Nanoseconds::from_micros(micros));
        // 1 MFLOP takes 10 µs at least, 20 kB take 2 µs.
        let compute = at(1_000_000, 20_000, 12).unwrap();
        assert_eq!((compute.bound, compute.ideal), (Bound::Compute, Nanoseconds(10_000)));
        assert!((compute.share - 10.0 / 12.0).abs() < 1e-9);
        assert_eq!(at(1_000_000, 200_000, 30).unwrap().bound, Bound::Memory);
        assert_eq!(at(1_000_000, 20_000, 100).unwrap().bound, Bound::Neither);
        // A copy computes nothing.
        assert_eq!(
            at(0, 100_000, 10).unwrap(),
            Position { bound: Bound::Memory, share: 1.0, ideal: Nanoseconds(10_000) }
        );
        assert_eq!(at(0, 0, 10), None);
        assert_eq!(at(5, 5, 0), None);
    }
}
