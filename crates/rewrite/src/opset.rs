//! Raising the version of ONNX's operators, where that changes what no node means.

use opscope_model::Model;
use opscope_model::proto::{GraphProto, NodeProto};

use crate::operator_history::{CHANGES, Change, KNOWN, NEWEST, OLDEST};

/// Why the version can't be raised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum OpsetError {
    #[error(
        "the model has version {from} of ONNX's operators; it can be raised, but not lowered to {to}: ask for \
         {from} or more (--opset)"
    )]
    Lower { from: i64, to: i64 },
    #[error(
        "version {to} of ONNX's operators is newer than those known here: ask for {NEWEST} at most (--opset)"
    )]
    TooNew { to: i64 },
    #[error(
        "the model has version {from} of ONNX's operators; only those from {OLDEST} on can be raised. \
         Export it again with a newer exporter"
    )]
    TooOld { from: i64 },
    #[error(
        "the node `{node}` ({op_type}) would not mean the same in version {to} of ONNX's operators: {op_type} \
         changed with version {changed}. Export the model again with the newer version, or ask for one \
         below {changed}"
    )]
    Changed { node: String, op_type: String, to: i64, changed: i64 },
    #[error("the node `{node}` has the operator {op_type}, which ONNX doesn't have up to version {NEWEST}")]
    Unknown { node: String, op_type: String },
    #[error("the model has functions of its own; raising their operators' version is not supported")]
    Functions,
}

/// The version of ONNX's operators of a model that is newer than all that are known here: whether its
/// operators still mean what the rewrites take them to mean can't be told.
pub fn unknown_version(model: &Model) -> Option<i64> {
    model.opset_version("").filter(|version| *version > NEWEST)
}

/// Checks that every node of the model, those in subgraphs included, means the same in the newer version.
///
/// # Errors
/// With the first node that doesn't, or of which that isn't known.
pub fn check_opset(model: &Model, to: i64) -> Result<(), OpsetError> {
    let from = model.opset_version("").unwrap_or(1);
    match () {
        () if to == from => return Ok(()),
        () if to < from => return Err(OpsetError::Lower { from, to }),
        () if to > NEWEST => return Err(OpsetError::TooNew { to }),
        () if from < OLDEST => return Err(OpsetError::TooOld { from }),
        () if !model.proto().functions.is_empty() => return Err(OpsetError::Functions),
        () => {}
    }
    check(model.graph().proto(), from, to)
}

/// The model's loader has limited how deep graphs are nested.
fn check(graph: &GraphProto, from: i64, to: i64) -> Result<(), OpsetError> {
    for (position, node) in graph.node.iter().enumerate() {
        for attribute in &node.attribute {
            let graphs = attribute.g.as_deref().into_iter().chain(&attribute.graphs);
            graphs.into_iter().try_for_each(|inner| check(inner, from, to))?;
        }
        if !matches!(node.domain(), "" | "ai.onnx") {
            continue;
        }
        let op_type = node.op_type().to_owned();
        let name = || match node.name() {
            "" => format!("{op_type}_{position}"),
            name => name.to_owned(),
        };
        if KNOWN.binary_search(&op_type.as_str()).is_err() {
            return Err(OpsetError::Unknown { node: name(), op_type: op_type.clone() });
        }
        let changes = CHANGES
            .iter()
            .filter(|(changed, version, _)| *changed == op_type && (from + 1..=to).contains(version));
        if let Some((_, changed, _)) = changes.into_iter().find(|(_, _, change)| concerns(*change, node)) {
            return Err(OpsetError::Changed {
                node: name(),
                op_type: op_type.clone(),
                to,
                changed: *changed,
            });
        }
    }
    Ok(())
}

fn concerns(change: Change, node: &NodeProto) -> bool {
    let given = |names: &[String]| names.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
    match change {
        Change::Meaning => true,
        Change::Attributes(names) => node.attribute.iter().any(|attribute| names.contains(&attribute.name())),
        Change::OutputsBehind(count) => given(&node.output) > count,
        Change::InputsNeeded(count) => given(&node.input) < count,
    }
}

/// The version of the file format that came with a version of the operators, from ONNX's table of
/// releases.
pub fn ir_version(opset: i64) -> i64 {
    match opset {
        ..=8 => 3,
        9 => 4,
        10 => 5,
        11 => 6,
        12..=14 => 7,
        15..=18 => 8,
        19..=20 => 9,
        21..=22 => 10,
        23 => 11,
        24 => 12,
        25..=26 => 13,
        _ => 14,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite;
    use crate::testing::net;

    fn raised(text: &str, to: i64) -> Result<i64, OpsetError> {
        let model = net(text);
        check_opset(&model, to)?;
        let rewritten = rewrite(&model, &[], Some(to), false).unwrap();
        Ok(Model::from_proto(rewritten.proto, None).unwrap().opset_version("").unwrap())
    }

    #[test]
    fn operators_that_only_allow_more_can_be_raised() {
        let text = "opset 13; input x f32[2,3]; y = Relu(x); z = Softmax(y) axis=1; output z";
        assert_eq!(raised(text, 20), Ok(20));
        assert_eq!(raised(text, 13), Ok(13));
    }

    #[test]
    fn an_operator_that_changed_stops_it_and_is_named() {
        let text = "opset 12; input x f32[2,3]; y = Softmax(x) axis=1; output y";
        let error = raised(text, 13).unwrap_err();
        assert!(matches!(&error, OpsetError::Changed { op_type, changed: 13, .. } if op_type == "Softmax"));
    }

    #[test]
    fn a_removed_attribute_matters_only_where_it_is_set() {
        let mean = |axes: &str| format!("opset 17; input x f32[2,3]; y = ReduceMean(x){axes}; output y");
        assert_eq!(raised(&mean(""), 18), Ok(18));
        assert!(matches!(raised(&mean(" axes=[1]"), 18), Err(OpsetError::Changed { changed: 18, .. })));
    }

    #[test]
    fn nodes_inside_of_subgraphs_count() {
        let body = "input x f32[2,3]; m = ReduceMean(x) axes=[1]; output m";
        let graph = net(&format!("opset 17; {body}"));
        let mut outer = net("opset 17; input c bool[]; y = Not(c); output y").proto().clone();
        let node = &mut outer.graph.as_mut().unwrap().node[0];
        *node = crate::testing::with_graph(node.clone(), "then_branch", graph.graph().proto().clone());
        let outer = Model::from_proto(outer, None).unwrap();
        assert!(matches!(check_opset(&outer, 18), Err(OpsetError::Changed { .. })));
    }

    #[test]
    fn unknown_operators_old_files_and_lowering_are_refused() {
        let text = |opset, op| format!("opset {opset}; input x f32[2]; y = {op}(x); output y");
        assert!(matches!(raised(&text(17, "Frobnicate"), 18), Err(OpsetError::Unknown { .. })));
        assert!(matches!(raised(&text(6, "Relu"), 18), Err(OpsetError::TooOld { from: 6 })));
        assert!(matches!(raised(&text(17, "Relu"), 16), Err(OpsetError::Lower { .. })));
        assert!(matches!(raised(&text(17, "Relu"), 99), Err(OpsetError::TooNew { .. })));
    }

    #[test]
    fn the_table_of_names_is_sorted() {
        assert!(KNOWN.is_sorted());
        assert!(
            CHANGES.iter().all(|(name, version, _)| KNOWN.binary_search(name).is_ok() && *version > OLDEST)
        );
    }
}
