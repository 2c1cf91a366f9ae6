//! Single tables that the Ascend tools exported.

use opscope_cann::read::tables;

use crate::OpenError;
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "a table of the Ascend tools",
    is: |look| tables::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        tables::read(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};
