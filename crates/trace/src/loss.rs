//! What was dropped or doubted while a profile was read.

use crate::StringId;
use crate::table::table;
use crate::words::words;

words! {
    /// How much a loss takes from the figures of a profile, the gravest first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Severity {
        /// Records are missing or damaged: counts, sums and times may differ from those of the run.
        #[default]
        Lost = "lost",
        /// The records are there, but what they belong to, or whether they are all, isn't certain.
        Doubted = "doubted",
        /// Nothing that figures rest on: an optional file that is absent, or content that opscope has
        /// no use for.
        Remark = "remark",
    }
}

table! {
    /// What was dropped or doubted while a profile was read, so that users can see and query it.
    LossTable,
    /// Names a row of the [`LossTable`].
    LossId,
    /// A kind of loss and how often it happened.
    Loss {
        /// What was lost, and why.
        reason: StringId,
        /// How many records.
        count: u64,
        /// The file, offset or field concerned.
        detail: StringId,
        /// How much it matters.
        severity: Severity,
    }
}
