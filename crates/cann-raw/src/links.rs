//! Records of links, levels of bandwidth and quality of service.
//!
//! The STARS scheduler samples them between tasks: they lie in `device_N/data` as
//! `stars_soc_profile.data.N.slice_M`, and on chips whose log of tasks has records of the same size among
//! those of `stars_soc.data`, too. All but [`Quality`] begin with a word whose low six bits are the
//! [`function`].

use crate::record::record;

/// The kinds of records, the low six bits of a record's word.
pub mod function {
    /// [`DieQuality`](super::DieQuality).
    pub const QUALITY: u16 = 24;
    /// [`DieTraffic`](super::DieTraffic), on chips 15 and 16 [`WideDieTraffic`](super::WideDieTraffic).
    pub const DIES: u16 = 25;
    /// [`AcceleratorLevels`](super::AcceleratorLevels).
    pub const ACCELERATOR: u16 = 26;
    /// [`ChipLink`](super::ChipLink), on chips 15 and 16 [`DiePcie`](super::DiePcie).
    pub const CHIP_LINK: u16 = 27;
    /// [`BandwidthLevels`](super::BandwidthLevels).
    pub const BANDWIDTH: u16 = 28;
    /// [`DiePower`](super::DiePower), on chips 15 and 16.
    pub const POWER: u16 = 29;
}

/// The links of a [`ChipLink`], the upper six bits of its word.
pub mod link {
    /// A link between processors.
    pub const PA: u16 = 63;
    /// PCIe.
    pub const PCIE: u16 = 34;
}

/// How many values of quality of service one record holds.
pub const QUALITIES: usize = 10;

record! {
    /// How much an accelerator uses its bandwidth, in levels.
    AcceleratorLevels, 64 {
        /// Bits 0 to 5: the [`function`].
        0 word: u16,
        /// The magic number.
        2 magic: u16,
        /// When; device clock.
        8 time: u64,
        /// The accelerator.
        18 accelerator: u16,
        /// Level of the bandwidth of writes.
        32 write_bandwidth: u64,
        /// Level of the bandwidth of reads.
        40 read_bandwidth: u64,
        /// Level of outstanding writes.
        48 outstanding_writes: u64,
        /// Level of outstanding reads.
        56 outstanding_reads: u64,
    }
}

record! {
    /// Levels of bandwidth within the chip.
    BandwidthLevels, 64 {
        /// Bits 0 to 5: the [`function`].
        0 word: u16,
        /// The magic number.
        2 magic: u16,
        /// When; device clock.
        8 time: u64,
        /// Bits 0 to 2: of the memory's access table (MATA); 3 to 10: of the buffer of the level-2 cache.
        32 levels: u16,
    }
}

record! {
    /// Bytes between dies since the sample before (SIO).
    DieTraffic, 64 {
        /// Bits 0 to 5: the [`function`].
        0 word: u16,
        /// The magic number.
        2 magic: u16,
        /// When; device clock.
        8 time: u64,
        /// The die.
        18 die: u16,
        /// Received: requests, responses, snoops, data.
        32 received: [u32; 4],
        /// Sent: the same.
        48 sent: [u32; 4],
    }
}

record! {
    /// The same on chips 15 and 16.
    WideDieTraffic, 64 {
        /// Bits 0 to 5: the [`function`].
        0 word: u8,
        /// Bits 2 to 7: the die.
        1 die: u8,
        /// The magic number.
        2 magic: u16,
        /// When; device clock.
        8 time: u64,
        /// Received: requests, responses, snoops, data.
        28 received: [u32; 4],
        /// Sent: the same.
        48 sent: [u32; 4],
    }
}

record! {
    /// Traffic over a link of the chip.
    ChipLink, 64 {
        /// Bits 0 to 5: the [`function`]; 10 to 15: the kind of [`link`].
        0 word: u16,
        /// The magic number.
        2 magic: u16,
        /// When; device clock.
        8 time: u64,
        /// Low 6 bits: the link's number.
        18 id: u16,
        /// Received; of PCIe written.
        32 received: u64,
        /// Sent; of PCIe read.
        40 sent: u64,
    }
}

record! {
    /// Bandwidth of a die's PCIe, on chips 15 and 16; all ones stand for none.
    DiePcie, 64 {
        /// Bits 0 to 5: the [`function`]; 10 to 15: the die.
        0 word: u16,
        /// The magic number.
        2 magic: u16,
        /// When; device clock.
        8 time: u64,
        /// Written.
        16 written: u64,
        /// Read.
        24 read: u64,
    }
}

record! {
    /// Bandwidth by quality of service, on chips 15 and 16.
    DieQuality, 64 {
        /// Bits 0 to 5: the [`function`]; 10 to 15: the die.
        0 word: u16,
        /// The magic number.
        2 magic: u16,
        /// When; device clock.
        8 time: u64,
        /// MB/s; events from the third on.
        24 bandwidths: [u32; 10],
    }
}

record! {
    /// Power, temperature and frequency of a die, on chips 15 and 16.
    DiePower, 64 {
        /// Bits 0 to 5: the [`function`]; 10 to 15: the die.
        0 word: u16,
        /// The magic number.
        2 magic: u16,
        /// When; device clock.
        8 time: u64,
        /// Readings of the die, pairs of which are exchanged: the value of number n is at n + 1 where n is even,
        /// else at n - 1. [`MEGAHERTZ`](Self::MEGAHERTZ) is the place of the AI cores' frequency.
        24 readings: [u16; 20],
    }
}

impl DiePower {
    /// The place of the frequency in MHz that software set for the AI cores, value number 10, on the dies 0 and 1.
    pub const MEGAHERTZ: usize = 11;
}

record! {
    /// Bandwidth by quality of service (`qos.data`), of up to ten events.
    Quality, 64 {
        /// When; device clock.
        16 time: u64,
        /// MB/s of each event.
        24 bandwidths: [u32; 10],
    }
}
