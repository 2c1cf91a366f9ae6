//! Readings of the monitors beside cores: cycles of units, and traffic with the memory.

use crate::columns::columns;

columns! {
    /// Cycles of units between two readings of a core's monitor, by core and time.
    MonitorTable,
    /// How long each unit of a core worked between two readings.
    Monitored {
        /// The group of cores.
        group: u16,
        /// The core of the group, by its place in [`INSTRUCTION_CORES`](crate::tables::INSTRUCTION_CORES).
        core: u8,
        /// When the monitor was read; device ticks.
        time: u64,
        /// Cycles since the reading before, by the place of the unit in [`MONITORED_UNITS`].
        cycles: [u16; 6],
    }
}

/// The units that monitors watch: vector, scalar and cube unit, and those that move data.
pub const MONITORED_UNITS: [&str; 6] = ["Vector", "Scalar", "Cube", "Mte1", "Mte2", "Mte3"];

columns! {
    /// Traffic between groups of cores and the memory, by group and time.
    MonitoredTrafficTable,
    /// The traffic of a group of cores since the reading before.
    MonitoredTraffic {
        /// The group of cores.
        group: u16,
        /// When the monitor was read; device ticks.
        time: u64,
        /// Commands that read, and that write.
        commands: [u16; 2],
        /// Latencies of reading and of writing.
        latencies: [u32; 2],
        /// The flux of reading and of writing.
        flux: [u32; 2],
        /// The same of the level-2 cache.
        cache_flux: [u32; 2],
        /// Hits of the level-2 cache.
        cache_hits: u16,
    }
}

/// The readings of a device's monitors.
#[derive(Clone, Debug, Default)]
pub struct MonitorTables {
    /// Cycles of units.
    pub cycles: MonitorTable,
    /// Traffic with the memory.
    pub traffic: MonitoredTrafficTable,
}

impl MonitorTables {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cycles.is_empty() && self.traffic.is_empty()
    }
}
