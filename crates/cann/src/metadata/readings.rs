//! Readings of clocks, and which clocks can be.
//!
//! A clock that can't be (a time of centuries, a frequency of 0, text instead of a number) would give
//! all tasks one start, or durations of years. It is refused here, and counted as
//! [`LossKind::ImpossibleClock`]; what takes its place says whoever asked for it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use crate::clock::CENTURY;
use crate::metadata::json::{MAX_METADATA_BYTES, text};
use opscope_trace::{LossKind, Losses};

/// The begin of the year 2200 in seconds since 1970, which still fits 64 bits in nanoseconds.
const YEAR_2200: i64 = 7_258_118_400;

/// MHz that a counter or a core can have, far beyond those that any has on either side.
const MEGAHERTZ: std::ops::RangeInclusive<f64> = 0.001..=100_000.0;

/// A counter and the monotonic clock, read at the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Nanoseconds of the monotonic clock; `None` where the file doesn't tell.
    pub monotonic: Option<u64>,
    /// The counter; `None` where the file doesn't tell.
    pub counter: Option<u64>,
    /// Ticks that passed between the two readings.
    pub counter_difference: u64,
}

impl Reading {
    /// Reads `key: number` lines; other lines are section headings and comments. `place` names the file
    /// where what can't be is counted, and `megahertz` is the counter's frequency, if it is known.
    pub(super) fn read(
        path: &Path,
        place: &str,
        megahertz: Option<f64>,
        losses: &mut Losses,
    ) -> Option<Self> {
        let file = File::open(path).ok()?.take(MAX_METADATA_BYTES);
        let mut reading = Self::default();
        for line in BufReader::new(file).lines().map_while(std::io::Result::ok) {
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim(), value.trim());
            let known = value.parse().ok();
            let possible = match key {
                "clock_monotonic_raw" => {
                    reading.monotonic = known.filter(|&time| time <= CENTURY as u64);
                    reading.monotonic.is_some()
                }
                "cntvct" => {
                    reading.counter = known.filter(|&ticks| is_counter(ticks, megahertz));
                    reading.counter.is_some()
                }
                "cntvct_diff" => {
                    let ticks = known.filter(|&ticks| is_counter(ticks, megahertz));
                    reading.counter_difference = ticks.unwrap_or(0);
                    ticks.is_some()
                }
                _ => true,
            };
            if !possible {
                count(losses, place, key, value);
            }
        }
        // A file without a reading, or with zeros for what couldn't be read.
        let is_told =
            reading.monotonic.is_some_and(|time| time > 0) || reading.counter.is_some_and(|ticks| ticks > 0);
        is_told.then_some(reading)
    }
}

/// Whether a counter can have come so far within a century. Without its frequency, it is taken to be as
/// fast as any.
fn is_counter(ticks: u64, megahertz: Option<f64>) -> bool {
    let hertz = megahertz.unwrap_or(*MEGAHERTZ.end()) * 1e6;
    ticks as f64 <= hertz * CENTURY as f64 / 1e9
}

/// A frequency in MHz; `None` where the file has none, or one that can't be.
pub(super) fn frequency(json: &Value, key: &str, place: &str, losses: &mut Losses) -> Option<f64> {
    let told = text(json, key);
    let told = told.trim();
    if told.is_empty() {
        return None;
    }
    let megahertz = told.parse().ok().filter(|megahertz| MEGAHERTZ.contains(megahertz));
    if megahertz.is_none() {
        count(losses, place, key, told);
    }
    megahertz
}

/// A wall-clock time in microseconds since 1970, as nanoseconds; `None` where the file has none, or one
/// that can't be.
pub(super) fn wall_clock(json: &Value, key: &str, place: &str, losses: &mut Losses) -> Option<i64> {
    let micros = 1..=YEAR_2200 * 1_000_000;
    Some(whole(json, key, micros, place, losses)? * 1_000)
}

/// A time of the monotonic clock in nanoseconds; `None` where the file has none, or one that can't be.
pub(super) fn monotonic(json: &Value, key: &str, place: &str, losses: &mut Losses) -> Option<i64> {
    whole(json, key, 0..=CENTURY, place, losses)
}

fn whole(
    json: &Value,
    key: &str,
    range: std::ops::RangeInclusive<i64>,
    place: &str,
    losses: &mut Losses,
) -> Option<i64> {
    let told = text(json, key);
    let told = told.trim();
    if told.is_empty() {
        return None;
    }
    let fractional = || told.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| value as i64);
    let value = told.parse().ok().or_else(fractional).filter(|value| range.contains(value));
    if value.is_none() {
        count(losses, place, key, told);
    }
    value
}

fn count(losses: &mut Losses, place: &str, key: &str, value: &str) {
    /// How much of a value is shown.
    const SHOWN: usize = 40;
    let value: String = value.chars().take(SHOWN).collect();
    losses.count(LossKind::ImpossibleClock, &format!("{place}: {key} {value}"), 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str, megahertz: Option<f64>) -> (Option<Reading>, u64) {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), content).expect("space on disk");
        let mut losses = Losses::default();
        let reading = Reading::read(file.path(), "host_start.log", megahertz, &mut losses);
        (reading, losses.total(LossKind::ImpossibleClock))
    }

    #[test]
    fn a_reading_is_as_it_stands_in_the_file() {
        let (reading, lost) = read("[Host]\nclock_monotonic_raw: 17\ncntvct: 5\ncntvct_diff: 2\n", None);
        let expected = Reading { monotonic: Some(17), counter: Some(5), counter_difference: 2 };
        assert_eq!((reading, lost), (Some(expected), 0));
        assert_eq!(read("[Host]\nanything: else\n", None), (None, 0));
    }

    #[test]
    fn what_no_clock_can_show_is_refused_and_counted() {
        let max = u64::MAX;
        for (content, monotonic, counter) in [
            (format!("clock_monotonic_raw: {max}\ncntvct: 5"), None, Some(5)),
            ("clock_monotonic_raw: -3\ncntvct: 5".to_owned(), None, Some(5)),
            ("clock_monotonic_raw: nan\ncntvct: 5".to_owned(), None, Some(5)),
            (format!("clock_monotonic_raw: 17\ncntvct: {max}"), Some(17), None),
            ("clock_monotonic_raw: 17\ncntvct:".to_owned(), Some(17), None),
            (format!("clock_monotonic_raw: 17\ncntvct: 5\ncntvct_diff: {max}"), Some(17), Some(5)),
        ] {
            let (reading, lost) = read(&content, Some(100.0));
            let reading = reading.expect("the other half");
            assert_eq!((reading.monotonic, reading.counter, lost), (monotonic, counter, 1), "{content}");
            assert_eq!(reading.counter_difference, 0, "{content}");
        }
    }

    #[test]
    fn frequencies_and_times_that_cannot_be_are_none_and_counted() {
        for value in ["0", "-1", "nan", "inf", "1e30", "1e-300", "fast"] {
            let json = serde_json::json!({ "f": value });
            let mut losses = Losses::default();
            assert_eq!(frequency(&json, "f", "info.json", &mut losses), None, "{value}");
            assert_eq!(losses.total(LossKind::ImpossibleClock), 1, "{value}");
            assert!(losses.rows()[0].place.contains(value), "{:?}", losses.rows());
        }
        for value in ["0", "-1", "nan", "9223372036854775807", "99999999999999999999"] {
            let json = serde_json::json!({ "t": value });
            let mut losses = Losses::default();
            assert_eq!(wall_clock(&json, "t", "start_info", &mut losses), None, "{value}");
            assert_eq!(losses.total(LossKind::ImpossibleClock), 1, "{value}");
        }
        let mut losses = Losses::default();
        let json = serde_json::json!({ "f": "19.200000", "t": 1_760_000_000_000_000_u64, "empty": "" });
        assert_eq!(frequency(&json, "f", "", &mut losses), Some(19.2));
        assert_eq!(wall_clock(&json, "t", "", &mut losses), Some(1_760_000_000_000_000_000));
        assert_eq!(monotonic(&json, "t", "", &mut losses), Some(1_760_000_000_000_000));
        assert_eq!((frequency(&json, "empty", "", &mut losses), losses.rows().len()), (None, 0));
    }
}
