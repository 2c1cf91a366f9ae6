//! The operator that each layer becomes: an operator of ONNX where the meaning is the same, its own type elsewhere.
//!
//! Names, inputs and attributes are those of the public specification of OpenVINO's operation sets. ONNX's operators
//! are those of version 24, which has `Swish` and `Attention`. Products of matrices of which one is turned are
//! ONNX Runtime's `FusedMatMul`, or `Gemm` where both have two sizes.

mod matrices;
mod parts;
mod reshaping;
mod windows;

use opscope_trace::DataType;

use super::layer::{Made, Site};
use crate::formats::assembly::{float, int, string};
use crate::proto::data_type_to_onnx;

/// The domain of ONNX Runtime's own operators.
pub(super) const ONNX_RUNTIME: &str = "com.microsoft";

/// Layers that are ONNX's operators of another or the same name, with the same inputs and without attributes.
const SAME: [(&str, &str); 48] = [
    ("Abs", "Abs"),
    ("Acos", "Acos"),
    ("Acosh", "Acosh"),
    ("Add", "Add"),
    ("Asin", "Asin"),
    ("Asinh", "Asinh"),
    ("Atan", "Atan"),
    ("Atanh", "Atanh"),
    ("BitwiseAnd", "BitwiseAnd"),
    ("BitwiseNot", "BitwiseNot"),
    ("BitwiseOr", "BitwiseOr"),
    ("BitwiseXor", "BitwiseXor"),
    ("Ceiling", "Ceil"),
    ("ConvertLike", "CastLike"),
    ("Cos", "Cos"),
    ("Cosh", "Cosh"),
    ("Equal", "Equal"),
    ("Erf", "Erf"),
    ("Exp", "Exp"),
    ("Floor", "Floor"),
    ("Greater", "Greater"),
    ("GreaterEqual", "GreaterOrEqual"),
    ("HSwish", "HardSwish"),
    ("Identity", "Identity"),
    ("Less", "Less"),
    ("LessEqual", "LessOrEqual"),
    ("Log", "Log"),
    ("LogicalAnd", "And"),
    ("LogicalNot", "Not"),
    ("LogicalOr", "Or"),
    ("LogicalXor", "Xor"),
    ("Maximum", "Max"),
    ("Minimum", "Min"),
    ("Mish", "Mish"),
    ("Multiply", "Mul"),
    ("Negative", "Neg"),
    ("Power", "Pow"),
    ("ReLU", "Relu"),
    ("Select", "Where"),
    ("Sigmoid", "Sigmoid"),
    ("Sign", "Sign"),
    ("Sin", "Sin"),
    ("Sinh", "Sinh"),
    ("SoftPlus", "Softplus"),
    ("SoftSign", "Softsign"),
    ("Sqrt", "Sqrt"),
    ("Subtract", "Sub"),
    ("Tan", "Tan"),
];

/// The operator of ONNX that a layer is.
pub(super) fn made(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let op_type = &*site.layer().op_type;
    // Sets of others, such as those of users' extensions, may have other meanings.
    if site.opset() == 0 {
        return None;
    }
    // Broadcasting from another axis, as frameworks of old did it.
    if !site.is_or_absent("auto_broadcast", &["numpy", "none"]) {
        return None;
    }
    if let Some((_, same)) = SAME.iter().find(|(own, _)| *own == op_type) {
        return Some(Made::new(same, site.values()));
    }
    let same = |site: &mut Site<'_, '_, '_, '_>, name: &str| Some(Made::new(name, site.values()));
    let first = |site: &mut Site<'_, '_, '_, '_>, name: &str| Some(Made::new(name, vec![site.value(0)]));
    match op_type {
        "Tanh" => same(site, "Tanh"),
        "Convert" => convert(site),
        "Clamp" => clamp(site),
        "Divide" => divide(site),
        "Mod" => Some(same(site, "Mod")?.with([int("fmod", 1)])),
        "FloorMod" if is_integer(site.data_type(0)) => same(site, "Mod"),
        "Round" if site.is_or_absent("mode", &["half_to_even"]) => same(site, "Round"),
        "Elu" => Some(same(site, "Elu")?.with([float("alpha", site.number("alpha")?)])),
        "PReLU" => slope(site),
        "HSigmoid" => Some(same(site, "HardSigmoid")?.with([float("alpha", 1.0 / 6.0), float("beta", 0.5)])),
        "HardSigmoid" | "Selu" => {
            let [alpha, other] = [site.float(1)?, site.float(2)?];
            let name = if op_type == "Selu" { "gamma" } else { "beta" };
            Some(first(site, op_type)?.with([float("alpha", alpha), float(name, other)]))
        }
        "Swish" => {
            let alpha = if site.inputs() > 1 { site.float(1)? } else { 1.0 };
            Some(first(site, "Swish")?.with([float("alpha", alpha)]))
        }
        "Gelu" => {
            let is_tanh = site.text("approximation_mode").as_deref() == Some("tanh");
            let way = string("approximate", if is_tanh { "tanh" } else { "none" });
            Some(same(site, "Gelu")?.with([way]))
        }
        "SoftMax" | "Softmax" => {
            Some(same(site, "Softmax")?.with([int("axis", site.number("axis").unwrap_or(1))]))
        }
        "LogSoftmax" => Some(same(site, "LogSoftmax")?.with([int("axis", site.number("axis").unwrap_or(1))])),
        "IsNaN" | "IsInf" => {
            let made = same(site, op_type)?;
            let signs = ["detect_negative", "detect_positive"];
            let signs = signs.iter().filter_map(|name| Some(int(name, i64::from(site.flag(name)?))));
            Some(made.with(signs))
        }
        "CumSum" => {
            let made = same(site, "CumSum")?;
            let flags =
                ["exclusive", "reverse"].map(|name| int(name, i64::from(site.flag(name) == Some(true))));
            Some(made.with(flags))
        }

        "MatMul" => matrices::matmul(site),
        "Einsum" => {
            let equation = site.layer().data.get("equation")?;
            Some(same(site, "Einsum")?.with([string("equation", &equation)]))
        }
        "ScaledDotProductAttention" => matrices::attention(site),
        "BatchNormInference" => matrices::batch_norm(site),
        "GroupNormalization" => matrices::group_norm(site),
        "LRN" => matrices::local_response(site),
        reduction if reduction.starts_with("Reduce") => matrices::reduce(site),
        "TopK" => matrices::top_k(site),

        "Convolution" => windows::convolution(site, false),
        "GroupConvolution" => windows::convolution(site, true),
        "ConvolutionBackpropData" => windows::transposed(site, false),
        "GroupConvolutionBackpropData" => windows::transposed(site, true),
        "DeformableConvolution" if site.opset() >= 8 => windows::deformable(site),
        "MaxPool" => windows::max_pool(site),
        "AvgPool" => windows::average_pool(site),
        "Interpolate" => windows::resize(site),
        "GridSample" => windows::grid_sample(site),
        "ROIAlign" => windows::regions(site),

        "Reshape" => reshaping::reshape(site),
        "Transpose" => reshaping::transpose(site),
        "Squeeze" | "Unsqueeze" => same(site, op_type),
        "ShapeOf" => Some(first(site, "Shape")?.int64(0)),
        "Broadcast" if site.is_or_absent("mode", &["numpy", "bidirectional"]) && site.inputs() == 2 => {
            same(site, "Expand")
        }
        "Tile" => reshaping::tile(site),
        "DepthToSpace" | "SpaceToDepth" => reshaping::depth(site),
        "Pad" => reshaping::pad(site),
        "Range" => reshaping::range(site),

        "Concat" => Some(same(site, "Concat")?.with([int("axis", site.number("axis")?)])),
        "Split" => parts::split(site),
        "VariadicSplit" => parts::variadic_split(site),
        "Slice" => parts::slice(site),
        "StridedSlice" => parts::strided_slice(site),
        "Gather" => parts::gather(site),
        "GatherElements" => Some(same(site, "GatherElements")?.with([int("axis", site.number("axis")?)])),
        "GatherND" => parts::gather_nd(site),
        "ScatterNDUpdate" => parts::scatter_nd(site),
        "ScatterElementsUpdate" => parts::scatter_elements(site),
        "NonZero" => Some(same(site, "NonZero")?.int64(0)),
        _ => None,
    }
}

fn is_integer(data_type: DataType) -> bool {
    use DataType::{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    matches!(data_type, Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64)
}

fn convert(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let to = site.output_type(0);
    // A type that has no number in ONNX.
    (to != DataType::Unknown).then_some(())?;
    Some(Made::new("Cast", site.values()).with([int("to", data_type_to_onnx(to).into())]))
}

fn clamp(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let (least, most): (f64, f64) = (site.number("min")?, site.number("max")?);
    let data_type = site.data_type(0);
    let least = site.store_number("min", data_type, least)?;
    let most = site.store_number("max", data_type, most)?;
    Some(Made::new("Clip", vec![site.value(0), least, most]))
}

/// Quotients of integers are rounded down as Python's are, unless told otherwise; ONNX cuts them off.
fn divide(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let rounds_down = is_integer(site.data_type(0)) && site.flag("m_pythondiv") != Some(false);
    (!rounds_down).then(|| Made::new("Div", site.values()))
}

/// A slope, or one for each channel, which is the second size; ONNX's spreads from the last one.
fn slope(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let (dims, slopes) = (site.dims(0)?.to_vec(), site.dims(1)?.to_vec());
    let slope = match slopes[..] {
        [count] if count != 1 && dims.len() != 2 => {
            (dims.get(1) == Some(&count)).then_some(())?;
            let behind = dims.iter().skip(2).map(|_| 1);
            site.reshaped(1, "slope", &std::iter::once(count).chain(behind).collect::<Vec<_>>())
        }
        _ => site.value(1),
    };
    Some(Made::new("PRelu", vec![site.value(0), slope]))
}
