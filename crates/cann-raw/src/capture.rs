//! Notes on the operators of captured graphs.
//!
//! A program may record (*capture*) what it launches on a stream as a graph and execute (*replay*) that
//! later, again and again, without launching each operator. Profiled while it replays, the runtime then
//! notes what each task of the graph is, as the program told it while capturing. A note of at most
//! [`CapturedOpRecord`]'s size is padded to that and lies in `unaging.additional.capture_op_info.slice_N`;
//! a longer one lies as it is, its tensors behind its [`CapturedOp`], in
//! `unaging.variable.capture_op_info.slice_0`, however long that file becomes.
//!
//! The streams that a graph was captured on are noted in
//! [`CaptureStreamInfo`](crate::host::CaptureStreamInfo).

use crate::additional::Tensor;
use crate::host::Head;
use crate::record::record;

/// How many tensors a [`CapturedOpRecord`] holds.
pub const TENSORS_PER_CAPTURED_OP: usize = 3;

record! {
    /// The fixed part of a note on an operator of a captured graph. The head's length counts the bytes
    /// behind the head, those of the tensors among them.
    CapturedOp, 88 {
        /// The common head.
        0 head: Head,
        /// The graph, by the runtime's number.
        24 model: u32,
        /// The device.
        28 device: u32,
        /// The stream of the graph, which executes it.
        32 stream: u32,
        /// The task's number on that stream.
        36 task: u32,
        /// The unit that executes it, as in [`NodeBasicInfo`](crate::host::NodeBasicInfo).
        40 task_type: u32,
        /// The number of blocks; high half: slave blocks per block of mixed operators.
        44 blocks: u32,
        /// The operator's name, hashed.
        48 name: u64,
        /// The operator's type, hashed.
        56 op_type: u64,
        /// The operator's attributes, hashed; 0 if there are none.
        64 attributes: u64,
        /// Not zero if the operator may compute in HF32.
        80 flags: u32,
        /// How many tensors follow.
        84 count: u32,
    }
}

record! {
    /// A note on an operator of a captured graph with few tensors (`additional.capture_op_info`).
    CapturedOpRecord, 256 {
        /// The fixed part.
        0 op: CapturedOp,
        /// The tensors, of which the first [`CapturedOp::count`] are used.
        88 tensors: [Tensor; 3],
    }
}
