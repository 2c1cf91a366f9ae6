//! The scheduler's samples of links, levels of bandwidth and quality of service.

use crate::columns::columns;

columns! {
    /// Levels of the accelerators' bandwidth, in the order of the files.
    AcceleratorTable,
    /// Levels of an accelerator's bandwidth.
    AcceleratorSample {
        /// When; device ticks.
        time: u64,
        /// The accelerator.
        accelerator: u16,
        /// Bandwidth of reads.
        read_bandwidth: u64,
        /// Bandwidth of writes.
        write_bandwidth: u64,
        /// Outstanding reads.
        outstanding_reads: u64,
        /// Outstanding writes.
        outstanding_writes: u64,
    }
}

columns! {
    /// Levels of bandwidth within the chip, in the order of the files.
    BandwidthTable,
    /// Levels of bandwidth within the chip.
    BandwidthSample {
        /// When; device ticks.
        time: u64,
        /// Of the buffer of the level-2 cache.
        buffer: u8,
        /// Of the memory's access table.
        access_table: u8,
    }
}

columns! {
    /// Traffic between dies, in the order of the files.
    DieTable,
    /// Bytes that went between dies since the sample before.
    DieSample {
        /// When; device ticks.
        time: u64,
        /// The die.
        die: u16,
        /// Received requests, responses, snoops and data, then what was sent.
        bytes: [u32; 8],
    }
}

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkKind {
    /// A link between processors.
    Pa,
    /// PCIe, by link.
    Pcie,
    /// PCIe, by die.
    DiePcie,
}

columns! {
    /// Traffic over links of the chip, in the order of the files.
    ChipLinkTable,
    /// Traffic over one link of the chip.
    ChipLinkSample {
        /// When; device ticks.
        time: u64,
        /// The kind of link.
        kind: LinkKind,
        /// The link's number, or the die's.
        id: u16,
        /// Received, or written over PCIe.
        received: u64,
        /// Sent, or read over PCIe.
        sent: u64,
    }
}

columns! {
    /// Bandwidth by quality of service, in the order of the files.
    QualityTable,
    /// Bandwidth by quality of service.
    QualitySample {
        /// When; device ticks.
        time: u64,
        /// The die, where the chip tells.
        die: Option<u16>,
        /// MB/s of each event in `sample.json`.
        bandwidths: [u32; 10],
    }
}

columns! {
    /// Frequencies of dies, in the order of the files.
    PowerTable,
    /// The frequency of a die's AI cores.
    PowerSample {
        /// When; device ticks.
        time: u64,
        /// The die.
        die: u16,
        /// MHz.
        megahertz: u16,
    }
}

/// The samples of one device's scheduler.
#[derive(Clone, Debug, Default)]
pub struct LinkTables {
    /// Levels of the accelerators' bandwidth.
    pub accelerators: AcceleratorTable,
    /// Levels of bandwidth within the chip.
    pub bandwidths: BandwidthTable,
    /// Traffic between dies.
    pub dies: DieTable,
    /// Traffic over links.
    pub links: ChipLinkTable,
    /// Bandwidth by quality of service.
    pub qualities: QualityTable,
    /// Frequencies of dies.
    pub power: PowerTable,
}

impl LinkTables {
    /// Moves all of `next` behind what is here.
    pub fn append(&mut self, next: &mut Self) {
        self.accelerators.append(&mut next.accelerators);
        self.bandwidths.append(&mut next.bandwidths);
        self.dies.append(&mut next.dies);
        self.links.append(&mut next.links);
        self.qualities.append(&mut next.qualities);
        self.power.append(&mut next.power);
    }
}
