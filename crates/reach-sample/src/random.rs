//! Chance that is the same for the same seed on every machine: nothing but integers, sums and products, because
//! logarithms and exponentials differ by the system's library.

/// A sequence of numbers by a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, but not including, 1.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of mean 0 and deviation 1: the sum of twelve uniform ones of 16 bits, whose variance is 1/12 each.
    #[inline]
    pub(crate) fn normal(&mut self) -> f64 {
        let mut sum = 0;
        for _ in 0..3 {
            let bits = self.next();
            sum += (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
        }
        (sum as f64 - 12.0 * 32_767.5) / 65_536.0
    }
}

/// The exponential of a number near 0, to 1e-7 for up to ± 0.1.
#[inline]
pub(crate) fn exponential(x: f64) -> f64 {
    1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)))
}

#[cfg(test)]
mod tests {
    use super::{Random, exponential};

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let mut random = Random::new(7);
        let values: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.01, "{mean} {variance}");
        assert!(values.iter().any(|value| *value > 3.0) && values.iter().any(|value| *value < -3.0));
    }

    #[test]
    fn exponentials_of_small_numbers_are_right_to_seven_digits() {
        for x in [-0.1, -0.03, 0.0, 0.01, 0.1f64] {
            assert!((exponential(x) / x.exp() - 1.0).abs() < 2e-7, "{x}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_numbers_everywhere() {
        let mut random = Random::new(1);
        let first = (random.uniform(), random.normal());
        assert_eq!(first, (0.566_561_575_172_280_9, 2.227_386_474_609_375));
    }
}
