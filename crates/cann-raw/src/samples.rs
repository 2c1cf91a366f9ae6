//! Records of quantities that a device samples over time.
//!
//! They lie in `device_N/data` as `<name>.data.N.slice_M`.

use crate::record::record;

/// How many entries one [`Frequencies`] record has room for.
pub const FREQUENCIES_PER_RECORD: usize = 55;

record! {
    /// Memory that is in use (`npu_mem.data`).
    NpuMemory, 32 {
        /// Collection version 1.0: microseconds since the device's start.
        0 micros: u32,
        /// 0 the program, 1 the whole device.
        4 scope: u32,
        /// Collection version 2.0: microseconds since the device's start.
        8 wide_micros: u64,
        /// Bytes of DDR.
        16 ddr: u64,
        /// Bytes of HBM.
        24 hbm: u64,
    }
}

record! {
    /// Memory that a module of CANN reserved (`npu_module_mem.data`).
    NpuModuleMemory, 24 {
        /// The module.
        0 module: u32,
        /// When; device clock.
        8 time: u64,
        /// Bytes.
        16 total: u64,
    }
}

record! {
    /// Traffic of one HBM (`hbm.data`).
    Hbm, 24 {
        /// Microseconds since the device's start.
        0 time: u64,
        /// Transfers since the sample before.
        8 count: u64,
        /// 0 read, else write.
        16 event: u32,
        /// The HBM.
        20 id: u32,
    }
}

record! {
    /// Traffic of one HBM, collection version 2.0 (`hbm.data`).
    HbmV2, 32 {
        /// 0 read, else write.
        8 event: u32,
        /// The HBM.
        12 id: u32,
        /// Transfers since the sample before.
        16 count: u64,
        /// When, in nanoseconds since 1970.
        24 time: u64,
    }
}

record! {
    /// Traffic or use of the last-level cache (`llc.data`).
    Llc, 24 {
        /// Microseconds since the device's start.
        0 time: u64,
        /// The count.
        8 count: u64,
        /// The event.
        16 event: u32,
        /// The part of the cache.
        20 id: u32,
    }
}

record! {
    /// Traffic or use of the last-level cache, collection version 2.0 (`llc.data`).
    LlcV2, 24 {
        /// The count.
        4 count: u32,
        /// The event.
        8 event: u32,
        /// The part of the cache.
        12 id: u32,
        /// When, in nanoseconds since 1970.
        16 time: u64,
    }
}

record! {
    /// Traffic of the DDR memory (`ddr.data`).
    Ddr, 20 {
        /// Microseconds since the device's start.
        0 time: u32,
        /// Transfers.
        4 count: u32,
        /// 0 read, else write.
        8 direction: u32,
        /// The memory controller.
        12 controller: u32,
        /// The master; `u32::MAX` for none.
        16 master: u32,
    }
}

record! {
    /// A change of a frequency or voltage, part of [`Frequencies`] and [`PowerInfo`].
    Frequency, 16 {
        /// When; device clock.
        0 time: u64,
        /// Megahertz, or millivolts.
        8 value: u32,
    }
}

record! {
    /// Changes of the AI cores' frequency (`lpmFreqConv.data`).
    Frequencies, 888 {
        /// How many of `changes` are used.
        0 count: u32,
        /// The changes.
        8 changes: [Frequency; 55],
    }
}

/// The quantities of which a [`PowerInfo`] holds changes.
pub mod power {
    /// The AI cores' frequency, in MHz.
    pub const FREQUENCY: u32 = 0;
    /// The AI cores' voltage, in mV.
    pub const CORE_VOLTAGE: u32 = 1;
    /// The bus's voltage, in mV.
    pub const BUS_VOLTAGE: u32 = 2;
}

record! {
    /// Changes of a frequency or voltage (`lpmInfoConv.data`).
    PowerInfo, 888 {
        /// How many of `changes` are used.
        0 count: u32,
        /// Their quantity, see [`power`].
        4 kind: u32,
        /// The changes; for voltages in millivolts.
        8 changes: [Frequency; 55],
    }
}

record! {
    /// Traffic over PCIe (`pcie.data`): smallest, largest and average bandwidth of six kinds.
    Pcie, 96 {
        /// When, in nanoseconds of the device's clock.
        0 time: u64,
        /// The device.
        8 device: u32,
        /// Posted writes, sent: minimum, maximum, average.
        12 tx_posted: [u32; 3],
        /// Reads, sent.
        24 tx_non_posted: [u32; 3],
        /// Completions, sent.
        36 tx_completion: [u32; 3],
        /// Latency of reads, in nanoseconds.
        48 tx_latency: [u32; 3],
        /// Posted writes, received.
        60 rx_posted: [u32; 3],
        /// Reads, received.
        72 rx_non_posted: [u32; 3],
        /// Completions, received.
        84 rx_completion: [u32; 3],
    }
}

record! {
    /// Traffic of one port of the unified bus (`ub.data`), on chips 15 and 16.
    UnifiedBus, 128 {
        /// The port.
        4 port: u16,
        /// Microseconds since the device's start.
        8 time: u64,
        /// Received, in MB/s.
        16 received: u64,
        /// Sent, in MB/s.
        24 sent: u64,
    }
}

/// The number with which each sample of the task scheduler's processor begins.
pub const SCHEDULER_MAGIC: u32 = 0xABAB_ABAB;

record! {
    /// A sample of the task scheduler's processor (`tscpu.data`).
    SchedulerSample, 304 {
        /// [`SCHEDULER_MAGIC`].
        0 magic: u32,
        /// Addresses of frames and to return to, in turn; 0 where there is none.
        8 stack: [u64; 20],
        /// The address that was executed.
        176 address: u64,
        /// When; device clock.
        184 time: u64,
        /// Events, each with how often it happened.
        192 counts: [[u64; 2]; 7],
    }
}

record! {
    /// A sample of the task scheduler's processor with addresses of 32 bits (`tscpu.data`, 610 and siblings).
    ShortSchedulerSample, 184 {
        /// [`SCHEDULER_MAGIC`].
        0 magic: u32,
        /// As in [`SchedulerSample`].
        8 stack: [u32; 20],
        /// The address that was executed.
        92 address: u32,
        /// When; device clock.
        96 time: u64,
        /// Events, each with how often it happened.
        104 counts: [[u64; 2]; 5],
    }
}
