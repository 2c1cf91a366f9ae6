//! A detector after YOLOv4 (Bochkovskiy et al., 2020), made smaller: a backbone of cross-stage
//! partial (CSP) stages, a neck of spatial pyramid pooling and upsampling, and heads at three
//! scales. Batch normalisation is folded into the convolutions, as exporters do.

use opscope_trace::DataType;

use super::builder::Builder;
use super::feature_map::{Conv, FeatureMap, Target};
use super::statistics::Activation;
use crate::proto::ModelProto;

/// Channels of the backbone's stages.
const STAGES: [usize; 5] = [32, 64, 128, 256, 512];
/// Windows of the spatial pyramid pooling.
const POOLS: [usize; 3] = [5, 9, 13];
/// Three boxes a position, each of four coordinates, whether it holds anything, and 80 classes.
const PREDICTIONS: usize = 3 * (4 + 1 + 80);

/// The function after every convolution but the last ones.
#[derive(Clone, Copy, Debug)]
pub(super) enum YoloActivation {
    /// As exporters write it before it was an operator of its own: Softplus, Tanh, Mul.
    Mish,
    /// LeakyRelu of slope 0.1.
    Leaky,
}

pub(super) fn build(seed: u64, activation: YoloActivation) -> ModelProto {
    let name = match activation {
        YoloActivation::Mish => "yolo-mish",
        YoloActivation::Leaky => "yolo-leaky",
    };
    let mut net = Yolo { builder: Builder::new(name, seed), activation };
    let image = net.builder.input("image", DataType::Float32, &[1, 3, 320, 320]);
    let image = FeatureMap::unit_image(image);

    let [fine, middle, coarse] = net.backbone(&image);
    let coarse = net.pyramid_pooling(&coarse);
    let middle = net.merge("neck/middle", &coarse, &middle, 128);
    let fine = net.merge("neck/fine", &middle, &fine, 64);
    for (scale, input) in [("fine", fine), ("middle", middle), ("coarse", coarse)] {
        net.head(scale, &input);
    }
    net.builder.finish()
}

struct Yolo {
    builder: Builder,
    activation: YoloActivation,
}

impl Yolo {
    /// The feature maps of stride 8, 16 and 32.
    fn backbone(&mut self, image: &FeatureMap) -> [FeatureMap; 3] {
        let mut x = self.conv("backbone/stem", image, Conv::new(16, 3));
        let [_, _, fine, middle, coarse] = std::array::from_fn(|stage| {
            x = self.csp_stage(&format!("backbone/stage{}", stage + 1), &x, STAGES[stage]);
            x.clone()
        });
        [fine, middle, coarse]
    }

    /// Halves height and width; half of the channels then take a way past the residual block.
    fn csp_stage(&mut self, path: &str, input: &FeatureMap, channels: usize) -> FeatureMap {
        let half = Conv::new(channels / 2, 1);
        let x = self.conv(&format!("{path}/down"), input, Conv::new(channels, 3).stride(2));
        let bypass = self.conv(&format!("{path}/bypass"), &x, half);
        let x = self.conv(&format!("{path}/enter"), &x, half);
        let x = self.residual(&format!("{path}/block"), &x);
        let x = self.conv(&format!("{path}/leave"), &x, half);
        let x = self.builder.concat_channels(path, &[&x, &bypass]);
        self.conv(&format!("{path}/join"), &x, Conv::new(channels, 1))
    }

    fn residual(&mut self, path: &str, input: &FeatureMap) -> FeatureMap {
        let channels = input.channels.len();
        let x = self.conv(&format!("{path}/conv1"), input, Conv::new(channels, 1));
        let x = self.conv(&format!("{path}/conv2"), &x, Conv::new(channels, 3));
        self.builder.add_maps(path, &x, input)
    }

    /// Looks at windows of several sizes around every position.
    fn pyramid_pooling(&mut self, input: &FeatureMap) -> FeatureMap {
        let path = "neck/pyramid";
        let x = self.conv(&format!("{path}/enter"), input, Conv::new(256, 1));
        let [small, medium, large] = POOLS.map(|kernel| {
            self.builder.max_pool(&format!("{path}/pool{kernel}"), &x, kernel, 1, [kernel / 2; 2])
        });
        let x = self.builder.concat_channels(path, &[&large, &medium, &small, &x]);
        self.conv(&format!("{path}/join"), &x, Conv::new(256, 1))
    }

    /// Brings a coarse feature map to the finer one's size and mixes both.
    fn merge(&mut self, path: &str, coarse: &FeatureMap, fine: &FeatureMap, channels: usize) -> FeatureMap {
        let x = self.conv(&format!("{path}/reduce"), coarse, Conv::new(channels, 1));
        let x = self.builder.upsample(&format!("{path}/upsample"), &x);
        let lateral = self.conv(&format!("{path}/lateral"), fine, Conv::new(channels, 1));
        let x = self.builder.concat_channels(path, &[&lateral, &x]);
        let x = self.conv(&format!("{path}/mix1"), &x, Conv::new(channels, 1));
        self.conv(&format!("{path}/mix2"), &x, Conv::new(2 * channels, 3))
    }

    /// Raw predictions `[1, 255, height, width]` of one scale.
    fn head(&mut self, scale: &str, input: &FeatureMap) {
        let path = format!("heads/{scale}");
        let x = self.conv(&format!("{path}/conv"), input, Conv::new(input.channels.len(), 3));
        let target = Target { mean: -1.0, mean_spread: 0.5, deviation: 1.5 };
        let x = self.builder.biased_conv(&format!("{path}/predict"), &x, Conv::new(PREDICTIONS, 1), target);
        self.builder.output(&format!("predictions_{scale}"), &x.value);
    }

    /// A convolution and its activation.
    fn conv(&mut self, path: &str, input: &FeatureMap, conv: Conv) -> FeatureMap {
        // With this deviation, the two activations have nearly the same mean and variance.
        let x = self.builder.biased_conv(path, input, conv, Target::deviation(1.5));
        let net = &mut self.builder;
        let value = match self.activation {
            YoloActivation::Mish => {
                let gate = net.unary(path, "Softplus", &x.value);
                let gate = net.unary(path, "Tanh", &gate);
                net.elementwise(path, "Mul", &x.value, &gate)
            }
            YoloActivation::Leaky => net.leaky_relu(path, &x.value, 0.1),
        };
        // Both nets get the weights that suit Mish, so that they differ by nothing else.
        x.activated(value, Activation::Mish)
    }
}
