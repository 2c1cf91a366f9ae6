//! The last of many stretches that had begun at a moment, found without a look at all of them.

/// Begins of stretches, in whichever order those have.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastBegun {
    /// The least begin from each place on, which never becomes less.
    least: Vec<u64>,
}

impl LastBegun {
    pub(crate) fn new(begins: impl Iterator<Item = u64>) -> Self {
        let mut least: Vec<u64> = begins.collect();
        for place in (1..least.len()).rev() {
            least[place - 1] = least[place - 1].min(least[place]);
        }
        Self { least }
    }

    /// The last place whose stretch began at a moment or before.
    pub(crate) fn at(&self, moment: u64) -> Option<usize> {
        self.least.partition_point(|&begin| begin <= moment).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::LastBegun;

    proptest! {
        #[test]
        fn the_last_that_began_is_what_a_look_at_each_says(
            begins in proptest::collection::vec(0_u64..50, 0..40),
            moment in 0_u64..60,
        ) {
            let found = begins.iter().rposition(|&begin| begin <= moment);
            prop_assert_eq!(LastBegun::new(begins.into_iter()).at(moment), found);
        }
    }
}
