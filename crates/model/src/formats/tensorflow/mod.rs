//! Frozen graphs of TensorFlow (`.pb`, a `GraphDef`): constants hold the weights.
//!
//! Operators whose meaning is that of one of ONNX's become that, others keep their type in the domain `tensorflow`.
//! Names of operators and attributes are those of TensorFlow's public documentation, fields those of its public
//! `graph.proto`, `node_def.proto`, `attr_value.proto` and `tensor.proto`.
//!
//! | number | field of `GraphDef` |
//! |---|---|
//! | 1 | nodes |
//! | 2 | library of functions |
//! | 4 | versions: 1 that of the program that made it |

mod channels;
mod constant;
mod elementwise;
mod images;
mod layout;
mod map;
mod network;
mod node;
mod parts;
mod reductions;

use std::collections::{HashMap, HashSet, VecDeque};

use bytes::Bytes;

use super::FormatError;
use super::assembly::{OPSET, Told};
use super::protobuf::Message;
use crate::model_kind::ModelKind;
use crate::provenance::{ReadModel, StatedValue};
use network::Network;
use node::Node;

/// The domain of operators that ONNX has no like of.
pub(crate) const DOMAIN: &str = "tensorflow";

/// The outputs of one operator that are named.
const MOST_OUTPUTS: usize = 256;

const NODE: u32 = 1;

/// Whether a file begins with a node: a name, then an operator, of the letters that those can have.
pub(crate) fn is_one(head: &[u8]) -> bool {
    let Some((NODE, node)) = Message::new(head, 0).fields().next() else { return false };
    let mut fields = node.message().fields();
    let [Some((1, name)), Some((2, op))] = [fields.next(), fields.next()] else { return false };
    let is_name = |bytes: &[u8], first: &[u8], more: &[u8]| {
        bytes.len() <= 4096
            && bytes.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || first.contains(byte))
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || more.contains(byte))
    };
    is_name(name.message().bytes, b"._", b"_.\\/>-: ")
        && is_name(op.message().bytes, b"_", b"_>")
        // Behind them come inputs, a device or attributes, unless the node ends here.
        && fields.next().is_none_or(|(field, _)| (3..=7).contains(&field))
}

/// Reads a graph.
///
/// # Errors
/// When it has no nodes, or is too large.
pub(crate) fn read(bytes: &Bytes) -> Result<ReadModel, FormatError> {
    let mut network = Network::new();
    let mut nodes = Vec::new();
    let (mut functions, mut producer) = (0, None);
    let mut fields = Message::new(bytes, 0).fields();
    while let Some((field, value)) = fields.next() {
        match field {
            // One that is cut off says too little of itself.
            NODE if fields.fault.is_none() => {
                let node = Node::of(value.message());
                network.assembly.count(1 + node.inputs.len())?;
                nodes.push(node);
            }
            2 => functions += value.message().each().filter(|(field, _)| *field == 1).count(),
            4 => producer = value.message().field(1).map(|version| version.int()),
            _ => {}
        }
    }
    if nodes.is_empty() {
        return Err(FormatError::Whole("the graph has no nodes".to_owned()));
    }
    let fault = fields.fault;
    let losses = &mut network.assembly.provenance.losses;
    losses.extend(fault.map(|fault| format!("the graph is damaged: {fault}; the nodes before were read")));
    if functions > 0 {
        losses.push(format!("{functions} of the functions that operators call are not looked into"));
    }
    let count = nodes.len() as u64;
    assemble(&mut network, nodes, bytes)?;
    // The graph that the file becomes has its count in `nodes`.
    network.assembly.provenance.state("nodes", "file_nodes", StatedValue::Count(count));
    network.state();
    let kept = std::mem::take(&mut network.kept);
    let losses = &mut network.assembly.provenance.losses;
    losses.extend(kept.sentence("{} of the operators have no like in ONNX: {}"));
    let domains = [("", OPSET), (DOMAIN, 1), (map::MICROSOFT, 1)];
    let (mut proto, provenance) = network.assembly.finish(&domains);
    proto.producer_name = Some("TensorFlow".to_owned());
    proto.producer_version =
        producer.filter(|version| *version > 0).map(|version| format!("graph {version}"));
    Ok(ReadModel { kind: ModelKind::TensorFlow, proto, provenance })
}

/// The node that makes a value, and the output's number.
fn maker(value: &str) -> (&str, usize) {
    match value.rsplit_once(':').and_then(|(node, output)| Some((node, output.parse().ok()?))) {
        Some((node, output)) => (node, output),
        None => (value, 0),
    }
}

/// Adds all nodes in an order in which they can run, which needn't be that of the file.
fn assemble(network: &mut Network, mut nodes: Vec<Node<'_>>, file: &Bytes) -> Result<(), FormatError> {
    let mut twice = Told::default();
    let mut names = HashSet::new();
    nodes.retain(|node| {
        let is_first = names.insert(node.name.to_string());
        if !is_first {
            twice.add(|| node.name.to_string());
        }
        is_first
    });
    let places: HashMap<String, usize> =
        nodes.iter().enumerate().map(|(place, node)| (node.name.to_string(), place)).collect();
    // For each node: who reads it, how many of its own inputs are yet to come, and how many outputs are read.
    let mut readers = vec![Vec::new(); nodes.len()];
    let mut waiting = vec![0usize; nodes.len()];
    let mut outputs = vec![0usize; nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        for input in &node.inputs {
            let (maker, output) = maker(input);
            if let Some(&from) = places.get(maker) {
                readers[from].push(place);
                waiting[place] += 1;
                outputs[from] = outputs[from].max((output + 1).min(MOST_OUTPUTS));
            }
        }
    }
    let mut ready: VecDeque<usize> = (0..nodes.len()).filter(|place| waiting[*place] == 0).collect();
    let mut is_done = vec![false; nodes.len()];
    // Nodes that are left when nothing is ready wait for a circle: a loop, which begins with the `Merge` of its values.
    let is_merge = |place: &usize| nodes[*place].op.ends_with("Merge");
    let (merges, others): (Vec<usize>, Vec<usize>) = (0..nodes.len()).partition(is_merge);
    let mut left = merges.into_iter().chain(others);
    let mut circles = Told::default();
    while let Some(place) = ready.pop_front().or_else(|| left.next()) {
        if std::mem::replace(&mut is_done[place], true) {
            continue;
        }
        let node = &mut nodes[place];
        let from: Vec<Option<usize>> =
            node.inputs.iter().map(|input| places.get(maker(input).0).copied()).collect();
        for (input, from) in node.inputs.iter_mut().zip(from) {
            // The node itself isn't done before it is added.
            if from.is_some_and(|from| !is_done[from] || from == place) {
                circles.add(|| input.to_string());
                network.assembly.reads(input);
                *input = "".into();
            }
        }
        nodes[place].inputs.iter().for_each(|input| network.assembly.reads(input));
        map::node(network, &nodes[place], outputs[place], file)?;
        for reader in std::mem::take(&mut readers[place]) {
            waiting[reader] = waiting[reader].saturating_sub(1);
            if waiting[reader] == 0 && !is_done[reader] {
                ready.push_back(reader);
            }
        }
    }
    for (place, node) in nodes.iter().enumerate() {
        if outputs[place] == 0 && !node.op.starts_with("Placeholder") {
            network.output(&node.name, node.output_type())?;
        }
    }
    let losses = &mut network.assembly.provenance.losses;
    losses.extend(twice.sentence("{} of the nodes have the name of another and were left out: {}"));
    losses.extend(circles.sentence(
        "{} of the values lead back in loops, which a graph here can't have, and were left out: {}",
    ));
    Ok(())
}

#[cfg(test)]
mod tests;
