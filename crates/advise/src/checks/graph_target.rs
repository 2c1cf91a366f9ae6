//! Rewrites and proposals for what a target is good at.

use opscope_model::Node;

use super::Check;
use super::activations::mish_parts;
use super::graph_fold::{each_form, each_group, each_node, form_without_savings};
use crate::claim::{Means, Places};
use crate::finding::Outcome;
use crate::graph::{View, odd_channels};
use crate::rule::Rule;
use crate::subject::{ACTIVATIONS, Subject, Target};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("G06", activations),
    ("G07", paddable),
    ("G08", mirrored),
    ("G10", interpolating),
    ("G17", one_dimensional),
    ("G18", large_kernel),
    ("G19", long_axis),
    ("G20", large_pool),
    ("G24", topk),
    ("H11", tensorrt),
];

fn activations(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_group(subject, |view, node| {
        if let Some((tanh, softplus)) = mish_parts(view, node) {
            return Some(("Mish in three operators".to_owned(), vec![tanh, softplus]));
        }
        if node.is("Mul") {
            // A product with the sigmoid of one of its factors.
            let gate = (0..2).find_map(|side| {
                let gate = view.producer(node, side).filter(|gate| gate.is("Sigmoid"))?;
                (gate.input(0) == node.input(1 - side)).then_some(gate)
            })?;
            return (subject.target != Target::Svp)
                .then(|| (format!("Swish with {}", gate.name), vec![gate]));
        }
        // Softplus within Mish is told with it.
        let within_mish = node.is("Softplus") && view.only_reader(node).is_some_and(|it| it.is("Tanh"));
        let counts =
            ACTIVATIONS.contains(&node.op_type) && subject.target.lacks(node.op_type) && !within_mish;
        counts.then(|| (format!("{} has no operator for it", subject.target.name()), Vec::new()))
    })
}

fn paddable(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(model) = subject.model else { return Outcome::Missing("the model (--model)".to_owned()) };
    let multiple = rule.limit("multiple").max(1.0) as i64;
    let view = View::new(model);
    let mut places = Places::new(subject, Means::Form);
    for (node, into, out) in
        odd_channels(model, multiple).filter(|(node, ..)| reaches_convolution(view, node))
    {
        places.add(&node, &[], format!("{into} to {out} channels"));
    }
    // What is saved isn't the whole convolution.
    places.without_savings()
}

/// Whether every operator up to the next convolution keeps to its channel.
fn reaches_convolution(view: View<'_>, node: &Node<'_>) -> bool {
    const KEEP: [&str; 8] =
        ["Relu", "LeakyRelu", "Sigmoid", "Clip", "Tanh", "MaxPool", "AveragePool", "BatchNormalization"];
    let group = |node: &Node<'_>| node.attributes.int("group").unwrap_or(1);
    let mut at = view.only_reader(node);
    for _ in 0..16 {
        match at {
            Some(next) if next.is("Conv") => return group(&next) == 1 && group(node) == 1,
            Some(next) if KEEP.iter().any(|name| next.is(name)) => at = view.only_reader(&next),
            _ => return false,
        }
    }
    false
}

fn mirrored(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let reflects = node.is("Pad") && node.attributes.string("mode") == Some("reflect");
        let after = view.only_reader(node).filter(|after| reflects && after.is("Mul"))?;
        Some(format!("followed by {}", after.name))
    })
}

fn interpolating(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_form(subject, |_, node| {
        let mode = node.attributes.string("mode").filter(|_| node.is("Resize") || node.is("Upsample"))?;
        (mode != "nearest").then(|| format!("mode {mode}"))
    })
}

fn one_dimensional(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_form(subject, |view, node| {
        let dims = view.dims(node.input(1).filter(|_| node.is("Conv") || node.is("ConvTranspose"))?)?;
        (dims.len() == 3).then(|| format!("kernel of {}", dims[2]))
    })
}

fn kernel_of(view: View<'_>, node: &Node<'_>) -> Option<Vec<i64>> {
    if let Some(shape) = node.attributes.ints("kernel_shape") {
        return Some(shape.to_vec());
    }
    Some(view.dims(node.input(1)?)?.into_iter().skip(2).collect())
}

fn large_kernel(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    each_form(subject, |view, node| {
        let kernel = kernel_of(view, node).filter(|_| node.is("Conv"))?;
        let plain = |name: &str| node.attributes.ints(name).is_none_or(|all| all.iter().all(|one| *one == 1));
        let large =
            kernel.iter().any(|size| (size.saturating_add(15) / 16 * 16) as f64 > rule.limit("kernel"));
        (large && plain("strides") && plain("dilations")).then(|| format!("kernel {kernel:?}"))
    })
}

fn long_axis(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(shapes) = subject.shapes else {
        return Outcome::Missing("the model with known shapes (--model)".to_owned());
    };
    each_form(subject, |_, node| {
        let shape = shapes.get(node.input(0).filter(|_| node.is("Conv"))?)?;
        let length = shape.dims.last().copied().flatten()?;
        (length as f64 >= rule.limit("length")).then(|| format!("a last axis of {length}"))
    })
}

fn large_pool(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    each_form(subject, |_, node| {
        let kernel = node.attributes.ints("kernel_shape").filter(|_| node.is("AveragePool"))?;
        let window = kernel.iter().try_fold(1i64, |product, size| product.checked_mul(*size))?;
        let tiles = node.attributes.ints("strides") == Some(kernel)
            && node.attributes.ints("pads").is_none_or(|pads| pads.iter().all(|pad| *pad == 0));
        (window as f64 >= rule.limit("window") && tiles).then(|| format!("a window of {window} points"))
    })
}

fn topk(subject: &Subject<'_>, _: &Rule) -> Outcome {
    form_without_savings(subject, |view, node| {
        let indices = node.output(1).filter(|_| node.is("TopK"))?;
        let value = view.model.graph().value(indices);
        (!value.consumers.is_empty()).then(|| format!("{} operators read its indices", value.consumers.len()))
    })
}

fn tensorrt(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let multiple = rule.limit("multiple").max(1.0) as i64;
    form_without_savings(subject, |view, node| {
        if node.is("Gather") {
            let axis = node.attributes.int("axis").unwrap_or(0);
            return (axis != 0).then(|| format!("gathers on axis {axis}"));
        }
        let dims = view.dims(node.input(1).filter(|_| node.is("Conv"))?)?;
        let out = *dims.first()?;
        (out % multiple != 0).then(|| format!("{out} channels"))
    })
}
