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
    let first = op_type.split('+').next().unwrap_or(op_type).trim();
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

#[cfg(test)]
mod tests {
    use super::*;

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
