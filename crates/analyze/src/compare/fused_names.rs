//! Operators that an engine fused, and named by a node of the model: ONNX Runtime calls them by that node's name with
//! the fusion's behind it, such as `/act/Mul/QuickGeluFusion/` or `fc/MatMul/MatMulAddFusion`, and puts `fused` before
//! those that took in an activation.

use std::collections::HashMap;

use super::align::Groups;
use super::side::{Row, Side};
use crate::kind::kind;

/// The kinds of which a fused operator is made, the last one that of the node by which it is named.
const PARTS: [(&str, &[&str]); 1] = [("quickgelu", &["sigmoid", "mul"])];

/// Joins operators that one side fused with those of the other that they were made of, where nothing else joined them.
pub(super) fn by_fused_name(sides: [&Side<'_>; 2], groups: &mut Groups) {
    for (side, other) in [(1, 0), (0, 1)] {
        let mut named: HashMap<&str, usize> = HashMap::new();
        for (place, row) in sides[other].rows.iter().enumerate() {
            if groups.of(other)[place].is_none() {
                named.entry(text_of(sides[other], row).0).or_insert(place);
            }
        }
        for (place, row) in sides[side].rows.iter().enumerate() {
            let (name, op_type) = text_of(sides[side], row);
            let Some(found) = node_of_fused(name).filter(|_| groups.of(side)[place].is_none()) else {
                continue;
            };
            let Some(last) = named.remove(found) else { continue };
            match side {
                0 => groups.pair(place, last),
                _ => groups.pair(last, place),
            }
            let Some(group) = groups.of(side)[place] else { continue };
            for part in parts_before(sides[other], last, &kind(op_type)) {
                if groups.of(other)[part].is_none() {
                    groups.set(other, part, group);
                }
            }
        }
    }
}

/// The node by which an operator that ONNX Runtime fused is named.
pub fn node_of_fused(name: &str) -> Option<&str> {
    let activated = name.strip_prefix("fused ");
    let name = activated.unwrap_or(name);
    let whole = name.strip_suffix('/').unwrap_or(name);
    let node = match whole.rsplit_once('/') {
        Some((node, fusion)) if fusion.ends_with("Fusion") => Some(node),
        _ => activated,
    };
    node.filter(|node| !node.is_empty())
}

/// The operators right before the last one of which one of a kind is made, where they and that are of the kinds of its
/// parts.
fn parts_before(side: &Side<'_>, last: usize, fused: &str) -> std::ops::Range<usize> {
    let none = last..last;
    let Some((_, parts)) = PARTS.iter().find(|(kind, _)| *kind == fused) else { return none };
    let Some(first) = (last + 1).checked_sub(parts.len()) else { return none };
    let rows = side.rows[first..=last].iter();
    let are_these = rows.zip(*parts).all(|(row, part)| kind(text_of(side, row).1) == *part);
    if are_these { first..last } else { none }
}

/// The name and type of an operator.
fn text_of<'t>(side: &Side<'t>, row: &Row<'_>) -> (&'t str, &'t str) {
    (side.trace.strings.get(row.name), side.trace.strings.get(row.op_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fused_operators_lead_to_the_node_that_they_are_named_by() {
        for (name, node) in [
            ("/act/Mul/QuickGeluFusion/", Some("/act/Mul")),
            ("fc0/MatMul/MatMulAddFusion", Some("fc0/MatMul")),
            ("fused fc0/MatMul/MatMulAddFusion", Some("fc0/MatMul")),
            ("fused /1/Conv", Some("/1/Conv")),
            ("/1/Conv", None),
            ("Fusion", None),
            ("/MatMulAddFusion", None),
            ("fused ", None),
            ("", None),
        ] {
            assert_eq!(node_of_fused(name), node, "{name}");
        }
    }
}
