//! Work of the units for collective communication (CCU).

use opscope_cann_raw::ccu::ChannelDelays;

use crate::columns::columns;

columns! {
    /// Loops and waits of the units, in the order of the files.
    MissionTable,
    /// A loop of instructions, or a wait for other ranks; times are device ticks, 0 for none.
    Mission {
        /// The task.
        task: u32,
        /// The instruction that is repeated.
        loop_instruction: u16,
        /// When the loop began.
        loop_start: u64,
        /// When it ended.
        loop_end: u64,
        /// The instruction that waits.
        wait_instruction: u16,
        /// When the wait began.
        wait_start: u64,
        /// When each rank's notice came, in units of four ticks after that; the last rank first.
        arrivals: [u16; 16],
    }
}

columns! {
    /// Statistics of the units' channels, in the order of the files.
    ChannelTable,
    /// Delays of a channel.
    ChannelSample {
        /// The unit, 0 or 1.
        unit: u8,
        /// The channel.
        channel: u8,
        /// Its delays.
        delays: ChannelDelays,
    }
}

columns! {
    /// Notes on loops, in the order of the file.
    LoopNoteTable,
    /// The bytes that a loop moves, and how it reduces them.
    LoopNote {
        /// The task.
        task: u32,
        /// The instruction.
        instruction: u16,
        /// The die.
        die: u8,
        /// How data are reduced.
        reduction: u8,
        /// The element type of what comes in.
        input: u8,
        /// The element type of what goes out.
        output: u8,
        /// Bytes.
        size: u64,
    }
}

columns! {
    /// Notes on waits, in the order of the file.
    WaitNoteTable,
    /// The channels over which a wait's notices come.
    WaitNote {
        /// The task.
        task: u32,
        /// The instruction.
        instruction: u16,
        /// The die.
        die: u8,
        /// A bit for each notice.
        mask: u32,
        /// The channels; all ones for none.
        channels: [u16; 16],
    }
}

/// The work of the units of one device.
#[derive(Clone, Debug, Default)]
pub struct CcuTables {
    /// Loops and waits.
    pub missions: MissionTable,
    /// Delays of channels.
    pub channels: ChannelTable,
}

/// The host's notes on that work.
#[derive(Clone, Debug, Default)]
pub struct CcuNotes {
    /// On loops.
    pub loops: LoopNoteTable,
    /// On waits.
    pub waits: WaitNoteTable,
}
