//! Inferences that were timed as a whole.

use crate::table::table;
use crate::{ModelId, Nanoseconds};

table! {
    /// Inferences of which nothing but their time was noted, in the order of their start. They ran in
    /// turn with those of the [`IterationTable`](crate::IterationTable), and are what the model takes
    /// where nobody watches it: recording every operator costs time.
    UnrecordedIterationTable,
    /// Names a row of the [`UnrecordedIterationTable`].
    UnrecordedIterationId,
    /// One inference of one model, timed as a whole.
    UnrecordedIteration {
        /// The model that was run, where that is known.
        model: Option<ModelId>,
        /// Its number among the unrecorded ones, from 1, warm-up ones included.
        number: u32,
        /// Whether it served to warm up and is left out of statistics.
        warm_up: bool,
        /// When it began.
        start: Nanoseconds,
        /// How long it took, from the first input to the last output.
        duration: Nanoseconds,
    }
}
