//! A node of a graph (`NodeDef`) with its attributes (`AttrValue`).
//!
//! | number | field of `NodeDef` | number | field of `AttrValue` |
//! |---|---|---|---|
//! | 1, 2 | name, operator | 1 | list: 2 texts, 3 integers, 4 numbers, 5 truths, 6 types, 7 shapes |
//! | 3 | inputs: `node`, `node:output`, or `^node` for an order without data | 2, 3, 4, 5 | text, integer, number, truth |
//! | 4 | device | 6, 7, 8 | type, shape, tensor |
//! | 5 | attributes: 1 name, 2 value | 10 | function |

use std::borrow::Cow;

use opscope_trace::DataType;

use super::super::assembly;
use super::super::protobuf::Message;
use crate::proto::AttributeProto;

/// Lists of more elements, and longer texts, aren't kept as attributes.
const MOST_LISTED: usize = 32;
const LONGEST_TEXT: usize = 1024;

/// Attributes of a node, of which no real one has more.
const MOST_ATTRIBUTES: usize = 256;

/// The dimensions that a tensor can have.
const MOST_AXES: usize = 32;

/// A node where it lies.
#[derive(Debug, Default)]
pub(super) struct Node<'b> {
    pub name: Cow<'b, str>,
    pub op: Cow<'b, str>,
    /// The values that it reads, without those that only order it.
    pub inputs: Vec<Cow<'b, str>>,
    attributes: Vec<(Cow<'b, str>, Message<'b>)>,
}

impl<'b> Node<'b> {
    pub fn of(message: Message<'b>) -> Self {
        let mut node = Self::default();
        for (field, value) in message.each() {
            match field {
                1 => node.name = value.text(),
                2 => node.op = value.text(),
                3 => {
                    let input = value.text();
                    if !input.starts_with('^') {
                        node.inputs.push(without_zero(input));
                    }
                }
                5 if node.attributes.len() < MOST_ATTRIBUTES => {
                    let entry = value.message();
                    node.attributes.push((String::from_utf8_lossy(entry.sub(1).bytes), entry.sub(2)));
                }
                _ => {}
            }
        }
        node
    }

    fn attribute(&self, name: &str) -> Option<Message<'b>> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.field(3).map(|value| value.int())
    }

    pub fn float(&self, name: &str) -> Option<f32> {
        self.attribute(name)?.field(4).map(|value| value.float())
    }

    /// Whether an attribute is set and true.
    pub fn is(&self, name: &str) -> bool {
        self.truth(name).unwrap_or(false)
    }

    /// A truth, where it is stated.
    pub fn truth(&self, name: &str) -> Option<bool> {
        self.attribute(name)?.field(5).map(|value| value.int() != 0)
    }

    pub fn text(&self, name: &str) -> Option<Cow<'b, str>> {
        self.attribute(name)?.field(2).map(|value| value.text())
    }

    pub fn ints(&self, name: &str) -> Vec<i64> {
        let mut ints = Vec::new();
        let list = self.attribute(name).map(|value| value.sub(1));
        for (field, value) in list.into_iter().flat_map(Message::each) {
            if field == 3 {
                value.push_ints(&mut ints);
            }
        }
        ints
    }

    pub fn data_type(&self, name: &str) -> DataType {
        self.attribute(name)
            .and_then(|value| value.field(6))
            .map_or(DataType::Unknown, |it| data_type(it.int()))
    }

    /// The type of integers that an attribute states; a node without it has the given one.
    pub fn integer_type(&self, name: &str, default: DataType) -> DataType {
        Some(self.data_type(name)).filter(|stated| *stated != DataType::Unknown).unwrap_or(default)
    }

    /// The floating-point type of what an operator gives that says so by that of its inputs; unknown of others, and of
    /// integers, for which ONNX's operators have types of their own.
    pub fn output_type(&self) -> DataType {
        const AS_INPUTS: [&str; 32] = [
            "Add",
            "AddV2",
            "AvgPool",
            "BatchMatMulV2",
            "BiasAdd",
            "ConcatV2",
            "Conv2D",
            "Elu",
            "Exp",
            "ExpandDims",
            "Identity",
            "LeakyRelu",
            "LogSoftmax",
            "MatMul",
            "Max",
            "MaxPool",
            "Maximum",
            "Mean",
            "Min",
            "Minimum",
            "Mul",
            "Pack",
            "RealDiv",
            "Relu",
            "Relu6",
            "Reshape",
            "Sigmoid",
            "Softmax",
            "Squeeze",
            "Sub",
            "Tanh",
            "Transpose",
        ];
        let data_type = self.data_type("T");
        let is_real = matches!(
            data_type,
            DataType::Float16 | DataType::BFloat16 | DataType::Float32 | DataType::Float64
        );
        if is_real && AS_INPUTS.contains(&&*self.op) { data_type } else { DataType::Unknown }
    }

    /// A shape, if the number of its dimensions is stated; open sizes are −1.
    pub fn shape(&self, name: &str) -> Option<Vec<i64>> {
        shape(self.attribute(name)?.field(7)?.message())
    }

    /// The tensor of a constant.
    pub fn tensor(&self, name: &str) -> Option<Message<'b>> {
        Some(self.attribute(name)?.field(8)?.message())
    }

    /// The attributes that say how the node computes; those with an underscore are notes of programs.
    pub fn shown(&self) -> Vec<AttributeProto> {
        let shown =
            self.attributes.iter().filter(|(name, _)| !name.starts_with('_') && name.len() <= LONGEST_TEXT);
        shown.filter_map(|(name, value)| attribute(name, *value)).collect()
    }
}

/// The name of a value: that of the node for its first output.
fn without_zero(input: Cow<'_, str>) -> Cow<'_, str> {
    match input {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix(":0").unwrap_or(text)),
        Cow::Owned(text) => Cow::Owned(text.strip_suffix(":0").unwrap_or(&text).to_owned()),
    }
}

fn attribute(name: &str, value: Message<'_>) -> Option<AttributeProto> {
    let (field, wire) = value.each().next()?;
    Some(match field {
        1 => {
            let (mut ints, mut floats) = (Vec::new(), Vec::new());
            for (field, value) in wire.message().each() {
                match field {
                    3 => value.push_ints(&mut ints),
                    4 => value.push_floats(&mut floats),
                    _ => {}
                }
            }
            match (ints.len(), floats.len()) {
                (1..=MOST_LISTED, 0) => assembly::ints(name, ints),
                (0, 1..=MOST_LISTED) => assembly::floats(name, floats),
                _ => return None,
            }
        }
        2 => Some(wire.text())
            .filter(|text| text.len() <= LONGEST_TEXT)
            .map(|text| assembly::string(name, &text))?,
        3 | 5 => assembly::int(name, wire.int()),
        4 => assembly::float(name, wire.float()),
        6 => assembly::string(name, data_type(wire.int()).name()),
        7 => assembly::ints(name, shape(wire.message())?),
        // The name of a function that the node calls.
        10 => assembly::string(name, &String::from_utf8_lossy(wire.message().sub(1).bytes)),
        _ => return None,
    })
}

/// Sizes of a `TensorShapeProto`: 2 the dimensions, each with a size (1); 3 where not even their number is known.
pub(super) fn shape(message: Message<'_>) -> Option<Vec<i64>> {
    let mut dims = Vec::new();
    for (field, value) in message.each() {
        match field {
            2 if dims.len() < MOST_AXES => dims.push(value.message().field(1).map_or(0, |size| size.int())),
            3 if value.int() != 0 => return None,
            2 => return None,
            _ => {}
        }
    }
    Some(dims)
}

/// The element type of a number of `DataType`; 100 more are references to variables of it.
pub(super) fn data_type(number: i64) -> DataType {
    match number % 100 {
        1 => DataType::Float32,
        2 => DataType::Float64,
        3 | 13 => DataType::Int32,
        4 | 12 => DataType::Uint8,
        5 | 15 => DataType::Int16,
        6 | 11 => DataType::Int8,
        7 => DataType::String,
        8 => DataType::Complex64,
        9 => DataType::Int64,
        10 => DataType::Bool,
        14 => DataType::BFloat16,
        16 | 17 => DataType::Uint16,
        18 => DataType::Complex128,
        19 => DataType::Float16,
        22 => DataType::Uint32,
        23 => DataType::Uint64,
        _ => DataType::Unknown,
    }
}
