//! Taking a scale and a shift for each output channel into the weights before them; what G01, G03 and
//! G16 share.

use opscope_model::TensorData;
use opscope_model::proto::NodeProto;
use opscope_trace::DataType;

use crate::constant::{floats, is_float};
use crate::draft::{Draft, Edit, NodeView};
use crate::info::Exactness;
use crate::node::{NodeExt, node};

/// A scale and a shift for each channel: `channel * scale + shift`.
pub struct Affine {
    pub scale: Vec<f64>,
    pub shift: Vec<f64>,
}

/// The operators that an affine function can be taken into.
pub const PRODUCERS: [&str; 3] = ["Conv", "ConvTranspose", "Gemm"];

/// The weights of one of [`PRODUCERS`], read and ready to be changed.
pub struct Weights<'d> {
    node: NodeView<'d>,
    weight: TensorData,
    bias: Option<TensorData>,
}

impl<'d> Weights<'d> {
    /// The weights of a node; `None` if it is none of [`PRODUCERS`], or its weights aren't constant or
    /// of no type that can be folded.
    pub fn of(node: NodeView<'d>) -> Option<Self> {
        if !PRODUCERS.contains(&node.op_type()) {
            return None;
        }
        let weight = node.constant(1).filter(|weight| is_float(weight.data_type))?;
        let bias = match node.input(2) {
            "" => None,
            _ => Some(node.constant(2).filter(|bias| bias.data_type == weight.data_type)?),
        };
        let weights = Self { node, weight, bias };
        let channels = weights.channels()?;
        let rank = weights.weight.dims.len();
        let (expected_rank, bias) = match node.op_type() {
            "Gemm" => (rank == 2, weights.gemm_bias(channels)),
            _ => (rank >= 3, weights.conv_bias(channels)),
        };
        (expected_rank && bias.is_some()).then_some(weights)
    }

    /// How many output channels there are.
    pub fn channels(&self) -> Option<usize> {
        let dims = &self.weight.dims;
        let channels = match self.node.op_type() {
            "Conv" => *dims.first()?,
            "ConvTranspose" => {
                // More groups than inputs would be channels that no weight stands for.
                let groups = self.groups()? as u64;
                dims.get(1)?.checked_mul(groups).filter(|_| groups <= dims[0])?
            }
            _ => *dims.get(usize::from(!self.transposed()))?,
        };
        usize::try_from(channels).ok().filter(|channels| *channels > 0)
    }

    /// How many dimensions the result has.
    pub fn rank(&self) -> usize {
        self.weight.dims.len()
    }

    /// Puts a node with the changed weights in place of the old one and `after`, which computes the
    /// affine function. `None` when the folded weights don't fit their type.
    pub fn absorb(
        &self,
        draft: &Draft<'_>,
        affine: &Affine,
        after: NodeView<'_>,
        suffix: &'static str,
    ) -> Option<Edit> {
        let channels = self.channels()?;
        let finite = affine.scale.iter().chain(&affine.shift).all(|x| x.is_finite());
        if affine.scale.len() != channels || affine.shift.len() != channels || !finite {
            return None;
        }
        let weight = self.weight.to_f64s()?;
        let channel_of = self.channel_of()?;
        let scaled: Vec<f64> =
            weight.iter().enumerate().map(|(place, w)| w * affine.scale[channel_of(place)]).collect();
        let bias = match self.node.op_type() {
            "Gemm" => self.gemm_bias(channels)?,
            _ => self.conv_bias(channels)?,
        };
        let bias: Vec<f64> = (0..channels).map(|c| bias[c] * affine.scale[c] + affine.shift[c]).collect();

        let data_type = self.weight.data_type;
        let mut edit = Edit::new(suffix);
        let weight = floats(data_type, &self.weight.dims, &scaled)?;
        let weight = edit.constant(draft, self.node.input(1), weight);
        let bias_name = match self.node.input(2) {
            "" => format!("{}_bias", self.node.name()),
            name => name.to_owned(),
        };
        let bias = edit.constant(draft, &bias_name, floats(data_type, &[channels as u64], &bias)?);
        if data_type == DataType::Float16 {
            // Shifts much larger than the results leave few of its eleven digits.
            edit.exactness(Exactness::Bounded);
        }
        edit.remove(self.node).remove(after);
        edit.add(self.replacement(&weight, &bias, after.output(0)));
        Some(edit)
    }

    fn replacement(&self, weight: &str, bias: &str, output: &str) -> NodeProto {
        let made = node(self.node.op_type(), &[self.node.input(0), weight, bias], &[output]);
        let made = made.like(self.node.proto).named(self.node.name());
        // The factor of the bias is in the bias now.
        if self.node.op_type() == "Gemm" { made.without("beta") } else { made }
    }

    fn groups(&self) -> Option<usize> {
        usize::try_from(self.node.attributes().int("group").unwrap_or(1)).ok().filter(|groups| *groups > 0)
    }

    /// Whether a Gemm's weights are stored by output channel.
    fn transposed(&self) -> bool {
        self.node.attributes().int("transB").unwrap_or(0) != 0
    }

    /// The output channel that the weight at a position belongs to.
    fn channel_of(&self) -> Option<Box<dyn Fn(usize) -> usize>> {
        let dims: Vec<usize> = self.weight.dims.iter().map(|&n| n as usize).collect();
        let behind: usize = dims.iter().skip(1).product();
        match self.node.op_type() {
            "Conv" => Some(Box::new(move |place| place / behind)),
            "Gemm" if self.transposed() => Some(Box::new(move |place| place / behind)),
            "Gemm" => Some(Box::new(move |place| place % behind)),
            // `[inputs, outputs of a group, …]`: the input channel says which group it is.
            _ => {
                let inputs_of_group = dims.first()?.checked_div(self.groups()?).filter(|n| *n > 0)?;
                let (outputs, kernel) = (*dims.get(1)?, dims.iter().skip(2).product::<usize>());
                Some(Box::new(move |place| {
                    let (input, output) = (place / behind, place / kernel % outputs);
                    input / inputs_of_group * outputs + output
                }))
            }
        }
    }

    fn conv_bias(&self, channels: usize) -> Option<Vec<f64>> {
        match &self.bias {
            None => Some(vec![0.0; channels]),
            Some(bias) => bias.to_f64s().filter(|bias| bias.len() == channels),
        }
    }

    /// A Gemm's bias by channel, with its factor; `None` when it differs from row to row.
    fn gemm_bias(&self, channels: usize) -> Option<Vec<f64>> {
        let Some(bias) = &self.bias else { return Some(vec![0.0; channels]) };
        let beta = f64::from(self.node.attributes().float("beta").unwrap_or(1.0));
        let numbers: Vec<f64> = bias.to_f64s()?.into_iter().map(|b| b * beta).collect();
        match *bias.dims {
            [] | [1] | [1, 1] => Some(vec![*numbers.first()?; channels]),
            [n] | [1, n] if n == channels as u64 => Some(numbers),
            _ => None,
        }
    }
}

/// A constant that is broadcast to a result of this rank, as one number for each channel. `None` when it
/// differs along another axis than that of the channels, or would make the result larger.
pub fn by_channel(data: &TensorData, rank: usize, channels: usize) -> Option<Vec<f64>> {
    if !is_float(data.data_type) || data.dims.len() > rank {
        return None;
    }
    let numbers = data.to_f64s()?;
    if numbers.len() == 1 {
        return Some(vec![numbers[0]; channels]);
    }
    let first_axis = rank - data.dims.len();
    let others_are_one =
        data.dims.iter().enumerate().all(|(place, &size)| size == 1 || place + first_axis == 1);
    (others_are_one && numbers.len() == channels).then_some(numbers)
}
