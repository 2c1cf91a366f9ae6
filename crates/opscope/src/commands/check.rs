//! `opscope check`: passes or fails a change by its time.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use opscope_analyze::Comparison;
use opscope_model::Model;
use opscope_open::Source;
use opscope_run::{EngineOptions, RunClock, RunError, prepare};
use opscope_say::{say, word};
use opscope_trace::Trace;
use opscope_tune::{Budget, interleaved};

use super::advise::silence_suspects;
use super::html::{HtmlArguments, PageModelArguments};
use super::outputs::check_target;
use super::run::{EngineArguments, InputArguments, parse_duration};
use crate::exit::{Exit, UsageError, naming_model};
use crate::interrupt;
use crate::judgement::{Facts, Judgement, Limits, Outcome};
use crate::profile::{self, NetworkArguments, Tell};
use crate::report::{check, compare as comparison, junit};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope check --baseline main.onnx --candidate change.onnx
  opscope check --baseline main.db --candidate change.db --max-regression 3%
  opscope check --candidate change.db --target-ms 15
  opscope check --baseline a.onnx --candidate b.onnx --engine ort --junit check.xml >> summary.md
  opscope check --baseline main.db --candidate change.db --html change.html     a page to look at in CI

Two models are measured here and now, alternately, so that a machine whose speed drifts does no
harm; a time that was stored on another machine says little. Only what lies beyond the noise passes
or fails:

  0  passed: the change is certainly within the limits
  1  failed: it certainly exceeds a limit, a profile has lost records, or they are of different models
  3  undecided: the noise is greater than the distance to the limit, or a profile is of several networks

A profile that is cut off or damaged, of which records are missing, fails whatever its times are: what
is missing takes no time. --allow-losses judges what is there; the report still names the losses.

Profiles of different models say nothing about a change, and fail: those of which hardly anything agrees but
types of operators and their order. --allow-different-models judges their times all the same.

--html writes the candidate's profile as a page in one file, as opscope report does, whatever the verdict
is: the timeline, the operators and the findings say where the time went. --model names the model that it is
of, for the graph and the rules about graphs.";

/// The name of the side that is judged.
const CANDIDATE: &str = "candidate";

/// The options of `opscope check`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// The state before: a profile, or a model to measure
    #[arg(long, value_name = "A", required_unless_present = "target_ms")]
    baseline: Option<PathBuf>,

    /// The state now: a profile, or a model to measure
    #[arg(long, value_name = "B")]
    candidate: PathBuf,

    #[command(flatten)]
    network: NetworkArguments,

    /// How much slower it may get
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = parse_percent)]
    max_regression: f64,

    /// Judge a profile all the same that has lost records; without this, such a side fails
    #[arg(long)]
    allow_losses: bool,

    /// Judge two profiles all the same that seem to be of different models; without this, they fail
    #[arg(long)]
    allow_different_models: bool,

    /// How many milliseconds an inference may take at most
    #[arg(long, value_name = "MS", value_parser = parse_ms)]
    target_ms: Option<f64>,

    /// Write a test report for a CI system
    #[arg(long, value_name = "FILE.xml")]
    junit: Option<PathBuf>,

    /// Write the summary to this file as well
    #[arg(long, value_name = "FILE.md")]
    summary: Option<PathBuf>,

    /// Write the candidate's profile as a page in one file, too; see opscope report
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,

    #[command(flatten)]
    page_model: PageModelArguments,

    /// Print the answer as JSON instead of Markdown
    #[arg(long)]
    json: bool,

    /// How long to measure two models: 500ms, 10s [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    engine: EngineArguments,
}

/// Measures or reads, judges, writes the reports.
///
/// # Errors
/// When something can't be read, measured or written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    for path in [&arguments.junit, &arguments.summary].into_iter().flatten() {
        check_target(path)?;
    }
    let page = HtmlArguments { html: arguments.html.clone() };
    let sides =
        [arguments.baseline.as_deref(), Some(&arguments.candidate), arguments.page_model.model.as_deref()];
    page.check(&sides.into_iter().flatten().collect::<Vec<_>>())?;
    if page.html.is_some() && is_model(&arguments.candidate) {
        let text = word(
            "--html: two models are measured without recording anything, so that there is no profile to show; \
                    compare profiles (opscope run MODEL --db FILE makes them)",
        );
        return Err(UsageError(text.to_owned()).into());
    }
    let model = arguments.page_model.load()?;
    let facts = match &arguments.baseline {
        Some(baseline) if is_model(baseline) != is_model(&arguments.candidate) => {
            let text = word("give two models or two profiles: one of each can't be measured alternately");
            return Err(UsageError(text.to_owned()).into());
        }
        Some(baseline) if is_model(baseline) => match measure(arguments, baseline, terminal)? {
            Some(facts) => facts,
            None => return Ok(Exit::Interrupted),
        },
        Some(baseline) => read(arguments, Some(baseline), terminal)?,
        None if is_model(&arguments.candidate) => {
            let text = word(
                "a model alone can't be measured alternately: give --baseline, or profile it with opscope run",
            );
            return Err(UsageError(text.to_owned()).into());
        }
        None => read(arguments, None, terminal)?,
    };
    let limits = Limits {
        max_regression: arguments.max_regression,
        target_ms: arguments.target_ms,
        allow_losses: arguments.allow_losses,
        allow_different_models: arguments.allow_different_models,
    };
    let judgement = Judgement::of(facts, limits);
    let summary = check::to_markdown(&judgement);
    let text = if arguments.json { check::to_json(&judgement).to_text()? } else { summary.clone() };
    terminal.print(&text)?;
    write(arguments.summary.as_deref(), &summary)?;
    write(arguments.junit.as_deref(), &junit::to_xml(&judgement.conditions))?;
    if let Some((_, candidate)) = judgement.facts.sides.iter().find(|(side, _)| *side == CANDIDATE) {
        page.write_with(
            model.as_ref(),
            candidate,
            page.origin(&Source::at(&arguments.candidate)?),
            terminal,
        )?;
    }
    Ok(match judgement.outcome() {
        Outcome::Passed => Exit::Done,
        Outcome::Failed => Exit::Failed,
        Outcome::Undecided => Exit::Undecided,
    })
}

fn write(path: Option<&Path>, text: &str) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    opscope_files::write_atomically(path, |output| std::io::Write::write_all(output, text.as_bytes()))
        .with_context(|| say!("{}: cannot write this file", path.display()))
}

fn is_model(path: &Path) -> bool {
    path.is_file() && Source::at(path).is_ok_and(|source| source.is_model())
}

/// Measures both models in turn; `None` if the user stopped it.
fn measure(arguments: &Arguments, baseline: &Path, terminal: &Terminal) -> anyhow::Result<Option<Facts>> {
    let clock = RunClock::start();
    let load = |path: &Path| -> anyhow::Result<_> {
        let model = Arc::new(Model::load_onnx(path)?);
        model.check_external_data()?;
        let inputs = arguments.inputs.request().resolve(&model).map_err(RunError::from);
        let inputs = inputs.map_err(|error| naming_model(error, path))?;
        Ok((model, inputs))
    };
    let sides = [(baseline, load(baseline)?), (&*arguments.candidate, load(&arguments.candidate)?)];
    // The model that an engine complains of.
    let at_work = Cell::new(baseline);
    // Both run on the same engine, with the same options.
    let ready = |options: &EngineOptions| {
        let [a, b] = sides.each_ref().map(|(path, (model, inputs))| {
            at_work.set(path);
            let mut engine = prepare(Arc::clone(model), inputs, options, clock)?;
            engine.infer(interrupt::of_measurement())?;
            Ok::<_, RunError>(engine)
        });
        Ok((a?, b?))
    };
    let settled = arguments.engine.settle(terminal, ready);
    let (_, options) = settled.map_err(|error| naming_model(error, at_work.get()))?;
    let mut budget = Budget::default();
    budget.time = arguments.duration.unwrap_or(budget.time);
    terminal.note(word("measuring both models alternately"));
    let [a, b] =
        sides.each_ref().map(|(_, (model, inputs))| || prepare(Arc::clone(model), inputs, &options, clock));
    let pairs = interleaved(&mut { a }, &mut { b }, budget, interrupt::of_measurement(), &mut |_, _| {})?;
    let (Some((before, after)), Some(speed)) = (pairs.medians(), pairs.speedup(0.95)) else {
        if pairs.interrupted {
            return Ok(None);
        }
        anyhow::bail!("{}", say!("too few inferences were measured; give more time with --duration"));
    };
    if pairs.interrupted {
        terminal.warn(word("interrupted; the figures are those of the inferences that were complete"));
    }
    // The time is the other way round than the speed.
    let change = |speed: f64| 1.0 / speed - 1.0;
    let interval = (change(speed.high), change(speed.low));
    let ms = |share: f64| before.0 as f64 / 1e6 * (1.0 + share);
    Ok(Some(Facts {
        before: Some(before),
        after,
        are_inferences: true,
        change: Some((change(speed.median), Some(interval))),
        after_interval: Some((ms(interval.0), ms(interval.1))),
        different_models: None,
        are_mixed: false,
        lines: vec![say!(
            "{} pairs of turns on {}, measured alternately, each model prepared {} times",
            pairs.len(),
            options.kind.name(),
            pairs.preparations.len()
        )],
        sides: Vec::new(),
    }))
}

/// The facts of two profiles, or of a candidate alone.
fn read(arguments: &Arguments, baseline: Option<&Path>, terminal: &Terminal) -> anyhow::Result<Facts> {
    let candidate = &arguments.candidate;
    let open = |path: &Path| -> anyhow::Result<_> {
        let opened = profile::open(path, Tell::Warnings, terminal)?;
        Ok(arguments.network.choose(opened, true, terminal)?)
    };
    let before = baseline.map(open).transpose()?;
    let after = open(candidate)?;
    let facts = compare(before.as_ref().unwrap_or(&after), &after).with_context(|| {
        let baseline = baseline.map_or(String::new(), |path| say!("{} and ", path.display()));
        format!("{baseline}{}", candidate.display())
    })?;
    let facts = match baseline {
        Some(_) => facts,
        None => Facts { before: None, change: None, lines: Vec::new(), ..facts },
    };
    let sides = before.map(|before| ("baseline", before)).into_iter().chain([(CANDIDATE, after)]);
    Ok(Facts { sides: sides.collect(), ..facts })
}

/// The facts of two profiles; whose they are is left out.
fn compare(before: &Trace, after: &Trace) -> anyhow::Result<Facts> {
    let mut comparison = Comparison::of(before, after);
    silence_suspects(&mut comparison)?;
    if comparison.basis == opscope_analyze::Basis::Nothing {
        anyhow::bail!("{}", say!("there are no times that can be compared"));
    }
    let different_models =
        comparison.is_of_different_models().then(|| comparison::kinship(&comparison)).flatten();
    let are_mixed = comparison.is_of_several_networks();
    // A condition tells it.
    let is_told =
        |line: &String| different_models.as_ref() == Some(line) || are_mixed && line == comparison::mixture();
    let whole = comparison.before.0 as f64 / 1e6;
    let interval = comparison.difference.map(|it| it.interval);
    Ok(Facts {
        before: Some(comparison.before),
        after: comparison.after,
        are_inferences: are_inferences(&comparison, [before, after]),
        change: comparison
            .relative_change()
            .map(|change| (comparison.difference.map_or(change, |it| it.change), interval)),
        after_interval: interval.map(|(low, high)| (whole * (1.0 + low), whole * (1.0 + high))),
        lines: comparison::headline(&comparison).into_iter().skip(1).filter(|line| !is_told(line)).collect(),
        different_models,
        are_mixed,
        sides: Vec::new(),
    })
}

/// Whether the times that are compared are those of inferences. Where a side knows none, its operators' time is of
/// all that it recorded, and grows with how long that was.
fn are_inferences(comparison: &Comparison<'_>, sides: [&Trace; 2]) -> bool {
    use opscope_analyze::Basis;
    let is_known = match comparison.basis {
        Basis::Iterations | Basis::Unrecorded | Basis::ExecuteCalls => true,
        Basis::OperatorTime => sides.iter().all(|trace| !trace.iterations.is_empty()),
        Basis::Range | Basis::Nothing => false,
    };
    is_known && !comparison.whole_profiles
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    let percent: Option<f64> =
        number.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.map(|percent| percent / 100.0).ok_or_else(|| say!("'{text}' is no percentage such as 5%"))
}

fn parse_ms(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix("ms").unwrap_or(text).trim();
    let ms: Option<f64> = number.parse().ok().filter(|ms: &f64| ms.is_finite() && *ms > 0.0);
    ms.ok_or_else(|| say!("'{text}' is no number of milliseconds such as 15"))
}
