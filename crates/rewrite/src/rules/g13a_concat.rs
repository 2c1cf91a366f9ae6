//! G13a: a Concat of Concats along the same axis becomes one.

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::fold::axis;
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Concats;

static INFO: Info = Info {
    id: "G13a",
    name: "concat-merge",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Concat(a, Concat(b, c)) -> Concat(a, b, c)",
    condition: "The axes are the same, and nothing else reads the inner one.",
};

impl Rewrite for Concats {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Concat"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let outer = draft.node(at)?;
        let inner_of = |name: &str| {
            let inner = draft.producer(name).filter(|node| node.is("Concat"))?;
            let only_here = draft.only_consumer(name).is_some_and(|consumer| consumer.id == at);
            (only_here && same_axis(draft, inner, outer)).then_some(inner)
        };
        let mut edit = Edit::new("joined");
        let mut parts = Vec::with_capacity(outer.proto.input.len());
        for name in outer.inputs() {
            match inner_of(name) {
                Some(inner) => {
                    edit.remove(inner);
                    parts.extend(inner.inputs());
                }
                None => parts.push(name),
            }
        }
        if edit.removed().is_empty() {
            return None;
        }
        edit.remove(outer);
        let joined = node("Concat", &parts, &[outer.output(0)]);
        edit.add(joined.like(outer.proto).named(outer.name()));
        Some(edit)
    }
}

/// Axes may be counted from either end.
fn same_axis(draft: &Draft<'_>, inner: NodeView<'_>, outer: NodeView<'_>) -> bool {
    let given = |node: NodeView<'_>| node.attributes().int("axis");
    match (given(inner), given(outer)) {
        (Some(a), Some(b)) if a == b => true,
        (Some(a), Some(b)) => {
            let rank = draft.rank(outer.output(0)).or_else(|| draft.rank(inner.output(0)));
            rank.is_some_and(|rank| axis(a, rank).is_some() && axis(a, rank) == axis(b, rank))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn parts_of_parts_become_parts() {
        let text = "input a f32[2,1]; input b f32[2,2]; input c f32[2,3]; d = Concat(a, b) axis=1
             e = Concat(c, d, a) axis=-1; f = Concat(e, b) axis=1; output f";
        assert_eq!(applies("G13a", text).operators(), "Concat");
    }

    #[test]
    fn other_axes_and_parts_that_others_read_stay() {
        refuses("G13a", "input a f32[2,2]; d = Concat(a, a) axis=1; e = Concat(d, d) axis=0; output e");
        refuses(
            "G13a",
            "input a f32[2,2]; d = Concat(a, a) axis=1; e = Concat(d, a) axis=1; output e; output d",
        );
        refuses("G13a", "input a f32[2,2]; d = Concat(a, a) axis=1; e = Concat(d, d) axis=1; output e");
    }
}
