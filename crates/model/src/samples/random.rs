//! Seeded random numbers for the weights.

/// The odd step of SplitMix64's counter: 2⁶⁴ divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers that depends on the seed and on the name of the tensor it fills, and
/// on nothing else; so a tensor keeps its numbers whatever a model has before it.
///
/// The generator is SplitMix64 (Steele, Lea and Flood, 2014).
pub(super) struct Generator {
    state: u64,
}

impl Generator {
    /// The stream of the tensor called `name`.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        Self { state: mix(seed ^ mix(fnv1a(name))) }
    }

    /// A number from a distribution that is nearly normal, with mean 0 and variance 1, and lies
    /// within ±3.47: the sum of four uniform numbers of 16 bits.
    pub(super) fn normal(&mut self) -> f32 {
        /// Four times the mean of a uniform 16-bit number.
        const MEAN: i32 = 2 * 0xffff;
        /// One over the standard deviation of the sum: √3 / 2¹⁶.
        const SCALE: f32 = 1.732_050_8 / 65_536.0;
        let bits = self.next();
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        (sum as i32 - MEAN) as f32 * SCALE
    }

    /// `count` numbers with this mean and standard deviation, as [`Self::normal`] draws them.
    pub(super) fn normals(&mut self, count: usize, mean: f32, deviation: f32) -> Vec<f32> {
        (0..count).map(|_| mean + deviation * self.normal()).collect()
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }
}

/// SplitMix64's output function.
fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
    fn the_first_numbers_of_splitmix64_are_those_of_its_reference() {
        let mut generator = Generator { state: 1_234_567 };
        let numbers = [generator.next(), generator.next(), generator.next()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn a_stream_depends_on_the_seed_and_on_the_name() {
        let first = |seed, name| Generator::new(seed, name).next();
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
