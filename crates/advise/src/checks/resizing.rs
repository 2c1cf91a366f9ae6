//! Resizes whose steps don't come out even, by the model or by the shapes in a profile.

use opscope_model::Node;
use opscope_trace::{Attribution, Operator, TensorId, Trace};

use super::nodes::places;
use crate::claim::Claims;
use crate::condition::Means;
use crate::kernels::Kind;
use crate::outcome::{Causes, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[("G09", uneven_resize)];

fn uneven_resize(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let of_model = in_model(subject);
    if matches!(of_model, Some(Outcome::Operators(_))) {
        return of_model.unwrap_or(Outcome::Silent);
    }
    // A model tells how it resizes, of which a profile has types alone.
    if subject.model.is_some_and(|model| model.graph().nodes().all(|node| height(&node).is_none())) {
        return of_model.unwrap_or(Outcome::Silent);
    }
    in_profile(subject).or(of_model).unwrap_or_else(|| {
        Outcome::Missing("shapes in the profile, or the model with known shapes (--model)".to_owned())
    })
}

fn in_model(subject: &Subject<'_>) -> Option<Outcome> {
    let shapes = subject.shapes?;
    let found = places(subject, Means::Form, |_, node| {
        let first = height(node)?;
        let (from, to) =
            (shapes.get(node.input(0)?)?.known_dims()?, shapes.get(node.output(0)?)?.known_dims()?);
        let sizes: Vec<(u64, u64)> = from.into_iter().zip(to).skip(first).take(2).collect();
        Some((proposal(&sizes)?, Vec::new()))
    })?;
    Some(found.outcome())
}

/// Caffe's resize, which knows no other way than from corner to corner. OpenVINO's Interpolate is another.
const CAFFES: &str = "Interp";

/// The place of the height among the sizes of an image that a node maps from corner to corner.
fn height(node: &Node<'_>) -> Option<usize> {
    let attributes = node.attributes;
    if node.is("Resize") {
        let aligned = attributes.string("coordinate_transformation_mode") == Some("align_corners");
        let linear = attributes.string("mode").is_some_and(|mode| mode != "nearest");
        return (aligned && linear).then_some(2);
    }
    if node.op_type == CAFFES {
        return Some(2);
    }
    // As offline models of Ascend have it.
    let is_bilinear =
        node.op_type.starts_with("ResizeBilinear") && attributes.int("align_corners") == Some(1);
    match attributes.strings("input_layouts")?.first() {
        Some(&"NCHW") if is_bilinear => Some(2),
        Some(&"NHWC") if is_bilinear => Some(1),
        _ => None,
    }
}

/// `None` where the profile has no shapes at all.
fn in_profile(subject: &Subject<'_>) -> Option<Outcome> {
    let trace = subject.trace?;
    let has_shapes = trace.operators.ids().any(|id| {
        let row = trace.operators.get(id);
        row.inputs().next().is_some_and(|input| trace.shape(input).is_some())
    });
    if !has_shapes {
        return None;
    }
    let proposed = |kind: &Kind<'_>| {
        let row = trace.operators.get(kind.operator);
        let condition = match corners(trace, &row, kind.op_type) {
            Corners::Aligned => "",
            // Other targets aren't known to mind.
            Corners::Unknown if subject.target.is_ascend() => {
                "; this holds if it aligns the corners, which the profile doesn't say"
            }
            Corners::Unknown | Corners::Not => return None,
        };
        let from = row.inputs().next().and_then(|input| sides(trace, input))?;
        let to = row.outputs().next().and_then(|output| sides(trace, output))?;
        let sizes: Vec<(u64, u64)> = from.into_iter().zip(to).collect();
        Some(format!("{}{condition}", proposal(&sizes)?))
    };
    let proposed = subject.kernels.by_kind(proposed);
    let mut claims = Claims::default();
    if proposed.any(Option::is_some) {
        for kernel in &subject.kernels {
            proposed.of(kernel).iter().for_each(|text| claims.claim(subject, kernel, text, 1.0));
        }
    }
    Some(Causes::one(claims))
}

/// Whether a resize maps the corners of its input to those of its output.
enum Corners {
    Aligned,
    Not,
    Unknown,
}

fn corners(trace: &Trace, row: &Operator, op_type: &str) -> Corners {
    let attributes = row.attributes.map_or("", |text| trace.strings.get(text));
    let is_caffes = op_type == CAFFES;
    let is_resize =
        is_caffes || ["Resize", "Upsample", "Interpolate"].iter().any(|start| op_type.starts_with(start));
    if !is_resize || op_type.contains("Nearest") || attributes.contains("\"nearest\"") {
        Corners::Not
    } else if is_caffes || attributes.contains("align_corners\"") {
        Corners::Aligned
    } else if row.attribution != Attribution::NoGraph || !attributes.is_empty() {
        Corners::Not
    } else {
        Corners::Unknown
    }
}

/// Height and width of an image.
fn sides(trace: &Trace, tensor: TensorId) -> Option<[u64; 2]> {
    let layout = trace.tensors.layout()[tensor.index()].map(|layout| trace.strings.get(layout));
    let shape = trace.shape(tensor)?;
    let first = match (layout, shape.len()) {
        (Some("NHWC"), 4) => 1,
        (None | Some("NCHW" | "ND"), 4) | (Some("NC1HWC0"), 5) => 2,
        _ => return None,
    };
    Some([u64::try_from(shape[first]).ok()?, u64::try_from(shape[first + 1]).ok()?])
}

/// The sizes that would come out even, for those that don't; `None` where all do.
fn proposal(sizes: &[(u64, u64)]) -> Option<String> {
    let is_uneven = |(from, to): &(u64, u64)| *from > 1 && to > from && (to - 1) % (from - 1) != 0;
    let mut uneven: Vec<(u64, u64)> = sizes.iter().copied().filter(is_uneven).collect();
    uneven.dedup();
    let each = uneven.iter().map(|&(from, to)| {
        // The input grows by one and the output with it, or the output alone changes.
        let times = (to as f64 / from as f64).round().max(1.0) as u64;
        let steps = ((to - 1) as f64 / (from - 1) as f64).round().max(1.0) as u64;
        format!(
            "{from} to {to}; take {} to {}, or {from} to {}",
            from + 1,
            times.saturating_mul(from) + 1,
            steps.saturating_mul(from - 1) + 1
        )
    });
    let text: Vec<String> = each.collect();
    (!text.is_empty()).then(|| text.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_huaweis_case_are_proposed_for_its_sizes() {
        let text = proposal(&[(175, 350), (175, 350)]).unwrap();
        assert_eq!(text, "175 to 350; take 176 to 351, or 175 to 349");
        assert_eq!(proposal(&[(176, 351), (175, 349)]), None);
        assert_eq!(proposal(&[(175, 175), (350, 175), (1, 7)]), None, "what doesn't grow, or from a point");
        let parted = proposal(&[(175, 349), (20, 41)]).unwrap();
        assert_eq!(parted, "20 to 41; take 21 to 41, or 20 to 39");
    }
}
