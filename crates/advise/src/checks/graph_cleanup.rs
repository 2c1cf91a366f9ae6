//! Rewrites that remove copies: casts, slices, gathers, transposes, reshapes.

use opscope_model::Node;
use opscope_trace::DataType;

use super::Check;
use super::graph_fold::each_node;
use crate::finding::Outcome;
use crate::graph::is_reshape;
use crate::rule::Rule;
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("G11", wide_types),
    ("G12", casts),
    ("G13", in_a_row),
    ("G14", gathers),
    ("G15", cleanup),
    ("G22", computed_reshape),
    ("G23", empty_slice),
];

fn wide_types(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(shapes) = subject.shapes else {
        return Outcome::Missing("the model with known shapes (--model)".to_owned());
    };
    each_node(subject, |view, node| {
        // What only computes shapes is folded anyway, and has a few elements.
        const LARGE: u64 = 1024;
        let shape = shapes.get(node.output(0)?)?;
        let is_wide = matches!(shape.data_type, DataType::Int64 | DataType::Float64);
        let is_large = shape.elements().is_none_or(|count| count >= LARGE);
        let constant = node.inputs.iter().flatten().all(|input| view.is_constant(*input));
        (is_wide && is_large && !constant && !node.is("Cast"))
            .then(|| format!("computes {}", shape.data_type))
    })
}

fn casts(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let to = node.attributes.int("to").filter(|_| node.is("Cast"))?;
        let input = node.input(0)?;
        if let Some(shape) = subject.shapes.and_then(|shapes| shapes.get(input))
            && shape.data_type == opscope_model::proto::data_type_from_onnx(i32::try_from(to).unwrap_or(0))
        {
            return Some("to the type that it has".to_owned());
        }
        let siblings = view.model.graph().value(input).consumers;
        let equal = siblings
            .iter()
            .map(|id| view.model.graph().node(*id))
            .find(|other| other.is("Cast") && other.id < node.id && other.attributes.int("to") == Some(to));
        equal.map(|other| format!("the same as {}", other.name)).or_else(|| {
            let before = view.producer(node, 0).filter(|before| before.is("Cast"))?;
            Some(format!("behind the cast {}", before.name))
        })
    })
}

fn in_a_row(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        if node.is("Concat") {
            let axis = node.attributes.int("axis");
            let inner =
                (0..node.inputs.len()).filter_map(|input| view.producer(node, input)).find(|before| {
                    let alone = view.only_reader(before).is_some_and(|reader| reader.id == node.id);
                    before.is("Concat") && before.attributes.int("axis") == axis && alone
                })?;
            return Some(format!("takes in {}", inner.name));
        }
        let before = view.producer(node, 0).filter(|before| node.is("Slice") && before.is("Slice"))?;
        let alone = view.only_reader(&before)?.id == node.id;
        alone.then(|| format!("follows {}", before.name))
    })
}

/// Gathers of one tensor that together take consecutive pieces from its beginning.
fn gathers(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let source = node.input(0).filter(|_| node.is("Gather"))?;
        let axis = node.attributes.int("axis").unwrap_or(0);
        let graph = view.model.graph();
        let all: Vec<Node<'_>> = (graph.value(source).consumers.iter().map(|id| graph.node(*id)))
            .filter(|other| other.is("Gather") && other.input(0) == Some(source))
            .filter(|other| other.attributes.int("axis").unwrap_or(0) == axis)
            .collect();
        if all.len() < 2 {
            return None;
        }
        let pieces = all.iter().map(|other| view.constant(other.input(1)?)?.to_i64s());
        let mut pieces: Vec<Vec<i64>> = pieces.collect::<Option<_>>()?;
        pieces.sort();
        let whole: Vec<i64> = pieces.concat();
        let consecutive = whole.iter().enumerate().all(|(place, index)| *index == place as i64);
        consecutive.then(|| format!("one of {} that cut the tensor into consecutive pieces", all.len()))
    })
}

fn cleanup(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        if node.is("Identity") || node.is("Dropout") {
            return Some("only copies".to_owned());
        }
        let before = view.producer(node, 0)?;
        if node.is("Transpose") && before.is("Transpose") {
            let (first, second) = (before.attributes.ints("perm")?, node.attributes.ints("perm")?);
            let back = second.iter().enumerate().all(|(place, axis)| {
                usize::try_from(*axis).ok().and_then(|axis| first.get(axis)) == Some(&(place as i64))
            });
            return Some(format!("{} {}", if back { "undoes" } else { "merges with" }, before.name));
        }
        let alone = view.only_reader(&before).is_some_and(|reader| reader.id == node.id);
        (is_reshape(node) && is_reshape(&before) && alone).then(|| format!("merges with {}", before.name))
    })
}

fn computed_reshape(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
        let target = node.input(1).filter(|_| node.is("Reshape"))?;
        let maker = view.producer_of(target).filter(|maker| !maker.is("Constant"))?;
        Some(format!("its target comes from {}", maker.name))
    })
}

fn empty_slice(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_node(subject, |view, node| {
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
