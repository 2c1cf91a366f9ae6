//! Quantities that were sampled over time.

use std::collections::BTreeMap;

use crate::columns::columns;
use crate::tables::functions::FunctionTables;
use crate::tables::{COUNTERS, LinkTables, SystemTables};

columns! {
    /// Device memory in use, in the order of the file.
    NpuMemoryTable,
    /// Device memory in use.
    NpuMemory {
        /// When; microseconds since the device's start.
        time: u64,
        /// 0 by the program, 1 on the whole device.
        scope: u32,
        /// Bytes of DDR.
        ddr: u64,
        /// Bytes of HBM.
        hbm: u64,
    }
}

columns! {
    /// Device memory that modules of CANN reserved, in the order of the file.
    NpuModuleMemoryTable,
    /// Device memory that a module of CANN reserved.
    NpuModuleMemory {
        /// When; device ticks.
        time: u64,
        /// The module.
        module: u32,
        /// Bytes.
        total: u64,
    }
}

columns! {
    /// Traffic of memories and caches, in the order of the file.
    TrafficTable,
    /// Traffic of one memory or cache since the sample before.
    Traffic {
        /// When: microseconds since the device's start, or nanoseconds since 1970 in version 2.0 files.
        time: u64,
        /// Transfers, or the value of a cache's event.
        count: u64,
        /// 0 read, else write; for caches the event.
        event: u32,
        /// The number of the memory, controller or cache.
        id: u32,
    }
}

/// An event of the last-level cache of a 310.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheEvent {
    /// Reads of lines that may be kept.
    ReadAllocate,
    /// Reads of lines that aren't kept.
    ReadNoAllocate,
    /// Reads of lines that were there.
    ReadHit,
    /// Writes of lines that may be kept.
    WriteAllocate,
    /// Writes of lines that aren't kept.
    WriteNoAllocate,
    /// Writes of lines that were there.
    WriteHit,
    /// Lines that a processor of the device holds; its number.
    Held(u8),
}

columns! {
    /// Events of the last-level cache of a 310, in the order of the file.
    CacheEventTable,
    /// How often an event of the last-level cache of a 310 happened since the sample before.
    CacheEventCount {
        /// When; nanoseconds since the device's start.
        time: u64,
        /// The event.
        event: CacheEvent,
        /// How often.
        count: u64,
    }
}

columns! {
    /// Changes of a frequency or voltage, in the order of the file.
    FrequencyTable,
    /// A change of a frequency or voltage.
    FrequencyChange {
        /// When; device ticks.
        time: u64,
        /// The frequency in MHz, or the voltage in mV.
        value: u32,
    }
}

columns! {
    /// Traffic over PCIe, in the order of the file.
    PcieTable,
    /// Smallest, largest and average of each kind of traffic over PCIe.
    PcieSample {
        /// When; nanoseconds since the device's start.
        time: u64,
        /// The device.
        device: u32,
        /// Sent: posted, non-posted, completion, latency; received: posted, non-posted, completion.
        values: [[u32; 3]; 7],
    }
}

columns! {
    /// Network traffic of a device, in the order of the file.
    NetworkTable,
    /// Network traffic of one port of a device.
    NetworkSample {
        /// When; nanoseconds of the device's clock.
        time: u64,
        /// The port.
        port: u32,
        /// The port's capacity in Mbit/s.
        bandwidth: u64,
        /// Received traffic.
        received: PortCounts,
        /// Sent traffic.
        sent: PortCounts,
    }
}

columns! {
    /// Traffic of the unified bus, in the order of the file.
    UnifiedBusTable,
    /// Traffic of one port of the unified bus.
    UnifiedBusSample {
        /// When; microseconds since the device's start.
        time: u64,
        /// The port.
        port: u16,
        /// MB/s.
        received: u64,
        /// MB/s.
        sent: u64,
    }
}

columns! {
    /// Use of the engines for pictures and videos, in the order of the file.
    MediaTable,
    /// Use of one engine for pictures and videos since its start.
    MediaSample {
        /// The unit (0 on chips with one), the kind of engine, the engine.
        engine: [u32; 3],
        /// Microseconds.
        time: f64,
        /// Frames.
        frames: f64,
    }
}

/// How many numbers a [`NetworkDeviceSample`] has.
pub const NETWORK_DEVICE_COUNTS: usize = 15;

columns! {
    /// The traffic of a device's network device, in the order of the file.
    NetworkDeviceTable,
    /// The traffic of a device's network device since its start.
    NetworkDeviceSample {
        /// When; monotonic nanoseconds of the host.
        time: u64,
        /// Of the MAC: packets of flow control sent and received, bytes sent and received, faulty bytes sent
        /// and received; of RoCE: packets sent and received, faulty ones sent and received, notes of
        /// congestion sent and received, packets sent again; of the network card: bytes sent and received.
        counts: [u64; NETWORK_DEVICE_COUNTS],
    }
}

/// Traffic of a port in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PortCounts {
    /// Packets per second.
    pub packet_rate: f64,
    /// Bytes per second.
    pub byte_rate: f64,
    /// Packets since the port's start.
    pub packets: f64,
    /// Bytes since the port's start.
    pub bytes: f64,
    /// Faulty packets.
    pub errors: f64,
    /// Dropped packets.
    pub dropped: f64,
}

columns! {
    /// Traffic between processors over HCCS, in the order of the file.
    HccsTable,
    /// Bytes that went over HCCS since the start.
    HccsSample {
        /// When; nanoseconds of the device's clock.
        time: u64,
        /// Bytes sent.
        sent: u64,
        /// Bytes received.
        received: u64,
    }
}

columns! {
    /// Counters of cores that were sampled over time, in the order of the files.
    CoreSampleTable,
    /// Counters of one core.
    CoreSample {
        /// When: nanoseconds of the device's clock; on chips 15 and 16, device ticks.
        time: u64,
        /// The core.
        core: u8,
        /// Cycles since the sample before.
        cycles: u64,
        /// Counts since then, in the order of the list of events in `sample.json`.
        counters: [u64; COUNTERS],
    }
}

/// The sampled quantities of one device.
#[derive(Debug, Default)]
pub struct SampleTables {
    /// Memory in use.
    pub npu_memory: NpuMemoryTable,
    /// Memory reserved by modules.
    pub npu_module_memory: NpuModuleMemoryTable,
    /// Traffic of the HBM.
    pub hbm: TrafficTable,
    /// Whether the times of `hbm` are nanoseconds since 1970 instead of microseconds.
    pub absolute: bool,
    /// Use of the last-level cache.
    pub llc: TrafficTable,
    /// The same of a 310, which tells it otherwise.
    pub cache_events: CacheEventTable,
    /// Traffic of the DDR memory.
    pub ddr: TrafficTable,
    /// The AI cores' frequency.
    pub frequency: FrequencyTable,
    /// Traffic over PCIe.
    pub pcie: PcieTable,
    /// Network traffic through the network card.
    pub nic: NetworkTable,
    /// Network traffic through RDMA.
    pub roce: NetworkTable,
    /// Traffic between processors.
    pub hccs: HccsTable,
    /// Changes of the AI cores' voltage; the values are millivolts.
    pub core_voltage: FrequencyTable,
    /// Changes of the bus's voltage; the values are millivolts.
    pub bus_voltage: FrequencyTable,
    /// Counters of the AI cores over time.
    pub cores: CoreSampleTable,
    /// Counters of the vector cores over time.
    pub vector_cores: CoreSampleTable,
    /// Links, levels of bandwidth and quality of service.
    pub links: LinkTables,
    /// Use of the device's own processors and memory.
    pub system: SystemTables,
    /// The functions that the device's own processors ran.
    pub functions: FunctionTables,
    /// Use of the engines for pictures and videos.
    pub media: MediaTable,
    /// The last use of each of them, as the file has it.
    pub media_use: BTreeMap<[u32; 3], String>,
    /// Traffic of the unified bus.
    pub unified_bus: UnifiedBusTable,
    /// The traffic of the network device.
    pub network_device: NetworkDeviceTable,
}

columns! {
    /// Use of the host's processors.
    HostCpuTable,
    /// Use of one of the host's processors.
    HostCpuSample {
        /// Begin of the interval; monotonic nanoseconds.
        start: u64,
        /// End of the interval; monotonic nanoseconds.
        end: u64,
        /// The processor; `None` for the average over all.
        cpu: Option<u32>,
        /// Percent.
        usage: f64,
    }
}

columns! {
    /// Use of the host's memory.
    HostMemoryTable,
    /// Use of the host's memory by the program.
    HostMemorySample {
        /// Begin of the interval; monotonic nanoseconds.
        start: u64,
        /// End of the interval; monotonic nanoseconds.
        end: u64,
        /// Percent.
        usage: f64,
    }
}

columns! {
    /// Use of the host's disks.
    HostDiskTable,
    /// Use of the host's disks by the program.
    HostDiskSample {
        /// Begin of the interval; monotonic nanoseconds.
        start: u64,
        /// End of the interval; monotonic nanoseconds.
        end: u64,
        /// kB/s read.
        read: f64,
        /// kB/s written.
        write: f64,
        /// Percent of the time spent swapping in.
        swap_in: f64,
        /// Percent of the time spent waiting for the disk.
        usage: f64,
    }
}

columns! {
    /// Use of the host's network.
    HostNetworkTable,
    /// Use of the host's network, all interfaces together.
    HostNetworkSample {
        /// Begin of the interval; monotonic nanoseconds.
        start: u64,
        /// End of the interval; monotonic nanoseconds.
        end: u64,
        /// kB/s.
        speed: f64,
        /// Percent of the interfaces' speed.
        usage: f64,
    }
}

/// The sampled quantities of the host.
#[derive(Debug, Default)]
pub struct HostSampleTables {
    /// Use of the processors.
    pub cpu: HostCpuTable,
    /// Use of the memory.
    pub memory: HostMemoryTable,
    /// Use of the disks.
    pub disk: HostDiskTable,
    /// Use of the network.
    pub network: HostNetworkTable,
}
