//! The latency of an inference and the cost of recording its operators: the words and columns for both.

use opscope_analyze::{Latencies, Statistics, scaled};
use opscope_say::say;
use opscope_trace::{Nanoseconds, Trace, units};
use serde_json::{Value, json};

use super::{TableColumn, count, label};

/// The recorded iterations in a line, where the latency is that of others.
pub fn recorded(recorded: &Statistics, ratio: Option<f64>) -> String {
    let ratio = ratio.map_or(String::new(), |ratio| say!(", {ratio:.2} times the latency"));
    let median = units::duration(recorded.median);
    say!("median {median}{ratio}, of {} whose operators were recorded", count(recorded.count, "iteration"))
}

/// The columns of an operator's time. Where recording takes a good part of an iteration, its recorded time
/// is no part of the latency; its share is.
pub fn time_columns(scale: f64) -> Vec<TableColumn> {
    match scale == 1.0 {
        true => vec![TableColumn::number("time")],
        false => vec![TableColumn::number("≈ time"), TableColumn::number("recorded").expendable()],
    }
}

/// The cells of these columns.
pub fn time_cells(time: Nanoseconds, scale: f64) -> Vec<String> {
    match scale == 1.0 {
        true => vec![units::duration(time)],
        false => vec![units::duration(scaled(time, scale)), units::duration(time)],
    }
}

/// The latency of a profile that knows more than recorded iterations, as lines above what was recorded;
/// nothing for others.
pub fn latency_text(trace: &Trace) -> String {
    let latencies = Latencies::of(trace, None);
    let of = |durations: &[Nanoseconds]| Statistics::of(durations.iter().copied());
    let (Some(latency), Some(watched)) = (of(&latencies.unrecorded), of(&latencies.recorded)) else {
        return String::new();
    };
    if let Some(runs) = trace.run.summed_runs {
        return say!(
            "{} median {}, mean {} of {} whose times are told beside the profile\n{} mean {} of {runs} inferences as the \
             sum of their operators; all that follows is of these\n",
            label("latency", 9),
            units::duration(latency.median),
            units::duration(latency.mean),
            count(latency.count, "inference"),
            label("profiled", 9),
            units::duration(watched.mean),
        );
    }
    say!(
        "{} median {} of {} of which nothing was recorded\n{} {}; all that follows is of these\n",
        label("latency", 9),
        units::duration(latency.median),
        count(latency.count, "iteration"),
        label("recorded", 9),
        recorded(&watched, latencies.ratio()),
    )
}

/// The same for a program; null where only recorded iterations are known.
pub fn latency_json(trace: &Trace) -> Value {
    let latencies = Latencies::of(trace, None);
    let latency = Statistics::of(latencies.unrecorded.iter().copied());
    latency.map_or(Value::Null, |latency| {
        json!({
            "iterations": latency.count,
            "median_ns": latency.median.0,
            "mean_ns": latency.mean.0,
            "recording_ratio": latencies.ratio(),
            "scale": latencies.scale(),
        })
    })
}
