//! Telling the files of one run from those of another that lie in the same folder, by their times.
//!
//! Only times since 1970 tell that: a run's files begin within it, give or take what a collection takes to begin.

use std::path::Path;

use opscope_formats::input::Input;
use opscope_formats::reading::{Stop, WALL_CLOCK, decimal};
use opscope_trace::{Nanoseconds, Trace};

use crate::read::{database, tables};

/// By how much a file may begin before the first record of the rest, or after the last: samples are taken before
/// the first task and after the last.
const MARGIN: Nanoseconds = Nanoseconds(10_000_000_000);

/// The bytes of a file in which its first time is looked for.
const HEAD_BYTES: u64 = 1 << 20;

/// Whether the first time of a file lies outside of the trace's.
pub(super) fn begins_outside(path: &Path, trace: &Trace) -> bool {
    first_time_of(path).is_some_and(|first| is_outside(trace, first - MARGIN, first + MARGIN))
}

/// Whether all of a table lies outside of the trace's times.
pub(super) fn lies_outside(table: &Trace, trace: &Trace) -> bool {
    span_of(table).is_some_and(|(first, last)| is_outside(trace, first, last))
}

/// Whether a span of times lies outside of the trace's; no where either is by another clock than the wall's.
pub(super) fn is_outside(trace: &Trace, first: Nanoseconds, last: Nanoseconds) -> bool {
    let Some((begin, end)) = span_of(trace) else { return false };
    first.0 >= WALL_CLOCK && (last < begin || first > end)
}

/// Whether a trace has anything with a time.
pub(super) fn has_times(trace: &Trace) -> bool {
    let rows = [trace.tasks.len(), trace.api_calls.len(), trace.ranges.len(), trace.iterations.len()];
    rows.into_iter().chain([trace.samples.len()]).any(|rows| rows > 0)
}

/// The first and last time of all that was recorded, since 1970.
fn span_of(trace: &Trace) -> Option<(Nanoseconds, Nanoseconds)> {
    let zero = Nanoseconds(trace.clock.unix_zero?);
    let tasks = trace.tasks.iter().map(|(_, row)| (row.start, row.duration));
    let calls = trace.api_calls.iter().map(|(_, row)| (row.start, row.duration));
    let ranges = trace.ranges.iter().map(|(_, row)| (row.start, row.duration));
    let iterations = trace.iterations.iter().map(|(_, row)| (row.start, row.duration));
    let samples = trace.samples.iter().map(|(_, row)| (row.time, Nanoseconds::ZERO));
    let all = tasks.chain(calls).chain(ranges).chain(iterations).chain(samples);
    let spans = all.map(|(start, duration)| (start + zero, start + duration + zero));
    spans.reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))
}

/// The first time of a table, timeline or database, if it tells any.
fn first_time_of(path: &Path) -> Option<Nanoseconds> {
    match path.extension()?.to_str()? {
        "db" => database::first_time(path),
        "csv" => {
            let head = Input::head(path, HEAD_BYTES).ok()?.1;
            // The last row may be cut off.
            let whole = head.iter().rposition(|byte| *byte == b'\n')?;
            tables::first_time(&head[..=whole], &Stop::default())
        }
        "json" => first_event(&Input::head(path, HEAD_BYTES).ok()?.1),
        _ => None,
    }
}

/// The time of the first event of a timeline.
fn first_event(json: &[u8]) -> Option<Nanoseconds> {
    const KEY: &[u8] = b"\"ts\":";
    let at = json.windows(KEY.len()).position(|bytes| bytes == KEY)? + KEY.len();
    let value = json[at..].trim_ascii_start();
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    let end = value.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
    decimal::from_micros(&value[..end]).ok()
}
