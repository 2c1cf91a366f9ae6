//! Single tables that the Ascend tools exported.

use opscope_cann::read::tables;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "a table of the Ascend tools",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "msprof, torch_npu, MindSpore on Ascend (op_summary*.csv, kernel_details.csv and others)",
        reads: "tasks with operators, shapes and hardware's counters, or the figures that the table states",
        written_by: Some("opscope export"),
        lacks: "calls of the host; tables of sums are figures without single times; single calls in tables of 2022 (acl, ge_op_execute), of whose begins no unit is told",
        tried: Tried::RealFiles,
    }),
    is: |look| tables::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        tables::read(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};
