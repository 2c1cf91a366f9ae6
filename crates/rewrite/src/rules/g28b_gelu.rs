//! G28b: Gelu that is written out becomes the operator.

use crate::constant::scalar;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::node::node;
use crate::rewrite::{Exactness, Info, Rewrite, Use};

/// See the module.
pub struct Gelu;

static INFO: Info = Info {
    id: "G28b",
    name: "gelu",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "x * (Erf(x / Sqrt(2)) + 1) / 2, in any order -> Gelu(x)",
    condition: "The model has version 20 of ONNX's operators or newer (raise it with --opset 20), the \
                constants are those of Gelu, and nothing else reads what is between.",
};

impl Rewrite for Gelu {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Erf"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let erf = draft.node(at).filter(|_| draft.opset() >= 20)?;
        let argument = erf.producer(0)?;
        let x = by_factor(argument, 0.5f64.sqrt())?;
        let sum = draft.only_consumer(erf.output(0)).filter(|node| node.is("Add"))?;
        sum.either_way().into_iter().find(|(_, other)| is_number(sum, *other, 1.0))?;

        let mut edit = Edit::new("gelu");
        edit.remove(argument).remove(erf).remove(sum);
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
        edit.add(node("Gelu", &[x], &[last.output(0)]));
        Some(edit)
    }
}

/// What a node multiplies by this factor, or divides by its reciprocal.
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

/// Whether an input is this constant, as exactly as single precision has it, and adds no dimension.
fn is_number(node: NodeView<'_>, place: usize, wanted: f64) -> bool {
    let data = node.constant(place).filter(|data| data.dims.len() <= 1);
    data.and_then(|data| scalar(&data)).is_some_and(|x| (x / wanted - 1.0).abs() < 1e-6)
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
