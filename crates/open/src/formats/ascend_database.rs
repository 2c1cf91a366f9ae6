//! Databases of the Ascend tools, of msprof or torch_npu.

use opscope_cann::read::database;
use opscope_formats::input::Input;

use super::other_database::is_database;
use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};
use crate::look::Look;

/// The format.
pub static FORMAT: Format = Format {
    name: "a database of the Ascend tools",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "msprof, torch_npu, MindSpore on Ascend (msprof_*.db, ascend_pytorch_profiler_*.db, analysis.db and others)",
        reads: "tasks, operators, calls, launches, ranges, counters, figures",
        written_by: Some("opscope export db"),
        lacks: "inferences of databases by msprof, which are spanned by their tasks",
        tried: Tried::RealFiles,
    }),
    is,
    reader: Reader::Bytes(|input, path, stop| {
        let read = match input {
            Input::Mapped(_) => database::read_file(path, stop),
            unpacked => database::read_bytes(&unpacked, path, stop),
        };
        read.map_err(OpenError::content)
    }),
};

/// A SQLite database whose tables are those of the Ascend tools; they may be listed anywhere in it.
fn is(look: &Look) -> bool {
    is_database(look)
        && match look.compressed {
            false => database::looks_like(&look.path),
            true => Input::open_until(&look.path, &|| look.stop.is_wanted())
                .is_ok_and(|bytes| database::bytes_look_like(&bytes)),
        }
}
