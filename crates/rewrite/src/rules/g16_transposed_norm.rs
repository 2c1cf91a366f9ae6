//! G16: a BatchNormalization between a Transpose and its inverse becomes Mul and Add.

use opscope_trace::DataType;

use super::g01_conv_bn::affine;
use super::g15b_transpose::permutation;
use crate::constant::{floats, is_float};
use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct TransposedNorm;

static INFO: Info = Info {
    id: "G16",
    name: "transposed-batch-norm",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "Transpose + BatchNormalization + the inverse Transpose -> Mul + Add",
    condition: "Scale, shift, mean and variance are constant, the normalisation is in inference mode, and \
                nothing else reads what is between. Worked out in double precision; only rounding differs, which in half precision can be much (bounded).",
};

impl Rewrite for TransposedNorm {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["BatchNormalization"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let norm = draft.node(at).filter(|_| draft.opset() >= 7)?;
        let before = norm.producer(0).filter(|node| node.is("Transpose"))?;
        let behind = draft.only_consumer(norm.output(0)).filter(|node| node.is("Transpose"))?;
        let (there, back) = (permutation(draft, before)?, permutation(draft, behind)?);
        let undone =
            there.len() == back.len() && back.iter().enumerate().all(|(place, &from)| there[from] == place);
        // The channels are the second dimension of what is normalised.
        let axis = *there.get(1).filter(|_| undone)?;

        let affine = affine(draft, norm)?;
        let data_type = norm.constant(1)?.data_type;
        if !is_float(data_type) || draft.data_type(before.input(0)) != Some(data_type) {
            return None;
        }
        let mut dims = vec![1; there.len() - axis];
        dims[0] = affine.scale.len() as u64;
        let mut edit = Edit::new("normed");
        if data_type == DataType::Float16 {
            // Shifts much larger than the results leave few of its eleven digits.
            edit.exactness(Exactness::Bounded);
        }
        edit.remove(before).remove(norm).remove(behind);
        let scale = edit.constant(draft, norm.input(1), floats(data_type, &dims, &affine.scale)?);
        let shift = edit.constant(draft, norm.input(2), floats(data_type, &dims, &affine.shift)?);
        let scaled = edit.apply(draft, "Mul", &[before.input(0), &scale], norm.output(0));
        edit.add(node("Add", &[&scaled, &shift], &[behind.output(0)]).named(norm.name()));
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn text(perm: &str, back: &str) -> String {
        format!(
            "const s random[6]; const b random[6]; const m random[6]; const v positive[6]; input x f32[2,5,6]
             t = Transpose(x) perm={perm}; n = BatchNormalization(t, s, b, m, v); y = Transpose(n) perm={back}
             output y"
        )
    }

    #[test]
    fn channels_are_scaled_where_they_are() {
        assert_eq!(applies("G16", &text("[0,2,1]", "[0,2,1]")).operators(), "Mul Add");
        assert_eq!(applies("G16", &text("[1,2,0]", "[2,0,1]")).operators(), "Mul Add");
        let middle = text("[2,1,0]", "[2,1,0]").replace("f32[2,5,6]", "f32[2,6,5]");
        assert_eq!(applies("G16", &middle).operators(), "Mul Add");
    }

    #[test]
    fn a_second_permutation_that_is_no_inverse_stays() {
        refuses("G16", &text("[1,2,0]", "[1,2,0]"));
        refuses("G16", &text("[0,2,1]", "[0,1,2]"));
    }

    #[test]
    fn statistics_that_are_not_constant_and_results_read_elsewhere_stay() {
        refuses("G16", &text("[0,2,1]", "[0,2,1]").replace("const m random[6]", "input m f32[6]"));
        refuses("G16", &format!("{}; output n", text("[0,2,1]", "[0,2,1]")));
        refuses("G16", &format!("{}; output t", text("[0,2,1]", "[0,2,1]")));
    }
}
