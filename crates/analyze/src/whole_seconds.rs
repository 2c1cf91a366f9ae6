//! Spans that are too round to be work.

use opscope_trace::Nanoseconds;

/// The whole number of seconds, one or more, that a span is within a part of: 0.01 stands for one
/// per cent. Computing hardly ever takes such a time; sleeping and time-outs do.
pub fn whole_seconds(span: Nanoseconds, within: f64) -> Option<u64> {
    let seconds = span.0 as f64 / 1e9;
    let whole = seconds.round();
    // Of a long span a hundredth is more than half a second, and every span would fit.
    let is_near = (seconds - whole).abs() <= (within * whole).min(0.05);
    (whole >= 1.0 && is_near).then_some(whole as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_shows_and_ordinary_times_do_not() {
        assert_eq!(whole_seconds(Nanoseconds(5_002_280_000), 0.01), Some(5));
        assert_eq!(whole_seconds(Nanoseconds(995_000_000), 0.01), Some(1));
        assert_eq!(whole_seconds(Nanoseconds(5_645_052_000), 0.01), None);
        assert_eq!(whole_seconds(Nanoseconds(642_772_000), 0.01), None);
        assert_eq!(whole_seconds(Nanoseconds(3_000_000), 0.01), None);
        assert_eq!(whole_seconds(Nanoseconds(-1_000_000_000), 0.01), None);
        assert_eq!(whole_seconds(Nanoseconds(60_400_000_000), 0.01), None);
    }
}
