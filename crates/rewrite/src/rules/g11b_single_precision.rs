//! G11b: what is computed in double precision is computed in single, which rounds more.

use opscope_model::proto::data_type_to_onnx;
use opscope_trace::DataType;

use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct SinglePrecision;

static INFO: Info = Info {
    id: "G11b",
    name: "single-precision",
    exactness: Exactness::Lossy,
    use_: Use::Always,
    summary: "Operators on float64 -> Cast + the operator on float32 + Cast; G12 merges the casts between",
    condition: "All inputs and the output are float64 and the operator is one of the usual ones. Numbers \
                keep 24 of 53 binary digits, and those beyond 3.4e38 become infinite.",
};

/// Operators whose inputs and output have all the same floating-point type.
const OPERATORS: [&str; 34] = [
    "Abs",
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Ceil",
    "Clip",
    "Conv",
    "ConvTranspose",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gemm",
    "GlobalAveragePool",
    "HardSigmoid",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "MatMul",
    "Max",
    "MaxPool",
    "Min",
    "Mul",
    "Neg",
    "PRelu",
    "Relu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Sqrt",
    "Sub",
    "Sum",
    "Tanh",
];

impl Rewrite for SinglePrecision {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &OPERATORS
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let wide = draft.node(at)?;
        let result = wide.only_output()?;
        let is_double = |name: &str| name.is_empty() || draft.data_type(name) == Some(DataType::Float64);
        if draft.opset() < 9 || !wide.inputs().chain([result]).all(is_double) {
            return None;
        }
        let to = |data_type| i64::from(data_type_to_onnx(data_type));
        let mut edit = Edit::new("single");
        edit.remove(wide).because("computes float64");
        let mut single = wide.proto.clone();
        for name in single.input.iter_mut().filter(|name| !name.is_empty()) {
            let cast = node("Cast", &[name], &[]).int("to", to(DataType::Float32));
            *name = edit.apply_node(draft, cast, name);
        }
        let value = edit.fresh(draft, result);
        single.output = vec![value.clone()];
        edit.add(single);
        edit.add(node("Cast", &[&value], &[result]).int("to", to(DataType::Float64)));
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies_unproven, net, prove, refuses};

    #[test]
    fn a_chain_is_computed_in_single_precision_between_two_casts() {
        let text = "input x f64[2,3]; const w f64[3,2] 1 2 3 4 5 6; a = MatMul(x, w); b = Relu(a); y = Tanh(b); output y f64[2,2]";
        let applied = applies_unproven("G11b G12 G25a", text);
        assert_eq!(applied.operators(), "Cast MatMul Relu Tanh Cast");
        // Close, but not the same: that is why it must be allowed.
        prove(&net(text), &applied.model, 1e-5);
    }

    #[test]
    fn other_types_and_operators_stay() {
        refuses("G11b", "input x f32[2,3]; y = Relu(x); output y");
        refuses("G11b", "input x f64[2,3]; y = ReduceMax(x); output y");
        refuses("G11b", "input x f64[2,3]; u = far.Mystery(x); y = Relu(u); output y");
    }
}
