//! Names within the subgraphs of nodes: those that are taken, and values that are read from around them. The
//! model's loader has limited how deep graphs lie within one another.

use std::collections::{BTreeSet, HashSet};

use opscope_model::proto::{GraphProto, NodeProto};

/// The graphs that a node holds.
fn graphs_of(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.as_deref().into_iter().chain(&attribute.graphs))
}

/// The values that a graph defines before its nodes compute anything.
fn given(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let inputs = graph.input.iter().map(|input| input.name());
    let stored = graph.initializer.iter().map(|tensor| tensor.name());
    let sparse = graph.sparse_initializer.iter().filter_map(|tensor| Some(tensor.values.as_ref()?.name()));
    inputs.chain(stored).chain(sparse)
}

/// Every name of a graph and of those within it.
pub(super) fn note_names(graph: &GraphProto, taken: &mut HashSet<String>) {
    taken.extend(given(graph).map(str::to_owned));
    for node in &graph.node {
        taken.extend(node.output.iter().cloned());
        taken.insert(node.name().to_owned());
        graphs_of(node).for_each(|inner| note_names(inner, taken));
    }
}

/// The values that a node's subgraphs read and don't define themselves.
pub(super) fn captured(node: &NodeProto) -> Vec<String> {
    let (mut read, mut defined) = (BTreeSet::new(), HashSet::new());
    graphs_of(node).for_each(|graph| note_reads(graph, &mut read, &mut defined));
    let outside = read.into_iter().filter(|name| !name.is_empty() && !defined.contains(name));
    outside.map(str::to_owned).collect()
}

fn note_reads<'g>(graph: &'g GraphProto, read: &mut BTreeSet<&'g str>, defined: &mut HashSet<&'g str>) {
    defined.extend(given(graph));
    read.extend(graph.output.iter().map(|output| output.name()));
    for node in &graph.node {
        read.extend(node.input.iter().map(String::as_str));
        defined.extend(node.output.iter().map(String::as_str));
        graphs_of(node).for_each(|inner| note_reads(inner, read, defined));
    }
}
