//! G06b: Softplus that is written out becomes the operator.

use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::node::node;
use crate::rewrite::Rewrite;

/// See the module.
pub struct Softplus;

static INFO: Info = Info {
    id: "G06b",
    name: "softplus",
    exactness: Exactness::Bounded,
    use_: Use::Always,
    summary: "Log(Exp(x) + 1) -> Softplus(x)",
    condition: "Nothing else reads what is between. Written out, it overflows to infinity beyond 88 (in \
                single precision) and loses digits far below 0, which the operator doesn't.",
};

impl Rewrite for Softplus {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Log"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let log = draft.node(at)?;
        let sum = log.producer(0).filter(|node| node.is("Add"))?;
        let exp = sum.either_way().into_iter().find_map(|(from, other)| {
            let is_one = sum.number_beside(other, from) == Some(1.0);
            sum.producer(from).filter(|node| is_one && node.is("Exp"))
        })?;
        let mut edit = Edit::new("softplus");
        edit.remove(exp).remove(sum).remove(log);
        edit.add(node("Softplus", &[exp.input(0)], &[log.output(0)]));
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn the_three_nodes_become_one() {
        for sum in ["e, o", "o, e"] {
            let text =
                format!("input x f32[2,5]; const o f32 1; e = Exp(x); s = Add({sum}); y = Log(s); output y");
            assert_eq!(applies("G06b", &text).operators(), "Softplus");
        }
    }

    #[test]
    fn another_constant_or_one_of_more_dimensions_stays() {
        refuses("G06b", "input x f32[2,5]; const o f32 2; e = Exp(x); s = Add(e, o); y = Log(s); output y");
        refuses(
            "G06b",
            "input x f32[2,5]; const o f32[1,1,1] 1; e = Exp(x); s = Add(e, o); y = Log(s); output y",
        );
    }

    #[test]
    fn what_someone_else_reads_stays() {
        refuses(
            "G06b",
            "input x f32[2,5]; const o f32 1; e = Exp(x); s = Add(e, o); y = Log(s); output y; output s",
        );
    }
}
