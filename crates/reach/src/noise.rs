//! How far a figure may be off by chance.

/// How often steps are drawn.
const DRAWS: usize = 1000;

/// The ends of the interval in which 95 of 100 means of as many steps lie, by drawing steps again and again
/// (bootstrap); `None` of fewer than three. The draws are the same for the same figures.
pub fn interval(of_steps: &[f64]) -> Option<(f64, f64)> {
    if of_steps.len() < 3 {
        return None;
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = || {
        // Knuth's linear congruential generator of 64 bits; its high bits are what is good about it.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        of_steps[(state >> 33) as usize % of_steps.len()]
    };
    let mean = |draw: &mut dyn FnMut() -> f64| {
        (0..of_steps.len()).map(|_| draw()).sum::<f64>() / of_steps.len() as f64
    };
    let mut means: Vec<f64> = (0..DRAWS).map(|_| mean(&mut draw)).collect();
    means.sort_unstable_by(f64::total_cmp);
    Some((means[DRAWS / 40], means[DRAWS - 1 - DRAWS / 40]))
}

/// Whether the figure of a step stands out by itself, where `least` is what stands out in a mean step.
pub fn is_plain(of_step: f64, least: f64) -> bool {
    /// How many times as much.
    const MORE: f64 = 5.0;
    of_step > MORE * least
}

/// Whether the figures that stand out by themselves are nearly all that there is in all steps.
pub fn is_of_a_few(of_steps: &[f64], least: f64) -> bool {
    const NEARLY_ALL: f64 = 0.8;
    let plain: f64 = of_steps.iter().filter(|it| is_plain(**it, least)).sum();
    plain > NEARLY_ALL * of_steps.iter().map(|it| it.abs()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::{interval, is_of_a_few};

    #[test]
    fn an_interval_holds_the_mean_and_narrows_with_steps() {
        let (low, high) = interval(&[9.0, 10.0, 11.0]).unwrap();
        assert!(low < 10.0 && high > 10.0 && low >= 9.0 && high <= 11.0, "{low} {high}");
        let many: Vec<f64> = (0..300).map(|it| 9.0 + f64::from(it % 3)).collect();
        let (low, high) = interval(&many).unwrap();
        assert!(high - low < 0.3, "{low} {high}");
        assert_eq!(interval(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_few_steps_that_stand_out_are_told_from_many_that_differ() {
        assert!(is_of_a_few(&[0.02, 0.0, 0.06, 0.0, -0.1, 46.6], 1.0));
        assert!(!is_of_a_few(&[4.0, -4.0, 3.0, -3.0, 6.0, 0.0], 1.0), "noise of all steps");
        assert!(!is_of_a_few(&[0.0, 4.0, 0.0], 1.0) && !is_of_a_few(&[0.0; 4], 1.0));
    }
}
