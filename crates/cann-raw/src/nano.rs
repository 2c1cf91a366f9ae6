//! Records of chip 9 alone: its log of tasks, and the compiler's file that describes them.
//!
//! The log lies in `device_N/data` as `nano_stars_profile.data.N.slice_M`. For each model the host's
//! `host/data` has a record (`unaging.additional.model_exeom.slice_N`) and a file `<model>.dbg` of
//! the compiler: a [`DebugHead`], then [`DebugBlock`]s. A block with [`block::TASKS`] holds a number
//! of 32 bits and so many [`DebugTask`]s; each is followed by blocks of its own, and those with
//! tensors hold a number of 32 bits and so many [`DebugInput`]s or [`DebugOutput`]s, each of which
//! is followed by blocks too.

use crate::host::Head;
use crate::record::record;

/// The magic number of a [`DebugHead`].
pub const DEBUG_MAGIC: u32 = 0x5A5A_5A5A;

/// The kinds of [`DebugBlock`]s.
pub mod block {
    /// In a file: the model's tasks.
    pub const TASKS: u32 = 1;
    /// In a task: the operator's name.
    pub const NAME: u32 = 0;
    /// In a task: the operator's type.
    pub const OP_TYPE: u32 = 1;
    /// In a task: the name of the operator that it is a part of.
    pub const ORIGINAL_NAME: u32 = 2;
    /// In a task: the number of a part of an operator; if it is there, the original name counts.
    pub const PART: u32 = 3;
    /// In a task: the inputs.
    pub const INPUTS: u32 = 4;
    /// In a task: the outputs.
    pub const OUTPUTS: u32 = 5;
    /// In a tensor: the dimensions, 64 bits each.
    pub const SHAPE: u32 = 0;
}

record! {
    /// A task with its counters (`nano_stars_profile.data`).
    NanoTask, 64 {
        /// Bits 1 to 3: the unit, as in [`crate::host::NodeBasicInfo`].
        0 word: u8,
        /// The model, see [`ModelExeom`].
        1 model: u8,
        /// The task's number in its model.
        6 task: u16,
        /// Bits 0 to 31 of its start; device clock.
        8 start_low: u32,
        /// How long it took; device clock.
        12 duration: u32,
        /// Bits 0 to 31 of the core's cycles.
        16 cycles_low: u32,
        /// Bits 32 to 47 of the start.
        20 start_middle: u16,
        /// Bits 48 to 55 of the start.
        22 start_high: u8,
        /// Bits 32 to 39 of the cycles.
        23 cycles_high: u8,
        /// The counters, in the order of the list of events in `sample.json`.
        24 counters: [u32; 10],
    }
}

impl NanoTask {
    /// When the task started; device clock.
    pub fn start(&self) -> u64 {
        u64::from(self.start_high) << 48 | u64::from(self.start_middle) << 32 | u64::from(self.start_low)
    }

    /// The core's cycles.
    pub fn cycles(&self) -> u64 {
        u64::from(self.cycles_high) << 32 | u64::from(self.cycles_low)
    }
}

record! {
    /// A model that was loaded (`additional.model_exeom`).
    ModelExeom, 256 {
        /// The common head.
        0 head: Head,
        /// The number by which the device names the model.
        24 model: u64,
        /// Its name, hashed; `<name>.dbg` describes its tasks.
        32 name: u64,
    }
}

record! {
    /// The begin of a `.dbg` file.
    DebugHead, 8 {
        /// The version.
        0 version: u32,
        /// [`DEBUG_MAGIC`].
        4 magic: u32,
    }
}

record! {
    /// The begin of a part of a `.dbg` file.
    DebugBlock, 8 {
        /// The kind of its content, see [`block`].
        0 kind: u32,
        /// How many bytes follow.
        4 length: u32,
    }
}

record! {
    /// A task in a `.dbg` file.
    DebugTask, 25 {
        /// The task's number in its model.
        0 task: u32,
        /// The stream.
        4 stream: u32,
        /// The unit that executes it, as in [`crate::host::NodeBasicInfo`].
        12 task_type: u32,
        /// The number of blocks into which it is divided.
        16 blocks: u32,
        /// How many bytes of blocks follow.
        21 length: u32,
    }
}

record! {
    /// An input of a task in a `.dbg` file.
    DebugInput, 40 {
        /// The element type.
        0 data_type: u32,
        /// The memory layout.
        4 format: u32,
        /// How many bytes of blocks follow.
        36 length: u32,
    }
}

record! {
    /// An output of a task in a `.dbg` file.
    DebugOutput, 52 {
        /// The element type.
        0 data_type: u32,
        /// The memory layout.
        4 format: u32,
        /// How many bytes of blocks follow.
        48 length: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn wide_numbers_of_a_task_are_put_together_from_their_parts() {
        let mut bytes = [0; 64];
        bytes[8..12].copy_from_slice(&[4, 3, 2, 1]);
        bytes[16..20].copy_from_slice(&[9, 0, 0, 0]);
        bytes[20..24].copy_from_slice(&[6, 5, 7, 2]);
        let task = NanoTask::read(&bytes).expect("a whole record");
        assert_eq!(task.start(), 0x0007_0506_0102_0304);
        assert_eq!(task.cycles(), 0x02_0000_0009);
    }
}
