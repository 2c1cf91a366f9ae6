//! `opscope cluster export`: a run for other programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use opscope_reach::{Findings, Set};
use opscope_reach_peer::{Mode, Options, analyze};
use opscope_say::{say, word};

use super::source::SourceArguments;
use crate::exit::{Exit, UsageError};
use crate::report::cluster::{self, Chosen};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster export profiling_data/ --format insight -o results/    for MindStudio Insight
  opscope cluster export profiling_data/ --format timeline -o run.json --ranks 0-3,49 --steps 10
  opscope cluster export profiling_data/ --format csv -o tables/
  opscope cluster export profiling_data/ --format csv -o tables/ --ranks 49 --steps 10
  opscope cluster export profiling_data/ --format json | jq .suspects

Forms:
  insight    cluster_analysis_output/, as the vendor's msprof-analyze -m all writes it
  timeline   Chrome's format, for Perfetto and chrome://tracing: the ranks' steps, collectives and the work
             between them on one clock, with arrows from the rank that came last to those that waited for it
  csv        ranks.csv, collectives.csv and suspects.csv in a folder; --ranks and --steps choose rows, and
             of one step the costs to it; the bytes of a collective are those that its recorded ranks hand
             in, of a send and its receive those of one side; texts of the vendor's tell those that went
             over links instead
  json       all that opscope cluster --json says

Where a rank came last to a collective that wasn't recorded, the waits for it are inferred (the column or
argument inferred), last_rank has no value, and no arrow begins.";

/// The options of `opscope cluster export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,

    /// The form
    #[arg(long)]
    format: Form,

    /// Where to: a folder for insight and csv, a file for timeline and json [default of json: standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// The ranks that the timeline or the tables show, such as 0-3,49 [default: all]
    #[arg(long, value_name = "RANKS", value_parser = parse_numbers::<u32>)]
    ranks: Option<BTreeSet<u32>>,

    /// The steps that they show, such as 10,11 [default: all]
    #[arg(long, value_name = "STEPS", value_parser = parse_numbers::<i32>)]
    steps: Option<BTreeSet<i32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The vendor's folder of results
    Insight,
    /// One answer
    Json,
    /// Tables
    Csv,
    /// A timeline of all ranks
    Timeline,
}

/// Writes the run in the form that is asked for.
///
/// # Errors
/// When nothing can be compared, or the result can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let form = arguments.format;
    let is_of_some = arguments.ranks.is_some() || arguments.steps.is_some();
    if is_of_some && !matches!(form, Form::Timeline | Form::Csv) {
        let told = word(
            "--ranks and --steps choose what --format timeline and csv show; insight and json tell of all",
        );
        return Err(UsageError(told.to_owned()).into());
    }
    let output = match (&arguments.output, form) {
        (None, Form::Csv) => {
            return Err(UsageError(word("-o is missing: the folder for the tables").to_owned()).into());
        }
        (None, Form::Timeline) => {
            return Err(UsageError(word("-o is missing: the timeline's file").to_owned()).into());
        }
        (output, _) => output.as_deref(),
    };
    match (form, output) {
        (Form::Insight, output) => insight(&arguments.source, output, terminal),
        (Form::Json, output) => json(&arguments.source, output, terminal),
        (Form::Csv, Some(folder)) => tables(arguments, folder, terminal),
        (Form::Timeline, Some(file)) => timeline(arguments, file, terminal),
        // Refused above.
        (Form::Csv | Form::Timeline, None) => Ok(Exit::Usage),
    }
}

fn insight(source: &SourceArguments, output: Option<&Path>, terminal: &Terminal) -> anyhow::Result<Exit> {
    let [path] = &source.paths[..] else {
        return Err(
            UsageError(word("--format insight takes one folder, that above all ranks").to_owned()).into()
        );
    };
    if opscope_reach::is_set(path) {
        return Err(insight_of_set(path, source.run.as_deref()).into());
    }
    let options = Options { output: output.map(Path::to_owned), ..Options::new(Mode::All, path.clone()) };
    let done = analyze(&options)?;
    if !done.left_out.is_empty() {
        terminal.warn(&cluster::left_out_of_results(&done.left_out, done.from_databases));
    }
    cluster::losses_lines(&done.losses).iter().for_each(|line| terminal.warn(line));
    terminal.print(&say!("{} ranks: {}\n", done.ranks, done.folder.display()))?;
    Ok(Exit::Done)
}

/// The refusal of a set: the tables tell the transfers of each collective, and how large they were, of which a set keeps
/// the sums.
fn insight_of_set(path: &Path, run: Option<&str>) -> UsageError {
    let folder_of_first = |set: &Set| {
        let first = set.discovery().collections.first()?;
        Some(first.folder.parent()?.display().to_string())
    };
    let folder = Set::open(path, run).ok().as_ref().and_then(folder_of_first);
    let imported_from =
        folder.map_or(String::new(), |folder| say!(", which was {folder} for the first rank"));
    UsageError(say!(
        "{}: this is a set of opscope cluster import, which keeps sums of a step's transfers over links, and --format \
         insight tells those of each collective and their sizes: give the folder that the ranks were imported \
         from{imported_from}",
        path.display()
    ))
}

fn json(source: &SourceArguments, output: Option<&Path>, terminal: &Terminal) -> anyhow::Result<Exit> {
    let findings = source.examine(terminal)?;
    let text = cluster::to_json(&findings).to_text()?;
    match output {
        None => terminal.print(&text)?,
        Some(path) => opscope_files::write_atomically(path, |to| to.write_all(text.as_bytes()))
            .map_err(|error| anyhow::Error::new(error).context(path.display().to_string()))?,
    }
    Ok(Exit::Done)
}

/// The ranks and steps that are chosen.
///
/// # Errors
/// When one isn't there.
fn chosen(arguments: &Arguments, findings: &Findings) -> Result<Chosen, UsageError> {
    for rank in arguments.ranks.iter().flatten() {
        super::slow::check_rank(findings, *rank)?;
    }
    for step in arguments.steps.iter().flatten() {
        super::slow::place_of_step(findings, *step)?;
    }
    Ok(Chosen { ranks: arguments.ranks.clone(), steps: arguments.steps.clone() })
}

fn tables(arguments: &Arguments, folder: &Path, terminal: &Terminal) -> anyhow::Result<Exit> {
    let findings = arguments.source.examine(terminal)?;
    let chosen = chosen(arguments, &findings)?;
    opscope_files::create_folder(folder)
        .map_err(|error| anyhow::Error::new(error).context(folder.display().to_string()))?;
    for (name, table) in cluster::tables(&findings, &chosen) {
        let path = folder.join(format!("{name}.csv"));
        let text = table.to_csv()?;
        opscope_files::write_atomically(&path, |to| to.write_all(text.as_bytes()))
            .map_err(|error| anyhow::Error::new(error).context(path.display().to_string()))?;
        terminal.print(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Done)
}

fn timeline(arguments: &Arguments, file: &Path, terminal: &Terminal) -> anyhow::Result<Exit> {
    let findings = arguments.source.survey(terminal)?;
    let chosen = chosen(arguments, &findings)?;
    let mut counts = (0, 0);
    opscope_files::write_atomically(file, |to| {
        counts = cluster::write_timeline(&findings, &chosen, to)?;
        Ok(())
    })
    .map_err(|error| anyhow::Error::new(error).context(file.display().to_string()))?;
    let (slices, arrows) = counts;
    terminal.print(&say!("{}: {slices} slices, {arrows} waits\n", file.display()))?;
    Ok(Exit::Done)
}

/// Numbers such as `0-3,49`.
///
/// # Errors
/// When it is anything else.
pub fn parse_numbers<N: Copy + Ord + std::str::FromStr + TryFrom<i64>>(
    text: &str,
) -> Result<BTreeSet<N>, String> {
    /// More than any run has.
    const MOST: i64 = 1 << 20;
    let wrong = || say!("expected numbers such as 0-3,49, found '{text}'");
    let mut numbers = BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) =
            part.split_once('-').filter(|(first, _)| !first.is_empty()).unwrap_or((part, part));
        let (first, last): (i64, i64) =
            (first.parse().map_err(|_| wrong())?, last.parse().map_err(|_| wrong())?);
        if first > last || last - first > MOST {
            return Err(wrong());
        }
        for number in first..=last {
            numbers.insert(N::try_from(number).map_err(|_| wrong())?);
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::parse_numbers;

    #[test]
    fn numbers_are_listed_and_ranged() {
        let numbers: Vec<u32> = parse_numbers("0-2,49").unwrap().into_iter().collect();
        assert_eq!(numbers, [0, 1, 2, 49]);
        assert!(parse_numbers::<u32>("3-1").is_err() && parse_numbers::<u32>("x").is_err());
        assert!(parse_numbers::<u32>("-1").is_err() && parse_numbers::<i32>("-1").is_ok());
    }
}
