//! Which of the model's nodes each node of a rewritten model does the work of: those between the values
//! that it reads and the values that it computes.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::meaning::{Meaning, moves_data};
use super::network::{NodeIndex, ValueIndex};

/// The part of the model that a node of the rewritten model stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// For these nodes of the model.
    For(BTreeSet<NodeIndex>),
    /// For nothing of the model: the runtime added it.
    Added,
    /// Its results have no counterpart in the model that could be named.
    Unknown,
}

/// The part of the model that every node of the rewritten model stands for.
pub(super) fn regions(meaning: &Meaning<'_, '_>) -> Vec<Stands> {
    let rewritten = meaning.rewritten;
    let mut stands = vec![Stands::Unknown; rewritten.nodes.len()];
    // Nodes whose results only others of them read, by those that do: a node of the model may be
    // computed by several.
    let mut parts: HashMap<NodeIndex, BTreeSet<NodeIndex>> = HashMap::new();
    for (index, stands) in stands.iter_mut().enumerate() {
        if computes_the_unknown(meaning, index) {
            parts.entry(index).or_default();
        } else {
            let reads = Reads::of(meaning, index);
            for &part in &reads.parts {
                parts.entry(part).or_default().insert(index);
            }
            *stands = region(meaning, index, &reads);
        }
    }
    for (part, wholes) in parts {
        let is_added = |whole: &NodeIndex| stands[*whole] == Stands::Added;
        stands[part] = match (wholes.len(), wholes.first()) {
            (1.., _) if wholes.iter().all(is_added) => Stands::Added,
            (1, Some(&whole)) => stands[whole].clone(),
            _ if moves_data(rewritten.nodes[part].proto.op_type()) => Stands::Added,
            _ => Stands::Unknown,
        };
    }
    stands
}

/// Whether something that a node computes, and that is read, is none of the model's values.
fn computes_the_unknown(meaning: &Meaning<'_, '_>, index: NodeIndex) -> bool {
    meaning.rewritten.nodes[index].outputs.iter().flatten().any(|&output| {
        let row = &meaning.rewritten.values[output];
        (row.is_output || !row.readers.is_empty()) && meaning.of(output).is_none()
    })
}

/// The model's values that a node reads, through nodes that compute none of those.
struct Reads {
    values: HashSet<ValueIndex>,
    parts: BTreeSet<NodeIndex>,
}

impl Reads {
    fn of(meaning: &Meaning<'_, '_>, index: NodeIndex) -> Self {
        let mut reads = Self { values: HashSet::new(), parts: BTreeSet::new() };
        let mut open = vec![index];
        while let Some(node) = open.pop() {
            for &value in meaning.rewritten.nodes[node].reads.iter().flatten() {
                if let Some(own) = meaning.of(value) {
                    reads.values.insert(own);
                } else if let Some(part) = meaning.rewritten.values[value].producer
                    && part != index
                    && reads.parts.insert(part)
                {
                    open.push(part);
                }
            }
        }
        reads
    }
}

fn region(meaning: &Meaning<'_, '_>, index: NodeIndex, reads: &Reads) -> Stands {
    let (model, node) = (meaning.model, &meaning.rewritten.nodes[index]);
    let outputs = meaning.outputs(node);
    let kept = meaning.kept(index);
    // Moving data is all that such a node can do, wherever the runtime put it.
    if let Some(kept) = kept.filter(|_| moves_data(node.proto.op_type())) {
        return Stands::For([kept].into());
    }
    let nothing_new = outputs.iter().all(|&output| reads.values.contains(&model.canonical(output)));
    if meaning.moves(index) || kept.is_none() && nothing_new {
        return Stands::Added;
    }
    if let Some(nodes) = kept.and_then(|kept| downstream(meaning, kept, &outputs, &reads.values)) {
        return Stands::For(nodes);
    }
    let Some(nodes) = between(meaning, &outputs, &reads.values) else { return Stands::Unknown };
    if nodes.is_empty() {
        return Stands::Unknown;
    }
    // Where one node does the work, those that only moved its data were needless.
    let mut workers = nodes.iter().filter(|&&node| !moves_data(model.nodes[node].proto.op_type()));
    match (workers.next(), workers.next()) {
        (Some(&only), None)
            if !reads.parts.is_empty() || model.nodes[only].proto.op_type() == node.proto.op_type() =>
        {
            Stands::For([only].into())
        }
        _ => Stands::For(nodes),
    }
}

/// A node that the runtime kept, and what was fused into it behind. The model's nodes before it
/// were needless: an operator with the same attributes can't do more than it did.
fn downstream(
    meaning: &Meaning<'_, '_>,
    kept: NodeIndex,
    outputs: &[ValueIndex],
    reads: &HashSet<ValueIndex>,
) -> Option<BTreeSet<NodeIndex>> {
    let model = meaning.model;
    let own: HashSet<ValueIndex> =
        model.nodes[kept].outputs.iter().flatten().map(|&output| model.canonical(output)).collect();
    let further: Vec<ValueIndex> =
        outputs.iter().copied().filter(|&output| !own.contains(&model.canonical(output))).collect();
    let stops = reads.union(&own).copied().collect();
    let mut nodes = between(meaning, &further, &stops)?;
    let reads_own = |&node: &NodeIndex| {
        model.nodes[node].reads.iter().flatten().any(|&read| own.contains(&model.canonical(read)))
    };
    let is_reached = further.len() < outputs.len() || nodes.iter().any(reads_own);
    nodes.insert(kept);
    is_reached.then_some(nodes)
}

/// The nodes that values are computed by from others; `None` when they need more than those.
fn between(
    meaning: &Meaning<'_, '_>,
    outputs: &[ValueIndex],
    reads: &HashSet<ValueIndex>,
) -> Option<BTreeSet<NodeIndex>> {
    let model = meaning.model;
    let (mut nodes, mut met) = (BTreeSet::new(), HashSet::new());
    let mut open: Vec<(ValueIndex, bool)> = outputs.iter().map(|&output| (output, true)).collect();
    while let Some((value, is_output)) = open.pop() {
        let row = &model.values[value];
        let is_read = !is_output && reads.contains(&row.canonical);
        // Values that depend on shapes only can be known beforehand.
        let is_known = row.is_constant || !is_output && !row.dynamic;
        if is_read || is_known || !met.insert(value) {
            continue;
        }
        nodes.insert(row.producer?);
        open.extend(model.nodes[row.producer?].reads.iter().flatten().map(|&read| (read, false)));
    }
    Some(nodes)
}
