//! The kinds of tasks, as host, device and exports name them.

pub(crate) mod communication;
mod oldest;
pub(crate) mod processor_events;

pub(crate) use oldest::oldest_name;

use opscope_cann_raw::host::level;

use crate::names::Names;
use crate::tables::TaskLog;

/// Declares an enumeration of the vendor's: a word for each number from 0 on.
macro_rules! words_by_number {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($variant),+
        }

        impl $name {
            /// The one with a number, if there is one.
            pub fn from_number(number: u32) -> Option<Self> {
                [$(Self::$variant),+].get(number as usize).copied()
            }

            /// The word in the vendor's tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words_by_number! {
    /// The unit that executes a node, as the node names it by a number in
    /// [`Node::task_type`](crate::tables::Node::task_type).
    #[expect(missing_docs, reason = "the names are the units")]
    NodeTaskType {
        AiCore = "AI_CORE",
        AiCpu = "AI_CPU",
        AiVectorCore = "AI_VECTOR_CORE",
        WriteBack = "WRITE_BACK",
        MixAic = "MIX_AIC",
        MixAiv = "MIX_AIV",
        FftsPlus = "FFTS_PLUS",
        Dsa = "DSA_SQE",
        Dvpp = "DVPP",
        Communication = "COMMUNICATION",
        Fusion = "FUSION",
        Invalid = "INVALID",
    }
}

/// A runtime's kind of task, as far as kinds matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RuntimeKind {
    /// A kernel on cube cores.
    AiCore,
    /// A kernel on vector cores.
    AiVectorCore,
    /// A kernel that runs one program in many threads.
    Simt,
    /// A kernel on both kinds of cores, mainly the cube cores.
    MixAic,
    /// A kernel on both kinds of cores, mainly the vector cores.
    MixAiv,
    /// A kernel on the device's general processors.
    AiCpu,
    /// A further kernel.
    OtherKernel,
    /// A graph of sub-tasks (FFTS+).
    FftsPlus,
    /// A copy while the host goes on.
    AsyncCopy,
    /// A switch of the profiler.
    Profiling,
    /// A kind without a name.
    Unnamed,
    /// Any other one.
    #[default]
    Other,
}

impl RuntimeKind {
    /// Whether a kernel runs, which an operator stands behind.
    pub(crate) fn is_kernel(self) -> bool {
        self.computes() || self == Self::OtherKernel
    }

    /// Whether an operator is reported for it even if no node is known.
    pub(crate) fn computes(self) -> bool {
        self.is_on_core() || self == Self::AiCpu
    }

    /// Whether it may have contexts.
    pub(crate) fn has_contexts(self) -> bool {
        self.is_on_core() || self == Self::FftsPlus
    }

    /// Whether cube and vector core work together.
    pub(crate) fn is_mixed(self) -> bool {
        matches!(self, Self::MixAic | Self::MixAiv)
    }

    /// Whether, as a step of a collective operation, it only serves that.
    pub(crate) fn serves_collectives(self) -> bool {
        matches!(self, Self::AiCpu | Self::AiCore)
    }

    fn is_on_core(self) -> bool {
        self.is_mixed() || matches!(self, Self::AiCore | Self::AiVectorCore | Self::Simt)
    }
}

/// The unit of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpUnit {
    /// The one that the operator's node names, or that its kernel needs.
    Named(NodeTaskType),
    /// One that the node names by a number which has no name.
    Unnamed(u32),
    /// Communication, in tables of the plain form.
    Hccl,
    /// A general processor that serves a collective operation.
    CollectiveOnAiCpu,
    /// It isn't told.
    Unknown,
}

/// The runtime's kinds of task by the numbers that they usually have.
pub(crate) const USUAL_RUNTIME_NAMES: [(u32, &str); 13] = [
    (0, "KERNEL_AICORE"),
    (1, "KERNEL_AICPU"),
    (2, "EVENT_RECORD"),
    (3, "EVENT_WAIT"),
    (4, "KERNEL_FUSION"),
    (5, "MEMCPY_ASYNC"),
    (6, "MAINTENANCE"),
    (13, "MODEL_EXECUTE"),
    (26, "PROFILER_TRACE_EX"),
    (66, "KERNEL_AIVEC"),
    (98, "FLIP_TASK"),
    (108, "KERNEL_MIX_AIC"),
    (109, "KERNEL_MIX_AIV"),
];

/// The runtime's kind of task behind the unit that a node names.
pub(crate) fn runtime_kind(task_type: u32) -> u32 {
    let name = match NodeTaskType::from_number(task_type) {
        Some(NodeTaskType::AiCore) => "KERNEL_AICORE",
        Some(NodeTaskType::AiCpu) => "KERNEL_AICPU",
        Some(NodeTaskType::AiVectorCore) => "KERNEL_AIVEC",
        Some(NodeTaskType::MixAic) => "KERNEL_MIX_AIC",
        Some(NodeTaskType::MixAiv) => "KERNEL_MIX_AIV",
        _ => return u32::MAX,
    };
    usual_kind(name).unwrap_or(u32::MAX)
}

/// The usual number of a kind of task.
pub(crate) fn usual_kind(name: &str) -> Option<u32> {
    USUAL_RUNTIME_NAMES.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// The registered name of a runtime's kind of task; where no dictionary has it, the usual one.
pub fn runtime_name(names: &Names, kind: u32) -> &str {
    let usual = || USUAL_RUNTIME_NAMES.iter().find(|(number, _)| *number == kind);
    names.type_name(level::RUNTIME, kind).unwrap_or_else(|| usual().map_or("UNKNOWN", |(_, name)| name))
}

/// The name of a device's kind of task, `UNKNOWN` if there is none.
pub fn device_name(log: TaskLog, kind: u16) -> &'static str {
    match log {
        TaskLog::NanoStars => {
            NodeTaskType::from_number(u32::from(kind)).map_or("UNKNOWN", NodeTaskType::name)
        }
        TaskLog::Queue => match kind {
            0 => "AI_CORE",
            1 => "AI_CPU",
            2 => "AIV_SQE",
            3 => "PLACE_HOLDER_SQE",
            4 => "EVENT_RECORD_SQE",
            5 => "EVENT_WAIT_SQE",
            6 => "NOTIFY_RECORD_SQE",
            7 => "NOTIFY_WAIT_SQE",
            8 => "WRITE_VALUE_SQE",
            9 => "VQ6_SQE",
            10 => "TOF_SQE",
            11 => "SDMA_SQE",
            12 => "VPC_SQE",
            13 => "JPEGE_SQE",
            14 => "JPEGD_SQE",
            15 => "DSA_SQE",
            16 => "ROCCE_SQE",
            17 => "PCIE_DMA_SQE",
            18 => "HOST_CPU_SQE",
            19 => "CDQM_SQE",
            20 => "C_CORE_SQE",
            _ => "UNKNOWN",
        },
        TaskLog::Subtask => match kind {
            0 => "AIC",
            1 => "AIV",
            3 => "Notify Wait",
            4 => "Notify Record",
            5 => "Write Value",
            6 => "MIX_AIC",
            7 => "MIX_AIV",
            8 => "SDMA",
            9 => "Data Context",
            10 => "Invalidate Data Context",
            11 => "Writeback Data Context",
            12 => "AI_CPU",
            13 => "Load Context",
            15 => "DSA",
            _ => "UNKNOWN",
        },
        TaskLog::Hwts | TaskLog::Track | TaskLog::Timeline => match kind {
            0 => "AI_CORE",
            1 => "AI_CPU",
            _ => "UNKNOWN",
        },
    }
}

/// The name of a layer of software in the vendor's tables.
pub fn level_name(number: u16) -> &'static str {
    match number {
        level::PYTORCH => "pytorch",
        level::PTA => "pta",
        level::MSPROFTX => "msproftx",
        level::ACL => "acl",
        level::MODEL => "model",
        level::NODE => "node",
        level::AICPU => "aicpu",
        level::COMMUNICATION => "communication",
        level::RUNTIME => "runtime",
        _ => "unknown",
    }
}
