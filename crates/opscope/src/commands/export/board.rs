//! The export of a board's profile: tables and timelines in the layout of its own guide.

use std::path::Path;

use anyhow::bail;
use opscope_say::{say, word};
use opscope_svp::Exports;

use super::options::{Options, What};
use crate::exit::Exit;
use crate::profile::{self, Tell, board};
use crate::terminal::Terminal;

/// Exports a board's profile in the layout of its own guide, which knows no unified database.
///
/// # Errors
/// When it can't be read or a file can't be written.
pub fn export_board(
    path: &Path,
    exports: Option<Exports>,
    what: What,
    options: &Options,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let (summary, timeline) = match what {
        What::Summary => (true, false),
        What::Timeline => (false, true),
        What::All => (true, true),
        What::Db => bail!(
            "{}",
            say!(
                "{}: a board's profile has no unified database; 'opscope import' makes opscope's own",
                path.display()
            )
        ),
    };
    let beside = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let folder = options.output.as_deref().unwrap_or(beside);
    let (exports, unread) = match exports {
        Some(exports) => {
            profile::of_exports(&exports, path, Tell::Warnings, terminal);
            (exports, None)
        }
        None => {
            let (exports, trace) = board::read(path)?;
            profile::warn(&trace, path, terminal);
            (exports, board::unread(path, &trace))
        }
    };
    let written = board::write(&exports, (summary, timeline), options.table_format(), folder)?;
    for file in &written.files {
        terminal.print(&format!("{}\n", file.display()))?;
    }
    board::tell_kept(&written, terminal);
    if written.files.is_empty() && written.kept.is_empty() {
        let reason = unread.unwrap_or(word("the profile has no data for these files"));
        terminal.note(&say!("nothing was written: {reason}"));
    }
    Ok(Exit::Done)
}
