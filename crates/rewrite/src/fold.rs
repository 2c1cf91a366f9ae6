//! Computing nodes whose inputs are always the same.
//!
//! Floating-point operators compute in double precision and round once, to the type of the result.
//! Operators that aren't known here give `None`, and the node stays.

mod arithmetic;
mod elements;
mod movement;

use opscope_model::proto::NodeProto;
use opscope_model::{Attributes, TensorData};

use elements::Call;

pub use elements::{MOST_ELEMENTS, axis};

/// The results of a node; `None` when it can't be computed here.
pub fn evaluate(node: &NodeProto, opset: i64, inputs: &[Option<TensorData>]) -> Option<Vec<TensorData>> {
    let call = Call {
        op_type: node.op_type(),
        opset,
        attributes: Attributes::new(&node.attribute),
        inputs,
        outputs: node.output.len(),
    };
    let whole_bytes = |data: &TensorData| data.data_type.bits().is_some_and(|bits| bits.is_multiple_of(8));
    if !inputs.iter().flatten().all(whole_bytes) {
        return None;
    }
    movement::evaluate(&call).or_else(|| Some(vec![arithmetic::evaluate(&call)?]))
}
