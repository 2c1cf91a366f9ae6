//! What was dropped or doubted while a profile was read.

use crate::StringId;
use crate::table::table;

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
    }
}
