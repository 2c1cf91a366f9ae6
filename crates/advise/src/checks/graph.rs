//! Patterns in graphs for which there is no rewrite, or that say more than where one applies.

use opscope_trace::DataType;

use super::nodes::{form_without_savings, missing, places};
use super::rewritten;
use crate::condition::{MatchCondition, MatchSaves, Means};
use crate::graph::{Folded, View, is_narrowing};
use crate::outcome::{Causes, Outcome};
use crate::places::Places;
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("G06", unsupported_activations),
    ("G11", wide_types),
    ("G23", empty_slices),
    ("G24", topk),
    ("H11", tensorrt),
];

/// Activations that the target lacks, spelled out or not.
fn unsupported_activations(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let (target, rewrites) = (subject.target, subject.rewrites.as_ref());
    let mish = rewrites.filter(|_| target.lacks("Mish")).map(|rewrites| rewrites.matches("G05b", |_| None));
    let mish: Vec<_> = mish.into_iter().flatten().collect();
    let pieces = mish.iter().flat_map(|matches| &matches.places).filter(|place| place.nodes.len() > 1);
    let told: std::collections::HashSet<&str> =
        pieces.clone().flat_map(|place| &place.nodes).map(|node| &*node.name).collect();
    let found = places(subject, Means::Pieces, |view, node| {
        if node.is("Mul") && target.is_slow_in_pieces("Swish") {
            // A product with the sigmoid of one of its factors.
            let gate = (0..2).find_map(|side| {
                let gate = view.producer(node, side).filter(|gate| gate.is("Sigmoid"))?;
                (gate.input(0) == node.input(1 - side)).then_some(gate)
            })?;
            return Some((format!("Swish with {}", gate.name), vec![gate]));
        }
        let counts = target.lacks(node.op_type) && !told.contains(node.name);
        counts.then(|| (format!("{} has no operator for it", target.name()), Vec::new()))
    });
    let Some(mut found) = found else { return missing() };
    for place in pieces {
        let names: Vec<&str> = place.nodes.iter().map(|node| &*node.name).collect();
        let at = (&*place.at.name, &*place.at.op_type);
        found.add_named(at, &names, format!("Mish in {} operators", names.len()));
    }
    found.outcome()
}

/// Where rewrites make types narrower, and integers of 64 bits that none does.
fn wide_types(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(shapes) = subject.shapes else {
        return Outcome::Missing("the model with known shapes (--model)".to_owned());
    };
    let condition = MatchCondition { means: Means::Step, saves: MatchSaves::Root, only: None };
    let least = rule.limit("elements");
    let folded = subject.model.map(|model| Folded::of(View::new(model)));
    beside_matches(subject, rule, &condition, |view, node| {
        // Computations of shapes are folded anyway, and have few elements.
        let shape = shapes.get(node.output(0)?)?;
        let is_wide = matches!(shape.data_type, DataType::Int64 | DataType::Float64);
        let is_large = shape.elements().is_none_or(|count| count as f64 >= least);
        let constant = node.inputs.iter().flatten().all(|input| view.is_constant(*input))
            || folded.as_ref().is_some_and(|folded| folded.has(node));
        // Places and sizes have 64 bits in ONNX, whatever type the file has them in.
        let is_narrow_in_file = || {
            let readers = view.readers(node);
            readers.iter().any(|reader| is_narrowing(reader) && view.model.is_helper(reader.name))
        };
        (is_wide && is_large && !constant && !node.is("Cast") && !is_narrow_in_file())
            .then(|| format!("computes {}", shape.data_type))
    })
}

/// Slices that select nothing: those that a rewrite takes away, and the others.
fn empty_slices(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    beside_matches(subject, rule, &MatchCondition::default(), |view, node| {
        if !node.is("Slice") {
            return None;
        }
        let list = |name: &str, input: usize| {
            let given = node.attributes.ints(name).map(<[i64]>::to_vec);
            given.or_else(|| view.constant(node.input(input)?)?.to_i64s())
        };
        let (starts, ends) = (list("starts", 1)?, list("ends", 2)?);
        // Both count from the same end, so that they compare without the length.
        let empty = |(start, end): (&i64, &i64)| (*start < 0) == (*end < 0) && start >= end;
        let forward = node.input(4).is_none_or(|steps| {
            let steps = view.constant(steps).and_then(|data| data.to_i64s());
            steps.is_some_and(|steps| steps.iter().all(|step| *step > 0))
        });
        (forward && starts.iter().zip(&ends).any(empty)).then(|| format!("{starts:?} to {ends:?}"))
    })
}

/// The places at which the rule's rewrites apply, and as a cause of its own the nodes that the question
/// finds elsewhere, which opscope doesn't change.
fn beside_matches(
    subject: &Subject<'_>,
    rule: &Rule,
    condition: &MatchCondition,
    detail: impl Fn(View<'_>, &opscope_model::Node<'_>) -> Option<String>,
) -> Outcome {
    let Some(matched) = rewritten::places(subject, rule, condition) else { return missing() };
    let changed: std::collections::HashSet<String> = matched.changed().map(str::to_owned).collect();
    let others = places(subject, condition.means, |view, node| {
        let detail = detail(view, node).filter(|_| !changed.contains(node.name))?;
        Some((detail, Vec::new()))
    });
    let (mut all, others) = (matched.causes(), others.map(Places::causes).unwrap_or_default());
    all.done += others.done;
    all.causes.extend(others.causes.into_iter().map(|mut cause| {
        cause.auto = Some("no".to_owned());
        cause
    }));
    Causes::outcome(all)
}

fn topk(subject: &Subject<'_>, _: &Rule) -> Outcome {
    form_without_savings(subject, |view, node| {
        let indices = node.output(1).filter(|_| node.is("TopK"))?;
        let graph = view.model.graph();
        let readers = graph.value(indices).consumers.iter().filter(|id| !is_narrowing(&graph.node(**id)));
        let count = readers.count();
        (count > 0).then(|| format!("{count} operators read its indices"))
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
