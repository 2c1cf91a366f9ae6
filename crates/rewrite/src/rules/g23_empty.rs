//! G23: parts without elements needn't be joined.

use crate::draft::{Draft, Edit, NodeIndex};
use crate::fold::axis;
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct EmptyParts;

static INFO: Info = Info {
    id: "G23",
    name: "empty-part-removal",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Concat with a part that has no elements -> Concat without it",
    condition: "The part's size along the axis is known to be 0, as that of an empty Slice, and another \
                part remains.",
};

impl Rewrite for EmptyParts {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Concat"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let concat = draft.node(at)?;
        let given = concat.attributes().int("axis")?;
        let is_empty = |name: &str| {
            let size = draft.shape(name).and_then(|shape| *shape.dims.get(axis(given, shape.dims.len())?)?);
            size == Some(0)
        };
        let parts: Vec<&str> = concat.inputs().filter(|name| !is_empty(name)).collect();
        if parts.len() == concat.proto.input.len() || parts.is_empty() {
            return None;
        }
        let mut edit = Edit::new("joined");
        edit.remove(concat);
        edit.add(node("Concat", &parts, &[concat.output(0)]).like(concat.proto).named(concat.name()));
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn a_part_without_elements_goes() {
        let text =
            "input x f32[2,3]; const s i64[1] 3; const e i64[1] 3; const t i64[1] 1; p = Slice(x, s, e, t)
             y = Concat(p, x, x) axis=1; output y";
        assert_eq!(applies("G23", text).operators(), "Concat");
    }

    #[test]
    fn parts_with_elements_and_the_last_part_stay() {
        refuses("G23", "input x f32[2,3]; y = Concat(x, x) axis=1; output y");
        refuses("G23", "input x f32[2,n]; y = Concat(x, x) axis=1; output y");
        refuses(
            "G23",
            "input x f32[2,0]; input z f32[1]; y = Concat(x, x) axis=1; n = Neg(z); output y; output n",
        );
    }
}
