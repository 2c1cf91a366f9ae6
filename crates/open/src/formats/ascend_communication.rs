//! The sums of collective operations that the Ascend tools export as JSON.

use opscope_cann::read::communication;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "collective communication as the Ascend tools sum it up",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "torch_npu and MindSpore on Ascend (communication.json, communication_matrix.json)",
        reads: "sums over collective operations and links, as figures that the file states",
        written_by: None,
        lacks: "single collectives and their times",
        tried: Tried::RealFiles,
    }),
    is: |look| look.json.as_ref().is_some_and(|json| communication::looks_like(json.keys_in_members())),
    reader: Reader::Bytes(|input, path, stop| {
        communication::read(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};
