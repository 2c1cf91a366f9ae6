//! G26: a MatMul of two matrices and an Add become a Gemm.

use crate::constant::is_float;
use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct MatMulAdd;

static INFO: Info = Info {
    id: "G26",
    name: "matmul-add-to-gemm",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "MatMul + Add -> Gemm",
    condition: "Both factors are matrices of floating-point numbers, the summand is broadcast to the \
                product's shape and not the other way round, and nothing else reads the product.",
};

impl Rewrite for MatMulAdd {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Add"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let sum = draft.node(at).filter(|_| draft.opset() >= 7)?;
        sum.either_way().into_iter().find_map(|(from, other)| {
            let product = sum.producer(from).filter(|node| node.is("MatMul"))?;
            let (a, b) = (draft.shape(product.input(0))?, draft.shape(product.input(1))?);
            let are_matrices = a.dims.len() == 2 && b.dims.len() == 2;
            if !are_matrices || !is_float(a.data_type) {
                return None;
            }
            // The summand's own sizes must be known, unless it is of the product's number of rows
            // whatever that is: then it couldn't be told from one that enlarges the result.
            let summand = draft.dims(sum.input(other))?;
            let fits = match *summand {
                [] | [1] | [1, 1] => true,
                [n] | [1, n] => b.dims[1] == Some(n),
                [m, n] => a.dims[0] == Some(m) && (b.dims[1] == Some(n) || n == 1),
                _ => false,
            };
            if !fits {
                return None;
            }
            let mut edit = Edit::new("gemm");
            edit.remove(product).remove(sum);
            let inputs = [product.input(0), product.input(1), sum.input(other)];
            edit.add(node("Gemm", &inputs, &[sum.output(0)]).named(product.name()));
            Some(edit)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn a_product_and_a_sum_become_one() {
        for bias in ["random[5]", "random[1,5]", "random[2,5]", "random[2,1]", "random[1]", "f32 3"] {
            let text = format!(
                "input x f32[2,3]; const w random[3,5]; const b {bias}; p = MatMul(x, w); y = Add(b, p); output y"
            );
            assert_eq!(applies("G26", &text).operators(), "Gemm", "{bias}");
        }
        let open = "input x f32[n,3]; const w random[3,5]; const b random[5]; p = MatMul(x, w); y = Add(p, b); output y";
        assert_eq!(applies("G26", open).operators(), "Gemm");
    }

    #[test]
    fn products_of_more_dimensions_stay() {
        refuses(
            "G26",
            "input x f32[4,2,3]; const w random[3,5]; const b random[5]; p = MatMul(x, w); y = Add(p, b); output y",
        );
        refuses(
            "G26",
            "input x f32[3]; const w random[3,5]; const b random[5]; p = MatMul(x, w); y = Add(p, b); output y",
        );
        // A vector has no columns that the summand could be compared with.
        refuses(
            "G26",
            "input x f32[2,3]; const w random[3]; const b random[2]; p = MatMul(x, w); y = Add(p, b); output y",
        );
    }

    #[test]
    fn a_summand_that_enlarges_the_product_stays() {
        refuses(
            "G26",
            "input x f32[1,3]; const w random[3,5]; const b random[2,5]; p = MatMul(x, w); y = Add(p, b); output y",
        );
        refuses(
            "G26",
            "input x f32[2,3]; const w random[3,1]; const b random[5]; p = MatMul(x, w); y = Add(p, b); output y",
        );
        refuses(
            "G26",
            "input x f32[n,3]; const w random[3,5]; const b random[2,5]; p = MatMul(x, w); y = Add(p, b); output y",
        );
        refuses(
            "G26",
            "input x f32[2,3]; const w random[3,5]; const b random[1,2,5]; p = MatMul(x, w); y = Add(p, b); output y",
        );
    }

    #[test]
    fn whole_numbers_and_products_read_elsewhere_stay() {
        refuses(
            "G26",
            "input x i32[2,3]; input w i32[3,5]; input b i32[5]; p = MatMul(x, w); y = Add(p, b); output y",
        );
        refuses(
            "G26",
            "input x f32[2,3]; const w random[3,5]; const b random[5]; p = MatMul(x, w); y = Add(p, b); output y; output p",
        );
    }
}
