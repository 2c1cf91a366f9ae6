//! Perfetto's traces, in protocol buffers.

use opscope_cann::read::AscendTimeline;
use opscope_formats::perfetto;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "a trace of Perfetto's",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "Perfetto's SDK and tools, rocprofv3, programs that write track events (.pftrace, .perfetto-trace)",
        reads: "slices, flows, counters, marks and arguments of track events on all clocks, names of threads, packed packets",
        written_by: Some("--trace FILE.pftrace of run and import"),
        lacks: "packets of the kernel and of Android, which are counted; packets packed with Zstandard",
        tried: Tried::PublicLayout,
    }),
    is: |look| perfetto::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        perfetto::read_with(&input, &[&AscendTimeline], stop).map_err(|error| OpenError::at(path, error))
    }),
};
