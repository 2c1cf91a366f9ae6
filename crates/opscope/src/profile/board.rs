//! Boards' profiles on the command line: what is told of them, and their exported files.

use std::path::Path;

use opscope_svp::{Exports, TableFormat, Written};

use crate::terminal::Terminal;

pub use opscope_open::formats::board::{Missing, missing, read};

/// Writes the tables of a board's profile below `folder/summary`, and its timelines below
/// `folder/timeline`, in the names and columns of the vendor's guide. What the vendor's tool wrote there
/// stays as it is.
///
/// # Errors
/// When a file can't be written.
pub fn write(
    exports: &Exports,
    (summary, timeline): (bool, bool),
    format: TableFormat,
    folder: &Path,
) -> anyhow::Result<Written> {
    let mut written = Written::default();
    if summary {
        written.append(exports.write_summary(folder, format)?);
    }
    if timeline {
        written.append(exports.write_timeline(folder)?);
    }
    Ok(written)
}

/// Says which files of other tools were left as they are, and how to have opscope's own as well.
pub fn tell_kept(written: &Written, terminal: &Terminal) {
    let Some(first) = written.kept.first() else { return };
    let count = written.kept.len();
    let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
    terminal.note(&format!(
        "kept as it is: {}{others}, which another tool wrote; 'opscope export all DIR --output OTHER' writes \
         opscope's own elsewhere",
        first.display()
    ));
}
