//! G25d: what nobody reads needn't be computed or stored.

use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Dead;

/// The id, by which unread constants are dropped at the end.
pub const ID: &str = "G25d";

static INFO: Info = Info {
    id: ID,
    name: "dead-code",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Nodes and constants that nobody reads -> nothing",
    condition: "Neither an output of the model nor a subgraph needs them, and the operator is of a domain \
                whose operators have no effects.",
};

impl Rewrite for Dead {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &[]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let node = draft.node(at)?;
        if draft.is_needed(at) {
            return None;
        }
        let mut edit = Edit::new("unread");
        edit.remove(node).because("nobody reads it");
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::Model;

    use crate::testing::{applies, net, refuses, with_graph};
    use crate::{Selection, rewrite};

    #[test]
    fn chains_that_lead_nowhere_go_with_their_constants() {
        let text = "input x f32[2,3]; const w random[3]; const u random[9]; a = Mul(x, w); b = Neg(a); y = Relu(x); output y";
        let applied = applies("G25d", text);
        assert_eq!(applied.operators(), "Relu");
        assert_eq!(applied.model.graph().proto().initializer, []);
    }

    #[test]
    fn a_node_stays_for_one_of_its_results() {
        refuses("G25d", "input x f32[2,4]; a, b = Split(x) axis=1; y = Neg(b); output y");
    }

    #[test]
    fn operators_that_may_have_effects_stay_with_all_that_they_read() {
        refuses("G25d", "input x f32[2]; a = Neg(x); b = ascend.Send(a); y = Relu(x); output y");
        refuses("G25d", "input x f32[2]; a = tensorflow.Assign(x); y = Relu(x); output y");
        let text = "input x f32[2]; a = com.microsoft.Gelu(x); y = Relu(x); output y";
        assert_eq!(applies("G25d", text).operators(), "Relu");
        let mut proto = net("input x f32[2]; a = Neg(x); y = Relu(x); output y").proto().clone();
        proto.graph.as_mut().unwrap().node[0].output.clear();
        let model = Model::from_proto(proto, None).unwrap();
        let only = Selection { only: vec!["G25d".into()], ..Selection::default() };
        let rewritten = rewrite(&model, &only.resolve().unwrap(), None, false).unwrap();
        assert!(rewritten.applications.is_empty(), "a node without results is there for an effect");
    }

    #[test]
    fn what_a_subgraph_reads_stays() {
        let text =
            "input c bool[]; input x f32[2]; const k f32[2] 1 2; b = Relu(x); y = If(c); output y f32[2]";
        let mut proto = net(text).proto().clone();
        let mut inner =
            net("input b f32[2]; input k f32[2]; z = Add(b, k); output z f32[2]").graph().proto().clone();
        inner.input.clear();
        let node = proto.graph.as_mut().unwrap().node.last_mut().unwrap();
        *node = with_graph(with_graph(node.clone(), "then_branch", inner.clone()), "else_branch", inner);
        let model = Model::from_proto(proto, None).unwrap();
        let only = Selection { only: vec!["G25d".into()], ..Selection::default() };
        let rewritten = rewrite(&model, &only.resolve().unwrap(), None, false).unwrap();
        assert!(rewritten.applications.is_empty());
        assert_eq!(rewritten.proto.graph.unwrap().initializer.len(), 1);
    }
}
