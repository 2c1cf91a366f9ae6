//! Recurrent layers.

use super::fact::Fact;
use super::operator::{Inferred, Op};

/// `RNN`, `GRU` and `LSTM`: the outputs of all steps, the last one, and (of `LSTM`) the last state of
/// the cells. `layout` 1 puts the batch first.
pub(super) fn recurrent(op: &Op) -> Inferred {
    let [first, second, _] = op.dims_of_rank(0)?;
    let [directions, _, recurrent] = op.dims_of_rank(2)?;
    let hidden = op.size("hidden_size").or(recurrent);
    let directions = match op.attributes().string("direction") {
        Some("bidirectional") => Some(2),
        Some(_) => Some(1),
        None => directions.or(Some(1)),
    };
    let batch_first = op.flag("layout");
    let (steps, batch) = if batch_first { (second, first) } else { (first, second) };
    let (all, last) = if batch_first {
        (vec![batch, steps, directions, hidden], vec![batch, directions, hidden])
    } else {
        (vec![steps, directions, batch, hidden], vec![directions, batch, hidden])
    };
    let output = |dims: Vec<_>| Fact::new(op.data_type(0), dims);
    Ok(vec![output(all), output(last.clone()), output(last)])
}
