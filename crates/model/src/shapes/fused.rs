//! Operators that ONNX Runtime's optimiser writes in place of ONNX's own.

use super::fact::{Dims, Fact};
use super::operator::{Gap, Inferred, Op, axis, broadcast};
use super::{attention, elementwise, layout, matrix, normalize, quantize, recurrent, reduce, resize, window};

/// The domain `com.microsoft`.
pub(super) fn infer(op: &Op) -> Inferred {
    match op.node.op_type {
        "Gelu" | "FastGelu" | "QuickGelu" | "BiasGelu" | "BiasSoftmax" | "BiasAdd" | "RotaryEmbedding"
        | "Inverse" | "GroupNorm" | "QLinearSigmoid" | "QLinearLeakyRelu" | "QLinearSoftmax" | "Trilu" => {
            elementwise::unary(op)
        }
        "FusedConv" | "NhwcFusedConv" => window::conv(op),
        "QLinearConv" => window::qlinear_conv(op),
        "NhwcMaxPool" | "QLinearAveragePool" => window::pool(op),
        "QLinearGlobalAveragePool" => window::global_pool(op),
        "FusedGemm" => matrix::gemm(op),
        "FusedMatMul" | "TransposeMatMul" => matrix::fused_matmul(op),
        "QGemm" => matrix::quantized_gemm(op),
        "MatMulInteger16" => matrix::matmul_integer(op),
        "MatMulIntegerToFloat" | "DynamicQuantizeMatMul" => matrix::scaled_matmul(op, 2),
        "MatMulNBits" | "MatMulBnb4" => matrix::matmul_n_bits(op),
        "QLinearAdd" | "QLinearMul" => op.one(0, broadcast(op.dims(0)?, op.dims(3)?)?),
        "QLinearConcat" => quantized_concat(op),
        "QLinearReduceMean" => reduce::reduce(op),
        "QuantizeLinear" => quantize::quantize(op),
        "DequantizeLinear" => quantize::dequantize(op),
        "DynamicQuantizeLSTM" => recurrent::recurrent(op),
        "BiasDropout" | "BitmaskDropout" => normalize::dropout(op),
        "BiasSplitGelu" => halved(op),
        "Attention" | "QAttention" => attention::packed_attention(op),
        "MultiHeadAttention" => attention::multi_head_attention(op),
        "GroupQueryAttention" => attention::group_query_attention(op),
        "EmbedLayerNormalization" => attention::embed_layer_norm(op),
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => attention::skip_layer_norm(op),
        "SkipGroupNorm" => Ok(vec![op.fact(0)?.without_elements(), op.fact(0)?.without_elements()]),
        "GridSample" => resize::grid_sample(op),
        "GatherND" => super::select::gather_nd(op),
        "ExpandDims" => Err(Gap::Unknown),
        "Identity" => layout::identity(op),
        _ => Err(Gap::Unknown),
    }
}

/// Blocks have 8 or 16 channels, depending on the machine that the model was optimised on.
const LARGEST_BLOCK: u64 = 16;

/// The domain `com.microsoft.nchwc`, in which images are stored in blocks of channels. Dimensions are
/// those of an ordinary image whose channels are padded to whole blocks.
pub(super) fn infer_blocked(op: &Op) -> Inferred {
    match op.node.op_type {
        "Conv" => window::conv(op),
        "MaxPool" | "AveragePool" => window::pool(op),
        "GlobalMaxPool" | "GlobalAveragePool" => window::global_pool(op),
        "Upsample" => upsample_blocked(op),
        "ReorderInput" => {
            let mut dims = op.dims(0)?.to_vec();
            if op.flag("channels_last") && dims.len() > 2 {
                let channels = dims.remove(dims.len() - 1);
                dims.insert(1, channels);
            }
            if let Some(channels) = dims.get_mut(1) {
                *channels = channels.filter(|n| n % LARGEST_BLOCK == 0);
            }
            op.one(0, dims)
        }
        "ReorderOutput" => {
            let [batch, _, spatial @ ..] = op.dims(0)? else { return Err(Gap::Unknown) };
            let (batch, channels) = ([*batch], [op.size("channels")]);
            let dims = if op.flag("channels_last") {
                [&batch, spatial, &channels].concat()
            } else {
                [&batch, &channels[..], spatial].concat()
            };
            op.one(0, dims)
        }
        _ => Err(Gap::Unknown),
    }
}

fn upsample_blocked(op: &Op) -> Inferred {
    let scales = op.attributes().ints("scales").ok_or(Gap::Unknown)?;
    let scaled =
        op.dims(0)?.iter().zip(scales).map(|(dim, &scale)| (*dim)?.checked_mul(u64::try_from(scale).ok()?));
    let dims: Dims = scaled.collect();
    op.one(0, dims)
}

/// `QLinearConcat`: scale and zero point of the output, then tensors with theirs.
fn quantized_concat(op: &Op) -> Inferred {
    let mut dims = op.dims(2)?.to_vec();
    let axis = axis(op.int("axis", 0), dims.len())?;
    for input in (5..op.input_count()).step_by(3) {
        let other = op.dims(input)?.get(axis).copied().flatten();
        dims[axis] = dims[axis].zip(other).and_then(|(dim, other)| dim.checked_add(other));
    }
    op.one(2, dims)
}

/// The last dimension holds pairs, of which one is left.
fn halved(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    if let Some(last) = dims.last_mut() {
        *last = last.map(|size| size / 2);
    }
    Ok(vec![Fact::new(op.data_type(0), dims)])
}

#[cfg(test)]
mod tests {
    use opscope_trace::DataType;

    use crate::testing::{Case, dims};

    #[test]
    fn fused_operators_are_as_those_they_replace() {
        let conv = Case::new("com.microsoft:FusedConv").input(&[1, 3, 8, 8]).weight(&[4, 3, 3, 3]);
        assert_eq!(conv.first(), dims(&[1, 4, 6, 6]));
        let matmul = Case::new("com.microsoft:FusedMatMul").input(&[5, 3, 2]).input(&[5, 4, 3]);
        assert_eq!(matmul.int("transA", 1).int("transB", 1).first(), dims(&[5, 2, 4]));
        let packed = Case::new("com.microsoft:MatMulNBits").input(&[2, 7, 64]).int("K", 64).int("N", 100);
        assert_eq!(packed.first(), dims(&[2, 7, 100]));
        assert_eq!(
            Case::new("com.microsoft:BiasSplitGelu").input(&[2, 8]).input(&[8]).first(),
            dims(&[2, 4])
        );
        let pool = Case::new("com.microsoft:NhwcMaxPool").typed(DataType::Int8, &[1, 8, 8, 3]);
        assert_eq!(pool.ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2]).first(), dims(&[1, 4, 4, 3]));
        let tensor = |case: Case, dims: &[i64]| {
            case.typed(DataType::Uint8, dims).input(&[]).typed(DataType::Uint8, &[])
        };
        let concat = Case::new("com.microsoft:QLinearConcat").input(&[]).typed(DataType::Uint8, &[]);
        let concat = tensor(tensor(concat, &[1, 2]), &[1, 5]).int("axis", 1);
        assert_eq!(concat.types(), [(DataType::Uint8, dims(&[1, 7]))]);
    }

    #[test]
    fn blocked_images_have_their_ordinary_dimensions() {
        let input = Case::new("com.microsoft.nchwc:ReorderInput").input(&[1, 32, 8, 8]);
        assert_eq!(input.first(), dims(&[1, 32, 8, 8]));
        let unknown = Case::new("com.microsoft.nchwc:ReorderInput").input(&[1, 20, 8, 8]);
        assert_eq!(unknown.first(), Some(vec![Some(1), None, Some(8), Some(8)]));
        let output = Case::new("com.microsoft.nchwc:ReorderOutput").input(&[1, 32, 8, 8]).int("channels", 20);
        assert_eq!(output.int("channels_last", 1).first(), dims(&[1, 8, 8, 20]));
        let upsample = Case::new("com.microsoft.nchwc:Upsample").input(&[1, 16, 4, 4]);
        assert_eq!(upsample.ints("scales", &[1, 1, 2, 3]).first(), dims(&[1, 16, 8, 12]));
    }
}
