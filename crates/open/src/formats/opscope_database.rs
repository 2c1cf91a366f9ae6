//! Traces in opscope's own database.

use opscope_formats::input::Input;
use opscope_formats::sqlite;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "a database of opscope",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "opscope",
        reads: "everything that was read or recorded",
        written_by: Some("opscope import, --db of run and import"),
        lacks: "nothing",
        tried: Tried::RealFiles,
    }),
    is: |look| sqlite::application_id(&look.bytes) == Some(sqlite::APPLICATION_ID),
    reader: Reader::Bytes(|input, path, stop| {
        let read = match input {
            // SQLite reads only the pages that it needs.
            Input::Mapped(_) => sqlite::read_file_until(path, stop),
            unpacked => sqlite::read_bytes(&unpacked, path, stop),
        };
        read.map_err(OpenError::content)
    }),
};
