//! Conditions about operators that follow one another on a stream.

use super::fusible;
use crate::claim::Claim;
use crate::graph;
use crate::outcome::{Causes, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::{Kernel, Subject};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("A02", there_and_back),
    ("A03", around_a_reshape),
    ("A28", fusible::repeated),
    ("A29", missed_pass),
    ("G02", missed_pass),
];

/// Sequences that converters have rules for; the first operator takes the others in.
const PATTERNS: [&[&str]; 12] = [
    &["Conv", "BatchNorm", "Relu"],
    &["Conv", "BatchNorm", "LeakyRelu"],
    &["Conv", "BatchNorm"],
    &["Conv", "Scale"],
    &["Conv", "BiasAdd", "Relu"],
    &["Conv", "BiasAdd"],
    &["Conv", "Add", "Relu"],
    &["Conv", "Relu"],
    &["Conv", "LeakyRelu"],
    &["MatMul", "BiasAdd"],
    &["MatMul", "Add"],
    &["FullyConnection", "Relu"],
];

/// The class of an operator by its type in any of the vendor's spellings.
fn class(op_type: &str) -> &str {
    match op_type {
        "Conv2D" | "Conv" | "Conv3D" | "DepthwiseConv2D" | "Convolution" => "Conv",
        "BNInferenceD" | "BNInference" | "BatchNormalization" | "BatchNorm" | "BNInfer" | "BNInferD" => {
            "BatchNorm"
        }
        "Relu" | "ReLU" | "Relu6" => "Relu",
        "LeakyRelu" | "LeakyReLU" => "LeakyRelu",
        "MatMul" | "MatMulV2" | "BatchMatMul" | "Gemm" => "MatMul",
        "Scale" | "ScaleD" => "Scale",
        other => other,
    }
}

fn is_trans_data(kernel: &Kernel<'_>) -> bool {
    kernel.op_type.starts_with("TransData")
}

/// `TransData x TransData x TransData x TransData`: each second operator alone wants another layout.
fn there_and_back(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    let wanted = rule.limit("in_a_row").max(2.0) as usize;
    let mut claims = Vec::new();
    let mut first = 0;
    while first < subject.kernels.len() {
        let rest = &subject.kernels[first..];
        let alternates = rest.iter().enumerate().take_while(|(index, kernel)| {
            kernel.is_beside(&rest[0]) && is_trans_data(kernel) == index.is_multiple_of(2)
        });
        let length = alternates.count();
        let conversions = length.div_ceil(2);
        if conversions >= wanted {
            for (place, kernel) in rest[..length].iter().enumerate() {
                claims.push(match place {
                    _ if !is_trans_data(kernel) => {
                        subject.mention(kernel, "keeps the layout from staying".to_owned())
                    }
                    // The ones at both ends may still be needed.
                    place if place == 0 || place / 2 + 1 == conversions => {
                        subject.mention(kernel, String::new())
                    }
                    _ => subject.claim(kernel, String::new(), 1.0),
                });
            }
        }
        first += length.max(1);
    }
    Causes::one(claims)
}

/// Two conversions side by side whose neighbours have a reshape between them in the model.
fn around_a_reshape(subject: &Subject<'_>, _: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    let Some(model) = subject.model else { return Outcome::Missing("the model (--model)".to_owned()) };
    let mut claims = Vec::new();
    for window in subject.kernels.windows(4) {
        let [before, first, second, after] = window else { continue };
        if !is_trans_data(first) || !is_trans_data(second) || !before.is_beside(after) {
            continue;
        }
        let Some(reshape) = graph::reshape_between(model, before.name, after.name) else { continue };
        for kernel in [first, second] {
            claims.push(subject.claim(kernel, format!("around {reshape}"), 1.0));
        }
    }
    Causes::one(claims)
}

/// Sequences that ran one by one although there are rules to fuse them. The time of all but the
/// first operator could be saved.
fn missed_pass(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    let mut claims: Vec<Claim> = Vec::new();
    let mut saves = 0.0;
    let mut at = 0;
    while at < subject.kernels.len() {
        let rest = &subject.kernels[at..];
        let fits = |pattern: &&[&str]| {
            rest.len() >= pattern.len()
                && rest
                    .iter()
                    .zip(pattern.iter())
                    .all(|(kernel, wanted)| class(kernel.op_type) == *wanted && kernel.is_beside(&rest[0]))
        };
        let Some(pattern) = PATTERNS.iter().copied().find(fits) else {
            at += 1;
            continue;
        };
        let types: Vec<&str> = rest[..pattern.len()].iter().map(|kernel| kernel.op_type).collect();
        for kernel in &rest[1..pattern.len()] {
            saves += kernel.time;
            claims.push(subject.claim(kernel, format!("in {}", types.join(" + ")), 1.0));
        }
        at += pattern.len();
    }
    let total = subject.total.0 as f64 * subject.iterations as f64;
    if total <= 0.0 || saves / total <= rule.limits.get("share_above").copied().unwrap_or(0.0) {
        return Outcome::Silent;
    }
    Causes::one(claims)
}
