//! Operators of TensorFlow and TensorFlow Lite that ONNX has none for, as far as their sizes follow from those of their
//! inputs. Types are those that the file declares.

use opscope_trace::DataType;

use super::fact::{Dims, Fact};
use super::operator::{Gap, Inferred, Op, broadcast, contradiction};

/// The domain `tensorflow`.
pub(super) fn infer_tensorflow(op: &Op) -> Inferred {
    match op.node.op_type {
        "SpaceToBatchND" => space_to_batch(op),
        "BatchToSpaceND" => batch_to_space(op),
        _ => Err(Gap::Unknown),
    }
}

/// The domain `tflite`.
pub(super) fn infer_tflite(op: &Op) -> Inferred {
    match op.node.op_type {
        "SPACE_TO_BATCH_ND" => space_to_batch(op),
        "BATCH_TO_SPACE_ND" => batch_to_space(op),
        "RSQRT" | "QUANTIZE" | "DEQUANTIZE" | "FAKE_QUANT" | "ZEROS_LIKE" | "LOGISTIC" | "TANH" | "CAST"
        | "RELU" | "RELU6" | "HARD_SWISH" | "LEAKY_RELU" | "SIGN_BIT" | "L2_NORMALIZATION" | "SOFTMAX"
        | "LOG_SOFTMAX" => untyped(op.dims(0)?.to_vec()),
        "SQUARED_DIFFERENCE" | "FLOOR_DIV" | "FLOOR_MOD" | "NOT_EQUAL" | "ATAN2" | "RIGHT_SHIFT" | "ADD"
        | "SUB" | "MUL" | "DIV" => untyped(broadcast(op.dims(0)?, op.dims(1)?)?),
        _ => Err(Gap::Unknown),
    }
}

fn untyped(dims: Dims) -> Inferred {
    Ok(vec![Fact::new(DataType::Unknown, dims)])
}

/// The sizes of blocks (input 1), and before and behind each axis what is padded or cut off (input 2).
fn blocks(op: &Op) -> Inferred<Vec<(u64, u64)>> {
    let known = |input| -> Inferred<Vec<u64>> {
        let list = op.integers(input)?.into_iter();
        list.map(|number| u64::try_from(number.ok_or(Gap::Unknown)?).map_err(|_| Gap::Unknown)).collect()
    };
    let (sizes, edges) = (known(1)?, known(2)?);
    if edges.len() != 2 * sizes.len() || sizes.contains(&0) || op.rank(0)? <= sizes.len() {
        return Err(contradiction!("{} blocks and {} edges", sizes.len(), edges.len()));
    }
    let edges = edges.chunks(2).map(|edge| edge[0].checked_add(edge[1]).ok_or(Gap::Unknown));
    sizes.into_iter().zip(edges).map(|(size, edges)| Ok((size, edges?))).collect()
}

/// Puts the images that lie `block` apart within one into the batch.
fn space_to_batch(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    for (axis, (block, edges)) in blocks(op)?.into_iter().enumerate() {
        dims[0] = dims[0].and_then(|batch| batch.checked_mul(block));
        let padded = dims[axis + 1].and_then(|size| size.checked_add(edges));
        if let Some(padded) = padded.filter(|padded| padded % block != 0) {
            return Err(contradiction!("{padded} is no multiple of the block's {block}"));
        }
        dims[axis + 1] = padded.map(|padded| padded / block);
    }
    op.one(0, dims)
}

/// Takes them out again.
fn batch_to_space(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    for (axis, (block, edges)) in blocks(op)?.into_iter().enumerate() {
        if let Some(batch) = dims[0].filter(|batch| batch % block != 0) {
            return Err(contradiction!("a batch of {batch} is no multiple of the block's {block}"));
        }
        dims[0] = dims[0].map(|batch| batch / block);
        dims[axis + 1] = dims[axis + 1].and_then(|size| size.checked_mul(block)?.checked_sub(edges));
    }
    op.one(0, dims)
}

#[cfg(test)]
mod tests {
    use opscope_trace::DataType;

    use crate::testing::{Case, dims};

    #[test]
    fn blocks_go_into_the_batch_and_come_out_again() {
        let case = |op_type: &str, sizes: &[i64], edges: &[i64]| {
            Case::new(op_type).input(sizes).list(&[2, 2]).list(edges).types()
        };
        for (into, out) in [
            ("tflite:SPACE_TO_BATCH_ND", "tflite:BATCH_TO_SPACE_ND"),
            ("tensorflow:SpaceToBatchND", "tensorflow:BatchToSpaceND"),
        ] {
            let found = case(into, &[3, 7, 8, 5], &[1, 2, 0, 2]);
            assert_eq!(found, [(DataType::Float32, dims(&[12, 5, 5, 5]))], "{into}");
            let found = case(out, &[12, 5, 5, 5], &[1, 2, 0, 2]);
            assert_eq!(found, [(DataType::Float32, dims(&[3, 7, 8, 5]))], "{out}");
        }
    }

    #[test]
    fn blocks_that_do_not_fit_are_noted_and_tell_no_sizes() {
        let case = |op_type: &str, block: &[i64], edges: &[i64]| {
            let (model, shapes) = Case::new(op_type).input(&[3, 7]).list(block).list(edges).shapes();
            let output = model.graph().value_by_name("out0").unwrap().id;
            assert!(shapes.get(output).is_none(), "{op_type}");
            shapes.notes().len()
        };
        assert_eq!(case("tflite:SPACE_TO_BATCH_ND", &[2], &[0, 0]), 1);
        assert_eq!(case("tflite:BATCH_TO_SPACE_ND", &[2], &[0, 0]), 1);
        assert_eq!(case("tflite:SPACE_TO_BATCH_ND", &[0], &[0, 1]), 1);
        assert_eq!(case("tflite:SPACE_TO_BATCH_ND", &[2, 2, 2], &[0; 6]), 1);
    }
}
