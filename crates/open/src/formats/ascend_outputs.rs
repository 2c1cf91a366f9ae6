//! Folders of tables, timelines and databases that the Ascend tools exported.

use opscope_cann::read;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader};

/// The format. A raw directory with such outputs below it counts as raw, unless its records are gone.
pub static FORMAT: Format = Format {
    name: "a folder of outputs of the Ascend tools",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "msprof (CANN 5.x to 8.x), torch_npu, MindSpore since 1.0: folders of tables, timelines and databases",
        reads: "all of the folder that belongs to one run: tasks, operators, calls, iterations, ranges, counters",
        written_by: Some("opscope export"),
        lacks: "files of other runs in the same folder, which are named; in tables of 2022 the begins of inferences and single calls, whose unit isn't told",
        tried: Tried::RealFiles,
    }),
    is: |look| look.is_folder && !look.has_records() && read::is_folder(&look.path),
    reader: Reader::Place(|look, progress| {
        let place = look.path;
        let read = read::read_folder_until(&place, &progress.stop()).map_err(OpenError::content)?;
        let read::Folder { mut trace, files } = read;
        trace.drop_impossible(&place.display().to_string());
        Ok(Content { files, ..Content::new(trace, place) })
    }),
};
