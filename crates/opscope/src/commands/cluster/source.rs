//! Where the ranks of a run are: folders, or a set.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope_formats::reading::Stop;
use opscope_reach::{
    Findings, Profiles, Progress, ReachError, Set, SetError, Stage, examine_profiles, survey_profiles,
};

use super::described;
use crate::commands::form::FormArguments;
use crate::exit::UsageError;
use crate::report::cluster::{self, TablesForm};
use crate::terminal::{StepBar, Terminal};

/// A way to make findings of profiles.
type Find = fn(&Profiles, &Stop, &Progress<'_>) -> Result<Findings, ReachError>;

/// The ranks to examine.
#[derive(Debug, Args)]
pub struct SourceArguments {
    /// Folders with the profiles of all ranks, at any depth, their files, or a set of opscope cluster import
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,

    /// The run of a set that has several
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
}

impl SourceArguments {
    /// A single folder, or a run of a set.
    pub fn at(path: &Path, run: Option<&str>) -> Self {
        Self { paths: vec![path.to_owned()], run: run.map(str::to_owned) }
    }

    /// Opens the profiles.
    ///
    /// # Errors
    /// When there are none, or a run is named that a set hasn't, or of what is no set.
    pub fn open(&self) -> anyhow::Result<Profiles> {
        Profiles::open(&self.paths, self.run.as_deref()).map_err(|error| match error {
            ReachError::NoRuns(_) | ReachError::Set(SetError::NoRun { .. }) => {
                UsageError(error.to_string()).into()
            }
            _ => error.into(),
        })
    }

    /// Examines the ranks with a bar that says how far it is, and warns of what was lost.
    ///
    /// # Errors
    /// When there are none, or nothing in them can be compared.
    pub fn examine(&self, terminal: &Terminal) -> anyhow::Result<Findings> {
        self.find(terminal, examine_profiles)
    }

    /// The same for what needs no counterpart on another rank. That nothing can be compared is a warning.
    ///
    /// # Errors
    /// When there are none, or a set keeps no collectives.
    pub fn survey(&self, terminal: &Terminal) -> anyhow::Result<Findings> {
        let findings = self.find(terminal, survey_profiles)?;
        if let Some(why) = findings.incomparable {
            terminal.warn(&opscope_say::sentence(why.sentence()));
        }
        Ok(findings)
    }

    fn find(&self, terminal: &Terminal, find: Find) -> anyhow::Result<Findings> {
        let bar = StepBar::new(terminal);
        bar.step(&described(Stage::Looking));
        let profiles = self.open()?;
        let findings = find(&profiles, &Stop::default(), &|stage| bar.step(&described(stage)))?;
        drop(bar);
        for line in cluster::losses_lines(&findings.losses) {
            terminal.warn(&line);
        }
        Ok(findings)
    }
}

/// Opens a set, and of several runs the one that is named.
///
/// # Errors
/// When it can't be read, or has no such run.
pub fn open_set(path: &Path, run: Option<&str>) -> anyhow::Result<Set> {
    Set::open(path, run).map_err(|error| match error {
        SetError::NoRun { .. } => UsageError(error.to_string()).into(),
        _ => error.into(),
    })
}

/// The form of tables that was asked for.
pub fn form_of(form: &FormArguments, terminal: &Terminal) -> TablesForm {
    match () {
        () if form.json => TablesForm::Json,
        () if form.csv => TablesForm::Csv,
        () if form.markdown => TablesForm::Markdown,
        () => TablesForm::Text(terminal.width()),
    }
}
