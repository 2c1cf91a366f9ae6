//! Records that the host-side libraries report in 40 and 64 bytes: calls, events and short notes.
//!
//! They lie in `host/data` as `{aging|unaging}.api_event.data.slice_N` and
//! `{aging|unaging}.compact.<name>.slice_N`.

use crate::record::record;

/// The magic number of host-side records.
pub const MAGIC: u16 = 0x5A5A;

/// The value of [`ApiEvent::end`] that makes the record an event, that is half of an interval.
pub const EVENT_END: u64 = u64::MAX;

/// The numbers of the layers of software that report.
pub mod level {
    /// PyTorch.
    pub const PYTORCH: u16 = 30_000;
    /// PyTorch's adapter to CANN.
    pub const PTA: u16 = 25_000;
    /// Ranges and marks that a program sets.
    pub const MSPROFTX: u16 = 20_500;
    /// AscendCL, the interface for applications.
    pub const ACL: u16 = 20_000;
    /// Loading and executing whole models.
    pub const MODEL: u16 = 15_000;
    /// Launching a node.
    pub const NODE: u16 = 10_000;
    /// The device's general processors.
    pub const AICPU: u16 = 6_000;
    /// Collective communication.
    pub const COMMUNICATION: u16 = 5_500;
    /// The runtime.
    pub const RUNTIME: u16 = 5_000;
}

record! {
    /// A call, or one end of an interval (`api_event.data`).
    ApiEvent, 40 {
        /// [`MAGIC`].
        0 magic: u16,
        /// The layer of software, see [`level`].
        2 level: u16,
        /// The function called: an id that the type dictionary names.
        4 kind: u32,
        /// The calling thread.
        8 thread: u32,
        /// For events, the number of the request or inference.
        12 request: u32,
        /// Begin of the call, or time of the event; host clock.
        16 begin: u64,
        /// End of the call, or [`EVENT_END`].
        24 end: u64,
        /// The call's object: a hash of a name, or for events of models the model's id.
        32 item: u64,
    }
}

record! {
    /// The common beginning of compact and additional records.
    Head, 24 {
        /// [`MAGIC`].
        0 magic: u16,
        /// The layer of software, see [`level`].
        2 level: u16,
        /// The kind of record.
        4 kind: u32,
        /// The reporting thread.
        8 thread: u32,
        /// How many bytes of the payload are used.
        12 length: u32,
        /// When it was reported; host clock.
        16 time: u64,
    }
}

record! {
    /// A note on a node (`compact.node_basic_info`).
    NodeBasicInfo, 64 {
        /// The common head.
        0 head: Head,
        /// The operator's name, hashed.
        24 name: u64,
        /// The unit that executes it: 0 AI core, 1 AI CPU, 2 vector core, 4 and 5 both, ….
        32 task_type: u32,
        /// The operator's type, hashed.
        36 op_type: u64,
        /// Low half: the number of blocks; high half: slave blocks per block of mixed operators.
        44 blocks: u32,
        /// Not zero if the operator may compute in HF32.
        48 flags: u32,
    }
}

record! {
    /// A task handed to a device (`compact.task_track`).
    TaskTrack, 64 {
        /// The common head.
        0 head: Head,
        /// Low 12 bits: the device; high 4 bits: what kind of device (1 is a DPU).
        24 device: u16,
        /// The stream.
        26 stream: u16,
        /// The task's number, which wraps at 16 bits.
        28 task: u16,
        /// The number of the wrap; for flip records the number of the flip.
        30 batch: u16,
        /// The kind of task: an id of level 5000 in the type dictionary.
        32 task_type: u64,
        /// The kernel's name, hashed.
        40 kernel: u64,
        /// In records of [`TaskTrack::WHOLE`] bytes: blocks, bytes of arguments, and in the low three bits
        /// of the third the blocks of the other core for each block; of a `KERNEL_SIMT` three dimensions
        /// of the grid and three of its blocks.
        48 extent: [u16; 6],
    }
}

impl TaskTrack {
    /// The length in the head of records that tell how large the launch was.
    pub const WHOLE: u32 = 40;
}

record! {
    /// A note on the bytes of an asynchronous copy (`compact.memcpy_info`).
    MemcpyInfo, 64 {
        /// The common head.
        0 head: Head,
        /// How many bytes in all.
        24 bytes: u64,
        /// How many bytes one task copies at most; several tasks of one launch share the note.
        32 most: u64,
        /// 0 host to host, 1 host to device, 2 device to host, 3 device to device, 4 managed, ….
        40 direction: u16,
    }
}

record! {
    /// An attribute of a node (`compact.node_attr_info`).
    NodeAttrInfo, 64 {
        /// The common head.
        0 head: Head,
        /// The operator's name, hashed.
        24 name: u64,
        /// The kind of attribute.
        32 attribute: u32,
        /// The attribute's text, hashed.
        36 value: u64,
    }
}

record! {
    /// A collective operation (`compact.hccl_op_info`).
    HcclOpInfo, 64 {
        /// The common head.
        0 head: Head,
        /// Bit 0: relayed; bit 1: retried.
        24 flags: u8,
        /// The element type.
        25 data_type: u8,
        /// The algorithm's name, hashed.
        26 algorithm: u64,
        /// How many elements.
        34 count: u64,
        /// The group's name, hashed.
        42 group: u64,
    }
}

record! {
    /// A stream that was captured into a graph, or a captured graph that is gone
    /// (`compact.capture_stream_info`). The head's time is when the capture began, or when the graph was
    /// destroyed.
    CaptureStreamInfo, 64 {
        /// The common head.
        0 head: Head,
        /// [`CaptureStreamInfo::CAPTURED`] or [`CaptureStreamInfo::DESTROYED`].
        24 status: u16,
        /// The stream of the graph, which executes what was captured; 65535 for a graph that is gone.
        26 model_stream: u16,
        /// The stream that was captured; 65535 for a graph that is gone.
        28 original_stream: u16,
        /// The graph, by the runtime's number.
        30 model: u16,
        /// The device.
        32 device: u16,
    }
}

impl CaptureStreamInfo {
    /// The status of a stream that was captured.
    pub const CAPTURED: u16 = 0;

    /// The status of a graph that is gone.
    pub const DESTROYED: u16 = 1;
}

record! {
    /// Whether stream and task ids are of the expanded form (`compact.expand_stream_spec`).
    ExpandStreamSpec, 64 {
        /// The common head.
        0 head: Head,
        /// 1 if they are.
        24 expanded: u8,
    }
}
