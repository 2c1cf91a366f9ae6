//! The figures of a set of durations.

use opscope_columns::Column;
use opscope_trace::Nanoseconds;

/// The distribution of a set of durations; by default of none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How many there are.
    pub count: usize,
    /// The shortest.
    pub min: Nanoseconds,
    /// Half of them are at most this long.
    pub median: Nanoseconds,
    /// Their sum, divided by their number.
    pub mean: Nanoseconds,
    /// Nine out of ten are at most this long.
    pub p90: Nanoseconds,
    /// 99 out of a hundred are at most this long.
    pub p99: Nanoseconds,
    /// The longest.
    pub max: Nanoseconds,
    /// The standard deviation (of the sample) over the mean; 0 for a single duration.
    pub coefficient_of_variation: f64,
}

impl Statistics {
    /// The statistics of some durations; `None` if there is none.
    ///
    /// Quantiles between two durations are interpolated linearly, as NumPy does by default.
    pub fn of(durations: impl IntoIterator<Item = Nanoseconds>) -> Option<Self> {
        let mut sorted: Column<i64> = durations.into_iter().map(|duration| duration.0).collect();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len();
        let mean = sorted.iter().map(|&duration| duration as f64).sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|&duration| (duration as f64 - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        Some(Self {
            count,
            min: Nanoseconds(min),
            median: quantile(&sorted, 0.5),
            mean: Nanoseconds(mean.round() as i64),
            p90: quantile(&sorted, 0.9),
            p99: quantile(&sorted, 0.99),
            max: Nanoseconds(max),
            coefficient_of_variation: if mean > 0.0 { deviation / mean } else { 0.0 },
        })
    }
}

/// The given quantile of durations that are sorted and not empty.
fn quantile(sorted: &[i64], share: f64) -> Nanoseconds {
    let position = share * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize] as f64;
    let above = sorted[position.ceil() as usize] as f64;
    Nanoseconds((below + (above - below) * position.fract()).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        let statistics = Statistics::of((1..=10).map(|n| Nanoseconds(n * 100))).unwrap();
        assert_eq!(statistics.median, Nanoseconds(550));
        assert_eq!(statistics.p90, Nanoseconds(910));
        assert_eq!(statistics.p99, Nanoseconds(991));
        assert_eq!((statistics.min, statistics.max), (Nanoseconds(100), Nanoseconds(1000)));
        assert_eq!(statistics.mean, Nanoseconds(550));
        // The sample's deviation of 100, 200, … 1000 is 302.765.
        assert!((statistics.coefficient_of_variation - 302.765 / 550.0).abs() < 1e-5);
    }

    #[test]
    fn a_single_duration_does_not_vary() {
        let statistics = Statistics::of([Nanoseconds(7)]).unwrap();
        assert_eq!(statistics.coefficient_of_variation, 0.0);
        assert_eq!(statistics.p99, Nanoseconds(7));
    }

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(Statistics::of([]), None);
    }
}
