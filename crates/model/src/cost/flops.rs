//! How many operations each family of operators takes; the formulas are explained in the parent
//! module.

use super::converted;
use super::costed::Costed;
use crate::formats::{caffe, om, openvino, tflite};
use crate::shapes::einsum_space;

/// The product; `None` if a factor isn't known or the product is beyond what can be counted. The
/// factor that isn't known doesn't matter where another is zero.
pub(super) fn product(factors: &[Option<u64>]) -> Option<u64> {
    if factors.contains(&Some(0)) {
        return Some(0);
    }
    factors.iter().try_fold(1u64, |product, factor| product.checked_mul((*factor)?))
}

pub(super) fn sum(terms: &[Option<u64>]) -> Option<u64> {
    terms.iter().try_fold(0u64, |sum, term| sum.checked_add((*term)?))
}

/// A count that is there or not.
pub(super) fn when(condition: bool, count: Option<u64>) -> Option<u64> {
    if condition { count } else { Some(0) }
}

/// How many operations a node takes.
pub(super) fn of(node: &Costed) -> Option<u64> {
    match node.node.domain {
        "" | "com.ms.internal.nhwc" => of_default(node),
        "com.microsoft" => of_fused(node),
        "com.microsoft.nchwc" => of_blocked(node),
        "ai.onnx.ml" => of_classic(node),
        caffe::DOMAIN => converted::of_caffe(node),
        om::DOMAIN => converted::of_ascend(node),
        tflite::DOMAIN => converted::of_tflite(node),
        openvino::DOMAIN => super::openvino::of(node),
        "ai.onnx.preview" if node.node.op_type == "FlexAttention" => attention(node, Some(0)),
        _ => None,
    }
}

fn of_default(node: &Costed) -> Option<u64> {
    let each = |count| product(&[Some(count), node.output(0)]);
    match node.node.op_type {
        "Conv" | "ConvInteger" | "DeformConv" => convolution(node, 1, bias_of(node)),
        "QLinearConv" => convolution(node, 3, node.has(8)),
        "ConvTranspose" => transposed_convolution(node),
        "CausalConvWithState" => convolution(node, 1, node.has(2)),
        "MatMul" | "MatMulInteger" | "QLinearMatMul" => matmul(node, false),
        "Gemm" => gemm(node, 2),
        "Einsum" => einsum(node),
        "Det" => determinant(node),

        "Max" | "Min" | "Sum" => each(node.node.inputs.len().saturating_sub(1) as u64),
        "Mean" => each(node.node.inputs.len() as u64),
        "SwiGLU" => each(2),
        "Abs" | "Acos" | "Acosh" | "Add" | "And" | "Asin" | "Asinh" | "Atan" | "Atanh" | "BitShift"
        | "BitwiseAnd" | "BitwiseNot" | "BitwiseOr" | "BitwiseXor" | "Ceil" | "Celu" | "Clip" | "Cos"
        | "Cosh" | "Div" | "Elu" | "Equal" | "Erf" | "Exp" | "Floor" | "Gelu" | "Greater"
        | "GreaterOrEqual" | "HardSigmoid" | "HardSwish" | "Hardmax" | "IsInf" | "IsNaN" | "LeakyRelu"
        | "Less" | "LessOrEqual" | "Log" | "Mish" | "Mod" | "Mul" | "Neg" | "Not" | "Or" | "PRelu"
        | "Pow" | "Range" | "Reciprocal" | "Relu" | "Round" | "Selu" | "Shrink" | "Sigmoid" | "Sign"
        | "Sin" | "Sinh" | "Softplus" | "Softsign" | "Sqrt" | "Sub" | "Swish" | "Tan" | "Tanh"
        | "ThresholdedRelu" | "Xor" => each(1),

        "Softmax" | "LogSoftmax" => each(5),
        "BatchNormalization" => each(2),
        "LayerNormalization" | "InstanceNormalization" | "GroupNormalization" => each(7),
        "MeanVarianceNormalization" => each(5),
        "RMSNormalization" | "SimplifiedLayerNormalization" => each(4),
        "LpNormalization" => each(3),
        "LRN" => product(&[size(node, "size")?.checked_add(4), node.output(0)]),
        "QuantizeLinear" | "DequantizeLinear" => each(2),
        // Smallest and largest element, then as quantisation.
        "DynamicQuantizeLinear" => each(4),
        "RotaryEmbedding" => each(3),

        "MaxPool" | "AveragePool" => pool(node, 1),
        "LpPool" => pool(node, 2),
        "GlobalMaxPool" | "GlobalAveragePool" | "ArgMax" | "ArgMin" | "TopK" | "CumSum" | "CumProd"
        | "Col2Im" | "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax"
        | "ReduceMean" | "ReduceMin" | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => node.input(0),
        "GlobalLpPool" => product(&[Some(2), node.input(0)]),

        "RNN" => recurrent(node, 1, 1),
        "GRU" => recurrent(node, 3, 8),
        "LSTM" => recurrent(node, 4, 9),
        "Attention" => attention(node, past(node, 4, 2)),
        "LinearAttention" => linear_attention(node),
        "Resize" | "Upsample" => resize(node),
        "GridSample" => {
            let dimensions = node.dims(0)?.len().checked_sub(2)?;
            interpolated(node, dimensions, node.node.attributes.string("mode").unwrap_or("linear"))
        }
        "AffineGrid" => product(&[Some(2), last_dim(node), node.output(0)]),
        "DFT" => transforms(node),
        "STFT" => frames(node),

        "BitCast" | "Cast" | "CastLike" | "CenterCropPad" | "Compress" | "Concat" | "Constant"
        | "ConstantOfShape" | "DepthToSpace" | "Dropout" | "Expand" | "EyeLike" | "Flatten" | "Gather"
        | "GatherElements" | "GatherND" | "Identity" | "MaxUnpool" | "NonZero" | "OneHot" | "Pad"
        | "Reshape" | "ReverseSequence" | "Shape" | "Size" | "Slice" | "SpaceToDepth" | "Split"
        | "Squeeze" | "TensorScatter" | "Tile" | "Transpose" | "Trilu" | "Unsqueeze" | "Where" => Some(0),
        "Scatter" | "ScatterElements" | "ScatterND" => {
            let reduces = !matches!(node.node.attributes.string("reduction"), None | Some("none"));
            when(reduces, node.input(2))
        }
        _ => None,
    }
}

/// The domain `com.microsoft`.
fn of_fused(node: &Costed) -> Option<u64> {
    let each = |count| product(&[Some(count), node.output(0)]);
    match node.node.op_type {
        "FusedConv" | "NhwcFusedConv" => {
            let extra = u64::from(node.has(3)) + u64::from(node.node.attributes.has("activation"));
            sum(&[convolution(node, 1, node.has(2)), each(extra)])
        }
        "QLinearConv" => convolution(node, 3, node.has(8)),
        "FusedGemm" => sum(&[gemm(node, 2), each(1)]),
        "QGemm" => gemm(node, 6),
        "FusedMatMul" | "TransposeMatMul" => fused_matmul(node),
        "MatMulInteger16" => matmul(node, false),
        "MatMulIntegerToFloat" => matmul(node, node.has(6)),
        "DynamicQuantizeMatMul" => matmul(node, node.has(4)),
        "MatMulNBits" | "MatMulBnb4" => product(&[Some(2), node.output(0), size(node, "K")]),
        "Gelu" | "QuickGelu" | "QLinearAdd" | "QLinearMul" | "QLinearSigmoid" | "QLinearLeakyRelu" => each(1),
        "FastGelu" => each(1 + u64::from(node.has(1))),
        "BiasGelu" => each(2),
        "BiasAdd" => each(2),
        // A sum, a function of one half, and the product with the other half.
        "BiasSplitGelu" => each(4),
        "QLinearSoftmax" => each(5),
        "BiasSoftmax" => each(6),
        "GroupNorm" => each(7),
        "SkipGroupNorm" | "SkipLayerNormalization" => each(8 + u64::from(node.has(4))),
        "SkipSimplifiedLayerNormalization" => each(5 + u64::from(node.has(3))),
        // The embeddings of word, place and segment are added first.
        "EmbedLayerNormalization" => each(8 + u64::from(node.has(4))),
        "QuantizeLinear" | "DequantizeLinear" => each(2),
        "RotaryEmbedding" => each(3),
        "NhwcMaxPool" | "QLinearAveragePool" => pool(node, 1),
        "QLinearGlobalAveragePool" | "QLinearReduceMean" => node.input(0),
        "DynamicQuantizeLSTM" => recurrent(node, 4, 9),
        "Attention" => packed_attention(node, past(node, 4, 3), node.has(3) || node.has(5)),
        "QAttention" => packed_attention(node, past(node, 8, 3), node.has(5)),
        "MultiHeadAttention" => multi_head_attention(node),
        "QLinearConcat" | "Identity" | "GatherND" | "Trilu" => Some(0),
        _ => None,
    }
}

/// The domain `com.microsoft.nchwc`; channels are padded to whole blocks, and so is the work.
fn of_blocked(node: &Costed) -> Option<u64> {
    match node.node.op_type {
        "Conv" => {
            let extra = u64::from(node.has(3)) + u64::from(node.node.attributes.has("activation"));
            sum(&[convolution(node, 1, node.has(2)), product(&[Some(extra), node.output(0)])])
        }
        "MaxPool" | "AveragePool" => pool(node, 1),
        "GlobalMaxPool" | "GlobalAveragePool" => node.input(0),
        "Upsample" => interpolated(node, 2, node.node.attributes.string("mode").unwrap_or("nearest")),
        "ReorderInput" | "ReorderOutput" => Some(0),
        _ => None,
    }
}

/// The domain `ai.onnx.ml`.
fn of_classic(node: &Costed) -> Option<u64> {
    match node.node.op_type {
        "Scaler" | "Normalizer" => product(&[Some(2), node.output(0)]),
        "Binarizer" | "Imputer" => node.output(0),
        "LinearRegressor" | "LinearClassifier" => {
            let coefficients = node.node.attributes.floats("coefficients")?.len() as u64;
            let rows = if node.dims(0)?.len() < 2 { Some(1) } else { node.dim(0, 0) };
            product(&[Some(2), rows, Some(coefficients)])
        }
        "ArrayFeatureExtractor" => Some(0),
        _ => None,
    }
}

/// An attribute that is a size.
fn size(node: &Costed, attribute: &str) -> Option<u64> {
    u64::try_from(node.node.attributes.int(attribute)?).ok()
}

fn last_dim(node: &Costed) -> Option<u64> {
    *node.shapes.get(node.node.output(0)?)?.dims.last()?
}

/// Whether a convolution of ONNX has a bias, which stands at another place in each.
fn bias_of(node: &Costed) -> bool {
    match node.node.op_type {
        "Conv" => node.has(2),
        "DeformConv" => node.has(3),
        _ => false,
    }
}

/// The weights are of output channels × channels of a group × kernel.
fn convolution(node: &Costed, weights: usize, bias: bool) -> Option<u64> {
    let each = product(node.dims(weights)?.get(1..)?);
    sum(&[product(&[Some(2), node.output(0), each]), when(bias, node.output(0))])
}

/// The weights are of input channels × output channels of a group × kernel.
fn transposed_convolution(node: &Costed) -> Option<u64> {
    let each = product(node.dims(1)?.get(1..)?);
    sum(&[product(&[Some(2), node.input(0), each]), when(node.has(2), node.output(0))])
}

fn matmul(node: &Costed, bias: bool) -> Option<u64> {
    let summed = *node.dims(0)?.last()?;
    sum(&[product(&[Some(2), node.output(0), summed]), when(bias, node.output(0))])
}

fn fused_matmul(node: &Costed) -> Option<u64> {
    let dims = node.dims(0)?;
    let turned = node.node.attributes.int("transA").unwrap_or(0) != 0 && dims.len() >= 2;
    let summed = *dims.get(dims.len().checked_sub(if turned { 2 } else { 1 })?)?;
    product(&[Some(2), node.output(0), summed])
}

fn gemm(node: &Costed, bias: usize) -> Option<u64> {
    let turned = node.node.attributes.int("transA").unwrap_or(0) != 0;
    let summed = node.dim(0, if turned { 0 } else { 1 });
    sum(&[product(&[Some(2), node.output(0), summed]), when(node.has(bias), node.output(0))])
}

fn einsum(node: &Costed) -> Option<u64> {
    let inputs = node.node.inputs.len();
    let dims: Option<Vec<_>> = (0..inputs).map(|input| node.dims(input)).collect();
    let space = einsum_space(node.node.attributes.string("equation")?, &dims?)?;
    product(&[Some(space), Some(inputs as u64)])
}

/// By elimination: two thirds of the cube of the order.
fn determinant(node: &Costed) -> Option<u64> {
    let order = *node.dims(0)?.last()?;
    product(&[Some(2), order, order, order, node.output(0)]).map(|count| count / 3)
}

fn pool(node: &Costed, each: u64) -> Option<u64> {
    let kernel = node.node.attributes.ints("kernel_shape")?;
    let kernel: Vec<_> = kernel.iter().map(|&n| u64::try_from(n).ok()).collect();
    product(&[Some(each), node.output(0), product(&kernel)])
}

/// Inputs are the sequence, the weights and the recurrent weights, of directions × gates · hidden ×
/// (inputs, hidden).
fn recurrent(node: &Costed, gates: u64, elementwise: u64) -> Option<u64> {
    let inputs = node.dim(0, 2);
    let hidden = size(node, "hidden_size").or_else(|| node.dim(2, 2));
    let runs = product(&[node.dim(0, 0), node.dim(0, 1), node.dim(1, 0)]);
    let matrices = product(&[Some(2), Some(gates), hidden, sum(&[inputs, hidden])]);
    let biases = when(node.has(3), product(&[Some(2), Some(gates), hidden]));
    product(&[runs, sum(&[matrices, biases, product(&[Some(elementwise), hidden])])])
}

/// Scores, their softmax, and the sum of the values, without projections. `pairs` are all pairs of a
/// query and a key.
fn attention_over(
    pairs: Option<u64>,
    key_size: Option<u64>,
    value_size: Option<u64>,
    has_mask: bool,
) -> Option<u64> {
    let products = product(&[Some(2), sum(&[key_size, value_size])]);
    product(&[pairs, sum(&[products, Some(6 + u64::from(has_mask))])])
}

/// How many keys an optional input holds from before.
fn past(node: &Costed, input: usize, axis: usize) -> Option<u64> {
    if node.has(input) { node.dim(input, axis) } else { Some(0) }
}

/// `Attention` of ONNX and what is like it; `past` is how many keys come from before.
fn attention(node: &Costed, past: Option<u64>) -> Option<u64> {
    let sizes = |input: usize, heads: &str| match *node.dims(input)? {
        [batch, heads, length, size] => Some([batch, heads, length, size]),
        [batch, length, packed] => {
            let heads = size(node, heads);
            Some([
                batch,
                heads,
                length,
                packed.zip(heads).and_then(|(packed, heads)| packed.checked_div(heads)),
            ])
        }
        _ => None,
    };
    let [batch, heads, length, key_size] = sizes(0, "q_num_heads")?;
    let [_, _, keys, _] = sizes(1, "kv_num_heads")?;
    let [_, _, _, value_size] = sizes(2, "kv_num_heads")?;
    let pairs = product(&[batch, heads, length, sum(&[past, keys])]);
    attention_over(pairs, key_size, value_size, node.has(3) && node.node.domain.is_empty())
}

/// `Attention` of ONNX Runtime: the projections of queries, keys and values come first.
fn packed_attention(node: &Costed, past: Option<u64>, has_mask: bool) -> Option<u64> {
    let [batch, length, inputs] = *node.dims(0)? else { return None };
    let packed = node.dim(1, 1);
    let projected = product(&[batch, length, packed]);
    let projections = sum(&[product(&[Some(2), projected, inputs]), when(node.has(2), projected)]);
    let heads = size(node, "num_heads");
    let part = |whole: Option<u64>| whole?.checked_div(heads?);
    let value_hidden = last_dim(node);
    // Queries and keys have the same size, whatever is left of the packed three.
    let key_hidden =
        packed.zip(value_hidden).and_then(|(packed, value)| Some(packed.checked_sub(value)? / 2));
    let pairs = product(&[batch, heads, length, sum(&[past, length])]);
    sum(&[projections, attention_over(pairs, part(key_hidden), part(value_hidden), has_mask)])
}

/// `MultiHeadAttention` of ONNX Runtime.
fn multi_head_attention(node: &Costed) -> Option<u64> {
    let [batch, length, hidden] = *node.dims(0)? else { return None };
    let heads = size(node, "num_heads");
    let part = |whole: Option<u64>| whole?.checked_div(heads?);
    let keys = match *node.dims(1)? {
        [_, keys, _] | [_, keys, _, _, _] | [_, _, keys, _] => keys,
        _ => None,
    };
    let pairs = product(&[batch, heads, length, sum(&[past(node, 6, 2), keys])]);
    let bias = when(node.has(3), sum(&[node.input(0), node.input(1), when(node.has(2), node.input(2))]));
    sum(&[attention_over(pairs, part(hidden), part(last_dim(node)), node.has(4) || node.has(5)), bias])
}

/// `LinearAttention`: for each token, the state of each head, a matrix, takes in a product of key and
/// value (2 for each element), may decay (1) and first be read for a correction (2); then each query
/// reads it (2).
fn linear_attention(node: &Costed) -> Option<u64> {
    let [batch, length, _] = *node.dims(0)? else { return None };
    let (query_heads, heads) = (size(node, "q_num_heads"), size(node, "kv_num_heads"));
    let part = |input: usize| node.dim(input, 2)?.checked_div(heads?);
    let update = match node.node.attributes.string("update_rule").unwrap_or("gated_delta") {
        "linear" => 2,
        "gated" => 3,
        "delta" => 4,
        _ => 5,
    };
    let each = sum(&[product(&[Some(update), heads]), product(&[Some(2), query_heads])]);
    product(&[batch, length, part(1), part(2), each])
}

/// Only dimensions that change their size are interpolated.
fn resize(node: &Costed) -> Option<u64> {
    let mode = node.node.attributes.string("mode").unwrap_or("nearest");
    let output = &node.shapes.get(node.node.output(0)?)?.dims;
    let changed = node.dims(0)?.iter().zip(output).filter(|(before, after)| before != after).count();
    interpolated(node, changed, mode)
}

pub(super) fn interpolated(node: &Costed, dimensions: usize, mode: &str) -> Option<u64> {
    let points: u64 = match mode {
        "nearest" => return Some(0),
        "cubic" | "bicubic" => 4,
        _ => 2,
    };
    let points = points.checked_pow(u32::try_from(dimensions).ok()?);
    product(&[Some(2), points, node.output(0)])
}

/// 5 · n · log2(n), rounded up, as fast transforms are counted by convention.
fn transform(length: u64) -> Option<u64> {
    let steps = 5.0 * length as f64 * (length as f64).log2().max(0.0);
    (steps < u64::MAX as f64).then_some(steps.ceil() as u64)
}

/// One transform along an axis, as long as the signal before or after it, for each place of the other
/// axes; the last of them holds real and imaginary parts.
fn transforms(node: &Costed) -> Option<u64> {
    let before = node.dims(0)?;
    let after = &node.shapes.get(node.node.output(0)?)?.dims;
    let chosen = match node.version {
        ..20 => node.node.attributes.int("axis").unwrap_or(1),
        // An axis that is an input isn't looked up.
        _ if node.has(2) => return None,
        _ => -2,
    };
    let chosen = if chosen < 0 { chosen.checked_add(before.len() as i64)? } else { chosen };
    let chosen = usize::try_from(chosen).ok()?;
    let length = before.get(chosen).copied()??.max(after.get(chosen).copied()??);
    let (_, others) = before.split_last()?;
    let others: Vec<_> = (0..others.len()).filter(|axis| *axis != chosen).map(|axis| others[axis]).collect();
    product(&[product(&others), transform(length)])
}

/// A transform for each frame of each signal.
fn frames(node: &Costed) -> Option<u64> {
    let [batch, frames, bins, _] = *node.shapes.get(node.node.output(0)?)?.dims else { return None };
    let half = node.node.attributes.int("onesided").unwrap_or(1) != 0;
    let length = match half {
        _ if node.has(2) => node.dim(2, 0),
        true => bins?.checked_sub(1)?.checked_mul(2),
        false => bins,
    };
    product(&[batch, frames, transform(length?)])
}
