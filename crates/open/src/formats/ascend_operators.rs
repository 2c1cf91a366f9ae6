//! Single operators that `msprof op` ran: folders `OPPROF_*`, those of a launch below them, and their tables.

use std::path::{Path, PathBuf};

use opscope_cann::read::single_operators::{self, SingleOperatorsError};
use opscope_trace::Trace;

use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader};
use crate::look::Look;
use crate::{OpenError, Progress};

/// The format, of a launch's own folder or one of its tables.
pub static FORMAT: Format =
    Format { name: NAME, about: Some(&ABOUT), is: is_itself, reader: Reader::Place(read_launch) };

/// The same of a folder of several launches.
pub static BELOW: Format = Format {
    name: NAME,
    about: Some(&ABOUT),
    is: |look| look.is_folder && single_operators::is_folder_of_launches(&look.path),
    reader: Reader::Place(read_launches),
};

const NAME: &str = "a profile of single operators on Ascend";

const ABOUT: About = About {
    kind: FormatKind::Profile,
    from: "msprof op (OPPROF_*)",
    reads: "a task with its duration and the counters of its blocks for each launch",
    written_by: Some("opscope sample opprof"),
    lacks: "when a launch began: no timeline is drawn; records in dump and visualize_data.bin",
    tried: Tried::RealFiles,
};

fn is_itself(look: &Look) -> bool {
    match look.is_folder {
        true => single_operators::is_launch(&look.path),
        false => single_operators::looks_like(&look.bytes),
    }
}

/// Of a table, the folder that it lies in: its counters are of the operator that another table names.
fn read_launch(look: Look, progress: &dyn Progress) -> Result<Content, OpenError> {
    let folder = |path: PathBuf| path.parent().map(Path::to_owned);
    let place = match look.is_folder {
        true => look.path,
        false => std::path::absolute(&look.path).ok().and_then(folder).unwrap_or_default(),
    };
    let read = single_operators::read_launch(&place, &progress.stop());
    content(place, read)
}

/// Reads the launches in all folders below one.
fn read_launches(look: Look, progress: &dyn Progress) -> Result<Content, OpenError> {
    let read = single_operators::read_folder(&look.path, &progress.stop());
    let content = content(look.path, read)?;
    let along = single_operators::folders_with_launches(&content.place);
    Ok(Content { along, ..content })
}

fn content(place: PathBuf, read: Result<Trace, SingleOperatorsError>) -> Result<Content, OpenError> {
    let mut trace = read.map_err(OpenError::content)?;
    trace.drop_impossible(&place.display().to_string());
    Ok(Content::new(trace, place))
}
