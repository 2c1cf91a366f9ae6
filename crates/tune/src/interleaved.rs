//! Timing two models in turn.
//!
//! A machine's speed drifts with its temperature and its neighbours, by more than most changes of a
//! model gain. So both models run alternately, and only the ratios within each pair count. Their
//! median and its confidence interval come from their order alone (the sign test turned round), which
//! holds for any distribution; outliers don't move it.

use std::time::{Duration, Instant};

use opscope_run::{Engine, Interrupt, RunError, Turn};
use opscope_trace::Nanoseconds;

/// How long to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Pairs that are run before any counts.
    pub warm_up: usize,
    /// At least so many pairs of turns, however long they take.
    pub fewest: usize,
    /// At most so many.
    pub most: usize,
    /// As many in between as fit into this time.
    pub time: Duration,
    /// At most so many inferences of one model before it is the other's turn.
    pub in_a_turn: usize,
}

impl Default for Budget {
    /// Two pairs to warm up, then 12 to 1000 within 3 seconds.
    fn default() -> Self {
        Self { warm_up: 2, fewest: 12, most: 1_000, time: Duration::from_secs(3), in_a_turn: 1_000 }
    }
}

/// The durations of two models that ran in turn: those at the same position belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Of the first model, the baseline.
    pub a: Vec<Nanoseconds>,
    /// Of the second model, the candidate.
    pub b: Vec<Nanoseconds>,
    /// Whether the user stopped it early.
    pub interrupted: bool,
}

/// How many times as fast the second model is as the first: 2 is half the time, 0.5 twice the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The median over all pairs.
    pub median: f64,
    /// The true median is at least this, …
    pub low: f64,
    /// … and at most this, with (at least) the confidence that was asked for.
    pub high: f64,
}

/// The verdict that the pairs allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second model takes less time.
    Faster,
    /// The second model takes more time.
    Slower,
    /// No difference beyond the noise.
    Undecided,
}

/// Runs two engines in turn. The first goes first in one pair and last in the next, so that neither
/// always has the machine as the other left it. A turn lasts a while ([`Turn`]), and what counts of it is
/// the median of its inferences, of which nothing is recorded: the same figure that a run shows as its
/// latency. `progress` is told the pairs that are done and the time that they took.
///
/// # Errors
/// When an inference fails. A request to stop ends it after the pairs that are complete.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use opscope_model::Model;
/// use opscope_run::{EngineOptions, InputRequest, Interrupt, RunClock, prepare};
/// use opscope_tune::{Budget, Verdict, interleaved};
/// # fn judge(a: Arc<Model>, b: Arc<Model>, options: &EngineOptions) -> Result<(), Box<dyn std::error::Error>> {
///
/// let inputs = InputRequest::default().resolve(&a)?;
/// let clock = RunClock::start();
/// let mut a = prepare(a, &inputs, options, clock)?;
/// let mut b = prepare(b, &inputs, options, clock)?;
/// let pairs =
///     interleaved(a.as_mut(), b.as_mut(), Budget::default(), &Interrupt::new(), &mut |_, _| {})?;
/// if pairs.verdict(0.99) == Verdict::Faster {
///     let speed = pairs.speedup(0.99).expect("there are enough pairs for a verdict");
///     println!("{:.2}x, at least {:.2}x", speed.median, speed.low);
/// }
/// # Ok(())
/// # }
/// ```
pub fn interleaved(
    a: &mut dyn Engine,
    b: &mut dyn Engine,
    budget: Budget,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(usize, Duration),
) -> Result<Pairs, RunError> {
    let mut pairs = Pairs::default();
    for round in 0..budget.warm_up {
        if pair(a, b, budget, round, interrupt)?.is_none() {
            pairs.interrupted = true;
            return Ok(pairs);
        }
    }
    let begun = Instant::now();
    while pairs.len() < budget.fewest || (pairs.len() < budget.most && begun.elapsed() < budget.time) {
        let Some((first, second)) = pair(a, b, budget, pairs.len(), interrupt)? else {
            pairs.interrupted = true;
            break;
        };
        pairs.a.push(first);
        pairs.b.push(second);
        progress(pairs.len(), begun.elapsed());
    }
    Ok(pairs)
}

/// A turn of each, as its median; `None` if the user asked to stop.
fn pair(
    a: &mut dyn Engine,
    b: &mut dyn Engine,
    budget: Budget,
    round: usize,
    interrupt: &Interrupt,
) -> Result<Option<(Nanoseconds, Nanoseconds)>, RunError> {
    let turn = |engine: &mut dyn Engine| {
        let turn = Turn::take(budget.in_a_turn, interrupt, || engine.infer(interrupt))?;
        let durations: Vec<Nanoseconds> = turn.windows.iter().map(|window| window.duration).collect();
        Ok::<_, RunError>((!turn.interrupted).then(|| median_duration(&durations)))
    };
    Ok(if round.is_multiple_of(2) {
        let first = turn(a)?;
        first.zip(turn(b)?)
    } else {
        let second = turn(b)?;
        turn(a)?.zip(second)
    })
}

/// The median of durations, of which there is at least one.
fn median_duration(durations: &[Nanoseconds]) -> Nanoseconds {
    let mut sorted: Vec<f64> = durations.iter().map(|duration| duration.0 as f64).collect();
    sorted.sort_by(f64::total_cmp);
    Nanoseconds(median(&sorted).round() as i64)
}

impl Pairs {
    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.a.len().min(self.b.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many times as fast the second model is, with a confidence such as 0.95. `None` when there
    /// are too few pairs for it: 6 for 0.95, 8 for 0.99.
    pub fn speedup(&self, confidence: f64) -> Option<Interval> {
        let mut ratios: Vec<f64> = self.a.iter().zip(&self.b).map(|(a, b)| ratio(*a, *b)).collect();
        ratios.sort_by(f64::total_cmp);
        let outside = ranks_outside(ratios.len(), confidence)?;
        let (low, high) = (ratios[outside], ratios[ratios.len() - 1 - outside]);
        Some(Interval { median: median(&ratios), low, high })
    }

    /// Whether the second model is faster or slower beyond the noise.
    pub fn verdict(&self, confidence: f64) -> Verdict {
        match self.speedup(confidence) {
            Some(speed) if speed.low > 1.0 => Verdict::Faster,
            Some(speed) if speed.high < 1.0 => Verdict::Slower,
            _ => Verdict::Undecided,
        }
    }

    /// The median durations of both models.
    pub fn medians(&self) -> Option<(Nanoseconds, Nanoseconds)> {
        (!self.is_empty()).then(|| (median_duration(&self.a), median_duration(&self.b)))
    }
}

/// A clock may be too coarse for a tiny model.
fn ratio(a: Nanoseconds, b: Nanoseconds) -> f64 {
    a.0.max(1) as f64 / b.0.max(1) as f64
}

/// The median of values that are sorted and not empty.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] }
}

/// How many of `count` sorted values may be left out at each end so that the rest still encloses the
/// median of the distribution with this confidence: as many of them are below it as heads come up when
/// `count` fair coins are thrown.
fn ranks_outside(count: usize, confidence: f64) -> Option<usize> {
    let tail = (1.0 - confidence) / 2.0;
    // The chance of no heads, of one, and so on, by their logarithms so that nothing underflows.
    let mut chance = -(count as f64) * std::f64::consts::LN_2;
    let (mut sum, mut outside) = (0.0, None);
    for heads in 0..count.div_ceil(2) {
        sum += chance.exp();
        if sum > tail {
            break;
        }
        outside = Some(heads);
        chance += ((count - heads) as f64 / (heads + 1) as f64).ln();
    }
    outside
}

#[cfg(test)]
mod tests {
    use opscope_run::{EngineKind, HostTensor, Input, NonFinite, Phase, Recording, Window};

    use super::*;

    /// An engine whose inferences take the given times in turn, without waiting for them.
    struct Fake {
        durations: Vec<i64>,
        done: usize,
        stops_after: usize,
    }

    impl Fake {
        fn taking(durations: &[i64]) -> Self {
            Self { durations: durations.to_vec(), done: 0, stops_after: usize::MAX }
        }
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
        fn infer(&mut self, _: &Interrupt) -> Result<Window, RunError> {
            if self.done == self.stops_after {
                return Err(RunError::Interrupted);
            }
            let duration = Nanoseconds(self.durations[self.done % self.durations.len()]);
            self.done += 1;
            Ok(Window { start: Nanoseconds::ZERO, duration })
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

    fn run(mut a: Fake, mut b: Fake, pairs: usize) -> Pairs {
        let budget = Budget { warm_up: 0, fewest: pairs, most: pairs, time: Duration::ZERO, in_a_turn: 1 };
        interleaved(&mut a, &mut b, budget, &Interrupt::new(), &mut |_, _| {}).unwrap()
    }

    #[test]
    fn a_drifting_machine_does_not_hide_a_steady_gain() {
        // Both get slower by a factor of three meanwhile, which is far more than the gain of 5 %.
        let drift: Vec<i64> = (0..40).map(|n| 100_000 + 5_000 * n).collect();
        let faster: Vec<i64> = drift.iter().map(|n| n * 100 / 105).collect();
        let pairs = run(Fake::taking(&drift), Fake::taking(&faster), 40);
        let speed = pairs.speedup(0.99).unwrap();
        assert!((speed.median - 1.05).abs() < 1e-3 && speed.low > 1.04, "{speed:?}");
        assert_eq!(pairs.verdict(0.99), Verdict::Faster);
        let turned = Pairs { a: pairs.b.clone(), b: pairs.a, interrupted: false };
        assert_eq!(turned.verdict(0.99), Verdict::Slower);
    }

    #[test]
    fn noise_around_nothing_stays_undecided() {
        let noisy = [100, 130, 95, 110, 90, 105, 99];
        let pairs = run(Fake::taking(&noisy), Fake::taking(&noisy[2..]), 35);
        assert_eq!(pairs.verdict(0.95), Verdict::Undecided);
        assert_eq!(run(Fake::taking(&[7]), Fake::taking(&[7]), 50).verdict(0.95), Verdict::Undecided);
    }

    #[test]
    fn one_wild_outlier_moves_nothing() {
        let mut wild = vec![100; 30];
        wild[4] = 1_000_000_000;
        let pairs = run(Fake::taking(&wild), Fake::taking(&[100]), 30);
        assert_eq!(pairs.speedup(0.95), Some(Interval { median: 1.0, low: 1.0, high: 1.0 }));
    }

    #[test]
    fn the_interval_encloses_the_median_as_often_as_the_binomial_distribution_says() {
        // From tables of the sign test: the outermost values of 6 enclose it with 96.9 %, of 5 only with
        // 93.8 %; of 20, the sixth from each end with 95.9 %; of 8, the outermost with 99.2 %.
        assert_eq!(ranks_outside(5, 0.95), None);
        assert_eq!(ranks_outside(6, 0.95), Some(0));
        assert_eq!(ranks_outside(20, 0.95), Some(5));
        assert_eq!(ranks_outside(7, 0.99), None);
        assert_eq!(ranks_outside(8, 0.99), Some(0));
        assert!(ranks_outside(5_000, 0.95).is_some_and(|n| (2_400..2_500).contains(&n)));
        assert_eq!(ranks_outside(0, 0.95), None);
    }

    #[test]
    fn a_request_to_stop_keeps_the_complete_pairs() {
        let stopping = Fake { stops_after: 5, ..Fake::taking(&[10]) };
        let pairs = run(Fake::taking(&[20]), stopping, 30);
        assert!(pairs.interrupted);
        assert_eq!((pairs.a.len(), pairs.b.len()), (5, 5));
        assert_eq!(pairs.medians(), Some((Nanoseconds(20), Nanoseconds(10))));
    }
}
