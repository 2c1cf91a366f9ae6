//! The fields that are read of GE's messages and of its ONNX-like ones, by their names.
//!
//! Names and numbers are those of the public `ge_ir.proto` and `ge_onnx.proto`.

use super::super::super::schema::{Field, Kind, Schema};
use super::super::operator::data_type_number;

/// `ge.proto.ModelDef`.
pub(super) static MODEL: Schema = Schema(&[
    Field::new("name", 1, Kind::Text),
    Field::new("version", 2, Kind::Integer),
    Field::new("custom_version", 3, Kind::Text),
    Field::new("graph", 7, Kind::Message(&GRAPH)),
    Field::new("attr", 11, Kind::Message(&NAMED)),
]);

/// `GraphDef`.
static GRAPH: Schema = Schema(&[
    Field::new("op", 6, Kind::Whole(&OPERATOR)),
    Field::new("name", 1, Kind::Text),
    Field::new("output", 5, Kind::Text),
]);

/// `OpDef`.
static OPERATOR: Schema = Schema(&[
    Field::new("attr", 10, Kind::Message(&NAMED)),
    Field::new("name", 1, Kind::Text),
    Field::new("type", 2, Kind::Text),
    Field::new("input", 5, Kind::Text),
    Field::new("output_i", 29, Kind::Integer),
    Field::new("workspace", 30, Kind::Integer),
    Field::new("workspace_bytes", 31, Kind::Integer),
    Field::new("input_desc", 33, Kind::Message(&DESCRIPTION)),
    Field::new("output_desc", 34, Kind::Message(&DESCRIPTION)),
    Field::new("subgraph_name", 35, Kind::Text),
]);

/// `TensorDescriptor`.
static DESCRIPTION: Schema = Schema(&[
    Field::new("attr", 5, Kind::Message(&NAMED)),
    Field::new("dtype", 2, Kind::Named(data_type_number)),
    Field::new("shape", 3, Kind::Message(&SHAPE)),
    Field::new("layout", 4, Kind::Text),
]);

static SHAPE: Schema = Schema(&[Field::new("dim", 1, Kind::Integer)]);

/// An entry of a map of `AttrDef`.
static NAMED: Schema =
    Schema(&[Field::new("key", 1, Kind::Text), Field::new("value", 2, Kind::Message(&ATTRIBUTE))]);

/// `AttrDef`.
static ATTRIBUTE: Schema = Schema(&[
    Field::new("s", 2, Kind::Bytes),
    Field::new("i", 3, Kind::Integer),
    Field::new("list", 1, Kind::Message(&LIST)),
    Field::new("b", 5, Kind::Truth),
    Field::new("f", 4, Kind::Float),
    Field::new("t", 12, Kind::Message(&TENSOR)),
    Field::new("dt", 15, Kind::Integer),
]);

/// `AttrDef.ListValue`.
static LIST: Schema = Schema(&[
    Field::new("i", 3, Kind::Integer),
    Field::new("s", 2, Kind::Bytes),
    Field::new("f", 4, Kind::Float),
    Field::new("b", 5, Kind::Truth),
    Field::new("dt", 12, Kind::Integer),
]);

/// `TensorDef`, with the data of small ones.
static TENSOR: Schema =
    Schema(&[Field::new("desc", 1, Kind::Message(&DESCRIPTION)), Field::new("data", 2, Kind::Bytes)]);

/// `ge.onnx.ModelProto`.
pub(super) static ONNX_MODEL: Schema =
    Schema(&[Field::new("producer_name", 2, Kind::Text), Field::new("graph", 7, Kind::Message(&ONNX_GRAPH))]);

/// `GraphProto`.
static ONNX_GRAPH: Schema = Schema(&[
    Field::new("node", 1, Kind::Whole(&ONNX_NODE)),
    Field::new("name", 2, Kind::Text),
    Field::new("output", 12, Kind::Message(&ONNX_VALUE)),
]);

/// `ValueInfoProto`.
static ONNX_VALUE: Schema = Schema(&[Field::new("name", 1, Kind::Text)]);

/// `NodeProto`.
static ONNX_NODE: Schema = Schema(&[
    Field::new("attribute", 5, Kind::Message(&ONNX_ATTRIBUTE)),
    Field::new("input", 1, Kind::Text),
    Field::new("output", 2, Kind::Text),
    Field::new("name", 3, Kind::Text),
    Field::new("op_type", 4, Kind::Text),
]);

/// `AttributeProto`.
static ONNX_ATTRIBUTE: Schema = Schema(&[
    Field::new("name", 1, Kind::Text),
    Field::new("i", 3, Kind::Integer),
    Field::new("ints", 8, Kind::Integer),
    Field::new("s", 4, Kind::Bytes),
    Field::new("strings", 9, Kind::Bytes),
    Field::new("type", 20, Kind::Named(kind_number)),
    Field::new("f", 2, Kind::Float),
    Field::new("floats", 7, Kind::Float),
    Field::new("g", 6, Kind::Message(&ONNX_GRAPH)),
]);

/// The number of a kind of attributes, of those that GE writes.
fn kind_number(name: &str) -> Option<u64> {
    Some(match name {
        "UNDEFINED" => 0,
        "FLOAT" => 1,
        "INT" => 2,
        "STRING" => 3,
        "GRAPH" => 5,
        "FLOATS" => 6,
        "INTS" => 7,
        "STRINGS" => 8,
        _ => return None,
    })
}

/// The description of a tensor as it stands in JSON within an attribute, in the numbers of
/// [`described`](super::onnx).
pub(super) static TENSOR_JSON: Schema = Schema(&[
    Field::new("dtype", 1, Kind::Text),
    Field::new("shape", 2, Kind::Integer),
    Field::new("layout", 3, Kind::Text),
    Field::new("origin_shape", 4, Kind::Integer),
    Field::new("origin_layout", 5, Kind::Text),
    Field::new("_parent_node_index", 6, Kind::Text),
]);
