//! A profile that was just made, here or on a board: read, exported and shown.

use std::path::Path;

use opscope_open::Source;
use opscope_say::say;

use crate::commands::export::{self, What};
use crate::commands::html::HtmlArguments;
use crate::commands::outputs::AnswerArguments;
use crate::profile::{self, Tell};
use crate::report::{query, ranges_text};
use crate::terminal::{StepBar, Terminal};

/// The work on a profile once it is there.
#[derive(Debug)]
pub struct Wanted {
    /// Whether it is read at all.
    pub parse: bool,
    /// How many operators are shown.
    pub top: usize,
    /// The files that are made.
    pub kinds: Vec<What>,
    /// How they are made.
    pub options: export::Options,
    /// The page about the profile.
    pub page: HtmlArguments,
}

/// Reads, exports and shows a profile that was brought here from another host, unless that isn't wanted.
///
/// # Errors
/// When it can't be read, or a file can't be written.
pub fn read_if_wanted(path: &Path, wanted: &Wanted, terminal: &Terminal) -> anyhow::Result<()> {
    if wanted.parse { read(path, wanted, &wanted.page, terminal) } else { Ok(()) }
}

/// Imports the profile, exports it, and prints the answer and the query table.
///
/// # Errors
/// When it can't be read, or a file can't be written.
pub fn read(path: &Path, wanted: &Wanted, page: &HtmlArguments, terminal: &Terminal) -> anyhow::Result<()> {
    let top = wanted.top;
    let profile = profile::only(path, profile::raw(Source::at(path)?, terminal)?)?;
    let has_devices = !profile.devices.is_empty();
    let begin = profile.metadata().map(|metadata| metadata.session.begin_date.clone()).unwrap_or_default();
    let stamp = profile::stamp();
    let files = export::export(profile, &wanted.kinds, &wanted.options, None, &stamp, terminal)?;
    for file in &files {
        terminal.detail(&say!("wrote {}", file.display()));
    }
    // The export has told what was lost.
    let source = Source::at(path)?;
    let origin = page.origin(&source);
    let trace = profile::open_source(source, Tell::InAnswer, terminal)?;
    let page = page.write(&trace, origin, terminal);
    if !trace.operators.is_empty() {
        AnswerArguments { top, json: false }.print(&trace, terminal)?;
        terminal.print("\n")?;
    }
    terminal.print(&ranges_text(&trace, top, terminal.width()))?;
    if has_devices {
        let raw = profile::join(
            profile::only(path, profile::raw(Source::at(path)?, terminal)?)?,
            &StepBar::new(terminal),
        )?;
        terminal.print(&query::table(&query::contents(&raw)))?;
        return page;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    terminal.print(&query::host_text(&name, &begin, terminal.width()))?;
    page
}
