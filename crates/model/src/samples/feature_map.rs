//! The layers of convolutional nets, with random weights that keep activations informative.

use super::builder::{Builder, Value, float, int, ints, text};
use super::statistics::{Activation, Channel, Moments, largest_of};

/// The term that keeps batch normalisation from dividing by zero.
const EPSILON: f32 = 1e-5;
/// How far, in deviations, running means lie beside the true ones, as they come from finite data.
const MEAN_ERROR: f32 = 0.05;
/// Red, green and blue.
const IMAGE_CHANNELS: usize = 3;

/// A tensor `[1, channels, height, width]`, with what its channels are expected to hold.
#[derive(Clone, Debug)]
pub(super) struct FeatureMap {
    pub(super) value: Value,
    pub(super) channels: Vec<Channel>,
}

/// A convolution with a square kernel and, unless said otherwise, stride 1 and a padding that
/// keeps height and width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conv {
    channels: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    groups: usize,
}

impl Conv {
    /// A convolution to this number of channels.
    pub(super) fn new(channels: usize, kernel: usize) -> Self {
        Self { channels, kernel, stride: 1, padding: kernel / 2, groups: 1 }
    }

    /// A convolution of every channel on its own.
    pub(super) fn depthwise(channels: usize, kernel: usize) -> Self {
        Self { groups: channels, ..Self::new(channels, kernel) }
    }

    pub(super) fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    pub(super) fn unpadded(self) -> Self {
        Self { padding: 0, ..self }
    }

    /// The extent of the result along a dimension.
    fn extent(self, extent: usize) -> usize {
        (extent + 2 * self.padding - self.kernel) / self.stride + 1
    }
}

/// The distribution that a layer's channels are scaled to. Every channel gets its own mean, spread
/// around that of the layer, and its own deviation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) mean: f32,
    pub(super) mean_spread: f32,
    pub(super) deviation: f32,
}

impl Target {
    /// Means around zero that spread by a fifth of the deviation.
    pub(super) fn deviation(deviation: f32) -> Self {
        Self { mean: 0.0, mean_spread: 0.2 * deviation, deviation }
    }

    /// Draws the means and deviations of `channels` channels.
    fn draw(self, builder: &Builder, path: &str, channels: usize) -> Drawn {
        let draw = |kind, mean, spread| builder.generator(path, kind).normals(channels, mean, spread);
        Drawn {
            means: draw("bias", self.mean, self.mean_spread),
            deviations: draw("deviation", self.deviation, 0.15 * self.deviation),
        }
    }
}

/// The means and deviations of a layer's channels.
struct Drawn {
    means: Vec<f32>,
    deviations: Vec<f32>,
}

impl Drawn {
    fn channels(&self) -> Vec<Channel> {
        let pairs = self.means.iter().zip(&self.deviations);
        pairs.map(|(&mean, &deviation)| Channel::normal(mean, deviation)).collect()
    }
}

impl Builder {
    /// A convolution without bias.
    pub(super) fn conv(&mut self, path: &str, input: &FeatureMap, conv: Conv) -> FeatureMap {
        let weights = self.conv_weights(path, input, conv);
        let channels = conv_moments(&weights, input, conv);
        let value = self.conv_node(path, &input.value, conv, &weights, None);
        let channels = channels.iter().map(|sum| Channel::normal(sum.mean, sum.variance.sqrt())).collect();
        FeatureMap { value, channels }
    }

    /// A convolution with a bias, scaled so that its channels meet the target; also the form that
    /// a batch normalisation leaves when an exporter has folded it away.
    pub(super) fn biased_conv(
        &mut self,
        path: &str,
        input: &FeatureMap,
        conv: Conv,
        target: Target,
    ) -> FeatureMap {
        let mut weights = self.conv_weights(path, input, conv);
        let sums = conv_moments(&weights, input, conv);
        let drawn = target.draw(self, path, conv.channels);
        let filter_size = weights.len() / conv.channels;
        let mut biases = Vec::with_capacity(conv.channels);
        for (channel, (sum, filter)) in sums.iter().zip(weights.chunks_exact_mut(filter_size)).enumerate() {
            let scale = drawn.deviations[channel] / (sum.variance + EPSILON).sqrt();
            filter.iter_mut().for_each(|weight| *weight *= scale);
            biases.push(drawn.means[channel] - scale * sum.mean);
        }
        let value = self.conv_node(path, &input.value, conv, &weights, Some(&biases));
        FeatureMap { value, channels: drawn.channels() }
    }

    /// A batch normalisation whose statistics are those that its input is expected to have.
    pub(super) fn batch_norm(&mut self, path: &str, input: &FeatureMap, target: Target) -> FeatureMap {
        let path_of_weights = format!("{path}/bn");
        let count = [input.channels.len()];
        let moments: Vec<Moments> = input.channels.iter().map(|channel| channel.moments()).collect();
        let errors = self.generator(&path_of_weights, "running_mean").normals(count[0], 0.0, MEAN_ERROR);
        let means: Vec<f32> =
            moments.iter().zip(&errors).map(|(sum, error)| sum.mean + error * sum.variance.sqrt()).collect();
        let variances: Vec<f32> = moments.iter().map(|moments| moments.variance).collect();
        let drawn = target.draw(self, &path_of_weights, count[0]);

        let mut weight = |kind, values: &[f32]| self.weight(&path_of_weights, kind, &count, values);
        let parameters = [
            weight("weight", &drawn.deviations),
            weight("bias", &drawn.means),
            weight("running_mean", &means),
            weight("running_var", &variances),
        ];
        let [scale, bias, mean, variance] = &parameters;
        let inputs = [&input.value, scale, bias, mean, variance];
        let attributes = vec![float("epsilon", EPSILON)];
        let value = self.node(path, "BatchNormalization", &inputs, attributes, input.value.shape.clone());
        FeatureMap { value, channels: drawn.channels() }
    }

    pub(super) fn relu(&mut self, path: &str, input: &FeatureMap) -> FeatureMap {
        let value = self.node(path, "Relu", &[&input.value], vec![], input.value.shape.clone());
        input.activated(value, Activation::Relu)
    }

    /// Relu clipped at 6, as exporters write it.
    pub(super) fn relu6(&mut self, path: &str, input: &FeatureMap) -> FeatureMap {
        let (low, high) = (self.scalar(0.0), self.scalar(6.0));
        let inputs = [&input.value, &low, &high];
        let value = self.node(path, "Clip", &inputs, vec![], input.value.shape.clone());
        input.activated(value, Activation::Relu6)
    }

    /// The sum of two feature maps of one shape.
    pub(super) fn add_maps(&mut self, path: &str, left: &FeatureMap, right: &FeatureMap) -> FeatureMap {
        let value = self.add(path, &left.value, &right.value);
        let channels = left.channels.iter().zip(&right.channels).map(|(a, b)| a.add(*b)).collect();
        FeatureMap { value, channels }
    }

    /// The channels of several feature maps one after another.
    pub(super) fn concat_channels(&mut self, path: &str, inputs: &[&FeatureMap]) -> FeatureMap {
        let values: Vec<&Value> = inputs.iter().map(|input| &input.value).collect();
        let value = self.concat(path, &values, 1);
        let channels = inputs.iter().flat_map(|input| input.channels.iter().copied()).collect();
        FeatureMap { value, channels }
    }

    /// Maxima over a square window; a padding `[before, after]` holds for height and width.
    pub(super) fn max_pool(
        &mut self,
        path: &str,
        input: &FeatureMap,
        kernel: usize,
        stride: usize,
        padding: [usize; 2],
    ) -> FeatureMap {
        let [batch, channels, height, width] = input.dimensions();
        let extent = |extent| (extent + padding[0] + padding[1] - kernel) / stride + 1;
        let [before, after] = padding.map(|padding| padding as i64);
        let attributes = vec![
            ints("kernel_shape", [kernel as i64; 2]),
            ints("pads", [before, before, after, after]),
            ints("strides", [stride as i64; 2]),
        ];
        let shape = vec![batch, channels, extent(height), extent(width)];
        let value = self.node(path, "MaxPool", &[&input.value], attributes, shape);
        let largest = largest_of(kernel.min(height) * kernel.min(width));
        let channels = input.channels.iter().map(|channel| channel.largest(largest)).collect();
        FeatureMap { value, channels }
    }

    /// Height and width doubled, every value repeated.
    pub(super) fn upsample(&mut self, path: &str, input: &FeatureMap) -> FeatureMap {
        let [batch, channels, height, width] = input.dimensions();
        let scales = self.weight(path, "scales", &[4], &[1.0, 1.0, 2.0, 2.0]);
        let inputs = [&input.value, &Self::no_value(), &scales];
        let attributes = vec![
            text("coordinate_transformation_mode", "asymmetric"),
            text("mode", "nearest"),
            text("nearest_mode", "floor"),
        ];
        let shape = vec![batch, channels, 2 * height, 2 * width];
        let value = self.node(path, "Resize", &inputs, attributes, shape);
        FeatureMap { value, channels: input.channels.clone() }
    }

    /// Pools to one value a channel, and classifies: logits `[1, classes]` of the given deviation.
    pub(super) fn classifier(
        &mut self,
        path: &str,
        input: &FeatureMap,
        classes: usize,
        deviation: f32,
    ) -> Value {
        let [batch, features, height, width] = input.dimensions();
        let pooled = vec![batch, features, 1, 1];
        let pooled = self.node("avgpool", "GlobalAveragePool", &[&input.value], vec![], pooled);
        let flat = self.node("", "Flatten", &[&pooled], vec![int("axis", 1)], vec![batch, features]);

        // Neighbouring positions see much the same, so fewer count than there are.
        let independent = (height * width / 4).max(1);
        let channels = input.channels.iter().map(|channel| channel.average(independent)).collect();
        let input = FeatureMap { value: flat, channels };
        let conv = Conv::new(classes, 1);
        let mut weights = self.conv_weights(path, &input, conv);
        let sums = conv_moments(&weights, &input, conv);
        let spread: f32 = sums.iter().map(|sum| sum.variance).sum::<f32>() / classes as f32;
        let scale = deviation / (spread + EPSILON).sqrt();
        weights.iter_mut().for_each(|weight| *weight *= scale);
        let biases: Vec<f32> = sums.iter().map(|sum| -scale * sum.mean).collect();
        let weight = self.weight(path, "weight", &[classes, features], &weights);
        let bias = self.weight(path, "bias", &[classes], &biases);
        let inputs = [&input.value, &weight, &bias];
        self.node(path, "Gemm", &inputs, vec![int("transB", 1)], vec![batch, classes])
    }

    /// Random weights `[channels, input channels / groups, kernel, kernel]` after He et al.: what
    /// a rectifier drops is made up for.
    ///
    /// The weights of a filter that mixes many channels sum to zero, so that it sees how channels
    /// differ, not how strong all of them are. Else an input stronger or brighter than expected
    /// would grow from layer to layer.
    fn conv_weights(&self, path: &str, input: &FeatureMap, conv: Conv) -> Vec<f32> {
        let mixed_channels = input.channels.len() / conv.groups;
        let fan_in = mixed_channels * conv.kernel * conv.kernel;
        let deviation = (2.0 / fan_in as f32).sqrt();
        let mut weights = self.generator(path, "weight").normals(conv.channels * fan_in, 0.0, deviation);
        if mixed_channels > IMAGE_CHANNELS {
            for filter in weights.chunks_exact_mut(fan_in) {
                let mean = filter.iter().sum::<f32>() / fan_in as f32;
                filter.iter_mut().for_each(|weight| *weight -= mean);
            }
        }
        weights
    }

    fn conv_node(
        &mut self,
        path: &str,
        input: &Value,
        conv: Conv,
        weights: &[f32],
        biases: Option<&[f32]>,
    ) -> Value {
        let Conv { channels, kernel, stride, padding, groups } = conv;
        let shape = [channels, input.shape[1] / groups, kernel, kernel];
        let mut inputs = vec![input.clone(), self.weight(path, "weight", &shape, weights)];
        if let Some(biases) = biases {
            inputs.push(self.weight(path, "bias", &[channels], biases));
        }
        let attributes = vec![
            ints("dilations", [1; 2]),
            int("group", groups as i64),
            ints("kernel_shape", [kernel as i64; 2]),
            ints("pads", [padding as i64; 4]),
            ints("strides", [stride as i64; 2]),
        ];
        let shape = vec![input.shape[0], channels, conv.extent(input.shape[2]), conv.extent(input.shape[3])];
        self.node(path, "Conv", &inputs.iter().collect::<Vec<_>>(), attributes, shape)
    }
}

impl FeatureMap {
    /// An image whose values go from 0 to 1.
    pub(super) fn unit_image(value: Value) -> Self {
        Self::image(value, Channel::normal(0.5, 1.0 / 12_f32.sqrt()))
    }

    /// An image whose values were brought to mean 0 and variance 1.
    pub(super) fn normalised_image(value: Value) -> Self {
        Self::image(value, Channel::normal(0.0, 1.0))
    }

    fn image(value: Value, channel: Channel) -> Self {
        let channels = vec![channel; value.shape[1]];
        Self { value, channels }
    }

    /// The feature map that an activation makes of this one.
    pub(super) fn activated(&self, value: Value, activation: Activation) -> Self {
        let channels = self.channels.iter().map(|channel| channel.activate(activation)).collect();
        Self { value, channels }
    }

    /// Batch, channels, height and width.
    fn dimensions(&self) -> [usize; 4] {
        std::array::from_fn(|axis| self.value.shape[axis])
    }
}

/// Mean and variance of every channel that a convolution without bias computes.
///
/// As the weights are random, values that depend on one another change the variance of single
/// channels, but not on the average; zeros at the border are left out of account.
fn conv_moments(weights: &[f32], input: &FeatureMap, conv: Conv) -> Vec<Moments> {
    let inputs: Vec<Moments> = input.channels.iter().map(|channel| channel.moments()).collect();
    let inputs_per_group = inputs.len() / conv.groups;
    let outputs_per_group = conv.channels / conv.groups;
    let area = conv.kernel * conv.kernel;
    let filters = weights.chunks_exact(inputs_per_group * area).enumerate();
    let moments = filters.map(|(output, filter)| {
        let group = &inputs[output / outputs_per_group * inputs_per_group..][..inputs_per_group];
        let mut sum = Moments { mean: 0.0, variance: 0.0 };
        for (input, taps) in group.iter().zip(filter.chunks_exact(area)) {
            sum.mean += input.mean * taps.iter().sum::<f32>();
            sum.variance += input.variance * taps.iter().map(|tap| tap * tap).sum::<f32>();
        }
        sum
    });
    moments.collect()
}
