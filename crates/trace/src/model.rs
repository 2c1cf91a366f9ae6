//! Models that were loaded or run.

use crate::StringId;
use crate::table::table;

table! {
    /// Models that were loaded or run.
    ModelTable,
    /// Names a row of the [`ModelTable`].
    ModelId,
    /// A model.
    Model {
        /// The model's number in its format; 0 where there is only one.
        number: u64,
        /// The model's name, or its file.
        name: StringId,
    }
}
