//! Which of the model's values each value of a rewritten model holds.
//!
//! The runtime keeps the names of values wherever it can. A value that it had to name anew, because it
//! lies in memory in another layout, follows from the nodes around: from one that the runtime kept as
//! it was, from the name of a node that it made for a value, and through nodes that only move data.

use std::collections::HashMap;

use super::network::{Network, NetworkNode, NodeIndex, ValueIndex, keeps_attributes};

/// A domain of ONNX Runtime whose operators work on blocks of channels.
const BLOCKED: &str = "com.microsoft.nchwc";

/// Between a contraction and the value that its node was named after lie no more values than this.
const FUSED_VALUES: usize = 16;

/// How the nodes and values of a rewritten model lie to the model's own.
pub(super) struct Meaning<'n, 'p> {
    pub model: &'n Network<'p>,
    pub rewritten: &'n Network<'p>,
    /// For each value of the rewritten model, the model's (canonical) value that it holds.
    of: Vec<Option<ValueIndex>>,
    /// For each node of the rewritten model, the model's node that it was made of: the one with the
    /// same operator and attributes.
    kept: Vec<Option<NodeIndex>>,
    /// For a node that was named after a value, the model's value.
    named_after: Vec<Option<ValueIndex>>,
    /// Whether a node was found to change nothing but a value's place.
    moves: Vec<bool>,
}

impl<'n, 'p> Meaning<'n, 'p> {
    /// Finds what can be known.
    pub fn find(model: &'n Network<'p>, rewritten: &'n Network<'p>) -> Self {
        let mut meaning = Self {
            model,
            rewritten,
            of: vec![None; rewritten.values.len()],
            kept: vec![None; rewritten.nodes.len()],
            named_after: vec![None; rewritten.nodes.len()],
            moves: vec![false; rewritten.nodes.len()],
        };
        for (name, value) in rewritten.named_values() {
            meaning.of[value] = model.value(name).map(|own| model.canonical(own));
        }
        meaning.find_kept_nodes();
        // The surer ties come first, and are used up before anything else is asked.
        while meaning.through_kept_nodes() || meaning.by_blocked_names() || meaning.through_moves() {}
        meaning
    }

    /// The model's value that a value holds.
    pub fn of(&self, value: ValueIndex) -> Option<ValueIndex> {
        self.of[value]
    }

    /// The model's node of the same operator and attributes that a node was made of.
    pub fn kept(&self, node: NodeIndex) -> Option<NodeIndex> {
        self.kept[node]
    }

    /// Whether a node only moves data, on the runtime's own account.
    pub fn moves(&self, node: NodeIndex) -> bool {
        self.moves[node]
    }

    /// The model's values that a node computes: the one of the same name among equal ones.
    pub fn outputs(&self, node: &NetworkNode<'_>) -> Vec<ValueIndex> {
        let own = |(name, output): (&String, &Option<ValueIndex>)| {
            let meaning = self.of[(*output)?]?;
            Some(self.model.value(name).unwrap_or(meaning))
        };
        node.proto.output.iter().zip(&node.outputs).filter_map(own).collect()
    }

    fn set(&mut self, value: ValueIndex, meaning: ValueIndex) -> bool {
        let meaning = self.model.canonical(meaning);
        let unknown = self.of[value].is_none();
        self.of[value].get_or_insert(meaning);
        unknown
    }

    fn find_kept_nodes(&mut self) {
        let mut names: HashMap<(&str, &str), Option<NodeIndex>> = HashMap::new();
        for (index, node) in self.model.nodes.iter().enumerate() {
            let key = (node.proto.name(), node.proto.op_type());
            names.entry(key).and_modify(|known| *known = None).or_insert(Some(index));
        }
        let rewritten = self.rewritten;
        for (index, node) in rewritten.nodes.iter().enumerate() {
            let (name, op_type) = (node.proto.name(), node.proto.op_type());
            let by_name =
                (!name.is_empty()).then(|| names.get(&(name, op_type)).copied().flatten()).flatten();
            let kept = by_name.or_else(|| self.by_output(node)).or_else(|| {
                let value = blocked_name(node).and_then(|name| self.model.value(name))?;
                self.named_after[index] = Some(value);
                self.nearest_upstream(value, op_type)
            });
            self.kept[index] = kept.filter(|&kept| keeps_attributes(node, &self.model.nodes[kept]));
        }
    }

    /// The model's node of the same operator that computes a value of the same name.
    fn by_output(&self, node: &NetworkNode<'_>) -> Option<NodeIndex> {
        let producers = node.proto.output.iter().filter_map(|name| {
            let producer = self.model.values[self.model.value(name)?].producer?;
            (self.model.nodes[producer].proto.op_type() == node.proto.op_type()).then_some(producer)
        });
        producers.into_iter().next()
    }

    /// The only node of an operator that a value comes from without another contraction between them.
    fn nearest_upstream(&self, value: ValueIndex, op_type: &str) -> Option<NodeIndex> {
        let op_type = if op_type == "Upsample" { "Resize" } else { op_type };
        let (mut open, mut next, mut found) = (vec![value], 0, None);
        while let Some(&value) = open.get(next) {
            next += 1;
            if next > FUSED_VALUES {
                return None;
            }
            let row = &self.model.values[value];
            let Some(producer) = row.producer.filter(|_| row.dynamic) else { continue };
            let node = &self.model.nodes[producer];
            if node.proto.op_type() == op_type {
                if found.is_some_and(|found| found != producer) {
                    return None;
                }
                found = Some(producer);
            } else if !matches!(node.proto.op_type(), "Conv" | "ConvTranspose" | "Gemm" | "MatMul") {
                let reads = node.reads.iter().flatten().copied();
                let further: Vec<_> = reads.filter(|read| !open.contains(read)).collect();
                open.extend(further);
            }
        }
        found
    }

    /// Kept nodes read and compute the same as the model's nodes.
    fn through_kept_nodes(&mut self) -> bool {
        let mut found = false;
        for index in 0..self.rewritten.nodes.len() {
            found |= self.inputs_of_kept(index);
            found |= self.outputs_of_same(index);
        }
        found
    }

    fn inputs_of_kept(&mut self, index: NodeIndex) -> bool {
        let (model, rewritten) = (self.model, self.rewritten);
        let Some(kept) = self.kept[index] else { return false };
        let pairs = rewritten.nodes[index].reads.iter().zip(&model.nodes[kept].reads);
        let mut found = false;
        for (&value, &own) in pairs {
            if let (Some(value), Some(own)) = (value, own)
                && rewritten.values[value].dynamic
                && model.values[own].dynamic
            {
                found |= self.set(value, own);
            }
        }
        found
    }

    /// A node of ONNX's operator that reads what the only such node of the model reads computes the same.
    fn outputs_of_same(&mut self, index: NodeIndex) -> bool {
        let rewritten = self.rewritten;
        let node = &rewritten.nodes[index];
        if node.outputs.iter().flatten().all(|&output| self.of[output].is_some()) {
            return false;
        }
        let Some(twin) = self.twin(node) else { return false };
        let pairs: Vec<_> = node.outputs.iter().zip(&self.model.nodes[twin].outputs).collect();
        let mut found = false;
        for (value, own) in pairs {
            if let (Some(value), Some(own)) = (value, own) {
                found |= self.set(*value, *own);
            }
        }
        found
    }

    fn twin(&self, node: &NetworkNode<'_>) -> Option<NodeIndex> {
        let first = node.reads.iter().flatten().find(|&&read| self.rewritten.values[read].dynamic)?;
        let source = self.of[*first]?;
        let mut found: Option<NodeIndex> = None;
        // Values that are equal have the same readers' results.
        for candidate in self.readers(source) {
            let own = &self.model.nodes[candidate];
            if own.proto.op_type() != node.proto.op_type()
                || !keeps_attributes(node, own)
                || !self.reads_the_same(node, own)
            {
                continue;
            }
            let equal = |a: NodeIndex, b: NodeIndex| {
                let of = |node: NodeIndex| {
                    let outputs = self.model.nodes[node].outputs.iter();
                    outputs
                        .map(|output| output.map(|output| self.model.canonical(output)))
                        .collect::<Vec<_>>()
                };
                of(a) == of(b)
            };
            if found.is_some_and(|found| !equal(found, candidate)) {
                return None;
            }
            found.get_or_insert(candidate);
        }
        found
    }

    /// The model's nodes that read a value, or one that is equal to it.
    fn readers(&self, source: ValueIndex) -> Vec<NodeIndex> {
        let mut readers = self.model.values[source].readers.clone();
        // Copies have readers of their own.
        let mut next = 0;
        while let Some(&reader) = readers.get(next) {
            next += 1;
            for &output in self.model.nodes[reader].outputs.iter().flatten() {
                if self.model.canonical(output) == source {
                    let further = &self.model.values[output].readers;
                    let new: Vec<_> =
                        further.iter().filter(|node| !readers.contains(node)).copied().collect();
                    readers.extend(new);
                }
            }
        }
        readers
    }

    fn reads_the_same(&self, node: &NetworkNode<'_>, own: &NetworkNode<'_>) -> bool {
        let (model, rewritten) = (self.model, self.rewritten);
        let same = |value: ValueIndex, own: ValueIndex| {
            self.of[value] == Some(model.canonical(own))
                || rewritten.values[value].content.is_some()
                    && rewritten.values[value].content == model.values[model.canonical(own)].content
        };
        let all_same = |order: &[usize]| {
            order.iter().zip(&own.reads).all(|(&at, own)| match (node.reads[at], own) {
                (Some(value), Some(own)) => same(value, *own),
                (value, own) => value.is_none() && own.is_none(),
            })
        };
        if node.reads.len() != own.reads.len() {
            return false;
        }
        let order: Vec<usize> = (0..node.reads.len()).collect();
        let commutes = matches!(node.proto.op_type(), "Add" | "Mul") && order.len() == 2;
        all_same(&order) || commutes && all_same(&[1, 0])
    }

    /// A node that is named after a value computes that value, with the operators that it says were
    /// fused into it.
    fn by_blocked_names(&mut self) -> bool {
        let rewritten = self.rewritten;
        for (index, node) in rewritten.nodes.iter().enumerate() {
            let (Some(mut value), Some(&Some(output))) = (self.named_after[index], node.outputs.first())
            else {
                continue;
            };
            if self.of[output].is_some() {
                continue;
            }
            // A fourth input is added to the product.
            if let Some(Some(added)) = node.reads.get(3)
                && !self.is_computed_by(value, &["Add", "Sum"])
            {
                let Some(other) = self.of[*added] else { continue };
                let Some(sum) = self.only_result(value, &["Add", "Sum"], Some(other)) else { continue };
                value = sum;
            }
            let activation = node.proto.attribute.iter().find(|attribute| attribute.name() == "activation");
            if let Some(activation) = activation.and_then(|attribute| attribute.s.as_ref()) {
                let Ok(activation) = std::str::from_utf8(activation) else { continue };
                if !self.is_computed_by(value, &[activation]) {
                    let Some(result) = self.only_result(value, &[activation], None) else { continue };
                    value = result;
                }
            }
            if self.set(output, value) {
                return true;
            }
        }
        false
    }

    fn is_computed_by(&self, value: ValueIndex, op_types: &[&str]) -> bool {
        let producer = self.model.values[value].producer;
        producer.is_some_and(|node| op_types.contains(&self.model.nodes[node].proto.op_type()))
    }

    /// The result that the only node of an operator makes of a value (and of another).
    fn only_result(
        &self,
        value: ValueIndex,
        op_types: &[&str],
        other: Option<ValueIndex>,
    ) -> Option<ValueIndex> {
        let fits = |&node: &NodeIndex| {
            let node = &self.model.nodes[node];
            let reads = |wanted: ValueIndex| {
                node.reads.iter().flatten().any(|&read| self.model.canonical(read) == wanted)
            };
            op_types.contains(&node.proto.op_type()) && other.is_none_or(reads)
        };
        let mut readers = self.readers(self.model.canonical(value)).into_iter().filter(fits);
        let only = readers.next()?;
        if readers.next().is_some() {
            return None;
        }
        self.model.nodes[only].outputs.first().copied().flatten()
    }

    /// A value that was only moved is the same value. One step at a time, as it may tell others.
    fn through_moves(&mut self) -> bool {
        let rewritten = self.rewritten;
        for (index, node) in rewritten.nodes.iter().enumerate() {
            let (Some(&Some(input)), Some(&Some(output))) = (node.reads.first(), node.outputs.first()) else {
                continue;
            };
            if !moves_data(node.proto.op_type()) {
                continue;
            }
            let found = match (self.of[input], self.of[output]) {
                (Some(meaning), None) => self.set(output, meaning),
                (None, Some(meaning)) => self.set(input, meaning),
                _ => false,
            };
            if found {
                self.moves[index] = true;
                return true;
            }
        }
        false
    }
}

/// The value that a node of the blocked layout was named after: the runtime puts an ending behind its
/// name, and a number where the name was taken.
fn blocked_name<'p>(node: &NetworkNode<'p>) -> Option<&'p str> {
    if node.proto.domain() != BLOCKED {
        return None;
    }
    let (name, ending) = node.proto.name().rsplit_once("_nchwc")?;
    let number = ending.strip_prefix("_token_").or_else(|| ending.strip_prefix('_')).unwrap_or("0");
    let numbered = ending.is_empty() || number.bytes().all(|byte| byte.is_ascii_digit());
    numbered.then(|| name.strip_suffix("_bn").unwrap_or(name))
}

/// Whether an operator changes only where or in which form data lie.
pub(super) fn moves_data(op_type: &str) -> bool {
    const MOVES: [&str; 12] = [
        "Reshape",
        "Transpose",
        "Cast",
        "Squeeze",
        "Unsqueeze",
        "Flatten",
        "Identity",
        "Dropout",
        "ReorderInput",
        "ReorderOutput",
        "MemcpyFromHost",
        "MemcpyToHost",
    ];
    MOVES.contains(&op_type)
}
