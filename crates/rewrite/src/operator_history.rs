//! How ONNX's operators changed from version to version, as far as a node of an older version may mean
//! something else, or nothing, in a newer one. From ONNX's public operator changelog.

/// The newest version that the tables know.
pub const NEWEST: i64 = 28;

/// The oldest version that models can be raised from: before it, most operators had another form.
pub const OLDEST: i64 = 7;

/// A version's change to an operator, other than to allow more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Form or meaning: no older node can stay as it is.
    Meaning,
    /// These attributes are gone or mean something else; nodes that don't set them can stay.
    Attributes(&'static [&'static str]),
    /// Outputs behind so many have changed.
    OutputsBehind(usize),
    /// So many inputs are needed now, where fewer would do.
    InputsNeeded(usize),
}

use Change::{Attributes, InputsNeeded, Meaning, OutputsBehind};

/// The changes by operator and version, from [`OLDEST`] on.
pub const CHANGES: &[(&str, i64, Change)] = &[
    ("AveragePool", 19, Attributes(&["ceil_mode"])),
    ("BatchNormalization", 9, Attributes(&["spatial"])),
    ("BatchNormalization", 14, OutputsBehind(1)),
    ("Clip", 11, Attributes(&["max", "min"])),
    ("ConvTranspose", 11, Attributes(&["auto_pad"])),
    ("DFT", 20, Meaning),
    ("Dropout", 12, Attributes(&["ratio"])),
    ("GridSample", 20, Meaning),
    ("GroupNormalization", 21, Meaning),
    ("Hardmax", 13, Meaning),
    ("LogSoftmax", 13, Meaning),
    ("Pad", 11, Meaning),
    ("ReduceL1", 18, Attributes(&["axes"])),
    ("ReduceL2", 18, Attributes(&["axes"])),
    ("ReduceLogSum", 18, Attributes(&["axes"])),
    ("ReduceLogSumExp", 18, Attributes(&["axes"])),
    ("ReduceMax", 18, Attributes(&["axes"])),
    ("ReduceMean", 18, Attributes(&["axes"])),
    ("ReduceMin", 18, Attributes(&["axes"])),
    ("ReduceProd", 18, Attributes(&["axes"])),
    ("ReduceSum", 13, Attributes(&["axes"])),
    ("ReduceSumSquare", 18, Attributes(&["axes"])),
    ("Resize", 11, Meaning),
    ("RoiAlign", 16, Meaning),
    ("Scan", 9, Meaning),
    ("Scatter", 11, Meaning),
    ("Slice", 10, Meaning),
    ("Softmax", 13, Meaning),
    ("Split", 13, Attributes(&["split"])),
    ("Split", 18, InputsNeeded(2)),
    ("Squeeze", 13, Attributes(&["axes"])),
    ("TopK", 10, Meaning),
    ("Unsqueeze", 13, Meaning),
    ("Upsample", 9, Meaning),
    ("Upsample", 10, Meaning),
];

/// All operators up to [`NEWEST`], sorted: about others nothing can be said.
#[rustfmt::skip]
pub const KNOWN: &[&str] = &[
    "Abs", "Acos", "Acosh", "Add", "AffineGrid", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan",
    "Atanh", "Attention", "AveragePool", "BatchNormalization", "Bernoulli", "BitCast", "BitShift",
    "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "BlackmanWindow", "Cast", "CastLike",
    "CausalConvWithState", "Ceil", "Celu", "CenterCropPad", "Clip", "Col2Im", "Compress", "Concat",
    "ConcatFromSequence", "Constant", "ConstantOfShape", "Conv", "ConvInteger", "ConvTranspose", "Cos",
    "Cosh", "CumProd", "CumSum", "DFT", "DeformConv", "DepthToSpace", "DequantizeLinear", "Det", "Div",
    "Dropout", "DynamicQuantizeLinear", "Einsum", "Elu", "Equal", "Erf", "Exp", "Expand", "EyeLike",
    "Flatten", "Floor", "GRU", "Gather", "GatherElements", "GatherND", "Gelu", "Gemm",
    "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "Greater", "GreaterOrEqual", "GridSample",
    "GroupNormalization", "HammingWindow", "HannWindow", "HardSigmoid", "HardSwish", "Hardmax",
    "Identity", "If", "ImageDecoder", "InstanceNormalization", "IsInf", "IsNaN", "LRN", "LSTM",
    "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "LinearAttention", "Log", "LogSoftmax",
    "Loop", "LpNormalization", "LpPool", "MatMul", "MatMulInteger", "Max", "MaxPool", "MaxRoiPool",
    "MaxUnpool", "Mean", "MeanVarianceNormalization", "MelWeightMatrix", "Min", "Mish", "Mod", "Mul",
    "Multinomial", "Neg", "NegativeLogLikelihoodLoss", "NonMaxSuppression", "NonZero", "Not", "OneHot",
    "Optional", "OptionalGetElement", "OptionalHasElement", "Or", "PRelu", "Pad", "Pow", "QLinearConv",
    "QLinearMatMul", "QuantizeLinear", "RMSNormalization", "RNN", "RandomNormal", "RandomNormalLike",
    "RandomUniform", "RandomUniformLike", "Range", "Reciprocal", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare", "RegexFullMatch", "Relu", "Reshape", "Resize", "ReverseSequence",
    "RoiAlign", "RotaryEmbedding", "Round", "STFT", "Scan", "Scatter", "ScatterElements", "ScatterND",
    "Selu", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
    "SequenceLength", "SequenceMap", "Shape", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Size",
    "Slice", "Softmax", "SoftmaxCrossEntropyLoss", "Softplus", "Softsign", "SpaceToDepth", "Split",
    "SplitToSequence", "Sqrt", "Squeeze", "StringConcat", "StringNormalizer", "StringSplit", "Sub",
    "Sum", "SwiGLU", "Swish", "Tan", "Tanh", "TensorScatter", "TfIdfVectorizer", "ThresholdedRelu",
    "Tile", "TopK", "Transpose", "Trilu", "Unique", "Unsqueeze", "Upsample", "Where", "Xor",
];
