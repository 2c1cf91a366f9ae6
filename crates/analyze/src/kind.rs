//! Operators of one kind have different types in different engines.

use std::borrow::Cow;

/// The kinds, each with the beginnings of its spellings, in any letter case.
const KINDS: [(&str, &[&str]); 5] = [
    ("batchnorm", &["batchnorm", "bninfer", "bninference"]),
    ("conv", &["conv", "depthwiseconv", "fusedconv"]),
    ("matmul", &["matmul", "gemm", "fullyconnect", "batchmatmul", "linear", "einsum"]),
    ("relu", &["relu"]),
    ("transdata", &["transdata", "reorder", "reformat"]),
];

/// The kind of operator behind the spellings of different engines.
pub fn kind(op_type: &str) -> Cow<'_, str> {
    let first = leading_type(op_type);
    // PyTorch's own operators are in a namespace.
    let first = first.strip_prefix("aten::").unwrap_or(first);
    let begins = |start: &&str| {
        first.as_bytes().get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()))
    };
    match KINDS.iter().find(|(_, starts)| starts.iter().any(begins)) {
        Some((kind, _)) => Cow::Borrowed(kind),
        None if first.bytes().any(|byte| byte.is_ascii_uppercase()) => Cow::Owned(first.to_ascii_lowercase()),
        None => Cow::Borrowed(first),
    }
}

/// The types of operators that do the same in different engines, in lower case and without `_`: the names by
/// which users may call one another's.
const SPELLINGS: [&[&str]; 5] = [
    &[
        "batchnorm",
        "batchnorm2d",
        "batchnormalization",
        "batchnorminference",
        "bninfer",
        "bninferenced",
        "bninference",
        "cudnnbatchnorm",
        "fusedbatchnorm",
        "fusedbatchnormv3",
        "nativebatchnorm",
    ],
    &[
        "caskconvolution",
        "conv",
        "conv2d",
        "conv2dcompress",
        "convbias",
        "convbiasforward",
        "convolution",
        "convolutiondepthwise",
        "convolutionforward",
        "cudnnconvolution",
        "depthwiseconv",
        "depthwiseconv2d",
        "depthwiseconv2dnative",
        "depthwiseconvolution",
        "fusedconv",
        "fusedconv2d",
        "groupconvolution",
        "mkldnnconvolution",
        "nhwcfusedconv",
    ],
    &[
        "addmm",
        "batchmatmul",
        "batchmatmulv2",
        "bmm",
        "fullyconnected",
        "fullyconnection",
        "fusedmatmul",
        "gemm",
        "innerproduct",
        "linear",
        "matmul",
        "matmulv2",
        "matmulv3",
        "matrixmul",
        "matrixmultiply",
        "mm",
    ],
    &["relu"],
    &["reformat", "reorder", "reorderinput", "reorderoutput", "transdata"],
];

/// Whether two types are spellings of one in different engines, or of one engine's but for the letter case.
/// Other than of [`kind`], each is known as a whole: `Conv3D` and `ConvTranspose` are no `Conv`.
pub fn is_spelling_of(op_type: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let text = leading_type(text);
        text.strip_prefix("aten::").unwrap_or(text).replace('_', "").to_ascii_lowercase()
    };
    let (one, other) = (plain(op_type), plain(other));
    let knows_both = |spellings: &&[&str]| spellings.contains(&&*one) && spellings.contains(&&*other);
    one == other && !one.is_empty() || SPELLINGS.iter().any(knows_both)
}

/// Kinds of operators that work element by element.
const ELEMENTWISE: &[&str] = &[
    "abs",
    "add",
    "addv2",
    "and",
    "ceil",
    "celu",
    "clip",
    "cos",
    "div",
    "elu",
    "equal",
    "erf",
    "exp",
    "floor",
    "gelu",
    "greater",
    "greaterorequal",
    "hardsigmoid",
    "hardswish",
    "hswish",
    "leakyrelu",
    "less",
    "lessorequal",
    "log",
    "max",
    "mean",
    "min",
    "mish",
    "mod",
    "mul",
    "multiply",
    "neg",
    "not",
    "or",
    "pow",
    "prelu",
    "reciprocal",
    "relu",
    "round",
    "selu",
    "sigmoid",
    "sign",
    "sin",
    "softplus",
    "softsign",
    "sqrt",
    "sub",
    "subtract",
    "sum",
    "swish",
    "tanh",
    "thresholdedrelu",
    "where",
    "xor",
];

/// Types that engines give operators of several kinds, in lower case and without `_`, each with those kinds.
const GENERAL: &[(&str, &[&str])] = &[
    ("activation", ELEMENTWISE),
    ("averagepool", &["globalaveragepool"]),
    ("binaryop", ELEMENTWISE),
    ("convert", &["cast"]),
    ("elementwise", ELEMENTWISE),
    ("elemwise", ELEMENTWISE),
    ("eltwise", ELEMENTWISE),
    ("interp", &["resize", "upsample"]),
    ("interpolate", &["resize", "upsample"]),
    ("logistic", &["sigmoid"]),
    ("math", ELEMENTWISE),
    ("maxpool", &["globalmaxpool"]),
    ("mvn", &["instancenormalization", "layernormalization"]),
    ("pointwise", ELEMENTWISE),
    ("pooling", &["averagepool", "globalaveragepool", "globalmaxpool", "lppool", "maxpool"]),
    ("power", &["add", "div", "mul", "pow", "sqrt", "sub"]),
    ("realdiv", &["div"]),
    ("reduce", &["globalaveragepool", "globalmaxpool"]),
    ("rnncell", &["gru", "lstm", "rnn"]),
    ("rnnseq", &["gru", "lstm", "rnn"]),
    ("scale", &["add", "batchnorm", "mul"]),
    ("shuffle", &["flatten", "reshape", "squeeze", "transpose", "unsqueeze"]),
    ("permute", &["transpose"]),
    ("subgraph", ELEMENTWISE),
    ("unary", ELEMENTWISE),
    ("unaryop", ELEMENTWISE),
];

/// Whether an engine may have run a node by itself as an operator of a type: both are of one kind, the operator's type
/// is one that the engine gives several kinds, or one type is the other with words beside it (`StridedSliceD`), unless
/// that makes it one of another kind (`Mul` is no `MatMul`).
pub fn may_run_as(node_type: &str, op_type: &str) -> bool {
    let [node, operator] = [node_type, op_type].map(|text| kind(text).replace('_', ""));
    let is_of_several = |(general, kinds): &(&str, &[&str])| *general == operator && kinds.contains(&&*node);
    if node == operator || GENERAL.iter().any(is_of_several) {
        return true;
    }
    let (longer, shorter) = if node.len() > operator.len() { (&node, &operator) } else { (&operator, &node) };
    !shorter.is_empty() && longer.contains(&**shorter) && !KINDS.iter().any(|(kind, _)| kind == longer)
}

/// The first of the types that were fused, into which the others were taken.
pub fn leading_type(op_type: &str) -> &str {
    op_type.split('+').next().unwrap_or(op_type).trim()
}

/// A type of operators as users call it, which may be as tables print it: `Gelu (Div + Erf + Mul)` is what the
/// engine ran, and what of.
pub struct WantedType<'t> {
    text: &'t str,
    /// The text up to its brackets, of fused types without the blanks.
    printed: Cow<'t, str>,
}

impl<'t> WantedType<'t> {
    /// The word that users wrote.
    pub fn new(text: &'t str) -> Self {
        let printed = text.split(" (").next().unwrap_or(text);
        let is_fused = printed.contains(" + ");
        Self { text, printed: if is_fused { printed.replace(" + ", "+").into() } else { printed.into() } }
    }

    /// Whether it is an operator's type, or the type that the engine ran it as.
    pub fn is(&self, op_type: &str, engine_type: Option<&str>) -> bool {
        let names =
            |own: &str| own.eq_ignore_ascii_case(self.text) || own.eq_ignore_ascii_case(&self.printed);
        names(op_type) || engine_type.is_some_and(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_known_as_a_whole() {
        for (one, other) in [
            ("Conv", "Conv2D"),
            ("CONV_2D", "convolution"),
            ("_FusedConv2D + Relu", "Conv"),
            ("aten::conv2d", "Conv"),
            ("BNInferenceD", "BatchNormalization"),
            ("softmax", "Softmax"),
        ] {
            assert!(is_spelling_of(one, other), "{one} {other}");
        }
        for other in ["Conv3D", "conv10", "Convert", "ConvTranspose", "relu1", "Relu6", ""] {
            assert!(!is_spelling_of("Conv", other) && !is_spelling_of("Relu", other), "{other}");
        }
    }

    #[test]
    fn a_node_runs_as_its_own_kind_or_as_a_type_of_several_kinds() {
        for (node, operator) in [
            ("Conv", "Convolution"),
            ("Gemm", "FullyConnected"),
            ("Mul", "Subgraph"),
            ("MaxPool", "Pooling"),
            ("ReduceMean", "Reduce"),
            ("GlobalAveragePool", "Reduce"),
            ("Slice", "STRIDED_SLICE"),
            ("ReduceMean", "ReduceMeanD"),
            ("LeakyRelu", "Relu"),
        ] {
            assert!(may_run_as(node, operator), "{node} {operator}");
        }
        for (node, operator) in [
            ("Add", "FullyConnected"),
            ("Mul", "MatMul"),
            ("Identity", "Softmax"),
            ("Conv", "Pooling"),
            ("Relu", "Convolution"),
            ("Add", ""),
        ] {
            assert!(!may_run_as(node, operator), "{node} {operator}");
        }
    }

    #[test]
    fn types_are_known_as_tables_print_them() {
        for text in ["Gelu", "gelu", "Gelu (Div + Erf)", "Div+Erf", "div + erf"] {
            assert!(WantedType::new(text).is("Div+Erf", Some("Gelu")), "{text}");
        }
        assert!(WantedType::new("Add (run as Sum)").is("Add", Some("Sum")));
        assert!(!WantedType::new("Erf").is("Div+Erf", Some("Gelu")));
    }

    #[test]
    fn spellings_of_one_kind_are_one_and_others_lose_their_letter_case_only() {
        assert_eq!(kind("FusedConv2D + Relu"), "conv");
        assert_eq!(kind("BNInferenceD"), kind("BatchNormalization"));
        assert_eq!((kind("FullyConnected"), kind("FullyConnection")), (kind("Gemm"), kind("MatMul")));
        assert_eq!(kind("SoftmaxV2"), "softmaxv2");
        assert_eq!((kind("aten::conv2d"), kind("aten::softmax")), (kind("Conv"), kind("Softmax")));
        assert_eq!(kind("ünï"), "ünï");
    }
}
