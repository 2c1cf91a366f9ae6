//! G28a: a layer normalisation that is written out becomes the operator.

use opscope_trace::DataType;

use crate::constant::repeated;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::fold::axis;
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct LayerNorm;

static INFO: Info = Info {
    id: "G28a",
    name: "layer-norm",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "(x - mean) / Sqrt(variance + e) * scale + bias -> LayerNormalization",
    condition: "The model has version 17 of ONNX's operators or newer; mean and variance are taken over \
                the last axis, whose size is known; scale and bias are constant vectors, or not there; \
                the numbers aren't of double precision, of which the operator keeps less; nothing else reads what \
                is between.",
};

impl Rewrite for LayerNorm {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn since(&self) -> i64 {
        17
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Div"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let quotient = draft.node(at)?;
        let difference = quotient.producer(0).filter(|node| node.is("Sub"))?;
        let root = quotient.producer(1).filter(|node| node.is("Sqrt"))?;
        let x = difference.input(0);
        let mean = difference.producer(1).filter(|node| is_mean(draft, *node) && node.input(0) == x)?;
        let sum = root.producer(0).filter(|node| node.is("Add"))?;
        let (variance, epsilon) = sum.either_way().into_iter().find_map(|(from, other)| {
            let epsilon = sum.number_beside(other, from)?;
            Some((sum.producer(from).filter(|node| is_mean(draft, *node))?, epsilon))
        })?;
        let square = variance.producer(0).filter(|node| is_square_of(*node, difference.output(0)))?;

        let shape = draft.shape(x)?;
        // The operator takes mean and variance in single precision.
        if shape.data_type == DataType::Float64 {
            return None;
        }
        let width = (*shape.dims.last()?)?;
        let mut edit = Edit::new("norm");
        for node in [mean, difference, square, variance, sum, root, quotient] {
            edit.remove(node);
        }
        let scaling = followed_by(draft, quotient, "Mul", width);
        let scale = match scaling {
            Some((_, scale)) => scale.to_owned(),
            None => {
                let ones = repeated(shape.data_type, &[width], 1.0)?;
                edit.constant(draft, &format!("{}_scale", quotient.output(0)), ones)
            }
        };
        let last = scaling.map_or(quotient, |(node, _)| node);
        let shifting = followed_by(draft, last, "Add", width);
        scaling.iter().chain(&shifting).for_each(|(node, _)| {
            edit.remove(*node);
        });
        let mut inputs = vec![x, &scale];
        inputs.extend(shifting.map(|(_, bias)| bias));
        let output = shifting.map_or(last, |(node, _)| node).output(0);
        let made = node("LayerNormalization", &inputs, &[output]).int("axis", -1);
        edit.add(made.float("epsilon", epsilon as f32));
        Some(edit)
    }
}

/// Whether a node takes the mean over the last axis, and keeps the axis.
fn is_mean(draft: &Draft<'_>, node: NodeView<'_>) -> bool {
    let axes = match node.input(1) {
        "" => node.attributes().ints("axes").map(<[i64]>::to_vec),
        name => draft.constant_list(name),
    };
    let last = |axes: Vec<i64>| {
        let rank = draft.rank(node.input(0))?;
        Some(axes.len() == 1 && axis(axes[0], rank)? == rank - 1)
    };
    node.is("ReduceMean")
        && node.attributes().int("keepdims").unwrap_or(1) == 1
        && axes.and_then(last).unwrap_or(false)
}

fn is_square_of(square: NodeView<'_>, value: &str) -> bool {
    match square.op_type() {
        "Mul" => square.input(0) == value && square.input(1) == value,
        "Pow" => square.input(0) == value && square.number_beside(1, 0) == Some(2.0),
        _ => false,
    }
}

/// The only reader of a result, if it joins it with a constant vector of this size, and that vector.
fn followed_by<'d>(
    draft: &'d Draft<'_>,
    node: NodeView<'d>,
    op_type: &str,
    width: u64,
) -> Option<(NodeView<'d>, &'d str)> {
    let next = draft.only_consumer(node.output(0)).filter(|next| next.is(op_type))?;
    next.either_way().into_iter().find_map(|(from, other)| {
        let vector = next.constant(other)?;
        let fits = *vector.dims == [width] && draft.data_type(node.output(0)) == Some(vector.data_type);
        (fits && next.input(from) == node.output(0)).then_some((next, next.input(other)))
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn norm(opset: u32, square: &str, rest: &str) -> String {
        let mean = |of: &str| match opset {
            18.. => format!("ReduceMean({of}, a)"),
            _ => format!("ReduceMean({of}) axes=[-1]"),
        };
        format!(
            "opset {opset}; input x f32[2,3,8]; const a i64[1] -1; const two f32 2; const e f32 1e-5
             const g random[8]; const b random[8]; m = {}; d = Sub(x, m); q = {square}; v = {}; w = Add(v, e)
             r = Sqrt(w); n = Div(d, r); {rest}",
            mean("x"),
            mean("q")
        )
    }

    #[test]
    fn it_becomes_the_operator_however_the_square_is_written() {
        for (opset, square) in [(17, "Pow(d, two)"), (18, "Mul(d, d)")] {
            let text = norm(opset, square, "s = Mul(n, g); y = Add(b, s); output y");
            assert_eq!(applies("G28a", &text).operators(), "LayerNormalization");
        }
    }

    #[test]
    fn scale_and_bias_may_be_left_out() {
        let plain = norm(17, "Mul(d, d)", "y = Neg(n); output y");
        assert_eq!(applies("G28a", &plain).operators(), "LayerNormalization Neg");
        let scaled = norm(17, "Mul(d, d)", "y = Mul(g, n); output y");
        assert_eq!(applies("G28a", &scaled).operators(), "LayerNormalization");
    }

    #[test]
    fn other_factors_stay_behind_it() {
        let text = norm(17, "Mul(d, d)", "const k random[3,8]; y = Mul(n, k); output y");
        assert_eq!(applies("G28a", &text).operators(), "LayerNormalization Mul");
    }

    #[test]
    fn other_powers_axes_and_means_are_no_layer_normalisation() {
        refuses("G28a", &norm(17, "Pow(d, e)", "output n"));
        refuses("G28a", &norm(17, "Mul(d, x)", "output n"));
        refuses("G28a", &norm(17, "Mul(d, d)", "output n").replacen("axes=[-1]", "axes=[1]", 1));
        refuses("G28a", &norm(17, "Mul(d, d)", "output n").replace("Sub(x, m)", "Sub(m, x)"));
    }

    #[test]
    fn constants_of_more_dimensions_than_x_which_the_result_gets_stay() {
        let deep = "const e f32[1,1,1,1] 1e-5";
        refuses("G28a", &norm(17, "Mul(d, d)", "output n").replace("const e f32 1e-5", deep));
        let deep = "const two f32[1,1,1,1] 2";
        refuses("G28a", &norm(17, "Pow(d, two)", "output n").replace("const two f32 2", deep));
        let equal = "const e f32[1,1,1] 1e-5";
        applies("G28a", &norm(17, "Mul(d, d)", "output n").replace("const e f32 1e-5", equal));
    }

    #[test]
    fn older_versions_open_sizes_and_results_read_elsewhere_stay() {
        refuses("G28a", &norm(16, "Mul(d, d)", "output n"));
        refuses("G28a", &norm(17, "Mul(d, d)", "output n").replace("f32[2,3,8]", "f32[2,3,n]"));
        refuses("G28a", &norm(17, "Mul(d, d)", "output n; output m"));
    }
}
