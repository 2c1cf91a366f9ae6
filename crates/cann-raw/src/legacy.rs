//! Records of the tool chain of 2022 (CANN 5.x), which reported per component instead of per level.

use crate::record::record;

/// Tags of those records, the second word of each.
pub mod tag {
    /// [`super::AclCall`].
    pub const ACL: u16 = 0;
    /// [`super::TaskDescription`].
    pub const TASK_DESCRIPTION: u16 = 23;
    /// [`super::TensorData`].
    pub const TENSOR: u16 = 24;
    /// [`super::StepInfo`].
    pub const STEP: u16 = 25;
    /// [`super::IdMap`].
    pub const ID_MAP: u16 = 26;
    /// [`super::ModelLoad`].
    pub const MODEL_LOAD: u16 = 20;
    /// [`super::FusionOp`].
    pub const FUSION_OP: u16 = 21;
    /// [`super::ModelTime`].
    pub const MODEL_TIME: u16 = 22;
    /// [`super::RuntimeCall`].
    pub const RUNTIME_API: u16 = 40;
    /// [`super::RuntimeTrack`].
    pub const RUNTIME_TRACK: u16 = 41;
}

record! {
    /// A name of up to 56 bytes or a hash, part of other records.
    ShortName, 64 {
        /// 0: the text is a hash; 1: it is the name itself.
        0 kind: u8,
        /// The hash (first 8 bytes) or the name up to its first zero.
        8 text: [u8; 56],
    }
}

record! {
    /// A name of up to 120 bytes or a hash, part of other records.
    LongName, 128 {
        /// 0: the text is a hash; 1: it is the name itself.
        0 kind: u8,
        /// The hash (first 8 bytes) or the name up to its first zero.
        8 text: [u8; 120],
    }
}

record! {
    /// A call of AscendCL (`AclModule.acl_model` and its like).
    AclCall, 128 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::ACL`].
        2 tag: u16,
        /// 1 operators, 2 models, 3 runtime, 4 others.
        4 kind: u32,
        /// Begin; host clock.
        8 begin: u64,
        /// End; host clock.
        16 end: u64,
        /// The process.
        24 process: u32,
        /// The thread.
        28 thread: u32,
        /// The call's name up to its first zero.
        32 name: [u8; 64],
    }
}

record! {
    /// Which task executes an operator (`Framework.task_desc_info`).
    TaskDescription, 256 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::TASK_DESCRIPTION`].
        2 tag: u16,
        /// The unit that executes it.
        4 task_type: u32,
        /// The operator's name.
        8 name: LongName,
        /// The operator's type.
        136 op_type: ShortName,
        /// The iteration.
        200 iteration: u64,
        /// When it was reported; host clock.
        208 time: u64,
        /// 0 static, 1 dynamic shapes.
        216 shape_type: u32,
        /// The number of blocks.
        220 blocks: u32,
        /// The model.
        224 model: u32,
        /// The stream.
        228 stream: u32,
        /// The task.
        232 task: u32,
        /// The thread.
        236 thread: u32,
        /// The context.
        240 context: u32,
    }
}

record! {
    /// Inputs and outputs of an operator (`Framework.tensor_data_info`).
    TensorData, 256 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::TENSOR`].
        2 tag: u16,
        /// The model.
        4 model: u32,
        /// The iteration.
        8 iteration: u64,
        /// The stream.
        16 stream: u32,
        /// The task.
        20 task: u32,
        /// How many of `tensors` are used.
        24 count: u32,
        /// The tensors.
        28 tensors: [crate::additional::Tensor; 5],
    }
}

record! {
    /// Begin or end of an inference (`Framework.step_info`).
    StepInfo, 64 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::STEP`].
        2 tag: u16,
        /// The model.
        4 model: u32,
        /// The stream.
        8 stream: u32,
        /// The task.
        12 task: u32,
        /// When; host clock.
        16 time: u64,
        /// The iteration.
        24 iteration: u64,
        /// The thread.
        32 thread: u32,
        /// 0 begin, 1 end.
        36 edge: u8,
    }
}

record! {
    /// Which graph a model comes from (`Framework.id_map_info`).
    IdMap, 32 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::ID_MAP`].
        2 tag: u16,
        /// The graph.
        4 graph: u32,
        /// The model.
        8 model: u32,
        /// The session.
        12 session: u32,
        /// When; host clock.
        16 time: u64,
        /// The mode.
        24 mode: u16,
    }
}

record! {
    /// A model was loaded (`Framework.model_load_info_N`).
    ModelLoad, 256 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::MODEL_LOAD`].
        2 tag: u16,
        /// The model.
        4 model: u32,
        /// The model's name.
        8 name: LongName,
        /// Begin of loading; host clock.
        136 start: u64,
        /// End of loading; host clock.
        144 end: u64,
    }
}

record! {
    /// Which operators were fused into one (`Framework.fusion_op_info_N`).
    FusionOp, 256 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::FUSION_OP`].
        2 tag: u16,
        /// The model.
        4 model: u32,
        /// The fused operator's name.
        8 name: LongName,
        /// Bytes of the inputs.
        136 input_bytes: u64,
        /// Bytes of the outputs.
        144 output_bytes: u64,
        /// Bytes of the weights.
        152 weight_bytes: u64,
        /// Bytes of the workspace.
        160 workspace_bytes: u64,
        /// Bytes in total.
        168 total_bytes: u64,
        /// How many of `originals` are used.
        176 count: u32,
        /// Names of the original operators, hashed.
        180 originals: [u64; 8],
    }
}

record! {
    /// When an inference copied its inputs, computed and copied its outputs
    /// (`Framework.model_time_info_N_M`).
    ModelTime, 256 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::MODEL_TIME`].
        2 tag: u16,
        /// The model.
        4 model: u32,
        /// The model's name.
        8 name: LongName,
        /// The number of the inference.
        136 request: u32,
        /// The thread.
        140 thread: u32,
        /// Begin and end of copying the inputs; host clock.
        144 input: [u64; 2],
        /// Begin and end of computing; host clock.
        160 compute: [u64; 2],
        /// Begin and end of copying the outputs; host clock.
        176 output: [u64; 2],
    }
}

record! {
    /// A call of the runtime (`runtime.api`).
    RuntimeCall, 256 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::RUNTIME_API`].
        2 tag: u16,
        /// The thread.
        4 thread: u32,
        /// Begin; host clock.
        8 begin: u64,
        /// End; host clock.
        16 end: u64,
        /// How many bytes were moved.
        24 bytes: u64,
        /// The call's name up to its first zero.
        32 name: [u8; 64],
        /// The return value.
        96 result: u32,
        /// The stream.
        100 stream: u32,
        /// How many of `tasks` are used.
        104 count: u32,
        /// The tasks that it launched.
        108 tasks: [u32; 20],
    }
}

record! {
    /// A task handed to a device (`runtime.task_track`).
    RuntimeTrack, 64 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`tag::RUNTIME_TRACK`].
        2 tag: u16,
        /// The thread.
        4 thread: u32,
        /// When; host clock.
        8 time: u64,
        /// The kind of task up to its first zero.
        16 task_type: [u8; 32],
        /// The device.
        48 device: u16,
        /// The stream.
        50 stream: u16,
        /// The task.
        52 task: u16,
        /// The number of the wrap of task numbers.
        54 batch: u16,
    }
}

/// The number that stands for no context in [`TaskDescription::context`].
pub const NO_CONTEXT: u32 = u32::MAX;

/// A name as [`ShortName`] and [`LongName`] hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedName<'a> {
    /// The hash of the name.
    Hash(u64),
    /// The name itself.
    Text(&'a [u8]),
}

/// The bytes of a buffer up to its first zero.
pub fn until_zero(buffer: &[u8]) -> &[u8] {
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    &buffer[..end]
}

fn mixed(kind: u8, text: &[u8]) -> Option<MixedName<'_>> {
    match kind {
        0 => Some(MixedName::Hash(<u64 as crate::Field>::read(text))),
        1 => Some(MixedName::Text(until_zero(text))),
        _ => None,
    }
}

/// A buffer of `N` bytes that begins with `text`, as far as there is room.
pub fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut buffer = [0; N];
    let length = text.len().min(N);
    buffer[..length].copy_from_slice(&text.as_bytes()[..length]);
    buffer
}

impl ShortName {
    /// The name as text.
    pub fn from_text(text: &str) -> Self {
        Self { kind: 1, text: padded(text) }
    }

    /// The name; `None` if its kind is neither of the two.
    pub fn get(&self) -> Option<MixedName<'_>> {
        mixed(self.kind, &self.text)
    }
}

impl LongName {
    /// The name as text.
    pub fn from_text(text: &str) -> Self {
        Self { kind: 1, text: padded(text) }
    }

    /// The name by its hash.
    pub fn from_hash(hash: u64) -> Self {
        let mut text = [0; 120];
        text[..8].copy_from_slice(&hash.to_le_bytes());
        Self { kind: 0, text }
    }

    /// The name; `None` if its kind is neither of the two.
    pub fn get(&self) -> Option<MixedName<'_>> {
        mixed(self.kind, &self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn names_are_text_or_a_hash() {
        assert_eq!(ShortName::from_text("Conv2D").get(), Some(MixedName::Text(b"Conv2D")));
        assert_eq!(LongName::from_hash(77).get(), Some(MixedName::Hash(77)));
        assert_eq!(LongName { kind: 2, text: [0; 120] }.get(), None);
        let full = ShortName { kind: 1, text: [b'x'; 56] };
        assert_eq!(full.get(), Some(MixedName::Text(&[b'x'; 56])));
    }

    #[test]
    fn a_call_of_ascendcl_has_the_bytes_that_the_tool_chain_wrote() {
        // magic, tag, kind, begin, end, process, thread, name.
        let mut bytes = vec![0x5A, 0x5A, 0, 0, 3, 0, 0, 0];
        bytes.extend([46, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0xDD, 3, 0, 0]);
        bytes.extend(b"aclrtMalloc");
        bytes.resize(128, 0);
        let call = AclCall::read(&bytes).expect("enough bytes");
        assert_eq!((call.kind, call.begin, call.end, call.process, call.thread), (3, 46, 60, 8, 989));
        assert_eq!(until_zero(&call.name), b"aclrtMalloc");
        let mut written = [0xFF; 128];
        call.write(&mut written);
        assert_eq!(&written[..], bytes);
    }
}
