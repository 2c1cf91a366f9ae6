//! The expected values of a feature map, channel by channel.
//!
//! A trained net's batch normalisation holds the means and variances that training saw. The sample
//! models were never trained, so these are worked out while a model is built: every channel is
//! taken for a normal distribution that went through an activation, and means and variances are
//! carried from layer to layer. Without this, the activations of a deep net would vanish, explode,
//! or hardly depend on the input.

use std::sync::LazyLock;

/// How many equally likely values stand for a distribution.
const POINTS: usize = 64;

/// Equally likely values of the standard normal distribution.
static NORMAL_POINTS: LazyLock<[f32; POINTS]> =
    LazyLock::new(|| std::array::from_fn(|point| normal_quantile(probability(point)) as f32));

/// An elementwise function between layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Activation {
    Identity,
    Relu,
    /// Clipped to 0..6.
    Relu6,
    /// x · tanh(ln(1 + eˣ)).
    Mish,
}

impl Activation {
    fn apply(self, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::Relu => x.max(0.0),
            Self::Relu6 => x.clamp(0.0, 6.0),
            Self::Mish => x * x.exp().ln_1p().tanh(),
        }
    }
}

/// The expected distribution of a channel's values: a normal one, seen through an activation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Channel {
    mean: f32,
    deviation: f32,
    activation: Activation,
}

/// Mean and variance of a channel's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments {
    pub(super) mean: f32,
    pub(super) variance: f32,
}

impl Channel {
    /// A normal distribution.
    pub(super) fn normal(mean: f32, deviation: f32) -> Self {
        Self { mean, deviation, activation: Activation::Identity }
    }

    /// Mean and variance of the values.
    pub(super) fn moments(self) -> Moments {
        if self.activation == Activation::Identity {
            return Moments { mean: self.mean, variance: self.deviation * self.deviation };
        }
        let values = NORMAL_POINTS.map(|point| self.activation.apply(self.mean + self.deviation * point));
        let mean = values.iter().sum::<f32>() / POINTS as f32;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / POINTS as f32;
        Moments { mean, variance }
    }

    /// The values after an activation.
    pub(super) fn activate(self, activation: Activation) -> Self {
        let Moments { mean, variance } = self.moments();
        Self { mean, deviation: variance.sqrt(), activation }
    }

    /// The sum of two channels that don't depend on one another.
    pub(super) fn add(self, other: Self) -> Self {
        let (a, b) = (self.moments(), other.moments());
        Self::normal(a.mean + b.mean, (a.variance + b.variance).sqrt())
    }

    /// The mean of `count` values that don't depend on one another.
    pub(super) fn average(self, count: usize) -> Self {
        let Moments { mean, variance } = self.moments();
        Self::normal(mean, (variance / count as f32).sqrt())
    }

    /// The largest of values whose largest normal has these moments; as activations rise with
    /// their input, the largest value is that of the largest input.
    pub(super) fn largest(self, largest_normal: Moments) -> Self {
        Self {
            mean: self.mean + largest_normal.mean * self.deviation,
            deviation: self.deviation * largest_normal.variance.sqrt(),
            ..self
        }
    }
}

/// Mean and variance of the largest of `count` standard normal numbers.
pub(super) fn largest_of(count: usize) -> Moments {
    // The largest of n numbers lies below x when all do, so its distribution is the n-th power.
    let values: [f64; POINTS] =
        std::array::from_fn(|point| normal_quantile(probability(point).powf(1.0 / count as f64)));
    let mean = values.iter().sum::<f64>() / POINTS as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / POINTS as f64;
    Moments { mean: mean as f32, variance: variance as f32 }
}

/// The probability in the middle of the `point`-th of [`POINTS`] equal parts.
fn probability(point: usize) -> f64 {
    (point as f64 + 0.5) / POINTS as f64
}

/// The value below which a standard normal number lies with this probability; Tukey's lambda
/// distribution, which is within 0.02 of it from 0.001 to 0.999.
fn normal_quantile(probability: f64) -> f64 {
    const LAMBDA: f64 = 0.135;
    (probability.powf(LAMBDA) - (1.0 - probability).powf(LAMBDA)) / 0.1975
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(moments: Moments, mean: f32, variance: f32) {
        let is_close = |x: f32, expected: f32| (x - expected).abs() < 0.02 * expected.abs().max(1.0);
        assert!(is_close(moments.mean, mean), "{moments:?}, expected mean {mean}");
        assert!(is_close(moments.variance, variance), "{moments:?}, expected variance {variance}");
    }

    #[test]
    fn activations_change_mean_and_variance_as_integration_says() {
        let standard = Channel::normal(0.0, 1.0);
        assert_close(standard.moments(), 0.0, 1.0);
        // 1/√(2π) and 1/2 − 1/(2π).
        assert_close(standard.activate(Activation::Relu).moments(), 0.3989, 0.3408);
        // By numerical integration.
        assert_close(standard.activate(Activation::Mish).moments(), 0.2404, 0.3945);
        assert_close(Channel::normal(6.0, 1.0).activate(Activation::Relu6).moments(), 5.6011, 0.3408);
    }

    #[test]
    fn the_largest_of_several_has_the_moments_of_order_statistics() {
        assert_close(largest_of(1), 0.0, 1.0);
        assert_close(largest_of(4), 1.0294, 0.4917);
        assert_close(largest_of(9), 1.4850, 0.3574);
        let pooled = Channel::normal(1.0, 2.0).activate(Activation::Relu).largest(largest_of(9));
        // 1 + 2 · 1.4850 and 2² · 0.3574, as hardly a maximum lies below zero.
        assert_close(pooled.moments(), 3.97, 1.41);
    }

    #[test]
    fn sums_and_averages_add_and_divide_variances() {
        let sum = Channel::normal(1.0, 3.0).add(Channel::normal(2.0, 4.0));
        assert_close(sum.moments(), 3.0, 25.0);
        assert_close(sum.average(25).moments(), 3.0, 1.0);
    }
}
