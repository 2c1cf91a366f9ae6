//! `opscope where`: on which unit an operator ran.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use opscope_advise::{Why, why_on_ai_cpu};
use opscope_analyze::{Location, Matched, Sighting, locate};
use opscope_trace::{ExecutionUnit, TaskId, Trace, units};
use serde_json::{Value, json};

use crate::exit::{Exit, UsageError};
use crate::profile::{self, Tell};
use crate::terminal::{Column, Table, Terminal, bold, dim};

const EXAMPLES: &str = "\
Examples:
  opscope where TopKD PROF_000001_20251009085320000_ABCDEFGH
  opscope where conv PROF_…                       every operator with conv in its name or type
  opscope where Conv2D PROF_… --json              with the time of every task

An operator is looked for by its name and by its type, else by a part of its name; a name that is
also the type of other operators is shown as both (in JSON, the type is \"also\"). The task ids are
those that the vendor's tables have; they are used again in every inference, and on every stream.
Of operators on the AI CPU it is said why they are there, and what to put in their place.";

/// The options of `opscope where`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The operator's name or type, or a part of its name
    #[arg(value_name = "OP")]
    operator: String,

    /// A raw directory (PROF_*, JOB*), or any other profile
    #[arg(value_name = "DIR")]
    profile: PathBuf,

    /// Show the N most costly operators; 0 shows all
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    top: usize,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Finds the operator and prints where it ran.
///
/// # Errors
/// When the profile can't be read, or no such operator ran.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    if !arguments.profile.exists() && Path::new(&arguments.operator).exists() {
        let (path, operator) = (&arguments.operator, arguments.profile.display());
        let text = format!(
            "{operator}: there is no such profile; the operator comes first: opscope where {operator} {path}"
        );
        return Err(UsageError(text).into());
    }
    let trace = profile::open(&arguments.profile, Tell::Warnings, terminal)?;
    let sightings = locate(&trace, &arguments.operator);
    let [first, others @ ..] = sightings.as_slice() else {
        bail!("{}", unknown(&trace, &arguments.operator));
    };
    if arguments.json {
        let mut answer = to_json(&trace, first);
        if let Some(other) = others.first() {
            answer["also"] = to_json(&trace, other);
        }
        terminal.print(&profile::answer_in_json(answer, [&trace])?)?;
        return Ok(Exit::Done);
    }
    let top = if arguments.top == 0 { usize::MAX } else { arguments.top };
    for (place, sighting) in sightings.iter().enumerate() {
        let gap = if place > 0 { "\n" } else { "" };
        let sentence = sentence(&arguments.operator, sighting.matched, &sighting.locations);
        terminal.print(&format!("{gap}{sentence}"))?;
        terminal.print(&table(&trace, &sighting.locations, top, terminal.width()))?;
        terminal.print(&reasons(&trace, &sighting.locations))?;
    }
    Ok(Exit::Done)
}

/// Why operators are on the device's general processor, a paragraph for each type and reason.
fn reasons(trace: &Trace, locations: &[Location]) -> String {
    let mut known: Vec<(&str, Why)> = Vec::new();
    for location in locations {
        let Some(why) = why(trace, location) else { continue };
        let reason = (trace.strings.get(location.op_type), why);
        if !known.contains(&reason) {
            known.push(reason);
        }
    }
    let paragraph = |(op_type, why): &(&str, Why)| {
        format!("\nWhy {} is there: {}.\nInstead: {}.\n", bold(op_type), why.because, why.instead)
    };
    known.iter().map(paragraph).collect()
}

/// Why an operator is where it is; `None` for one that the cores execute.
fn why(trace: &Trace, location: &Location) -> Option<Why> {
    let task = location.tasks.first().filter(|_| location.unit == ExecutionUnit::AiCpu)?;
    Some(why_on_ai_cpu(trace, trace.tasks.operator()[task.index()]?))
}

/// The answer in a sentence for each unit.
fn sentence(text: &str, matched: Matched, locations: &[Location]) -> String {
    let what = match matched {
        Matched::Name => format!("The operator {}", bold(text)),
        Matched::Type => format!("Operators of the type {}", bold(text)),
        Matched::Part => format!("Operators with {} in their names", bold(text)),
    };
    let mut of_units: Vec<(ExecutionUnit, usize, f64)> = Vec::new();
    for location in locations {
        match of_units.iter_mut().find(|(unit, ..)| *unit == location.unit) {
            Some((_, tasks, share)) => {
                *tasks += location.tasks.len();
                *share += location.share;
            }
            None => of_units.push((location.unit, location.tasks.len(), location.share)),
        }
    }
    let parts: Vec<String> = of_units
        .iter()
        .map(|(unit, tasks, share)| {
            let plural = if *tasks == 1 { "" } else { "s" };
            let unit = bold(spoken(*unit));
            format!("on {unit} ({tasks} task{plural}, {} of all operators' time)", units::percent(*share))
        })
        .collect();
    format!("{what} ran {}.\n\n", parts.join(" and "))
}

/// A unit's name in a sentence.
fn spoken(unit: ExecutionUnit) -> &'static str {
    match unit {
        ExecutionUnit::Cpu => "the host's processor",
        ExecutionUnit::Gpu => "the GPU",
        ExecutionUnit::AiCore => "the AI Core",
        ExecutionUnit::AiVectorCore => "the vector core",
        ExecutionUnit::MixAiCore => "the AI Core with vector cores",
        ExecutionUnit::MixVectorCore => "the vector core with AI Cores",
        ExecutionUnit::AiCpu => "the AI CPU",
        ExecutionUnit::Dvpp => "the DVPP",
        ExecutionUnit::Communication => "the communication units",
        ExecutionUnit::MemoryCopy => "the copy engine",
        ExecutionUnit::Control => "the task scheduler",
        ExecutionUnit::Other => "a unit that the profile doesn't name",
    }
}

fn table(trace: &Trace, locations: &[Location], top: usize, width: Option<u16>) -> String {
    let columns = [
        Column::text("operator"),
        Column::text("type"),
        Column::text("unit"),
        Column::number("tasks"),
        Column::number("time"),
        Column::number("mean"),
        Column::number("share"),
        Column::text("streams").expendable(),
        Column::text("task ids"),
    ];
    let mut table = Table::new(&columns, width);
    for location in locations.iter().take(top) {
        let mean = location.time.0 / location.tasks.len().max(1) as i64;
        let streams = location.tasks.iter().filter_map(|task| stream_number(trace, *task));
        let numbers = location.tasks.iter().filter_map(|task| trace.tasks.number()[task.index()]);
        table.row([
            trace.strings.get(location.name).to_owned(),
            trace.strings.get(location.op_type).to_owned(),
            location.unit.name().to_owned(),
            location.tasks.len().to_string(),
            units::duration(location.time),
            units::duration(opscope_trace::Nanoseconds(mean)),
            units::percent(location.share),
            list(streams.collect()),
            list(numbers.map(u64::from).collect()),
        ]);
    }
    let rest = match locations.len().saturating_sub(top) {
        0 => String::new(),
        rest => dim(&format!("… and {rest} more (-t 0 shows all)\n")),
    };
    format!("{}{rest}", table.render())
}

fn stream_number(trace: &Trace, task: TaskId) -> Option<u64> {
    trace.tasks.stream()[task.index()].map(|stream| trace.streams.get(stream).number)
}

/// Numbers once each, in order, with those that follow one another as `3-7`.
fn list(mut numbers: Vec<u64>) -> String {
    /// How many runs of numbers are listed.
    const LISTED: usize = 8;
    numbers.sort_unstable();
    numbers.dedup();
    let runs: Vec<&[u64]> = numbers.chunk_by(|a, b| *b == a.saturating_add(1)).collect();
    let mut parts: Vec<String> = runs
        .iter()
        .take(LISTED)
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            run => run.iter().map(u64::to_string).collect(),
        })
        .collect();
    if runs.len() > LISTED {
        parts.push(format!("… ({} in all)", numbers.len()));
    }
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

/// What to say when no operator was found.
fn unknown(trace: &Trace, text: &str) -> String {
    if trace.operators.is_empty() {
        return "this profile names no operators".to_owned();
    }
    let names = trace.operators.name().iter().chain(trace.operators.op_type());
    let similarity = |name: &&str| strsim::jaro_winkler(&text.to_lowercase(), &name.to_lowercase());
    let nearest = names
        .map(|name| trace.strings.get(*name))
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)))
        .filter(|name| similarity(name) > 0.6);
    let hint = nearest.map_or(String::new(), |name| format!(" (did you mean '{name}'?)"));
    format!(
        "no operator of this profile has '{text}' as its name or type{hint}; 'opscope show' lists the types"
    )
}

fn to_json(trace: &Trace, sighting: &Sighting) -> Value {
    let rows = sighting.locations.iter().map(|location| {
        let tasks = location.tasks.iter().map(|task| {
            let row = trace.tasks.get(*task);
            let device = row.stream.map(|stream| trace.devices.get(trace.streams.get(stream).device).number);
            json!({
                "task_id": row.number,
                "stream_id": stream_number(trace, *task),
                "device": device,
                "start_ns": row.start.0,
                "duration_ns": row.duration.0,
            })
        });
        json!({
            "operator": trace.strings.get(location.name),
            "type": trace.strings.get(location.op_type),
            "unit": location.unit.name(),
            "time_ns": location.time.0,
            "share": location.share,
            "because": why(trace, location).map(|why| why.because),
            "instead": why(trace, location).map(|why| why.instead),
            "tasks": tasks.collect::<Vec<_>>(),
        })
    });
    let matched = match sighting.matched {
        Matched::Name => "name",
        Matched::Type => "type",
        Matched::Part => "part",
    };
    json!({"matched": matched, "locations": rows.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_once_and_in_runs() {
        assert_eq!(list(vec![5, 3, 4, 9, 3]), "3-5, 9");
        assert_eq!(list(Vec::new()), "–");
        assert_eq!(list((0..40).step_by(2).collect()), "0, 2, 4, 6, 8, 10, 12, 14, … (20 in all)");
    }
}
