//! Whether two sets of durations differ by more than chance.
//!
//! Welch's test of the means at 95 %: it needs no equal spreads and is exact enough from a handful of
//! runs on, and its confidence interval is what users want to see. Single outliers (another program
//! woke up) would widen it without end, so that first the durations beyond three times the spread of
//! the middle half (Tukey's outer fences) are brought in to the fence; they stay counted.

use opscope_trace::Nanoseconds;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The difference of two sets of iterations, B less A, with its significance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// How many durations A and B have.
    pub counts: (usize, usize),
    /// The difference of the means as a part of A's mean.
    pub change: f64,
    /// The interval in which it lies with 95 % confidence, as parts of A's mean.
    pub interval: (f64, f64),
    /// How likely so great a difference is by chance alone.
    pub chance: f64,
    /// The verdict on it.
    pub verdict: Verdict,
}

/// A verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// B takes less time.
    Faster,
    /// B takes more time.
    Slower,
    /// There is no difference beyond noise.
    WithinNoise,
}

impl Verdict {
    /// The words for it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Faster => "faster beyond noise",
            Self::Slower => "slower beyond noise",
            Self::WithinNoise => "no difference beyond noise",
        }
    }
}

impl Difference {
    /// Compares durations; `None` where one side has fewer than two, or the first takes no time.
    pub fn of(before: &[Nanoseconds], after: &[Nanoseconds]) -> Option<Self> {
        let (a, b) = (Sample::of(before)?, Sample::of(after)?);
        if a.mean <= 0.0 {
            return None;
        }
        let change = b.mean - a.mean;
        let error = (a.error2 + b.error2).sqrt();
        let freedom = if error > 0.0 {
            error.powi(4) / (a.error2.powi(2) / (a.count - 1.0) + b.error2.powi(2) / (b.count - 1.0))
        } else {
            a.count + b.count - 2.0
        };
        let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
        let chance = if error > 0.0 {
            two_sided((change / error).abs(), &distribution)
        } else {
            f64::from(u8::from(change == 0.0))
        };
        let reach = error * critical(&distribution);
        let verdict = match chance < 0.05 {
            true if change < 0.0 => Verdict::Faster,
            true => Verdict::Slower,
            false => Verdict::WithinNoise,
        };
        Some(Self {
            counts: (before.len(), after.len()),
            change: change / a.mean,
            interval: ((change - reach) / a.mean, (change + reach) / a.mean),
            chance,
            verdict,
        })
    }
}

struct Sample {
    count: f64,
    mean: f64,
    /// The square of the mean's standard error.
    error2: f64,
}

impl Sample {
    fn of(durations: &[Nanoseconds]) -> Option<Self> {
        if durations.len() < 2 {
            return None;
        }
        let mut values: Vec<f64> = durations.iter().map(|duration| duration.0 as f64).collect();
        values.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let place = share * (values.len() - 1) as f64;
            let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        let (low, high) = (quantile(0.25), quantile(0.75));
        let fence = 3.0 * (high - low);
        // Of a few durations none can be called an outlier.
        let trims = values.len() >= 8;
        let value = |value: &f64| if trims { value.clamp(low - fence, high + fence) } else { *value };
        let count = values.len() as f64;
        let mean = values.iter().map(value).sum::<f64>() / count;
        let variance = values.iter().map(|it| (value(it) - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(Self { count, mean, error2: variance / count })
    }
}

/// The probability of values further out than `t` on either side.
fn two_sided(t: f64, distribution: &StudentsT) -> f64 {
    2.0 * distribution.sf(t)
}

/// The t beyond which 5 % lie, by bisection: the library's own inverse is wrong from 10⁵ degrees of freedom
/// on and doesn't end at 10⁹.
fn critical(distribution: &StudentsT) -> f64 {
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..52 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, distribution) > 0.05 { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: &[i64]) -> Vec<Nanoseconds> {
        values.iter().map(|value| Nanoseconds(*value)).collect()
    }

    #[test]
    fn the_distribution_agrees_with_published_tables() {
        // Critical values of Student's t at 5 % on both sides.
        let of = |freedom| StudentsT::new(0.0, 1.0, freedom).unwrap();
        for (freedom, value) in
            [(1.0, 12.706), (4.0, 2.776), (10.0, 2.228), (30.0, 2.042), (1000.0, 1.962), (1e9, 1.960)]
        {
            let critical = critical(&of(freedom));
            assert!((critical - value).abs() < 1e-3, "{freedom}: {critical}");
        }
        assert!((two_sided(2.0, &of(10.0)) - 0.07339).abs() < 1e-5);
    }

    #[test]
    fn a_clear_gain_is_told_and_the_interval_holds_it() {
        let difference =
            Difference::of(&times(&[100, 102, 98, 101, 99]), &times(&[80, 81, 79, 82, 78])).unwrap();
        assert_eq!(difference.verdict, Verdict::Faster);
        assert!((difference.change + 0.2).abs() < 1e-9);
        // The standard error is 1, with 8 degrees of freedom: 2.306 on either side.
        assert!(
            (difference.interval.0 + 0.22306).abs() < 1e-4 && (difference.interval.1 + 0.17694).abs() < 1e-4
        );
    }

    #[test]
    fn scatter_that_is_greater_than_the_difference_is_noise() {
        let difference = Difference::of(&times(&[100, 140, 90, 120]), &times(&[95, 130, 110, 99])).unwrap();
        assert_eq!(difference.verdict, Verdict::WithinNoise);
        assert!(difference.interval.0 < 0.0 && difference.interval.1 > 0.0);
    }

    #[test]
    fn a_single_outlier_among_many_changes_no_verdict() {
        let before: Vec<i64> = (0..40).map(|n| 1_000 + n % 7).collect();
        let mut after: Vec<i64> = (0..40).map(|n| 900 + n % 5).collect();
        after[7] = 100_000;
        let difference = Difference::of(&times(&before), &times(&after)).unwrap();
        assert_eq!(difference.verdict, Verdict::Faster);
    }

    #[test]
    fn equal_durations_without_scatter_are_no_difference() {
        assert_eq!(Difference::of(&times(&[5, 5]), &times(&[5, 5])).unwrap().verdict, Verdict::WithinNoise);
        assert_eq!(Difference::of(&times(&[5, 5]), &times(&[4, 4])).unwrap().verdict, Verdict::Faster);
        assert!(Difference::of(&times(&[5]), &times(&[4, 4])).is_none());
    }
}
