//! `opscope report`: a profile as a page in one file.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope_advise::Target;
use opscope_model::Model;
use opscope_open::Source;
use opscope_reach::holds_ranks;
use opscope_say::say;
use opscope_web::USUAL_SLICES;

use super::cluster::page;
use super::cluster::source::SourceArguments;
use super::compare::models::Models;
use super::html::{self, Content, Origin, command_line, name_of};
use super::peak::CeilingArguments;
use super::run::ShapeArguments;
use crate::exit::{Exit, UsageError};
use crate::profile::{self, Tell};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope report PROF_000001_20251009085320000_ABCDEFGH/     writes PROF_000001_….html here
  opscope report profile.json -o report.html
  opscope report run.db -o report.html --model model.onnx    with what the model's graph tells
  opscope report trace_view.json --slices all --lang zh
  opscope report after.db --against before.db                 with what changed, drawn
  opscope report PROF_000001_…/ --against ort.db --model net.om --against-model net.onnx
                                                              what a conversion changed
  opscope report PROF_000001_…/ --peak-flops 22TFLOPS --peak-bandwidth 1.2TB/s    with its roofline
  opscope report profiling_data/ -o ranks.html                many ranks: who costs a step how much, drawn
  opscope report set --run second                             one of the runs of a set of many ranks

The file holds the page and the profile: it opens in any browser from a disk or an e-mail, and asks
nothing of any network. It shows the timeline (W and S zoom, A and D move), the operators with every
figure of opscope analyze and the calls of the host, the model's graph coloured by time, the findings
of opscope advise, how near each operator is to the machine's peaks where those are given, what changed
since the profile of --against (as opscope compare tells it), and what was lost. The graph is that of
--model, with the chains of opscope fusion; without it, what the profile's names of tensors tell, else
the order of execution. Of browsers without scripts it is read as text; Chrome and Edge from 109 on,
Firefox from 115 and Safari from 16.4 show all.

Up to a million slices are there one by one, or as many as --slices says. Of more, the slowest, the
median and the first measured inference are there in full; of all others, how busy each row was over
time. The page says which. Tables have the 100,000 costliest operators.

Of a folder that has the profiles of many ranks, or a set of opscope cluster import, it is another page:
what opscope cluster says, with the ranks and steps as a heat map, the links as a matrix, and the
timelines of suspects and some of their peers.

A report contains the profile's path, the facts of opscope info, and all names of operators, calls
and ranges: look at it before you give it away.";

/// The options of `opscope report`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// The profile: a file of any format, a raw directory of Ascend, a folder of outputs, or a folder or set of many
    /// ranks
    #[arg(value_name = "PROFILE")]
    path: PathBuf,

    /// The file to write [default: the profile's name with .html, in the current folder]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,

    /// The model that was profiled, for its graph and the rules about graphs
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,

    /// The profile before a change, of any kind: it is A, and PROFILE is B
    #[arg(long, value_name = "OTHER")]
    against: Option<PathBuf>,

    /// The model that OTHER is of: with it and --model, operators are brought together by their nodes
    #[arg(long, value_name = "MODEL", requires = "against")]
    against_model: Option<PathBuf>,

    /// The hardware that it ran on [default: that of the profile]
    #[arg(long, value_name = "TARGET", value_parser = Target::NAMES.map(|(name, _)| name))]
    target: Option<String>,

    /// The most slices that are written one by one, or all
    #[arg(long, default_value = "1000000", value_name = "N|all", value_parser = parse_slices)]
    slices: usize,

    /// The run of a set that has several
    #[arg(long, value_name = "NAME")]
    run: Option<String>,

    #[command(flatten)]
    ceiling: CeilingArguments,

    #[command(flatten)]
    shapes: ShapeArguments,
}

fn parse_slices(text: &str) -> Result<usize, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(usize::MAX);
    }
    text.parse().map_err(|_| say!("'{text}' is neither a number of slices, such as {USUAL_SLICES}, nor all"))
}

/// Reads the profile, asks it everything that the page shows, writes the page.
///
/// # Errors
/// When the profile or the model can't be read, or the file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    profile::check_presence(&arguments.path)?;
    let output = output(arguments)?;
    if holds_ranks(&arguments.path) {
        refuse_options(&of_one_profile(arguments), &arguments.path)?;
        let source = SourceArguments::at(&arguments.path, arguments.run.as_deref());
        page::write(&source.examine(terminal)?, &source, &output, terminal)?;
        return Ok(Exit::Done);
    }
    refuse_run(arguments.run.as_deref(), &arguments.path)?;
    let source = Source::at(&arguments.path)?;
    if source.is_model() {
        let text = say!(
            "{}: this is a model; give a profile here (opscope run MODEL --db FILE makes one), and the model with \
             --model",
            arguments.path.display()
        );
        return Err(UsageError(text).into());
    }
    let against = arguments.against.as_deref();
    let against = against.map(|path| profile::open(path, Tell::Warnings, terminal)).transpose()?;
    let origin = Origin::of(&source);
    let opened = profile::open_source(source, Tell::Warnings, terminal)?;
    let model = arguments.model.as_deref().map(Model::load).transpose()?;
    let shapes = model.as_ref().map(|model| arguments.shapes.infer(model)).transpose()?;
    let before_model = arguments.against_model.as_deref().map(Model::load).transpose()?;
    let models = against.as_ref().map(|against| {
        let paths = [&arguments.against_model, &arguments.model].map(Option::as_deref);
        let models = [paths[0].zip(before_model.as_ref()), paths[1].zip(model.as_ref())];
        Models::of(models, [against, &opened])
    });
    if let Some(models) = &models {
        models.warn(terminal);
        models.lines().iter().for_each(|line| terminal.note(line));
    }
    let content = Content {
        model: model.as_ref(),
        shapes: shapes.as_ref(),
        models: models.as_ref(),
        against: against.as_ref(),
        roofline: arguments.ceiling.roofline(&opened, terminal)?,
        target: arguments.target.as_deref().and_then(Target::from_name),
        slices: arguments.slices,
        language: crate::language::of_pages(),
        command: command(arguments),
    };
    html::write(&opened, origin, &content, &output, terminal)?;
    Ok(Exit::Done)
}

/// The options that were given and are about a single profile.
fn of_one_profile(arguments: &Arguments) -> Vec<&'static str> {
    let given = [
        ("--model", arguments.model.is_some()),
        ("--against", arguments.against.is_some()),
        ("--against-model", arguments.against_model.is_some()),
        ("--target", arguments.target.is_some()),
        ("--slices", arguments.slices != USUAL_SLICES),
        ("--roofline, --peak-flops, --peak-bandwidth, --peak", !arguments.ceiling.words().is_empty()),
        ("--input, --dim", !arguments.shapes.is_empty()),
    ];
    given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
}

/// Refuses options that are about a single profile, of a folder or set of many ranks.
///
/// # Errors
/// When there are any.
pub fn refuse_options(options: &[&str], path: &Path) -> Result<(), UsageError> {
    match options {
        [] => Ok(()),
        _ => Err(UsageError(say!(
            "{}: this holds many ranks, and {} is about a single profile",
            path.display(),
            options.join(", ")
        ))),
    }
}

/// Refuses the name of a run for a profile that is no set.
///
/// # Errors
/// When there is one.
pub fn refuse_run(run: Option<&str>, path: &Path) -> Result<(), UsageError> {
    match run {
        None => Ok(()),
        Some(_) => Err(UsageError(say!(
            "{}: this is a single profile, and --run chooses one of a set of many ranks",
            path.display()
        ))),
    }
}

/// The file to write, which can be written and isn't the profile.
fn output(arguments: &Arguments) -> anyhow::Result<PathBuf> {
    let output = arguments.output.clone().unwrap_or_else(|| default_output(&arguments.path));
    let inputs: Vec<&Path> = [&arguments.path]
        .into_iter()
        .chain(&arguments.model)
        .chain(&arguments.against)
        .chain(&arguments.against_model)
        .map(PathBuf::as_path)
        .collect();
    html::check(&output, &inputs)?;
    Ok(output)
}

/// The name of a profile with `.html`: of a file without its own extension.
fn default_output(path: &Path) -> PathBuf {
    let name = name_of(path);
    let stem = match path.is_dir() {
        true => name,
        false => {
            Path::new(&name).file_stem().map_or(name.clone(), |stem| stem.to_string_lossy().into_owned())
        }
    };
    PathBuf::from(format!("{stem}.html"))
}

/// The command line that makes the same report.
fn command(arguments: &Arguments) -> String {
    let mut words = vec!["opscope".to_owned(), "report".to_owned(), arguments.path.display().to_string()];
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| [name.to_owned(), value]).into_iter().flatten())
    };
    option("--against", arguments.against.as_ref().map(|path| path.display().to_string()));
    option("--against-model", arguments.against_model.as_ref().map(|path| path.display().to_string()));
    option("--model", arguments.model.as_ref().map(|path| path.display().to_string()));
    option("--target", arguments.target.clone());
    let slices = (arguments.slices != USUAL_SLICES).then(|| match arguments.slices {
        usize::MAX => "all".to_owned(),
        slices => slices.to_string(),
    });
    option("--slices", slices);
    words.extend(arguments.ceiling.words());
    command_line(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_named_after_its_profile() {
        assert_eq!(default_output(Path::new("/a/trace.json")), Path::new("trace.html"));
        assert_eq!(default_output(Path::new("/a/profile.json.gz")), Path::new("profile.json.html"));
        let folder = tempfile::Builder::new().prefix("PROF_1.a").tempdir().unwrap();
        let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(default_output(folder.path()), PathBuf::from(format!("{name}.html")));
    }
}
