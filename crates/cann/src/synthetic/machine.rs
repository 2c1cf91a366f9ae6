//! The machine of which synthetic profiles are.

use opscope_cann_raw::Chip;

/// Cycles per microsecond of the AI cores.
pub(super) fn core_megahertz(chip: Chip) -> u64 {
    match chip {
        Chip::V1_1_0 => 680,
        Chip::V2_1_0 => 800,
        Chip::V3_3_0 => 1_150,
        Chip::V1_1_1 | Chip::V1_1_2 | Chip::V1_1_3 => 1_250,
        Chip::V3_1_0 | Chip::V3_2_0 => 960,
        Chip::V6_1_0 | Chip::V6_2_0 => 1_650,
        Chip::V4_1_0 | Chip::V5_1_0 => 1_800,
    }
}

/// How many AI cores a chip has.
pub(super) fn cores(chip: Chip) -> u32 {
    match chip {
        Chip::V1_1_0 => 2,
        Chip::V2_1_0 => 32,
        Chip::V3_3_0 => 8,
        _ => 20,
    }
}
