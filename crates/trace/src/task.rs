//! Units of work on device streams.

use opscope_columns::OptionalColumn;

use crate::table::table;
use crate::words;
use crate::{ApiCallId, IterationId, Nanoseconds, OperatorId, StreamId, StringId};

words! {
    /// The part of a device that executed a task.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ExecutionUnit {
        /// Something that the format didn't say.
        #[default]
        Other = "other",
        /// The host's processor.
        Cpu = "cpu",
        /// A graphics processor.
        Gpu = "gpu",
        /// An Ascend AI Core: its cube (matrix) unit, or both units where a chip doesn't part them.
        AiCore = "ai-core",
        /// An Ascend vector core.
        AiVectorCore = "ai-vector-core",
        /// Cube and vector core together, led by the cube.
        MixAiCore = "mix-ai-core",
        /// Cube and vector core together, led by the vector core.
        MixVectorCore = "mix-vector-core",
        /// The device's general processor.
        AiCpu = "ai-cpu",
        /// The unit for image and video.
        Dvpp = "dvpp",
        /// Collective communication.
        Communication = "communication",
        /// A copy of memory.
        MemoryCopy = "memory-copy",
        /// Waiting, recording and other handling of streams.
        Control = "control",
    }
}

table! {
    /// Units of work on device streams.
    TaskTable,
    /// Names a row of the [`TaskTable`].
    TaskId,
    /// One unit of work on a device stream.
    Task {
        /// The operator that it executed; several tasks may belong to one.
        operator: Option<OperatorId>,
        /// The engine's or device's own name for it.
        name: StringId,
        /// The number by which its format's tables name it; formats use numbers again.
        number: Option<u32> as OptionalColumn<u32>,
        /// The stream that it ran on.
        stream: Option<StreamId>,
        /// The part of the device that executed it.
        unit: ExecutionUnit,
        /// The inference that it belongs to.
        iteration: Option<IterationId> as OptionalColumn<IterationId>,
        /// The host-side call that launched it.
        launched_by: Option<ApiCallId> as OptionalColumn<ApiCallId>,
        /// When it began.
        start: Nanoseconds,
        /// How long it took.
        duration: Nanoseconds,
        /// How long it waited between being ready or queued and its first kernel, where the
        /// format records that. The wait lies before `start`, or within the duration, as the
        /// format has it.
        wait: Option<Nanoseconds> as OptionalColumn<Nanoseconds>,
    }
}

impl Task {
    /// A task of which only the name and times are known.
    pub fn new(name: StringId, start: Nanoseconds, duration: Nanoseconds) -> Self {
        Self {
            operator: None,
            name,
            number: None,
            stream: None,
            unit: ExecutionUnit::Other,
            iteration: None,
            launched_by: None,
            start,
            duration,
            wait: None,
        }
    }
}
