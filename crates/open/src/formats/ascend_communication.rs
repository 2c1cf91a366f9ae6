//! The sums of collective operations that the Ascend tools export as JSON.

use opscope_cann::read::communication;

use crate::OpenError;
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "collective communication as the Ascend tools sum it up",
    is: |look| look.json.as_ref().is_some_and(|json| communication::looks_like(json.keys_in_members())),
    reader: Reader::Bytes(|input, path, stop| {
        communication::read(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};
