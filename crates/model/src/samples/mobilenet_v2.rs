//! MobileNetV2 (Sandler et al., 2018) of width 1: inverted residuals around depthwise
//! convolutions.

use opscope_trace::DataType;

use super::builder::Builder;
use super::feature_map::{Conv, FeatureMap, Target};
use crate::proto::ModelProto;

/// Expansion, channels, number of blocks, and stride of the first: table 2 of the paper.
const STAGES: [(usize, usize, usize, usize); 7] = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
];

pub(super) fn build(seed: u64) -> ModelProto {
    let mut net = Builder::new("mobilenet-v2", seed);
    let image = net.input("input", DataType::Float32, &[1, 3, 224, 224]);
    let image = FeatureMap::normalised_image(image);

    let mut x = conv_norm_relu6(&mut net, "features/0", &image, Conv::new(32, 3).stride(2));
    let mut number = 1;
    for (expansion, channels, blocks, stride) in STAGES {
        for block in 0..blocks {
            let stride = if block == 0 { stride } else { 1 };
            x = inverted_residual(&mut net, &format!("features/{number}"), &x, expansion, channels, stride);
            number += 1;
        }
    }
    let x = conv_norm_relu6(&mut net, &format!("features/{number}"), &x, Conv::new(1280, 1));
    let logits = net.classifier("classifier", &x, 1000, 2.0);
    net.output("logits", &logits);
    net.finish()
}

fn inverted_residual(
    net: &mut Builder,
    path: &str,
    input: &FeatureMap,
    expansion: usize,
    channels: usize,
    stride: usize,
) -> FeatureMap {
    let has_shortcut = stride == 1 && input.channels.len() == channels;
    let inner = expansion * input.channels.len();
    let mut x = input.clone();
    if expansion > 1 {
        x = conv_norm_relu6(net, &format!("{path}/expand"), &x, Conv::new(inner, 1));
    }
    x = conv_norm_relu6(net, &format!("{path}/depthwise"), &x, Conv::depthwise(inner, 3).stride(stride));

    let project = format!("{path}/project");
    x = net.conv(&project, &x, Conv::new(channels, 1));
    // The branch that a block adds to its input is smaller than that input, so that sums stay bounded.
    let deviation = if has_shortcut { 0.5 } else { 1.0 };
    x = net.batch_norm(&project, &x, Target::deviation(deviation));
    if has_shortcut { net.add_maps(path, input, &x) } else { x }
}

fn conv_norm_relu6(net: &mut Builder, path: &str, input: &FeatureMap, conv: Conv) -> FeatureMap {
    let x = net.conv(path, input, conv);
    let x = net.batch_norm(path, &x, Target::deviation(1.0));
    net.relu6(path, &x)
}
