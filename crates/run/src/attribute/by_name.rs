//! Attribution by the names that tract gives its nodes.
//!
//! tract names a node after the model's node that it was made of, with an ending. The model's nodes and
//! the engine's are tied to one another in three steps, and whatever hangs together becomes one
//! operator:
//!
//! 1. An engine node is tied to the model's node that it is named after.
//! 2. An engine node that does the work of several takes the model's nodes around that nothing else
//!    computes. Its operator sets bounds to that: a chain of operations takes as many as it
//!    lists; an activation takes what lies between one value and the product that ends it; a product
//!    of matrices takes the nodes upstream up to the values that other engine nodes deliver.
//! 3. A node that is still untied was folded into the node before it (a normalisation into a convolution's
//!    weights), or was computed when the model was loaded, or was needless.

use std::collections::BTreeSet;

use opscope_model::{Graph, NodeId, ValueId, ValueKind};
use opscope_trace::Attribution;

use super::tract_operators::{
    chain_parts, does_the_work_of_several, is_activation, is_contraction, is_engine_contraction, moves_data,
    take_parts,
};
use super::{Group, Groups};
use crate::engine::EngineNode;
use crate::node_names::NodeNames;

/// Ties tract's nodes to the nodes of the model's graph.
pub fn attribute(graph: Graph<'_>, engine_nodes: &[EngineNode]) -> Groups {
    let mut ties = Ties::new(graph, engine_nodes);
    ties.tie_by_name();
    ties.claim_chains();
    ties.claim_activations();
    ties.claim_upstream();
    ties.fold_the_rest();
    ties.into_groups()
}

/// A union of sets over the model's nodes and the engine's nodes.
struct Ties<'a> {
    graph: Graph<'a>,
    engine_nodes: &'a [EngineNode],
    /// For each of the model's nodes, then for each engine node, a member of the same set.
    parent: Vec<usize>,
    /// The model's nodes that each engine node was named after.
    anchors: Vec<Vec<NodeId>>,
    /// The engine nodes that were named after each of the model's nodes.
    anchored: Vec<Vec<u32>>,
    /// Whether each of the model's nodes has been tied to an engine node.
    tied: Vec<bool>,
    /// Whether the result of each of the model's nodes depends on the values of the inputs, and not
    /// only on their shapes.
    dynamic: Vec<bool>,
}

impl<'a> Ties<'a> {
    fn new(graph: Graph<'a>, engine_nodes: &'a [EngineNode]) -> Self {
        let nodes = graph.node_count();
        Self {
            graph,
            engine_nodes,
            parent: (0..nodes + engine_nodes.len()).collect(),
            anchors: vec![Vec::new(); engine_nodes.len()],
            anchored: vec![Vec::new(); nodes],
            tied: vec![false; nodes],
            dynamic: dynamic_nodes(graph),
        }
    }

    fn root(&mut self, mut member: usize) -> usize {
        while self.parent[member] != member {
            self.parent[member] = self.parent[self.parent[member]];
            member = self.parent[member];
        }
        member
    }

    fn tie(&mut self, node: NodeId, engine_node: usize) {
        let (a, b) = (self.root(node.index()), self.root(self.graph.node_count() + engine_node));
        // The smaller number stays the root, so that a set with a node of the model has one as root.
        self.parent[a.max(b)] = a.min(b);
        self.tied[node.index()] = true;
    }

    fn anchor(&mut self, node: NodeId, engine_node: usize) {
        if !self.anchors[engine_node].contains(&node) {
            self.anchors[engine_node].push(node);
            self.anchored[node.index()].push(engine_node as u32);
        }
        self.tie(node, engine_node);
    }

    /// Step 1.
    fn tie_by_name(&mut self) {
        let names = NodeNames::of(self.graph);
        for (position, engine_node) in self.engine_nodes.iter().enumerate() {
            if let Some(node) = names.by_prefix(&engine_node.name) {
                self.anchor(node, position);
            }
        }
    }

    /// Step 2, for chains of operations: those that they list, and no others.
    fn claim_chains(&mut self) {
        for position in 0..self.engine_nodes.len() {
            let Some(mut left) = chain_parts(&self.engine_nodes[position].op_type) else { continue };
            let mut open = self.anchors[position].clone();
            for &node in &open {
                take_parts(self.graph.node(node).op_type, &mut left);
            }
            let mut next = 0;
            while let Some(&node) = open.get(next) {
                next += 1;
                for producer in self.unclaimed_producers(node) {
                    if !open.contains(&producer) && take_parts(self.graph.node(producer).op_type, &mut left) {
                        self.tie(producer, position);
                        open.push(producer);
                    }
                }
            }
        }
    }

    /// Step 2, for activations that the model spells out: tract names them after a node in their midst.
    fn claim_activations(&mut self) {
        for position in 0..self.engine_nodes.len() {
            let Some(&anchor) = self.anchors[position].first() else { continue };
            let is_itself = is_activation(self.graph.node(anchor).op_type);
            if is_itself || !is_activation(&self.engine_nodes[position].op_type) {
                continue;
            }
            for node in self.activation_around(anchor).unwrap_or_default() {
                self.tie(node, position);
            }
        }
    }

    /// The nodes around one that make an activation with it: on to the product of two computed values
    /// that ends it, and back until all of it reads one value. `None` when there are no such nodes.
    fn activation_around(&self, anchor: NodeId) -> Option<Vec<NodeId>> {
        let mut inside = vec![anchor];
        let mut last = anchor;
        while !(self.graph.node(last).is("Mul") && self.dynamic_reads(last).len() == 2) {
            let output = self.graph.value(self.graph.node(last).output(0)?);
            last = *output.consumers.iter().find(|&&reader| self.is_unclaimed(reader))?;
            inside.push(last);
        }
        loop {
            let entries: BTreeSet<ValueId> = (inside.iter().flat_map(|&node| self.dynamic_reads(node)))
                .filter(|&value| self.graph.value(value).producer.is_none_or(|node| !inside.contains(&node)))
                .collect();
            if entries.len() <= 1 {
                return Some(inside);
            }
            let producers = entries.into_iter().filter_map(|value| self.graph.value(value).producer);
            inside.push(producers.filter(|&producer| self.is_unclaimed(producer)).max()?);
        }
    }

    /// The values that a node reads and that depend on the inputs.
    fn dynamic_reads(&self, node: NodeId) -> Vec<ValueId> {
        let depends = |value: &ValueId| {
            let value = self.graph.value(*value);
            let computed = value.producer.is_some_and(|producer| self.dynamic[producer.index()]);
            computed || value.kind == ValueKind::Input
        };
        self.graph.node(node).reads().filter(depends).collect()
    }

    fn unclaimed_producers(&self, node: NodeId) -> Vec<NodeId> {
        let node = self.graph.node(node);
        let producers = node.reads().filter_map(|value| self.graph.value(value).producer);
        producers.filter(|&producer| self.dynamic[producer.index()] && self.is_unclaimed(producer)).collect()
    }

    /// Step 2, for products of matrices and norms.
    fn claim_upstream(&mut self) {
        for position in 0..self.engine_nodes.len() {
            if !does_the_work_of_several(&self.engine_nodes[position], &self.anchors[position], self.graph) {
                continue;
            }
            let mut open = self.anchors[position].clone();
            let mut next = 0;
            while let Some(&node) = open.get(next) {
                next += 1;
                if next > self.anchors[position].len() && self.ends_the_claim(node) {
                    continue;
                }
                for producer in self.unclaimed_producers(node) {
                    if !open.contains(&producer) {
                        self.tie(producer, position);
                        open.push(producer);
                    }
                }
            }
        }
    }

    /// A contraction's own inputs are computed by others.
    fn ends_the_claim(&self, node: NodeId) -> bool {
        is_contraction(self.graph.node(node).op_type)
    }

    /// Whether no engine node delivers the node's result: none was named after it, or only ones
    /// that prepare a contraction which is done elsewhere.
    fn is_unclaimed(&self, node: NodeId) -> bool {
        let anchored = &self.anchored[node.index()];
        if anchored.is_empty() {
            return !self.tied[node.index()];
        }
        is_contraction(self.graph.node(node).op_type)
            && !anchored
                .iter()
                .any(|&position| is_engine_contraction(&self.engine_nodes[position as usize].op_type))
    }

    /// Step 3.
    fn fold_the_rest(&mut self) {
        for node in self.graph.nodes() {
            let index = node.id.index();
            if self.tied[index] || !self.dynamic[index] || moves_data(node.op_type) {
                continue;
            }
            // Where several results meet, the work was done once the last of them was there.
            let producers = node.reads().filter_map(|value| self.graph.value(value).producer);
            let computes = |producer: &NodeId| {
                self.tied[producer.index()] && !moves_data(self.graph.node(*producer).op_type)
            };
            let before = producers.filter(computes).max();
            if let Some(before) = before {
                let (a, b) = (self.root(before.index()), self.root(node.id.index()));
                self.parent[a.max(b)] = a.min(b);
                self.tied[node.id.index()] = true;
            }
        }
    }

    fn into_groups(mut self) -> Groups {
        let node_count = self.graph.node_count();
        let mut group_of = vec![None; self.parent.len()];
        let mut groups: Vec<Group> = Vec::new();
        for position in 0..self.engine_nodes.len() {
            let root = self.root(node_count + position);
            let group = *group_of[root].get_or_insert_with(|| {
                groups.push(Group::default());
                groups.len() - 1
            });
            groups[group].engine_nodes.push(position as u32);
        }
        let mut removed = Vec::new();
        for node in self.graph.nodes() {
            let root = self.root(node.id.index());
            match group_of[root] {
                Some(group) => groups[group].nodes.push(node.id),
                None => removed.push(node.id),
            }
        }
        for group in &mut groups {
            group.attribution = match group.nodes.len() {
                0 => Attribution::Unattributed,
                1 => Attribution::Exact,
                _ => Attribution::Fused,
            };
        }
        Groups { groups, removed, unknown: 0 }
    }
}

/// Marks the nodes whose results depend on the values of the inputs: an engine can compute the
/// others beforehand.
fn dynamic_nodes(graph: Graph<'_>) -> Vec<bool> {
    let mut dynamic = vec![false; graph.node_count()];
    for node in graph.nodes() {
        let depends = node.reads().any(|value| {
            let value = graph.value(value);
            value.kind == ValueKind::Input || value.producer.is_some_and(|producer| dynamic[producer.index()])
        });
        dynamic[node.id.index()] = depends && !matches!(node.op_type, "Shape" | "Size" | "ConstantOfShape");
    }
    dynamic
}

#[cfg(test)]
mod tests {
    use opscope_model::Model;

    use super::super::testing::{block, engine_node, model};
    use super::*;

    /// The groups as names of nodes, engine nodes and the way they were matched.
    fn groups(model: &Model, engine_nodes: &[EngineNode]) -> Vec<(String, Vec<u32>, Attribution)> {
        let found = attribute(model.graph(), engine_nodes);
        let names = |nodes: &[NodeId]| {
            nodes.iter().map(|&id| model.graph().node(id).name).collect::<Vec<_>>().join("+")
        };
        found
            .groups
            .iter()
            .map(|group| (names(&group.nodes), group.engine_nodes.clone(), group.attribution))
            .collect()
    }

    #[test]
    fn parts_of_a_convolution_are_one_operator_with_the_normalisation_folded_into_its_weights() {
        let engine_nodes = [
            engine_node("Pad", "conv.pad"),
            engine_node("LazyIm2col", "conv.lazyIm2col"),
            engine_node("OptMatMul", "conv.matmatmul"),
            engine_node("OptMaxByScalar", "relu.low"),
        ];
        assert_eq!(
            groups(&block(), &engine_nodes),
            [
                ("conv+bn".to_owned(), vec![0, 1, 2], Attribution::Fused),
                ("relu".to_owned(), vec![3], Attribution::Exact)
            ]
        );
    }

    #[test]
    fn a_multiplication_named_after_the_activation_takes_what_lies_before_it() {
        let engine_nodes =
            [engine_node("OptMatMulPack", "conv.pack_a"), engine_node("OptMatMul", "relu.low.prefused")];
        assert_eq!(
            groups(&block(), &engine_nodes),
            [("conv+bn+relu".to_owned(), vec![0, 1], Attribution::Fused)]
        );
    }

    #[test]
    fn a_multiplication_ends_its_claim_at_results_that_others_deliver() {
        let residual = model(
            &[
                ("Relu", "before", &["x"], "before_out"),
                ("Conv", "conv", &["before_out", "w"], "conv_out"),
                ("Add", "add", &["conv_out", "before_out"], "add_out"),
                ("Relu", "after", &["add_out"], "after_out"),
            ],
            "after_out",
        );
        let engine_nodes =
            [engine_node("OptMaxByScalar", "before.low"), engine_node("OptMatMul", "after.low.prefused")];
        assert_eq!(
            groups(&residual, &engine_nodes),
            [
                ("before".to_owned(), vec![0], Attribution::Exact),
                ("conv+add+after".to_owned(), vec![1], Attribution::Fused)
            ]
        );
    }

    #[test]
    fn an_engine_node_that_matches_nothing_is_shown_as_such() {
        let engine_nodes =
            [engine_node("Conv", "conv"), engine_node("Mystery", "secret_7"), engine_node("Relu", "relu")];
        let found = groups(&block(), &engine_nodes);
        assert_eq!(found[1], (String::new(), vec![1], Attribution::Unattributed));
    }

    #[test]
    fn an_activation_takes_what_it_is_made_of_and_a_chain_no_more_than_it_lists() {
        let net = model(
            &[
                ("Conv", "conv1", &["x", "w1"], "a"),
                ("BatchNormalization", "bn", &["a", "scale"], "b"),
                ("Sigmoid", "sigmoid", &["b"], "c"),
                ("Mul", "mul", &["b", "c"], "d"),
                ("Conv", "conv2", &["d", "w2"], "e"),
                ("Add", "add", &["e", "d"], "f"),
                ("Relu", "relu", &["f"], "y"),
            ],
            "y",
        );
        let engine_nodes = [
            engine_node("OptMatMul", "conv1.matmatmul"),
            engine_node("Silu", "sigmoid.silu"),
            engine_node("OptMatMul", "conv2.matmatmul"),
            engine_node("OptBinChain(Add+Max)", "relu.low"),
        ];
        assert_eq!(
            groups(&net, &engine_nodes),
            [
                ("conv1+bn".to_owned(), vec![0], Attribution::Fused),
                ("sigmoid+mul".to_owned(), vec![1], Attribution::Fused),
                ("conv2".to_owned(), vec![2], Attribution::Exact),
                ("add+relu".to_owned(), vec![3], Attribution::Fused)
            ]
        );
    }

    #[test]
    fn a_gelu_that_is_named_after_its_error_function_takes_all_of_its_formula() {
        let net = model(
            &[
                ("Conv", "conv", &["x", "w"], "a"),
                ("Div", "div", &["a", "root"], "b"),
                ("Erf", "erf", &["b"], "c"),
                ("Add", "add", &["c", "one"], "d"),
                ("Mul", "mul", &["a", "d"], "e"),
                ("Mul", "half", &["e", "point_five"], "y"),
            ],
            "y",
        );
        let engine_nodes =
            [engine_node("OptMatMul", "conv.matmatmul"), engine_node("GeluExact", "erf.gelu_exact")];
        assert_eq!(
            groups(&net, &engine_nodes),
            [
                ("conv".to_owned(), vec![0], Attribution::Exact),
                ("div+erf+add+mul+half".to_owned(), vec![1], Attribution::Fused)
            ]
        );
    }

    #[test]
    fn every_engine_node_is_in_exactly_one_group() {
        let engine_nodes: Vec<EngineNode> = ["conv", "bn", "relu", "conv.x", "relu_out", "other"]
            .map(|name| engine_node("Conv", name))
            .into();
        let found = attribute(block().graph(), &engine_nodes);
        let mut all: Vec<u32> = found.groups.iter().flat_map(|group| group.engine_nodes.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5]);
    }
}
