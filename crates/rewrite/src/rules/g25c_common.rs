//! G25c: what is computed twice is computed once.

use opscope_model::proto::{AttributeProto, NodeProto};

use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Common;

/// Operators that give another result each time.
const RANDOM: [&str; 6] =
    ["RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"];

static INFO: Info = Info {
    id: "G25c",
    name: "common-subexpressions",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Two nodes of the same operator, inputs and attributes -> one",
    condition: "The operator is none that draws random numbers, and has no subgraph.",
};

impl Rewrite for Common {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &[]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let node = draft.node(at)?;
        let drawn = RANDOM.contains(&node.op_type()) || node.is("Dropout");
        let has_inputs = node.inputs().any(|name| !name.is_empty());
        if drawn || !has_inputs || node.op_type().is_empty() || node.attributes().iter().any(has_graph) {
            return None;
        }
        // Nodes of the same inputs can't depend on one another, so either may stay.
        let earlier = draft.alike(node).find(|other| same(other.proto, node.proto))?;
        let mut edit = Edit::new("once");
        edit.remove(node).because(format!("repeats {}", earlier.name()));
        for (name, kept) in node.proto.output.iter().zip(&earlier.proto.output) {
            match (name.is_empty(), kept.is_empty()) {
                (true, _) => {}
                (false, true) => return None,
                (false, false) => {
                    edit.forward(name, kept);
                }
            }
        }
        Some(edit)
    }
}

fn has_graph(attribute: &AttributeProto) -> bool {
    attribute.g.is_some() || !attribute.graphs.is_empty()
}

/// Whether two nodes compute the same. Attributes may stand in any order.
fn same(a: &NodeProto, b: &NodeProto) -> bool {
    let attributes = |a: &NodeProto, b: &NodeProto| a.attribute.iter().all(|one| b.attribute.contains(one));
    a.op_type == b.op_type
        && a.domain() == b.domain()
        && a.input == b.input
        && a.output.len() == b.output.len()
        && a.attribute.len() == b.attribute.len()
        && attributes(a, b)
        && attributes(b, a)
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn chains_of_equal_nodes_are_computed_once() {
        let text = "input x f32[2,3]; a = Softmax(x) axis=1; b = Softmax(x) axis=1; c = Neg(a); d = Neg(b)
             y = Add(c, d); output y";
        assert_eq!(applies("G25c", text).operators(), "Softmax Neg Add");
    }

    #[test]
    fn an_output_of_the_model_keeps_its_name() {
        let text = "input x f32[2,3]; a = Relu(x); y = Relu(x); z = Neg(a); output y; output z";
        assert_eq!(applies("G25c", text).operators(), "Relu Neg");
    }

    #[test]
    fn other_inputs_or_attributes_make_another_node() {
        refuses(
            "G25c",
            "input x f32[2,3]; a = Softmax(x) axis=1; b = Softmax(x) axis=0; y = Add(a, b); output y",
        );
        refuses(
            "G25c",
            "input x f32[2,3]; a = Sub(x, b); b = Relu(x); c = Sub(b, x); y = Add(a, c); output y",
        );
    }

    #[test]
    fn random_numbers_are_drawn_each_time() {
        refuses(
            "G25c",
            "input x f32[2,3]; a = RandomNormalLike(x); b = RandomNormalLike(x); y = Add(a, b); output y",
        );
    }

    #[test]
    fn two_outputs_of_the_model_stay_two() {
        refuses("G25c", "input x f32[2,3]; y = Relu(x); z = Relu(x); output y; output z");
    }
}
