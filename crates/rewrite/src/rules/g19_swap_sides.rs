//! G19: convolutions over very wide inputs work on them turned by 90 degrees.

use opscope_model::TensorData;

use super::g15b_transpose::permutation;
use crate::constant::{floats, is_float};
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::{Limit, Rewrite};

/// See the module.
pub struct SwapSides {
    /// The width from which it may pay.
    pub wide: u64,
}

impl SwapSides {
    /// With the size that is published for Ascend's chips.
    pub const PUBLISHED: Self = Self { wide: 20_000 };
}

/// Height and width exchanged.
const TURNED: [i64; 4] = [0, 1, 3, 2];

static INFO: Info = Info {
    id: "G19",
    name: "swap-wide-sides",
    exactness: Exactness::Rounding,
    use_: Use::Named,
    summary: "Conv over a width of 20000 and more -> Transpose + Conv over that height + Transpose, with Selu and the like between",
    condition: "Two spatial dimensions, constant weights, and padding given by numbers. It pays on Ascend \
                chips, which tile the height.",
};

impl Rewrite for SwapSides {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn limit(&self) -> Option<Limit> {
        Some(Limit { name: "length", value: self.wide })
    }

    fn with_limit(&self, value: u64) -> Option<Box<dyn Rewrite>> {
        Some(Box::new(Self { wide: value }))
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Conv", "Selu", "Relu", "LeakyRelu", "Elu", "Tanh", "Sigmoid"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let root = draft.node(at)?;
        if root.is("Conv") { turned_conv(draft, root, self.wide) } else { turned_activation(draft, root) }
    }
}

fn turned_conv(draft: &Draft<'_>, conv: NodeView<'_>, wide: u64) -> Option<Edit> {
    let weight = conv.constant(1).filter(|weight| weight.dims.len() == 4 && is_float(weight.data_type))?;
    let [.., height, width] = draft.shape(conv.input(0))?.dims[..] else { return None };
    // Turned, the longer side stands first, so that it isn't turned back.
    let width = width.filter(|width| *width >= wide && height.is_none_or(|height| height < *width))?;
    let attributes = conv.attributes();
    if !matches!(attributes.string("auto_pad"), None | Some("NOTSET" | "VALID")) {
        return None;
    }
    let mut edit = Edit::new("turned");
    edit.remove(conv).because(format!("a last axis of {width}"));
    let turn = |value: &str| node("Transpose", &[value], &[]).ints("perm", &TURNED);
    let mut made = conv.proto.clone();
    made.input[0] = edit.apply_node(draft, turn(conv.input(0)), conv.input(0));
    made.input[1] = edit.constant(draft, conv.input(1), turned(&weight)?);
    for name in ["kernel_shape", "strides", "dilations"] {
        if let Some(&[height, width]) = attributes.ints(name) {
            made = made.ints(name, &[width, height]);
        }
    }
    if let Some(&[top, left, bottom, right]) = attributes.ints("pads") {
        made = made.ints("pads", &[left, top, right, bottom]);
    }
    let value = edit.fresh(draft, conv.output(0));
    made.output = vec![value.clone()];
    edit.add(made);
    let mut back = turn(&value);
    back.output = vec![conv.output(0).to_owned()];
    edit.add(back);
    Some(edit)
}

/// An activation between two turns needs neither.
fn turned_activation(draft: &Draft<'_>, activation: NodeView<'_>) -> Option<Edit> {
    let is_turn = |node: &NodeView<'_>| {
        node.is("Transpose") && permutation(draft, *node).is_some_and(|perm| perm == [0, 1, 3, 2])
    };
    let before = activation.producer(0).filter(is_turn)?;
    let behind = draft.only_consumer(activation.output(0)).filter(is_turn)?;
    let mut edit = Edit::new("turned");
    edit.remove(activation).remove(behind);
    let made = node(activation.op_type(), &[before.input(0)], &[behind.output(0)]);
    edit.add(made.like(activation.proto).named(activation.name()));
    Some(edit)
}

/// Kernels with height and width exchanged.
fn turned(weight: &TensorData) -> Option<TensorData> {
    let (height, width) = (weight.dims[2] as usize, weight.dims[3] as usize);
    let numbers = weight.to_f64s()?;
    let kernels = numbers.chunks((height * width).max(1));
    let numbers: Vec<f64> = kernels
        .flat_map(|kernel| (0..width).flat_map(move |x| (0..height).map(move |y| kernel[y * width + x])))
        .collect();
    let dims = [weight.dims[0], weight.dims[1], weight.dims[3], weight.dims[2]];
    floats(weight.data_type, &dims, &numbers)
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    const WIDE: &str = "input x f32[1,2,3,20010]; const w random[2,2,2,3]; const v random[2,2,1,3]";

    #[test]
    fn convolutions_with_activations_between_are_turned_as_a_whole() {
        let text = format!(
            "{WIDE}; y = Conv(x, w) pads=[1,2,0,1] strides=[1,1]; a = Selu(y); z = Conv(a, v); output z"
        );
        assert_eq!(applies("G19", &text).operators(), "Transpose Conv Selu Conv Transpose");
    }

    #[test]
    fn narrow_inputs_and_other_paddings_stay() {
        let text = format!("{WIDE}; y = Conv(x, w); output y");
        refuses("G19", &text.replace("20010", "19999"));
        refuses("G19", &text.replace("20010", "n"));
        refuses("G19", &text.replace("Conv(x, w)", "Conv(x, w) auto_pad=\"SAME_LOWER\""));
        refuses("G19", &text.replace("const w random[2,2,2,3]", "input w f32[2,2,2,3]"));
    }
}
