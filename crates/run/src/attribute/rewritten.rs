//! Attribution by the model as the runtime rewrote it.
//!
//! 1. Each value of the rewritten model is tied to the value of the model that it holds (`meaning.rs`).
//! 2. A node of the rewritten model does the work of the model's nodes between the values that it
//!    reads and those that it computes (`region.rs`).
//! 3. Engine nodes that stand for the same nodes of the model are one operator.
//!
//! A node that doesn't follow from that stays without a name of the model.

use std::collections::{BTreeSet, HashMap};

use opscope_model::proto::GraphProto;
use opscope_model::{Model, NodeId};
use opscope_trace::Attribution;

use super::meaning::{Meaning, moves_data};
use super::network::{Network, NodeIndex};
use super::region::{Stands, regions};
use super::{Group, Groups};
use crate::engine::EngineNode;

/// Ties an engine's nodes to the nodes of a model by the graph that the engine made of it.
pub fn attribute_rewritten(model: &Model, rewritten: &GraphProto, engine_nodes: &[EngineNode]) -> Groups {
    let named = model.with_named_nodes();
    let Some(own_graph) = named.graph.as_ref() else { return Groups::default() };
    let (own, rewritten) = (Network::of(own_graph), Network::of(rewritten));
    let meaning = Meaning::find(&own, &rewritten);
    let stands = regions(&meaning);

    let tied = tie(engine_nodes, &rewritten);
    let mut ids = vec![None; own_graph.node.len()];
    model.graph().nodes().for_each(|node| ids[node.position] = Some(node.id));
    let id_of = |node: NodeIndex| own.nodes[node].position.and_then(|position| ids[position]);

    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<&BTreeSet<NodeIndex>, usize> = HashMap::new();
    for (position, node) in tied.into_iter().enumerate() {
        let stands = node.map_or(&Stands::Unknown, |node| &stands[node]);
        let nodes = match stands {
            Stands::For(nodes) => nodes,
            other => {
                let added = *other == Stands::Added;
                let attribution = if added { Attribution::Engine } else { Attribution::Unattributed };
                groups.push(Group { engine_nodes: vec![position as u32], attribution, ..Group::default() });
                continue;
            }
        };
        let group = *known.entry(nodes).or_insert_with(|| {
            let mut of_main: Vec<NodeId> = nodes.iter().filter_map(|&node| id_of(node)).collect();
            of_main.sort_unstable();
            let inner = nodes.iter().filter(|&&node| own.nodes[node].position.is_none());
            let attribution = if nodes.len() == 1 { Attribution::Exact } else { Attribution::Fused };
            groups.push(Group {
                nodes: of_main,
                inner_nodes: inner.map(|&node| own.nodes[node].proto.name().to_owned()).collect(),
                engine_nodes: Vec::new(),
                attribution,
            });
            groups.len() - 1
        });
        groups[group].engine_nodes.push(position as u32);
    }
    let (removed, unknown) = left_over(&own, &stands, &groups, id_of);
    Groups { groups, removed, unknown }
}

/// The node of the rewritten model that each recorded node is: the one of its name and operator. Where
/// several of the main graph have the same name or none, as the parts of a definition have that the runtime
/// put in for operators, the order tells, provided that all others ran in the order in which they stand.
fn tie(engine_nodes: &[EngineNode], network: &Network<'_>) -> Vec<Option<NodeIndex>> {
    let mut named: HashMap<(&str, &str), Vec<NodeIndex>> = HashMap::new();
    for (index, node) in network.nodes.iter().enumerate() {
        named.entry((node.proto.name(), node.proto.op_type())).or_default().push(index);
    }
    let mut recorded: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (position, node) in engine_nodes.iter().enumerate() {
        let key = (node.name.as_str(), node.op_type.as_str());
        // A node without a name gets one only in the recording.
        let key = if named.contains_key(&key) { key } else { ("", key.1) };
        recorded.entry(key).or_default().push(position);
    }
    let mut tied = vec![None; engine_nodes.len()];
    for (key, positions) in &recorded {
        if let Some([only]) = named.get(key).map(Vec::as_slice).filter(|_| !key.0.is_empty()) {
            positions.iter().for_each(|&position| tied[position] = Some(*only));
        }
    }
    let in_main = |node: &NodeIndex| network.nodes[*node].position.is_some();
    if !tied.iter().flatten().filter(|node| in_main(node)).is_sorted() {
        return tied;
    }
    for (key, positions) in &recorded {
        let Some(nodes) = named.get(key).filter(|nodes| nodes.len() > 1 || key.0.is_empty()) else {
            continue;
        };
        if nodes.len() == positions.len() && nodes.iter().all(in_main) {
            positions.iter().zip(nodes).for_each(|(&position, &node)| tied[position] = Some(node));
        }
    }
    tied
}

/// The nodes of the main graph that nothing stands for, and how many of those may yet be the work of
/// engine nodes that could not be tied to any.
fn left_over(
    own: &Network<'_>,
    stands: &[Stands],
    groups: &[Group],
    id_of: impl Fn(NodeIndex) -> Option<NodeId>,
) -> (Vec<NodeId>, usize) {
    let claimed: BTreeSet<NodeIndex> = stands
        .iter()
        .filter_map(|stands| match stands {
            Stands::For(nodes) => Some(nodes.iter().copied()),
            Stands::Added | Stands::Unknown => None,
        })
        .flatten()
        .collect();
    let any_unknown = groups.iter().any(|group| group.attribution == Attribution::Unattributed);
    let is_needless = |node: NodeIndex| {
        let row = &own.nodes[node];
        let equals_another = |value: usize| own.canonical(value) != value;
        moves_data(row.proto.op_type())
            || row.outputs.iter().flatten().all(|&value| !own.values[value].dynamic || equals_another(value))
    };
    let left: Vec<NodeIndex> = (0..own.nodes.len()).filter(|node| !claimed.contains(node)).collect();
    let (removed, unknown): (Vec<_>, Vec<_>) = left
        .into_iter()
        .filter_map(|node| Some((node, id_of(node)?)))
        .partition(|(node, _)| !any_unknown || is_needless(*node));
    let mut removed: Vec<NodeId> = removed.into_iter().map(|(_, id)| id).collect();
    removed.sort_unstable();
    (removed, unknown.len())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{block, engine_node, graph, model};
    use super::*;

    type NodeText<'a> = (&'a str, &'a str, &'a [&'a str], &'a str);

    /// The groups as names of nodes, operators of the engine, and the way they were matched.
    fn groups(model: &Model, rewritten: &[NodeText<'_>], output: &str) -> Vec<(String, String, Attribution)> {
        let engine_nodes: Vec<EngineNode> = rewritten
            .iter()
            .map(|(op_type, name, ..)| engine_node(op_type.rsplit('.').next().unwrap_or_default(), name))
            .collect();
        let found = attribute_rewritten(model, &graph(rewritten, output), &engine_nodes);
        let rows = found.groups.into_iter().map(|group| {
            let nodes: Vec<&str> = group.nodes.iter().map(|&id| model.graph().node(id).name).collect();
            let types: Vec<&str> =
                group.engine_nodes.iter().map(|&node| &*engine_nodes[node as usize].op_type).collect();
            (nodes.join("+"), types.join("+"), group.attribution)
        });
        rows.collect()
    }

    fn row(nodes: &str, types: &str, attribution: Attribution) -> (String, String, Attribution) {
        (nodes.to_owned(), types.to_owned(), attribution)
    }

    #[test]
    fn what_is_folded_into_weights_belongs_to_the_node_that_has_the_weights() {
        assert_eq!(
            groups(
                &block(),
                &[("Conv", "conv", &["x", "w_folded"], "bn_out"), ("Relu", "relu", &["bn_out"], "relu_out")],
                "relu_out",
            ),
            [row("conv+bn", "Conv", Attribution::Fused), row("relu", "Relu", Attribution::Exact)]
        );
    }

    #[test]
    fn an_activation_that_runs_by_itself_is_no_part_of_the_convolution_in_another_layout() {
        let silu = model(
            &[
                ("Conv", "conv1", &["x", "w1"], "a"),
                ("Sigmoid", "sigmoid", &["a"], "b"),
                ("Mul", "mul", &["a", "b"], "c"),
                ("Conv", "conv2", &["c", "w2"], "y"),
            ],
            "y",
        );
        assert_eq!(
            groups(
                &silu,
                &[
                    ("com.microsoft.nchwc.ReorderInput", "ReorderInput", &["x"], "reorder_0"),
                    ("com.microsoft.nchwc.Conv", "a_nchwc", &["reorder_0", "w1_blocked"], "reorder_1"),
                    ("com.microsoft.QuickGelu", "fused", &["reorder_1"], "reorder_2"),
                    ("com.microsoft.nchwc.Conv", "y_nchwc", &["reorder_2", "w2_blocked"], "reorder_3"),
                    ("com.microsoft.nchwc.ReorderOutput", "ReorderOutput", &["reorder_3"], "y"),
                ],
                "y",
            ),
            [
                row("", "ReorderInput", Attribution::Engine),
                row("conv1", "Conv", Attribution::Exact),
                row("sigmoid+mul", "QuickGelu", Attribution::Fused),
                row("conv2", "Conv", Attribution::Exact),
                row("", "ReorderOutput", Attribution::Engine),
            ]
        );
    }

    #[test]
    fn an_operator_that_is_run_by_its_definition_is_one_operator_of_several_engine_nodes() {
        let hard_swish =
            model(&[("Conv", "conv", &["x", "w"], "a"), ("HardSwish", "swish", &["a"], "y")], "y");
        assert_eq!(
            groups(
                &hard_swish,
                &[
                    ("Conv", "conv", &["x", "w"], "a"),
                    ("HardSigmoid", "_inline_HardSigmoid", &["a"], "_inline_t"),
                    ("Mul", "_inline_Mul", &["a", "_inline_t"], "y"),
                ],
                "y",
            ),
            [row("conv", "Conv", Attribution::Exact), row("swish", "HardSigmoid+Mul", Attribution::Exact)]
        );
    }

    #[test]
    fn nodes_of_the_same_name_are_told_by_their_order_where_the_others_keep_it() {
        let twice = model(&[("HardSwish", "first", &["x"], "a"), ("HardSwish", "second", &["a"], "y")], "y");
        let rewritten: [NodeText<'_>; 4] = [
            ("HardSigmoid", "_inline", &["x"], "_t0"),
            ("Mul", "", &["x", "_t0"], "a"),
            ("HardSigmoid", "_inline", &["a"], "_t1"),
            ("Mul", "", &["a", "_t1"], "y"),
        ];
        let expected = [
            row("first", "HardSigmoid+Mul", Attribution::Exact),
            row("second", "HardSigmoid+Mul", Attribution::Exact),
        ];
        assert_eq!(groups(&twice, &rewritten, "y"), expected);
        // One of them wasn't recorded, so that nothing tells which the others are.
        let recorded = [("HardSigmoid", "_inline"), ("Mul", "Mul_7"), ("Mul", "Mul_9")];
        let recorded = recorded.map(|(op_type, name)| engine_node(op_type, name));
        let found = attribute_rewritten(&twice, &graph(&rewritten, "y"), &recorded);
        assert_eq!(found.groups[0].attribution, Attribution::Unattributed, "{found:?}");
    }

    #[test]
    fn reshapes_that_the_engine_put_around_a_product_are_its_own() {
        let dense = model(
            &[("MatMul", "matmul", &["x", "w"], "product"), ("Add", "add", &["product", "b"], "sum")],
            "sum",
        );
        assert_eq!(
            groups(
                &dense,
                &[
                    ("Reshape", "gemm_input_reshape", &["x", "flat"], "gemm_input"),
                    ("Gemm", "matmul/MatMulAddFusion", &["gemm_input", "w", "b"], "gemm_output"),
                    ("Reshape", "gemm_output_reshape", &["gemm_output", "full"], "sum"),
                ],
                "sum",
            ),
            [
                row("", "Reshape", Attribution::Engine),
                row("matmul+add", "Gemm", Attribution::Fused),
                row("", "Reshape", Attribution::Engine)
            ]
        );
    }

    #[test]
    fn a_node_that_was_merged_with_an_equal_one_is_removed_and_taken_for_no_part() {
        let twice = model(
            &[
                ("Sigmoid", "first", &["x"], "a"),
                ("Sigmoid", "second", &["x"], "b"),
                ("Tanh", "tanh", &["b"], "c"),
                ("Add", "add", &["a", "c"], "y"),
            ],
            "y",
        );
        let rewritten: [NodeText<'_>; 3] = [
            ("Sigmoid", "first", &["x"], "a"),
            ("Tanh", "tanh", &["a"], "c"),
            ("Add", "add", &["a", "c"], "y"),
        ];
        let engine_nodes = rewritten.map(|(op_type, name, ..)| engine_node(op_type, name));
        let found = attribute_rewritten(&twice, &graph(&rewritten, "y"), &engine_nodes);
        let removed: Vec<&str> = found.removed.iter().map(|&id| twice.graph().node(id).name).collect();
        assert_eq!(removed, ["second"]);
        assert!(found.groups.iter().all(|group| group.attribution == Attribution::Exact), "{found:?}");
    }

    #[test]
    fn what_depends_on_shapes_alone_is_removed_and_not_claimed() {
        let flatten = model(
            &[
                ("Shape", "shape", &["x"], "sizes"),
                ("Gather", "pick", &["sizes", "index"], "size"),
                ("Reshape", "reshape", &["x", "size"], "flat"),
                ("Relu", "relu", &["flat"], "y"),
            ],
            "y",
        );
        let rewritten: [NodeText<'_>; 2] =
            [("Reshape", "reshape", &["x", "size"], "flat"), ("Relu", "relu", &["flat"], "y")];
        let engine_nodes = rewritten.map(|(op_type, name, ..)| engine_node(op_type, name));
        let found = attribute_rewritten(&flatten, &graph(&rewritten, "y"), &engine_nodes);
        let removed: Vec<&str> = found.removed.iter().map(|&id| flatten.graph().node(id).name).collect();
        assert_eq!(removed, ["shape", "pick"]);
        assert!(found.groups.iter().all(|group| group.attribution == Attribution::Exact), "{found:?}");
    }

    #[test]
    fn what_can_not_be_followed_is_unattributed_and_its_nodes_are_not_called_removed() {
        let rewritten: [NodeText<'_>; 2] =
            [("Mystery", "secret_7", &["other"], "bn_out"), ("Relu", "relu", &["bn_out"], "relu_out")];
        let engine_nodes = rewritten.map(|(op_type, name, ..)| engine_node(op_type, name));
        let found = attribute_rewritten(&block(), &graph(&rewritten, "relu_out"), &engine_nodes);
        assert_eq!(found.groups[0].attribution, Attribution::Unattributed);
        assert!(found.groups[0].nodes.is_empty() && found.removed.is_empty());
        assert_eq!(found.unknown, 2);
    }

    #[test]
    fn a_recorded_node_that_the_rewritten_model_lacks_is_unattributed() {
        let found = attribute_rewritten(
            &block(),
            &graph(&[("Relu", "relu", &["bn_out"], "relu_out")], "relu_out"),
            &[engine_node("Relu", "relu"), engine_node("Conv", "conv_of_another_model")],
        );
        assert_eq!(found.groups[1].attribution, Attribution::Unattributed);
    }
}
