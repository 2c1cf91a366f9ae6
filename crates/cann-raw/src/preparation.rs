//! Preparation of data on the device's general processors.

use crate::record::record;

record! {
    /// A step of the preparation of data (`aicpu.data`, type 1).
    AiCpuPreparation, 256 {
        /// The common head, with level 6000; its time is in nanoseconds.
        0 head: crate::host::Head,
        /// The action as text, with zeros behind it.
        24 action: [u8; 16],
        /// From where, with zeros behind it.
        40 source: [u8; 64],
        /// The number of the step.
        104 index: u64,
        /// The items left in the buffer.
        112 size: u64,
    }
}

record! {
    /// A step of the preparation of data, older form (`DATA_PREPROCESS.DP`).
    OldPreparation, 128 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// The tag, 100.
        2 tag: u16,
        /// When; nanoseconds.
        8 time: u64,
        /// The action as text, with zeros behind it.
        16 action: [u8; 16],
        /// From where, with zeros behind it.
        32 source: [u8; 64],
        /// The number of the step.
        96 index: u64,
        /// The items left in the buffer.
        104 size: u64,
    }
}
