//! Records of a device's tasks and of the counters of its cores.
//!
//! They lie in `device_N/data` as `<name>.data.N.slice_M`.

use crate::record::record;

/// The magic number of STARS, HWTS and counter records.
pub const MAGIC: u16 = 0x6BD3;

/// The functions of a [`StarsLog`], bits 0 to 5 of its first word.
pub mod function {
    /// A task starts.
    pub const TASK_START: u16 = 0;
    /// A task ends.
    pub const TASK_END: u16 = 1;
    /// A part of a fused task starts, on chips 15 and 16.
    pub const FUSED_START: u16 = 22;
    /// It ends.
    pub const FUSED_END: u16 = 23;
    /// A sub-task starts.
    pub const SUBTASK_START: u16 = 34;
    /// A sub-task ends.
    pub const SUBTASK_END: u16 = 35;
    /// A block starts on a core, on chips 15 and 16.
    pub const BLOCK_START: u16 = 36;
    /// It ends.
    pub const BLOCK_END: u16 = 37;
    /// Counters of a whole task or sub-task.
    pub const CONTEXT_COUNTERS: u16 = 40;
    /// Counters of one block.
    pub const BLOCK_COUNTERS: u16 = 41;
    /// Counters of a whole task on chips 15 and 16.
    pub const WIDE_COUNTERS: u16 = 42;
}

record! {
    /// Start or end of a task or sub-task (`stars_soc.data`).
    StarsLog, 64 {
        /// Bits 0 to 5: the [`function`]; 6 to 9: a running number; 10 to 15: the kind of task.
        0 word: u16,
        /// [`MAGIC`].
        2 magic: u16,
        /// The stream, with flag bits.
        4 stream: u16,
        /// The task, with flag bits.
        6 task: u16,
        /// When; device clock.
        8 time: u64,
        /// For sub-tasks, low 8 bits: their kind.
        16 subtask_type: u16,
        /// For sub-tasks: their context; for tasks, low 6 bits: the accelerator.
        18 context: u16,
        /// For sub-tasks, bits 13 to 15: the kind of FFTS task.
        20 ffts: u16,
        /// For sub-tasks: the thread.
        22 thread: u16,
    }
}

record! {
    /// Start or end of a task on chips 15 and 16 (`stars_soc.data`).
    CompactStarsLog, 32 {
        /// Bits 0 to 5: the [`function`]; 6 to 9: a running number; 10 to 15: the kind of task.
        0 word: u16,
        /// [`MAGIC`].
        2 magic: u16,
        /// Low half of the task.
        4 task_low: u16,
        /// High half of the task.
        6 task_high: u16,
        /// When; device clock.
        8 time: u64,
        /// Of a part of a fused task, bits 0 to 4: a bit for each kind of part; 5 to 8: the mission.
        16 fused: u16,
        /// Low 6 bits: the accelerator; of a part of a fused task all bits.
        18 accelerator: u16,
    }
}

record! {
    /// Start or end of a block of a task on a core of chips 15 and 16 (`stars_block.data`, functions 36 and 37; also
    /// among the records of `stars_soc.data`).
    BlockLog, 32 {
        /// Bits 0 to 5: the [`function`]; 6 to 9: a running number; 10 to 15: the kind of task.
        0 word: u16,
        /// [`MAGIC`].
        2 magic: u16,
        /// Low half of the task.
        4 task_low: u16,
        /// High half of the task.
        6 task_high: u16,
        /// When; device clock.
        8 time: u64,
        /// The kind of context.
        16 context_type: u8,
        /// Bit 0: the core leads the task; bit 1: both kinds of cores work on it.
        17 flags: u8,
        /// Bit 0: 0 cube core, 1 vector core.
        20 core_type: u8,
        /// The core's number.
        21 core: u8,
        /// The block.
        26 block: u16,
    }
}

record! {
    /// Counters of a whole task or sub-task (`ffts_profile.data`, function 40).
    ContextCounters, 128 {
        /// Bits 0 to 5: the [`function`]; 6 to 9: a running number.
        0 word: u16,
        /// [`MAGIC`].
        2 magic: u16,
        /// The stream, with flag bits.
        4 stream: u16,
        /// The task, with flag bits.
        6 task: u16,
        /// Low 8 bits: the kind of sub-task; bit 10: a counter overflowed.
        16 subtask_type: u16,
        /// The context.
        18 context: u16,
        /// Bits 13 to 15: the kind of FFTS task.
        20 ffts: u16,
        /// Cycles in total.
        32 cycles: u64,
        /// The counters, in the order of the profile's list of events.
        48 counters: [u64; 8],
        /// Start; device clock.
        112 start: u64,
        /// End; device clock.
        120 end: u64,
    }
}

record! {
    /// Counters of one block (`ffts_profile.data`, function 41).
    BlockCounters, 128 {
        /// Bits 0 to 5: the [`function`]; 6 to 9: a running number.
        0 word: u16,
        /// [`MAGIC`].
        2 magic: u16,
        /// The stream, with flag bits.
        4 stream: u16,
        /// The task, with flag bits.
        6 task: u16,
        /// Low 8 bits: the kind of sub-task.
        16 subtask_type: u16,
        /// The context.
        18 context: u16,
        /// Bit 0: 0 cube core, 1 vector core; the rest is the core's number.
        20 core: u8,
        /// Bits 5 to 7: the kind of FFTS task.
        21 ffts: u8,
        /// The sub-block.
        28 sub_block: u16,
        /// The block.
        30 block: u16,
        /// Cycles in total.
        32 cycles: u64,
        /// The counters, in the order of the profile's list of events.
        48 counters: [u64; 8],
        /// Start; device clock.
        112 start: u64,
        /// End; device clock.
        120 end: u64,
    }
}

/// The bits of [`WideCounters::flags`].
pub mod counter_flag {
    /// The core leads the task; else it follows another.
    pub const LEADING: u8 = 1;
    /// Both kinds of cores work on the task.
    pub const MIXED: u8 = 2;
    /// A counter overflowed.
    pub const OVERFLOW: u8 = 4;
}

record! {
    /// Counters of a task, or of one block of it, on chips 15 and 16 (`ffts_profile.data`,
    /// functions 42 and 41).
    WideCounters, 128 {
        /// Bits 0 to 5: the [`function`]; 6 to 9: a running number.
        0 word: u16,
        /// [`MAGIC`].
        2 magic: u16,
        /// Low half of the task.
        4 task_low: u16,
        /// High half of the task.
        6 task_high: u16,
        /// Cycles in total.
        8 cycles: u64,
        /// The kind of context.
        16 context_type: u8,
        /// See [`counter_flag`].
        17 flags: u8,
        /// Bit 0: 0 cube core, 1 vector core.
        20 core_type: u8,
        /// The core's number.
        21 core: u8,
        /// The sub-block.
        24 sub_block: u16,
        /// The block.
        26 block: u16,
        /// The counters, in the order of the profile's list of events.
        32 counters: [u64; 10],
        /// Start; device clock.
        112 start: u64,
        /// End; device clock.
        120 end: u64,
    }
}

record! {
    /// Start or end of a task on chips 1 to 4 (`hwts.data`).
    HwtsLog, 64 {
        /// Bits 0 to 2: 0 start, 1 end; bits 4 to 7: a running number.
        0 tag: u8,
        /// The kind of task: 0 AI core, 1 AI CPU, ….
        1 task_type: u8,
        /// [`MAGIC`].
        2 magic: u16,
        /// The task.
        6 task: u16,
        /// When; device clock.
        8 time: u64,
        /// The stream, to be taken modulo 2048.
        16 stream: u32,
    }
}

record! {
    /// Counters of a task on chips 1 to 4 (`aicore.data`, `aiVectorCore.data`).
    CoreCounters, 128 {
        /// Bits 4 to 7: a running number.
        0 tag: u8,
        /// [`MAGIC`].
        2 magic: u16,
        /// The task.
        6 task: u16,
        /// Cycles in total.
        16 cycles: u64,
        /// The counters, in the order of the profile's list of events.
        32 counters: [u64; 8],
        /// The stream, to be taken modulo 2048.
        96 stream: u32,
    }
}

/// The tags of records in `ts_track.data`, the second byte of each.
pub mod track {
    /// State of a task, chip 0 only.
    pub const TIMELINE: u8 = 3;
    /// Counters of a task, chip 0 only and in `aicore.data`.
    pub const EVENT_COUNT: u8 = 4;
    /// A step of a model.
    pub const STEP: u8 = 10;
    /// State of a copy.
    pub const MEMCPY: u8 = 11;
    /// State of a task.
    pub const TASK_TYPE: u8 = 12;
    /// The task numbers of a stream wrapped.
    pub const FLIP: u8 = 14;
    /// How many blocks a task has.
    pub const BLOCK_NUM: u8 = 15;
}

record! {
    /// The common beginning of records in `ts_track.data`.
    TrackHead, 8 {
        /// The mode.
        0 mode: u8,
        /// The kind of record, see [`track`].
        1 tag: u8,
        /// The record's size in bytes.
        2 size: u16,
    }
}

record! {
    /// A step of a model (`ts_track.data`, tag 10).
    StepTrace, 40 {
        /// The common head.
        0 head: TrackHead,
        /// When; device clock.
        8 time: u64,
        /// The iteration, or the number of a mark.
        16 index: u64,
        /// The model.
        24 model: u64,
        /// The stream.
        32 stream: u16,
        /// The task.
        34 task: u16,
        /// 0 model start, 1 model end, 2 and 3 forward and backward, 4 iteration end, 11 a mark, ….
        36 tag: u16,
    }
}

record! {
    /// A step of a model on chips 15 and 16 (`ts_track.data`, tag 10).
    WideStepTrace, 40 {
        /// The common head.
        0 head: TrackHead,
        /// When; device clock.
        8 time: u64,
        /// The iteration, or the number of a mark.
        16 index: u64,
        /// The model.
        24 model: u64,
        /// As in [`StepTrace`].
        32 tag: u16,
        /// The stream.
        34 stream: u16,
        /// The task.
        36 task: u32,
    }
}

record! {
    /// State of a copy (`ts_track.data`, tag 11).
    TrackMemcpy, 40 {
        /// The common head.
        0 head: TrackHead,
        /// When; device clock.
        8 time: u64,
        /// The stream.
        16 stream: u16,
        /// The task.
        18 task: u16,
        /// Received, started or ended.
        20 state: u8,
    }
}

record! {
    /// State of a task (`ts_track.data`, tag 12).
    TrackTaskType, 40 {
        /// The common head.
        0 head: TrackHead,
        /// When; device clock.
        8 time: u64,
        /// The stream.
        16 stream: u16,
        /// The task.
        18 task: u16,
        /// The kind of task: 1 AI CPU, ….
        20 task_type: u16,
        /// 1 start, 2 end.
        22 state: u8,
    }
}

record! {
    /// The task numbers of a stream wrapped (`ts_track.data`, tag 14).
    TrackFlip, 40 {
        /// The common head.
        0 head: TrackHead,
        /// When; device clock.
        8 time: u64,
        /// The stream.
        16 stream: u16,
        /// The number of the flip; 65535 means that the stream was destroyed.
        18 flip: u16,
        /// The task that carried the flip, 0 mostly.
        22 task: u16,
    }
}

record! {
    /// How many blocks a task has (`ts_track.data`, tag 15).
    TrackBlockNum, 40 {
        /// The common head.
        0 head: TrackHead,
        /// When; device clock.
        8 time: u64,
        /// The stream.
        16 stream: u16,
        /// The task.
        18 task: u16,
        /// As [`NodeBasicInfo::blocks`](crate::host::NodeBasicInfo::blocks).
        20 blocks: u32,
    }
}

record! {
    /// State of a task on chip 0 (`ts_track.data`, tag 3).
    TrackTimeline, 32 {
        /// The common head.
        0 head: TrackHead,
        /// The kind of task.
        8 task_type: u16,
        /// 1 waiting, 2 running, 3 complete, 4 pending.
        10 state: u16,
        /// The stream.
        12 stream: u16,
        /// The task.
        14 task: u16,
        /// When; device clock.
        16 time: u64,
        /// The thread.
        24 thread: u32,
        /// The device.
        28 device: u32,
    }
}

record! {
    /// Counters of a task on chip 0 (`aicore.data`, tag 4).
    EventCount, 112 {
        /// The common head.
        0 head: TrackHead,
        /// The kind of task.
        8 task_type: u16,
        /// The stream.
        10 stream: u16,
        /// The task.
        12 task: u16,
        /// Whether a counter overflowed.
        14 overflow: u16,
        /// Cycles at the overflow.
        16 overflow_cycles: u64,
        /// The counters, in the order of the profile's list of events.
        24 counters: [u64; 8],
        /// Cycles in total.
        88 cycles: u64,
        /// When; device clock.
        96 time: u64,
        /// The number of blocks.
        104 blocks: u16,
    }
}

record! {
    /// Counters of one core over time, sample-based: `aicore.data` and `aiVectorCore.data` of chips 0
    /// to 4, `ffts_profile.data` of chips 5 to 11.
    CoreSample, 96 {
        /// The mode; 0 marks room that isn't used.
        0 mode: u8,
        /// The counters, in the order of the profile's list of events.
        8 counters: [u64; 8],
        /// Cycles in total.
        72 cycles: u64,
        /// When, in nanoseconds of the device's clock.
        80 time: u64,
        /// How many counters are used.
        88 count: u8,
        /// The core.
        89 core: u8,
    }
}

record! {
    /// Counters of one core over time on chips 15 and 16 (`ffts_profile.data`, sample-based).
    WideCoreSample, 112 {
        /// The mode; 0 marks room that isn't used.
        0 mode: u8,
        /// The counters, in the order of the profile's list of events.
        8 counters: [u64; 10],
        /// Cycles in total.
        88 cycles: u64,
        /// When; ticks of the device's counter.
        96 time: u64,
        /// How many counters are used.
        104 count: u8,
        /// The core.
        105 core: u8,
    }
}

record! {
    /// An operator on the device's general processors (`aicpu.data`, type 0).
    AiCpuNode, 256 {
        /// The common head, with level 6000.
        0 head: crate::host::Head,
        /// The stream.
        24 stream: u16,
        /// The task.
        26 task: u16,
        /// Start of the run, as counted by the processor.
        32 run_start: u64,
        /// Start of the run; device clock.
        40 run_start_tick: u64,
        /// Start of the computation.
        48 compute_start: u64,
        /// Start of the copy.
        56 copy_start: u64,
        /// End of the copy.
        64 copy_end: u64,
        /// End of the run.
        72 run_end: u64,
        /// End of the run; device clock.
        80 run_end_tick: u64,
        /// The thread.
        88 thread: u32,
        /// The device.
        92 device: u32,
        /// When it was submitted; device clock.
        96 submit_tick: u64,
        /// When it was scheduled; device clock.
        104 schedule_tick: u64,
        /// Before the run; device clock.
        112 tick_before: u64,
        /// After the run; device clock.
        120 tick_after: u64,
        /// The kind of kernel.
        128 kernel_type: u32,
        /// Microseconds of dispatching.
        132 dispatch: u32,
        /// Microseconds in total.
        136 total: u32,
        /// The thread of the FFTS task.
        140 ffts_thread: u16,
        /// The record's version.
        142 version: u8,
    }
}

record! {
    /// An operator on the device's general processors, older form (`DATA_PREPROCESS.AICPU`).
    AiCpuOld, 128 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// The tag, 60.
        2 tag: u16,
        /// The stream.
        4 stream: u16,
        /// The task.
        6 task: u16,
        /// Start of the run, as counted by the processor.
        8 run_start: u64,
        /// Start of the run; device clock.
        16 run_start_tick: u64,
        /// Start of the computation.
        24 compute_start: u64,
        /// Start of the copy.
        32 copy_start: u64,
        /// End of the copy.
        40 copy_end: u64,
        /// End of the run.
        48 run_end: u64,
        /// End of the run; device clock.
        56 run_end_tick: u64,
        /// The thread.
        64 thread: u32,
        /// The device.
        68 device: u32,
        /// When it was submitted; device clock.
        72 submit_tick: u64,
        /// When it was scheduled; device clock.
        80 schedule_tick: u64,
        /// Before the run; device clock.
        88 tick_before: u64,
        /// After the run; device clock.
        96 tick_after: u64,
        /// The kind of kernel.
        104 kernel_type: u32,
        /// Microseconds of dispatching.
        108 dispatch: u32,
        /// Microseconds in total.
        112 total: u32,
        /// The thread of the FFTS task.
        116 ffts_thread: u16,
        /// The record's version.
        118 version: u8,
    }
}
