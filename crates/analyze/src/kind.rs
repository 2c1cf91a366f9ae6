//! Operators of one kind have different types in different engines.

/// The kind of operator behind the spellings of different engines.
pub(crate) fn kind(op_type: &str) -> String {
    let first = op_type.split('+').next().unwrap_or(op_type).trim();
    let lower = first.to_ascii_lowercase();
    let kinds = [
        ("batchnorm", ["batchnorm", "bninfer", "bninference"].as_slice()),
        ("conv", ["conv", "depthwiseconv", "fusedconv"].as_slice()),
        ("matmul", ["matmul", "gemm", "fullyconnection", "batchmatmul", "linear", "einsum"].as_slice()),
        ("relu", ["relu"].as_slice()),
        ("transdata", ["transdata", "reorder", "reformat"].as_slice()),
    ];
    let found = kinds.iter().find(|(_, starts)| starts.iter().any(|start| lower.starts_with(start)));
    found.map_or(lower, |(kind, _)| (*kind).to_owned())
}
