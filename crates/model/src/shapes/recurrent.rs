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

#[cfg(test)]
mod tests {
    use crate::testing::{Case, dims};

    #[test]
    fn a_recurrent_layer_gives_all_steps_and_the_last() {
        let lstm = |layout, input: &[i64]| {
            let case = Case::new("LSTM").input(input).input(&[2, 80, 10]).input(&[2, 80, 20]);
            case.int("hidden_size", 20)
                .int("layout", layout)
                .string("direction", "bidirectional")
                .outputs(3)
                .dims()
        };
        assert_eq!(lstm(0, &[7, 3, 10]), [dims(&[7, 2, 3, 20]), dims(&[2, 3, 20]), dims(&[2, 3, 20])]);
        assert_eq!(lstm(1, &[3, 7, 10]), [dims(&[3, 7, 2, 20]), dims(&[3, 2, 20]), dims(&[3, 2, 20])]);
        let gru = Case::new("GRU").input(&[7, 3, 10]).input(&[1, 60, 10]).input(&[1, 60, 20]).outputs(2);
        assert_eq!(gru.dims(), [dims(&[7, 1, 3, 20]), dims(&[1, 3, 20])]);
    }
}
