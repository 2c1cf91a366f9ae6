//! G15c: Reshape, Flatten, Squeeze and Unsqueeze in a row become one or none.

use crate::constant::list;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Reshapes;

/// Operators that change the dimensions and leave the elements in their order.
pub const RESHAPES: [&str; 4] = ["Reshape", "Flatten", "Squeeze", "Unsqueeze"];

static INFO: Info = Info {
    id: "G15c",
    name: "reshape-merge",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Two of Reshape, Flatten, Squeeze, Unsqueeze -> one Reshape or none; one of no effect -> none",
    condition: "The last one's dimensions are constant and copy none (0), or all but one are known; or the \
                two undo one another.",
};

impl Rewrite for Reshapes {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &RESHAPES
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        // Before version 5, Reshape has no input for its dimensions.
        if draft.opset() < 5 {
            return None;
        }
        let outer = draft.node(at)?;
        let inner = outer.producer(0).filter(|node| RESHAPES.contains(&node.op_type()));
        let source = inner.map_or(outer.input(0), |inner| inner.input(0));
        let mut edit = Edit::new("reshaped");
        edit.remove(outer);
        let same = draft.dims(source).is_some_and(|dims| draft.dims(outer.output(0)) == Some(dims));
        if same || inner.is_some_and(|inner| undone(draft, inner, outer)) {
            edit.forward(outer.output(0), source);
            return Some(edit);
        }
        inner?;
        let target = target(draft, outer)?;
        let target = edit.constant(draft, outer.output(0), list(&target));
        edit.add(node("Reshape", &[source, &target], &[outer.output(0)]).named(outer.name()));
        Some(edit)
    }
}

/// Whether a Squeeze and an Unsqueeze have the same axes.
fn undone(draft: &Draft<'_>, inner: NodeView<'_>, outer: NodeView<'_>) -> bool {
    let pair = [inner.op_type(), outer.op_type()];
    if pair != ["Squeeze", "Unsqueeze"] && pair != ["Unsqueeze", "Squeeze"] {
        return false;
    }
    match (axes(draft, inner), axes(draft, outer)) {
        // Counted from the end, they may mean the same even so; that is left to known dimensions.
        (Some(first), Some(second)) => first == second && first.iter().all(|axis| *axis >= 0),
        _ => false,
    }
}

/// The axes of a Squeeze or Unsqueeze, sorted: an attribute until version 12, an input since.
pub fn axes(draft: &Draft<'_>, node: NodeView<'_>) -> Option<Vec<i64>> {
    let mut axes = match node.input(1) {
        "" => node.attributes().ints("axes")?.to_vec(),
        name => draft.constant_list(name)?,
    };
    axes.sort_unstable();
    Some(axes)
}

/// Dimensions for a Reshape that don't refer to those of its input.
fn target(draft: &Draft<'_>, outer: NodeView<'_>) -> Option<Vec<i64>> {
    if outer.is("Reshape")
        && let Some(given) = draft.constant_list(outer.input(1))
        && !given.contains(&0)
    {
        return Some(given);
    }
    let dims = &draft.shape(outer.output(0))?.dims;
    let unknown = dims.iter().filter(|dim| dim.is_none()).count();
    let target: Option<Vec<i64>> =
        dims.iter().map(|dim| dim.map_or(Some(-1), |n| i64::try_from(n).ok())).collect();
    target.filter(|target| unknown <= 1 && !target.contains(&0))
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn the_last_of_several_reshapes_is_enough() {
        let text =
            "input x f32[2,3,4]; const s i64[2] 6 4; const t i64[2] 8 -1; a = Relu(x); b = Reshape(a, s)
             c = Reshape(b, t); y = Neg(c); output y";
        assert_eq!(applies("G15c", text).operators(), "Relu Reshape Neg");
        let mixed =
            "input x f32[2,1,4]; const o i64[1] 1; b = Squeeze(x, o); c = Flatten(b); d = Unsqueeze(c, o)
             const s i64[1] -1; e = Reshape(d, s); y = Neg(e); output y";
        assert_eq!(applies("G15c", mixed).operators(), "Reshape Neg");
    }

    #[test]
    fn a_way_there_and_back_vanishes() {
        let text = "input x f32[n,m]; const o i64[1] 1; b = Unsqueeze(x, o); c = Squeeze(b, o); y = Neg(c); output y";
        assert_eq!(applies("G15c", text).operators(), "Neg");
        let text =
            "input x f32[2,3]; const s i64[1] 6; const t i64[2] 2 3; b = Reshape(x, s); c = Reshape(b, t)
             y = Neg(c); output y";
        assert_eq!(applies("G15c", text).operators(), "Neg");
    }

    #[test]
    fn a_reshape_of_no_effect_vanishes() {
        let text = "input x f32[2,3]; const s i64[2] 0 -1; b = Reshape(x, s); y = Neg(b); output y";
        assert_eq!(applies("G15c", text).operators(), "Neg");
    }

    #[test]
    fn an_open_dimension_is_worked_out_by_the_engine() {
        let text = "input x f32[n,3,4]; const s i64[2] 0 12; const o i64[1] 1; b = Reshape(x, s); c = Unsqueeze(b, o)
             y = Neg(c); output y";
        assert_eq!(applies("G15c", text).operators(), "Reshape Neg");
    }

    #[test]
    fn dimensions_copied_from_what_would_go_stay() {
        refuses(
            "G15c",
            "input x f32[n,m]; const s i64[3] 0 0 1; const t i64[2] 0 -1; b = Reshape(x, s); c = Reshape(b, t)
             y = Neg(c); output y",
        );
    }

    #[test]
    fn single_reshapes_and_computed_dimensions_stay() {
        refuses("G15c", "input x f32[2,3]; const s i64[1] 6; b = Reshape(x, s); y = Neg(b); output y");
        refuses(
            "G15c",
            "input x f32[2,3]; input t i64[2]; const s i64[1] 6; b = Reshape(x, s); c = Reshape(b, t)
             y = Neg(c); output y",
        );
    }

    #[test]
    fn different_axes_do_not_undo_one_another() {
        let text =
            "input x f32[n,m,1]; const o i64[1] 0; const p i64[1] 3; b = Unsqueeze(x, o); c = Squeeze(b, p)
             y = Neg(c); output y";
        refuses("G15c", text);
    }
}
