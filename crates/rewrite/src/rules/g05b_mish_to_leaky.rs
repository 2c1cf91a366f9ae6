//! G05b: Mish becomes LeakyRelu, which is another function.

use super::g05a_mish::pattern;
use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct MishToLeakyRelu;

/// The slope that YOLO's own configurations use.
const SLOPE: f32 = 0.1;

static INFO: Info = Info {
    id: "G05b",
    name: "mish-to-leaky-relu",
    exactness: Exactness::Lossy,
    use_: Use::Always,
    summary: "Mish, or Mul(x, Tanh(Softplus(x))) -> LeakyRelu(x, 0.1)",
    condition: "Another function: the network must be trained again with it. What this rewrite tells is \
                the time that would be won.",
};

impl Rewrite for MishToLeakyRelu {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Mish", "Mul"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let last = draft.node(at)?;
        // Before version 6, LeakyRelu may work in place.
        if draft.opset() < 6 {
            return None;
        }
        let (x, mut edit) = match last.op_type() {
            "Mish" => {
                let mut edit = Edit::new("leaky");
                edit.remove(last);
                (last.input(0), edit)
            }
            _ => pattern(last)?,
        };
        edit.add(node("LeakyRelu", &[x], &[last.output(0)]).float("alpha", SLOPE));
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::Model;
    use opscope_model::samples::Sample;

    use crate::testing::{applies_unproven, net, operators, prove, refuses};
    use crate::{Selection, rewrite};

    #[test]
    fn both_forms_of_mish_become_leaky_relu_of_slope_a_tenth() {
        let leaky = net("input x f32[2,5]; y = LeakyRelu(x) alpha=0.1; output y");
        for text in [
            "input x f32[2,5]; p = Softplus(x); t = Tanh(p); y = Mul(x, t); output y",
            "opset 18; input x f32[2,5]; y = Mish(x); output y",
        ] {
            let applied = applies_unproven("G05b", text);
            assert_eq!(applied.operators(), "LeakyRelu");
            prove(&leaky, &applied.model, 0.0);
        }
    }

    #[test]
    fn what_only_looks_like_mish_stays() {
        refuses("G05b", "input x f32[2,5]; p = Softplus(x); t = Sigmoid(p); y = Mul(x, t); output y");
    }

    #[test]
    fn the_sample_with_mish_becomes_the_one_with_leaky_relu() {
        let load = |sample: Sample| Model::from_proto(sample.build(0), None).unwrap();
        let (mish, leaky) = (load(Sample::YoloMish), load(Sample::YoloLeaky));
        let only = Selection { only: vec!["G05b".into()], allow_lossy: true, ..Selection::default() };
        let rewritten = rewrite(&mish, &only.resolve().unwrap(), None, true).unwrap();
        let rewritten = Model::from_proto(rewritten.proto, None).unwrap();
        assert_eq!(operators(&rewritten), operators(&leaky));
        prove(&leaky, &rewritten, 0.0);
    }
}
