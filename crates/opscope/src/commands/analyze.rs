//! `opscope analyze`: questions to a profile, whatever its format.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use opscope_analyze::{
    Aggregate, Answer, Column, Filter, Glance, GroupBy, Iterations, Query, RangeTree, Scope, ScopeError,
    Sort, TimeKind,
};
use opscope_trace::{DataType, ExecutionUnit, Nanoseconds, Trace, units};
use regex::Regex;
use serde_json::json;

use super::peak::CeilingArguments;
use crate::exit::{Exit, UsageError};
use crate::profile::{self, Tell};
use crate::report::{self, FormArguments};
use crate::terminal::{Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope analyze profile.json                       the answer in one screen
  opscope analyze profile.json --name '^conv' -t 10  operators whose names begin with conv
  opscope analyze PROF_000001_20261121/ --group-by type --agg p99
  opscope analyze trace_view.json --min-time 50us --max-time 2ms --sort +bandwidth
  opscope analyze run.db --iteration 3..5 --group-by iteration
  opscope analyze trace.json --time wait --type MatMul --columns time,wait,count,name
  opscope analyze run.db --roofline --csv > operators.csv

What the times are:
  total   an operator's own time: less that of what ran within it on the same stream
  kernel  the same without the waiting that it includes
  wait    from being ready or queued to the first kernel:
            MegEngine        from being ready to the first kernel; part of the total
            Ascend tables and raw directories
                             \"Wait Time\": from the end of the task before on its stream
            Ascend databases and timelines, PyTorch, other timelines
                             from the end of the call that launched it, where that is recorded
            ONNX Runtime     not recorded

A row is an operator, or what --group-by puts together. Times, operations and bytes are those of an
average iteration, and with --group-by iteration those of each: warm-up iterations and what lies
outside of all are left out, unless --iteration says otherwise. Iterations are counted from 1, as the
vendor's tools count them. --agg makes its figure of the single executions. --min-time and --max-time are about
an operator's time in an average iteration. Tasks that only wait or handle streams are no
operators; --unit control shows them.

--host shows all calls of the whole profile: those while inferences run (steady-state), and those
before, after, or that load something (one-off). With --iteration it shows the calls that ran then.

Ranges that the program marked stand below, as they lie within one another: own is the time that no
range within covers, uncovered the part of it in which neither a call nor an operator ran.";

/// The options of `opscope analyze`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub struct Arguments {
    /// The profile: a file of any format, a raw directory of Ascend, or a folder of outputs
    path: PathBuf,

    #[command(flatten)]
    choice: Choice,

    #[command(flatten)]
    order: Order,

    #[command(flatten)]
    ceiling: CeilingArguments,

    #[command(flatten)]
    form: FormArguments,
}

fn long_help() -> String {
    let mut text = format!("{EXAMPLES}\n\nColumns, for --columns and --sort:\n");
    for column in Column::ALL {
        text.push_str(&format!("  {:12} {}\n", column.name(), column.about()));
    }
    text
}

/// What is chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Choice")]
struct Choice {
    /// Operators whose name matches, anywhere in it, a regular expression
    #[arg(long, value_name = "REGEX", value_parser = parse_pattern)]
    name: Option<Regex>,

    /// Operators of this type, such as Conv; can be given several times
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,

    /// Operators with an input or output of this type of elements, such as float16
    #[arg(long = "dtype", value_name = "DTYPE", value_parser = parse_data_type)]
    data_types: Vec<DataType>,

    /// Executions on this unit, such as ai-core, cpu, gpu or communication
    #[arg(long = "unit", value_name = "UNIT", value_parser = parse_unit)]
    units: Vec<ExecutionUnit>,

    /// Operators that take at least so long in an average iteration: 50us, 1.5ms
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    min_time: Option<Nanoseconds>,

    /// Operators that take at most so long in an average iteration
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    max_time: Option<Nanoseconds>,

    /// Iterations by number, from 1: N, A..B with both included, or all, which takes the whole profile
    #[arg(long, value_name = "N|A..B|all", value_parser = parse_iterations)]
    iteration: Option<Iterations>,

    /// What ran on the device of this number
    #[arg(long, value_name = "N", conflicts_with = "host")]
    device: Option<u32>,

    /// Calls of the host instead of what ran on devices
    #[arg(long)]
    host: bool,
}

/// How it is put together and shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Order")]
struct Order {
    /// What is put together into one row
    #[arg(long, value_enum, value_name = "WHAT")]
    group_by: Option<Grouping>,

    /// What is made of the times of a row's executions
    #[arg(long, value_enum, default_value_t, value_name = "FIGURE")]
    agg: Figure,

    /// Which time counts
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    time: Kind,

    /// Sort by a column, the greatest first; +COLUMN puts the smallest first
    #[arg(long, value_name = "[+]COLUMN", value_parser = parse_sort)]
    sort: Option<Sort>,

    /// Show N rows; 0 shows all [default: 5 in a table, all in JSON and CSV]
    #[arg(short, long, value_name = "N")]
    top: Option<usize>,

    /// The columns to show, with commas between; --help lists them
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', value_parser = parse_column)]
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Grouping {
    Type,
    Name,
    Unit,
    Stream,
    Shape,
    Iteration,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Figure {
    /// In an average iteration
    #[default]
    Sum,
    Mean,
    Min,
    Max,
    Median,
    P90,
    P99,
    Count,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Kind {
    #[default]
    Total,
    Kernel,
    Wait,
}

/// How many rows a table has unless more are asked for.
const TOP: usize = 5;

/// How many rows the second table of the first sight has.
const TOP_TYPES: usize = 3;

/// Reads the profile, asks, prints the answer.
///
/// # Errors
/// When the profile can't be read, or doesn't have the iteration or device that is asked for.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let has_lines_for_losses = !(arguments.form.csv || arguments.form.markdown || arguments.form.json);
    let how = if has_lines_for_losses && !arguments.choice.host { Tell::InAnswer } else { Tell::Warnings };
    let trace = profile::open(&arguments.path, how, terminal)?;
    let mut query = arguments.query();
    query.roofline = arguments.ceiling.roofline(&trace, terminal)?;
    let usage = |error: ScopeError| UsageError(error.to_string());
    let answer = query.run(&trace).map_err(usage)?;
    let columns = match &arguments.order.columns[..] {
        [] => report::fitting_columns(&trace, &query, &answer),
        columns => columns.to_vec(),
    };
    let form = arguments.form;
    let top = arguments.order.top.unwrap_or(if form.json || form.csv { 0 } else { TOP });
    let top = if top == 0 { usize::MAX } else { top };
    let sheet = report::sheet_of(&trace, &answer, &columns, top);
    let glance = || Glance::of(&trace, query.scope).map_err(usage);
    let text = match form {
        FormArguments { csv: true, .. } => sheet.to_csv()?,
        FormArguments { markdown: true, .. } => sheet.to_markdown(),
        FormArguments { json: true, .. } => {
            let overview = report::glance_json(&trace, &glance()?);
            let answer = json!({
                "schema_version": SCHEMA_VERSION,
                "program": "opscope",
                "program_version": env!("CARGO_PKG_VERSION"),
                "path": arguments.path.to_string_lossy(),
                "latency": report::latency_json(&trace),
                "overview": overview,
                "averaged_over": answer.averaged,
                "selected_ns": answer.selected.0,
                "whole_ns": answer.whole.0,
                "executions": answer.executions,
                "operators": answer.subjects,
                "all_operators": answer.all_subjects,
                "executions_of_unknown_time": answer.unknown,
                "roofline": query.roofline.map(|roof| json!({
                    "flops_per_second": roof.flops,
                    "bytes_per_second": roof.bandwidth,
                    "ridge_flops_per_byte": roof.ridge(),
                })),
                "rows": sheet.to_json(),
                "ranges": report::ranges_json(&trace, &RangeTree::of(&trace)),
            });
            profile::answer_in_json(answer, [&trace])?
        }
        _ => {
            let mut text = arguments.heading(&trace);
            match query.host {
                true => text.push_str(&report::host_text(&trace, &query, &answer)),
                false if trace.tasks.is_empty() => text.push_str(&report::losses_text(&trace)),
                false => {
                    text.push_str(&report::latency_text(&trace));
                    text.push_str(&report::glance_text(&trace, &glance()?));
                }
            }
            if let Some(roof) = query.roofline {
                text.push_str(&super::peak::roof_text(&roof));
            }
            if !(answer.rows.is_empty() && arguments.is_plain()) {
                text.push_str(&format!("\n{}\n", report::title(&query, &answer, top)));
            }
            if !answer.rows.is_empty() {
                text.push_str(&sheet.to_table(terminal.width()));
            }
            if arguments.is_plain() && answer.rows.len() > 1 {
                // Types are few, and both tables are to fit a screen.
                let top = arguments.order.top.map_or(TOP_TYPES, |_| top);
                text.push_str(&types(&trace, &query, &answer, top, terminal)?);
            }
            if arguments.is_plain() {
                let top = arguments.order.top.unwrap_or(TOP);
                let ranges = report::ranges_table(&trace, &RangeTree::of(&trace), top, terminal.width());
                let gap = if text.ends_with("\n\n") { "" } else { "\n" };
                ranges.iter().for_each(|table| text.push_str(&format!("{gap}{table}")));
            }
            text
        }
    };
    match arguments.form.csv {
        true => terminal.print_data(&text)?,
        false => terminal.print(&text)?,
    }
    if answer.rows.is_empty() {
        terminal.note(&nothing(&trace, &arguments.choice));
    }
    Ok(Exit::Done)
}

/// Rises when a member of the JSON changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

impl Arguments {
    fn query(&self) -> Query {
        let choice = &self.choice;
        // What the host does beside inferences, such as loading a model, is asked about as well.
        let usual = if choice.host { Iterations::All } else { Iterations::Measured };
        Query {
            host: choice.host,
            scope: Scope { iterations: choice.iteration.unwrap_or(usual), device: choice.device },
            filter: Filter {
                name: choice.name.clone(),
                types: choice.types.clone(),
                data_types: choice.data_types.clone(),
                units: choice.units.clone(),
                min_time: choice.min_time,
                max_time: choice.max_time,
            },
            time: match self.order.time {
                Kind::Total => TimeKind::Total,
                Kind::Kernel => TimeKind::Kernel,
                Kind::Wait => TimeKind::Wait,
            },
            group_by: match self.order.group_by {
                None => GroupBy::Operator,
                Some(Grouping::Type) => GroupBy::Type,
                Some(Grouping::Name) => GroupBy::Name,
                Some(Grouping::Unit) => GroupBy::Unit,
                Some(Grouping::Stream) => GroupBy::Stream,
                Some(Grouping::Shape) => GroupBy::Shape,
                Some(Grouping::Iteration) => GroupBy::Iteration,
            },
            aggregate: match self.order.agg {
                Figure::Sum => Aggregate::Sum,
                Figure::Mean => Aggregate::Mean,
                Figure::Min => Aggregate::Min,
                Figure::Max => Aggregate::Max,
                Figure::Median => Aggregate::Median,
                Figure::P90 => Aggregate::P90,
                Figure::P99 => Aggregate::P99,
                Figure::Count => Aggregate::Count,
            },
            sort: self.order.sort,
            roofline: None,
        }
    }

    /// Whether the user asked for nothing but the first sight.
    fn is_plain(&self) -> bool {
        self.order.group_by.is_none() && self.order.columns.is_empty() && !self.choice.host
    }

    /// What the profile is, and of what.
    fn heading(&self, trace: &Trace) -> String {
        let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut text = bold(&crate::terminal::printable(&name(&self.path)));
        if let Ok(kind) = opscope_open::detect(&self.path) {
            text.push_str(&format!(": {kind}"));
        }
        for (key, before) in [("engine", "on "), ("chip", "on ")] {
            if let Some(value) = trace.property(key) {
                let version =
                    if key == "engine" { trace.property("engine_version").unwrap_or("") } else { "" };
                text.push_str(
                    format!(", {before}{} {}", crate::terminal::printable(value), version).trim_end(),
                );
            }
        }
        text.push_str("\n\n");
        text
    }
}

/// The second table of the first sight; nothing where every operator is a type by itself.
fn types(
    trace: &Trace,
    query: &Query,
    operators: &Answer,
    top: usize,
    terminal: &Terminal,
) -> anyhow::Result<String> {
    let query = Query { group_by: GroupBy::Type, sort: None, ..query.clone() };
    let answer = query.run(trace).map_err(|error| UsageError(error.to_string()))?;
    if answer.rows.len() == operators.rows.len() {
        return Ok(String::new());
    }
    let columns = report::fitting_columns(trace, &query, &answer);
    let sheet = report::sheet_of(trace, &answer, &columns, top);
    Ok(format!("\n{}\n{}", report::title(&query, &answer, top), sheet.to_table(terminal.width())))
}

/// Why nothing was found, and what there is.
fn nothing(trace: &Trace, choice: &Choice) -> String {
    /// How many types are named before it becomes tiresome.
    const NAMED: usize = 30;
    let mut types: Vec<&str> = trace.operators.op_type().iter().map(|&id| trace.strings.get(id)).collect();
    types.sort_unstable();
    types.dedup();
    let is_known = |wanted: &String| types.iter().any(|known| known.eq_ignore_ascii_case(wanted));
    match choice.types.iter().find(|wanted| !is_known(wanted)) {
        Some(missing) if !types.is_empty() && !choice.host => {
            let more = if types.len() > NAMED {
                format!(" and {} more", types.len() - NAMED)
            } else {
                String::new()
            };
            types.truncate(NAMED);
            format!("there is no type '{missing}'; there are: {}{more}", types.join(", "))
        }
        _ if trace.tasks.is_empty() && !choice.host => {
            let calls = match trace.api_calls.len() {
                0 => String::new(),
                calls => format!("; --host shows its {}", report::count(calls, "call")),
            };
            format!("the profile holds no operator or task{calls}; opscope info says what it holds")
        }
        _ if trace.api_calls.is_empty() && choice.host => {
            "the profile holds no call of the host; opscope info says what it holds".to_owned()
        }
        _ => "nothing is left by these options".to_owned(),
    }
}

fn parse_pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| format!("it is no regular expression: {error}"))
}

fn parse_data_type(text: &str) -> Result<DataType, String> {
    /// Other spellings: of NumPy's short forms and of ONNX.
    const SHORT: [(&str, DataType); 8] = [
        ("f64", DataType::Float64),
        ("f32", DataType::Float32),
        ("f16", DataType::Float16),
        ("bf16", DataType::BFloat16),
        ("float", DataType::Float32),
        ("half", DataType::Float16),
        ("i64", DataType::Int64),
        ("i8", DataType::Int8),
    ];
    let short = SHORT.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, known)| *known);
    short.or_else(|| DataType::from_name(text)).ok_or_else(|| {
        let names: Vec<&str> = DataType::ALL.iter().map(|known| known.name()).collect();
        format!("there is no such type of elements; there are: {}", names.join(", "))
    })
}

fn parse_unit(text: &str) -> Result<ExecutionUnit, String> {
    // The Ascend tools write AI_CORE.
    let word = text.to_ascii_lowercase().replace('_', "-");
    ExecutionUnit::from_name(&word).ok_or_else(|| {
        let names: Vec<&str> = ExecutionUnit::ALL.iter().map(|known| known.name()).collect();
        format!("there is no such unit; there are: {}", names.join(", "))
    })
}

fn parse_iterations(text: &str) -> Result<Iterations, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(Iterations::All);
    }
    let wrong = || format!("'{text}' is neither a number such as 3, nor a range such as 3..5, nor all");
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let Some((first, last)) = text.split_once("..") else {
        return number(text).map(|number| Iterations::Numbers(number, number));
    };
    let first = if first.is_empty() { 0 } else { number(first)? };
    let last = if last.is_empty() { u32::MAX } else { number(last)? };
    if first > last {
        return Err(format!("{first}..{last} ends before it begins"));
    }
    Ok(Iterations::Numbers(first, last))
}

fn parse_sort(text: &str) -> Result<Sort, String> {
    let (name, ascending) = text.strip_prefix('+').map_or((text, false), |name| (name, true));
    Ok(Sort { column: parse_column(name)?, ascending })
}

fn parse_column(text: &str) -> Result<Column, String> {
    Column::from_name(text.trim()).ok_or_else(|| {
        let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
        let similarity = |name: &&&str| strsim::jaro_winkler(text, name);
        let nearest = names.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
        let hint = nearest.filter(|name| similarity(name) > 0.8);
        let hint = hint.map_or(String::new(), |name| format!(" (did you mean '{name}'?)"));
        format!("there is no column '{text}'{hint}; there are: {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_a_number_a_range_or_all() {
        assert_eq!(parse_iterations("3"), Ok(Iterations::Numbers(3, 3)));
        assert_eq!(parse_iterations("3..5"), Ok(Iterations::Numbers(3, 5)));
        assert_eq!(parse_iterations("3.."), Ok(Iterations::Numbers(3, u32::MAX)));
        assert_eq!(parse_iterations("ALL"), Ok(Iterations::All));
        assert!(parse_iterations("5..3").is_err() && parse_iterations("x").is_err());
    }

    #[test]
    fn words_of_the_vendors_are_understood() {
        assert_eq!(parse_unit("AI_CORE"), Ok(ExecutionUnit::AiCore));
        assert_eq!(parse_data_type("FLOAT16"), Ok(DataType::Float16));
        assert_eq!(parse_data_type("half"), Ok(DataType::Float16));
        assert!(parse_unit("warp").unwrap_err().contains("ai-core"));
        assert!(parse_column("tme").unwrap_err().contains("did you mean 'time'"));
        assert_eq!(parse_sort("+moved"), Ok(Sort { column: Column::Moved, ascending: true }));
    }
}
