//! The executable graph (`-exec_graph_path`): the nodes that run, in XML of OpenVINO's own layout.
//!
//! ```text
//! <net name="…"><layers>
//!   <layer id="3" name="conv" type="Convolution">
//!     <data execOrder="2" execTimeMcs="57" originalLayersNames="conv,relu" primitiveType="…" runtimePrecision="…" outputLayouts="…"/>
//!     <input><port id="0"><dim>1</dim><dim>3</dim></port></input>
//!     <output><port id="1" precision="FP32"><dim>1</dim></port></output>
//!   </layer>
//! </layers><edges><edge from-layer="2" from-port="0" to-layer="3" to-port="0"/></edges></net>
//! ```
//!
//! `execTimeMcs` is in microseconds, the mean of a node's executions, or `not_executed`. Nodes that only constants reach
//! (reorders of weights) were executed once, when the network was loaded, and are no part of an inference.

use std::collections::HashMap;

use opscope_openvino_xml::{Attributes, Tag, Tags, data_type};
use opscope_trace::{ApiLevel, DeviceKind, ExecutionUnit, LossKind, Nanoseconds, Trace};

use super::{FORMAT, ReadError};
use crate::layers::{Layer, Layers, MICRO, Value, time};
use crate::reading::Stop;

/// A node of the graph with its time, as it is written.
struct Node {
    layer: Layer,
    order: Option<u32>,
    time: String,
    /// Whether only constants reach it, so that it ran when the network was loaded.
    is_preparation: bool,
}

/// Types of nodes that hand on the same values in each inference.
const CONSTANTS: [&str; 2] = ["Const", "Constant"];

/// Types of nodes that have others in each inference, whatever reaches them.
const CHANGING: [&str; 6] =
    ["Input", "Parameter", "MemoryInput", "ReadValue", "RandomUniform", "Multinomial"];

/// An executable graph.
#[derive(Default)]
pub struct ExecGraph {
    name: String,
    nodes: Vec<Node>,
    by_name: HashMap<String, usize>,
    /// The part that it ends in, if it isn't closed.
    cut: Option<&'static str>,
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
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut edges: Vec<(Option<usize>, usize)> = Vec::new();
        graph.cut = Some("layers");
        for tag in stop.within(Tags::of(xml)) {
            let Tag { name, attributes, is_end, .. } = tag;
            match (name, is_end) {
                (b"net", false) => graph.name = text(attributes, "name"),
                (b"layer", false) => {
                    // Of several of one id, the first has the edges.
                    places.entry(text(attributes, "id")).or_insert(graph.nodes.len());
                    node = Some(begin(attributes));
                }
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
                (b"layers", true) => graph.cut = Some("edges"),
                (b"edge", false) => {
                    let place = |key: &str| places.get(&text(attributes, key)).copied();
                    edges.extend(place("to-layer").map(|to| (place("from-layer"), to)));
                }
                (b"edges" | b"net", true) => {
                    graph.cut = None;
                    break;
                }
                _ => {}
            }
        }
        if graph.nodes.is_empty() {
            return Err(ReadError::NoGraph);
        }
        // An edge that is missing may be the one from the input.
        if graph.cut.is_none() {
            graph.find_preparation(&edges);
        }
        let places = graph.nodes.iter().enumerate();
        // Of several of one name, the first is found: they can't be told apart.
        let by_name = places.rev().map(|(place, node)| (node.layer.name.clone(), place)).collect();
        graph.by_name = by_name;
        Ok(graph)
    }

    /// Marks the nodes that constants alone reach, by the edges from and to places of nodes.
    fn find_preparation(&mut self, edges: &[(Option<usize>, usize)]) {
        let count = self.nodes.len();
        let edges = || edges.iter().filter(|(_, to)| *to < count);
        let (mut to, mut waits_for) = (vec![Vec::new(); count], vec![0_usize; count]);
        for (from, target) in edges() {
            waits_for[*target] += 1;
            from.filter(|from| *from < count).into_iter().for_each(|from| to[from].push(*target));
        }
        let is_one_of = |types: &[&str], node: &Node| types.contains(&node.layer.op_type.as_str());
        let mut known: Vec<usize> =
            (0..count).filter(|place| is_one_of(&CONSTANTS, &self.nodes[*place])).collect();
        let mut is_known = vec![false; count];
        known.iter().for_each(|place| is_known[*place] = true);
        while let Some(from) = known.pop() {
            for target in std::mem::take(&mut to[from]) {
                waits_for[target] -= 1;
                let is_next = waits_for[target] == 0 && !is_known[target];
                if is_next && !is_one_of(&CHANGING, &self.nodes[target]) {
                    is_known[target] = true;
                    known.push(target);
                    self.nodes[target].is_preparation = true;
                }
            }
        }
    }

    /// Whether a name is one of its own.
    pub fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Whether it tells the time of a node that ran in an inference.
    pub fn has_times(&self) -> bool {
        let ran = |node: &Node| node.time.parse::<f64>().is_ok_and(|time| time > 0.0);
        self.nodes.iter().any(|node| !node.is_preparation && ran(node))
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
        layers.trace.run.are_means = true;
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
            let duration = microseconds.and_then(|value| time(value, MICRO));
            match duration {
                Some(duration) if node.is_preparation => prepare(&mut layers, &node.layer, duration),
                _ => {
                    let operator = layers.operator(&node.layer);
                    layers.task(operator, duration, &node.layer.name);
                }
            }
        }
        if let Some(part) = self.cut {
            layers.losses.count(LossKind::OpenLayers, part, 1);
        }
        layers.finish()
    }
}

/// Enters a step of the preparation, which is no part of an inference.
fn prepare(layers: &mut Layers, layer: &Layer, duration: Nanoseconds) {
    let name = if layer.op_type.is_empty() { &layer.name } else { &layer.op_type };
    layers.call(name, ApiLevel::Model, duration);
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
    Node { layer, order: None, time: String::new(), is_preparation: false }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of nodes (type and time) and edges between their places.
    fn graph(nodes: &[(&str, &str)], edges: &[(usize, usize)]) -> String {
        let layer = |(id, (op_type, time)): (usize, &(&str, &str))| {
            format!(
                r#"<layer id="{id}" name="n{id}" type="{op_type}"><data execOrder="{id}" execTimeMcs="{time}"/></layer>"#
            )
        };
        let edge = |(from, to): &(usize, usize)| {
            format!(r#"<edge from-layer="{from}" from-port="0" to-layer="{to}" to-port="0"/>"#)
        };
        let layers: String = nodes.iter().enumerate().map(layer).collect();
        let edges: String = edges.iter().map(edge).collect();
        format!("<net name=\"n\"><layers>{layers}</layers><edges>{edges}</edges></net>")
    }

    fn trace(xml: &str) -> Trace {
        ExecGraph::read(xml.as_bytes(), &Stop::default()).expect("a graph").to_trace()
    }

    const NODES: [(&str, &str); 6] = [
        ("Input", "not_executed"),
        ("Const", "not_executed"),
        ("Reshape", "not_executed"),
        ("Reorder", "21"),
        ("Convolution", "54"),
        ("Reorder", "3"),
    ];
    const EDGES: [(usize, usize); 5] = [(1, 2), (2, 3), (0, 4), (3, 4), (4, 5)];

    #[test]
    fn nodes_that_constants_alone_reach_are_preparation_and_no_part_of_an_inference() {
        let trace = trace(&graph(&NODES, &EDGES));
        assert_eq!(trace.tasks.duration(), [54_000, 3_000].map(Nanoseconds));
        assert_eq!(trace.iterations.duration(), [Nanoseconds(57_000)]);
        assert_eq!(trace.api_calls.duration(), [Nanoseconds(21_000)]);
        assert!(trace.run.are_means);
    }

    #[test]
    fn states_and_random_numbers_are_part_of_an_inference_though_constants_reach_them() {
        for op_type in ["MemoryInput", "RandomUniform"] {
            let trace = trace(&graph(&[("Const", "0"), (op_type, "5"), ("Reorder", "7")], &[(0, 1), (1, 2)]));
            assert_eq!(trace.tasks.duration(), [5_000, 7_000].map(Nanoseconds), "{op_type}");
        }
    }

    #[test]
    fn edges_that_are_cut_off_circular_or_of_no_layer_make_nothing_preparation() {
        let whole = graph(&NODES, &EDGES);
        let cut = &whole[..whole.rfind("<edge ").expect("edges")];
        let cut = trace(cut);
        assert_eq!((cut.tasks.len(), cut.losses.count()[0]), (3, 3));
        assert_eq!(cut.losses.len(), 2, "the edges are told as lost");
        let circle =
            trace(&graph(&[("Const", "0"), ("Reorder", "1"), ("Reorder", "2")], &[(0, 1), (2, 1), (1, 2)]));
        assert_eq!(circle.tasks.len(), 2);
        let foreign = trace(&graph(&[("Const", "0"), ("Reorder", "1")], &[(0, 1), (7, 1), (0, 9)]));
        assert_eq!(foreign.tasks.len(), 1);
    }
}
