//! Builds a graph's tables from what the file has, and refuses graphs that can't run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use opscope_trace::Pool;

use super::subgraph::{captured_names, generated_name};
use super::{Declaration, GraphError, NodeId, NodeRow, Tables, ValueId, ValueKind, ValueRow};
use crate::proto::{GraphProto, NodeProto};

/// Positions are kept in 32 bits, with room to spare.
const MAX_CONNECTIONS: usize = 1 << 30;

impl Tables {
    /// The tables of a graph.
    ///
    /// # Errors
    /// When a value is defined twice or not at all, or nodes wait for one another.
    pub(crate) fn build(proto: &GraphProto) -> Result<Self, GraphError> {
        check_size(proto)?;
        let mut builder = Builder::default();
        builder.name_nodes(&proto.node);
        builder.define_stored_values(proto)?;
        for (position, node) in proto.node.iter().enumerate() {
            builder.define_outputs(position, node)?;
        }
        for (position, node) in proto.node.iter().enumerate() {
            builder.connect(position, node)?;
        }
        builder.note_declarations(proto);
        builder.find_outputs(proto)?;
        builder.finish()
    }
}

fn check_size(proto: &GraphProto) -> Result<(), GraphError> {
    let of_node = |node: &NodeProto| 1 + node.input.len() + node.output.len();
    let stored = proto.initializer.len() + proto.sparse_initializer.len() + proto.input.len();
    let size = proto.node.iter().map(of_node).sum::<usize>() + stored;
    if size > MAX_CONNECTIONS { Err(GraphError::TooLarge { limit: MAX_CONNECTIONS }) } else { Ok(()) }
}

/// The tables as they grow; nodes are known by their position in the file until they are sorted.
#[derive(Default)]
struct Builder {
    tables: Tables,
    /// The position of the node that computes each value.
    producers: Vec<Option<usize>>,
}

impl Builder {
    /// Gives every node a unique name: its own unless it has none or another had it before.
    fn name_nodes(&mut self, nodes: &[NodeProto]) {
        let given: HashSet<&str> = nodes.iter().map(NodeProto::name).collect();
        let names = &mut self.tables.node_names;
        for (position, node) in nodes.iter().enumerate() {
            let named = !node.name().is_empty() && names.lookup(node.name()).is_none();
            if named {
                names.intern(node.name());
            } else {
                names.intern(&generated_name(node, position, |name| given.contains(name)));
            }
            self.tables.nodes.push(NodeRow {
                position: position as u32,
                named,
                inputs: Default::default(),
                outputs: Default::default(),
                captured: Default::default(),
            });
        }
    }

    /// Defines initializers, then the inputs that no initializer stands for.
    fn define_stored_values(&mut self, proto: &GraphProto) -> Result<(), GraphError> {
        for (index, tensor) in proto.initializer.iter().enumerate() {
            if let Some(id) = self.define(tensor.name(), ValueKind::Initializer, None)? {
                self.tables.values[id.index()].initializer = Some(index as u32);
            }
        }
        for tensor in &proto.sparse_initializer {
            let name = tensor.values.as_ref().map_or("", |values| values.name());
            self.define(name, ValueKind::Initializer, None)?;
        }
        let mut listed = HashSet::new();
        for input in &proto.input {
            if !listed.insert(input.name()) {
                let twice = "an input of the graph".to_owned();
                return Err(GraphError::Duplicate {
                    value: input.name().to_owned(),
                    first: twice.clone(),
                    second: twice,
                });
            }
            if self.lookup(input.name()).is_none()
                && let Some(id) = self.define(input.name(), ValueKind::Input, None)?
            {
                self.tables.inputs.push(id);
            }
        }
        Ok(())
    }

    fn define_outputs(&mut self, position: usize, node: &NodeProto) -> Result<(), GraphError> {
        let mut outputs = Vec::with_capacity(node.output.len());
        for name in &node.output {
            outputs.push(self.define(name, ValueKind::Intermediate, Some(position))?);
        }
        self.tables.nodes[position].outputs = self.tables.slots.push(outputs);
        Ok(())
    }

    fn connect(&mut self, position: usize, node: &NodeProto) -> Result<(), GraphError> {
        let mut inputs = Vec::with_capacity(node.input.len());
        for name in &node.input {
            inputs.push(if name.is_empty() { None } else { Some(self.resolve(position, name)?) });
        }
        let mut captured = Vec::new();
        for name in captured_names(self.node_name(position), node)? {
            let id = self.resolve(position, name)?;
            if !inputs.contains(&Some(id)) {
                captured.push(id);
            }
        }
        let row = &mut self.tables.nodes[position];
        row.inputs = self.tables.slots.push(inputs);
        row.captured = self.tables.captured.push(captured);
        Ok(())
    }

    /// Notes where values are declared: as an input, else as an output, else in `value_info`.
    fn note_declarations(&mut self, proto: &GraphProto) {
        let inputs = (proto.input.iter().enumerate()).map(|(n, info)| (info, Declaration::Input(n as u32)));
        let infos =
            (proto.value_info.iter().enumerate()).map(|(n, info)| (info, Declaration::ValueInfo(n as u32)));
        let outputs =
            (proto.output.iter().enumerate()).map(|(n, info)| (info, Declaration::Output(n as u32)));
        for (info, declaration) in inputs.chain(outputs).chain(infos) {
            let Some(id) = self.lookup(info.name()) else { continue };
            let known = &mut self.tables.values[id.index()].declaration;
            // An entry without a type says nothing that could stand in the way of a later one.
            if known.is_none() && info.r#type.as_ref().is_some_and(|declared| declared.value.is_some()) {
                *known = Some(declaration);
            }
        }
    }

    fn find_outputs(&mut self, proto: &GraphProto) -> Result<(), GraphError> {
        for output in &proto.output {
            let Some(id) = self.lookup(output.name()) else {
                return Err(GraphError::DanglingOutput { value: output.name().to_owned() });
            };
            self.tables.values[id.index()].is_output = true;
            self.tables.outputs.push(id);
        }
        Ok(())
    }

    /// Adds a value, unless its name is empty, which stands for a value that is left out.
    fn define(
        &mut self,
        name: &str,
        kind: ValueKind,
        producer: Option<usize>,
    ) -> Result<Option<ValueId>, GraphError> {
        if name.is_empty() {
            return Ok(None);
        }
        if let Some(first) = self.lookup(name) {
            return Err(GraphError::Duplicate {
                value: name.to_owned(),
                first: self.origin(self.tables.values[first.index()].kind, self.producers[first.index()]),
                second: self.origin(kind, producer),
            });
        }
        let id = ValueId::from_index(self.tables.value_names.intern(name).index());
        self.producers.push(producer);
        self.tables.values.push(ValueRow {
            kind,
            producer: None,
            consumers: Default::default(),
            declaration: None,
            initializer: None,
            is_output: false,
        });
        Ok(Some(id))
    }

    fn lookup(&self, name: &str) -> Option<ValueId> {
        self.tables.value_names.lookup(name).map(|id| ValueId::from_index(id.index()))
    }

    fn resolve(&self, position: usize, name: &str) -> Result<ValueId, GraphError> {
        self.lookup(name).ok_or_else(|| GraphError::DanglingInput {
            node: self.node_name(position).to_owned(),
            value: name.to_owned(),
        })
    }

    fn origin(&self, kind: ValueKind, producer: Option<usize>) -> String {
        match (kind, producer) {
            (_, Some(position)) => format!("the node `{}`", self.node_name(position)),
            (ValueKind::Initializer, None) => "an initializer".to_owned(),
            (ValueKind::Input | ValueKind::Intermediate, None) => "an input of the graph".to_owned(),
        }
    }

    fn node_name(&self, position: usize) -> &str {
        super::nth(&self.tables.node_names, position)
    }

    /// Sorts the nodes, and turns positions into ids.
    fn finish(mut self) -> Result<Tables, GraphError> {
        let order = self.order()?;
        let mut by_position = vec![NodeId::from_index(0); order.len()];
        for (index, &position) in order.iter().enumerate() {
            by_position[position] = NodeId::from_index(index);
        }
        let tables = &mut self.tables;
        tables.nodes.sort_by_key(|row| by_position[row.position as usize]);
        for (row, producer) in tables.values.iter_mut().zip(&self.producers) {
            row.producer = producer.map(|position| by_position[position]);
        }
        let mut consumers = vec![Vec::new(); tables.values.len()];
        for (index, row) in tables.nodes.iter().enumerate() {
            for value in reads(row, &tables.slots, &tables.captured) {
                let list: &mut Vec<NodeId> = &mut consumers[value.index()];
                if list.last() != Some(&NodeId::from_index(index)) {
                    list.push(NodeId::from_index(index));
                }
            }
        }
        for (row, list) in tables.values.iter_mut().zip(consumers) {
            row.consumers = tables.consumers.push(list);
        }
        tables.by_position = by_position;
        Ok(self.tables)
    }

    /// Positions in an order in which the nodes can run; of those that could be next, always the
    /// first of the file, so that a file that is in order stays so.
    fn order(&self) -> Result<Vec<usize>, GraphError> {
        let nodes = &self.tables.nodes;
        let mut waiting_for = vec![0usize; nodes.len()];
        let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (position, row) in nodes.iter().enumerate() {
            for producer in self.producers_of(row) {
                waiters[producer].push(position);
                waiting_for[position] += 1;
            }
        }
        let ready = waiting_for.iter().enumerate().filter(|(_, count)| **count == 0);
        let mut ready: BinaryHeap<_> = ready.map(|(position, _)| Reverse(position)).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(Reverse(position)) = ready.pop() {
            order.push(position);
            for &waiter in &waiters[position] {
                waiting_for[waiter] -= 1;
                if waiting_for[waiter] == 0 {
                    ready.push(Reverse(waiter));
                }
            }
        }
        if order.len() == nodes.len() { Ok(order) } else { Err(self.cycle(&waiting_for)) }
    }

    /// Positions of the nodes that a node waits for, once for each value that it reads.
    fn producers_of(&self, row: &NodeRow) -> impl Iterator<Item = usize> {
        reads(row, &self.tables.slots, &self.tables.captured).filter_map(|id| self.producers[id.index()])
    }

    /// A circle among the nodes that still wait: from one of them back through what it waits for,
    /// until a node comes again.
    fn cycle(&self, waiting_for: &[usize]) -> GraphError {
        let waits = |position: &usize| waiting_for[*position] > 0;
        let mut path = Vec::new();
        let mut place = HashMap::new();
        let mut next = (0..waiting_for.len()).find(|position| waits(position));
        while let Some(position) = next {
            if let Some(start) = place.insert(position, path.len()) {
                path.drain(..start);
                break;
            }
            path.push(position);
            next = self.producers_of(&self.tables.nodes[position]).find(|producer| waits(producer));
        }
        // Found against the flow of data; told along with it.
        let names = path.iter().rev().map(|&position| self.node_name(position).to_owned());
        GraphError::Cycle { nodes: names.collect() }
    }
}

fn reads<'t>(
    row: &NodeRow,
    slots: &'t Pool<Option<ValueId>>,
    captured: &'t Pool<ValueId>,
) -> impl Iterator<Item = ValueId> + use<'t> {
    slots.get(row.inputs).iter().flatten().chain(captured.get(row.captured)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_interned_at_the_position_of_their_node() {
        let mut builder = Builder::default();
        let node = |name: &str| NodeProto {
            name: Some(name.into()),
            op_type: Some("Relu".into()),
            ..Default::default()
        };
        builder.name_nodes(&[node("a"), node("a"), node(""), node("Relu_1")]);
        let names: Vec<_> = builder.tables.node_names.iter().map(|(_, name)| name.to_owned()).collect();
        assert_eq!(names, ["a", "Relu_1_", "Relu_2", "Relu_1"]);
        assert_eq!(
            builder.tables.nodes.iter().map(|row| row.named).collect::<Vec<_>>(),
            [true, false, false, true]
        );
    }
}
