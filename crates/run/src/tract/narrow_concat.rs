//! Concats of very many values as trees of narrower ones, for an engine whose orderings of a graph take time
//! with the square of a node's inputs.

use std::collections::HashSet;
use std::mem::take;

use opscope_model::proto::{GraphProto, ModelProto, NodeProto};

/// The most values that a Concat of the trees joins. Concats of no more than these stay as they are, which
/// is next to all that there are.
const WIDEST: usize = 256;

/// Makes trees of all wider Concats of a model. The parts of one bear its name with a number behind a dot,
/// and the last of them is the node itself.
pub fn narrow_concats(proto: &mut ModelProto) {
    if let Some(graph) = &mut proto.graph {
        narrow_in(graph);
    }
}

fn is_wide(node: &NodeProto) -> bool {
    let is_onnx = matches!(node.domain.as_deref(), None | Some("" | "ai.onnx"));
    is_onnx && node.op_type.as_deref() == Some("Concat") && node.input.len() > WIDEST
}

/// The same in a graph and in the graphs within its nodes.
fn narrow_in(graph: &mut GraphProto) {
    for attribute in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
        attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs).for_each(narrow_in);
    }
    if !graph.node.iter().any(is_wide) {
        return;
    }
    let mut taken: HashSet<String> = graph.node.iter().flat_map(|node| node.output.iter().cloned()).collect();
    taken.extend(graph.node.iter().flat_map(|node| node.input.iter().cloned()));
    for node in take(&mut graph.node) {
        if is_wide(&node) {
            graph.node.extend(tree(node, &mut taken));
        } else {
            graph.node.push(node);
        }
    }
}

/// The parts of a wide Concat, each behind those that it reads.
fn tree(mut whole: NodeProto, taken: &mut HashSet<String>) -> Vec<NodeProto> {
    let mut parts: Vec<NodeProto> = Vec::new();
    while whole.input.len() > WIDEST {
        let values = take(&mut whole.input);
        for values in values.chunks(WIDEST) {
            let number = parts.len();
            let output = free_name(whole.output.first().map_or("", String::as_str), number, taken);
            whole.input.push(output.clone());
            parts.push(NodeProto {
                name: whole.name.as_ref().map(|name| format!("{name}.{number}")),
                input: values.to_vec(),
                output: vec![output],
                ..whole.clone()
            });
        }
    }
    parts.push(whole);
    parts
}

/// A name for a value of which there is none yet.
fn free_name(of: &str, number: usize, taken: &mut HashSet<String>) -> String {
    let mut name = format!("{of}.{number}");
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concat(inputs: usize) -> NodeProto {
        NodeProto {
            op_type: Some("Concat".to_owned()),
            name: Some("join".to_owned()),
            input: (0..inputs).map(|input| format!("v{input}")).collect(),
            output: vec!["all".to_owned()],
            ..Default::default()
        }
    }

    fn narrowed(node: Vec<NodeProto>) -> Vec<NodeProto> {
        let mut proto =
            ModelProto { graph: Some(GraphProto { node, ..Default::default() }), ..Default::default() };
        narrow_concats(&mut proto);
        proto.graph.unwrap().node
    }

    /// The parts that the last node joins, with every part in its place.
    fn joined(nodes: &[NodeProto], output: &str) -> Vec<String> {
        match nodes.iter().find(|node| node.output[0] == output) {
            Some(node) => node.input.iter().flat_map(|input| joined(nodes, input)).collect(),
            None => vec![output.to_owned()],
        }
    }

    #[test]
    fn a_wide_concat_becomes_a_tree_of_the_same_values_in_their_order() {
        for inputs in [WIDEST, WIDEST + 1, 30_000, WIDEST * WIDEST + 1] {
            let whole = concat(inputs);
            let nodes = narrowed(vec![whole.clone()]);
            assert_eq!(joined(&nodes, "all"), whole.input);
            assert!(nodes.iter().all(|node| node.input.len() <= WIDEST));
            let names: HashSet<&str> = nodes.iter().filter_map(|node| node.name.as_deref()).collect();
            assert_eq!(names.len(), nodes.len());
            assert!(names.iter().all(|name| name.split('.').next() == Some("join")));
        }
        assert_eq!(narrowed(vec![concat(WIDEST)]), [concat(WIDEST)]);
    }

    #[test]
    fn names_that_the_model_uses_are_left_to_it() {
        let other = NodeProto {
            op_type: Some("Relu".to_owned()),
            input: vec!["x".to_owned()],
            output: vec!["all.0".to_owned()],
            ..Default::default()
        };
        let nodes = narrowed(vec![other, concat(WIDEST + 1)]);
        let outputs: HashSet<&str> = nodes.iter().map(|node| node.output[0].as_str()).collect();
        assert_eq!(outputs.len(), nodes.len());
        assert_eq!(joined(&nodes[1..], "all"), concat(WIDEST + 1).input);
    }
}
