//! The trace's zero: where it lies, as far as that is known.

use crate::StringId;

/// Where the zero of a trace lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// The wall-clock time of the trace's zero, in nanoseconds since 1970-01-01T00:00:00Z; `None`
    /// where the format doesn't tell (MegEngine's and ONNX Runtime's files).
    pub unix_zero: Option<i64>,
    /// Which clock the times were taken from, such as `CLOCK_MONOTONIC_RAW`; two traces with
    /// different domains can't be laid over one another.
    pub domain: Option<StringId>,
}
