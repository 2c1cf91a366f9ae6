//! G25a: what is computed from constants becomes a constant.

use opscope_model::TensorData;
use opscope_model::proto::data_type_from_onnx;
use opscope_trace::DataType;

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::fold::{MOST_ELEMENTS, evaluate};
use crate::info::{Exactness, Info, Use};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Fold;

static INFO: Info = Info {
    id: "G25a",
    name: "constant-folding",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "A node all of whose inputs are constant -> its result",
    condition: "The operator is one that is known here, no result is an output of the model or larger than \
                a million elements, and no stored weight would only be stored in a larger type. Computed in double precision and rounded once; Exp, Log, Pow, Sigmoid and \
                Tanh of an engine may round in another way (rounding).",
};

/// Functions that no engine has to round correctly. Sums, products, quotients and roots of double precision
/// that are rounded once more are those of the type itself.
const ROUNDED: [&str; 5] = ["Exp", "Log", "Pow", "Sigmoid", "Tanh"];

impl Rewrite for Fold {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &[]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let node = draft.node(at)?;
        if node.op_type().is_empty() || node.is("Constant") || node.proto.input.is_empty() {
            return None;
        }
        if !node.inputs().all(|name| name.is_empty() || draft.is_constant(name)) {
            return None;
        }
        let inputs: Option<Vec<Option<TensorData>>> = node
            .inputs()
            .map(|name| if name.is_empty() { Some(None) } else { Some(Some(draft.constant(name)?)) })
            .collect();
        if is_decompression(node) {
            return None;
        }
        let results = evaluate(node.proto, draft.opset(), &inputs?)?;
        let mut edit = Edit::new("folded");
        if ROUNDED.contains(&node.op_type()) && node.is_of_floats() {
            edit.exactness(Exactness::Rounding);
        }
        edit.remove(node).because("all inputs are constants");
        for (name, data) in node.proto.output.iter().zip(results) {
            if data.elements() > MOST_ELEMENTS {
                return None;
            }
            if !name.is_empty() {
                let constant = edit.constant(draft, name, data);
                edit.forward(name, &constant);
            }
        }
        Some(edit)
    }
}

/// Whether a node only brings weights that are stored in a smaller type to the one in which they are computed: folded,
/// they would make the file larger, and engines do it once when they load it.
fn is_decompression(node: NodeView<'_>) -> bool {
    let is_known = node.is("Cast") || node.is("DequantizeLinear");
    let stored = node.constant(0).filter(|data| is_known && data.elements() > 1);
    let smaller = stored.is_some_and(|data| {
        matches!(
            data.data_type,
            DataType::Float16
                | DataType::BFloat16
                | DataType::Int8
                | DataType::Uint8
                | DataType::Int4
                | DataType::Uint4
        )
    });
    let made = if node.is("Cast") {
        node.attributes().int("to").and_then(|to| i32::try_from(to).ok())
    } else {
        Some(1)
    };
    let widens =
        made.is_some_and(|to| matches!(data_type_from_onnx(to), DataType::Float32 | DataType::Float64));
    smaller && widens
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    /// A constant expression, added to an input of the same number of dimensions.
    fn folds(constants: &str) {
        let text = format!("input x f32[1]; {constants}; y = Add(x, k); output y");
        assert_eq!(applies("G25a", &text).operators(), "Add", "{constants}");
    }

    #[test]
    fn a_tensor_of_nothing_is_not_counted_through() {
        // Whoever walks along its first axis doesn't come to an end.
        let text = "const d f32[1099511627776,1,0]; const i i64[1] 0; y = Gather(d, i) axis=1; output y";
        refuses("G25a", text);
    }

    #[test]
    fn weights_that_are_stored_in_a_smaller_type_stay_so() {
        refuses(
            "G25a",
            "input x f32[1,4]; const h f16[4] 1 2 3 4; w = Cast(h) to=1; y = Add(x, w); output y",
        );
        refuses("G25a", "input x f32[1,4]; const q u8[4] 1 2 3 4; w = Cast(q) to=1; y = Add(x, w); output y");
        // A single number, and one that isn't made larger.
        folds("const h f16[1] 3; k = Cast(h) to=1");
        folds("const n i64[2] 3 4; k = Cast(n) to=1");
    }

    #[test]
    fn arithmetic_on_constants_is_done_once() {
        folds("const a random[3,4]; const b random[4]; c = Mul(a, b); d = Sub(c, b); k = Div(d, a)");
        folds("const a random[3,4]; b = Neg(a); c = Exp(b); d = Sqrt(c); e = Tanh(d); k = Sigmoid(e)");
        folds(
            "const a positive[3,4]; const b random[4]; c = Pow(a, b); d = Log(c); e = Abs(d); k = Reciprocal(e)",
        );
        folds(
            "const a random[3,4]; const b random[1,4]; c = Min(a, b); d = Max(c, b); e = Floor(d); f = Relu(e); k = Ceil(f)",
        );
        folds(
            "const a random[3,4]; const b random[3,4]; const z f32 0; c = Less(a, b); d = Not(c); e = And(d, c); f = Or(e, d); k = Where(f, a, b)",
        );
    }

    #[test]
    fn moving_constants_is_done_once() {
        folds("const a random[2,3,4]; b = Transpose(a) perm=[1,2,0]; c = Flatten(b) axis=2; k = Identity(c)");
        folds(
            "const a random[2,3,4]; const i i64[2,2] 2 0 -1 1; b = Gather(a, i) axis=1; const s i64[2] 0 -1; k = Reshape(b, s)",
        );
        folds(
            "const a random[5,6]; const s i64[2] 1 -5; const e i64[2] 9 -1; const x1 i64[2] 0 1; const t i64[2] 2 3; k = Slice(a, s, e, x1, t)",
        );
        folds(
            "const a random[2,3]; const b random[2,2]; c = Concat(a, b) axis=-1; const p i64[2] 1 4; d, k = Split(c, p) axis=1",
        );
        folds(
            "const a random[3,1]; const s i64[3] 2 1 1; const o i64[1] 0; b = Unsqueeze(a, o); c = Expand(b, s); k = Identity(c)",
        );
        folds("const a random[1,3]; const o i64[1] 0; k = Squeeze(a, o)");
    }

    #[test]
    fn numbers_about_shapes_are_computed_once() {
        folds(
            "const a random[2,3]; s = Shape(a); t = Cast(s) to=1; const r f32 0.5; u = Mul(t, r); k = Floor(u)",
        );
        folds(
            "const a i64 2; const b i64 11; const c i64 3; r = Range(a, b, c); const d i64 2; q = Div(r, d); k = Cast(q) to=1",
        );
        folds(
            "const a i64[3] -7 7 9; const d i64[3] 2 -2 9; q = Div(a, d); e = Equal(q, a); k = Cast(e) to=1",
        );
    }

    #[test]
    fn what_depends_on_an_input_or_a_replaceable_default_stays() {
        refuses("G25a", "input x f32[2]; const a random[2]; y = Mul(x, a); output y");
        refuses(
            "G25a",
            "input x f32[2]; input a f32[2]; const a random[2]; b = Neg(a); y = Mul(x, b); output y",
        );
    }

    #[test]
    fn an_output_of_the_model_stays_computed() {
        refuses("G25a", "input x f32[2]; const a random[2]; y = Neg(a); z = Neg(x); output y; output z");
    }

    #[test]
    fn unknown_operators_and_doubtful_numbers_stay() {
        refuses("G25a", "input x f32[2]; const a random[2]; b = far.Neg(a); y = Mul(x, b); output y");
        refuses("G25a", "input x f32[2]; const a random[2]; b = Erf(a); y = Mul(x, b); output y");
        refuses("G25a", "input x i64[2]; const a i64[2] 1 0; b = Div(a, a); y = Mul(x, b); output y");
        refuses("G25a", "input x i32[1]; const a f32[1] 1e20; b = Cast(a) to=6; y = Mul(x, b); output y");
    }

    #[test]
    fn huge_results_stay_computed() {
        refuses(
            "G25a",
            "input x f32[1]; const s i64[2] 2000 2000; b = ConstantOfShape(s); y = Add(x, b); output y",
        );
    }
}
