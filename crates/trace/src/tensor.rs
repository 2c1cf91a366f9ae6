//! Inputs and outputs of operators.

use crate::pool::Span;
use crate::table::table;
use crate::{DataType, StringId};

table! {
    /// Inputs and outputs of operators; each operator names a run of consecutive rows.
    TensorTable,
    /// Names a row of the [`TensorTable`].
    TensorId,
    /// An input or output of an operator.
    Tensor {
        /// The value's name in the model, where the format tells.
        name: Option<StringId>,
        /// The element type.
        data_type: DataType,
        /// The dimensions, outermost first; `None` when not even their number is known.
        dimensions: Option<Span<i64>>,
        /// The memory layout in the format's own word, such as `NCHW` or `NC1HWC0`.
        layout: Option<StringId>,
        /// Whether it is a constant of the model, such as a weight.
        parameter: bool,
    }
}

impl TensorTable {
    /// Appends the inputs or the outputs of an operator; returns the first and how many there are.
    pub fn push_all(&mut self, rows: impl IntoIterator<Item = Tensor>) -> (Option<TensorId>, u32) {
        let start = self.len();
        rows.into_iter().for_each(|row| _ = self.push(row));
        let count = self.len() - start;
        ((count > 0).then(|| TensorId::from_index(start)), count as u32)
    }
}
