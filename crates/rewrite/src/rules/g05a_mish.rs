//! G05a: Softplus, Tanh and Mul become the operator Mish.

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::node;
use crate::rewrite::Rewrite;

/// See the module.
pub struct Mish;

static INFO: Info = Info {
    id: "G05a",
    name: "mish",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "Mul(x, Tanh(Softplus(x))) -> Mish(x)",
    condition: "The model has version 18 of ONNX's operators or newer (raise it with --opset 18). Engines \
                without a kernel for Mish take it apart again.",
};

impl Rewrite for Mish {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn since(&self) -> i64 {
        18
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Mul"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let product = draft.node(at)?;
        let (x, mut edit) = pattern(product)?;
        edit.add(node("Mish", &[x], &[product.output(0)]));
        Some(edit)
    }
}

/// The value that Mish is taken of, where a product is one; the edit takes its nodes out.
pub fn pattern(product: NodeView<'_>) -> Option<(&str, Edit)> {
    product.either_way().into_iter().find_map(|(gate, input)| {
        let tanh = product.producer(gate).filter(|node| node.is("Tanh"))?;
        let softplus = tanh.producer(0).filter(|node| node.is("Softplus"))?;
        let x = product.input(input);
        let mut edit = Edit::new("mish");
        edit.remove(softplus).remove(tanh).remove(product);
        (softplus.input(0) == x).then_some((x, edit))
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn mish(opset: u32, product: &str) -> String {
        format!("opset {opset}; input x f32[2,5]; p = Softplus(x); t = Tanh(p); y = Mul({product}); output y")
    }

    #[test]
    fn the_three_nodes_become_one_whichever_way_the_product_is_written() {
        for product in ["x, t", "t, x"] {
            let text = mish(18, product);
            let applied = applies("G05a", &text);
            assert_eq!(applied.operators(), "Mish");
        }
    }

    #[test]
    fn older_versions_have_no_such_operator() {
        refuses("G05a", &mish(17, "x, t"));
    }

    #[test]
    fn another_factor_is_no_mish() {
        refuses("G05a", &mish(18, "p, t"));
    }

    #[test]
    fn a_gate_that_someone_else_reads_stays() {
        refuses("G05a", &format!("{}; output t", mish(18, "x, t")));
        refuses("G05a", &format!("{}; q = Neg(p); output q", mish(18, "x, t")));
    }
}
