//! How grave what is missing from a board's files is.

use opscope_trace::Severity;

use crate::own_records::OTHER_CLOCK;

/// What a collector on the board noted about its own work.
pub(crate) const NOTED: &str = "noted by the collector";

/// Samples that the board was too slow to save.
pub(crate) const MISSING_SAMPLES: &str = "missing: samples between those that are there";

/// A cell of a table that doesn't follow from the others.
pub(crate) const WRONG_BOUND: &str = "doubted: a memory bound that does not follow from its row";

/// A table whose last line isn't ended, as all tools end theirs.
pub(crate) const NOT_ENDED: &str =
    "cut off: the last line has no end, so its last cell may be a part of what it should be";

/// The severity of a reason; one that isn't listed is a loss of records.
pub(crate) fn severity(reason: &str) -> Severity {
    match reason {
        NOTED | OTHER_CLOCK | MISSING_SAMPLES | WRONG_BOUND | NOT_ENDED => Severity::Doubted,
        _ => Severity::Lost,
    }
}
