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

use opscope_openvino_xml::{Attributes, Tag, Tags, data_type};
use opscope_trace::{DeviceKind, ExecutionUnit, LossKind, Trace};

use super::{FORMAT, ReadError};
use crate::layers::{Layer, Layers, MICRO, Value, time};
use crate::reading::Stop;

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
        for tag in stop.within(Tags::of(xml)) {
            let Tag { name, attributes, is_end, .. } = tag;
            match (name, is_end) {
                (b"net", false) => graph.name = text(attributes, "name"),
                (b"layer", false) => node = Some(begin(attributes)),
                (b"layer", true) => graph.nodes.extend(node.take()),
                (b"data", false) => node.iter_mut().for_each(|node| describe(node, attributes)),
                (b"input", _) => side = if is_end { Side::None } else { Side::Input },
                (b"output", _) => side = if is_end { Side::None } else { Side::Output },
                (b"port", false) => {
                    let value = Value {
                        data_type: data_type(&text(attributes, "precision")),
                        dimensions: Some(Vec::new()),
                        ..Value::default()
                    };
                    node.iter_mut()
                        .for_each(|node| side.of(&mut node.layer, |values| values.push(value.clone())));
                }
                (b"dim", false) => {
                    let size = tag.text_number();
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

/// The value of an attribute, empty where there is none.
fn text(attributes: Attributes<'_>, key: &str) -> String {
    attributes.get(key).unwrap_or_default().into_owned()
}

fn begin(attributes: Attributes<'_>) -> Node {
    let text = |key: &str| text(attributes, key);
    let layer = Layer { name: text("name"), op_type: text("type"), ..Layer::default() };
    Node { layer, order: None, time: String::new() }
}

/// Takes the facts of a node's execution.
fn describe(node: &mut Node, attributes: Attributes<'_>) {
    let text = |key: &str| text(attributes, key);
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
