//! The table that PyTorch's profiler prints.

use opscope_formats::pytorch_table;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "a table of PyTorch's profiler",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "torch.profiler and torch.autograd.profiler, key_averages().table() (PyTorch 1.x to 2.x), as text",
        reads: "each operator's own time and calls, the kernels' time where there are any",
        written_by: None,
        lacks: "when anything ran, and inferences: no timeline is drawn; memory, shapes, operations, rows beyond \
                row_limit",
        tried: Tried::Excerpts,
    }),
    is: |look| pytorch_table::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        pytorch_table::read(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};
