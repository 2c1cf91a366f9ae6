//! G15b: two Transpose in a row become one or none.

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Transposes;

static INFO: Info = Info {
    id: "G15b",
    name: "transpose-merge",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Transpose + Transpose -> one with both permutations, or none; Transpose of no effect -> none",
    condition: "The permutations are known (one that is left out needs the number of dimensions).",
};

impl Rewrite for Transposes {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Transpose"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let outer = draft.node(at)?;
        let mut perm = permutation(draft, outer)?;
        let mut source = outer.input(0);
        let inner = outer.producer(0).filter(|node| node.is("Transpose"));
        if let Some(inner) = inner {
            let first = permutation(draft, inner).filter(|first| first.len() == perm.len())?;
            perm = perm.into_iter().map(|from| first[from]).collect();
            source = inner.input(0);
        }
        let none = perm.iter().enumerate().all(|(place, &from)| place == from);
        let mut edit = Edit::new("transposed");
        edit.remove(outer);
        if none {
            edit.forward(outer.output(0), source);
        } else if inner.is_some() {
            let perm: Vec<i64> = perm.into_iter().map(|from| from as i64).collect();
            let merged = node("Transpose", &[source], &[outer.output(0)]).ints("perm", &perm);
            edit.add(merged.named(outer.name()));
        } else {
            return None;
        }
        Some(edit)
    }
}

/// Where each dimension of the result comes from.
pub fn permutation(draft: &Draft<'_>, transpose: NodeView<'_>) -> Option<Vec<usize>> {
    let Some(perm) = transpose.attributes().ints("perm") else {
        return Some((0..draft.rank(transpose.input(0))?).rev().collect());
    };
    let places: Option<Vec<usize>> = perm.iter().map(|&n| usize::try_from(n).ok()).collect();
    let places = places?;
    let mut sorted = places.clone();
    sorted.sort_unstable();
    sorted.iter().enumerate().all(|(place, &n)| place == n).then_some(places)
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn a_permutation_and_its_inverse_vanish() {
        let text =
            "input x f32[2,3,4]; a = Relu(x); b = Transpose(a) perm=[2,0,1]; c = Transpose(b) perm=[1,2,0]
             y = Neg(c); output y";
        assert_eq!(applies("G15b", text).operators(), "Relu Neg");
    }

    #[test]
    fn two_permutations_become_their_product() {
        let text =
            "input x f32[2,3,4]; b = Transpose(x) perm=[2,0,1]; c = Transpose(b) perm=[0,2,1]; output c";
        assert_eq!(applies("G15b", text).operators(), "Transpose");
        let three = "input x f32[2,3,4,5]; b = Transpose(x) perm=[2,0,1,3]; c = Transpose(b); d = Transpose(c) perm=[3,0,2,1]; output d";
        assert_eq!(applies("G15b", three).operators(), "Transpose");
    }

    #[test]
    fn a_first_one_that_others_read_stays_for_them() {
        let text = "input x f32[2,3]; b = Transpose(x); c = Transpose(b); y = Neg(c); output y; output b";
        assert_eq!(applies("G15b", text).operators(), "Transpose Neg");
    }

    #[test]
    fn a_permutation_of_no_effect_vanishes() {
        let text = "input x f32[2,3]; b = Transpose(x) perm=[0,1]; y = Neg(b); output y";
        assert_eq!(applies("G15b", text).operators(), "Neg");
    }

    #[test]
    fn single_and_unknown_permutations_stay() {
        refuses("G15b", "input x f32[2,3]; b = Transpose(x); y = Neg(b); output y");
        refuses("G15b", "input x f32[2,3]; u = far.Mystery(x); b = Transpose(u); c = Transpose(b); output c");
        refuses("G15b", "input x f32[2,3]; b = Transpose(x) perm=[0,0]; y = Neg(b); output y");
    }

    #[test]
    fn an_output_that_would_be_an_input_stays() {
        refuses("G15b", "input x f32[2,3]; b = Transpose(x); c = Transpose(b); output c; output b");
    }
}
