//! `opscope show`: a run in tables: components, core metrics, operators, calls, ranges, frequency.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use opscope_analyze::{
    CallStatistic, Component, ComponentUse, CoreMetrics, Coverage, Durations, Frequency, Overview, Phase,
    RangeTree, TypeStatistic,
};
use opscope_svp::SideFiles;
use opscope_trace::{ApiLevel, MetricId, StringId, Trace, units};
use serde_json::{Value, json};

use super::show_placement::Placed;
use super::vendor::VendorArguments;
use crate::exit::Exit;
use crate::profile::{self, Tell, board};
use crate::report::{count, ranges_json, ranges_table};
use crate::terminal::{Column, Table, Terminal, bold, dim, printable};

const EXAMPLES: &str = "\
Examples:
  opscope show PROF_000001_20251009085320000_ABCDEFGH
  opscope show PROF_… -t 0                       all rows
  opscope show PROF_… --json > show.json
  opscope show JOB… --vendor-parser ~/Ascend/ascend-toolkit/svp_latest/x86_64-linux

Components are the layers of the software and the device: how long their calls, ranges or tasks take
together, and the time in which at least one was open. Steady-state is what is called while inferences
run; one-off is what is called before and after, or to load something.

Core metrics are the averages of an operator's executions; a ratio is the part of the time in which a
unit was busy. Which there are depends on the group of counters that was collected. Any profile can be
shown; tables without rows are left out.";

/// The options of `opscope show`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A raw directory (PROF_*, JOB*), or any other profile
    #[arg(value_name = "DIR")]
    profile: PathBuf,

    /// Show the N most costly rows of each table; 0 shows all
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    top: usize,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,

    /// The converted model, or its folder: what its converter left says which layers run on the CPU
    /// and which were fused [default: the profile's folder and the one above]
    #[arg(long, value_name = "FILE.om|DIR")]
    model: Option<PathBuf>,

    #[command(flatten)]
    vendor: VendorArguments,
}

impl Arguments {
    /// Those of a profile, with nothing else asked for.
    pub fn of(profile: PathBuf) -> Self {
        Self { profile, top: 10, json: false, model: None, vendor: VendorArguments::default() }
    }
}

/// Prints the tables.
///
/// # Errors
/// When the profile can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let trace = match arguments.vendor.parse(&arguments.profile, terminal)? {
        Some(exports) => profile::of_exports(&exports, &arguments.profile, Tell::Warnings, terminal),
        None => profile::open(&arguments.profile, Tell::Warnings, terminal)?,
    };
    let missing = missing(&arguments.profile, &trace);
    let overview = Overview::of(&trace);
    let (ranges, coverage) = (RangeTree::of(&trace), Coverage::of(&trace));
    let placed = Placed::of(&trace, &side_files(arguments)?);
    if arguments.json {
        let mut answer = to_json(&trace, &overview);
        answer["placement"] = placed.to_json();
        answer["missing"] = missing.iter().map(|it| json!({"what": it.what, "how": it.how})).collect();
        answer["covered"] = coverage.map_or(Value::Null, |coverage| coverage.share().into());
        answer["ranges"] = ranges_json(&trace, &ranges);
        terminal.print(&profile::answer_in_json(answer, [&trace])?)?;
        return Ok(Exit::Done);
    }
    for it in &missing {
        // What isn't shown belongs above what is.
        terminal.print(&format!("{} {}: {}\n", bold("Missing:"), it.what, it.how))?;
    }
    let top = if arguments.top == 0 { usize::MAX } else { arguments.top };
    let tables = [
        components(&trace, &overview.components, terminal.width()),
        core_metrics(&trace, &overview.core_metrics, top, terminal.width()),
        operators(&trace, &overview.operators, top, terminal.width()),
        calls(&trace, &overview.calls, top, terminal.width()),
        coverage.map(|coverage| coverage_text(&coverage)),
        ranges_table(&trace, &ranges, arguments.top, terminal.width()),
        frequencies(&trace, &overview.frequencies, terminal.width()),
        placed.table(top, terminal.width()),
    ];
    let tables: Vec<String> = tables.into_iter().flatten().collect();
    for what in ["calls", "times of calls", "times of layers"] {
        if let Some(said) = trace.property(what) {
            terminal.note(&format!("{what}: {said}"));
        }
    }
    if tables.is_empty() {
        terminal.note("there is nothing to show: no operator, call, range or frequency was recorded; samples are in what 'opscope export all' writes");
    }
    terminal.print(&tables.join("\n"))?;
    Ok(Exit::Done)
}

/// What a board's profile lacks; other profiles have remarks of their own.
fn missing(path: &std::path::Path, trace: &Trace) -> Vec<board::Missing> {
    if trace.property("source") != Some("SVP") {
        return Vec::new();
    }
    let below = || board::only_below(path).ok().flatten();
    let job = if profile::is_board(path).unwrap_or(false) { None } else { below() };
    board::missing(job.as_deref().unwrap_or(path), trace)
}

/// What the converter left beside the model that was named, or else beside the profile or above it.
fn side_files(arguments: &Arguments) -> anyhow::Result<SideFiles> {
    if let Some(model) = &arguments.model {
        profile::check_presence(model)?;
        let found = SideFiles::beside(model)?;
        if found.is_empty() {
            bail!(
                "{}: the model converter left nothing here: no om.json, layer.json or the like",
                model.display()
            );
        }
        return Ok(found);
    }
    let path = std::path::absolute(&arguments.profile)?;
    let places = path.ancestors().take(3).filter(|place| place.is_dir());
    let mut found = places.filter_map(|place| SideFiles::beside(place).ok());
    Ok(found.find(|found| found.placements().next().is_some()).unwrap_or_default())
}

/// How much of the executions of models their operators account for.
fn coverage_text(coverage: &Coverage) -> String {
    let without = match coverage.calls_without {
        0 => String::new(),
        without => format!("; during {} no operator was recorded", count(without, "other")),
    };
    let calls = count(coverage.calls, "call");
    let average = if coverage.is_average { " on average" } else { "" };
    format!(
        "{}\nOperators account for {} of the {} that {calls} took to execute a model{average} ({}){without}.\n",
        bold("Coverage"),
        units::duration(coverage.operators),
        units::duration(coverage.time),
        units::percent(coverage.share()),
    )
}

/// A table with its heading; `None` for one without rows.
pub(super) fn titled(title: &str, table: &Table<'_>, shown: usize, all: usize) -> Option<String> {
    let rest = match all - shown {
        0 => String::new(),
        rest => dim(&format!("… and {rest} more (-t 0 shows all)\n")),
    };
    (all > 0).then(|| format!("{}\n{}{rest}", bold(title), table.render()))
}

fn components(trace: &Trace, rows: &[ComponentUse], width: Option<u16>) -> Option<String> {
    let columns = [
        Column::text("component"),
        Column::text("phase"),
        Column::number("covered"),
        Column::number("total"),
        Column::number("count"),
        Column::number("longest"),
        Column::text("which"),
    ];
    let mut table = Table::new(&columns, width);
    for row in rows {
        table.row([
            component_name(trace, row.component),
            phase_name(row.phase).to_owned(),
            units::duration(row.covered),
            units::duration(row.time.total),
            row.time.count.to_string(),
            units::duration(row.time.max),
            printable(trace.strings.get(row.longest)).into_owned(),
        ]);
    }
    let title = "Components; covered is the time in which at least one of a component's spans was open";
    titled(title, &table, rows.len(), rows.len())
}

/// What a component is called, with the name that it has on the timelines of Ascend's tools.
fn component_name(trace: &Trace, component: Component) -> String {
    let (name, of_vendor) = match component {
        Component::Ranges => ("ranges", Some("MsprofTx")),
        Component::Calls(ApiLevel::Application) => (ApiLevel::Application.name(), Some("AscendCL")),
        Component::Calls(level) => (level.name(), None),
        Component::Tasks => ("tasks", Some("Task Scheduler")),
    };
    let is_acl = |id: &StringId| {
        let call = trace.strings.get(*id);
        call.starts_with("acl") || call.starts_with("svp_acl")
    };
    let of_vendor = of_vendor.filter(|_| trace.api_calls.name().iter().any(is_acl));
    of_vendor.map_or_else(|| name.to_owned(), |of_vendor| format!("{name} ({of_vendor})"))
}

fn phase_name(phase: Option<Phase>) -> &'static str {
    phase.map_or("–", Phase::name)
}

fn core_metrics(trace: &Trace, rows: &[CoreMetrics], top: usize, width: Option<u16>) -> Option<String> {
    // The units of one run may have metrics of their own: every operator has cells for all of them.
    let mut shown: Vec<MetricId> = Vec::new();
    for (metric, _) in rows.iter().take(top).flat_map(|row| &row.metrics) {
        if !shown.contains(metric) {
            shown.push(*metric);
        }
    }
    let headings: Vec<String> = shown
        .iter()
        .map(|metric| {
            let (name, unit) = metric_texts(trace, *metric);
            if unit.is_empty() { name.to_owned() } else { format!("{name}({unit})") }
        })
        .collect();
    let mut columns = vec![
        Column::text("operator"),
        Column::text("type"),
        Column::text("unit"),
        Column::number("tasks"),
        Column::number("time"),
    ];
    columns.extend(headings.iter().map(|heading| Column::number(heading).expendable()));
    let mut table = Table::new(&columns, width);
    for row in rows.iter().take(top) {
        let operator = trace.operators.get(row.operator);
        let mut cells = vec![
            trace.strings.get(operator.name).to_owned(),
            trace.strings.get(operator.op_type).to_owned(),
            row.unit.name().to_owned(),
            row.time.count.to_string(),
            units::duration(row.time.mean()),
        ];
        cells.extend(shown.iter().map(|metric| {
            let value = row.metrics.iter().find(|(known, _)| known == metric);
            value.map_or("–".to_owned(), |(_, value)| decimal(*value))
        }));
        table.row(cells);
    }
    titled("Core metrics, the average of an execution", &table, rows.len().min(top), rows.len())
}

fn operators(trace: &Trace, rows: &[TypeStatistic], top: usize, width: Option<u16>) -> Option<String> {
    let mut columns = vec![Column::text("type"), Column::text("unit")];
    columns.extend(DURATIONS.map(Column::number));
    let mut table = Table::new(&columns, width);
    for row in rows.iter().take(top) {
        let mut cells = vec![trace.strings.get(row.op_type).to_owned(), row.unit.name().to_owned()];
        cells.extend(durations(&row.time, row.share));
        table.row(cells);
    }
    titled("Operator statistic", &table, rows.len().min(top), rows.len())
}

fn calls(trace: &Trace, rows: &[CallStatistic], top: usize, width: Option<u16>) -> Option<String> {
    let mut columns = vec![Column::text("level"), Column::text("phase"), Column::text("call")];
    columns.extend(DURATIONS.map(Column::number));
    let mut table = Table::new(&columns, width);
    for row in rows.iter().take(top) {
        let within = if row.within_itself { " (within itself)" } else { "" };
        let name = format!("{}{within}", trace.strings.get(row.name));
        let mut cells = vec![row.level.name().to_owned(), phase_name(row.phase).to_owned(), name];
        cells.extend(durations(&row.time, row.share));
        table.row(cells);
    }
    let title = "API statistic; the share is that of a level's calls, which may lie within one another";
    titled(title, &table, rows.len().min(top), rows.len())
}

fn frequencies(trace: &Trace, rows: &[Frequency], width: Option<u16>) -> Option<String> {
    let columns = [
        Column::text("frequency"),
        Column::text("device"),
        Column::number("samples"),
        Column::number("first"),
        Column::number("lowest"),
        Column::number("highest"),
        Column::number("last"),
    ];
    let mut table = Table::new(&columns, width);
    for row in rows {
        let counter = trace.counters.get(row.counter);
        let device = row.device.map(|device| trace.devices.get(device));
        let device =
            device.map_or("host".to_owned(), |it| format!("{} {}", trace.strings.get(it.name), it.number));
        let mut cells = vec![trace.strings.get(counter.name).to_owned(), device, row.samples.to_string()];
        let values = [row.first, row.min, row.max, row.last];
        cells.extend(values.map(|value| format!("{} MHz", decimal(value))));
        table.row(cells);
    }
    titled("Frequency", &table, rows.len(), rows.len())
}

const DURATIONS: [&str; 6] = ["share", "total", "count", "mean", "min", "max"];

fn durations(time: &Durations, share: f64) -> [String; 6] {
    [
        units::percent(share),
        units::duration(time.total),
        time.count.to_string(),
        units::duration(time.mean()),
        units::duration(time.min),
        units::duration(time.max),
    ]
}

/// A number with up to three decimals.
fn decimal(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn metric_texts(trace: &Trace, metric: MetricId) -> (&str, &str) {
    let metric = trace.metrics.get(metric);
    (trace.strings.get(metric.name), trace.strings.get(metric.unit))
}

fn to_json(trace: &Trace, overview: &Overview) -> Value {
    let times = |time: &Durations| {
        json!({
            "count": time.count,
            "total_ns": time.total.0,
            "mean_ns": time.mean().0,
            "min_ns": time.min.0,
            "max_ns": time.max.0,
        })
    };
    let text = |id| trace.strings.get(id);
    let core_metrics = overview.core_metrics.iter().map(|row| {
        let operator = trace.operators.get(row.operator);
        let metrics = row.metrics.iter().map(|(metric, value)| {
            let (name, unit) = metric_texts(trace, *metric);
            json!({"name": name, "unit": unit, "mean": value})
        });
        json!({
            "operator": text(operator.name),
            "type": text(operator.op_type),
            "unit": row.unit.name(),
            "time": times(&row.time),
            "metrics": metrics.collect::<Vec<_>>(),
        })
    });
    let operators = overview.operators.iter().map(|row| {
        json!({
            "type": text(row.op_type),
            "unit": row.unit.name(),
            "share": row.share,
            "time": times(&row.time),
        })
    });
    let calls = overview.calls.iter().map(|row| {
        json!({
            "level": row.level.name(),
            "call": text(row.name),
            "phase": row.phase.map(Phase::name),
            "within_itself": row.within_itself,
            "share": row.share,
            "time": times(&row.time),
        })
    });
    let frequencies = overview.frequencies.iter().map(|row| {
        json!({
            "name": text(trace.counters.get(row.counter).name),
            "device": row.device.map(|device| trace.devices.get(device).number),
            "samples": row.samples,
            "first_mhz": row.first,
            "min_mhz": row.min,
            "max_mhz": row.max,
            "last_mhz": row.last,
        })
    });
    let components = overview.components.iter().map(|row| {
        json!({
            "component": component_name(trace, row.component),
            "phase": row.phase.map(Phase::name),
            "covered_ns": row.covered.0,
            "longest": text(row.longest),
            "time": times(&row.time),
        })
    });
    json!({
        "components": components.collect::<Vec<_>>(),
        "core_metrics": core_metrics.collect::<Vec<_>>(),
        "operator_statistic": operators.collect::<Vec<_>>(),
        "api_statistic": calls.collect::<Vec<_>>(),
        "frequency": frequencies.collect::<Vec<_>>(),
    })
}
