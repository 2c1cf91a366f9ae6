//! `opscope import` of raw directories of Ascend: each becomes a database.

use std::path::{Path, PathBuf};

use anyhow::Context;
use opscope_cann::Profile;
use opscope_say::say;
use serde_json::{Value, json};

use super::outputs::{AnswerArguments, FileArguments};
use super::run::create_folder;
use crate::exit::{Exit, UsageError};
use crate::profile;
use crate::report::Envelope;
use crate::terminal::{Terminal, bold};

/// Imports every profile that was found at `path`; one that fails doesn't keep the others from it.
///
/// # Errors
/// When the only profile can't be imported, or an option doesn't fit several.
pub fn execute(
    path: &Path,
    profiles: Vec<Profile>,
    output: Option<&Path>,
    answer: &AnswerArguments,
    files: &FileArguments,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let named = [&files.trace, &files.db, &files.profile, &files.profile_host];
    let is_file = output.is_some_and(names_database);
    if profiles.len() > 1 && (is_file || named.iter().any(|file| file.is_some())) {
        let text = say!(
            "{}: there are {} profiles here, and a file can hold one; name one profile, or give --output DIR",
            path.display(),
            profiles.len()
        );
        return Err(UsageError(text).into());
    }
    files.check(&[])?;
    let count = profiles.len();
    let mut answers = Vec::with_capacity(count);
    let exit = profile::each(profiles, terminal, |profile, terminal| {
        let import = Import { path, output, answer, files, terminal };
        answers.push(import.profile(profile, count > 1)?);
        Ok(())
    })?;
    match (answer.json, count) {
        (true, 2..) => {
            let profiles = answers.iter().map(|answer| serde_json::from_str::<Value>(answer));
            let profiles = profiles.collect::<Result<Vec<_>, _>>()?;
            let losses = profiles.iter().filter_map(|answer| answer["losses"].as_array()).flatten().cloned();
            let losses = losses.collect();
            let envelope = Envelope::new(1, json!({ "profiles": profiles })).with_losses(losses);
            terminal.print(&envelope.to_text()?)?;
        }
        _ => terminal.print(&answers.join("\n"))?,
    }
    Ok(exit)
}

/// Whether an output is a database itself, and not the folder for one.
fn names_database(output: &Path) -> bool {
    !output.is_dir() && output.extension().is_some_and(|extension| extension == "db")
}

/// The options that all profiles of one import share.
struct Import<'a> {
    path: &'a Path,
    output: Option<&'a Path>,
    answer: &'a AnswerArguments,
    files: &'a FileArguments,
    terminal: &'a Terminal,
}

impl Import<'_> {
    /// Imports one profile and returns its answer.
    fn profile(&self, profile: Profile, is_one_of_several: bool) -> anyhow::Result<String> {
        let terminal = self.terminal;
        let named =
            self.files.db.clone().or_else(|| self.output.filter(|it| names_database(it)).map(PathBuf::from));
        let (database, _lock) = match named {
            Some(database) => (database, None),
            None => {
                let folder = self.output.map(|output| profile::folder_in(output, self.path, &profile));
                let results = profile::place_results(&profile, folder, terminal)?;
                (results.database(), Some(results.lock()?))
            }
        };
        if let Some(folder) = database.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)?;
        }
        opscope_files::check_seekable_target(&database)
            .with_context(|| say!("{}: cannot be written", database.display()))?;

        let path = profile.path.clone();
        let trace = profile::import(profile, &database, terminal)?;
        terminal.note(&say!("wrote the database {}", database.display()));
        let files = FileArguments { db: None, ..self.files.clone() };
        files.write(&trace, terminal)?;
        let text = self.answer.text(&trace, terminal)?;
        Ok(match is_one_of_several && !self.answer.json {
            true => format!("{}\n{text}", bold(&path.display().to_string())),
            false => text,
        })
    }
}
