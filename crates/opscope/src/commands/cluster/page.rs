//! A run on many ranks as a page: in one file, which `opscope cluster --html` and `opscope report` write, and from a
//! server (`opscope serve`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use opscope_formats::reading::Stop;
use opscope_reach::{Findings, Stage, examine_profiles};
use opscope_run::Interrupt;
use opscope_say::say;
use opscope_trace::units;
use opscope_web::{Kind, Problem, Ranks, RanksLoader, Reading, Report};
use serde_json::Value;

use super::export::parse_numbers;
use super::source::SourceArguments;
use crate::commands::html::{command_line, name_of};
use crate::exit::{UsageError, with_causes};
use crate::report::cluster::{self, Drawn, RanksPage};
use crate::report::count;
use crate::terminal::{Terminal, path_word};

/// Writes the page whole or not at all, and says so.
///
/// # Errors
/// When the file can't be written.
pub fn write(
    findings: &Findings,
    source: &SourceArguments,
    output: &Path,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let name = name_of(&source.paths[0]);
    let words = source_words(source);
    let page = RanksPage {
        findings,
        paths: &source.paths,
        run: source.run.as_deref(),
        name: &name,
        source: &words,
        command: &format!("opscope cluster {words} --html {}", command_line([output.display().to_string()])),
        language: crate::language::of_pages(),
    };
    let ((answers, columns), text) = (page.content()?, page.text());
    let report = Report {
        kind: Kind::Ranks,
        title: &name,
        language: "en",
        text: &text,
        answers: &answers,
        columns: &columns,
        columns_before: None,
    };
    opscope_files::write_atomically(output, |file| report.write(file))
        .with_context(|| say!("{}: cannot write the report", output.display()))?;
    let size = output.metadata().map_or(String::new(), |found| units::bytes(found.len() as f64));
    let ranks = count(findings.run.ranks.len(), "rank");
    terminal.note(&say!("wrote the report {} ({size}, {ranks})", output.display()));
    Ok(())
}

/// The paths and the run as words of a command.
fn source_words(source: &SourceArguments) -> String {
    let paths = source.paths.iter().map(|path| path_word(path));
    let run = source.run.iter().flat_map(|run| ["--run".to_owned(), run.clone()]);
    command_line(paths.chain(run))
}

/// The run to serve.
pub struct Served {
    /// The folder, or the set.
    pub path: PathBuf,
    /// The run of a set that has several.
    pub run: Option<String>,
    /// Whether it couldn't be examined.
    pub failed: Arc<AtomicBool>,
    /// Whoever wants to stop.
    pub request: &'static Interrupt,
    /// Where it is told what was lost.
    pub terminal: Terminal,
}

impl RanksLoader for Served {
    fn name(&self) -> String {
        name_of(&self.path)
    }

    fn load(&self, reading: &Arc<Reading>) -> Result<Box<dyn Ranks>, Problem> {
        match self.examine(reading) {
            Ok(examined) => Ok(Box::new(examined)),
            Err(error) => {
                if !self.request.is_made() {
                    self.terminal.error(&with_causes(&error));
                }
                self.failed.store(true, Ordering::Relaxed);
                Err(problem(&error))
            }
        }
    }
}

impl Served {
    fn examine(&self, reading: &Reading) -> anyhow::Result<Examined> {
        let source = SourceArguments::at(&self.path, self.run.as_deref());
        reading.step(stage_name(Stage::Looking));
        let request = self.request;
        let stop = Stop::when(move || request.is_made());
        let findings = examine_profiles(&source.open()?, &stop, &|stage| reading.step(stage_name(stage)))?;
        cluster::losses_lines(&findings.losses).iter().for_each(|line| self.terminal.warn(line));
        Ok(Examined { source, findings })
    }
}

/// The name by which the page knows a stage.
fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Looking => "look",
        Stage::Reading(..) => "read",
        Stage::Matching => "match",
        Stage::Replaying => "replay",
        Stage::Explaining => "explain",
    }
}

/// A run that was examined.
struct Examined {
    source: SourceArguments,
    findings: Findings,
}

impl Ranks for Examined {
    fn content(&self) -> Result<(Value, Vec<u8>), Problem> {
        let (name, words) = (name_of(&self.source.paths[0]), source_words(&self.source));
        let page = RanksPage {
            findings: &self.findings,
            paths: &self.source.paths,
            run: self.source.run.as_deref(),
            name: &name,
            source: &words,
            command: &format!("opscope serve {words}"),
            language: crate::language::of_pages(),
        };
        page.content().map_err(|error| problem(&error))
    }

    fn timeline(&self, ranks: &str, steps: Option<&str>) -> Result<Vec<u8>, Problem> {
        let ranks = numbers::<u32>(ranks)?;
        let steps = steps.map(numbers::<i32>).transpose()?;
        let drawn = Drawn::asked(&self.findings, ranks, steps);
        drawn.map(|drawn| drawn.columns()).map_err(|UsageError(error)| question(error))
    }
}

fn numbers<N: Copy + Ord + FromStr + TryFrom<i64>>(text: &str) -> Result<BTreeSet<N>, Problem> {
    parse_numbers(text).map_err(question)
}

fn question(error: String) -> Problem {
    Problem { is_question: true, error, hint: None }
}

fn problem(error: &anyhow::Error) -> Problem {
    Problem { is_question: error.is::<UsageError>(), error: with_causes(error), hint: None }
}
