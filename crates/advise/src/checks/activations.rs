//! Mish: in the model, or as the operators that a profile shows of it.

use std::collections::BTreeSet;

use opscope_analyze::operator_kind;
use opscope_trace::{Nanoseconds, StreamId, Trace, units};

use super::rewritten;
use crate::claim::Claims;
use crate::condition::MatchCondition;
use crate::kernels::{Kernel, Kind};
use crate::outcome::{Cause, Causes, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[("G05", mish)];

fn mish(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let advice = subject.target.lacks("Mish").then(|| instead_of_mish(subject));
    // The model says for sure what the order of operators only suggests.
    if subject.model.is_none() || !(subject.kernels.is_empty() || subject.is_of_this_model()) {
        let found = in_profile(subject);
        if !found.claims.is_empty() {
            let note = Some(cost(subject, &found));
            return Causes::of(Cause { claims: found.claims, note, advice, ..Cause::default() });
        }
    }
    match rewritten::places(subject, rule, &MatchCondition::default()) {
        Some(places) => places.with(Cause { advice, ..Cause::default() }),
        None if subject.kernels.is_empty() => {
            Outcome::Missing("operators in a profile, or the model (--model)".to_owned())
        }
        None => Outcome::Silent,
    }
}

/// The advice where the target has no operator for Mish.
fn instead_of_mish(subject: &Subject<'_>) -> String {
    format!(
        "{} has no operator for Mish, so it runs in pieces. LeakyRelu is one operator there, but another \
         function: the results change, and the network has to be trained again with it, or the loss of \
         accuracy measured and borne. opscope tune MODEL.onnx --only G05b --allow-lossy measures the time \
         that it saves and how far the results move.",
        subject.target.name()
    )
}

/// All Mish that a profile shows.
struct Seen {
    claims: Claims,
    /// Their time in an average iteration, in nanoseconds.
    time: f64,
    /// Whether the shapes say so as well, and not only the order of the operators.
    by_shape: bool,
}

/// The part that an operator may have in a Mish.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Whole,
    Softplus,
    Tanh,
    Product,
    /// A conversion of layout, which may stand between.
    Conversion,
    None,
}

impl Part {
    fn of(kind: &Kind<'_>) -> Self {
        // In any engine's spelling.
        match &*operator_kind(kind.op_type) {
            "mish" => Self::Whole,
            "softplus" | "softplusv2" => Self::Softplus,
            "tanh" => Self::Tanh,
            _ if multiplies(kind) => Self::Product,
            "transdata" => Self::Conversion,
            _ => Self::None,
        }
    }
}

/// Softplus, Tanh and Mul that follow one another on tensors of one shape, and Mish as an operator.
/// Where the profile has no shapes, they must follow a convolution.
fn in_profile(subject: &Subject<'_>) -> Seen {
    let mut seen = Seen { claims: Claims::default(), time: 0.0, by_shape: true };
    let Some(trace) = subject.trace else { return seen };
    let parts = subject.kernels.by_kind(Part::of);
    if !parts.any(|part| [Part::Whole, Part::Softplus].contains(part)) {
        return seen;
    }
    let part = |kernel: &Kernel<'_>| *parts.of(kernel);
    let kernels: Vec<&Kernel<'_>> =
        subject.kernels.iter().filter(|kernel| part(kernel) != Part::Conversion).collect();
    let in_iteration = |kernel: &Kernel<'_>| kernel.time / subject.iterations as f64;
    for (at, kernel) in kernels.iter().enumerate() {
        if part(kernel) == Part::Whole {
            seen.claims.claim(subject, kernel, "one operator already: exact as it is", 1.0);
            seen.time += in_iteration(kernel);
        }
        let Some(&[softplus, tanh, mul]) = kernels.get(at..at + 3).and_then(|three| three.first_chunk())
        else {
            continue;
        };
        let in_order = [softplus, tanh, mul].map(part) == [Part::Softplus, Part::Tanh, Part::Product]
            && softplus.stream == mul.stream
            && tanh.stream == mul.stream;
        if !in_order {
            continue;
        }
        let convolution = convolution_before(&kernels[..at], mul.stream);
        let by_shape = match have_one_shape(trace, subject, [softplus, tanh, mul]) {
            Some(false) => continue,
            None if convolution.is_none() => continue,
            known => known == Some(true),
        };
        let three = [softplus, tanh, mul];
        match convolution {
            Some(convolution) => {
                seen.claims.claim_together(subject, &three, format_args!("behind {}", convolution.name));
            }
            None => seen.claims.claim_together(subject, &three, ""),
        }
        three.iter().for_each(|kernel| seen.time += in_iteration(kernel));
        seen.by_shape &= by_shape;
    }
    seen
}

/// Whether an operator is a product; boards have one type for all elementwise operators.
fn multiplies(kind: &Kind<'_>) -> bool {
    let mut words = kind.name.split(|letter: char| !letter.is_ascii_alphabetic());
    ["mul", "multiply"].contains(&&*operator_kind(kind.op_type))
        || kind.op_type == "Eltwise"
            && words.any(|word| ["mul", "multiply", "prod", "product"].contains(&&*word.to_ascii_lowercase()))
}

/// The convolution right before an activation; a normalisation or bias may stand between.
fn convolution_before<'k, 'a>(before: &[&'k Kernel<'a>], stream: Option<StreamId>) -> Option<&'k Kernel<'a>> {
    let belongs = |kernel: &&&Kernel<'_>| {
        let op_type = kernel.op_type;
        kernel.stream == stream
            && (op_type.starts_with("BN") || op_type.starts_with("Bias") || op_type.starts_with("BatchNorm"))
    };
    let last = before.len() - before.iter().rev().take_while(belongs).count();
    let kernel = before[..last].last()?;
    (kernel.stream == stream && operator_kind(kernel.op_type) == "conv").then_some(*kernel)
}

/// Whether what each of the operators gives, and what the last one multiplies, has the shape of what the first takes;
/// `None` where the profile has no shapes of them.
fn have_one_shape(trace: &Trace, subject: &Subject<'_>, kernels: [&Kernel<'_>; 3]) -> Option<bool> {
    let mut shapes = [&[][..]; 3];
    for (known, kernel) in shapes.iter_mut().zip(kernels) {
        let row = subject.operator_row(kernel)?;
        let inputs = row.inputs().filter_map(|input| trace.shape(input));
        let output = row.outputs().next().and_then(|output| trace.shape(output));
        *known = output.or_else(|| {
            inputs
                .max_by_key(|shape| shape.iter().fold(1, |product: i64, size| product.saturating_mul(*size)))
        })?;
    }
    let product = subject.operator_row(kernels[2])?;
    // A product with a number or a vector is another function, though its result has the shape.
    let mut factors = product.inputs().filter_map(|input| trace.shape(input));
    Some(shapes.iter().all(|shape| *shape == shapes[0]) && factors.all(|shape| shape == shapes[0]))
}

/// How often there is a Mish, what it costs, and how sure that is.
fn cost(subject: &Subject<'_>, found: &Seen) -> String {
    let places: BTreeSet<&str> = found.claims.named().map(|(name, _)| name).collect();
    let time = found.time;
    let share = if subject.total.0 > 0 { time / subject.total.0 as f64 } else { 0.0 };
    let what = match found.by_shape {
        true => "by the order and the shapes of its operators",
        false => "by the order of its operators behind convolutions, for the profile has no shapes of them",
    };
    format!(
        "Mish in {}, {what}: {} of {} ({})",
        match places.len() {
            1 => "1 place".to_owned(),
            places => format!("{places} places"),
        },
        units::duration(Nanoseconds(time as i64)),
        units::duration(subject.total),
        units::percent(share)
    )
}
