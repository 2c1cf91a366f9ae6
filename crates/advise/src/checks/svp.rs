//! Conditions about boards with SVP engines.

use opscope_model::{Cost, NodeId, Shapes};
use opscope_trace::DataType;

use super::nodes::{each_form, form_without_savings};
use crate::outcome::{Found, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("S01", net_busy),
    ("S09", utilisation),
    ("S11", permutation),
    ("S12", last_index),
    ("S13", half_indices),
    ("S14", call_records),
];

/// The effective work of the multipliers, weighted by the layers' times.
fn net_busy(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if !subject.has_metric("Mac Ppen Ratio") {
        return Outcome::Missing("the metric Mac Ppen Ratio (op_summary)".to_owned());
    }
    let effective = subject.metric("Mac Ppen Ratio");
    let (mut busy, mut whole) = (0.0, 0.0);
    for kernel in &subject.kernels {
        if let Some(ratio) = effective.of(kernel) {
            busy += ratio * kernel.time;
            whole += kernel.time;
        }
    }
    if whole <= 0.0 || busy / whole > rule.limit("busy") {
        return Outcome::Silent;
    }
    Found::note(format!("the multipliers work effectively for {:.0} % of the time", busy / whole * 100.0))
}

fn utilisation(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let (Some(model), Some(shapes)) = (subject.model, subject.shapes) else {
        return Outcome::Missing("the model with known shapes (--model)".to_owned());
    };
    if subject.total.0 <= 0 {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    let of_node = |node: NodeId, shapes: &Shapes| Cost::of(model, shapes, node).flops.unwrap_or(0) as f64;
    let operations: f64 = model.graph().nodes().map(|node| of_node(node.id, shapes)).sum();
    let per_second = operations / (subject.total.0 as f64 / 1e9);
    let share = per_second / (rule.limit("peak_tera_operations") * 1e12);
    if share <= rule.limit("share_above") {
        return Outcome::Silent;
    }
    Found::note(format!(
        "{:.1} % of {} T operations a second",
        share * 100.0,
        rule.limit("peak_tera_operations")
    ))
}

fn permutation(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_form(subject, |_, node| {
        let order = node.attributes.ints("perm").filter(|order| node.is("Transpose") && order.len() == 4)?;
        let known = [[0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 3, 2], [0, 2, 1, 3], [0, 1, 2, 3]];
        let digits: String = order.iter().map(i64::to_string).collect();
        (!known.iter().any(|known| known == order)).then(|| format!("permutation {digits}"))
    })
}

fn last_index(subject: &Subject<'_>, _: &Rule) -> Outcome {
    each_form(subject, |_, node| {
        let selects = node.attributes.int("select_last_index") == Some(1);
        (matches!(node.op_type, "ArgMax" | "ArgMin") && selects).then(|| "select_last_index is 1".to_owned())
    })
}

fn half_indices(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(shapes) = subject.shapes else {
        return Outcome::Missing("the model with known shapes (--model)".to_owned());
    };
    // Right results are the matter, not time.
    form_without_savings(subject, |_, node| {
        let input = node.input(0).filter(|_| matches!(node.op_type, "ArgMax" | "ArgMin"))?;
        let known = shapes.get(input)?;
        let axis = node.attributes.int("axis").unwrap_or(0);
        let axis = if axis < 0 { axis + known.dims.len() as i64 } else { axis };
        let length = known.dims.get(usize::try_from(axis).ok()?).copied().flatten()?;
        let is_half = known.data_type == DataType::Float16;
        (length as f64 > rule.limit("axis") && is_half).then(|| format!("an axis of {length}"))
    })
}

fn call_records(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace.filter(|trace| !trace.api_calls.is_empty()) else {
        return Outcome::Missing("calls of the host".to_owned());
    };
    if (trace.api_calls.len() as f64) < rule.limit("records") {
        return Outcome::Silent;
    }
    Found::note(format!("{} calls are recorded", trace.api_calls.len()))
}
