//! Counters of caches and the address translation for each task.

use crate::record::record;

record! {
    /// Counters of the level-2 cache for a task (`l2_cache.data`).
    CacheCounters, 72 {
        /// The kind of task.
        0 task_type: u16,
        /// The stream.
        2 stream: u16,
        /// The task.
        4 task: u16,
        /// A counter for each event, in the order in which they were asked for.
        8 counters: [u64; 8],
    }
}

/// The units whose events `socpmu.data` counts.
pub mod unit {
    /// The level-2 cache.
    pub const CACHE: u16 = 1;
    /// The translation of addresses.
    pub const TRANSLATION: u16 = 2;
}

record! {
    /// Counters of a unit of the chip for a task (`socpmu.data`).
    SocCounters, 80 {
        /// The kind of task.
        8 task_type: u16,
        /// The stream.
        10 stream: u16,
        /// The task.
        12 task: u16,
        /// The unit, see [`unit`].
        14 unit: u16,
        /// A counter for each event, in the order in which they were asked for.
        16 counters: [u64; 8],
    }
}

record! {
    /// Counters of a unit of the chip for a task (`socpmu.data`), on chips with wide task ids.
    WideSocCounters, 80 {
        /// The unit, see [`unit`].
        6 unit: u16,
        /// The kind of task.
        8 task_type: u16,
        /// The stream.
        10 stream: u16,
        /// The task.
        12 task: u32,
        /// A counter for each event, in the order in which they were asked for.
        16 counters: [u64; 8],
    }
}
