//! Rewrites and proposals for what a target is good at.

use opscope_model::Node;

use super::Check;
use super::graph_fold::{each_group, each_node, mish_parts};
use crate::finding::{Found, Outcome};
use crate::graph::{View, odd_channels};
use crate::rule::Rule;
use crate::subject::{Subject, Target};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("G06", activations),
    ("G07", paddable),
    ("G08", mirrored),
    ("G09", uneven_resize),
    ("G10", interpolating),
    ("G17", one_dimensional),
    ("G18", large_kernel),
    ("G19", long_axis),
    ("G20", large_pool),
    ("G24", topk),
    ("H11", tensorrt),
];

/// Activations; those that a target has are not evidence.
const ACTIVATIONS: [&str; 12] = [
    "Mish",
    "HardSwish",
    "Gelu",
    "Softsign",
    "Softplus",
    "HardSigmoid",
    "Selu",
    "Celu",
    "Swish",
    "ThresholdedRelu",
    "Erf",
    "FastGelu",
];

fn activations(subject: &Subject<'_>, _: &Rule) -> Outcome {
    // The engine of the boards has these, by the guide of its converter.
    let on_board: &[&str] = &["Gelu", "Erf"];
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
        let is_known = subject.target == Target::Svp && on_board.contains(&node.op_type);
        // Softplus within Mish is told with it.
        let within_mish = node.is("Softplus") && view.only_reader(node).is_some_and(|it| it.is("Tanh"));
        let counts = ACTIVATIONS.contains(&node.op_type) && !is_known && !within_mish;
        counts.then(|| (format!("{} has no operator for it", subject.target.name()), Vec::new()))
    })
}

fn paddable(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(model) = subject.model else { return Outcome::Missing("the model (--model)".to_owned()) };
    let multiple = rule.limit("multiple").max(1.0) as i64;
    let view = View::new(model);
    let mut evidence = odd_channels(subject, model, multiple);
    evidence.retain(|item| {
        let Some(node) = model.graph().node_by_name(&item.name) else { return false };
        // Every operator up to the next convolution must keep to its channel.
        let mut at = view.only_reader(&node);
        let mut steps = 0;
        while let Some(next) = at.filter(|_| steps < 16) {
            if next.is("Conv") {
                let group = |node: &Node<'_>| node.attributes.int("group").unwrap_or(1);
                return group(&next) == 1 && group(&node) == 1;
            }
            let keeps = [
                "Relu",
                "LeakyRelu",
                "Sigmoid",
                "Clip",
                "Tanh",
                "MaxPool",
                "AveragePool",
                "BatchNormalization",
            ];
            if !keeps.iter().any(|name| next.is(name)) {
                return false;
            }
            at = view.only_reader(&next);
            steps += 1;
        }
        false
    });
    // What is saved isn't the whole convolution.
    Found::only(evidence)
}

fn mirrored(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let reflects = node.is("Pad") && node.attributes.string("mode") == Some("reflect");
        let after = view.only_reader(node).filter(|after| reflects && after.is("Mul"))?;
        Some(format!("followed by {}", after.name))
    })
}

fn uneven_resize(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(shapes) = subject.shapes else {
        return Outcome::Missing("the model with known shapes (--model)".to_owned());
    };
    each_node(subject, |_, node| {
        let aligned = node.attributes.string("coordinate_transformation_mode") == Some("align_corners");
        let linear = node.attributes.string("mode").is_some_and(|mode| mode != "nearest");
        if !node.is("Resize") || !aligned || !linear {
            return None;
        }
        let (from, to) =
            (shapes.get(node.input(0)?)?.known_dims()?, shapes.get(node.output(0)?)?.known_dims()?);
        let uneven = |(from, to): (&u64, &u64)| *from > 1 && to > from && (to - 1) % (from - 1) != 0;
        let (from, to) = from.iter().zip(&to).skip(2).find(|pair| uneven(*pair))?;
        // Either the output changes, or the input grows by one and the output with it.
        let factor = (to - 1).div_ceil(from - 1).max(1);
        let near = (*to as f64 / *from as f64).round() as u64;
        Some(format!(
            "{from} to {to}; take {from} to {}, or {} to {}",
            factor * (from - 1) + 1,
            from + 1,
            near.max(1) * from + 1
        ))
    })
}

fn interpolating(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |_, node| {
        let mode = node.attributes.string("mode").filter(|_| node.is("Resize") || node.is("Upsample"))?;
        (mode != "nearest").then(|| format!("mode {mode}"))
    })
}

fn one_dimensional(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
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
    each_node(subject, |view, node| {
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
    each_node(subject, |_, node| {
        let shape = shapes.get(node.input(0).filter(|_| node.is("Conv"))?)?;
        let length = shape.dims.last().copied().flatten()?;
        (length as f64 >= rule.limit("length")).then(|| format!("a last axis of {length}"))
    })
}

fn large_pool(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    each_node(subject, |_, node| {
        let kernel = node.attributes.ints("kernel_shape").filter(|_| node.is("AveragePool"))?;
        let window = kernel.iter().try_fold(1i64, |product, size| product.checked_mul(*size))?;
        let tiles = node.attributes.ints("strides") == Some(kernel)
            && node.attributes.ints("pads").is_none_or(|pads| pads.iter().all(|pad| *pad == 0));
        (window as f64 >= rule.limit("window") && tiles).then(|| format!("a window of {window} points"))
    })
}

fn topk(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let indices = node.output(1).filter(|_| node.is("TopK"))?;
        let value = view.model.graph().value(indices);
        (!value.consumers.is_empty()).then(|| format!("{} operators read its indices", value.consumers.len()))
    })
}

fn tensorrt(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let multiple = rule.limit("multiple").max(1.0) as i64;
    each_node(subject, |view, node| {
        if node.is("Gather") {
            let axis = node.attributes.int("axis").unwrap_or(0);
            return (axis != 0).then(|| format!("gathers on axis {axis}"));
        }
        let dims = view.dims(node.input(1).filter(|_| node.is("Conv"))?)?;
        let out = *dims.first()?;
        (out % multiple != 0).then(|| format!("{out} channels"))
    })
}
