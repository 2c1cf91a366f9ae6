//! Normalisation and dropout: the first output is like the input, further ones are statistics.

use opscope_trace::DataType;

use super::fact::Fact;
use super::operator::{Inferred, Op, axis};

/// `BatchNormalization`: statistics have one element for each channel.
pub(super) fn batch_norm(op: &Op) -> Inferred {
    let statistic = Fact::new(op.data_type(1), [op.dim(0, 1)]);
    let mut outputs = vec![op.fact(0)?.without_elements()];
    // In training its types may differ: those of the running mean and variance.
    outputs.extend([3, 4].map(|input| match op.data_type(input) {
        DataType::Unknown => statistic.clone(),
        data_type => Fact { data_type, ..statistic.clone() },
    }));
    outputs.extend([statistic.clone(), statistic]);
    Ok(outputs)
}

/// `LayerNormalization` and `RMSNormalization`: mean and deviation keep the axes before the
/// normalised ones.
pub(super) fn layer_norm(op: &Op) -> Inferred {
    let input = op.fact(0)?;
    let Ok(dims) = op.dims(0) else { return Ok(vec![input.clone()]) };
    let axis = axis(op.int("axis", -1), dims.len())?;
    let mut reduced = dims.to_vec();
    reduced[axis..].fill(Some(1));
    let data_type = op.type_attribute("stash_type").unwrap_or(DataType::Float32);
    let statistic = Fact::new(data_type, reduced);
    Ok(vec![input.without_elements(), statistic.clone(), statistic])
}

/// `Dropout`: the mask is of truth values from version 10 on, before that of the input's type.
pub(super) fn dropout(op: &Op) -> Inferred {
    let output = op.fact(0)?.clone();
    let data_type = if op.version < 10 { output.data_type } else { DataType::Bool };
    let mask = Fact { data_type, ..output.without_elements() };
    // In training nobody knows which elements are dropped; elsewhere none is.
    Ok(vec![if op.has(2) { output.without_elements() } else { output }, mask])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn statistics_come_after_the_normalised_tensor() {
        let case = Case::new("LayerNormalization").input(&[2, 3, 4]).input(&[3, 4]).int("axis", 1).outputs(3);
        assert_eq!(case.dims(), [dims(&[2, 3, 4]), dims(&[2, 1, 1]), dims(&[2, 1, 1])]);
        let vectors =
            (0..4).fold(Case::new("BatchNormalization").input(&[2, 3, 4]), |case, _| case.input(&[3]));
        assert_eq!(vectors.outputs(3).dims(), [dims(&[2, 3, 4]), dims(&[3]), dims(&[3])]);
    }

    #[test]
    fn the_mask_of_a_dropout_changed_its_type() {
        let mask = |version| Case::new("Dropout").version(version).input(&[3]).outputs(2).types()[1].0;
        assert_eq!((mask(7), mask(13)), (DataType::Float32, DataType::Bool));
    }
}
