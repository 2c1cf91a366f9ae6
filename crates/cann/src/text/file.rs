//! Files that are written whole or not at all.

use std::io::BufWriter;
use std::path::Path;

use opscope_files::{Draft, WriteError};

use crate::error::{Error, Result};

/// Writes a file under a temporary name beside its target and renames it when it is whole.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<Draft>) -> std::io::Result<()>,
) -> Result<()> {
    opscope_files::write_seekable(path, write).map_err(Error::io("write the file", path))
}

/// The error of a file among several that are written together.
pub(crate) fn not_written(failed: WriteError) -> Error {
    Error::io("write the file", &failed.path)(failed.source)
}
