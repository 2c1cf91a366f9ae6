//! Collective operations whose steps the device's own processors launch: the records of the AI CPU
//! (`aicpu.data`), and the host's record of the streams that it uses.

use crate::host::Head;
use crate::record::record;

/// The kinds of records in `aicpu.data`, all with level 6000.
pub mod kind {
    /// An operator.
    pub const NODE: u32 = 0;
    /// A step of the preparation of data.
    pub const PREPARATION: u32 = 1;
    /// A round of the server for fused operators, [`CommunicationTurn`](super::CommunicationTurn).
    pub const COMMUNICATION_TURN: u32 = 4;
    /// A round of computing, [`ComputeTurn`](super::ComputeTurn).
    pub const COMPUTE_TURN: u32 = 5;
    /// A step, [`SingleDeviceStep`](super::SingleDeviceStep).
    pub const STEP: u32 = 6;
    /// An operation, [`DeviceOperation`](super::DeviceOperation).
    pub const OPERATION: u32 = 10;
    /// A wrap of task numbers, [`LaunchFlip`](super::LaunchFlip).
    pub const FLIP: u32 = 11;
    /// An operation's first or last task, [`MainStreamTask`](super::MainStreamTask).
    pub const MAIN_STREAM_TASK: u32 = 12;
    /// Two steps, [`DeviceSteps`](super::DeviceSteps).
    pub const STEPS: u32 = 13;
}

/// How many streams one [`CommunicationStreams`] holds.
pub const STREAMS_PER_RECORD: usize = 8;

record! {
    /// The streams of a group of ranks on a device (`additional.mc2_comm_info`, by the host).
    CommunicationStreams, 256 {
        /// The common head.
        0 head: Head,
        /// The group's name, hashed.
        24 group: u64,
        /// How many ranks there are in the group.
        32 rank_size: u32,
        /// The device's rank in the group.
        36 rank: u32,
        /// The device's rank among all.
        40 global_rank: u32,
        /// The stream on which the AI CPU launches for fused operators.
        44 launch_stream: u32,
        /// How many of `streams` are used.
        48 count: u32,
        /// The streams that carry the steps.
        52 streams: [u32; 8],
    }
}

record! {
    /// A round of the server that communicates for a fused operator (`aicpu.data`, type 4). Its times
    /// are on the device's clock: begin, waiting for a message, choosing the algorithm, sending tasks,
    /// all sent, all executed, end.
    CommunicationTurn, 256 {
        /// The common head, with level 6000.
        0 head: Head,
        /// The seven times.
        24 times: [u64; 7],
        /// Bytes of the round.
        80 bytes: u64,
        /// A number that is the rank, not the device.
        88 device: u32,
        /// The stream.
        92 stream: u16,
        /// The task.
        94 task: u16,
        /// The layout's version.
        96 version: u8,
        /// How many rounds there are.
        97 turns: u8,
        /// The round.
        98 turn: u8,
    }
}

record! {
    /// A round of computing within a fused operator (`aicpu.data`, type 5). Its times are on the
    /// device's clock: waiting, begin, end.
    ComputeTurn, 256 {
        /// The common head, with level 6000.
        0 head: Head,
        /// The three times.
        24 times: [u64; 3],
        /// Bytes of the round.
        48 bytes: u64,
        /// A number that is the rank, not the device.
        56 device: u32,
        /// The stream.
        60 stream: u16,
        /// The task.
        62 task: u16,
        /// The layout's version.
        64 version: u8,
        /// How many rounds there are.
        65 turns: u8,
        /// The round.
        66 turn: u8,
    }
}

record! {
    /// A collective operation that the AI CPU unfolded (`aicpu.data`, type 10).
    DeviceOperation, 256 {
        /// The common head, with level 6000; its time is on the device's clock.
        0 head: Head,
        /// Bit 0: relayed; bit 1: repeated when it fails.
        24 flags: u8,
        /// The element type.
        25 data_type: u8,
        /// The algorithm's name, hashed.
        26 algorithm: u64,
        /// How many elements.
        34 count: u64,
        /// The group's name, hashed.
        42 group: u64,
        /// How many ranks there are.
        50 rank_size: u32,
        /// The stream of the AI CPU's task.
        54 stream: u16,
        /// The AI CPU's task.
        56 task: u32,
    }
}

record! {
    /// The task numbers of a stream wrapped, as the AI CPU that launches on it counted
    /// (`aicpu.data`, type 11).
    LaunchFlip, 256 {
        /// The common head, with level 6000; its time is on the device's clock.
        0 head: Head,
        /// The stream.
        24 stream: u16,
        /// The task, which says nothing.
        26 task: u16,
        /// The number of the flip; 65535 means that the stream was destroyed.
        28 flip: u32,
    }
}

record! {
    /// The first or last task of an operation on its main stream (`aicpu.data`, type 12).
    MainStreamTask, 256 {
        /// The common head, with level 6000; its time is on the device's clock.
        0 head: Head,
        /// The stream of the AI CPU's task.
        24 launch_stream: u16,
        /// The AI CPU's task.
        26 launch_task: u16,
        /// The main stream.
        28 stream: u16,
        /// The task on it.
        30 task: u16,
        /// 0 first, 1 last.
        32 place: u16,
    }
}

record! {
    /// A step that the AI CPU launched, part of [`DeviceSteps`].
    DeviceStep, 116 {
        /// The step's name, hashed.
        0 item: u64,
        /// The tag, hashed.
        8 tag: u64,
        /// The group's name, hashed; 0 where there is no step.
        16 group: u64,
        /// This process's rank.
        24 local_rank: u32,
        /// The other side's rank.
        28 remote_rank: u32,
        /// How many ranks there are.
        32 rank_size: u32,
        /// The stage.
        36 stage: u32,
        /// The notification waited for.
        40 notify: u64,
        /// When it was launched; device clock.
        48 time: u64,
        /// An estimate of the duration.
        56 estimate: f64,
        /// Source address.
        64 source: u64,
        /// Destination address.
        72 destination: u64,
        /// Bytes.
        80 size: u64,
        /// The task.
        88 task: u32,
        /// The stream.
        96 stream: u16,
        /// The plane.
        98 plane: u16,
        /// The operation.
        100 operation: u8,
        /// The element type.
        101 data_type: u8,
        /// The kind of link.
        102 link: u8,
        /// The kind of transport.
        103 transport: u8,
        /// The kind of RDMA.
        104 rdma: u8,
        /// The role.
        105 role: u8,
        /// The kind of workflow.
        106 workflow: u8,
    }
}

record! {
    /// Two steps that the AI CPU launched (`aicpu.data`, type 13).
    DeviceSteps, 256 {
        /// The common head, with level 6000.
        0 head: Head,
        /// The steps.
        24 steps: [DeviceStep; 2],
    }
}

record! {
    /// A step that the AI CPU launched, older form (`aicpu.data`, type 6).
    SingleDeviceStep, 256 {
        /// The common head, with level 6000; its time is on the device's clock.
        0 head: Head,
        /// The step's name, hashed.
        24 item: u64,
        /// The tag, hashed.
        32 tag: u64,
        /// The group's name, hashed.
        40 group: u64,
        /// This process's rank.
        48 local_rank: u32,
        /// The other side's rank.
        52 remote_rank: u32,
        /// How many ranks there are.
        56 rank_size: u32,
        /// The kind of workflow.
        60 workflow: u32,
        /// The plane.
        64 plane: u32,
        /// The context.
        68 context: u32,
        /// The notification waited for.
        72 notify: u64,
        /// The stage.
        80 stage: u32,
        /// The role.
        84 role: u32,
        /// An estimate of the duration.
        88 estimate: f64,
        /// Source address.
        96 source: u64,
        /// Destination address.
        104 destination: u64,
        /// Bytes.
        112 size: u64,
        /// The operation.
        120 operation: u32,
        /// The element type.
        124 data_type: u32,
        /// The kind of link.
        128 link: u32,
        /// The kind of transport.
        132 transport: u32,
        /// The kind of RDMA.
        136 rdma: u32,
        /// The task.
        140 task: u32,
        /// The stream.
        144 stream: u16,
    }
}
