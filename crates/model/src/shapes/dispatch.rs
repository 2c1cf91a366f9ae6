//! Which function infers which operator.

use opscope_trace::DataType;

use super::fact::Fact;
use super::operator::{Gap, Inferred, Op};
use super::{
    attention, classic, control, converted, create, elementwise, fused, layout, matrix, normalize, quantize,
    recurrent, reduce, resize, select, window,
};

/// The facts about the outputs of a node.
pub(super) fn infer(op: &Op) -> Inferred {
    match op.node.domain {
        "" => infer_default(op),
        "com.microsoft" => fused::infer(op),
        "com.microsoft.nchwc" => fused::infer_blocked(op),
        // Internal to ONNX Runtime: ONNX's own operators with the channels last.
        "com.ms.internal.nhwc" => infer_default(op),
        "ai.onnx.ml" => classic::infer(op),
        "ai.onnx.preview.training" => classic::infer_training(op),
        "ai.onnx.preview" if op.node.op_type == "FlexAttention" => attention::flex_attention(op),
        "tensorflow" => converted::infer_tensorflow(op),
        "tflite" => converted::infer_tflite(op),
        _ => Err(Gap::Unknown),
    }
}

fn infer_default(op: &Op) -> Inferred {
    match op.node.op_type {
        "Abs"
        | "Acos"
        | "Acosh"
        | "Asin"
        | "Asinh"
        | "Atan"
        | "Atanh"
        | "BitwiseNot"
        | "Ceil"
        | "Celu"
        | "Clip"
        | "Cos"
        | "Cosh"
        | "CumProd"
        | "CumSum"
        | "Elu"
        | "Erf"
        | "Exp"
        | "Floor"
        | "Gelu"
        | "GroupNormalization"
        | "HardSigmoid"
        | "HardSwish"
        | "Hardmax"
        | "InstanceNormalization"
        | "LRN"
        | "LeakyRelu"
        | "Log"
        | "LogSoftmax"
        | "LpNormalization"
        | "MeanVarianceNormalization"
        | "Mish"
        | "Neg"
        | "Not"
        | "Reciprocal"
        | "Relu"
        | "ReverseSequence"
        | "RotaryEmbedding"
        | "Round"
        | "Scatter"
        | "ScatterElements"
        | "ScatterND"
        | "Selu"
        | "Shrink"
        | "Sigmoid"
        | "Sign"
        | "SimplifiedLayerNormalization"
        | "Sin"
        | "Sinh"
        | "Softmax"
        | "Softplus"
        | "Softsign"
        | "Sqrt"
        | "SwiGLU"
        | "Swish"
        | "Tan"
        | "Tanh"
        | "TensorScatter"
        | "ThresholdedRelu"
        | "Trilu" => elementwise::unary(op),
        "IsInf" | "IsNaN" | "RegexFullMatch" => elementwise::predicate(op),
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "And" | "Or" | "Xor" | "BitShift" | "BitwiseAnd"
        | "BitwiseOr" | "BitwiseXor" | "StringConcat" => elementwise::binary(op),
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" => elementwise::comparison(op),
        "Pow" => elementwise::power(op),
        "PRelu" => elementwise::slope(op),
        "Max" | "Min" | "Mean" | "Sum" => elementwise::variadic(op),
        "Where" => elementwise::select(op),
        "Cast" | "CastLike" | "BitCast" => elementwise::cast(op),

        "MatMul" => matrix::matmul(op),
        "MatMulInteger" => matrix::matmul_integer(op),
        "QLinearMatMul" => matrix::qlinear_matmul(op),
        "Gemm" => matrix::gemm(op),
        "Einsum" => matrix::einsum(op),
        "Det" => op.one(0, op.dims(0)?.get(..op.rank(0)?.saturating_sub(2)).unwrap_or(&[])),

        "Conv" | "DeformConv" => window::conv(op),
        "ConvInteger" => window::conv_integer(op),
        "QLinearConv" => window::qlinear_conv(op),
        "ConvTranspose" => window::conv_transpose(op),
        "MaxPool" | "AveragePool" | "LpPool" => window::pool(op),
        "GlobalMaxPool" | "GlobalAveragePool" | "GlobalLpPool" => window::global_pool(op),
        "MaxUnpool" => window::max_unpool(op),
        "Col2Im" => window::col2im(op),

        "BatchNormalization" => normalize::batch_norm(op),
        "LayerNormalization" | "RMSNormalization" => normalize::layer_norm(op),
        "Dropout" => normalize::dropout(op),

        "Identity" => layout::identity(op),
        "Reshape" => layout::reshape(op),
        "Flatten" => layout::flatten(op),
        "Transpose" => layout::transpose(op),
        "Squeeze" => layout::squeeze(op),
        "Unsqueeze" => layout::unsqueeze(op),
        "Expand" => layout::expand(op),
        "Tile" => layout::tile(op),
        "DepthToSpace" => layout::depth_to_space(op),
        "SpaceToDepth" => layout::space_to_depth(op),

        "Gather" => select::gather(op),
        "GatherElements" => select::gather_elements(op),
        "GatherND" => select::gather_nd(op),
        "Slice" => select::slice(op),
        "Split" => select::split(op),
        "Concat" => select::concat(op),
        "Pad" => select::pad(op),
        "Compress" => select::compress(op),
        "NonZero" => select::non_zero(op),
        "NonMaxSuppression" => select::non_max_suppression(op),
        "Unique" => select::unique(op),
        "OneHot" => select::one_hot(op),
        "CenterCropPad" => select::center_crop_pad(op),

        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean"
        | "ReduceMin" | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => reduce::reduce(op),
        "ArgMax" | "ArgMin" => reduce::arg_extreme(op),
        "TopK" => reduce::top_k(op),
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => reduce::loss(op),

        "Resize" => resize::resize(op),
        "Upsample" => resize::upsample(op),
        "GridSample" => resize::grid_sample(op),
        "AffineGrid" => resize::affine_grid(op),
        "RoiAlign" => resize::roi_align(op),
        "MaxRoiPool" => resize::max_roi_pool(op),

        "Constant" => create::constant(op),
        "ConstantOfShape" => create::constant_of_shape(op),
        "Shape" => create::shape(op),
        "Size" => create::size(op),
        "Range" => create::range(op),
        "RandomNormal" | "RandomUniform" => create::random(op),
        "RandomNormalLike" | "RandomUniformLike" | "Bernoulli" | "EyeLike" => create::like(op),
        "Multinomial" => create::multinomial(op),
        "HannWindow" | "HammingWindow" | "BlackmanWindow" => create::window(op),
        "MelWeightMatrix" => create::mel_weights(op),
        "DFT" => create::dft(op),
        "STFT" => create::stft(op),
        "ImageDecoder" => create::image_decoder(op),
        "TfIdfVectorizer" => create::tf_idf(op),

        "QuantizeLinear" => quantize::quantize(op),
        "DequantizeLinear" => quantize::dequantize(op),
        "DynamicQuantizeLinear" => quantize::dynamic_quantize(op),
        "RNN" | "GRU" | "LSTM" => recurrent::recurrent(op),
        "Attention" => attention::attention(op),
        "LinearAttention" => attention::linear_attention(op),
        "CausalConvWithState" => attention::causal_conv(op),

        "If" => control::branch(op),
        "Loop" => control::repeat(op),
        "Scan" => control::scan(op),
        "SequenceLength" => Ok(vec![Fact::scalar(DataType::Int64)]),
        "OptionalHasElement" => Ok(vec![Fact::scalar(DataType::Bool)]),
        _ => Err(Gap::Unknown),
    }
}
