//! Mish: in the model, or as the operators that a profile shows of it.

use std::borrow::Cow;
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
use crate::target::Target;

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
    /// Whether the name of an operator tells what it is, because its type doesn't.
    by_name: bool,
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
    /// The part of a kind of operators, and whether a name tells it.
    fn of(subject: &Subject<'_>, kind: &Kind<'_>) -> (Self, bool) {
        let by_type = Self::of_kind(&operator_kind(kind.op_type));
        if by_type != Self::None || !leaves_open(kind.name, kind.op_type) {
            return (by_type, false);
        }
        let Some(trace) = subject.trace else { return (Self::None, false) };
        let row = trace.operators.get(kind.operator);
        let stated = row.attributes.and_then(|attributes| stated_kind(trace.strings.get(attributes)));
        if let Some(stated) = stated {
            return (Self::of_kind(&stated), false);
        }
        if subject.target == Target::Svp && is_named_product(kind) {
            return (Self::Product, true);
        }
        // The name of one that several nodes were made into tells one of them only.
        let nodes = if subject.executions.is_itself(kind.executed) {
            trace.names.get(row.origins)
        } else {
            return (Self::None, false);
        };
        let names = [kind.name].into_iter().chain(nodes.iter().map(|node| trace.strings.get(*node)));
        let mut parts = names.filter_map(kind_in_name).map(|kind| Self::of_kind(&kind));
        let by_name = parts.find(|part| *part != Self::None).unwrap_or(Self::None);
        (by_name, by_name != Self::None)
    }

    /// The part of a kind in the spelling of any engine.
    fn of_kind(kind: &str) -> Self {
        match kind {
            "mish" => Self::Whole,
            "softplus" | "softplusv2" => Self::Softplus,
            "tanh" => Self::Tanh,
            "mul" => Self::Product,
            "transdata" => Self::Conversion,
            _ => Self::None,
        }
    }
}

/// Types that engines give to several kinds of operators.
const SHARED_TYPES: [&str; 5] = ["activation", "elementwise", "eltwise", "pointwise", "pointwisev2"];

/// Whether the type of an operator leaves open what it computes: it is shared by several kinds, or the profile has no
/// types and names stand in for them.
fn leaves_open(name: &str, op_type: &str) -> bool {
    op_type.is_empty() || op_type == name || SHARED_TYPES.contains(&&*op_type.to_ascii_lowercase())
}

/// The kind of operator that attributes state besides a shared type, as TensorRT's do.
fn stated_kind(attributes: &str) -> Option<Cow<'static, str>> {
    let attributes: serde_json::Value = serde_json::from_str(attributes).ok()?;
    let stated = ["activation", "operation"].iter().find_map(|key| attributes[*key].as_str())?;
    Some(Cow::Owned(kind_of_word(stated).into_owned()))
}

/// Whether any word of a name tells that an operator is a product. Boards have one type for all elementwise operators,
/// and their networks were named by hand as often as not.
fn is_named_product(kind: &Kind<'_>) -> bool {
    let mut words = kind.name.split(|letter: char| !letter.is_ascii_alphabetic());
    kind.op_type == "Eltwise" && words.any(|word| kind_of_word(word) == "mul")
}

/// The kind of operator that a name tells: within its scope it begins with a type, behind which a number or a separator
/// stands, or nothing. Scopes end with a slash or a dot, and a dot may stand before a number as well.
fn kind_in_name(name: &str) -> Option<Cow<'_, str>> {
    let within = name.rsplit('/').next().unwrap_or(name);
    let is_word = |part: &&str| part.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let own = within.rsplit('.').find(is_word).unwrap_or(within);
    let end = own.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(own.len());
    let (word, behind) = own.split_at(end);
    let is_parted =
        behind.chars().next().is_none_or(|letter| letter.is_ascii_digit() || !letter.is_alphanumeric());
    (is_parted && !word.is_empty()).then(|| kind_of_word(word))
}

/// The kind of a word for it; a product of elements has words that are types of other operators elsewhere.
fn kind_of_word(word: &str) -> Cow<'_, str> {
    match &*word.to_ascii_lowercase() {
        "prod" | "product" => Cow::Borrowed("mul"),
        _ => operator_kind(word),
    }
}

/// Softplus, Tanh and Mul that follow one another on tensors of one shape, and Mish as an operator.
/// Where the profile has no shapes, they must follow a convolution.
fn in_profile(subject: &Subject<'_>) -> Seen {
    let mut seen = Seen { claims: Claims::default(), time: 0.0, by_shape: true, by_name: false };
    let Some(trace) = subject.trace else { return seen };
    let parts = subject.kernels.by_kind(|kind| Part::of(subject, kind));
    if !parts.any(|(part, _)| [Part::Whole, Part::Softplus].contains(part)) {
        return seen;
    }
    let part = |kernel: &Kernel<'_>| parts.of(kernel).0;
    let is_by_name = |kernel: &Kernel<'_>| parts.of(kernel).1;
    let kernels: Vec<&Kernel<'_>> =
        subject.kernels.iter().filter(|kernel| part(kernel) != Part::Conversion).collect();
    let in_iteration = |kernel: &Kernel<'_>| kernel.time / subject.iterations as f64;
    for (at, kernel) in kernels.iter().enumerate() {
        if part(kernel) == Part::Whole {
            seen.claims.claim(subject, kernel, "one operator already: exact as it is", 1.0);
            seen.time += in_iteration(kernel);
            seen.by_name |= is_by_name(kernel);
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
        seen.by_name |= three.iter().any(|kernel| is_by_name(kernel));
        seen.by_shape &= by_shape;
    }
    seen
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
    (kernel.stream == stream && is_convolution(kernel)).then_some(*kernel)
}

fn is_convolution(kernel: &Kernel<'_>) -> bool {
    let is_named = || kind_in_name(kernel.name).is_some_and(|kind| kind == "conv");
    operator_kind(kernel.op_type) == "conv" || leaves_open(kernel.name, kernel.op_type) && is_named()
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
    let what = match (found.by_shape, found.by_name) {
        (true, false) => "by the order and the shapes of its operators",
        (true, true) => {
            "by the order and the shapes of its operators, and by names where types leave them open"
        }
        (false, false) => {
            "by the order of its operators behind convolutions, for the profile has no shapes of them"
        }
        (false, true) => {
            "by the order of its operators behind convolutions, and by names where types leave them open, for the \
             profile has no shapes of them"
        }
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
