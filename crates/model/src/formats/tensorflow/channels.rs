//! How many channels images have, from the filters that made them on: a convolution of groups doesn't say how many
//! it has. Its filter is of the channels that one group reads, and the image has those of all groups.

use std::collections::HashMap;

use crate::proto::NodeProto;

/// Operators of ONNX's whose first output has the channels of their first input.
const KEPT: [&str; 35] = [
    "Abs",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Ceil",
    "Clip",
    "Cos",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Identity",
    "LRN",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "MaxPool",
    "Neg",
    "Reciprocal",
    "Relu",
    "Resize",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tanh",
    "Acos",
    "Asin",
    "Atan",
    "Not",
];

/// Operators that bring their inputs to one shape.
const TOGETHER: [&str; 8] = ["Add", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Sum"];

/// The channels of images, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Channels {
    of_values: HashMap<String, i64>,
    /// The channels of the images that filters make, by the names of these.
    of_filters: HashMap<String, i64>,
}

impl Channels {
    pub fn of(&self, image: &str) -> Option<i64> {
        self.of_values.get(image).copied()
    }

    /// Notes the channels of an image.
    pub fn note(&mut self, image: &str, channels: i64) {
        if channels > 0 {
            self.of_values.insert(image.to_owned(), channels);
        }
    }

    /// Notes the channels of the images that a filter makes.
    pub fn note_filter(&mut self, filter: &str, channels: i64) {
        self.of_filters.insert(filter.to_owned(), channels);
    }

    /// Follows the channels through an operator.
    pub fn enter(&mut self, node: &NodeProto) {
        let Some(output) = node.output.first() else { return };
        if let Some(channels) = self.made_by(node) {
            self.note(output, channels);
        }
    }

    fn made_by(&self, node: &NodeProto) -> Option<i64> {
        let mut inputs = node.input.iter().map(|input| self.of(input));
        match node.op_type() {
            "Conv" => self.of_filters.get(node.input.get(1)?).copied(),
            "Concat" if axis(node) == Some(1) => inputs.try_fold(0_i64, |sum, it| sum.checked_add(it?)),
            op_type if KEPT.contains(&op_type) => inputs.next()?,
            // One channel goes with any number of them.
            op_type if TOGETHER.contains(&op_type) => inputs.flatten().max().filter(|channels| *channels > 1),
            _ => None,
        }
    }
}

fn axis(node: &NodeProto) -> Option<i64> {
    node.attribute.iter().find(|attribute| attribute.name() == "axis")?.i
}
