//! An operator of the graph (`OpDef`), and the description of a tensor (`TensorDescriptor`).
//!
//! | number | field of `OpDef` | number | field of `TensorDescriptor` |
//! |---|---|---|---|
//! | 1, 2 | name, type | 2 | number of the element type |
//! | 5 | inputs, each `operator:output`, empty where left out | 3 | sizes (1) as the device has them |
//! | 10 | attributes | 4 | format, such as `NC1HWC0` |
//! | 22 | stream | 5 | attributes |
//! | 29 | where in the model's memory its outputs lie | | |
//! | 30, 31 | where its workspaces lie, and their bytes | | |
//! | 33, 34 | descriptions of inputs and outputs | 10, 11 | bytes; bytes of weights |
//! | 35 | names of the graphs that it runs | 18 | offset among the weights |

use std::borrow::Cow;

use opscope_trace::DataType;

use super::super::assembly::Tensor;
use super::super::protobuf::Message;
use super::attributes::{Attribute, AttributeValue, Dictionary};

/// An operator where it lies.
#[derive(Debug, Default)]
pub(super) struct Operator<'b> {
    pub name: Cow<'b, str>,
    pub op_type: Cow<'b, str>,
    pub inputs: Vec<Cow<'b, str>>,
    pub attributes: Vec<(Cow<'b, str>, Attribute<'b>)>,
    pub input_tensors: Vec<Message<'b>>,
    pub output_tensors: Vec<Message<'b>>,
    pub subgraphs: Vec<Cow<'b, str>>,
    pub output_offsets: Vec<i64>,
    pub workspace_offsets: Vec<i64>,
    pub workspace_bytes: Vec<i64>,
}

impl<'b> Operator<'b> {
    pub fn of(message: Message<'b>, dictionary: &Dictionary<'b>) -> Self {
        let mut operator = Self { attributes: dictionary.attributes(message, 10), ..Default::default() };
        for (field, value) in message.each() {
            match field {
                1 => operator.name = value.text(),
                2 => operator.op_type = value.text(),
                5 => operator.inputs.push(value.text()),
                29 => value.push_ints(&mut operator.output_offsets),
                30 => value.push_ints(&mut operator.workspace_offsets),
                31 => value.push_ints(&mut operator.workspace_bytes),
                33 => operator.input_tensors.push(value.message()),
                34 => operator.output_tensors.push(value.message()),
                35 => operator.subgraphs.push(value.text()),
                _ => {}
            }
        }
        operator
    }

    /// The value of an attribute.
    pub fn value(&self, name: &str, dictionary: &Dictionary<'b>) -> Option<AttributeValue<'b>> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.and_then(|(_, attribute)| attribute.value(dictionary))
    }

    /// The words of an attribute; none where there is none.
    pub fn words(&self, name: &str, dictionary: &Dictionary<'b>) -> Vec<String> {
        self.value(name, dictionary).map(|value| value.words()).unwrap_or_default()
    }
}

/// The description of a tensor.
#[derive(Clone, Debug, Default)]
pub(super) struct Described {
    /// The type with the sizes that the model before its conversion had, else those of the device.
    pub tensor: Tensor,
    /// The sizes in the device's memory, and their format.
    pub device: String,
    /// The order of the sizes, such as `NCHW`.
    pub layout: String,
    /// Whether both are the same, so that data lie in the order of the sizes.
    pub is_plain: bool,
    /// The bytes of a weight, and their offset among the weights.
    pub weight: (u64, u64),
    /// The place of the value among inputs or outputs of the operator that runs the graph.
    pub parent_index: Option<i64>,
}

impl Described {
    pub fn of(message: Message<'_>, dictionary: &Dictionary<'_>) -> Self {
        let mut described = Self::default();
        let (mut sizes, mut format) = (Vec::new(), Cow::Borrowed(""));
        let mut merged = None;
        for (field, value) in message.each() {
            match field {
                2 => described.tensor.data_type = data_type(value.int()),
                3 => {
                    for (number, size) in value.message().each() {
                        if number == 1 {
                            size.push_ints(&mut sizes);
                        }
                    }
                }
                4 => format = value.text(),
                11 => described.weight.0 = u64::try_from(value.int()).unwrap_or(0),
                18 => described.weight.1 = u64::try_from(value.int()).unwrap_or(0),
                _ => {}
            }
        }
        let (mut origin, mut is_set, mut origin_format) = (None, false, None);
        for (name, attribute) in dictionary.attributes(message, 5) {
            match (&*name, attribute.value(dictionary)) {
                ("origin_shape", Some(AttributeValue::Ints(sizes))) => origin = Some(sizes),
                ("origin_shape_initialized", Some(value)) => is_set = value.int() == Some(1),
                ("origin_format", Some(AttributeValue::Text(format))) => {
                    origin_format = Some(format.into_owned())
                }
                ("_parent_node_index", Some(value)) => described.parent_index = value.int(),
                ("merged_offset", Some(value)) => {
                    merged = value.int().and_then(|offset| u64::try_from(offset).ok());
                }
                _ => {}
            }
        }
        described.weight.1 = merged.unwrap_or(described.weight.1);
        let is_reserved = message.bytes.is_empty() || format == "FORMAT_RESERVED" || format == "RESERVED";
        let own = |sizes: &[i64]| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        if !is_reserved {
            described.device = format!("{format}[{}]", own(&sizes));
        }
        let origin = origin.filter(|origin| is_set || !origin.is_empty());
        described.is_plain = origin.as_ref().is_none_or(|origin| *origin == sizes)
            && origin_format
                .as_ref()
                .is_none_or(|origin| *origin == format || origin == "ND" || format == "ND");
        described.layout = origin_format.filter(|_| origin.is_some()).unwrap_or(format.into_owned());
        let stated = origin.unwrap_or(sizes);
        // −2 is a tensor of any number of dimensions.
        let is_known = !is_reserved && !stated.contains(&-2);
        described.tensor.dims = is_known.then_some(stated);
        described
    }

    /// Whether it says anything: inputs that are left out have a description all the same.
    pub fn is_there(&self) -> bool {
        !self.device.is_empty()
    }
}

/// The element types of `ge.proto.DataType`: name, number and type.
const DATA_TYPES: [(&str, i64, DataType); 40] = [
    ("DT_FLOAT", 1, DataType::Float32),
    ("DT_FLOAT16", 2, DataType::Float16),
    ("DT_INT8", 3, DataType::Int8),
    ("DT_UINT8", 4, DataType::Uint8),
    ("DT_INT16", 5, DataType::Int16),
    ("DT_UINT16", 6, DataType::Uint16),
    ("DT_INT32", 7, DataType::Int32),
    ("DT_INT64", 8, DataType::Int64),
    ("DT_UINT32", 9, DataType::Uint32),
    ("DT_UINT64", 10, DataType::Uint64),
    ("DT_BOOL", 11, DataType::Bool),
    ("DT_DOUBLE", 12, DataType::Float64),
    ("DT_STRING", 13, DataType::String),
    ("DT_DUAL_SUB_INT8", 14, DataType::Unknown),
    ("DT_DUAL_SUB_UINT8", 15, DataType::Unknown),
    ("DT_COMPLEX64", 16, DataType::Complex64),
    ("DT_COMPLEX128", 17, DataType::Complex128),
    ("DT_QINT8", 18, DataType::Int8),
    ("DT_QINT16", 19, DataType::Int16),
    ("DT_QINT32", 20, DataType::Int32),
    ("DT_QUINT8", 21, DataType::Uint8),
    ("DT_QUINT16", 22, DataType::Uint16),
    ("DT_RESOURCE", 23, DataType::Unknown),
    ("DT_STRING_REF", 24, DataType::String),
    ("DT_DUAL", 25, DataType::Unknown),
    ("DT_VARIANT", 26, DataType::Unknown),
    ("DT_BF16", 27, DataType::BFloat16),
    ("DT_INT4", 28, DataType::Int4),
    ("DT_UINT1", 29, DataType::Unknown),
    ("DT_INT2", 30, DataType::Int2),
    ("DT_UINT2", 31, DataType::Uint2),
    ("DT_COMPLEX32", 32, DataType::Unknown),
    ("DT_HIFLOAT8", 33, DataType::Unknown),
    ("DT_FLOAT8_E5M2", 34, DataType::Float8E5M2),
    ("DT_FLOAT8_E4M3FN", 35, DataType::Float8E4M3Fn),
    ("DT_FLOAT8_E8M0", 36, DataType::Float8E8M0),
    ("DT_FLOAT6_E3M2", 37, DataType::Unknown),
    ("DT_FLOAT6_E2M3", 38, DataType::Unknown),
    ("DT_FLOAT4_E2M1", 39, DataType::Float4E2M1),
    ("DT_FLOAT4_E1M2", 40, DataType::Unknown),
];

/// The element type of a number of `ge.proto.DataType`.
pub(crate) fn data_type(number: i64) -> DataType {
    let found = DATA_TYPES.iter().find(|(_, known, _)| *known == number);
    found.map_or(DataType::Unknown, |(_, _, data_type)| *data_type)
}

/// The number of an element type by its name. One that is newer than those here has the number of none.
pub(super) fn data_type_number(name: &str) -> Option<u64> {
    let found = DATA_TYPES.iter().find(|(known, ..)| *known == name);
    let number = found.map(|(_, number, _)| number.cast_unsigned());
    number.or(name.starts_with("DT_").then_some(0))
}
