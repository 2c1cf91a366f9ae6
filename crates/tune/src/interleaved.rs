//! Timing two models in turn.
//!
//! A machine's speed drifts with its temperature and its neighbours, by more than most changes of a
//! model gain. So both models run alternately, and only the ratios within each pair count. Their
//! median and its confidence interval come from their order alone (the sign test turned round), which
//! holds for any distribution; outliers don't move it.
//!
//! Where a prepared model's data lie in memory is decided once, and makes all of its inferences quicker or
//! slower, by some percent: one model that is prepared twice would differ from itself beyond the noise of
//! inferences. So each model is prepared several times, and the interval encloses what each time shows.

use std::time::{Duration, Instant};

use opscope_run::{Engine, Interrupt, RunError, Turn};
use opscope_trace::Nanoseconds;

/// Each model is prepared at least so often, however long that takes.
const FEWEST_PREPARATIONS: usize = 3;

/// Makes a model ready to run, anew each time.
pub type Preparing<'a> = dyn FnMut() -> Result<Box<dyn Engine>, RunError> + 'a;

/// How long to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Each model is prepared at most so often: as often as takes no longer than `time`, but three times at
    /// least where this allows it.
    pub preparations: usize,
    /// Pairs that are run after each preparation before any counts.
    pub warm_up: usize,
    /// At least so many pairs of turns, however long they take.
    pub fewest: usize,
    /// At most so many, but for one of each preparation.
    pub most: usize,
    /// As many in between as fit into this time.
    pub time: Duration,
    /// At most so many inferences of one model before it is the other's turn.
    pub in_a_turn: usize,
}

impl Default for Budget {
    /// Eight preparations, the fewest of which 99 % can be said, each with two pairs to warm up; then 12 to
    /// 1000 pairs within 3 seconds, of all preparations together.
    fn default() -> Self {
        let time = Duration::from_secs(3);
        Self { preparations: 8, warm_up: 2, fewest: 12, most: 1_000, time, in_a_turn: 1_000 }
    }
}

/// The durations of two models that ran in turn: those at the same position belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Of the first model, the baseline.
    pub a: Vec<Nanoseconds>,
    /// Of the second model, the candidate.
    pub b: Vec<Nanoseconds>,
    /// The first pair of each time that both were prepared.
    pub preparations: Vec<usize>,
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

/// Runs two models in turn. The first goes first in one pair and last in the next, so that neither
/// always has the machine as the other left it. A turn lasts a while ([`Turn`]), and what counts of it is
/// the median of its inferences, of which nothing is recorded: the same figure that a run shows as its
/// latency. `progress` is told the pairs that are done and the time that they took.
///
/// # Errors
/// When a model can't be prepared, or an inference fails. A request to stop ends it after the pairs that are
/// complete.
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
/// let pairs = interleaved(
///     &mut || prepare(Arc::clone(&a), &inputs, options, clock),
///     &mut || prepare(Arc::clone(&b), &inputs, options, clock),
///     Budget::default(),
///     &Interrupt::new(),
///     &mut |_, _| {},
/// )?;
/// if pairs.verdict(0.99) == Verdict::Faster {
///     let speed = pairs.speedup(0.99).expect("there are enough pairs for a verdict");
///     println!("{:.2}x, at least {:.2}x", speed.median, speed.low);
/// }
/// # Ok(())
/// # }
/// ```
pub fn interleaved(
    a: &mut Preparing<'_>,
    b: &mut Preparing<'_>,
    budget: Budget,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(usize, Duration),
) -> Result<Pairs, RunError> {
    let mut pairs = Pairs::default();
    let (mut preparations, mut measured) = (budget.preparations.max(1), Duration::ZERO);
    let mut done = 0;
    while done < preparations && !pairs.interrupted {
        let begun = Instant::now();
        // Who is prepared first has another place in memory than who comes second.
        let (mut first, mut second) = if done.is_multiple_of(2) {
            let first = a()?;
            (first, b()?)
        } else {
            let second = b()?;
            (a()?, second)
        };
        let mut both = InTurn { a: first.as_mut(), b: second.as_mut(), round: done, budget, interrupt };
        for _ in 0..budget.warm_up {
            if both.pair()?.is_none() {
                pairs.interrupted = true;
                return Ok(pairs);
            }
        }
        if done == 0 {
            preparations = affordable(preparations, begun.elapsed(), budget.time);
        }
        pairs.preparations.push(pairs.len());
        let share = Share { of: budget, done: done + 1, preparations, measured };
        measured = share.measure(&mut both, &mut pairs, progress)?;
        done += 1;
    }
    Ok(pairs)
}

/// How many preparations take no longer than measuring, where one takes so long.
fn affordable(most: usize, each: Duration, time: Duration) -> usize {
    let fitting = time.as_secs_f64() / each.as_secs_f64().max(1e-9);
    // Beyond any number of preparations, the conversion saturates.
    (fitting as usize).clamp(FEWEST_PREPARATIONS.min(most), most)
}

/// The share of a budget that ends with one of several preparations.
struct Share {
    of: Budget,
    /// Preparations, with this one.
    done: usize,
    preparations: usize,
    /// The time that the pairs before took.
    measured: Duration,
}

impl Share {
    /// Measures pairs until this share is spent; the time that all pairs took until then.
    fn measure(
        &self,
        both: &mut InTurn<'_>,
        pairs: &mut Pairs,
        progress: &mut dyn FnMut(usize, Duration),
    ) -> Result<Duration, RunError> {
        let until_now = |count: usize| (count * self.done).div_ceil(self.preparations);
        let (fewest, most) = (until_now(self.of.fewest), until_now(self.of.most));
        let time = self.of.time.mul_f64(self.done as f64 / self.preparations as f64);
        let begun = Instant::now();
        let so_far = || self.measured + begun.elapsed();
        let first = pairs.len();
        while pairs.len() == first || pairs.len() < fewest || (pairs.len() < most && so_far() < time) {
            let Some((a, b)) = both.pair()? else {
                pairs.interrupted = true;
                break;
            };
            pairs.a.push(a);
            pairs.b.push(b);
            progress(pairs.len(), so_far());
        }
        Ok(so_far())
    }
}

/// Two prepared models that take turns.
struct InTurn<'a> {
    a: &'a mut dyn Engine,
    b: &'a mut dyn Engine,
    /// Who goes first.
    round: usize,
    budget: Budget,
    interrupt: &'a Interrupt,
}

impl InTurn<'_> {
    /// A turn of each, as its median; `None` if the user asked to stop.
    fn pair(&mut self) -> Result<Option<(Nanoseconds, Nanoseconds)>, RunError> {
        let turn = |engine: &mut dyn Engine| {
            let turn = Turn::take(self.budget.in_a_turn, self.interrupt, || engine.infer(self.interrupt))?;
            let durations: Vec<Nanoseconds> = turn.windows.iter().map(|window| window.duration).collect();
            Ok::<_, RunError>((!turn.interrupted).then(|| median_duration(&durations)))
        };
        self.round += 1;
        Ok(if self.round.is_multiple_of(2) {
            let first = turn(self.a)?;
            first.zip(turn(self.b)?)
        } else {
            let second = turn(self.b)?;
            turn(self.a)?.zip(second)
        })
    }
}

/// The median of durations, of which there is at least one.
fn median_duration(durations: &[Nanoseconds]) -> Nanoseconds {
    let durations: Vec<f64> = durations.iter().map(|duration| duration.0 as f64).collect();
    Nanoseconds(median(&sorted(&durations)).round() as i64)
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
    /// are too few pairs for it: 6 for 0.95, 8 for 0.99. Of fewer preparations than that, the interval
    /// encloses each one's median, of more those that the confidence asks for.
    pub fn speedup(&self, confidence: f64) -> Option<Interval> {
        let ratios: Vec<f64> = self.a.iter().zip(&self.b).map(|(a, b)| ratio(*a, *b)).collect();
        let ends = self.preparations.iter().skip(1).copied().chain([ratios.len()]);
        let of_preparations = self.preparations.iter().zip(ends);
        let medians = of_preparations.filter_map(|(begin, end)| Some(sorted(ratios.get(*begin..end)?)));
        let medians: Vec<f64> = medians.filter(|it| !it.is_empty()).map(|it| median(&it)).collect();
        let (ratios, medians) = (sorted(&ratios), sorted(&medians));
        let outside = ranks_outside(ratios.len(), confidence)?;
        let (mut low, mut high) = (ratios[outside], ratios[ratios.len() - 1 - outside]);
        let outside = ranks_outside(medians.len(), confidence).unwrap_or(0);
        if let [first, .., last] = &medians[outside..medians.len() - outside] {
            (low, high) = (low.min(*first), high.max(*last));
        }
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

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
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
    #[derive(Clone)]
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

    fn run(a: Fake, b: Fake, pairs: usize) -> Pairs {
        prepared(1, &mut || a.clone(), &mut || b.clone(), pairs)
    }

    fn prepared(
        preparations: usize,
        a: &mut dyn FnMut() -> Fake,
        b: &mut dyn FnMut() -> Fake,
        pairs: usize,
    ) -> Pairs {
        let time = Duration::from_secs(60);
        let budget = Budget { preparations, warm_up: 0, fewest: pairs, most: pairs, time, in_a_turn: 1 };
        let boxed = |fake: Fake| -> Result<Box<dyn Engine>, RunError> { Ok(Box::new(fake)) };
        interleaved(&mut || boxed(a()), &mut || boxed(b()), budget, &Interrupt::new(), &mut |_, _| {})
            .unwrap()
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
        let turned = Pairs { a: pairs.b.clone(), b: pairs.a.clone(), ..pairs };
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
    fn what_one_preparation_has_by_chance_is_no_difference() {
        // Nothing but where the data lie, up to 3 % either way; inferences themselves have hardly any noise.
        let mut chance = [100_000, 103_000, 98_000, 101_000, 97_000, 102_000, 99_000, 100_500].into_iter();
        let mut other = [98_500, 100_000, 101_000, 99_000, 102_500, 97_500, 100_000, 101_500].into_iter();
        let mut one = || Fake::taking(&[chance.next().expect("eight preparations")]);
        let mut same = || Fake::taking(&[other.next().expect("eight preparations")]);
        let pairs = prepared(8, &mut one, &mut same, 40);
        assert_eq!(pairs.preparations, [0, 5, 10, 15, 20, 25, 30, 35]);
        assert_eq!(pairs.verdict(0.99), Verdict::Undecided, "{:?}", pairs.speedup(0.99));
        // The same by chance, and a tenth quicker besides.
        let mut chance = [100_000, 103_000, 98_000, 101_000, 97_000, 102_000, 99_000, 100_500].into_iter();
        let mut one = || Fake::taking(&[chance.next().expect("eight preparations")]);
        let mut other = [88_500, 90_000, 91_000, 89_000, 92_500, 87_500, 90_000, 91_500].into_iter();
        let mut quicker = || Fake::taking(&[other.next().expect("eight preparations")]);
        let speed = prepared(8, &mut one, &mut quicker, 40).speedup(0.99).unwrap();
        assert!(speed.low > 1.0 && speed.low < 1.06 && speed.high > 1.16, "{speed:?}");
    }

    #[test]
    fn preparations_take_no_longer_than_measuring_but_for_three() {
        let seconds = Duration::from_secs;
        assert_eq!(affordable(8, Duration::ZERO, seconds(3)), 8);
        assert_eq!(affordable(8, Duration::from_millis(600), seconds(3)), 5);
        assert_eq!(affordable(8, seconds(60), seconds(3)), 3);
        assert_eq!(affordable(1, seconds(60), seconds(3)), 1);
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
