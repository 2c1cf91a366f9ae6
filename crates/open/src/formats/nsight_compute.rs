//! Tables of Nsight Compute.

use opscope_formats::nsight::compute;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "a table of Nsight Compute",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "NVIDIA Nsight Compute (ncu --csv, --page raw or details)",
        reads: "kernels with their durations and all that hardware counted while they ran",
        written_by: None,
        lacks: "when a kernel ran, so that no timeline is drawn; rules, source lines, .ncu-rep itself",
        tried: Tried::Documentation,
    }),
    is: |look| !look.is_folder && compute::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        compute::read(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};
