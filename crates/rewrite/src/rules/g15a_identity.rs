//! G15a: operators that hand on what they are given.

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::rewrite::Rewrite;

/// See the module.
pub struct HandsOn;

static INFO: Info = Info {
    id: "G15a",
    name: "identity-removal",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Identity, Dropout in inference, Concat, Sum, Mean, Max and Min of one value -> the value",
    condition: "A Dropout doesn't train and nobody reads its mask; the value needn't be both an input and \
                an output of the model.",
};

impl Rewrite for HandsOn {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Identity", "Dropout", "Concat", "Sum", "Mean", "Max", "Min"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let node = draft.node(at)?;
        let hands_on = match node.op_type() {
            "Identity" => true,
            "Dropout" => !trains(draft, node),
            _ => node.proto.input.len() == 1,
        };
        if !hands_on {
            return None;
        }
        let mut edit = Edit::new("same");
        edit.remove(node).forward(node.output(0), node.input(0));
        Some(edit)
    }
}

/// Whether a Dropout may drop something. Version 12 made that an input, version 7 had it never; before,
/// inference had to be asked for.
fn trains(draft: &Draft<'_>, dropout: NodeView<'_>) -> bool {
    match draft.opset() {
        ..7 => dropout.attributes().int("is_test").unwrap_or(0) == 0,
        7..12 => false,
        _ => match dropout.input(2) {
            "" => false,
            _ => dropout.constant(2).and_then(|mode| mode.to_i64s()).is_none_or(|mode| mode != [0]),
        },
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::Model;

    use crate::testing::{applies, net, refuses, with_graph};
    use crate::{Selection, rewrite};

    #[test]
    fn what_hands_on_its_input_goes() {
        for same in ["Identity(a)", "Concat(a) axis=1", "Sum(a)", "Max(a)", "Dropout(a)"] {
            let text = format!("input x f32[2,3]; a = Relu(x); b = {same}; y = Neg(b); output y");
            assert_eq!(applies("G15a", &text).operators(), "Relu Neg");
        }
    }

    #[test]
    fn the_outputs_of_the_model_keep_their_names() {
        let applied =
            applies("G15a", "input x f32[2,3]; a = Relu(x); y = Identity(a); z = Neg(a); output y; output z");
        assert_eq!(applied.operators(), "Relu Neg");
        assert!(applied.model.graph().value_by_name("a").is_none());
    }

    #[test]
    fn an_output_that_is_an_input_or_another_output_keeps_its_node() {
        refuses("G15a", "input x f32[2]; y = Identity(x); output y");
        refuses(
            "G15a",
            "const x f32[2] 1 2; input z f32[2]; o = Neg(z); y = Identity(x); output y; output o",
        );
        let both = applies(
            "G15a",
            "input x f32[2]; a = Relu(x); y = Identity(a); z = Identity(a); output y; output z",
        );
        assert_eq!(both.operators(), "Relu Identity");
    }

    #[test]
    fn a_dropout_that_may_drop_stays() {
        refuses(
            "G15a",
            "input x f32[2]; input t bool[]; const r f32 0.5; y = Dropout(x, r, t); z = Neg(y); output z",
        );
        refuses(
            "G15a",
            "const t bool 1; input x f32[2]; const r f32 0.5; y = Dropout(x, r, t); z = Neg(y); output z",
        );
        refuses("G15a", "opset 6; input x f32[2]; y = Dropout(x) ratio=0.5; z = Neg(y); output z");
        refuses("G15a", "input x f32[2]; y, m = Dropout(x); z = Neg(y); output z; output m");
        let off =
            "const t bool 0; input x f32[2]; const r f32 0.5; y = Dropout(x, r, t); z = Neg(y); output z";
        assert_eq!(applies("G15a", off).operators(), "Neg");
    }

    #[test]
    fn what_a_subgraph_reads_keeps_its_name() {
        let text = "input c bool[]; input x f32[2]; a = Relu(x); b = Identity(a); y = If(c); output y f32[2]";
        let mut proto = net(text).proto().clone();
        let branch = net("input u f32[2]; z = Neg(u); output z f32[2]").graph().proto().clone();
        let mut inner = branch.clone();
        inner.input.clear();
        inner.node[0].input = vec!["b".into()];
        let node = proto.graph.as_mut().unwrap().node.last_mut().unwrap();
        *node = with_graph(with_graph(node.clone(), "then_branch", inner.clone()), "else_branch", inner);
        let model = Model::from_proto(proto, None).unwrap();
        let only = Selection { only: vec!["G15a".into()], ..Selection::default() };
        let rewritten = rewrite(&model, &only.resolve().unwrap(), None, false).unwrap();
        assert!(rewritten.applications.is_empty());
        assert!(rewritten.declined[0].reason.to_string().contains("subgraph"));
    }
}
