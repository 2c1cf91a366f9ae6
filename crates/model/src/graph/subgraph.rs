//! Graphs inside a node's attributes: the values that they read from around them, and names for their nodes.

use std::collections::HashSet;

use super::{Graph, GraphError, Tables, nth};
use crate::proto::{AttributeProto, GraphProto, NodeProto, ValueInfoProto};

/// How deep graphs may be nested in nodes: `If` in `Loop` in `If` is real, dozens are not.
const MAX_DEPTH: usize = 32;

/// The graphs in the attributes of a node.
pub(crate) fn subgraphs(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.as_deref().into_iter().chain(&attribute.graphs))
}

/// Names that the subgraphs of a node read but don't define, each once, in the order of use.
pub(super) fn captured_names<'p>(name: &str, node: &'p NodeProto) -> Result<Vec<&'p str>, GraphError> {
    let mut captures = Captures { node: name, ..Default::default() };
    for graph in subgraphs(node) {
        captures.visit(graph)?;
    }
    Ok(captures.names)
}

/// A copy of a graph from a node's attribute that stands on its own: what it reads from around itself
/// has become further inputs.
pub(crate) struct GraphCopy {
    proto: GraphProto,
    tables: Tables,
    /// The names of the further inputs, in their order.
    pub(crate) captured: Vec<String>,
}

impl GraphCopy {
    pub(crate) fn with_captured_as_inputs(graph: &GraphProto) -> Result<Self, GraphError> {
        let mut captures = Captures::default();
        captures.visit(graph)?;
        let captured: Vec<String> = captures.names.into_iter().map(str::to_owned).collect();
        let mut proto = graph.clone();
        let input = |name: &String| ValueInfoProto { name: Some(name.clone()), ..Default::default() };
        proto.input.extend(captured.iter().map(input));
        let tables = Tables::build(&proto)?;
        Ok(Self { proto, tables, captured })
    }

    pub(crate) fn graph(&self) -> Graph<'_> {
        Graph::new(&self.proto, &self.tables)
    }
}

#[derive(Default)]
struct Captures<'n, 'p> {
    /// The outermost node, to be named in errors.
    node: &'n str,
    /// The names that each graph around the current one, and it itself, defines.
    scopes: Vec<HashSet<&'p str>>,
    seen: HashSet<&'p str>,
    names: Vec<&'p str>,
}

impl<'p> Captures<'_, 'p> {
    fn visit(&mut self, graph: &'p GraphProto) -> Result<(), GraphError> {
        if self.scopes.len() >= MAX_DEPTH {
            return Err(GraphError::TooDeep { node: self.node.to_owned(), limit: MAX_DEPTH });
        }
        self.scopes.push(defined_names(graph));
        for node in &graph.node {
            node.input.iter().for_each(|name| self.read(name));
            for inner in subgraphs(node) {
                self.visit(inner)?;
            }
        }
        graph.output.iter().for_each(|output| self.read(output.name()));
        self.scopes.pop();
        Ok(())
    }

    fn read(&mut self, name: &'p str) {
        let inner = name.is_empty() || self.scopes.iter().any(|scope| scope.contains(name));
        if !inner && self.seen.insert(name) {
            self.names.push(name);
        }
    }
}

fn defined_names(graph: &GraphProto) -> HashSet<&str> {
    let inputs = graph.input.iter().map(|input| input.name());
    let dense = graph.initializer.iter().map(|tensor| tensor.name());
    let sparse = graph.sparse_initializer.iter().filter_map(|tensor| Some(tensor.values.as_ref()?.name()));
    let computed = graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str));
    inputs.chain(dense).chain(sparse).chain(computed).collect()
}

/// Writes the unique names of a graph's nodes into it; nodes of subgraphs that have no name get one
/// that begins with that of the node around them.
pub(crate) fn name_nodes(graph: &mut GraphProto, tables: &Tables) {
    let mut taken = HashSet::new();
    for node in &graph.node {
        collect_inner_names(node, &mut taken);
    }
    for (position, node) in graph.node.iter_mut().enumerate() {
        let name = nth(&tables.node_names, position).to_owned();
        name_inner_nodes(node, &name, &mut taken);
        node.name = Some(name);
    }
}

fn collect_inner_names(node: &NodeProto, taken: &mut HashSet<String>) {
    for inner in subgraphs(node).flat_map(|graph| &graph.node) {
        taken.insert(inner.name().to_owned());
        collect_inner_names(inner, taken);
    }
}

fn name_inner_nodes(node: &mut NodeProto, outer: &str, taken: &mut HashSet<String>) {
    for attribute in &mut node.attribute {
        let AttributeProto { name, g, graphs, .. } = attribute;
        let prefix = format!("{outer}/{}", name.as_deref().unwrap_or_default());
        for graph in g.as_deref_mut().into_iter().chain(graphs) {
            for (position, inner) in graph.node.iter_mut().enumerate() {
                if inner.name().is_empty() {
                    let full = |name: &str| format!("{prefix}/{name}");
                    let name = full(&generated_name(inner, position, |name| taken.contains(&full(name))));
                    taken.insert(name.clone());
                    inner.name = Some(name);
                }
                let name = inner.name().to_owned();
                name_inner_nodes(inner, &name, taken);
            }
        }
    }
}

/// A name made of the operator and the node's position, changed until it isn't taken.
pub(super) fn generated_name(node: &NodeProto, position: usize, taken: impl Fn(&str) -> bool) -> String {
    let op_type = if node.op_type().is_empty() { "Node" } else { node.op_type() };
    let mut name = format!("{op_type}_{position}");
    while taken(&name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_name_steps_aside_for_given_ones() {
        let node = NodeProto { op_type: Some("Conv".into()), ..Default::default() };
        assert_eq!(generated_name(&node, 3, |_| false), "Conv_3");
        assert_eq!(generated_name(&node, 3, |name| ["Conv_3", "Conv_3_"].contains(&name)), "Conv_3__");
        assert_eq!(generated_name(&NodeProto::default(), 0, |_| false), "Node_0");
    }
}
