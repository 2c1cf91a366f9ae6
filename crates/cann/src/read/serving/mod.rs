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
mod date_time;
mod rows;
#[cfg(test)]
mod tests;

use std::path::Path;

use opscope_formats::input::Input;
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Trace};

use super::csv_files::csv_files_in;
use super::tables::ReadError;
use super::tables::table::{Header, read_header};
use columns::Layout;
use rows::Reading;

/// No table has a longer line of headings.
const LONGEST_HEADER: usize = 1 << 14;

/// The tables that are read.
const NAMES: [&str; 5] = ["request.csv", "batch.csv", "forward.csv", "kvcache.csv", "request_status.csv"];

/// The reason for which a table with written times isn't laid beside others.
const WRITTEN: &str =
    "start_datetime is in a zone that isn't told, and other tables have counted times; give it alone";

/// A table whose times are only written.
struct Written {
    name: String,
    input: Input,
    header: Header,
    layout: Layout,
}

/// Whether text that begins so is a table of msServiceProfiler; its first line must be whole.
pub fn looks_like(head: &[u8]) -> bool {
    let head = &head[..head.len().min(LONGEST_HEADER)];
    !head.contains(&0) && read_header(head).is_some_and(|header| Layout::of(&header).is_some())
}

/// Whether such tables lie directly in a folder under the vendor's names.
pub fn is_folder(folder: &Path) -> bool {
    let is_named = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        NAMES.contains(&name.trim_end_matches(".gz"))
    };
    let is_table =
        |path: &Path| Input::head(path, LONGEST_HEADER as u64).is_ok_and(|(_, head)| looks_like(&head));
    csv_files_in(folder).iter().any(|path| is_named(path) && is_table(path))
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

/// Reads the tables directly in a folder, until `stop` is wanted. Those that can't be read cost what they hold, and
/// those of other kinds are left out; both are counted. So are those whose times are only written, by the wall's clock
/// of an untold zone, where others have counted ones: hours would lie between rows of one moment.
pub fn read_folder(folder: &Path, stop: &Stop) -> Trace {
    let mut reading = Reading::default();
    let mut written: Vec<Written> = Vec::new();
    for path in csv_files_in(folder) {
        if stop.is_wanted() {
            break;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let input = match Input::open_until(&path, &|| stop.is_wanted()) {
            Ok(input) => input,
            Err(problem) => {
                reading.trace.count_loss(LossKind::FileNotRead, 1, &format!("{name}: {problem}"));
                continue;
            }
        };
        if let Some(problem) = input.damage() {
            reading.trace.count_loss(LossKind::CutCompression, 1, &format!("{name}: {problem}"));
        }
        let header = read_header(&input);
        match header.and_then(|header| Layout::of(&header).map(|layout| (header, layout))) {
            Some((header, layout)) if layout.is_written() => {
                written.push(Written { name: name.into_owned(), input, header, layout });
            }
            Some((header, layout)) => reading.table(&input, &header, &layout, &name, stop),
            None => reading.trace.count_loss(LossKind::FileNotUnderstood, 1, &name),
        }
    }
    let has_counted = reading.has_times();
    for Written { name, input, header, layout } in written {
        match has_counted {
            true => reading.trace.count_loss(LossKind::FileNotRead, 1, &format!("{name}: {WRITTEN}")),
            false => reading.table(&input, &header, &layout, &name, stop),
        }
    }
    reading.into_trace()
}
