//! G17: one-dimensional convolutions become two-dimensional ones of height 1.

use opscope_model::TensorData;

use super::g15c_reshape::axes;
use crate::constant::list;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Conv1d;

static INFO: Info = Info {
    id: "G17",
    name: "conv1d-to-conv2d",
    exactness: Exactness::Rounding,
    use_: Use::Named,
    summary: "Conv of one dimension -> Unsqueeze + Conv of two + Squeeze, with activations between lifted as well",
    condition: "The weights are constant and padding is given by numbers. It pays on hardware whose \
                convolutions are all two-dimensional.",
};

/// The axis of height 1, in front of the only spatial one.
const HEIGHT: i64 = 2;

/// Functions of one element without further inputs.
const ACTIVATIONS: [&str; 10] =
    ["Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Selu", "HardSigmoid", "HardSwish", "Softplus", "Mish"];

impl Rewrite for Conv1d {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Conv", "Unsqueeze"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let root = draft.node(at).filter(|_| draft.opset() >= 5)?;
        if root.is("Conv") { lifted_conv(draft, root) } else { lifted_activation(draft, root) }
    }
}

fn lifted_conv(draft: &Draft<'_>, conv: NodeView<'_>) -> Option<Edit> {
    let weight = conv.constant(1).filter(|weight| weight.dims.len() == 3)?;
    let attributes = conv.attributes();
    if !matches!(attributes.string("auto_pad"), None | Some("NOTSET" | "VALID")) {
        return None;
    }
    let mut edit = Edit::new("lifted");
    edit.remove(conv).because(format!("kernel of {}", weight.dims[2]));
    let mut dims = weight.dims.clone();
    dims.insert(2, 1);
    let weight = edit.constant(draft, conv.input(1), TensorData { dims, ..weight });
    let lifted = moved(draft, &mut edit, "Unsqueeze", conv.input(0), None);
    let mut made = conv.proto.clone();
    made.input[0] = lifted;
    made.input[1] = weight;
    for (name, neutral) in [("kernel_shape", 1), ("strides", 1), ("dilations", 1)] {
        if let Some(&[width]) = attributes.ints(name) {
            made = made.ints(name, &[neutral, width]);
        }
    }
    if let Some(&[begin, end]) = attributes.ints("pads") {
        made = made.ints("pads", &[0, begin, 0, end]);
    }
    made.output = vec![edit.fresh(draft, conv.output(0))];
    let value = made.output[0].clone();
    edit.add(made);
    moved(draft, &mut edit, "Squeeze", &value, Some(conv.output(0)));
    Some(edit)
}

/// `Squeeze + activation + Unsqueeze` of the height: the activation does as well without them.
fn lifted_activation(draft: &Draft<'_>, unsqueeze: NodeView<'_>) -> Option<Edit> {
    let is_height = |node: NodeView<'_>| axes(draft, node).is_some_and(|axes| axes == [HEIGHT]);
    let activation = unsqueeze.producer(0).filter(|node| ACTIVATIONS.contains(&node.op_type()))?;
    let squeeze = activation.producer(0).filter(|node| node.is("Squeeze"))?;
    if !is_height(unsqueeze) || !is_height(squeeze) {
        return None;
    }
    draft.only_consumer(activation.output(0))?;
    let mut edit = Edit::new("lifted");
    edit.remove(activation).remove(unsqueeze);
    let made = node(activation.op_type(), &[squeeze.input(0)], &[unsqueeze.output(0)]);
    edit.add(made.like(activation.proto).named(activation.name()));
    Some(edit)
}

/// Adds or takes away the axis of height 1, and gives the result's name.
fn moved(draft: &Draft<'_>, edit: &mut Edit, op_type: &str, value: &str, output: Option<&str>) -> String {
    let output = output.map_or_else(|| edit.fresh(draft, value), str::to_owned);
    let made = match draft.opset() {
        13.. => {
            let axes = edit.constant(draft, &format!("{output}_axes"), list(&[HEIGHT]));
            node(op_type, &[value, &axes], &[&output])
        }
        _ => node(op_type, &[value], &[&output]).ints("axes", &[HEIGHT]),
    };
    edit.add(made);
    output
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn conv(opset: u32, rest: &str) -> String {
        format!(
            "opset {opset}; input x f32[2,4,9]; const w random[6,2,3]; const b random[6]; {rest}; output z"
        )
    }

    #[test]
    fn a_convolution_gets_a_height_of_one() {
        for opset in [11, 17] {
            let text = conv(
                opset,
                "z = Conv(x, w, b) group=2 pads=[1,2] strides=[2] dilations=[2] kernel_shape=[3]",
            );
            assert_eq!(applies("G17", &text).operators(), "Unsqueeze Conv Squeeze");
        }
    }

    #[test]
    fn a_chain_is_lifted_as_a_whole() {
        let text = conv(17, "y = Conv(x, w, b) group=2; a = Relu(y); const v random[4,6,1]; z = Conv(a, v)");
        assert_eq!(applies("G17 G15c", &text).operators(), "Unsqueeze Conv Relu Conv Squeeze");
    }

    #[test]
    fn other_dimensions_weights_and_paddings_stay() {
        refuses(
            "G17",
            &conv(17, "z = Conv(x, w, b) group=2").replace("const w random[6,2,3]", "input w f32[6,2,3]"),
        );
        refuses("G17", &conv(17, "z = Conv(x, w, b) group=2 auto_pad=\"SAME_UPPER\""));
        refuses("G17", "input x f32[1,2,5,5]; const w random[3,2,3,3]; z = Conv(x, w); output z");
    }

    #[test]
    fn an_activation_that_others_read_stays_where_it_is() {
        let text = conv(
            17,
            "y = Conv(x, w, b) group=2; a = Relu(y); const v random[4,6,1]; z = Conv(a, v); output a",
        );
        assert!(applies("G17", &text).operators().contains("Squeeze Relu Unsqueeze"));
    }
}
