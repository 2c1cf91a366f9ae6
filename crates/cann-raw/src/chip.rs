//! The processors, as profiles number them.

/// A family of Ascend processors; the number is `platform_version` of a profile's `info.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chip {
    /// 0: Ascend 310.
    V1_1_0,
    /// 1: Ascend 910 (A).
    V2_1_0,
    /// 2: Ascend 610.
    V3_1_0,
    /// 3: a successor for cameras.
    V3_2_0,
    /// 4: Ascend 310P.
    V3_3_0,
    /// 5: Ascend 910B and 910C.
    V4_1_0,
    /// 7: Ascend 310B.
    V1_1_1,
    /// 8: a small variant of the 310B.
    V1_1_2,
    /// 9: a tiny processor without task scheduler of its own.
    V5_1_0,
    /// 11: a variant of the 310B for vehicles.
    V1_1_3,
    /// 15: Ascend 950.
    V6_1_0,
    /// 16: Ascend 950, second variant.
    V6_2_0,
}

/// How a chip records the start and end of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceLog {
    /// Timeline records of variable size in `ts_track.data`.
    TaskScheduler,
    /// 64-byte records of the hardware task scheduler in `hwts.data`.
    Hwts,
    /// 64-byte records in `stars_soc.data`.
    Stars,
    /// 32-byte records in `stars_soc.data`.
    CompactStars,
    /// Records in `nano_stars_profile.data`, which hold the counters too.
    NanoStars,
}

impl Chip {
    /// All chips.
    pub const ALL: [Self; 12] = [
        Self::V1_1_0,
        Self::V2_1_0,
        Self::V3_1_0,
        Self::V3_2_0,
        Self::V3_3_0,
        Self::V4_1_0,
        Self::V1_1_1,
        Self::V1_1_2,
        Self::V5_1_0,
        Self::V1_1_3,
        Self::V6_1_0,
        Self::V6_2_0,
    ];

    /// The chip of a given `platform_version`.
    pub fn from_platform_version(version: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|chip| chip.platform_version() == version)
    }

    /// The number by which profiles name the chip.
    pub fn platform_version(self) -> u32 {
        match self {
            Self::V1_1_0 => 0,
            Self::V2_1_0 => 1,
            Self::V3_1_0 => 2,
            Self::V3_2_0 => 3,
            Self::V3_3_0 => 4,
            Self::V4_1_0 => 5,
            Self::V1_1_1 => 7,
            Self::V1_1_2 => 8,
            Self::V5_1_0 => 9,
            Self::V1_1_3 => 11,
            Self::V6_1_0 => 15,
            Self::V6_2_0 => 16,
        }
    }

    /// The product's name.
    pub fn product(self) -> &'static str {
        match self {
            Self::V1_1_0 => "Ascend 310",
            Self::V2_1_0 => "Ascend 910",
            Self::V3_1_0 => "Ascend 610",
            Self::V3_2_0 => "Ascend V3.2",
            Self::V3_3_0 => "Ascend 310P",
            Self::V4_1_0 => "Ascend 910B",
            Self::V1_1_1 => "Ascend 310B",
            Self::V1_1_2 => "Ascend V1.1.2",
            Self::V5_1_0 => "Ascend V5.1",
            Self::V1_1_3 => "Ascend V1.1.3",
            Self::V6_1_0 => "Ascend 950",
            Self::V6_2_0 => "Ascend 950 (V6.2)",
        }
    }

    /// How the chip records the start and end of its tasks.
    pub fn device_log(self) -> DeviceLog {
        match self {
            Self::V1_1_0 => DeviceLog::TaskScheduler,
            Self::V2_1_0 | Self::V3_1_0 | Self::V3_2_0 | Self::V3_3_0 => DeviceLog::Hwts,
            Self::V4_1_0 | Self::V1_1_1 | Self::V1_1_2 | Self::V1_1_3 => DeviceLog::Stars,
            Self::V5_1_0 => DeviceLog::NanoStars,
            Self::V6_1_0 | Self::V6_2_0 => DeviceLog::CompactStars,
        }
    }

    /// Whether the cube core and the vector cores are counted apart.
    pub fn splits_cores(self) -> bool {
        matches!(self, Self::V4_1_0 | Self::V6_1_0 | Self::V6_2_0)
    }

    /// Whether the hardware's STARS scheduler hands out the tasks, which may have sub-tasks then.
    pub fn has_stars(self) -> bool {
        matches!(self.device_log(), DeviceLog::Stars | DeviceLog::CompactStars)
    }

    /// Whether the chip is one of the 310B's family, whose cores count under other event numbers.
    pub fn is_310b_family(self) -> bool {
        matches!(self, Self::V1_1_1 | Self::V1_1_2 | Self::V1_1_3)
    }

    /// Whether the device names a task by its model instead of its stream, and files of the compiler
    /// say what it is.
    pub fn names_tasks_by_model(self) -> bool {
        self.device_log() == DeviceLog::NanoStars
    }

    /// Whether task ids have 32 bits instead of 16 bits and a batch number.
    pub fn has_wide_task_ids(self) -> bool {
        matches!(self, Self::V6_1_0 | Self::V6_2_0)
    }

    /// Whether the vendor's tool exports a whole run at once; it exports one iteration otherwise.
    pub fn exports_whole_run(self) -> bool {
        !matches!(self, Self::V1_1_0 | Self::V3_1_0 | Self::V1_1_3)
    }
}

#[cfg(test)]
mod tests {
    use super::Chip;

    #[test]
    fn every_chip_is_found_by_its_number_and_unknown_numbers_are_none() {
        for chip in Chip::ALL {
            assert_eq!(Chip::from_platform_version(chip.platform_version()), Some(chip));
        }
        assert_eq!(Chip::from_platform_version(6), None);
    }
}
