//! The answer as text for a person.

use std::fmt::Write;

use opscope_analyze::{CallKinds, OperatorCost, Phase, Statistics};
use opscope_say::{say, word};
use opscope_trace::{Bytes, Nanoseconds, Trace, units};

use super::operators::{engine_types, operator_kind, rate, row, shapes};
use super::{Matching, RunReport};
use crate::report::table::UNKNOWN;
use crate::report::{Table, TableColumn, count, label, latency, losses_text, ranges_text, shown};
use crate::terminal::{bold, dim, printable};

/// The answer with the `top` most costly operators and types (0 is all), for a terminal of the
/// given width.
pub fn to_text(report: &RunReport<'_>, top: usize, width: Option<u16>) -> String {
    let mut text = String::new();
    heading(&mut text, report);
    figures(&mut text, report);
    if report.summary.operators.is_empty() {
        text.push_str(word("\nNo operator was recorded.\n"));
        let ranges = ranges_text(report.trace, top, width);
        if !ranges.is_empty() {
            let _ = write!(text, "\n{ranges}");
        }
        return text;
    }
    let top = if top == 0 { usize::MAX } else { top };
    operators(&mut text, report, top, width);
    types(&mut text, report, top, width);
    text
}

/// The model, the engine and its options.
fn heading(text: &mut String, report: &RunReport<'_>) {
    let trace = report.trace;
    let model = report.model.or_else(|| trace.models.ids().next());
    let model = model.map(|model| trace.strings.get(trace.models.get(model).name));
    let run = &trace.run;
    let engine = run.engine.map(|engine| {
        let version = run.engine_version.as_deref().unwrap_or_default();
        say!("{} {version}", engine.name()).trim_end().to_owned()
    });
    let mut parts: Vec<String> = model.map(|name| bold(&printable(name))).into_iter().collect();
    parts.extend(engine.map(|engine| say!("on {}", printable(&engine))));
    if let (Some(optimization), Some(threads)) = (run.optimization, run.threads) {
        let threads = count(threads as usize, "thread");
        parts.push(dim(&say!("(optimization {}, {threads})", optimization.name())));
    }
    if parts.is_empty() {
        // Formats that name neither: then it is said what was read.
        let chip = run.chip.as_ref().map(|chip| say!("on {}", printable(chip)));
        parts.extend(run.format.map(|format| bold(format.name())).into_iter().chain(chip));
    }
    if !parts.is_empty() {
        let _ = writeln!(text, "{}\n", parts.join(" "));
    }
}

/// Latency, loading, coverage, memory, losses: a line each.
fn figures(text: &mut String, report: &RunReport<'_>) {
    let (trace, summary) = (report.trace, &report.summary);
    let mut line = |title: &str, content: String| {
        let _ = writeln!(text, "{} {content}", label(title, 9));
    };
    if let Some(latency) = summary.latency {
        let runs = trace.run.summed_runs.filter(|_| latency.count == 1);
        line(
            "latency",
            match runs {
                Some(runs) => {
                    say!(
                        "mean {} of {runs} inferences, which the profile sums up",
                        units::duration(latency.mean)
                    )
                }
                None if trace.run.are_means && latency.count == 1 => {
                    say!(
                        "mean {} of inferences, of which the profile doesn't tell how many",
                        units::duration(latency.mean)
                    )
                }
                None => distribution(&latency),
            },
        );
    }
    if !trace.run.layer_times.is_placed() {
        line("times", dim(word(trace.run.layer_times.name())));
    }
    if let Some(recorded) = &summary.recorded {
        line("recorded", latency::recorded(recorded, summary.recording_ratio));
    }
    if let Some(warm_up) = summary.warm_up {
        let mean = units::duration(warm_up.mean);
        line(
            "warm-up",
            say!("mean {mean} of {} left out of all other figures", count(warm_up.count, "iteration")),
        );
    }
    let kinds = CallKinds::of(trace);
    let phases: Vec<String> = trace
        .api_calls
        .iter()
        // Which of several models was loaded by a call isn't known.
        .filter(|(_, call)| call.iteration.is_none() && report.model.is_none())
        .filter(|(id, _)| kinds.kind(trace, *id).phase != Some(Phase::SteadyState))
        .map(|(_, call)| {
            format!("{} {}", printable(trace.strings.get(call.name)), units::duration(call.duration))
        })
        .collect();
    // A profile of many calls (every launch of a kernel) has no use for a list of them.
    if (1..=8).contains(&phases.len()) {
        line("before", phases.join(word(", ")));
    }
    if !summary.operators.is_empty() {
        line("inside", coverage(report));
    }
    if let Some(matching) = matching(report.matching) {
        line("graph", matching);
    }
    if let Some(peak) = trace.run.peak_memory {
        let size = |bytes: Bytes| units::bytes(bytes.0 as f64);
        let start = trace.run.memory_at_start.map(size);
        let start = start.map_or(String::new(), |start| say!(", {start} of it once the model was loaded"));
        line("memory", say!("peak {}{start}", size(peak)));
    }
    text.push_str(&losses_text(trace));
}

fn distribution(latency: &Statistics) -> String {
    if latency.count == 1 {
        return say!("{} in the only iteration", units::duration(latency.mean));
    }
    let figures = [
        ("median", latency.median),
        ("mean", latency.mean),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("min", latency.min),
        ("max", latency.max),
    ];
    let figures: Vec<String> =
        figures.iter().map(|(name, time)| format!("{} {}", word(name), units::duration(*time))).collect();
    let variation = units::percent(latency.coefficient_of_variation);
    say!("{}, cv {variation} of {}", figures.join(word(", ")), count(latency.count, "iteration"))
}

fn coverage(report: &RunReport<'_>) -> String {
    let summary = &report.summary;
    let whole = summary.inside + summary.between;
    let share =
        |part: Nanoseconds| units::percent(if whole.0 > 0 { part.0 as f64 / whole.0 as f64 } else { 0.0 });
    if !report.trace.run.layer_times.is_placed() {
        let operators = count(summary.operators.len(), "operator");
        let inside = units::duration(summary.inside);
        return say!("{inside} in {operators}; the time between them wasn't recorded");
    }
    let iteration = match () {
        () if summary.is_of_whole_profile => word("the whole profile"),
        () if summary.scale == 1.0 => word("an iteration"),
        () => word("a recorded iteration"),
    };
    say!(
        "{} ({}) of {iteration} lies inside {}, {} ({}) between them",
        units::duration(summary.inside),
        share(summary.inside),
        count(summary.operators.len(), "operator"),
        units::duration(summary.between),
        share(summary.between)
    )
}

/// How the operators came out of the model's graph; `None` where there was no graph.
fn matching(matching: Matching) -> Option<String> {
    let nodes = matching.exact + matching.fused_nodes + matching.removed;
    if nodes + matching.unattributed == 0 {
        return None;
    }
    let run = matching.exact + matching.fused;
    let mut text = say!("{} run as {}", count(nodes - matching.removed, "node"), count(run, "operator"));
    for (number, what) in [
        (matching.fused, "fused"),
        (matching.engine, "added by the engine"),
        (matching.unattributed, "without a node in the graph"),
    ] {
        if number > 0 {
            let _ = write!(text, "{}", say!(", {number} {what}", what = word(what)));
        }
    }
    if matching.removed > 0 {
        let _ = write!(text, "{}", say!("; {} removed before running", count(matching.removed, "node")));
    }
    Some(text)
}

fn operators(text: &mut String, report: &RunReport<'_>, top: usize, width: Option<u16>) {
    let (trace, operators) = (report.trace, &report.summary.operators);
    let _ = writeln!(
        text,
        "{}",
        say!("\n{} by their own time{}", shown(top, operators.len(), "operator"), order(report))
    );
    let scale = report.summary.scale;
    let mut columns = vec![TableColumn::number("#")];
    columns.extend(latency::time_columns(scale));
    columns.extend([
        TableColumn::number("share"),
        TableColumn::number("cum.").expendable(),
        TableColumn::text("operator"),
        TableColumn::text("type"),
        TableColumn::text("shapes").expendable(),
        TableColumn::number("compute").expendable(),
        TableColumn::number("rate").expendable(),
        TableColumn::number("moved").expendable(),
        TableColumn::number("bandwidth").expendable(),
    ]);
    let mut table = Table::new(columns);
    for (rank, cost) in operators.iter().take(top).enumerate() {
        let operator = row(trace, cost);
        let (flops, moved) = (cost.flops, cost.bytes);
        let mut cells = vec![(rank + 1).to_string()];
        cells.extend(latency::time_cells(cost.time, scale));
        cells.extend([
            units::percent(cost.share),
            units::percent(cost.cumulative_share),
            trace.strings.get(cost.name).to_owned(),
            operator_kind(trace, cost.op_type, operator.and_then(|operator| operator.engine_type)),
            operator.map_or(String::new(), |operator| shapes(trace, &operator)),
            flops.map_or_else(unknown, |flops| units::flops(flops as f64)),
            flops.and_then(|flops| rate(flops, cost.time)).map_or_else(unknown, units::flop_rate),
            moved.map_or_else(unknown, |bytes| units::bytes(bytes as f64)),
            moved.and_then(|bytes| rate(bytes, cost.time)).map_or_else(unknown, units::byte_rate),
        ]);
        table.row(cells);
    }
    text.push_str(&table.to_text(width));
    text.push_str(&disturbed(trace, operators.iter().take(top)));
}

/// The iteration whose times rows are ordered by.
fn order(report: &RunReport<'_>) -> &'static str {
    match report.summary.iterations {
        1 if report.summary.is_of_whole_profile && !report.trace.iterations.is_empty() => {
            word(" in the whole profile")
        }
        1 => "",
        _ => word(" in a typical iteration"),
    }
}

/// Which of the shown operators single iterations made slow on average, though not as a rule: the table
/// goes by the median.
fn disturbed<'c>(trace: &Trace, shown: impl Iterator<Item = &'c OperatorCost>) -> String {
    /// How many times the median the mean must be, and by how much, to be worth a word.
    const APART: f64 = 1.2;
    const AT_LEAST: Nanoseconds = Nanoseconds(1_000);
    let apart = shown.filter(|cost| {
        let all = cost.per_iteration;
        all.mean.0 as f64 > APART * all.median.0 as f64 && all.mean - all.median > AT_LEAST
    });
    let named: Vec<String> = apart
        .map(|cost| {
            let (all, name) = (cost.per_iteration, printable(trace.strings.get(cost.name)));
            let figures = [all.median, all.mean, all.max].map(units::duration);
            say!("{name} (median {}, mean {}, max {})", figures[0], figures[1], figures[2])
        })
        .collect();
    if named.is_empty() {
        return String::new();
    }
    let names = named.join(word(", "));
    format!("{}\n", dim(&say!("Times are medians; single iterations make the mean much longer of {names}")))
}

fn types(text: &mut String, report: &RunReport<'_>, top: usize, width: Option<u16>) {
    let (trace, types) = (report.trace, &report.summary.types);
    let _ = writeln!(
        text,
        "{}",
        say!("\n{} by operators' own time{}", shown(top, types.len(), "type"), order(report))
    );
    let scale = report.summary.scale;
    let mut columns = vec![TableColumn::number("#")];
    columns.extend(latency::time_columns(scale));
    columns.extend([
        TableColumn::number("share"),
        TableColumn::number("cum.").expendable(),
        TableColumn::text("type"),
        TableColumn::number("operators"),
        TableColumn::number("compute").expendable(),
        TableColumn::number("rate").expendable(),
        TableColumn::number("moved").expendable(),
        TableColumn::number("bandwidth").expendable(),
    ]);
    let ran_as = engine_types(trace);
    let mut table = Table::new(columns);
    for (rank, cost) in types.iter().take(top).enumerate() {
        let mut cells = vec![(rank + 1).to_string()];
        cells.extend(latency::time_cells(cost.time, scale));
        cells.extend([
            units::percent(cost.share),
            units::percent(cost.cumulative_share),
            operator_kind(trace, cost.op_type, ran_as.get(&cost.op_type).copied().flatten()),
            cost.operators.to_string(),
            cost.flops.map_or_else(unknown, |flops| units::flops(flops as f64)),
            cost.flops.and_then(|flops| rate(flops, cost.time)).map_or_else(unknown, units::flop_rate),
            cost.bytes.map_or_else(unknown, |bytes| units::bytes(bytes as f64)),
            cost.bytes.and_then(|bytes| rate(bytes, cost.time)).map_or_else(unknown, units::byte_rate),
        ]);
        table.row(cells);
    }
    text.push_str(&table.to_text(width));
}

/// The text in place of a figure that isn't known.
fn unknown() -> String {
    UNKNOWN.to_owned()
}
