//! Inferences of a model.

use crate::table::table;
use crate::{ModelId, Nanoseconds};

table! {
    /// Inferences, in the order of their start; warm-up ones are kept and marked.
    IterationTable,
    /// Names a row of the [`IterationTable`].
    IterationId,
    /// One inference of one model.
    Iteration {
        /// The model that was run, where the format tells.
        model: Option<ModelId>,
        /// Its number: what the program or the vendor's tool calls it, else its place among those of
        /// its model from 1, warm-up ones included.
        number: u32,
        /// Whether it served to warm up and is left out of statistics.
        warm_up: bool,
        /// When it began.
        start: Nanoseconds,
        /// How long it took, from the first input to the last output.
        duration: Nanoseconds,
    }
}
