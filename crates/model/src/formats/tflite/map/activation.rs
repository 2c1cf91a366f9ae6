//! Activations: those that are operators, and those within another operator.

use opscope_trace::DataType;

use super::super::network::{Network, Operator};
use crate::formats::assembly;

/// The activation that ONNX has no operator for.
pub(super) const SIGN_BIT: &str = "SIGN_BIT";

/// A function of each element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Relu,
    Tanh,
    SignBit,
    /// Kept between two bounds.
    Clip(f32, f32),
}

impl Kind {
    /// The activation of a number of the public `schema.fbs` (`ActivationFunctionType`).
    pub fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Relu),
            2 => Some(Self::Clip(-1.0, 1.0)),
            3 => Some(Self::Clip(0.0, 6.0)),
            4 => Some(Self::Tanh),
            5 => Some(Self::SignBit),
            _ => None,
        }
    }

    pub fn op_type(self) -> &'static str {
        match self {
            Self::Relu => "Relu",
            Self::Tanh => "Tanh",
            Self::SignBit => SIGN_BIT,
            Self::Clip(..) => "Clip",
        }
    }

    /// The bounds as stored numbers of the tensor's type: of a quantized one those that stand for them.
    pub fn bounds(self, net: &mut Network, label: &str, tensor: usize) -> Vec<String> {
        let Self::Clip(low, high) = self else { return Vec::new() };
        [(low, "min"), (high, "max")].map(|(bound, word)| number(net, label, word, tensor, bound)).to_vec()
    }
}

fn number(net: &mut Network, label: &str, word: &str, tensor: usize, value: f32) -> String {
    let name = net.fresh(format!("{label}:{word}"));
    let found = &net.tensors[tensor];
    let mut stored = assembly::weight(&name, found.data_type, &[]);
    let quantized = found.quantization().and_then(|it| Some((it.scales().next()?, it.zero_points().next())));
    match found.data_type {
        DataType::Float32 => stored.float_data = vec![value],
        DataType::Int8 | DataType::Uint8 | DataType::Int16 => {
            let (low, high) = match found.data_type {
                DataType::Int8 => (-128, 127),
                DataType::Uint8 => (0, 255),
                _ => (-32_768, 32_767),
            };
            if let Some((scale, zero)) = quantized {
                // A conversion of a float that is too large ends at the type's bound.
                let steps = (value / scale).round() as i64;
                let point = steps.saturating_add(zero.unwrap_or(0)).clamp(low, high);
                stored.int32_data = vec![i32::try_from(point).unwrap_or_default()];
            }
        }
        // Of other types the bound is there without its value.
        _ => {}
    }
    net.assembly.made_value(stored);
    name
}

/// The activation within an operator that ONNX has none for.
pub(super) fn within(op: &Operator) -> u8 {
    match &*op.op_type {
        "ADD" | "SUB" | "MUL" | "DIV" | "FULLY_CONNECTED" | "L2_NORMALIZATION" => op.options.byte(0),
        "CONV_2D" | "TRANSPOSE_CONV" => op.options.byte(3),
        "DEPTHWISE_CONV_2D" | "CONV_3D" | "CONV_3D_TRANSPOSE" => op.options.byte(4),
        "AVERAGE_POOL_2D" | "MAX_POOL_2D" | "L2_POOL_2D" => op.options.byte(5),
        "CONCATENATION" => op.options.byte(1),
        _ => 0,
    }
}
