//! G07: the channels between two convolutions are padded to a multiple of 16 with zeros.

use opscope_model::TensorData;

use crate::constant::{floats, is_float};
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::{Limit, Rewrite};

/// See the module.
pub struct ChannelPadding {
    /// The channels that matrix units of Ascend chips work on at once.
    pub multiple: u64,
}

impl ChannelPadding {
    /// With the size that is published for Ascend's chips.
    pub const PUBLISHED: Self = Self { multiple: 16 };
}

static INFO: Info = Info {
    id: "G07",
    name: "channel-padding",
    exactness: Exactness::Bounded,
    use_: Use::Named,
    summary: "Conv + activation + Conv -> the same with channels between padded to a multiple of 16",
    condition: "Weights are constant, group is 1 in both, all between works on each channel by itself and \
                makes something finite of zeros, and nothing else reads it. Sums have more terms, all of them 0, \
                but where an input is infinite: then they are NaN. More work in return for whole \
                blocks: it pays on hardware that computes in blocks.",
};

/// Operators that work on each channel by itself, and of zeros make something finite.
const BETWEEN: [&str; 14] = [
    "Relu",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "Elu",
    "Selu",
    "HardSigmoid",
    "HardSwish",
    "Softplus",
    "Clip",
    "Mish",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
];

impl Rewrite for ChannelPadding {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn limit(&self) -> Option<Limit> {
        Some(Limit { name: "multiple", value: self.multiple })
    }

    fn with_limit(&self, value: u64) -> Option<Box<dyn Rewrite>> {
        Some(Box::new(Self { multiple: value }))
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Conv"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let first = draft.node(at).filter(|node| is_plain(*node))?;
        let weight = first.constant(1).filter(|weight| is_float(weight.data_type))?;
        let channels = *weight.dims.first()?;
        let padded =
            channels.checked_next_multiple_of(self.multiple.max(1)).filter(|padded| *padded != channels)?;
        let mut second = draft.only_consumer(first.output(0))?;
        while BETWEEN.contains(&second.op_type()) {
            // An operator of several results would need another look at each.
            second = draft.only_consumer(second.only_output()?)?;
        }
        let reads_it_as_data = draft.producer(second.input(0)).is_some() && is_plain(second);
        if !reads_it_as_data || second.inputs().skip(1).any(|name| name == second.input(0)) {
            return None;
        }
        let behind = second.constant(1).filter(|weight| weight.dims.get(1) == Some(&channels))?;

        let mut edit = Edit::new("padded");
        edit.remove(first).remove(second).because(format!("{channels} channels"));
        let weight = edit.constant(draft, first.input(1), extended(&weight, 0, padded)?);
        let mut inputs = vec![first.input(0), &weight];
        let bias;
        if !first.input(2).is_empty() {
            let data = first.constant(2).filter(|bias| *bias.dims == [channels])?;
            bias = edit.constant(draft, first.input(2), extended(&data, 0, padded)?);
            inputs.push(&bias);
        }
        edit.add(node("Conv", &inputs, &[first.output(0)]).like(first.proto).named(first.name()));
        let behind = edit.constant(draft, second.input(1), extended(&behind, 1, padded)?);
        let mut replaced = second.proto.clone();
        replaced.input[1] = behind;
        edit.add(replaced);
        Some(edit)
    }
}

/// Whether a node is a Conv of one group.
fn is_plain(conv: NodeView<'_>) -> bool {
    conv.is("Conv") && conv.attributes().int("group").unwrap_or(1) == 1
}

/// The tensor with zeros behind the others along an axis, up to a size.
fn extended(data: &TensorData, axis: usize, size: u64) -> Option<TensorData> {
    let numbers = data.to_f64s()?;
    let row: usize = data.dims.get(axis..)?.iter().product::<u64>() as usize;
    let mut dims = data.dims.clone();
    *dims.get_mut(axis)? = size;
    let longer: usize = dims[axis..].iter().product::<u64>() as usize;
    let rows = numbers.chunks(row.max(1));
    let filled = rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, longer - row.len())));
    floats(data.data_type, &dims, &filled.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn net(between: &str) -> String {
        format!(
            "input x f32[1,3,8,8]; const w random[10,3,3,3]; const b random[10]; const v random[5,10,1,1]
             y = Conv(x, w, b); {between}; z = Conv(a, v); output z"
        )
    }

    #[test]
    fn channels_between_two_convolutions_are_padded() {
        for between in ["a = Sigmoid(y)", "r = LeakyRelu(y); a = MaxPool(r) kernel_shape=[2,2]"] {
            let applied = applies("G07", &net(between));
            let first = applied.model.graph().nodes().next().unwrap();
            let weight = applied.model.graph().value(first.input(1).unwrap()).declared().unwrap();
            assert_eq!(weight.dims.unwrap()[0], opscope_model::Dim::Known(16));
        }
    }

    #[test]
    fn whole_blocks_and_groups_stay() {
        let text = net("a = Relu(y)");
        refuses("G07", &text.replace("10", "16"));
        refuses(
            "G07",
            &text
                .replace("Conv(a, v)", "Conv(a, v) group=5")
                .replace("v random[5,10,1,1]", "v random[5,2,1,1]"),
        );
    }

    #[test]
    fn operators_that_mix_channels_or_make_infinities_stay() {
        refuses("G07", &net("a = Softmax(y) axis=1"));
        refuses("G07", &net("a = Reciprocal(y)"));
        refuses("G07", &net("p = Relu(y); a = Concat(p) axis=1"));
    }

    #[test]
    fn results_that_others_read_and_weights_that_change_stay() {
        refuses("G07", &format!("{}; output y", net("a = Relu(y)")));
        refuses("G07", &net("a = Relu(y)").replace("const v random[5,10,1,1]", "input v f32[5,10,1,1]"));
        refuses("G07", &net("a = Relu(y)").replace("const b random[10]", "input b f32[10]"));
    }
}
