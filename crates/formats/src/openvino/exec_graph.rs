//! The executable graph (`-exec_graph_path`): the nodes that run, in XML of OpenVINO's own layout.
//!
//! ```text
//! <net name="…"><layers>
//!   <layer id="3" name="conv" type="Convolution">
//!     <data execOrder="2" execTimeMcs="57" originalLayersNames="conv,relu" primitiveType="…" runtimePrecision="…" outputLayouts="…"/>
//!     <input><port id="0"><dim>1</dim><dim>3</dim></port></input>
//!     <output><port id="1" precision="FP32"><dim>1</dim></port></output>
//!   </layer>
//! </layers><edges>…</edges></net>
//! ```
//!
//! `execTimeMcs` is in microseconds, the mean of a node's executions, or `not_executed`.

use std::collections::HashMap;

use opscope_trace::{DataType, DeviceKind, ExecutionUnit, LossKind, Trace};

use super::{FORMAT, ReadError};
use crate::layers::{Layer, Layers, MICRO, Value, time};
use crate::reading::Stop;

/// The attribute by which such a graph differs from the model that it was made of.
const TIME: &[u8] = b"execTimeMcs=";

/// Whether XML that begins so is an executable graph.
pub fn looks_like(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    (text.starts_with(b"<?xml") || text.starts_with(b"<net")) && find(head, TIME).is_some()
}

/// Where a text begins in another.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// A node of the graph with its time, as it is written.
struct Node {
    layer: Layer,
    order: Option<u32>,
    time: String,
}

/// An executable graph.
#[derive(Default)]
pub struct ExecGraph {
    name: String,
    nodes: Vec<Node>,
    by_name: HashMap<String, usize>,
    /// Whether it ends before it is closed.
    is_cut: bool,
}

impl ExecGraph {
    /// Reads the nodes that are there, until `stop` is wanted.
    ///
    /// # Errors
    /// When there is none.
    pub fn read(xml: &[u8], stop: &Stop) -> Result<Self, ReadError> {
        let mut graph = Self::default();
        let mut node: Option<Node> = None;
        let mut side = Side::None;
        let mut is_closed = false;
        let mut tags = Tags { rest: xml };
        for Tag { name, attributes, is_end, text } in stop.within(std::iter::from_fn(|| tags.next())) {
            match (name, is_end) {
                (b"net", false) => graph.name = attribute(attributes, "name").unwrap_or_default(),
                (b"layer", false) => node = Some(begin(attributes)),
                (b"layer", true) => graph.nodes.extend(node.take()),
                (b"data", false) => node.iter_mut().for_each(|node| describe(node, attributes)),
                (b"input", _) => side = if is_end { Side::None } else { Side::Input },
                (b"output", _) => side = if is_end { Side::None } else { Side::Output },
                (b"port", false) => {
                    let precision = attribute(attributes, "precision").unwrap_or_default();
                    let value = Value {
                        data_type: data_type(&precision),
                        dimensions: Some(Vec::new()),
                        ..Value::default()
                    };
                    node.iter_mut()
                        .for_each(|node| side.of(&mut node.layer, |values| values.push(value.clone())));
                }
                (b"dim", false) => {
                    let size = std::str::from_utf8(text.trim_ascii()).ok().and_then(|size| size.parse().ok());
                    let grow = |values: &mut Vec<Value>| {
                        let sizes = values.last_mut().and_then(|value| value.dimensions.as_mut());
                        sizes.into_iter().for_each(|sizes| sizes.push(size.unwrap_or(-1)));
                    };
                    node.iter_mut().for_each(|node| side.of(&mut node.layer, grow));
                }
                // Edges follow.
                (b"layers", true) => {
                    is_closed = true;
                    break;
                }
                _ => {}
            }
        }
        graph.is_cut = !is_closed;
        if graph.nodes.is_empty() {
            return Err(ReadError::NoGraph);
        }
        let places = graph.nodes.iter().enumerate();
        // Of several of one name, the first is found: they can't be told apart.
        let by_name = places.rev().map(|(place, node)| (node.layer.name.clone(), place)).collect();
        graph.by_name = by_name;
        Ok(graph)
    }

    /// Whether a name is one of its own.
    pub fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The node of a name.
    pub(super) fn find(&self, name: &str) -> Option<&Layer> {
        Some(&self.nodes[*self.by_name.get(name)?].layer)
    }

    /// The graph as a trace of one inference, its nodes in the order of execution.
    pub fn to_trace(&self) -> Trace {
        let mut layers = Layers::new(FORMAT, DeviceKind::Other, ExecutionUnit::Other);
        if !self.name.is_empty() {
            layers.enter_model(&self.name);
        }
        layers.begin_inference();
        let mut order: Vec<&Node> = self.nodes.iter().collect();
        order.sort_by_key(|node| node.order.unwrap_or(u32::MAX));
        for node in order {
            let microseconds = node.time.parse::<f64>().ok();
            if microseconds.is_none() || microseconds == Some(0.0) {
                // Constants and what was computed beforehand.
                layers.losses.count(LossKind::LayerNotRun, "nodes", 1);
                continue;
            }
            let operator = layers.operator(&node.layer);
            layers.task(operator, microseconds.and_then(|time_| time(time_, MICRO)), &node.layer.name);
        }
        if self.is_cut {
            layers.losses.count(LossKind::OpenLayers, "layers", 1);
        }
        layers.finish()
    }
}

/// The part of a layer in which a tag stands.
#[derive(Clone, Copy)]
enum Side {
    None,
    Input,
    Output,
}

impl Side {
    fn of(self, layer: &mut Layer, change: impl FnOnce(&mut Vec<Value>)) {
        match self {
            Self::None => {}
            Self::Input => change(&mut layer.inputs),
            Self::Output => change(&mut layer.outputs),
        }
    }
}

fn begin(attributes: &[u8]) -> Node {
    let text = |key: &str| attribute(attributes, key).unwrap_or_default();
    let layer = Layer { name: text("name"), op_type: text("type"), ..Layer::default() };
    Node { layer, order: None, time: String::new() }
}

/// Takes the facts of a node's execution.
fn describe(node: &mut Node, attributes: &[u8]) {
    let text = |key: &str| attribute(attributes, key).unwrap_or_default();
    node.time = text("execTimeMcs");
    node.order = text("execOrder").parse().ok();
    let names = text("originalLayersNames");
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    node.layer.origins = names.map(str::to_owned).collect();
    // Some versions have the type of the node here, and another in its tag.
    let op_type = text("layerType");
    if !op_type.is_empty() {
        node.layer.op_type = op_type;
    }
    node.layer.position = node.order;
    node.layer.attributes = vec![
        ("kernel", text("primitiveType")),
        ("precision", text("runtimePrecision")),
        ("layout", text("outputLayouts")),
    ];
}

/// The element type by OpenVINO's word in the XML of graphs.
fn data_type(word: &str) -> DataType {
    match word.to_ascii_lowercase().as_str() {
        "fp64" | "f64" => DataType::Float64,
        "fp32" | "f32" => DataType::Float32,
        "fp16" | "f16" => DataType::Float16,
        "bf16" => DataType::BFloat16,
        "i64" => DataType::Int64,
        "i32" => DataType::Int32,
        "i16" => DataType::Int16,
        "i8" => DataType::Int8,
        "i4" => DataType::Int4,
        "u64" => DataType::Uint64,
        "u32" => DataType::Uint32,
        "u16" => DataType::Uint16,
        "u8" => DataType::Uint8,
        "boolean" | "bool" => DataType::Bool,
        _ => DataType::Unknown,
    }
}

/// A tag of XML, and the text up to the next one.
struct Tag<'x> {
    name: &'x [u8],
    attributes: &'x [u8],
    is_end: bool,
    text: &'x [u8],
}

/// The tags of XML, without judging whether they match. One that is closed in itself counts as a beginning.
struct Tags<'x> {
    rest: &'x [u8],
}

impl<'x> Tags<'x> {
    fn next(&mut self) -> Option<Tag<'x>> {
        loop {
            let begin = self.rest.iter().position(|byte| *byte == b'<')?;
            let inside = &self.rest[begin + 1..];
            if let Some(comment) = inside.strip_prefix(b"!--") {
                self.rest = &comment[find(comment, b"-->")? + 3..];
                continue;
            }
            // A bracket within quotes ends nothing.
            let mut quote = None;
            let end = inside.iter().position(|byte| match (quote, byte) {
                (None, b'>') => true,
                (None, b'"' | b'\'') => {
                    quote = Some(*byte);
                    false
                }
                (Some(mark), byte) => {
                    quote = (mark != *byte).then_some(mark);
                    false
                }
                _ => false,
            })?;
            self.rest = &inside[end + 1..];
            let content = &inside[..end];
            let (is_end, content) = content.strip_prefix(b"/").map_or((false, content), |rest| (true, rest));
            let length = content.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'/');
            let (name, attributes) = content.split_at(length.unwrap_or(content.len()));
            let text = self.rest.iter().position(|byte| *byte == b'<').unwrap_or(self.rest.len());
            return Some(Tag { name, attributes, is_end, text: &self.rest[..text] });
        }
    }
}

/// The value of an attribute, with its entities as the characters that they stand for.
fn attribute(attributes: &[u8], key: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_ascii_start();
        let equals = rest.iter().position(|byte| *byte == b'=')?;
        let name = rest[..equals].trim_ascii();
        let value = rest[equals + 1..].trim_ascii_start();
        let (mark, value) = value.split_first()?;
        let end = value.iter().position(|byte| byte == mark)?;
        if name == key.as_bytes() {
            return Some(plain(&String::from_utf8_lossy(&value[..end])));
        }
        rest = &value[end + 1..];
    }
}

fn plain(text: &str) -> String {
    const ENTITIES: [(&str, &str); 5] =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    match text.contains('&') {
        false => text.to_owned(),
        true => ENTITIES.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_whole_and_with_their_entities() {
        let attributes = br#" a="1" name = 'x &amp; "y"' execName="z>" "#;
        assert_eq!(attribute(attributes, "name").as_deref(), Some("x & \"y\""));
        assert_eq!(attribute(attributes, "execName").as_deref(), Some("z>"));
        assert_eq!(attribute(attributes, "y"), None);
        assert_eq!(attribute(b"name", "name"), None);
        assert_eq!(attribute(b"name=\"cut", "name"), None);
    }
}
