//! Timelines in Chrome's trace event format, in the dialects of all tools.

use opscope_cann::read::AscendTimeline;
use opscope_formats::chrome;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "a timeline in Chrome's trace format",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "PyTorch (Kineto), msprof and torch_npu (trace_view.json, msprof_*.json), any program that writes trace events",
        reads: "slices, flows, counters, names of threads; operators and launches in the dialects that are known; of \
                PyTorch's memory the modules and operators that took what is held at its peak",
        written_by: Some("--trace of run, import, collect; opscope export; opscope cluster export"),
        lacks: "arguments that have no place in a trace; categories of memory (parameters, gradients, activations), which \
                PyTorch's timelines don't have: it exports those by themselves",
        tried: Tried::RealFiles,
    }),
    is: |look| chrome::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        chrome::read_with(&input, &[&AscendTimeline], stop).map_err(|error| OpenError::at(path, error))
    }),
};
