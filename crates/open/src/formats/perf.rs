//! Samples of Linux's perf.

use std::path::Path;

use opscope_formats::perf;
use opscope_trace::Trace;

use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};
use crate::{OpenError, Stop};

/// The text of `perf script`.
pub static FORMAT: Format = Format {
    name: "a text of perf script",
    about: Some(&About {
        from: "Linux perf: perf record, with -g for stacks, then perf script > FILE, also with -F and --show-mmap-events",
        tried: Tried::RealFiles,
        ..ABOUT
    }),
    is: |look| !look.is_folder && perf::is_script(&look.bytes),
    reader: READER,
};

/// Folded stacks.
pub static FOLDED: Format = Format {
    name: "a text of folded stacks",
    about: Some(&About {
        from: "scripts that fold stacks for flame graphs (stackcollapse-perf.pl, inferno, py-spy --format raw), and \
               difffolded.pl with the counts of two profiles",
        ..ABOUT
    }),
    is: |look| !look.is_folder && perf::is_folded(&look.bytes),
    reader: READER,
};

/// Whether a format has the stacks of samples.
pub(crate) fn has_stacks(format: &Format) -> bool {
    *format == FORMAT || *format == FOLDED
}

/// Reads what functions with a text in their names called.
pub(crate) fn read_below(input: &[u8], path: &Path, below: &str, stop: &Stop) -> Result<Trace, OpenError> {
    perf::read_below(input, below, stop).map_err(|error| OpenError::at(path, error))
}

const READER: Reader =
    Reader::Bytes(|input, path, stop| perf::read(&input, stop).map_err(|error| OpenError::at(path, error)));

const ABOUT: About = About {
    kind: FormatKind::Profile,
    from: "",
    reads: "samples as a table of functions: within each itself, and within it or what it calls",
    written_by: None,
    lacks: "when each sample was: there is no timeline",
    tried: Tried::Documentation,
};
