//! Sample models: nets of well-known kinds with seeded random weights, to try opscope on without
//! having a model at hand.
//!
//! They are built whole, from nothing but a seed, and their weights are scaled so that
//! activations stay finite and depend on the input through the whole depth of a net. So changes
//! of a graph can be checked on them by comparing outputs; what they predict means nothing.
//!
//! ```
//! use opscope_model::samples::Sample;
//!
//! let sample = Sample::from_name("mask-ssd").ok_or("no such sample")?;
//! let model = sample.build(0);
//! assert_eq!(model.producer_name(), "opscope");
//! # Ok::<(), &str>(())
//! ```

mod builder;
mod encoder;
mod feature_map;
mod mask_ssd;
mod mobilenet_v2;
mod operators;
mod random;
mod resnet50;
mod statistics;
mod yolo;

use std::fmt;

use opscope_trace::words;

use crate::proto::ModelProto;
use yolo::YoloActivation;

words! {
    /// A model that opscope can build.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Sample {
        /// A small detector of face masks.
        MaskSsd = "mask-ssd",
        /// A detector after YOLOv4 whose activations are Mish, in three operators each.
        YoloMish = "yolo-mish",
        /// The same net and weights with LeakyRelu.
        YoloLeaky = "yolo-leaky",
        /// ResNet-50 v1.5.
        Resnet50 = "resnet50",
        /// MobileNetV2.
        MobilenetV2 = "mobilenet-v2",
        /// A transformer encoder.
        Encoder = "encoder",
    }
}

impl Sample {
    /// One line for people: what it is, its input, and what it shows.
    pub fn description(self) -> &'static str {
        match self {
            Self::MaskSsd => {
                "face-mask detector, image 1x3x260x260, 1.5 GFLOP: Conv, BatchNormalization and Relu left unfused"
            }
            Self::YoloMish => {
                "YOLOv4-like detector, image 1x3x320x320, 4.4 GFLOP: Mish as Softplus, Tanh and Mul"
            }
            Self::YoloLeaky => "the net and weights of yolo-mish with LeakyRelu instead of Mish",
            Self::Resnet50 => {
                "ResNet-50 v1.5, image 1x3x224x224, 8.2 GFLOP: convolutions of all sizes, unfused"
            }
            Self::MobilenetV2 => {
                "MobileNetV2, image 1x3x224x224, 0.6 GFLOP: depthwise convolutions, Clip and residual sums"
            }
            Self::Encoder => {
                "transformer encoder, tokens 1x128 (0 to 8191), 0.35 GFLOP: hundreds of small operators"
            }
        }
    }

    /// Builds the model. The same seed gives the same model to the last bit, another seed the same
    /// net with other weights; on another platform, whose mathematical functions round
    /// differently, last digits may differ.
    pub fn build(self, seed: u64) -> ModelProto {
        match self {
            Self::MaskSsd => mask_ssd::build(seed),
            Self::YoloMish => yolo::build(seed, YoloActivation::Mish),
            Self::YoloLeaky => yolo::build(seed, YoloActivation::Leaky),
            Self::Resnet50 => resnet50::build(seed),
            Self::MobilenetV2 => mobilenet_v2::build(seed),
            Self::Encoder => encoder::build(seed),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
