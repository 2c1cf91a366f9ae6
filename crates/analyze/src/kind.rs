//! Operators of one kind have different types in different engines.

use std::borrow::Cow;

/// A kind of operators, in the types that engines give it.
struct Kind {
    name: &'static str,
    /// Types that are known as a whole, in lower case and without `_`. Those of one list do the same in different
    /// engines, so that users may call one by another's name; those of several are alike without being the same, as
    /// convolutions of images and of volumes are.
    spellings: &'static [&'static [&'static str]],
    /// The beginnings of further types, spelled alike.
    beginnings: &'static [&'static str],
}

/// The one table of kinds; where several beginnings fit a type, the longest tells.
const KINDS: &[Kind] = &[
    Kind { name: "add", spellings: &[&["add", "addv2"]], beginnings: &[] },
    Kind {
        name: "averagepool",
        spellings: &[
            &["averagepool", "averagepool2d", "avgpool", "avgpool2d", "avgpoolv2"],
            &["averagepool1d", "avgpool1d"],
            &["averagepool3d", "avgpool3d"],
        ],
        beginnings: &[],
    },
    Kind {
        name: "batchnorm",
        spellings: &[&[
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
        ]],
        beginnings: &["batchnorm", "bninfer", "bninference"],
    },
    Kind { name: "cast", spellings: &[&["cast", "convert"]], beginnings: &[] },
    Kind { name: "ceil", spellings: &[&["ceil", "ceiling"]], beginnings: &[] },
    Kind { name: "clip", spellings: &[&["clamp", "clip", "clipbyvalue"]], beginnings: &[] },
    Kind {
        name: "concat",
        spellings: &[&["cat", "concat", "concatd", "concatenate", "concatenation", "concatv2"]],
        beginnings: &[],
    },
    Kind {
        name: "conv",
        spellings: &[
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
                "groupconvolutionforward",
                "mkldnnconvolution",
                "nhwcfusedconv",
                "slowconv2dforward",
                "thnnconv2d",
            ],
            &["conv1d", "convolution1d"],
            &["conv3d", "convolution3d", "slowconv3dforward"],
            &["convint8", "convinteger", "depthwiseconvint8", "qlinearconv", "quantizedconv2d"],
        ],
        beginnings: &[
            "conv1d",
            "conv2d",
            "conv3d",
            "convbias",
            "convolution",
            "cudnnconvolution",
            "depthwiseconv",
            "fusedconv",
            "mkldnnconvolution",
        ],
    },
    Kind {
        name: "convbackward",
        spellings: &[&["conv2dbackpropfilter"], &["convolutionbackward"]],
        beginnings: &["conv2dbackprop", "conv3dbackprop", "convolutionbackward"],
    },
    Kind {
        name: "convtranspose",
        spellings: &[&[
            "caskdeconvolution",
            "conv2dbackpropinput",
            "conv2dtranspose",
            "convolutionbackwarddata",
            "convtranspose",
            "convtranspose2d",
            "deconv",
            "deconvolution",
            "slowconvtranspose2d",
            "transposeconv",
        ]],
        beginnings: &[
            "caskdeconv",
            "conv2dbackpropinput",
            "conv2dtranspose",
            "conv3dbackpropinput",
            "conv3dtranspose",
            "convtranspose",
            "deconv",
        ],
    },
    Kind { name: "div", spellings: &[&["div", "divide", "realdiv"]], beginnings: &[] },
    Kind { name: "expand", spellings: &[&["broadcast", "broadcastto", "expand"]], beginnings: &[] },
    Kind { name: "gelu", spellings: &[&["gelu", "geluv2"], &["fastgelu", "fastgeluv2"]], beginnings: &[] },
    Kind {
        name: "globalaveragepool",
        spellings: &[
            &["globalaveragepool", "globalavgpool"],
            &["adaptiveaveragepool", "adaptiveavgpool", "adaptiveavgpool2d"],
            &["adaptiveavgpool1d"],
            &["adaptiveavgpool3d"],
        ],
        beginnings: &["adaptiveavgpool2d"],
    },
    Kind {
        name: "globalmaxpool",
        spellings: &[
            &["globalmaxpool"],
            &["adaptivemaxpool", "adaptivemaxpool2d"],
            &["adaptivemaxpool1d"],
            &["adaptivemaxpool3d"],
        ],
        beginnings: &["adaptivemaxpool2d"],
    },
    Kind { name: "hardswish", spellings: &[&["hardswish", "hswish"]], beginnings: &[] },
    Kind {
        name: "layernormalization",
        spellings: &[&["layernorm", "layernormalization", "nativelayernorm"]],
        beginnings: &[],
    },
    Kind {
        name: "matmul",
        spellings: &[
            &[
                "addmm",
                "baddbmm",
                "batchmatmul",
                "batchmatmulv2",
                "bmm",
                "fullyconnected",
                "fullyconnection",
                "fusedgemm",
                "fusedmatmul",
                "gemm",
                "innerproduct",
                "linear",
                "matmul",
                "matmulv2",
                "matmulv3",
                "matrixmul",
                "matrixmultiply",
                "mkldnnlinear",
                "mm",
            ],
            &["einsum"],
            &["dynamicquantizematmul", "matmulinteger", "matmulnbits", "qgemm", "qlinearmatmul"],
        ],
        beginnings: &[
            "batchmatmul",
            "einsum",
            "fullyconnect",
            "fusedgemm",
            "fusedmatmul",
            "gemm",
            "innerproduct",
            "linear",
            "matmul",
            "matrixmul",
        ],
    },
    Kind { name: "max", spellings: &[&["max", "maximum"]], beginnings: &[] },
    Kind {
        name: "maxpool",
        spellings: &[
            &["maxpool", "maxpool2d", "maxpool2dwithindices", "maxpoolv2", "maxpoolv3", "mkldnnmaxpool2d"],
            &["maxpool1d"],
            &["maxpool3d", "maxpool3dwithindices"],
        ],
        beginnings: &[],
    },
    Kind { name: "min", spellings: &[&["min", "minimum"]], beginnings: &[] },
    Kind { name: "mul", spellings: &[&["mul", "multiply"]], beginnings: &[] },
    Kind { name: "neg", spellings: &[&["neg", "negative"]], beginnings: &[] },
    Kind { name: "pad", spellings: &[&["constantpadnd", "pad", "padd", "padv2", "padv3"]], beginnings: &[] },
    Kind {
        name: "pool",
        spellings: &[&["caskpooling", "pool", "pooling", "poolingforward"]],
        beginnings: &["caskpooling"],
    },
    Kind { name: "relu", spellings: &[&["relu"], &["relu6"]], beginnings: &["relu"] },
    Kind {
        name: "reshape",
        spellings: &[&["reshape"], &["flatten"], &["unsafeview", "view"]],
        beginnings: &[],
    },
    Kind {
        name: "resize",
        spellings: &[
            &["interp", "interpolate", "resize", "upsample"],
            &["resizebilinear", "resizebilinearv2", "upsamplebilinear2d"],
            &["resizenearestneighbor", "resizenearestneighborv2", "upsamplenearest2d"],
        ],
        beginnings: &["resizebilinear", "resizenearestneighbor"],
    },
    Kind { name: "sigmoid", spellings: &[&["logistic", "sigmoid"]], beginnings: &[] },
    Kind { name: "softmax", spellings: &[&["softmax", "softmaxv2"]], beginnings: &[] },
    Kind { name: "sub", spellings: &[&["sub", "subtract"]], beginnings: &[] },
    Kind { name: "swish", spellings: &[&["silu", "swish"]], beginnings: &[] },
    Kind {
        name: "transdata",
        spellings: &[&["reformat", "reorder", "reorderinput", "reorderoutput", "transdata"]],
        beginnings: &["reformat", "reorder", "transdata"],
    },
    Kind { name: "transpose", spellings: &[&["permute", "transpose", "transposed"]], beginnings: &[] },
];

/// The kind of operator behind the spellings of different engines.
pub fn kind(op_type: &str) -> Cow<'_, str> {
    let plain = plain(op_type);
    let known = KINDS.iter().find(|kind| kind.spellings.iter().any(|alike| alike.contains(&&*plain)));
    let begun = || {
        let begin = |kind: &'static Kind| {
            let fitting = kind.beginnings.iter().filter(|begin| plain.starts_with(**begin));
            fitting.map(|begin| begin.len()).max().map(|length| (length, kind))
        };
        KINDS.iter().filter_map(begin).max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
    };
    match known.or_else(begun) {
        Some(kind) => Cow::Borrowed(kind.name),
        None => plain,
    }
}

/// Whether two types are spellings of one in different engines, or of one engine's but for the letter case.
/// Other than of [`kind`], each is known as a whole: `Conv3D` and `ConvTranspose` are no `Conv`.
pub fn is_spelling_of(op_type: &str, other: &str) -> bool {
    let (one, other) = (plain(op_type), plain(other));
    let knows_both = |alike: &&[&str]| alike.contains(&&*one) && alike.contains(&&*other);
    one == other && !one.is_empty() || KINDS.iter().any(|kind| kind.spellings.iter().any(knows_both))
}

/// A type in lower case and without `_`, the first one of those that were fused. PyTorch's own operators are in a
/// namespace.
fn plain(op_type: &str) -> Cow<'_, str> {
    let first = own_name(op_type);
    match first.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b'_') {
        true => Cow::Owned(first.replace('_', "").to_ascii_lowercase()),
        false => Cow::Borrowed(first),
    }
}

/// The first of the types that were fused, without the namespace or library that it is from.
fn own_name(op_type: &str) -> &str {
    let first = leading_type(op_type);
    let first = first.strip_prefix("aten::").unwrap_or(first);
    // oneDNN's operators within TensorFlow.
    let native = ["_MklNative", "_Mkl"].iter().find_map(|begin| first.strip_prefix(begin));
    native.filter(|rest| !rest.is_empty()).unwrap_or(first)
}

/// Kinds of operators that work element by element.
const ELEMENTWISE: &[&str] = &[
    "abs",
    "add",
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
    "sum",
    "swish",
    "tanh",
    "thresholdedrelu",
    "where",
    "xor",
];

/// The kind of pools that don't tell which elements they give.
const POOL: &str = "pool";

/// Kinds of types that engines give operators of several kinds, each with those.
const GENERAL: &[(&str, &[&str])] = &[
    ("activation", ELEMENTWISE),
    ("averagepool", &["globalaveragepool"]),
    ("binaryop", ELEMENTWISE),
    ("elementwise", ELEMENTWISE),
    ("elemwise", ELEMENTWISE),
    ("eltwise", ELEMENTWISE),
    ("math", ELEMENTWISE),
    ("maxpool", &["globalmaxpool"]),
    ("mean", &["globalaveragepool"]),
    ("mvn", &["instancenormalization", "layernormalization"]),
    ("pointwise", ELEMENTWISE),
    (POOL, &["averagepool", "globalaveragepool", "globalmaxpool", "lppool", "maxpool"]),
    ("power", &["add", "div", "mul", "pow", "sqrt", "sub"]),
    ("reduce", &["globalaveragepool", "globalmaxpool"]),
    ("reducemean", &["globalaveragepool"]),
    ("reducemeand", &["globalaveragepool"]),
    ("rnncell", &["gru", "lstm", "rnn"]),
    ("rnnseq", &["gru", "lstm", "rnn"]),
    ("scale", &["add", "batchnorm", "mul"]),
    ("shuffle", &["reshape", "squeeze", "transpose", "unsqueeze"]),
    ("subgraph", ELEMENTWISE),
    ("unary", ELEMENTWISE),
    ("unaryop", ELEMENTWISE),
];

/// Whether an engine may have run a node by itself as an operator of a type: both are of one kind, the operator's type
/// is one that the engine gives several kinds, or one type is the other with words beside it (`StridedSliceD`), unless
/// that makes it one of another kind (`Mul` is no `MatMul`). Types as they are spelled tell their words.
pub fn may_run_as(node_type: &str, op_type: &str) -> bool {
    let [node, operator] = [node_type, op_type].map(kind);
    if node == operator || has_kind(&operator, &node) {
        return true;
    }
    let is_longer = node.len() > operator.len();
    let (longer, spelled, shorter) =
        if is_longer { (&node, node_type, &operator) } else { (&operator, op_type, &node) };
    !KINDS.iter().any(|kind| kind.name == *longer) && has_words(spelled, shorter)
}

/// Whether some words of a type, one behind another, are those that are wanted, which are in lower case and without
/// `_`. A word begins at a capital letter, behind a `_` and where digits begin or end, so that `Floor` isn't `Or`.
fn has_words(op_type: &str, wanted: &str) -> bool {
    let letters: Vec<char> = own_name(op_type).chars().collect();
    let mut plain = String::with_capacity(letters.len());
    let mut begins = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        if *letter == '_' {
            continue;
        }
        let before = at.checked_sub(1).map(|before| letters[before]);
        let is_capital_of_word = |before: char| {
            letter.is_ascii_uppercase()
                && (!before.is_ascii_uppercase() || letters.get(at + 1).is_some_and(char::is_ascii_lowercase))
        };
        let is_begin = |before: char| {
            before == '_' || is_capital_of_word(before) || letter.is_ascii_digit() != before.is_ascii_digit()
        };
        if before.is_none_or(is_begin) {
            begins.push(plain.len());
        }
        plain.push(letter.to_ascii_lowercase());
    }
    begins.push(plain.len());
    let ends_word = |begin: usize| begins.contains(&(begin + wanted.len()));
    !wanted.is_empty() && begins.iter().any(|begin| plain[*begin..].starts_with(wanted) && ends_word(*begin))
}

/// Whether two kinds may be one, because the type of one of them doesn't tell which pool it is.
pub(crate) fn are_pools_alike(kind: &str, other: &str) -> bool {
    kind == POOL && has_kind(kind, other) || other == POOL && has_kind(other, kind)
}

/// Whether a kind stands for several, of which another is one.
fn has_kind(general: &str, kind: &str) -> bool {
    GENERAL.iter().any(|(known, kinds)| *known == general && kinds.contains(&kind))
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
            ("LeakyRelu", "LeakyReLU"),
            ("Relu", "LEAKY_RELU"),
            ("LSTM", "LSTMCell"),
            ("Max", "Maximum"),
            ("GlobalAveragePool", "aten::adaptive_avg_pool2d"),
            ("GlobalAveragePool", "aten::mean"),
            ("GlobalAveragePool", "ReduceMeanD"),
            ("Gelu", "FastGelu"),
            ("ConvTranspose", "Conv2DBackpropInputD"),
            ("Conv", "ConvInt8"),
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
            ("Or", "Floor"),
            ("Exp", "Expand"),
            ("Elu", "Gelu"),
            ("Elu", "GELU"),
            ("Sin", "Asin"),
            ("Squeeze", "Unsqueeze"),
            ("Sqrt", "Rsqrt"),
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
        assert_eq!((kind("SoftmaxV2"), kind("SomeV2")), ("softmax".into(), "somev2".into()));
        assert_eq!((kind("aten::conv2d"), kind("aten::softmax")), (kind("Conv"), kind("Softmax")));
        assert_eq!(kind("ünï"), "ünï");
    }

    #[test]
    fn every_spelling_is_of_one_kind_which_is_that_of_its_table() {
        let mut seen = std::collections::HashSet::new();
        for row in KINDS {
            for spelling in row.spellings.iter().copied().flatten() {
                assert!(seen.insert(spelling), "{spelling} twice");
                assert_eq!((kind(spelling), &*plain(spelling)), (row.name.into(), *spelling));
            }
            assert_eq!(kind(row.name), row.name, "a kind is of itself");
        }
        for (_, kinds) in GENERAL {
            kinds.iter().for_each(|known| assert_eq!(kind(known), *known));
        }
    }

    #[test]
    fn types_of_one_engine_have_the_kinds_of_anothers() {
        for (of, types) in [
            (
                "Conv",
                &[
                    "GroupConvolution",
                    "aten::cudnn_convolution",
                    "aten::mkldnn_convolution",
                    "CaskConvolution",
                ][..],
            ),
            ("Conv", &["DEPTHWISE_CONV_2D", "ConvolutionDepthWise", "aten::_slow_conv2d_forward", "Conv3D"]),
            ("MatMul", &["FusedGemm", "FusedMatMul", "aten::addmm", "aten::mm", "aten::bmm", "InnerProduct"]),
            ("MatMul", &["FullyConnected", "FULLY_CONNECTED", "MatMulV3", "MatMulNBits"]),
            ("MaxPool", &["aten::max_pool2d", "MAX_POOL_2D", "MaxPoolV3"]),
            ("Relu", &["aten::relu_", "Relu6"]),
        ] {
            types.iter().for_each(|op_type| assert_eq!(kind(op_type), kind(of), "{op_type}"));
        }
        for (one, other) in [
            ("Conv", "ConvTranspose"),
            ("Conv", "Convert"),
            ("Conv2D", "Conv2DTransposeD"),
            ("MaxPool", "AveragePool"),
            ("MaxPool", "Pooling"),
            ("Mul", "MatMul"),
        ] {
            assert_ne!(kind(one), kind(other));
        }
        assert!(are_pools_alike(&kind("Pooling"), &kind("MaxPool")));
        assert!(are_pools_alike(&kind("AVERAGE_POOL_2D"), &kind("Pooling")));
        assert!(!are_pools_alike(&kind("AveragePool"), &kind("MaxPool")), "both tell which");
    }
}
