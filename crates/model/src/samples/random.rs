//! Seeded random numbers for the weights.

/// A stream of random numbers that depends on the seed and on the name of the tensor it fills, and
/// on nothing else; so a tensor keeps its numbers whatever a model has before it.
pub(super) struct Generator(fastrand::Rng);

impl Generator {
    /// The stream of the tensor called `name`.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        Self(fastrand::Rng::with_seed(seed ^ fnv1a(name)))
    }

    /// A number from a distribution that is nearly normal, with mean 0 and variance 1, and lies
    /// within ±3.47: the sum of four uniform numbers of 16 bits.
    pub(super) fn normal(&mut self) -> f32 {
        /// Four times the mean of a uniform 16-bit number.
        const MEAN: i32 = 2 * 0xffff;
        /// One over the standard deviation of the sum: √3 / 2¹⁶.
        const SCALE: f32 = 1.732_050_8 / 65_536.0;
        let bits = self.0.u64(..);
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        (sum as i32 - MEAN) as f32 * SCALE
    }

    /// `count` numbers with this mean and standard deviation, as [`Self::normal`] draws them.
    pub(super) fn normals(&mut self, count: usize, mean: f32, deviation: f32) -> Vec<f32> {
        (0..count).map(|_| mean + deviation * self.normal()).collect()
    }
}

/// The 64-bit FNV-1a hash.
fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_whichever_version_of_the_generator_is_built_in() {
        assert_eq!(
            Generator::new(7, "conv1.weight").normals(3, 0.0, 1.0),
            [-1.629_136_2, 0.410_918_06, -1.880_528_9]
        );
    }

    #[test]
    fn a_stream_depends_on_the_seed_and_on_the_name() {
        let first = |seed, name| Generator::new(seed, name).normal();
        assert_eq!(first(1, "conv1.weight"), first(1, "conv1.weight"));
        assert_ne!(first(1, "conv1.weight"), first(2, "conv1.weight"));
        assert_ne!(first(1, "conv1.weight"), first(1, "conv2.weight"));
    }

    #[test]
    fn normal_numbers_have_the_mean_deviation_and_tails_of_a_normal_distribution() {
        let numbers = Generator::new(0, "x").normals(100_000, 3.0, 2.0);
        let mean = numbers.iter().sum::<f32>() / 1e5;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 1e5;
        assert!((mean - 3.0).abs() < 0.03, "mean {mean}");
        assert!((variance - 4.0).abs() < 0.1, "variance {variance}");
        let beyond_two_deviations = numbers.iter().filter(|x| (**x - 3.0).abs() > 4.0).count();
        assert!((4_000..5_000).contains(&beyond_two_deviations), "{beyond_two_deviations} of 100 000");
    }
}
