//! ResNet-50 (He et al., 2015) in its version 1.5, where the 3×3 convolution of a block strides.

use opscope_trace::DataType;

use super::builder::Builder;
use super::feature_map::{Conv, FeatureMap, Target};
use crate::proto::ModelProto;

/// Channels inside the blocks, number of blocks, and stride of each of the four layers.
const LAYERS: [(usize, usize, usize); 4] = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)];
/// A block has this many times more channels outside than inside.
const EXPANSION: usize = 4;
/// The branch that a block adds to its input is smaller than that input, so that sums stay bounded.
const BRANCH_DEVIATION: f32 = 0.5;

pub(super) fn build(seed: u64) -> ModelProto {
    let mut net = Builder::new("resnet50", seed);
    let image = net.input("input", DataType::Float32, &[1, 3, 224, 224]);
    let image = FeatureMap::normalised_image(image);

    let x = net.conv("conv1", &image, Conv::new(64, 7).stride(2));
    let x = net.batch_norm("conv1", &x, Target::deviation(1.0));
    let x = net.relu("conv1", &x);
    let mut x = net.max_pool("maxpool", &x, 3, 2, [1, 1]);
    for (layer, (channels, blocks, stride)) in (1..).zip(LAYERS) {
        for block in 0..blocks {
            let stride = if block == 0 { stride } else { 1 };
            x = bottleneck(&mut net, &format!("layer{layer}/{block}"), &x, channels, stride);
        }
    }
    let logits = net.classifier("fc", &x, 1000, 2.0);
    net.output("logits", &logits);
    net.finish()
}

fn bottleneck(net: &mut Builder, path: &str, input: &FeatureMap, inner: usize, stride: usize) -> FeatureMap {
    let outer = EXPANSION * inner;
    let x = conv_norm(net, &format!("{path}/conv1"), input, Conv::new(inner, 1), 1.0);
    let x = net.relu(&format!("{path}/conv1"), &x);
    let x = conv_norm(net, &format!("{path}/conv2"), &x, Conv::new(inner, 3).stride(stride), 1.0);
    let x = net.relu(&format!("{path}/conv2"), &x);
    let x = conv_norm(net, &format!("{path}/conv3"), &x, Conv::new(outer, 1), BRANCH_DEVIATION);
    let shortcut = if input.channels.len() == outer {
        input.clone()
    } else {
        conv_norm(net, &format!("{path}/downsample"), input, Conv::new(outer, 1).stride(stride), 1.0)
    };
    let sum = net.add_maps(path, &x, &shortcut);
    net.relu(path, &sum)
}

fn conv_norm(net: &mut Builder, path: &str, input: &FeatureMap, conv: Conv, deviation: f32) -> FeatureMap {
    let x = net.conv(path, input, conv);
    net.batch_norm(path, &x, Target::deviation(deviation))
}
