//! A small single-shot detector for faces with and without a mask, after the public
//! FaceMaskDetection net: eight convolutions, and heads at five scales.

use opscope_trace::DataType;

use super::builder::{Builder, Value};
use super::feature_map::{Conv, FeatureMap, Target};
use crate::proto::ModelProto;

/// Boxes that are looked for at every position of a scale.
const ANCHORS: usize = 4;
/// Coordinates of a box.
const COORDINATES: usize = 4;
/// With mask, without mask.
const CLASSES: usize = 2;
/// Channels between a scale and its predictions.
const HEAD_CHANNELS: usize = 64;

pub(super) fn build(seed: u64) -> ModelProto {
    let mut net = Builder::new("mask-ssd", seed);
    let image = net.input("image", DataType::Float32, &[1, 3, 260, 260]);
    let image = FeatureMap::unit_image(image);

    let scales = backbone(&mut net, &image);
    let mut boxes = Vec::new();
    let mut scores = Vec::new();
    for (number, scale) in (1..).zip(&scales) {
        boxes.push(box_head(&mut net, &format!("heads/{number}/boxes"), scale));
        scores.push(score_head(&mut net, &format!("heads/{number}/scores"), scale));
    }
    let boxes = net.concat("heads/boxes", &boxes.iter().collect::<Vec<_>>(), 1);
    let scores = net.concat("heads/scores", &scores.iter().collect::<Vec<_>>(), 1);
    net.output("boxes", &boxes);
    net.output("scores", &scores);
    net.finish()
}

/// The scales of 33, 17, 9, 5 and 3 positions a side.
fn backbone(net: &mut Builder, image: &FeatureMap) -> [FeatureMap; 5] {
    let x = stage(net, "backbone/conv1", image, Conv::new(32, 3));
    let x = net.max_pool("backbone/pool1", &x, 2, 2, [0, 0]);
    let x = stage(net, "backbone/conv2", &x, Conv::new(64, 3));
    let x = net.max_pool("backbone/pool2", &x, 2, 2, [0, 0]);
    let x = stage(net, "backbone/conv3", &x, Conv::new(64, 3));
    let x = net.max_pool("backbone/pool3", &x, 2, 2, [0, 1]);
    let scale1 = stage(net, "backbone/conv4", &x, Conv::new(64, 3));
    let x = net.max_pool("backbone/pool4", &scale1, 2, 2, [0, 1]);
    let scale2 = stage(net, "backbone/conv5", &x, Conv::new(128, 3));
    let x = net.max_pool("backbone/pool5", &scale2, 2, 2, [0, 1]);
    let scale3 = stage(net, "backbone/conv6", &x, Conv::new(128, 3));
    let x = net.max_pool("backbone/pool6", &scale3, 2, 2, [0, 1]);
    let scale4 = stage(net, "backbone/conv7", &x, Conv::new(64, 3));
    let scale5 = stage(net, "backbone/conv8", &scale4, Conv::new(64, 3).unpadded());
    [scale1, scale2, scale3, scale4, scale5]
}

fn stage(net: &mut Builder, path: &str, input: &FeatureMap, conv: Conv) -> FeatureMap {
    let x = net.conv(path, input, conv);
    let x = net.batch_norm(path, &x, Target::deviation(1.0));
    net.relu(path, &x)
}

/// Offsets of every anchor, `[1, positions × anchors, 4]`.
fn box_head(net: &mut Builder, path: &str, scale: &FeatureMap) -> Value {
    let x = stage(net, &format!("{path}/conv"), scale, Conv::new(HEAD_CHANNELS, 3));
    let conv = Conv::new(ANCHORS * COORDINATES, 3);
    let x = net.biased_conv(&format!("{path}/predict"), &x, conv, Target::deviation(1.0));
    anchors_last(net, path, &x.value, COORDINATES)
}

/// Probabilities of every anchor's classes, `[1, positions × anchors, 2]`. Most anchors hold no
/// face, so the mean lies low.
fn score_head(net: &mut Builder, path: &str, scale: &FeatureMap) -> Value {
    let x = stage(net, &format!("{path}/conv"), scale, Conv::new(HEAD_CHANNELS, 3));
    let conv = Conv::new(ANCHORS * CLASSES, 3);
    let target = Target { mean: -2.0, mean_spread: 0.3, deviation: 1.5 };
    let x = net.biased_conv(&format!("{path}/predict"), &x, conv, target);
    let x = anchors_last(net, path, &x.value, CLASSES);
    net.unary(path, "Sigmoid", &x)
}

/// Turns a map of predictions, all anchors of a position in its channels, into a list of anchors.
fn anchors_last(net: &mut Builder, path: &str, predictions: &Value, per_anchor: usize) -> Value {
    let count: usize = predictions.shape.iter().product();
    let x = net.transpose(path, predictions, [0, 2, 3, 1]);
    net.reshape(path, &x, &[1, count / per_anchor, per_anchor])
}
