//! Attribution by the model as the runtime rewrote it.
//!
//! 1. Each value of the rewritten model is tied to the value of the model that it holds (`meaning.rs`).
//! 2. A node of the rewritten model does the work of the model's nodes between the values that it
//!    reads and those that it computes (`region.rs`).
//! 3. Engine nodes that stand for the same nodes of the model are one operator.
//!
//! What doesn't follow from that stays without a name of the model.

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

    let node_of = nodes_by_name(&rewritten);
    let mut ids = vec![None; own_graph.node.len()];
    model.graph().nodes().for_each(|node| ids[node.position] = Some(node.id));
    let id_of = |node: NodeIndex| own.nodes[node].position.and_then(|position| ids[position]);

    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<&BTreeSet<NodeIndex>, usize> = HashMap::new();
    for (position, engine_node) in engine_nodes.iter().enumerate() {
        let key = (engine_node.name.as_str(), engine_node.op_type.as_str());
        let stands = node_of.get(&key).copied().flatten().map_or(&Stands::Unknown, |node| &stands[node]);
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

/// The nodes of a rewritten model by name and operator; `None` where several are called the same.
fn nodes_by_name<'p>(network: &Network<'p>) -> HashMap<(&'p str, &'p str), Option<NodeIndex>> {
    let mut nodes = HashMap::new();
    for (index, node) in network.nodes.iter().enumerate() {
        let key = (node.proto.name(), node.proto.op_type());
        nodes.entry(key).and_modify(|known| *known = None).or_insert(Some(index));
    }
    nodes
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
