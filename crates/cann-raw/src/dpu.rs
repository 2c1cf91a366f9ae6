//! Records of data processing units (DPU), which serve communication beside the processors.
//!
//! They lie in `host/data` and have the host's clock; the time in their head is the end.
//!
//! | file | record |
//! |---|---|
//! | `compact.dpu_track` | [`DpuTrack`] |
//! | `additional.dpu_hccl_info` | [`DpuHcclInfo`] |
//! | `compact.task_track` | the kernels' names, in records whose device is of the kind [`DEVICE_KIND`] |

use crate::host::Head;
use crate::record::record;

/// The bits of a device's number that tell the device.
pub const DEVICE_BITS: u16 = 0x0FFF;

/// The kind of device in the bits above, of a data processing unit.
pub const DEVICE_KIND: u16 = 1;

record! {
    /// A task of a data processing unit.
    DpuTrack, 64 {
        /// The common head.
        0 head: Head,
        /// Low 12 bits: the device; high 4 bits: [`DEVICE_KIND`].
        24 device: u16,
        /// The stream.
        26 stream: u16,
        /// The task.
        28 task: u32,
        /// The kind of task: an id of level 5000 in the type dictionary.
        32 task_type: u32,
        /// When it began.
        40 start: u64,
    }
}

record! {
    /// A step of a collective operation on a data processing unit.
    DpuHcclInfo, 256 {
        /// The common head.
        0 head: Head,
        /// The step's name, hashed.
        24 item: u64,
        /// The operation's tag, hashed.
        32 tag: u64,
        /// The group's name, hashed.
        40 group: u64,
        /// This process's rank.
        48 local_rank: u32,
        /// The other side's rank; all ones for none.
        52 remote_rank: u32,
        /// How many ranks there are.
        56 rank_size: u32,
        /// The stage of the algorithm.
        60 stage: u32,
        /// The notification waited for; all ones for none.
        64 notify: u64,
        /// When it began.
        72 start: u64,
        /// An estimate of the duration in microseconds.
        80 estimate: f64,
        /// Where the bytes come from.
        88 source: u64,
        /// Where they go to.
        96 destination: u64,
        /// Bytes.
        104 size: u64,
        /// The task.
        112 task: u32,
        /// The task of the processor's AI CPU that asked for it.
        116 ai_cpu_task: u32,
        /// The stream.
        120 stream: u16,
        /// The plane.
        122 plane: u16,
        /// The processor.
        124 processor: u16,
        /// As [`DpuTrack::device`].
        126 device: u16,
        /// How data are reduced.
        128 reduction: u8,
        /// The element type.
        129 data_type: u8,
        /// The kind of link.
        130 link: u8,
        /// How data move.
        131 transport: u8,
        /// The kind of remote access.
        132 rdma: u8,
        /// 0 receives, 1 sends.
        133 role: u8,
        /// How the operation is executed.
        134 mode: u8,
    }
}
