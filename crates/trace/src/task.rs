//! Units of work on device streams.

use crate::table::table;
use crate::{ApiCallId, IterationId, Nanoseconds, OperatorId, StreamId, StringId};

/// The part of a device that executed a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExecutionUnit {
    /// Something that the format didn't say.
    #[default]
    Other,
    /// The host's processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// An Ascend AI Core: its cube (matrix) unit, or both units where a chip doesn't part them.
    AiCore,
    /// An Ascend vector core.
    AiVectorCore,
    /// Cube and vector core together, led by the cube.
    MixAiCore,
    /// Cube and vector core together, led by the vector core.
    MixVectorCore,
    /// The device's general processor.
    AiCpu,
    /// The unit for image and video.
    Dvpp,
    /// Collective communication.
    Communication,
    /// A copy of memory.
    MemoryCopy,
    /// Waiting, recording and other handling of streams.
    Control,
}

impl ExecutionUnit {
    /// A word for tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::AiCore => "ai-core",
            Self::AiVectorCore => "ai-vector-core",
            Self::MixAiCore => "mix-ai-core",
            Self::MixVectorCore => "mix-vector-core",
            Self::AiCpu => "ai-cpu",
            Self::Dvpp => "dvpp",
            Self::Communication => "communication",
            Self::MemoryCopy => "memory-copy",
            Self::Control => "control",
        }
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
        /// The stream that it ran on.
        stream: Option<StreamId>,
        /// The part of the device that executed it.
        unit: ExecutionUnit,
        /// The inference that it belongs to.
        iteration: Option<IterationId>,
        /// The host-side call that launched it.
        launched_by: Option<ApiCallId>,
        /// When it began.
        start: Nanoseconds,
        /// How long it took.
        duration: Nanoseconds,
        /// How long it waited between being ready or queued and its first kernel, where the
        /// format records that. The wait lies before `start`, or within the duration, as the
        /// format has it.
        wait: Option<Nanoseconds>,
    }
}

impl Task {
    /// A task of which only the name and times are known.
    pub fn new(name: StringId, start: Nanoseconds, duration: Nanoseconds) -> Self {
        Self {
            operator: None,
            name,
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
