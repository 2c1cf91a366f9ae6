//! The pace of a device beside its peers', and the parts of an excess that it and more work explain.

use super::{Cause, Compared, Explanation};

/// The operators by which a slow device is known, with how many times as long as on peers each takes.
pub fn computing(all: &[Compared]) -> impl Iterator<Item = (&Compared, f64)> {
    let ratio =
        |it: &Compared| it.times.filter(|_| !it.difference.operator.is_on_ai_cpu() && it.has_as_many_rows());
    all.iter().filter_map(move |it| Some((it, ratio(it)?)))
}

/// Whether so many times as long as on peers is slow.
pub fn is_slow(times: f64) -> bool {
    /// The least slowness that is one.
    const SLOW: f64 = 1.05;
    times > SLOW
}

/// How many times as long as peers the device computes: 1 unless it is slower, or quicker, in nearly all that it computes.
/// Of two ranks one is quicker where the other is slow. An operator with more or fewer rows than on peers tells nothing
/// of it.
pub fn pace(all: &[Compared]) -> f64 {
    weighted_pace(&computing(all).map(|(it, times)| (times, it.total_ns)).collect::<Vec<_>>())
}

/// The same of how many times as long operators take, each with its time: the middle of those that are slower, or quicker,
/// by their time.
fn weighted_pace(computing: &[(f64, f64)]) -> f64 {
    const NEARLY_ALL: f64 = 0.8;
    let time = |operators: &[(f64, f64)]| operators.iter().map(|(_, time)| time).sum::<f64>();
    let all = time(computing);
    let of_side = |is_meant: &dyn Fn(f64) -> bool| -> Option<f64> {
        let mut side: Vec<(f64, f64)> =
            computing.iter().copied().filter(|(times, _)| is_meant(*times)).collect();
        let of_side = time(&side);
        if all <= 0.0 || of_side < NEARLY_ALL * all {
            return None;
        }
        side.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut until = 0.0;
        let is_middle = |(_, time): &&(f64, f64)| {
            until += time;
            2.0 * until >= of_side
        };
        side.iter().find(is_middle).map(|(times, _)| *times)
    };
    of_side(&is_slow).or_else(|| of_side(&|times| is_slow(1.0 / times))).unwrap_or(1.0)
}

/// Whether enough operators have as much to do as on peers to tell how long others would take: where nearly all have more
/// to do, the few that seem to have as much may only not tell.
pub fn tell_pace(all: &[Compared]) -> bool {
    const ENOUGH: f64 = 0.1;
    let time: f64 =
        all.iter().filter(|it| !it.difference.operator.is_on_ai_cpu()).map(|it| it.total_ns).sum();
    computing(all).map(|(it, _)| it.total_ns).sum::<f64>() >= ENOUGH * time
}

/// Whether a time exceeds that of peers as the rows do, on a device that takes `pace` times as long, which not all operators
/// suffer from alike. Of few more rows a time that is as on peers is near as well, and so is one that the slow device
/// explains by itself.
pub fn is_in_ratio(times: f64, rows_times: f64, pace: f64) -> bool {
    let beyond = times / rows_times;
    beyond / pace.min(1.0) > 0.85 && beyond / pace.max(1.0) < 1.15 && 2.0 * times / pace > 1.0 + rows_times
}

/// Operators that have more to do than on peers, and take longer for that.
pub struct MoreWork<'c> {
    pub cause: Cause,
    pub operators: Vec<Larger<'c>>,
}

impl MoreWork<'_> {
    pub fn explanation(self) -> Explanation {
        let explains_ns = self.operators.iter().map(|it| it.by_amount_ns).sum();
        Explanation { cause: self.cause, explains_ns }
    }
}

/// An operator with more to do.
pub struct Larger<'c> {
    pub compared: &'c Compared,
    /// The part of its excess that the amount of work explains, in nanoseconds a step; a slow device explains the rest.
    pub by_amount_ns: f64,
}

impl<'c> Larger<'c> {
    /// An operator that has so many times the rows of peers, on a device that takes `pace` times as long.
    pub fn new(compared: &'c Compared, rows_times: f64, pace: f64, steps: f64) -> Self {
        // A device doesn't slow all operators alike: no more than is seen in this one's time.
        let slower = compared.times.map_or(1.0, |times| times / rows_times).clamp(1.0, pace.max(1.0));
        let own_ns = compared.total_ns / steps;
        let excess_ns = compared.difference.excess_ns;
        Self { compared, by_amount_ns: by_amount(own_ns, own_ns - excess_ns, slower) }
    }
}

/// The part of an excess that is due to more work where the device is slower besides. Each of the two costs more while
/// the other is there; what they do together counts for both by half, so that whichever costs more explains more, and
/// both explain the whole.
fn by_amount(own_ns: f64, of_peers_ns: f64, slower: f64) -> f64 {
    let on_slow_device = own_ns - of_peers_ns * slower;
    let on_usual_device = own_ns / slower - of_peers_ns;
    (on_slow_device + on_usual_device) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_device_and_more_work_explain_an_excess_together_the_costlier_more_of_it() {
        // Of 10 ms as on peers, 2.2 times the work on a device that takes 1.25 times as long.
        let (own, of_peers) = (27.5, 10.0);
        let by_amount = by_amount(own, of_peers, 1.25);
        let by_device = own - of_peers - by_amount;
        assert!((by_amount - 13.5).abs() < 1e-9 && (by_device - 4.0).abs() < 1e-9, "{by_amount} {by_device}");
        assert_eq!(super::by_amount(22.0, of_peers, 1.0), 12.0);
    }

    #[test]
    fn the_pace_of_a_device_is_that_of_most_of_its_time_and_not_of_most_operators() {
        let of_memory = [(0.99, 1.0); 9];
        let slow = [(1.24, 20.0), (1.25, 30.0), (1.26, 20.0)];
        assert_eq!(weighted_pace(&[&of_memory[..], &slow].concat()), 1.25);
        assert_eq!(weighted_pace(&[&[(1.02, 1.0); 5][..], &[(0.8, 30.0)]].concat()), 0.8);
        assert_eq!(weighted_pace(&[(1.3, 7.0), (1.0, 3.0)]), 1.0);
        assert_eq!(weighted_pace(&[]), 1.0);
    }

    #[test]
    fn a_time_follows_the_rows_also_on_a_slow_device_and_not_by_the_device_alone() {
        for (times, rows, pace, expected) in [
            (2.2, 2.2, 1.0, true),
            (2.75, 2.2, 1.0, false),
            (2.75, 2.2, 1.25, true),
            // Work that the slow device doesn't slow.
            (2.2, 2.2, 1.25, true),
            // A device that is as much slower as there are more rows, which cost nothing.
            (2.2, 2.2, 2.2, false),
            (1.25, 2.2, 1.25, false),
            (1.25, 1.12, 1.25, false),
            (1.0, 1.12, 1.0, false),
            // Beside a slow peer.
            (1.76, 2.2, 0.8, true),
            (0.8, 1.12, 0.8, false),
        ] {
            assert_eq!(is_in_ratio(times, rows, pace), expected, "{times} {rows} {pace}");
        }
    }
}
