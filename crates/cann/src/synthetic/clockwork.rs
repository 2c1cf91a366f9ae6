//! The clocks and the chance of sample profiles.

use opscope_cann_raw::Chip;

use crate::synthetic::machine::core_megahertz;

/// The wall-clock begin of the collection, in nanoseconds since 1970.
pub(super) const BEGIN: u64 = 1_760_000_000_000_000_000;

/// The host's monotonic clock at the begin, in nanoseconds.
pub(super) const HOST_MONOTONIC: u64 = 1_000_000_000_000;

/// The host's counter at the begin; it has 100 MHz.
pub(super) const HOST_COUNTER: u64 = 100_000_000_000;

/// The device's counter at the begin.
pub(super) const DEVICE_COUNTER: u64 = 77_000_000_000;

/// The device's own monotonic clock at the begin, in nanoseconds.
pub(super) const DEVICE_MONOTONIC: u64 = 1_540_000_000_000;

/// Turns nanoseconds since the begin into ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clockwork {
    /// Hz of the device's counter.
    pub(super) device_hertz: u64,
    /// MHz of the AI cores.
    pub(super) core_megahertz: u32,
}

impl Clockwork {
    pub(super) fn new(chip: Chip) -> Self {
        let device_hertz = match chip {
            Chip::V1_1_0 => 19_200_000,
            Chip::V2_1_0 => 100_000_000,
            Chip::V3_1_0 | Chip::V3_2_0 | Chip::V3_3_0 => 38_400_000,
            Chip::V1_1_1 | Chip::V1_1_2 | Chip::V1_1_3 | Chip::V5_1_0 => 48_000_000,
            Chip::V6_1_0 | Chip::V6_2_0 => 1_000_000_000,
            Chip::V4_1_0 => 50_000_000,
        };
        Self { device_hertz, core_megahertz: core_megahertz(chip) as u32 }
    }

    /// Ticks of the host's counter.
    pub(super) fn host(self, nanoseconds: u64) -> u64 {
        HOST_COUNTER + nanoseconds / 10
    }

    /// Ticks of the device's counter.
    pub(super) fn device(self, nanoseconds: u64) -> u64 {
        let ticks = u128::from(nanoseconds) * u128::from(self.device_hertz) / 1_000_000_000;
        DEVICE_COUNTER + ticks as u64
    }
}

/// Numbers that look random and are the same for the same seed (SplitMix64). Their sequence must stay as it
/// is, so they come from no library: tests compare with the tables that the vendor's parser made of profiles
/// with these numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`, or 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}
