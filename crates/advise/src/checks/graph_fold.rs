//! Rewrites that compute beforehand, or in one operator, what several do.

use std::collections::HashMap;

use opscope_model::Node;

use super::Check;
use crate::claim::{Means, Places};
use crate::finding::Outcome;
use crate::graph::{View, is_reshape};
use crate::rule::Rule;
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("G01", batch_norm),
    ("G03", scale),
    ("G04", pow),
    ("G16", transposed_batch_norm),
    ("G21", query_key_value),
    ("G25", foldable),
    ("G26", matmul_add),
    ("G27", far_activation),
    ("G28", in_pieces),
];

/// Asks every node; the detail makes it a place that the rule speaks of.
pub(super) fn each_node(
    subject: &Subject<'_>,
    detail: impl Fn(View<'_>, &Node<'_>) -> Option<String>,
) -> Outcome {
    places(subject, Means::Step, |view, node| Some((detail(view, node)?, Vec::new())))
        .map_or_else(missing, Places::outcome)
}

/// The same where the matter is how a node is formed, whatever it was fused with.
pub(super) fn each_form(
    subject: &Subject<'_>,
    detail: impl Fn(View<'_>, &Node<'_>) -> Option<String>,
) -> Outcome {
    places(subject, Means::Form, |view, node| Some((detail(view, node)?, Vec::new())))
        .map_or_else(missing, Places::outcome)
}

/// The same where nobody knows how much of the nodes' time it could save.
pub(super) fn form_without_savings(
    subject: &Subject<'_>,
    detail: impl Fn(View<'_>, &Node<'_>) -> Option<String>,
) -> Outcome {
    places(subject, Means::Form, |view, node| Some((detail(view, node)?, Vec::new())))
        .map_or_else(missing, Places::without_savings)
}

/// The same where several nodes are one operator in pieces: the others are named with the detail, and
/// their times count as well.
pub(super) fn each_group<'m>(
    subject: &Subject<'m>,
    detail: impl Fn(View<'m>, &Node<'_>) -> Option<(String, Vec<Node<'m>>)>,
) -> Outcome {
    places(subject, Means::Pieces, detail).map_or_else(missing, Places::outcome)
}

fn missing() -> Outcome {
    Outcome::Missing("the model (--model)".to_owned())
}

/// The places that a question finds in the model; `None` without one.
pub(super) fn places<'s, 'm>(
    subject: &'s Subject<'m>,
    means: Means,
    detail: impl Fn(View<'m>, &Node<'_>) -> Option<(String, Vec<Node<'m>>)>,
) -> Option<Places<'s, 'm>> {
    let view = View::new(subject.model?);
    let mut places = Places::new(subject, means);
    for node in view.nodes() {
        if let Some((detail, others)) = detail(view, &node) {
            places.add(&node, &others, detail);
        }
    }
    Some(places)
}

fn has_weights(node: &Node<'_>) -> bool {
    ["Conv", "ConvTranspose", "Gemm"].iter().any(|name| node.is(name))
}

fn batch_norm(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let before =
            view.producer(node, 0).filter(|before| node.is("BatchNormalization") && has_weights(before))?;
        let alone = view.only_reader(&before)?.id == node.id;
        let constant = node.inputs.iter().skip(1).flatten().all(|input| view.is_constant(*input));
        let inference = node.attributes.int("training_mode").unwrap_or(0) == 0;
        let weights = view.is_constant(before.input(1)?);
        (alone && constant && inference && weights).then(|| format!("folds into {}", before.name))
    })
}

fn scale(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        if !["Mul", "Add", "Sub", "Div"].iter().any(|name| node.is(name)) {
            return None;
        }
        let (constant, other) = view.constant_side(node)?;
        let before =
            view.producer_of(other).filter(|before| before.is("Conv") || before.is("ConvTranspose"))?;
        let alone = view.only_reader(&before)?.id == node.id;
        let dims = view.dims(constant)?;
        // A number, or one for each channel: [C, 1, 1] or [1, C, 1, 1].
        let rank = dims.len();
        let big = dims.iter().enumerate().filter(|(_, size)| **size != 1).map(|(axis, _)| rank - axis);
        let spatial = view.dims(before.input(1)?)?.len().checked_sub(2)?;
        let per_channel = big.clone().count() == 0 || big.eq([spatial + 1]);
        let divides_constant = node.is("Div") && node.input(0) == Some(constant);
        (alone && per_channel && !divides_constant).then(|| format!("folds into {}", before.name))
    })
}

fn pow(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let exponent = view.scalar(node.input(1).filter(|_| node.is("Pow"))?)?;
        let becomes = match exponent {
            2.0 => "Mul(x, x)",
            3.0 => "two Mul",
            1.0 => "nothing",
            0.5 => "Sqrt",
            -1.0 => "Reciprocal",
            -0.5 => "Reciprocal of Sqrt",
            _ => return None,
        };
        Some(format!("exponent {exponent}: {becomes}"))
    })
}

fn transposed_batch_norm(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let before = view
            .producer(node, 0)
            .filter(|before| node.is("BatchNormalization") && before.is("Transpose"))?;
        let after = view.only_reader(node).filter(|after| after.is("Transpose"))?;
        Some(format!("between {} and {}", before.name, after.name))
    })
}

fn query_key_value(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        if !node.is("MatMul") {
            return None;
        }
        let mut at = view.only_reader(node)?;
        if at.is("Add") {
            at = view.only_reader(&at)?;
        }
        let reshape = Some(at).filter(is_reshape)?;
        let transpose = view.only_reader(&reshape).filter(|node| node.is("Transpose"))?;
        let readers = view.readers(&transpose);
        let cuts = readers.iter().filter(|reader| reader.is("Gather") || reader.is("Split")).count();
        (cuts == readers.len() && (cuts >= 2 || readers.iter().any(|reader| reader.is("Split"))))
            .then(|| format!("cut apart behind {}", transpose.name))
    })
}

/// What tells whether two nodes compute the same: domain, type, inputs, and attributes as text.
type Computation<'m> = (&'m str, &'m str, &'m [Option<opscope_model::ValueId>], String);

/// Nodes of constants only, and nodes that repeat another.
fn foldable(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(model) = subject.model else { return missing() };
    let view = View::new(model);
    let mut places = Places::new(subject, Means::Step);
    let mut seen: HashMap<Computation<'_>, &str> = HashMap::new();
    for node in view.nodes() {
        let random = node.op_type.contains("Random")
            || matches!(node.op_type, "Bernoulli" | "Multinomial" | "Dropout");
        if node.is("Constant") || random || !node.captured.is_empty() || node.inputs.is_empty() {
            continue;
        }
        if node.inputs.iter().flatten().all(|input| view.is_constant(*input)) {
            places.add(&node, &[], "all inputs are constants".to_owned());
            continue;
        }
        let key = (node.domain, node.op_type, node.inputs, node.attributes.to_json());
        match seen.get(&key) {
            Some(first) => places.add(&node, &[], format!("repeats {first}")),
            None => {
                seen.insert(key, node.name);
            }
        }
    }
    places.outcome()
}

fn matmul_add(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let (constant, other) = view.constant_side(node).filter(|_| node.is("Add"))?;
        let product = view.producer_of(other).filter(|product| product.is("MatMul"))?;
        let alone = view.only_reader(&product)?.id == node.id;
        let vector = view.dims(constant)?.len() <= 1;
        let flat = subject
            .shapes
            .and_then(|shapes| shapes.get(product.input(0)?))
            .is_none_or(|it| it.dims.len() == 2);
        let weights = view.dims(product.input(1)?)?.len() == 2;
        (alone && vector && flat && weights).then(|| format!("with {}", product.name))
    })
}

fn far_activation(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        if !["Relu", "LeakyRelu", "Clip", "Sigmoid", "Tanh"].iter().any(|name| node.is(name)) {
            return None;
        }
        let between = view.producer(node, 0).filter(|it| is_reshape(it) || it.is("Transpose"))?;
        let conv = view.producer(&between, 0).filter(has_weights)?;
        let alone = view.only_reader(&between)?.id == node.id && view.only_reader(&conv)?.id == between.id;
        alone.then(|| format!("{} stands between it and {}", between.name, conv.name))
    })
}

/// An operator that is spelled out: its name, and the nodes of it besides the one it was found by.
type Pieces<'m> = (&'static str, Vec<Node<'m>>);

/// LayerNormalization, Gelu, HardSwish and Attention that are spelled out.
fn in_pieces(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_group(subject, |view, node| {
        let (what, others) = layer_norm(view, node)
            .or_else(|| gelu(view, node))
            .or_else(|| hard_swish(view, node))
            .or_else(|| attention(view, node))?;
        Some((format!("{what} in {} pieces", others.len() + 1), others))
    })
}

/// `(x - mean) / sqrt(mean((x - mean)^2) + e)`, by its division.
fn layer_norm<'m>(view: View<'m>, node: &Node<'_>) -> Option<Pieces<'m>> {
    let deviation = view.producer(node, 0).filter(|it| node.is("Div") && it.is("Sub"))?;
    let mean = view.producer(&deviation, 1).filter(|mean| mean.is("ReduceMean"))?;
    let root = view.producer(node, 1).filter(|root| root.is("Sqrt"))?;
    let sum = view.producer(&root, 0).filter(|sum| sum.is("Add"))?;
    let variance = (0..2).find_map(|side| view.producer(&sum, side).filter(|it| it.is("ReduceMean")))?;
    let square = view.producer(&variance, 0).filter(|square| square.is("Pow") || square.is("Mul"))?;
    let squares_deviation = view.producer(&square, 0)?.is("Sub");
    let fits = mean.input(0) == deviation.input(0) && squares_deviation;
    fits.then(|| ("LayerNormalization", vec![mean, deviation, square, variance, sum, root]))
}

/// `x * (1 + erf(x / sqrt 2)) / 2`, by its Erf.
fn gelu<'m>(view: View<'m>, node: &Node<'_>) -> Option<Pieces<'m>> {
    let scaled = view.producer(node, 0).filter(|it| node.is("Erf") && (it.is("Div") || it.is("Mul")))?;
    let added = view.only_reader(node).filter(|it| it.is("Add"))?;
    let product = view.only_reader(&added).filter(|it| it.is("Mul"))?;
    let (_, scaled_value) = view.constant_side(&scaled)?;
    let halved = view.only_reader(&product);
    let reads_input = |node: &Node<'_>| node.reads().any(|value| value == scaled_value);
    let before = || product.inputs.iter().flatten().filter_map(|value| view.producer_of(*value));
    let half = before().find(|it| it.is("Mul") && reads_input(it));
    let uses_input = reads_input(&product)
        || halved.as_ref().is_some_and(reads_input)
        || before().any(|it| reads_input(&it));
    // The half is taken of x before, or of the product behind.
    let last = half.or_else(|| halved.filter(|it| it.is("Mul") || it.is("Div")));
    uses_input.then(|| ("Gelu", [scaled, added, product].into_iter().chain(last).collect()))
}

/// `softmax(q k') v`, by its Softmax, with a scale and a mask or without.
fn attention<'m>(view: View<'m>, node: &Node<'_>) -> Option<Pieces<'m>> {
    let mixed = view.only_reader(node).filter(|it| node.is("Softmax") && it.is("MatMul"))?;
    let mut scores = view.producer(node, 0)?;
    let mut others = vec![mixed];
    while ["Add", "Div", "Mul"].iter().any(|op_type| scores.is(op_type)) && others.len() < 3 {
        let before = (0..2).find_map(|side| view.producer(&scores, side))?;
        others.push(scores);
        scores = before;
    }
    let is_product = scores.is("MatMul");
    others.push(scores);
    is_product.then_some(("Attention", others))
}

/// `x * HardSigmoid(x)` with slope 1/6 and offset 1/2, by its multiplication.
fn hard_swish<'m>(view: View<'m>, node: &Node<'_>) -> Option<Pieces<'m>> {
    if !node.is("Mul") {
        return None;
    }
    (0..2).find_map(|side| {
        let gate = view.producer(node, side).filter(|gate| gate.is("HardSigmoid"))?;
        let slope = gate.attributes.float("alpha").unwrap_or(0.2);
        let offset = gate.attributes.float("beta").unwrap_or(0.5);
        let fits = (slope - 1.0 / 6.0).abs() < 1e-6 && (offset - 0.5).abs() < 1e-6;
        (fits && gate.input(0) == node.input(1 - side)).then(|| ("HardSwish", vec![gate]))
    })
}
