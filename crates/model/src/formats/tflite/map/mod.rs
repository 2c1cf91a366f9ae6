//! The operator that each operator of the file becomes: one of ONNX where the meaning is the same, its own type
//! elsewhere.
//!
//! An activation within an operator becomes a node behind it. Operators on quantized tensors are those on the numbers
//! that they stand for; the tensors keep their types. Operators that work place by place take an image in the order in
//! which it is at hand.

mod activation;
mod elementwise;
mod images;
mod layout;
mod matrix;
mod quantize;
mod reduce;
mod select;

use opscope_trace::DataType;

use super::super::FormatError;
use super::network::{Network, Operator};
use super::order::Order;
use crate::proto::{AttributeProto, data_type_to_onnx};

/// An operator before it is added.
struct Made {
    /// Its type, of ONNX's domain or of the file's.
    op_type: String,
    is_own: bool,
    inputs: Vec<String>,
    attributes: Vec<AttributeProto>,
    /// The order of its outputs.
    order: Order,
    /// The number of the activation within it.
    activation: u8,
    /// The output that ONNX's operator gives as 64-bit integers, whatever type the file's has.
    positions: Option<usize>,
}

impl Made {
    fn new(op_type: &str, inputs: Vec<String>, order: Order) -> Self {
        Self {
            op_type: op_type.to_owned(),
            is_own: false,
            inputs,
            attributes: Vec::new(),
            order,
            activation: 0,
            positions: None,
        }
    }

    fn with(mut self, attributes: impl IntoIterator<Item = AttributeProto>) -> Self {
        self.attributes.extend(attributes);
        self
    }

    fn activated(self, activation: u8) -> Self {
        Self { activation, ..self }
    }

    fn of_positions(self, output: usize) -> Self {
        Self { positions: Some(output), ..self }
    }
}

/// The operator of ONNX that one becomes; `None` is one that keeps its type.
type Mapped = Result<Option<Made>, FormatError>;

/// Adds an operator to the graph.
///
/// # Errors
/// When the graph becomes too large.
pub(super) fn operator(net: &mut Network, op: &Operator) -> Result<(), FormatError> {
    if quantize::is_unpacked_later(net, op) {
        return Ok(());
    }
    let made = match typing(net, op) {
        true => mapped(net, op)?,
        false => None,
    };
    let made = match made {
        Some(made) => made,
        None => own(net, op)?,
    };
    add(net, op, made)
}

/// Whether the output has the type that ONNX's operator would give it.
fn typing(net: &Network, op: &Operator) -> bool {
    let typed_by = match &*op.op_type {
        "EQUAL" | "NOT_EQUAL" | "LESS" | "LESS_EQUAL" | "GREATER" | "GREATER_EQUAL" | "CAST" | "QUANTIZE"
        | "DEQUANTIZE" | "SHAPE" | "ARG_MAX" | "ARG_MIN" => return true,
        "SPLIT" | "SELECT" | "SELECT_V2" | "EMBEDDING_LOOKUP" | "FILL" => 1,
        "TRANSPOSE_CONV" => 2,
        _ => 0,
    };
    let Some(output) = op.outputs.first() else { return true };
    net.data_type(op.input(typed_by)) == net.data_type(Some(*output))
}

/// The operator of ONNX.
fn mapped(net: &mut Network, op: &Operator) -> Mapped {
    match &*op.op_type {
        "CONV_2D" => images::convolution(net, op),
        "DEPTHWISE_CONV_2D" => images::depthwise(net, op),
        "CONV_3D" => images::volumes(net, op),
        "TRANSPOSE_CONV" => images::transposed(net, op),
        "AVERAGE_POOL_2D" => images::pool(net, op, "AveragePool"),
        "MAX_POOL_2D" => images::pool(net, op, "MaxPool"),
        "RESIZE_BILINEAR" | "RESIZE_NEAREST_NEIGHBOR" => images::resize(net, op),
        "DEPTH_TO_SPACE" => images::blocks(net, op, "DepthToSpace"),
        "SPACE_TO_DEPTH" => images::blocks(net, op, "SpaceToDepth"),
        "LOCAL_RESPONSE_NORMALIZATION" => images::local_normalization(net, op),

        "FULLY_CONNECTED" => matrix::fully_connected(net, op),
        "BATCH_MATMUL" => matrix::product(net, op),

        "QUANTIZE" | "DEQUANTIZE" => quantize::conversion(net, op),

        "MEAN" => reduce::along(net, op, "ReduceMean"),
        "SUM" => reduce::along(net, op, "ReduceSum"),
        "REDUCE_MAX" => reduce::along(net, op, "ReduceMax"),
        "REDUCE_MIN" => reduce::along(net, op, "ReduceMin"),
        "REDUCE_PROD" => reduce::along(net, op, "ReduceProd"),
        "ARG_MAX" => reduce::position(net, op, "ArgMax"),
        "ARG_MIN" => reduce::position(net, op, "ArgMin"),
        "TOPK_V2" => reduce::greatest(net, op),
        "CUMSUM" => reduce::sums_so_far(net, op),

        "RESHAPE" => layout::reshape(net, op),
        "SQUEEZE" => layout::squeeze(net, op),
        "EXPAND_DIMS" => layout::expand_dims(net, op),
        "TRANSPOSE" => layout::transpose(net, op),
        "SHAPE" => layout::shape(net, op),
        "TILE" => layout::repeated(net, op, "Tile"),
        "BROADCAST_TO" => layout::repeated(net, op, "Expand"),
        "FILL" => layout::fill(net, op),

        "CONCATENATION" => select::concatenation(net, op),
        "PACK" => select::pack(net, op),
        "SPLIT" | "SPLIT_V" => select::split(net, op),
        "SLICE" => select::slice(net, op),
        "STRIDED_SLICE" => select::strided_slice(net, op),
        "PAD" | "PADV2" | "MIRROR_PAD" => select::pad(net, op),
        "GATHER" | "EMBEDDING_LOOKUP" => select::gather(net, op),
        "GATHER_ND" => select::plain(net, op, "GatherND"),
        "REVERSE_SEQUENCE" => select::reverse_sequence(net, op),

        _ => elementwise::mapped(net, op),
    }
}

/// An operator that ONNX has none for.
fn own(net: &mut Network, op: &Operator) -> Result<Made, FormatError> {
    if let Some(made) = elementwise::own(net, op)? {
        return Ok(made);
    }
    let mut inputs = Vec::with_capacity(op.inputs.len());
    for input in &op.inputs {
        inputs.push(net.read(*input, Order::File)?);
    }
    // Activations have their place in the options of these alone.
    let activation = activation::within(op);
    Ok(Made { is_own: true, ..Made::new(&op.op_type, inputs, Order::File) }.activated(activation))
}

fn add(net: &mut Network, op: &Operator, made: Made) -> Result<(), FormatError> {
    let mut outputs: Vec<String> = op.outputs.iter().map(|output| net.make(*output, made.order)).collect();
    // Nodes behind the operator's own, which make the tensor of a value on the way.
    let mut behind = Vec::new();
    let tensor = |place: usize| op.outputs.get(place).copied();
    if let Some((place, tensor)) = made.positions.and_then(|place| Some((place, tensor(place)?))) {
        let wanted = net.data_type(Some(tensor));
        if wanted != DataType::Int64 {
            let between = net.between(tensor, made.order, "int64", DataType::Int64);
            let to = crate::formats::assembly::int("to", data_type_to_onnx(wanted).into());
            let value = std::mem::replace(&mut outputs[place], between.clone());
            behind.push(("Cast", format!("{}:Cast", op.label), vec![between], value, vec![to]));
        }
    }
    if let (Some(tensor), Some(kind)) = (tensor(0), activation::Kind::of(made.activation)) {
        let data_type = net.data_type(Some(tensor));
        let between = net.between(tensor, made.order, "linear", data_type);
        let name = format!("{}:{}", op.label, kind.op_type());
        let mut inputs = vec![between.clone()];
        inputs.extend(kind.bounds(net, &name, tensor));
        let value = std::mem::replace(&mut outputs[0], between);
        behind.push((kind.op_type(), name, inputs, value, Vec::new()));
    }
    match made.is_own {
        true => net.own_node(&made.op_type, op.label.clone(), made.inputs, outputs)?,
        false => net.node(&made.op_type, op.label.clone(), made.inputs, outputs, made.attributes)?,
    }
    for (op_type, name, inputs, output, attributes) in behind {
        match op_type {
            "Cast" => net.helper(op_type, name, inputs, vec![output], attributes)?,
            activation::SIGN_BIT => net.own_node(op_type, name, inputs, vec![output])?,
            _ => net.node(op_type, name, inputs, vec![output], attributes)?,
        }
    }
    Ok(())
}
