//! The layers and edges of a document, as they stand in it. Graphs within layers (`body`, `then_body`, `else_body`)
//! are parts of these.

use std::borrow::Cow;

use opscope_openvino_xml::{Attributes, Tag, Tags, data_type};
use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::MOST_PARTS;

/// Graphs in graphs, of which no real model has more.
const MOST_DEPTH: usize = 32;

/// Sizes of a tensor, of which no real one has more.
const MOST_AXES: usize = 64;

/// A document as it stands.
#[derive(Debug, Default)]
pub(super) struct Document<'x> {
    pub name: String,
    /// The version of the format.
    pub version: Option<u64>,
    /// The version of the program that wrote it.
    pub written_by: String,
    pub graph: Graph<'x>,
    /// Whether it ends before its layers do.
    pub is_cut: bool,
    /// Whether it ends before its edges do.
    pub lacks_edges: bool,
}

/// Layers and the edges between them.
#[derive(Debug, Default)]
pub(super) struct Graph<'x> {
    pub layers: Vec<Layer<'x>>,
    pub edges: Vec<Edge>,
}

/// A port of a layer, by the ids of both.
pub(super) type End = (u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub from: End,
    pub to: End,
}

/// A layer.
#[derive(Debug, Default)]
pub(super) struct Layer<'x> {
    pub id: u64,
    pub name: Cow<'x, str>,
    pub op_type: Cow<'x, str>,
    /// The set of operations, such as `opset1`.
    pub opset: Cow<'x, str>,
    pub data: Attributes<'x>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// The layers of the model before that it was made of, separated by commas.
    pub origins: Option<Cow<'x, str>>,
    /// Of an output of the model, the names that users know it by, separated by commas.
    pub result_names: Cow<'x, str>,
    /// The graphs that it runs.
    pub bodies: Vec<Body<'x>>,
    maps: Vec<(&'x [u8], Given)>,
}

/// A port with the type that is stated of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Port {
    pub id: u64,
    pub data_type: DataType,
    /// Sizes, −1 for those that are open; `None` where their number is open, too.
    pub dims: Option<Vec<i64>>,
    /// The names that users know the value by, separated by commas.
    pub names: String,
}

/// A graph that a layer runs.
#[derive(Debug)]
pub(super) struct Body<'x> {
    /// `then` or `else`; empty for that of a loop.
    pub name: &'static str,
    pub graph: Graph<'x>,
    pub given: Vec<Given>,
}

/// An input of the layer that an input of its graph gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub port: u64,
    /// The `Parameter` within.
    pub layer: u64,
    /// Whether it gets one slice after the other.
    pub is_sliced: bool,
}

/// A graph of which more is to come.
#[derive(Debug, Default)]
struct Level<'x> {
    graph: Graph<'x>,
    layer: Option<Layer<'x>>,
    side: Side,
    /// The name of the map in which a tag stands, such as `then_port_map`.
    map: Option<&'x [u8]>,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Side {
    #[default]
    None,
    Input,
    Output,
}

impl<'x> Level<'x> {
    fn end_layer(&mut self) {
        self.graph.layers.extend(self.layer.take());
        self.side = Side::None;
    }

    fn ports(&mut self) -> Option<&mut Vec<Port>> {
        let layer = self.layer.as_mut()?;
        match self.side {
            Side::None => None,
            Side::Input => Some(&mut layer.inputs),
            Side::Output => Some(&mut layer.outputs),
        }
    }

    /// Takes a tag of a graph, whatever it is.
    fn take(&mut self, tag: &Tag<'x>) {
        match (tag.name, tag.is_end) {
            (b"layer", false) => {
                self.end_layer();
                self.layer = Some(begin(tag));
                if tag.is_empty {
                    self.end_layer();
                }
            }
            (b"layer", true) => self.end_layer(),
            (b"layers", true) => self.is_closed = true,
            (b"data", false) => self.layer.iter_mut().for_each(|layer| layer.data = tag.attributes),
            (b"port_map" | b"then_port_map" | b"else_port_map", _) => {
                self.map = (!tag.is_end && !tag.is_empty).then_some(tag.name);
            }
            (b"input", false) if self.map.is_some() => {
                let given = Given {
                    port: tag.number("external_port_id").unwrap_or(u64::MAX),
                    layer: tag.number("internal_layer_id").unwrap_or(u64::MAX),
                    is_sliced: tag.attribute("axis").is_some(),
                };
                if let (Some(layer), Some(map)) = (&mut self.layer, self.map) {
                    layer.maps.push((map, given));
                }
            }
            (b"input" | b"output", _) if self.map.is_some() => {}
            (b"input", is_end) => self.side = if is_end || tag.is_empty { Side::None } else { Side::Input },
            (b"output", is_end) => self.side = if is_end || tag.is_empty { Side::None } else { Side::Output },
            (b"port", false) => {
                let port = Port {
                    id: tag.number("id").unwrap_or(u64::MAX),
                    data_type: data_type(&tag.attribute("precision").unwrap_or_default()),
                    dims: Some(Vec::new()),
                    names: tag.attribute("names").unwrap_or_default().into_owned(),
                };
                self.ports().into_iter().for_each(|ports| ports.push(port.clone()));
            }
            (b"dim", false) => {
                let port = self.ports().and_then(|ports| ports.last_mut());
                if let Some(Port { dims, .. }) = port {
                    let size = tag.text_number().filter(|size| *size >= 0).unwrap_or(-1);
                    dims.iter_mut().for_each(|dims| dims.push(size));
                    *dims = dims.take().filter(|dims| dims.len() <= MOST_AXES);
                }
            }
            (b"attribute", false) => self.attribute(tag),
            (b"edge", false) => {
                let end = |layer, port| Some((tag.number(layer)?, tag.number(port)?));
                // Edges from one turn of a loop to the next have no ports.
                if let (Some(from), Some(to)) = (end("from-layer", "from-port"), end("to-layer", "to-port")) {
                    self.graph.edges.push(Edge { from, to });
                }
            }
            _ => {}
        }
    }

    /// Takes a fact of a layer's `rt_info`.
    fn attribute(&mut self, tag: &Tag<'x>) {
        let name = tag.attribute("name").unwrap_or_default();
        if let Some(layer) = &mut self.layer
            && matches!(&*name, "fused_names" | "originalLayersNames")
        {
            layer.origins = tag.attribute("value");
        }
    }
}

impl<'x> Document<'x> {
    /// Reads what is there.
    ///
    /// # Errors
    /// When it has more parts, or deeper ones, than any model has.
    pub fn read(xml: &'x [u8]) -> Result<Self, FormatError> {
        let mut document = Self::default();
        let mut levels = vec![Level::default()];
        let (mut parts, mut has_edges) = (0usize, false);
        for tag in Tags::of(xml) {
            let depth = levels.len();
            match (tag.name, tag.is_end) {
                (b"net", false) => {
                    document.name = tag.attribute("name").unwrap_or_default().into_owned();
                    document.version = tag.number("version");
                }
                (b"Runtime_version" | b"MO_version", false) if document.written_by.is_empty() => {
                    document.written_by = tag.attribute("value").unwrap_or_default().into_owned();
                }
                (b"body" | b"then_body" | b"else_body", false) if !tag.is_empty => {
                    if depth > MOST_DEPTH {
                        let text = format!("it has graphs more than {MOST_DEPTH} deep in one another");
                        return Err(FormatError::Whole(text));
                    }
                    levels.push(Level::default());
                }
                (b"body" | b"then_body" | b"else_body", true) if depth > 1 => close(&mut levels, tag.name),
                (b"edges", _) if depth == 1 => has_edges |= tag.is_end || tag.is_empty,
                _ => levels.last_mut().into_iter().for_each(|level| level.take(&tag)),
            }
            // Others take no memory.
            parts += usize::from(!tag.is_end && matches!(tag.name, b"layer" | b"port" | b"edge" | b"input"));
            if parts > MOST_PARTS {
                let text =
                    format!("it has more than {MOST_PARTS} layers, ports and edges, which no real model has");
                return Err(FormatError::Whole(text));
            }
        }
        let is_whole = |levels: &[Level<'_>]| matches!(levels, [level] if level.is_closed);
        document.is_cut = !is_whole(&levels);
        document.lacks_edges = !has_edges;
        while levels.len() > 1 {
            close(&mut levels, b"");
        }
        document.graph = levels.pop().map(|level| level.graph).unwrap_or_default();
        Ok(document)
    }
}

/// Ends the innermost graph: it is a part of the layer that runs it. A layer that isn't closed is left out.
fn close<'x>(levels: &mut Vec<Level<'x>>, name: &[u8]) {
    let Some(inner) = levels.pop() else { return };
    let Some(layer) = levels.last_mut().and_then(|level| level.layer.as_mut()) else { return };
    // `then_body` has a `then_port_map`.
    let prefix = name.strip_suffix(b"body").unwrap_or_default();
    let maps = layer.maps.iter().filter(|(map, _)| map.strip_suffix(b"port_map") == Some(prefix));
    let given = maps.map(|(_, given)| *given).collect();
    let name = match prefix {
        b"then_" => "then",
        b"else_" => "else",
        _ => "",
    };
    layer.bodies.push(Body { name, graph: inner.graph, given });
}

fn begin<'x>(tag: &Tag<'x>) -> Layer<'x> {
    let text = |key: &str| tag.attribute(key).unwrap_or_default();
    Layer {
        id: tag.number("id").unwrap_or(u64::MAX),
        name: text("name"),
        op_type: text("type"),
        opset: text("version"),
        result_names: text("output_names"),
        ..Layer::default()
    }
}

impl Layer<'_> {
    /// The layers of the model before that it was made of.
    pub fn origin_names(&self) -> Vec<String> {
        listed(self.origins.as_deref().unwrap_or_default())
    }
}

/// The names that a text lists; a comma within a name has a backslash before it.
pub(super) fn listed(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let last = names.len() - 1;
        match letter {
            ',' => names.push(String::new()),
            '\\' => names[last].extend(letters.next()),
            _ => names[last].push(letter),
        }
    }
    names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
