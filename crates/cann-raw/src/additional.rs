//! Records of 256 bytes that the host-side libraries report: details of nodes, models and marks.
//!
//! They lie in `host/data` as `{aging|unaging}.additional.<name>.slice_N`; all begin with the same
//! [`Head`].

use crate::host::Head;
use crate::record::record;

/// How many tensors one [`TensorInfo`] holds; an operator with more has several records.
pub const TENSORS_PER_RECORD: usize = 5;

/// How many context ids one [`ContextIdInfo`] holds.
pub const CONTEXTS_PER_RECORD: usize = 55;

/// How many operator names one [`FusionOpInfo`] holds.
pub const FUSED_PER_RECORD: usize = 8;

/// The longest text that one [`Tx`] holds.
pub const TX_MESSAGE_BYTES: usize = 156;

record! {
    /// An input or output of an operator, part of [`TensorInfo`].
    Tensor, 44 {
        /// 0 input, 1 output.
        0 direction: u32,
        /// Low 8 bits: the memory layout; bits 8 to 23: its sub-layout.
        4 format: u32,
        /// The element type.
        8 data_type: u32,
        /// The dimensions; unused ones are 0.
        12 shape: [u32; 8],
    }
}

record! {
    /// Inputs and outputs of an operator (`additional.tensor_info`).
    TensorInfo, 256 {
        /// The common head.
        0 head: Head,
        /// The operator's name, hashed.
        24 name: u64,
        /// How many of `tensors` are used.
        32 count: u32,
        /// The tensors.
        36 tensors: [Tensor; 5],
    }
}

record! {
    /// The contexts, that is sub-tasks, of an operator (`additional.context_id_info`).
    ContextIdInfo, 256 {
        /// The common head.
        0 head: Head,
        /// The operator's name, hashed.
        24 name: u64,
        /// How many of `contexts` are used.
        32 count: u32,
        /// The contexts.
        36 contexts: [u32; 55],
    }
}

record! {
    /// Which operators were fused into one (`additional.fusion_op_info`).
    FusionOpInfo, 256 {
        /// The common head.
        0 head: Head,
        /// The fused operator's name, hashed.
        24 name: u64,
        /// How many of `originals` are used.
        32 count: u32,
        /// Bytes of the inputs.
        36 input_bytes: u64,
        /// Bytes of the outputs.
        44 output_bytes: u64,
        /// Bytes of the weights.
        52 weight_bytes: u64,
        /// Bytes of the workspace.
        60 workspace_bytes: u64,
        /// Bytes in total.
        68 total_bytes: u64,
        /// Names of the original operators, hashed.
        76 originals: [u64; 8],
    }
}

record! {
    /// The name of a model (`additional.graph_id_map`).
    GraphIdMap, 256 {
        /// The common head.
        0 head: Head,
        /// The model's name, hashed.
        24 name: u64,
        /// The graph's number.
        32 graph: u32,
        /// The model's number.
        36 model: u32,
    }
}

record! {
    /// The threads that launch steps of collective operations for the thread that reports
    /// (`additional.Multi_Thread`); more of them than one record holds have several.
    MultiThread, 256 {
        /// The common head.
        0 head: Head,
        /// How many of `threads` are used.
        24 count: u32,
        /// The threads.
        28 threads: [u32; 25],
    }
}

record! {
    /// An allocation or release of device memory (`additional.task_memory_info`).
    TaskMemoryInfo, 256 {
        /// The common head.
        0 head: Head,
        /// The address.
        24 address: u64,
        /// Bytes; negative for a release.
        32 size: i64,
        /// The node that asked, hashed.
        40 node: u64,
        /// Bytes allocated in total.
        48 total_allocated: u64,
        /// Bytes reserved in total.
        56 total_reserved: u64,
        /// The device.
        64 device: u32,
        /// The kind of device.
        68 device_type: u32,
    }
}

record! {
    /// Memory that a static graph plans for an operator (`additional.static_op_mem`).
    StaticOpMem, 256 {
        /// The common head.
        0 head: Head,
        /// Bytes.
        24 size: i64,
        /// The operator's name, hashed.
        32 name: u64,
        /// Number of the operator at which the memory is taken.
        40 life_start: u64,
        /// Number of the operator after which it is free.
        48 life_end: u64,
        /// Bytes taken in total.
        56 total_allocated: u64,
        /// The dynamic operator that it belongs to, hashed.
        64 dynamic_name: u64,
        /// The graph.
        72 graph: u32,
    }
}

record! {
    /// Which streams stand for a logical one (`additional.logic_stream_info`).
    LogicStreamInfo, 256 {
        /// The common head.
        0 head: Head,
        /// The logical stream.
        24 logical: u32,
        /// How many of `physical` are used.
        28 count: u32,
        /// The streams.
        32 physical: [u32; 56],
    }
}

record! {
    /// A step of a collective operation (`additional.hccl_info`).
    HcclInfo, 256 {
        /// The common head.
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
    }
}

record! {
    /// A range or mark that a program set (`additional.msproftx`).
    Tx, 256 {
        /// The common head.
        0 head: Head,
        /// 0 for the classic interface, 1 for mstx.
        24 info_type: u16,
        /// With mstx, the place of this segment in a long message.
        26 segment: u16,
        /// The inner magic number.
        32 magic: u16,
        /// The inner tag.
        34 tag: u16,
        /// The process.
        36 process: u32,
        /// The thread.
        40 thread: u32,
        /// The category.
        44 category: u32,
        /// 0 mark, 1 push and pop, 2 start and end, 3 mark with a device side.
        48 event_type: u32,
        /// The payload's type.
        52 payload_type: i32,
        /// The payload.
        56 payload: u64,
        /// Begin; host clock.
        64 start: u64,
        /// End; host clock.
        72 end: u64,
        /// With mstx, the number of the mark.
        80 mark: u64,
        /// With mstx, the domain's name, hashed.
        88 domain: u64,
        /// The message's type.
        96 message_type: i32,
        /// The message, up to its first zero.
        100 message: [u8; 156],
    }
}
