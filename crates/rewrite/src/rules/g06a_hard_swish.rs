//! G06a: HardSwish that is written out becomes the operator.

use crate::constant::scalar;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::node;
use crate::rewrite::Rewrite;

/// See the module.
pub struct HardSwish;

static INFO: Info = Info {
    id: "G06a",
    name: "hard-swish",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "Mul(x, HardSigmoid(x, 1/6, 0.5)), or x * Clip(x + 3, 0, 6) / 6 -> HardSwish(x)",
    condition: "The model has version 14 of ONNX's operators or newer, the constants are those of \
                HardSwish, and nothing else reads what is between.",
};

impl Rewrite for HardSwish {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn since(&self) -> i64 {
        14
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Mul", "Div"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let last = draft.node(at)?;
        let mut edit = Edit::new("swish");
        edit.remove(last);
        let x = by_hard_sigmoid(last, &mut edit)
            .or_else(|| sixth_of_product(draft, last, &mut edit))
            .or_else(|| product_with_sixth(draft, last, &mut edit))?;
        edit.add(node("HardSwish", &[x], &[last.output(0)]));
        Some(edit)
    }
}

/// `Mul(x, HardSigmoid(x))`.
fn by_hard_sigmoid<'d>(product: NodeView<'d>, edit: &mut Edit) -> Option<&'d str> {
    if !product.is("Mul") {
        return None;
    }
    product.either_way().into_iter().find_map(|(gate, input)| {
        let sigmoid = product.producer(gate).filter(|node| node.is("HardSigmoid"))?;
        let alpha = sigmoid.attributes().float("alpha").unwrap_or(0.2);
        let beta = sigmoid.attributes().float("beta").unwrap_or(0.5);
        let fits =
            (alpha * 6.0 - 1.0).abs() < 1e-6 && beta == 0.5 && sigmoid.input(0) == product.input(input);
        fits.then(|| {
            edit.remove(sigmoid);
            product.input(input)
        })
    })
}

/// `Div(Mul(x, Clip(x + 3, 0, 6)), 6)`, or times a sixth.
fn sixth_of_product<'d>(draft: &Draft<'_>, last: NodeView<'d>, edit: &mut Edit) -> Option<&'d str> {
    let product = sixth(last)?.filter(|node| node.is("Mul"))?;
    let (x, gate) = gated(draft, product)?;
    gate.into_iter().chain([product]).for_each(|node| {
        edit.remove(node);
    });
    Some(x)
}

/// `Mul(x, Div(Clip(x + 3, 0, 6), 6))`.
fn product_with_sixth<'d>(draft: &Draft<'_>, product: NodeView<'d>, edit: &mut Edit) -> Option<&'d str> {
    if !product.is("Mul") {
        return None;
    }
    product.either_way().into_iter().find_map(|(gate, input)| {
        let division = product.producer(gate)?;
        let clip = sixth(division)??;
        let add = shifted(draft, clip, product.input(input))?;
        edit.remove(division).remove(clip).remove(add);
        Some(product.input(input))
    })
}

/// The node whose result is divided by six; the inner `None` is a value that no node computes.
fn sixth<'d>(node: NodeView<'d>) -> Option<Option<NodeView<'d>>> {
    let is = |place, other, wanted: f64| {
        node.number_beside(place, other).is_some_and(|x| (x / wanted - 1.0).abs() < 1e-6)
    };
    match node.op_type() {
        "Div" if is(1, 0, 6.0) => Some(node.producer(0)),
        "Mul" => node
            .either_way()
            .into_iter()
            .find(|(one, other)| is(*one, *other, 1.0 / 6.0))
            .map(|(_, other)| node.producer(other)),
        _ => None,
    }
}

/// `Mul(x, Clip(x + 3, 0, 6))` as x and the nodes of the gate.
fn gated<'d>(draft: &Draft<'_>, product: NodeView<'d>) -> Option<(&'d str, [NodeView<'d>; 2])> {
    product.either_way().into_iter().find_map(|(gate, input)| {
        let clip = product.producer(gate)?;
        let add = shifted(draft, clip, product.input(input))?;
        Some((product.input(input), [clip, add]))
    })
}

/// The addition in `Clip(x + 3, 0, 6)`.
fn shifted<'d>(draft: &Draft<'_>, clip: NodeView<'d>, x: &str) -> Option<NodeView<'d>> {
    let is = |name: &str, wanted| draft.constant(name).and_then(|data| scalar(&data)) == Some(wanted);
    let add = clip.producer(0).filter(|add| clip.is("Clip") && add.is("Add"))?;
    let bounds = is(clip.input(1), 0.0) && is(clip.input(2), 6.0);
    let sum = add
        .either_way()
        .into_iter()
        .any(|(one, other)| add.input(one) == x && add.number_beside(other, one) == Some(3.0));
    (bounds && sum).then_some(add)
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    const CONSTANTS: &str =
        "input x f32[2,5]; const c3 f32 3; const c0 f32 0; const c6 f32 6; const s f32 0.16666667";

    #[test]
    fn every_way_to_write_it_becomes_the_operator() {
        for body in [
            "g = HardSigmoid(x) alpha=0.16666667 beta=0.5; y = Mul(x, g)",
            "a = Add(x, c3); g = Clip(a, c0, c6); p = Mul(x, g); y = Div(p, c6)",
            "a = Add(c3, x); g = Clip(a, c0, c6); p = Mul(g, x); y = Mul(s, p)",
            "a = Add(x, c3); g = Clip(a, c0, c6); d = Div(g, c6); y = Mul(x, d)",
        ] {
            assert_eq!(applies("G06a", &format!("{CONSTANTS}; {body}; output y")).operators(), "HardSwish");
        }
    }

    #[test]
    fn other_constants_and_inputs_make_another_function() {
        for body in [
            "g = HardSigmoid(x); y = Mul(x, g)",
            "g = HardSigmoid(x) alpha=0.16666667 beta=0.4; y = Mul(x, g)",
            "a = Add(x, c6); g = Clip(a, c0, c6); p = Mul(x, g); y = Div(p, c6)",
            "a = Add(x, c3); g = Clip(a, c0, c3); p = Mul(x, g); y = Div(p, c6)",
            "a = Add(x, c3); g = Clip(a, c0, c6); p = Mul(x, g); y = Div(p, c3)",
            "n = Neg(x); a = Add(n, c3); g = Clip(a, c0, c6); p = Mul(x, g); y = Div(p, c6)",
        ] {
            refuses("G06a", &format!("{CONSTANTS}; {body}; output y"));
        }
    }

    #[test]
    fn constants_of_more_dimensions_than_x_which_the_result_gets_stay() {
        let body = "a = Add(x, c3); g = Clip(a, c0, c6); p = Mul(x, g); y = Div(p, six); output y";
        for (deep, of_three, of_six) in
            [(false, "f32[1,1]", "f32[1,1]"), (true, "f32[1,1,1]", "f32"), (true, "f32", "f32[1,1,1]")]
        {
            let constants = CONSTANTS.replace("c3 f32", &format!("c3 {of_three}"));
            let text = format!("{constants}; const six {of_six} 6; {body}");
            if deep {
                refuses("G06a", &text)
            } else {
                assert_eq!(applies("G06a", &text).operators(), "HardSwish")
            }
        }
    }

    #[test]
    fn older_versions_and_gates_that_others_read_stay() {
        let body = "g = HardSigmoid(x) alpha=0.16666667 beta=0.5; y = Mul(x, g); output y";
        refuses("G06a", &format!("opset 13; {CONSTANTS}; {body}"));
        refuses("G06a", &format!("{CONSTANTS}; {body}; output g"));
    }
}
