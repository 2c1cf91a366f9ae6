//! Requests and batches of a server of language models, as the tables of msServiceProfiler tell them.
//!
//! | table | what it makes |
//! |---|---|
//! | `request.csv` | a range from each request's arrival to its end, and samples of its tokens and waits |
//! | `batch.csv` | a range for each scheduling and execution of a batch, and samples of what it holds |
//! | `forward.csv` | a range for each forward pass on a device, and samples of its batch |
//! | `kvcache.csv`, `request_status.csv` | samples |
//!
//! Forward passes, or without them executions of batches, are inferences where one device has them: of several it
//! isn't told which passes belong together. The columns are those of the vendor's manual of msServiceProfiler, whose
//! units and some names changed since CANN 8.1.

mod columns;
mod rows;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use opscope_formats::input::Input;
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Trace};

use super::tables::ReadError;
use super::tables::table::read_header;
use columns::Layout;
use rows::Reading;

/// More files than a folder of results has are not looked at.
const MOST_FILES: usize = 10_000;

/// No table has a longer line of headings.
const LONGEST_HEADER: usize = 1 << 14;

/// The tables that are read.
const NAMES: [&str; 5] = ["request.csv", "batch.csv", "forward.csv", "kvcache.csv", "request_status.csv"];

/// A folder that makes no trace.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// A file or the folder can't be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Whoever asked for it wants it no more.
    #[error("{}: the reading was stopped", path.display())]
    Stopped {
        /// The folder.
        path: PathBuf,
    },
}

/// Whether text that begins so is a table of msServiceProfiler; its first line must be whole.
pub fn looks_like(head: &[u8]) -> bool {
    let head = &head[..head.len().min(LONGEST_HEADER)];
    !head.contains(&0) && read_header(head).is_some_and(|header| Layout::of(&header).is_some())
}

/// Whether such tables lie directly in a folder under the vendor's names.
pub fn is_folder(folder: &Path) -> bool {
    let is_table =
        |path: PathBuf| Input::head(&path, LONGEST_HEADER as u64).is_ok_and(|(_, head)| looks_like(&head));
    NAMES.iter().any(|name| is_table(folder.join(name)))
}

/// Reads one table. The trace is cut short where `stop` is wanted.
///
/// # Errors
/// When it is none of msServiceProfiler's.
pub fn read(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let layout = read_header(text).and_then(|header| Layout::of(&header).map(|layout| (header, layout)));
    let (header, layout) = layout.ok_or(ReadError::NotATable)?;
    let mut reading = Reading::default();
    reading.table(text, &header, &layout, "the table", stop);
    Ok(reading.into_trace())
}

/// Reads the tables directly in a folder; those of other kinds are left out and counted.
///
/// # Errors
/// When one can't be read, or `stop` is wanted.
pub fn read_folder(folder: &Path, stop: &Stop) -> Result<Trace, ServingError> {
    let mut reading = Reading::default();
    for path in tables_in(folder) {
        if stop.is_wanted() {
            return Err(ServingError::Stopped { path: folder.to_owned() });
        }
        let input = Input::open_until(&path, &|| stop.is_wanted());
        let input = input.map_err(|source| ServingError::Io { path: path.clone(), source })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(problem) = input.damage() {
            reading.trace.count_loss(LossKind::CutCompression, 1, &format!("{name}: {problem}"));
        }
        let Some(header) = read_header(&input) else { continue };
        match Layout::of(&header) {
            Some(layout) => reading.table(&input, &header, &layout, &name, stop),
            None => reading.trace.count_loss(LossKind::FileNotUnderstood, 1, &name),
        }
    }
    Ok(reading.into_trace())
}

/// The CSV files directly in a folder, by name.
fn tables_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
    let is_table = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.ends_with(".csv") || name.ends_with(".csv.gz")) && path.is_file()
    };
    let mut tables: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_table).collect();
    tables.sort();
    tables
}
