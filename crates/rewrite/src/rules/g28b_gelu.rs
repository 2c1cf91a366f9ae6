//! G28b: Gelu that is written out becomes the operator.

use opscope_trace::DataType;

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Gelu;

static INFO: Info = Info {
    id: "G28b",
    name: "gelu",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "x * (Erf(x / Sqrt(2)) + 1) / 2, or x * (Tanh(Sqrt(2 / pi) * (x + 0.044715 * x^3)) + 1) / 2, \
              in any order -> Gelu(x)",
    condition: "The model has version 20 of ONNX's operators or newer (raise it with --opset 20), the \
                constants are those of Gelu, and nothing else reads what is between.",
};

impl Rewrite for Gelu {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn since(&self) -> i64 {
        20
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Erf", "Tanh"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let bend = draft.node(at)?;
        let mut edit = Edit::new("gelu");
        let (x, form) = match bend.is("Tanh") {
            true => (cubic_argument(bend, &mut edit)?, "tanh"),
            false => {
                let argument = bend.producer(0)?;
                edit.remove(argument);
                (by_factor(argument, 0.5f64.sqrt())?, "none")
            }
        };
        let sum = draft.only_consumer(bend.output(0)).filter(|node| node.is("Add"))?;
        sum.either_way().into_iter().find(|(_, other)| is_number(sum, *other, 1.0))?;
        edit.remove(bend).remove(sum);
        // Two products follow: with x and with a half, in either order, or with half of x at once.
        let (mut last, mut with_x, mut halved) = (sum, false, false);
        while !(with_x && halved) {
            let next = draft.only_consumer(last.output(0))?;
            edit.remove(next);
            if !halved && by_factor(next, 0.5) == Some(last.output(0)) {
                halved = true;
            } else if !with_x && next.is("Mul") {
                let (_, other) =
                    next.either_way().into_iter().find(|(from, _)| next.input(*from) == last.output(0))?;
                if next.input(other) != x {
                    let half =
                        next.producer(other).filter(|half| !halved && by_factor(*half, 0.5) == Some(x))?;
                    edit.remove(half);
                    halved = true;
                }
                with_x = true;
            } else {
                return None;
            }
            last = next;
        }
        let made = node("Gelu", &[x], &[last.output(0)]);
        edit.add(if form == "none" { made } else { made.text("approximate", form) });
        Some(edit)
    }
}

/// The x of `Tanh(Sqrt(2 / pi) * (x + 0.044715 * x^3))`, whose nodes before the Tanh are to go.
fn cubic_argument<'d>(tanh: NodeView<'d>, edit: &mut Edit) -> Option<&'d str> {
    let scaled = tanh.producer(0)?;
    by_factor(scaled, (2.0 / std::f64::consts::PI).sqrt())?;
    let sum = either_producer(scaled, &["Add"])?;
    let (x, cubic) = sum.either_way().into_iter().find_map(|(x, other)| {
        let cubic = sum.producer(other)?;
        by_factor(cubic, 0.044715)?;
        Some((sum.input(x), cubic))
    })?;
    edit.remove(scaled).remove(sum).remove(cubic);
    let power = either_producer(cubic, &["Pow", "Mul"])?;
    edit.remove(power);
    if power.is("Pow") {
        return (power.input(0) == x && is_number(power, 1, 3.0)).then_some(x);
    }
    // Written as products, as G04a leaves it.
    let (_, other) = power.either_way().into_iter().find(|(from, _)| power.input(*from) == x)?;
    let square = power.producer(other)?;
    edit.remove(square);
    let is_square = match square.op_type() {
        "Mul" => square.input(0) == x && square.input(1) == x,
        "Pow" => square.input(0) == x && is_number(square, 1, 2.0),
        _ => false,
    };
    is_square.then_some(x)
}

/// The node of one of these operators that computes the first or the second input.
fn either_producer<'d>(node: NodeView<'d>, wanted: &[&str]) -> Option<NodeView<'d>> {
    (0..2).filter_map(|place| node.producer(place)).find(|from| wanted.iter().any(|op_type| from.is(op_type)))
}

/// The value that a node multiplies by this factor, or divides by its reciprocal.
fn by_factor(node: NodeView<'_>, factor: f64) -> Option<&str> {
    let is = |place: usize, wanted: f64| is_number(node, place, wanted);
    match node.op_type() {
        "Div" => is(1, 1.0 / factor).then(|| node.input(0)),
        "Mul" => {
            node.either_way().into_iter().find(|(_, other)| is(*other, factor)).map(|(x, _)| node.input(x))
        }
        _ => None,
    }
}

/// Whether an input is this constant, as exactly as its type has it (at least single precision), and adds
/// no dimension.
fn is_number(node: NodeView<'_>, place: usize, wanted: f64) -> bool {
    let is_double = node.constant(place).is_some_and(|data| data.data_type == DataType::Float64);
    let within = if is_double { 1e-14 } else { 1e-6 };
    node.number_beside(place, 1 - place).is_some_and(|x| (x / wanted - 1.0).abs() < within)
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    const CONSTANTS: &str = "opset 20; input x f32[2,5]; const r f32 1.4142135; const i f32 0.70710677; const o f32 1; const h f32 0.5; const t f32 2";

    #[test]
    fn every_order_of_the_products_becomes_the_operator() {
        for body in [
            "d = Div(x, r); e = Erf(d); s = Add(e, o); p = Mul(x, s); y = Mul(p, h)",
            "d = Mul(i, x); e = Erf(d); s = Add(o, e); p = Mul(s, h); y = Mul(x, p)",
            "d = Mul(x, i); e = Erf(d); s = Add(e, o); g = Mul(h, x); y = Mul(g, s)",
            "d = Div(x, r); e = Erf(d); s = Add(e, o); p = Mul(s, x); y = Div(p, t)",
        ] {
            assert_eq!(
                applies("G28b", &format!("{CONSTANTS}; {body}; output y")).operators(),
                "Gelu",
                "{body}"
            );
        }
    }

    const TANH: &str = "opset 20; input x f32[2,5]; const k f32 0.044715; const w f32 0.7978846; const n f32 3; const q f32 2; const o f32 1; const h f32 0.5";

    #[test]
    fn the_form_with_tanh_becomes_the_operator_that_says_so() {
        for body in [
            "c = Pow(x, n); d = Mul(k, c); e = Add(x, d); f = Mul(e, w); t = Tanh(f); s = Add(t, o); g = Mul(x, h); y = Mul(g, s)",
            "b = Mul(x, x); c = Mul(b, x); d = Mul(c, k); e = Add(d, x); f = Mul(w, e); t = Tanh(f); s = Add(o, t); p = Mul(x, s); y = Mul(p, h)",
            "b = Pow(x, q); c = Mul(x, b); d = Mul(c, k); e = Add(d, x); f = Mul(w, e); t = Tanh(f); s = Add(o, t); p = Mul(x, s); y = Div(p, q)",
        ] {
            let model = applies("G28b", &format!("{TANH}; {body}; output y"));
            assert_eq!(model.operators(), "Gelu", "{body}");
        }
    }

    #[test]
    fn other_powers_and_constants_of_the_form_with_tanh_stay() {
        for body in [
            "c = Pow(x, q); d = Mul(k, c); e = Add(x, d); f = Mul(e, w); t = Tanh(f); s = Add(t, o); g = Mul(x, h); y = Mul(g, s)",
            "c = Pow(x, n); d = Mul(h, c); e = Add(x, d); f = Mul(e, w); t = Tanh(f); s = Add(t, o); g = Mul(x, h); y = Mul(g, s)",
            "c = Pow(x, n); d = Mul(k, c); e = Add(x, d); f = Mul(e, k); t = Tanh(f); s = Add(t, o); g = Mul(x, h); y = Mul(g, s)",
            "c = Pow(x, n); d = Mul(k, c); e = Add(x, d); f = Mul(e, w); t = Tanh(f); s = Add(t, o); g = Mul(d, h); y = Mul(g, s)",
        ] {
            refuses("G28b", &format!("{TANH}; {body}; output y"));
        }
    }

    #[test]
    fn other_constants_and_factors_make_another_function() {
        for body in [
            "d = Div(x, t); e = Erf(d); s = Add(e, o); p = Mul(x, s); y = Mul(p, h)",
            "d = Div(x, r); e = Erf(d); s = Add(e, h); p = Mul(x, s); y = Mul(p, h)",
            "d = Div(x, r); e = Erf(d); s = Add(e, o); p = Mul(x, s); y = Mul(p, i)",
            "d = Div(x, r); e = Erf(d); s = Add(e, o); p = Mul(d, s); y = Mul(p, h)",
        ] {
            refuses("G28b", &format!("{CONSTANTS}; {body}; output y"));
        }
    }

    #[test]
    fn older_versions_and_results_read_elsewhere_stay() {
        let text = format!(
            "{CONSTANTS}; d = Div(x, r); e = Erf(d); s = Add(e, o); p = Mul(x, s); y = Mul(p, h); output y"
        );
        refuses("G28b", &text.replace("opset 20", "opset 19"));
        refuses("G28b", &format!("{text}; output e"));
        refuses("G28b", &format!("{text}; output d"));
    }
}
