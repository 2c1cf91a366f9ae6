//! `opscope analyze`: questions to a profile, whatever its format.

mod options;

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser};
use opscope_analyze::{Answer, Column, GroupBy, Query, RangeTree, ScopeError};
use opscope_open::Source;
use opscope_say::{say, sentence, word};
use opscope_trace::Trace;

use self::options::{Choice, Order, query};
use super::form::FormArguments;
use super::html::{HtmlArguments, PageModelArguments};
use super::peak::CeilingArguments;
use crate::exit::{Exit, UsageError};
use crate::profile::{self, NetworkArguments, Opened, Tell};
use crate::report::{self, Table, analyze};
use crate::terminal::{Terminal, bold, dim, printable};

const EXAMPLES: &str = "\
Examples:
  opscope analyze profile.json                       the answer in one screen
  opscope analyze profile.json --name '^conv' -t 10  operators whose names begin with conv
  opscope analyze PROF_000001_20261121/ --group-by type --agg p99
  opscope analyze trace_view.json --min-time 50us --max-time 2ms --sort +bandwidth
  opscope analyze run.db --iteration 3..5 --group-by iteration
  opscope analyze trace.json --time wait --type MatMul --columns time,wait,count,name
  opscope analyze run.db --roofline --csv > operators.csv
  opscope analyze perf.txt --below Conv::Compute -t 20       where an operator's samples lie (perf script)
  opscope analyze PROF_000001_20261121/ --html report.html       and the whole profile as a page

What the times are:
  total   an operator's own time: less that of what began within it on the same stream
  kernel  the same without the waiting that it includes
  wait    from being ready or queued to the first kernel:
            MegEngine        from being ready to the first kernel; part of the total
            Ascend           \"Wait Time\": from the end of the operator before on its device; none for
                             the first
            PyTorch, other timelines
                             from the end of the call that launched it, where that is recorded
            ONNX Runtime     not recorded
Rates, and what --roofline adds, are by total or kernel time; with --time wait there are none.

A row is an operator, or what --group-by puts together. Times, operations and bytes are those of an
average iteration, and with --group-by iteration those of each: warm-up iterations and what lies
outside of all are left out, unless --iteration says otherwise. Iterations have the numbers that
the file tells, else they are counted from 1, as the vendor's tools count them. --agg typical takes the median
of the iterations in place of their average, as opscope run does, so that one disturbed iteration doesn't
count; its other figures are of the single executions. --min-time and --max-time are about an operator's time in
an average iteration. Tasks that only wait or handle streams are no operators; --unit control shows them.

--host shows all calls of the whole profile: those while inferences run (steady-state), and those
before, after, or that load something (one-off). With --iteration it shows the calls that ran then.

Figures that the vendor's tools sum up beside the records (step_trace_time.csv, communication.json,
analysis.db …) follow, with the file that states them; of such a file alone they are the answer.

Ranges that the program marked stand below, as they lie within one another: own is the time that no
range within covers, uncovered the part of it in which neither a call nor an operator ran. With
--iteration they are those in these iterations; other filters leave them as they are.";

/// The options of `opscope analyze`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub struct Arguments {
    /// The profile: a file of any format, a raw directory of Ascend, or a folder of outputs
    path: PathBuf,

    /// Of samples (perf script, folded stacks) those within functions with this in their names, such as an engine's
    /// operator, and what these called
    #[arg(long, value_name = "FUNCTION", value_parser = NonEmptyStringValueParser::new())]
    below: Option<String>,

    #[command(flatten)]
    choice: Choice,

    #[command(flatten)]
    network: NetworkArguments,

    #[command(flatten)]
    order: Order,

    #[command(flatten)]
    ceiling: CeilingArguments,

    #[command(flatten)]
    form: FormArguments,

    #[command(flatten)]
    page: HtmlArguments,

    #[command(flatten)]
    page_model: PageModelArguments,
}

fn long_help() -> String {
    let mut text = format!("{EXAMPLES}\n\nColumns, for --columns and --sort:\n");
    for column in Column::ALL {
        text.push_str(&format!("  {:12} {}\n", column.name(), column.about()));
    }
    text
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
    let inputs = [Some(&arguments.path), arguments.page_model.model.as_ref()];
    arguments.page.check(&inputs.into_iter().flatten().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let model = arguments.page_model.load()?;
    let has_lines_for_losses = !(arguments.form.csv || arguments.form.markdown || arguments.form.json);
    let how = if has_lines_for_losses && !arguments.choice.host { Tell::InAnswer } else { Tell::Warnings };
    let source = Source::at(&arguments.path)?;
    let origin = arguments.page.origin(&source);
    let trace = match &arguments.below {
        Some(below) => profile::open_below(source, below, how, terminal)?,
        None => profile::open_source(source, how, terminal)?,
    };
    let trace = arguments.network.choose(trace, false, terminal)?;
    let mut query = query(&arguments.choice, &arguments.order);
    query.roofline = arguments.ceiling.roofline(&trace, terminal)?;
    let usage = |error: ScopeError| UsageError(error.to_string());
    let answer = query.run(&trace).map_err(usage)?;
    let columns = match &arguments.order.columns[..] {
        [] => analyze::fitting_columns(&trace, &query, &answer),
        columns => columns.to_vec(),
    };
    let form = arguments.form;
    let top = arguments.order.top.unwrap_or(if form.json || form.csv { 0 } else { TOP });
    let top = if top == 0 { usize::MAX } else { top };
    let table = analyze::table_of(&trace, &answer, &columns, top);
    let overview = || trace.overview(query.scope).map_err(usage);
    let ranges = || RangeTree::of_scope(&trace, query.scope).map_err(usage);
    let text = match form {
        FormArguments { csv: true, .. } => table.to_csv()?,
        FormArguments { markdown: true, .. } => table.to_markdown(),
        FormArguments { json: true, .. } => {
            let answer = analyze::to_json(
                &arguments.path,
                &trace,
                &query,
                &answer,
                &table,
                overview()?.as_ref(),
                &ranges()?,
            );
            answer.about([&trace]).to_text()?
        }
        _ => {
            let mut text = arguments.heading(&trace);
            match query.host {
                true => text.push_str(&report::host_text(&trace, &query, &answer)),
                false if trace.tasks.is_empty() => text.push_str(&report::losses_text(&trace)),
                false => {
                    text.push_str(&report::latency_text(&trace));
                    text.push_str(&report::overview_text(&trace, overview()?.as_ref()));
                }
            }
            if let Some(roof) = query.roofline {
                text.push_str(&report::peak::roof_text(&roof));
            }
            if !(answer.rows.is_empty() && arguments.is_plain()) {
                text.push_str(&format!("\n{}\n", analyze::title(&query, &answer, &columns, top)));
            }
            if !answer.rows.is_empty() {
                text.push_str(&table.to_text(terminal.width()));
            }
            if arguments.is_plain() && answer.rows.len() > 1 {
                // Types are few, and both tables are to fit a screen.
                let top = arguments.order.top.map_or(TOP_TYPES, |_| top);
                text.push_str(&types(&trace, &query, &answer, top, terminal)?);
            }
            if arguments.is_plain() {
                let top = arguments.order.top.unwrap_or(TOP);
                let ranges = report::ranges_table(&trace, &ranges()?, top, terminal.width());
                let gap = if text.ends_with("\n\n") { "" } else { "\n" };
                let note = match arguments.choice.has_filter_of_tasks() {
                    true => dim(word("ranges are not filtered: they are of all devices and operators.\n")),
                    false => String::new(),
                };
                ranges.iter().for_each(|table| text.push_str(&format!("{gap}{table}{note}")));
                let note = trace.run.note.iter().filter(|_| arguments.below.is_some());
                note.for_each(|note| text.push_str(&format!("\n{}\n", sentence(note))));
                text.push_str(&report::stated_text(&trace, top, terminal.width()));
            }
            text
        }
    };
    // Whoever reads the answer may go away; the page is wanted all the same.
    let printed = match arguments.form.csv {
        true => terminal.print_data(&text),
        false => terminal.print(&text),
    };
    arguments.page.write_with(model.as_ref(), &trace, origin, terminal)?;
    printed?;
    if answer.rows.is_empty() && (trace.figures.is_empty() || !trace.tasks.is_empty()) {
        terminal.note(&nothing(&trace, &arguments.choice));
    }
    Ok(Exit::Done)
}

/// A question without what it is of.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Question {
    #[command(flatten)]
    choice: Choice,

    #[command(flatten)]
    order: Order,
}

/// The answer that `--json` prints, for options by their long names.
///
/// # Errors
/// When there is no such option or value, or the profile doesn't have the iteration or device that is asked for.
pub fn answer_to(
    options: &[(String, String)],
    path: &Path,
    trace: &Opened,
) -> anyhow::Result<serde_json::Value> {
    let Asked { query, answer, table } = Asked::of(options, trace)?;
    let usage = |error: ScopeError| UsageError(error.to_string());
    let overview = trace.overview(query.scope).map_err(usage)?;
    let ranges = RangeTree::of_scope(trace, query.scope).map_err(usage)?;
    let answer = analyze::to_json(path, trace, &query, &answer, &table, &overview, &ranges);
    Ok(serde_json::to_value(answer.about([trace]))?)
}

/// The table that `--csv` prints, for options by their long names.
///
/// # Errors
/// As [`answer_to`].
pub fn csv_of(options: &[(String, String)], trace: &Opened) -> anyhow::Result<String> {
    Asked::of(options, trace)?.table.to_csv()
}

/// A question with its answer.
struct Asked {
    query: Query,
    answer: Answer,
    table: Table,
}

impl Asked {
    fn of(options: &[(String, String)], trace: &Opened) -> anyhow::Result<Self> {
        let words = options.iter().map(|(name, value)| match &*name.replace('_', "-") {
            // The one option without a value.
            "host" => "--host".to_owned(),
            name => format!("--{name}={value}"),
        });
        let wrong = |problem: clap::Error| {
            let text = problem.to_string();
            let first = text.lines().next().unwrap_or_default();
            UsageError(first.trim_start_matches("error: ").to_owned())
        };
        let Question { choice, order } = Question::try_parse_from(words).map_err(wrong)?;
        let query = query(&choice, &order);
        let usage = |error: ScopeError| UsageError(error.to_string());
        let answer = query.run(trace).map_err(usage)?;
        let columns = match &order.columns[..] {
            [] => analyze::fitting_columns(trace, &query, &answer),
            columns => columns.to_vec(),
        };
        let top = order.top.filter(|&top| top > 0).unwrap_or(usize::MAX);
        let table = analyze::table_of(trace, &answer, &columns, top);
        Ok(Self { query, answer, table })
    }
}

impl Arguments {
    /// Whether the user asked for nothing but the first sight.
    fn is_plain(&self) -> bool {
        self.order.is_usual() && !self.choice.host
    }

    /// The kind of the profile, the engine and the chip.
    fn heading(&self, trace: &Opened) -> String {
        let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut text = bold(&printable(&name(&self.path)));
        text.push_str(&format!("{}{}", word(": "), sentence(trace.format().name)));
        let version = trace.run.engine_version.as_deref().unwrap_or_default();
        let engine = trace.run.engine.map(|engine| say!("{} {version}", engine.name()));
        for place in engine.iter().chain(&trace.run.chip) {
            text.push_str(&say!(", on {}", printable(place.trim_end())));
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
    let columns = analyze::fitting_columns(trace, &query, &answer);
    let table = analyze::table_of(trace, &answer, &columns, top);
    let title = analyze::title(&query, &answer, &columns, top);
    Ok(format!("\n{title}\n{}", table.to_text(terminal.width())))
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
            let rest = types.len().saturating_sub(NAMED);
            let more = if rest > 0 { say!(" and {rest} more") } else { String::new() };
            types.truncate(NAMED);
            say!("there is no type '{missing}'; there are: {}{more}", types.join(", "))
        }
        _ if trace.tasks.is_empty() && !choice.host => {
            let calls = match trace.api_calls.len() {
                0 => String::new(),
                calls => say!("; --host shows its {}", report::count(calls, "call")),
            };
            say!("the profile holds no operator or task{calls}; opscope info says what it holds")
        }
        _ if trace.api_calls.is_empty() && choice.host => {
            word("the profile holds no call of the host; opscope info says what it holds").to_owned()
        }
        _ => word("nothing is left by these options").to_owned(),
    }
}
