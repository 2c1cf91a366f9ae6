//! Figures of many durations, as the tables of statistics show them.

/// A description of some durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// How many there are.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation as a sample (divided by `count - 1`); `None` of a single one.
    pub deviation: Option<f64>,
    /// The shortest.
    pub least: f64,
    /// A quarter is shorter; interpolated between neighbours.
    pub first_quartile: f64,
    /// Half of them are shorter.
    pub median: f64,
    /// Three quarters are shorter.
    pub third_quartile: f64,
    /// The longest.
    pub greatest: f64,
    /// All together.
    pub sum: f64,
}

impl Description {
    /// Describes durations, which are put in order; `None` if there are none.
    pub fn of(durations: &mut [i64]) -> Option<Self> {
        durations.sort_unstable();
        let (least, greatest) = (*durations.first()?, *durations.last()?);
        let count = durations.len();
        let sum = durations.iter().map(|it| i128::from(*it)).sum::<i128>() as f64;
        let mean = sum / count as f64;
        let squares = durations.iter().map(|it| (*it as f64 - mean).powi(2)).sum::<f64>();
        Some(Self {
            count: count as u64,
            mean,
            deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            least: least as f64,
            first_quartile: quantile(durations, 0.25),
            median: quantile(durations, 0.5),
            third_quartile: quantile(durations, 0.75),
            greatest: greatest as f64,
            sum,
        })
    }

    /// The deviation of all there is, divided by `count`, not of a sample.
    pub fn whole_deviation(&self) -> f64 {
        let count = self.count as f64;
        self.deviation.map_or(0.0, |it| it * ((count - 1.0) / count).sqrt())
    }
}

/// The value below which a share of sorted values lies, linear between two of them; 0 of none.
pub fn quantile(sorted: &[i64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let below = (place.floor() as usize).min(last);
    let (low, high) = (sorted[below] as f64, sorted[(below + 1).min(last)] as f64);
    low + (high - low) * (place - below as f64)
}

/// The median of sorted numbers; 0 of none.
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Rounds to so many places as SQLite's `ROUND` does: halves away from zero.
pub fn round_half_up(value: f64, places: i32) -> f64 {
    let scale = 10_f64.powi(places);
    (value * scale).round() / scale
}

/// Rounds to so many places, halves to the even neighbour, as Python's data frames do.
pub fn round_half_even(value: f64, places: i32) -> f64 {
    let scale = 10_f64.powi(places);
    (value * scale).round_ties_even() / scale
}

/// A quotient rounded to four places, as ratios and rates are shown; 0 where there is nothing to divide by.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { round_half_even(part / whole, 4) }
}

/// Nanoseconds as microseconds.
pub fn micros(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// A time in nanoseconds as microseconds without an exponent, to the nanosecond and no digit more than that takes.
pub fn micros_text(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let (whole, part) = (nanoseconds.unsigned_abs() / 1_000, nanoseconds.unsigned_abs() % 1_000);
    let text = format!("{sign}{whole}.{part:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_microseconds_have_the_digits_that_they_need() {
        let texts = [1_760_000_000_282_070_100, 1_760_000_000_421_000, 1_001, -5].map(micros_text);
        assert_eq!(texts, ["1760000000282070.1", "1760000000421", "1.001", "-0.005"]);
    }

    #[test]
    fn quartiles_lie_between_neighbours() {
        let described = Description::of(&mut [4, 1, 3, 2]).unwrap();
        assert_eq!((described.first_quartile, described.median, described.third_quartile), (1.75, 2.5, 3.25));
        assert_eq!((described.least, described.greatest, described.sum), (1.0, 4.0, 10.0));
        assert!((described.deviation.unwrap() - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((described.whole_deviation() - 1.25_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_single_duration_has_no_deviation() {
        let described = Description::of(&mut [7]).unwrap();
        assert_eq!((described.deviation, described.whole_deviation(), described.median), (None, 0.0, 7.0));
        assert_eq!(Description::of(&mut []), None);
    }

    #[test]
    fn the_two_ways_of_rounding_differ_at_halves() {
        assert_eq!((round_half_up(1887.25, 1), round_half_even(1887.25, 1)), (1887.3, 1887.2));
        assert_eq!((ratio(1.0, 3.0), ratio(1.0, 0.0)), (0.3333, 0.0));
    }
}
