//! Conditions about operators that follow one another on a stream.

use std::fmt;

use super::fusible;
use crate::claim::Claims;
use crate::graph;
use crate::kernels::Kernel;
use crate::outcome::{Causes, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

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

pub(super) fn is_trans_data(op_type: &str) -> bool {
    op_type.starts_with("TransData")
}

/// `TransData x TransData x TransData x TransData`: each second operator alone wants another layout.
fn there_and_back(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    let wanted = rule.limit("in_a_row").max(2.0) as usize;
    let converts = subject.kernels.by_kind(|kind| is_trans_data(kind.op_type));
    let mut claims = Claims::default();
    let mut first = 0;
    while first < subject.kernels.len() {
        let rest = &subject.kernels[first..];
        let alternates = rest.iter().enumerate().take_while(|(index, kernel)| {
            *converts.of(kernel) == index.is_multiple_of(2) && kernel.is_beside(&rest[0])
        });
        let length = alternates.count();
        let conversions = length.div_ceil(2);
        if conversions >= wanted {
            for (place, kernel) in rest[..length].iter().enumerate() {
                match place {
                    _ if !converts.of(kernel) => {
                        claims.mention(subject, kernel, "keeps the layout from staying");
                    }
                    // The ones at both ends may still be needed.
                    place if place == 0 || place / 2 + 1 == conversions => {
                        claims.mention(subject, kernel, "");
                    }
                    _ => claims.claim(subject, kernel, "", 1.0),
                }
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
    let converts = subject.kernels.by_kind(|kind| is_trans_data(kind.op_type));
    let mut claims = Claims::default();
    for window in subject.kernels.windows(4) {
        let [before, first, second, after] = window else { continue };
        if !converts.of(first) || !converts.of(second) || !before.is_beside(after) {
            continue;
        }
        let Some(reshape) = graph::reshape_between(model, before.name, after.name) else { continue };
        for kernel in [first, second] {
            claims.claim(subject, kernel, format_args!("around {reshape}"), 1.0);
        }
    }
    Causes::one(claims)
}

/// The longest of the [`PATTERNS`].
const LONGEST: usize = 3;

/// By place in a pattern, the patterns that have a class there: a bit for each.
fn places_in_patterns(class: &str) -> [u16; LONGEST] {
    let has = |place: usize, pattern: &[&str]| pattern.get(place) == Some(&class);
    std::array::from_fn(|place| {
        let bits =
            PATTERNS.iter().enumerate().map(|(number, pattern)| u16::from(has(place, pattern)) << number);
        bits.sum()
    })
}

/// The sequence that a kernel belongs to, in words.
struct InSequence<'k, 'a>(&'k [Kernel<'a>]);

impl fmt::Display for InSequence<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, kernel) in self.0.iter().enumerate() {
            write!(f, "{}{}", if place == 0 { "in " } else { " + " }, kernel.op_type)?;
        }
        Ok(())
    }
}

/// Sequences that ran one by one although there are rules to fuse them. The time of all but the
/// first operator could be saved.
fn missed_pass(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    // By kind, where its class stands in each pattern: a bit for each of the places.
    let places = subject.kernels.by_kind(|kind| places_in_patterns(class(kind.op_type)));
    let mut claims = Claims::default();
    let mut saves = 0.0;
    let mut at = 0;
    while at < subject.kernels.len() {
        let rest = &subject.kernels[at..];
        let fits = |(number, pattern): &(usize, &[&str])| {
            let first = rest.get(..pattern.len());
            first.is_some_and(|first| {
                let mut kernels = first.iter().enumerate();
                kernels.all(|(place, kernel)| {
                    places.of(kernel)[place] & (1 << number) != 0
                        && kernel.is_beside(&rest[0])
                        && subject.may_have_same_elements(kernel, &rest[0])
                })
            })
        };
        let Some((_, pattern)) = PATTERNS.into_iter().enumerate().find(fits) else {
            at += 1;
            continue;
        };
        let kernels = &rest[..pattern.len()];
        for kernel in &kernels[1..] {
            saves += kernel.time;
            claims.claim(subject, kernel, InSequence(kernels), 1.0);
        }
        at += pattern.len();
    }
    let total = subject.total.0 as f64 * subject.iterations as f64;
    if total <= 0.0 || saves / total <= rule.limits.get("share_above").copied().unwrap_or(0.0) {
        return Outcome::Silent;
    }
    Causes::one(claims)
}
