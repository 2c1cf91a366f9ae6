//! Blocks of tasks, each on a core, on chips 15 and 16.

use crate::columns::columns;
use crate::tables::Core;

columns! {
    /// Blocks of tasks, in the order of the file.
    BlockTable,
    /// When a core executed a block of a task.
    Block {
        /// The task.
        task: u32,
        /// The kind of core.
        kind: Core,
        /// The core's number.
        core: u8,
        /// The block.
        block: u16,
        /// When it began; device ticks.
        start: u64,
        /// When it ended; device ticks.
        end: u64,
    }
}
