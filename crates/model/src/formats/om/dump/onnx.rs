//! GE's messages like those of ONNX, made into `ModelDef`, from which they were written.
//!
//! An operator's type has `ge:` in front. Its other fields are attributes of these names, where `0` stands for the
//! place of an input or output:
//!
//! | attribute | field of `OpDef` |
//! |---|---|
//! | `output_i`, `workspace`, `workspace_bytes` | the same |
//! | `input_desc_dtype:0`, `…_shape:0`, `…_layout:0` | the tensor as the device has it |
//! | `input_desc_origin_shape:0`, `…_origin_layout:0` | the tensor as the model before had it |
//! | `input_desc_attr_NAME:0` | an attribute of the tensor |
//! | `input_desc_0` | all of a tensor as JSON, where an operator has 20 or more |
//! | `NAME_desc_dtype`, `…_shape`, `…_layout`, `NAME_data` | an attribute that is a tensor |
//!
//! and the same with `output_desc`. Zeros and empty texts are left out, as texts of protocol buffers do it. Texts and
//! data are there with `DUMP_GE_GRAPH=1` only, tensors not with `DUMP_GE_GRAPH=3`. A graph that operators run is an
//! attribute of a node of the type `subgraph`; the operator that runs it isn't named.

use std::borrow::Cow;

use opscope_protobuf::{push_bytes, push_fixed32, push_message, push_number};

use super::super::super::json;
use super::super::super::protobuf::{Message, Wire};
use super::super::super::schema::Writer;
use super::super::operator::data_type_number;
use super::schema::TENSOR_JSON;

/// The type of a node that stands for a graph.
const GRAPH: &[u8] = b"subgraph";

/// The members of an operator that aren't read, and so are no attributes.
const MEMBERS: [&str; 16] = [
    "id",
    "input_name",
    "src_name",
    "src_index",
    "dst_name",
    "dst_index",
    "input_i",
    "stream_id",
    "is_input_const",
    "send_event_id_list",
    "recv_event_id_list",
    "_input_name_key",
    "_input_name_value",
    "attr_groups",
    "input_desc_nums",
    "output_desc_nums",
];

/// The message of a dump as that of a model. A sentence is added where tensors aren't described.
pub(super) fn to_model(dump: Message<'_>, losses: &mut Vec<String>) -> Vec<u8> {
    let mut out = Vec::new();
    push_bytes(&mut out, 1, dump.sub(2).bytes);
    let mut described = (0, 0);
    let mut graphs: Vec<(Message<'_>, Option<&[u8]>)> =
        dump.each().filter(|(field, _)| *field == 7).map(|(_, graph)| (graph.message(), None)).collect();
    let mut next = 0;
    while let Some((graph, name)) = graphs.get(next).copied() {
        next += 1;
        push_message(&mut out, 7, |out| {
            push_bytes(out, 1, name.unwrap_or(graph.sub(2).bytes));
            for (field, wire) in graph.each() {
                match field {
                    1 if wire.message().sub(4).bytes == GRAPH => {
                        let name = wire.message().sub(3).bytes;
                        graphs.extend(held(wire.message()).map(|graph| (graph, Some(name))));
                    }
                    1 => {
                        let node = Node::of(wire.message());
                        described.0 += usize::from(node.is_described);
                        described.1 += 1;
                        push_message(out, 6, |out| node.push(out));
                    }
                    12 => push_bytes(out, 5, wire.message().sub(1).bytes),
                    _ => {}
                }
            }
        });
    }
    if described.0 == 0 && described.1 > 0 {
        losses.push("the dump has no shapes and types, which DUMP_GE_GRAPH=3 leaves out".to_owned());
    }
    out
}

/// The graphs that a node stands for.
fn held(node: Message<'_>) -> impl Iterator<Item = Message<'_>> {
    let attributes = node.each().filter(|(field, _)| *field == 5).map(|(_, attribute)| attribute.message());
    attributes.filter_map(|attribute| attribute.field(6).map(Wire::message))
}

/// A node, as it becomes an operator.
#[derive(Default)]
struct Node<'b> {
    name: &'b [u8],
    op_type: &'b [u8],
    inputs: Vec<&'b [u8]>,
    /// Attributes, and its places in memory, as fields of the operator.
    attributes: Vec<u8>,
    input_tensors: Tensors,
    output_tensors: Tensors,
    /// The tensor that is the value of a constant.
    value: Tensor,
    data: &'b [u8],
    is_described: bool,
}

impl<'b> Node<'b> {
    fn of(message: Message<'b>) -> Self {
        let mut node = Self::default();
        let most = 64 + 4 * message.each().filter(|(field, _)| *field == 5).count();
        (node.input_tensors.most, node.output_tensors.most) = (most, most);
        let mut outputs = 0;
        for (field, wire) in message.each() {
            match field {
                1 => node.inputs.push(wire.message().bytes),
                2 => {
                    let place =
                        wire.text().rsplit_once(':').and_then(|(_, place)| place.parse::<usize>().ok());
                    outputs = outputs.max(place.map_or(0, |place| place.saturating_add(1)));
                }
                3 => node.name = wire.message().bytes,
                4 => {
                    let op_type = wire.message().bytes;
                    node.op_type = op_type.strip_prefix(b"ge:").unwrap_or(op_type);
                }
                5 => node.attribute(&Attribute::of(wire.message())),
                _ => {}
            }
        }
        node.is_described = !node.input_tensors.list.is_empty() || !node.output_tensors.list.is_empty();
        // Outputs that are read are there, whether they are described or not.
        if let Some(last) = outputs.checked_sub(1) {
            node.output_tensors.get(last);
        }
        node
    }

    fn attribute(&mut self, attribute: &Attribute<'b>) {
        let name = &*attribute.name;
        if MEMBERS.contains(&name) {
            return;
        }
        let place = match name {
            "output_i" => Some(29),
            "workspace" => Some(30),
            "workspace_bytes" => Some(31),
            _ => None,
        };
        if let Some(field) = place {
            return attribute
                .ints
                .iter()
                .for_each(|number| push_number(&mut self.attributes, field, number.cast_unsigned()));
        }
        for (start, tensors) in
            [("input_desc_", &mut self.input_tensors), ("output_desc_", &mut self.output_tensors)]
        {
            if let Some(rest) = name.strip_prefix(start) {
                return tensors.attribute(rest, attribute);
            }
        }
        match name {
            "value_desc_dtype" => self.value.set("dtype", attribute),
            "value_desc_shape" => self.value.set("shape", attribute),
            "value_desc_layout" => self.value.set("layout", attribute),
            "value_desc_device_type" => {}
            "value_data" => self.data = attribute.text,
            _ => attribute.push(&mut self.attributes, 10, name),
        }
    }

    fn push(&self, out: &mut Vec<u8>) {
        push_bytes(out, 1, self.name);
        push_bytes(out, 2, self.op_type);
        for input in &self.inputs {
            push_bytes(out, 5, input);
        }
        out.extend_from_slice(&self.attributes);
        if self.value.is_there {
            // The output is the same tensor, and says how it was in the model before.
            let output = self.output_tensors.list.first().filter(|output| output.is_there);
            let tensor = |out: &mut Vec<u8>| {
                push_message(out, 1, |out| output.unwrap_or(&self.value).push(out));
                push_bytes(out, 2, self.data);
            };
            push_entry(out, 10, "value", |out| push_message(out, 12, tensor));
        }
        for (field, tensors) in [(33, &self.input_tensors), (34, &self.output_tensors)] {
            for tensor in &tensors.list {
                push_message(out, field, |out| tensor.push(out));
            }
        }
    }
}

/// Appends an entry of a map of attributes.
fn push_entry(out: &mut Vec<u8>, field: u32, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
    push_message(out, field, |out| {
        push_bytes(out, 1, name.as_bytes());
        push_message(out, 2, value);
    });
}

/// The descriptions of an operator's inputs or outputs.
#[derive(Default)]
struct Tensors {
    list: Vec<Tensor>,
    /// More than there can be.
    most: usize,
}

impl Tensors {
    /// The description of a place, made if it isn't there yet; `None` for a place that can't be.
    fn get(&mut self, place: usize) -> Option<&mut Tensor> {
        if place >= self.list.len() && place < self.most {
            self.list.resize_with(place + 1, Tensor::default);
        }
        self.list.get_mut(place)
    }

    /// Takes an attribute by the rest of its name: `dtype:0`, or `0` for all as JSON.
    fn attribute(&mut self, name: &str, attribute: &Attribute<'_>) {
        // Lists of lists have a number behind the place.
        if let Some((field, place)) = name.rsplit_once(':') {
            if let Some(tensor) = place.parse().ok().and_then(|place| self.get(place)) {
                tensor.set(field, attribute);
            }
        } else if let Some(tensor) = name.parse().ok().and_then(|place| self.get(place)) {
            tensor.set_all(attribute.text);
        }
    }
}

/// The description of a tensor.
#[derive(Default)]
struct Tensor {
    is_there: bool,
    data_type: u64,
    sizes: Vec<i64>,
    layout: Vec<u8>,
    origin_sizes: Option<Vec<i64>>,
    origin_layout: Vec<u8>,
    /// Attributes, as fields of the description.
    attributes: Vec<u8>,
}

impl Tensor {
    fn set(&mut self, field: &str, attribute: &Attribute<'_>) {
        self.is_there = true;
        match field {
            "dtype" => {
                self.data_type =
                    str::from_utf8(attribute.text).ok().and_then(data_type_number).unwrap_or_default();
            }
            "shape" => self.sizes.clone_from(&attribute.ints),
            "layout" => self.layout = attribute.text.to_vec(),
            "origin_shape" => self.origin_sizes = Some(attribute.ints.clone()),
            "origin_layout" => self.origin_layout = attribute.text.to_vec(),
            _ => {
                if let Some(name) = field.strip_prefix("attr_") {
                    attribute.push(&mut self.attributes, 5, name);
                }
            }
        }
    }

    /// Takes all from JSON.
    fn set_all(&mut self, text: &[u8]) {
        let mut writer = Writer::new(&TENSOR_JSON);
        // One that is damaged says less.
        let damaged = json::walk(text, &mut writer).is_err();
        let (message, _) = writer.finish(damaged);
        self.is_there = true;
        for (field, wire) in Message::new(&message, 0).each() {
            match field {
                1 => self.data_type = data_type_number(&wire.text()).unwrap_or_default(),
                2 => wire.push_ints(&mut self.sizes),
                3 => self.layout = wire.message().bytes.to_vec(),
                4 => wire.push_ints(self.origin_sizes.get_or_insert_default()),
                5 => self.origin_layout = wire.message().bytes.to_vec(),
                6 => {
                    // The text of a message: `i: 1`.
                    let text = wire.text();
                    let place = text.trim().strip_prefix("i:").and_then(|place| place.trim().parse().ok());
                    if let Some(place) = place {
                        push_entry(&mut self.attributes, 5, "_parent_node_index", |out| {
                            push_number(out, 3, place);
                        });
                    }
                }
                _ => {}
            }
        }
    }

    fn push(&self, out: &mut Vec<u8>) {
        if !self.is_there {
            return;
        }
        push_number(out, 2, self.data_type);
        push_message(out, 3, |out| {
            for size in &self.sizes {
                push_number(out, 1, size.cast_unsigned());
            }
        });
        push_bytes(out, 4, &self.layout);
        out.extend_from_slice(&self.attributes);
        // Both are there where one is: the sizes of a scalar are none.
        if let Some(sizes) = &self.origin_sizes
            && !self.origin_layout.is_empty()
        {
            push_entry(out, 5, "origin_shape", |out| push_list(out, 3, sizes));
            push_entry(out, 5, "origin_format", |out| push_bytes(out, 2, &self.origin_layout));
        }
    }
}

/// Appends a list of integers as the value of an attribute.
fn push_list(out: &mut Vec<u8>, field: u32, numbers: &[i64]) {
    push_message(out, 1, |out| {
        for number in numbers {
            push_number(out, field, number.cast_unsigned());
        }
    });
}

/// An attribute of a node, with zeros and empty texts where they were left out.
#[derive(Default)]
struct Attribute<'b> {
    name: Cow<'b, str>,
    kind: i64,
    int: i64,
    float: f32,
    text: &'b [u8],
    ints: Vec<i64>,
    floats: Vec<f32>,
    texts: Vec<&'b [u8]>,
}

impl<'b> Attribute<'b> {
    fn of(message: Message<'b>) -> Self {
        let mut attribute = Self::default();
        for (field, wire) in message.each() {
            match field {
                1 => attribute.name = wire.text(),
                2 => attribute.float = wire.float(),
                3 => attribute.int = wire.int(),
                4 => attribute.text = wire.message().bytes,
                7 => wire.push_floats(&mut attribute.floats),
                8 => wire.push_ints(&mut attribute.ints),
                9 => attribute.texts.push(wire.message().bytes),
                20 => attribute.kind = wire.int(),
                _ => {}
            }
        }
        attribute
    }

    /// Appends it as an entry of a map. Kinds that GE doesn't write are left out.
    fn push(&self, out: &mut Vec<u8>, field: u32, name: &str) {
        match self.kind {
            1 => push_entry(out, field, name, |out| push_fixed32(out, 4, self.float.to_bits())),
            2 => push_entry(out, field, name, |out| push_number(out, 3, self.int.cast_unsigned())),
            3 => push_entry(out, field, name, |out| push_bytes(out, 2, self.text)),
            6 => push_entry(out, field, name, |out| {
                push_message(out, 1, |out| {
                    for number in &self.floats {
                        push_fixed32(out, 4, number.to_bits());
                    }
                });
            }),
            7 => push_entry(out, field, name, |out| push_list(out, 3, &self.ints)),
            8 => push_entry(out, field, name, |out| {
                push_message(out, 1, |out| {
                    for text in &self.texts {
                        push_bytes(out, 2, text);
                    }
                });
            }),
            _ => {}
        }
    }
}
