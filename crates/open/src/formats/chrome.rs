//! Timelines in Chrome's trace event format, in the dialects of all tools.

use opscope_cann::read::AscendTimeline;
use opscope_formats::chrome;

use crate::OpenError;
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "a timeline in Chrome's trace format",
    is: |look| chrome::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        chrome::read_with(&input, &[&AscendTimeline], stop).map_err(|error| OpenError::at(path, error))
    }),
};
