//! Folders of tables, timelines and databases that the Ascend tools exported.

use opscope_cann::read;

use crate::OpenError;
use crate::format::{Content, Format, Reader};

/// The format. A raw directory with such outputs below it counts as raw, unless its records are gone.
pub static FORMAT: Format = Format {
    name: "a folder of outputs of the Ascend tools",
    is: |look| look.is_folder && !look.has_records() && read::is_folder(&look.path),
    reader: Reader::Place(|look, progress| {
        let place = look.path;
        let read = read::read_folder_until(&place, &progress.stop()).map_err(OpenError::content)?;
        let read::Folder { mut trace, files } = read;
        trace.drop_impossible(&place.display().to_string());
        Ok(Content { trace, place, remarks: Vec::new(), files })
    }),
};
