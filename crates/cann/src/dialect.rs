//! The implementations of the reference, whose results differ in rounding, factors and columns.

use opscope_cann_raw::Chip;

/// Which implementation of the reference an export follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The accelerated library, for whole runs of chips whose cores are counted apart.
    Accelerated,
    /// The Python code, for the other chips.
    Plain,
    /// The queries that the Python code uses for chip 0.
    Oldest,
}

impl Dialect {
    /// The implementation that exports a chip's profiles.
    pub fn of(chip: Chip) -> Self {
        match chip {
            Chip::V1_1_0 => Self::Oldest,
            Chip::V4_1_0 | Chip::V6_1_0 | Chip::V6_2_0 => Self::Accelerated,
            _ => Self::Plain,
        }
    }

    /// The implementation that works out what the cores counted, where this one exports it: what the
    /// library exports of chips 15 and 16 and of custom events comes from the Python code.
    pub fn of_counters(self, chip: Chip, is_custom: bool) -> Self {
        match self {
            Self::Accelerated if is_custom || chip.has_wide_task_ids() => Self::Plain,
            other => other,
        }
    }

    /// The implementation that exports chosen iterations of a chip's profiles. The accelerated
    /// library exports whole runs only.
    pub fn of_iterations(chip: Chip) -> Self {
        match Self::of(chip) {
            Self::Accelerated => Self::Plain,
            other => other,
        }
    }
}
