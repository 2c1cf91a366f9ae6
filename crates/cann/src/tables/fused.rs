//! Parts of fused tasks, and instructions of cores over time, on chips 15 and 16.

use crate::columns::columns;

columns! {
    /// Parts of fused tasks, by begin.
    FusedPartTable,
    /// A part of a task that joins the work of several units.
    FusedPart {
        /// The task.
        task: u32,
        /// The number of the kind of task.
        kind: u16,
        /// A bit for each kind of part.
        parts: u8,
        /// The mission of the unit for collective communication.
        mission: u8,
        /// The accelerator.
        accelerator: u16,
        /// When it began; device ticks.
        start: u64,
        /// When it ended; device ticks.
        end: u64,
    }
}

columns! {
    /// Busy stretches and checkpoints of cores, by core.
    InstructionTable,
    /// A stretch in which a unit of a core was busy, or a checkpoint.
    Instruction {
        /// The group of cores.
        group: u16,
        /// The core of the group, by its place in [`INSTRUCTION_CORES`].
        core: u8,
        /// The block of the operator; 65535 where it isn't known.
        block: u16,
        /// The unit, by its place in [`INSTRUCTION_UNITS`].
        unit: u8,
        /// When it began; nanoseconds of the monotonic clock.
        start: i64,
        /// When it ended; of a checkpoint the same.
        end: i64,
        /// The number of a checkpoint.
        checkpoint: Option<u16>,
    }
}

/// The cores of a group, as files name them.
pub const INSTRUCTION_CORES: [&str; 3] = ["aic", "aiv0", "aiv1"];

/// The units of a core: scalar, vector, cube, and those that move data.
pub const INSTRUCTION_UNITS: [&str; 7] = ["SU", "VEC", "CUBE", "MTE1", "MTE2", "MTE3", "FIXP"];
