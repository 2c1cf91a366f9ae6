//! The vendor's words for units, layers and element types, as its tables, timelines and databases
//! use them.

use opscope_trace::{ApiLevel, DataType, ExecutionUnit};

use crate::kinds::{OpUnit, RuntimeKind};

/// The number that stands for "no model", "no context" and the like.
pub(crate) const NONE: u64 = u32::MAX as u64;

/// The kind of task of a device's side of a mark.
pub(crate) const MARK: &str = "MsTx";

/// The word for whatever isn't known.
pub(crate) const UNKNOWN: &str = "N/A";

/// A text that says something.
pub(crate) fn known(text: &str) -> Option<&str> {
    Some(text).filter(|text| !matches!(*text, "" | UNKNOWN))
}

/// The number of the first stream that stands for a group of devices: a collective operation runs on
/// several of a device's streams at once, and as a whole is a task of its group's stream.
pub(crate) const FIRST_GROUP_STREAM: u64 = 1 << 32;

/// The number of the first stream that stands for tasks of which a table tells no stream; behind those of groups,
/// to which timelines give the numbers of their lanes.
pub(crate) const FIRST_STREAMLESS: u64 = 1 << 48;

/// The unit that executes a task, by the kind of task that the runtime, the node or the device
/// names: `KERNEL_AICORE`, `AI_CORE`, `MEMCPY_ASYNC`, `Notify Wait`, …
pub(crate) fn unit(kind: &str) -> ExecutionUnit {
    match kind {
        "AI_CORE" | "KERNEL_AICORE" | "AIC" => ExecutionUnit::AiCore,
        "AI_VECTOR_CORE" | "KERNEL_AIVEC" | "KERNEL_SIMT" | "AIV" | "AIV_SQE" => ExecutionUnit::AiVectorCore,
        "MIX_AIC" | "KERNEL_MIX_AIC" => ExecutionUnit::MixAiCore,
        "MIX_AIV" | "KERNEL_MIX_AIV" => ExecutionUnit::MixVectorCore,
        "AI_CPU" | "KERNEL_AICPU" => ExecutionUnit::AiCpu,
        "DVPP" | "VPC_SQE" | "JPEGE_SQE" | "JPEGD_SQE" => ExecutionUnit::Dvpp,
        "HCCL" | "HCCL_AI_CPU" | "COMMUNICATION" => ExecutionUnit::Communication,
        "MEMCPY_ASYNC" | "SDMA" | "SDMA_SQE" | "PCIE_DMA_SQE" | "Memcpy" => ExecutionUnit::MemoryCopy,
        MARK | "FFTS_PLUS" | "MODEL_EXECUTE" | "MODEL_MAINTAINCE" | "MAINTENANCE" => ExecutionUnit::Control,
        _ if is_about_streams(kind) => ExecutionUnit::Control,
        _ => ExecutionUnit::Other,
    }
}

/// The word of the tables for the unit of an operator; none for one without a name.
pub(crate) fn op_unit(unit: OpUnit) -> Option<&'static str> {
    Some(match unit {
        OpUnit::Named(unit) => unit.name(),
        OpUnit::Unnamed(_) => return None,
        OpUnit::Hccl => "HCCL",
        OpUnit::CollectiveOnAiCpu => "HCCL_AI_CPU",
        OpUnit::Unknown => UNKNOWN,
    })
}

/// The kind of task behind the runtime's word for it.
pub(crate) fn runtime_kind(word: &str) -> RuntimeKind {
    match word {
        "KERNEL_AICORE" => RuntimeKind::AiCore,
        "KERNEL_AIVEC" => RuntimeKind::AiVectorCore,
        "KERNEL_SIMT" => RuntimeKind::Simt,
        "KERNEL_MIX_AIC" => RuntimeKind::MixAic,
        "KERNEL_MIX_AIV" => RuntimeKind::MixAiv,
        "KERNEL_AICPU" => RuntimeKind::AiCpu,
        "FFTS_PLUS" => RuntimeKind::FftsPlus,
        "MEMCPY_ASYNC" => RuntimeKind::AsyncCopy,
        "PROFILING_ENABLE" | "PROFILING_DISABLE" => RuntimeKind::Profiling,
        "UNKNOWN" => RuntimeKind::Unnamed,
        _ if word.starts_with("KERNEL") || word == "STARS_COMMON" => RuntimeKind::OtherKernel,
        _ => RuntimeKind::Other,
    }
}

/// Events, notifications, places kept for them, flags in memory, limits of time, and the profiler's own switches.
fn is_about_streams(kind: &str) -> bool {
    const PREFIXES: [&str; 6] =
        ["WRITE_VALUE", "Write Value", "PROFILING_", "PROFILER_", "STREAM_", "TASK_TIMEOUT_"];
    const PARTS: [&str; 4] = ["EVENT", "NOTIFY", "Notify", "PLACE_HOLDER"];
    PREFIXES.iter().any(|prefix| kind.starts_with(prefix)) || PARTS.iter().any(|part| kind.contains(part))
}

/// Whether an operator stands behind a kind of task.
pub(crate) fn computes(kind: &str) -> bool {
    match unit(kind) {
        ExecutionUnit::AiCore
        | ExecutionUnit::AiVectorCore
        | ExecutionUnit::MixAiCore
        | ExecutionUnit::MixVectorCore
        | ExecutionUnit::AiCpu
        | ExecutionUnit::Dvpp
        | ExecutionUnit::Communication => true,
        // The unit that makes random numbers.
        _ => matches!(kind, "DSA_SQE" | "DSA"),
    }
}

/// The layer of software that a call belongs to.
pub(crate) fn level(word: &str) -> ApiLevel {
    match word {
        "pytorch" | "pta" | "op" | "queue" => ApiLevel::Framework,
        "acl" => ApiLevel::Application,
        "model" => ApiLevel::Model,
        "node" => ApiLevel::Node,
        "communication" | "hccl" => ApiLevel::Communication,
        "runtime" => ApiLevel::Runtime,
        _ => ApiLevel::Other,
    }
}

/// Whether an operator's shapes became known only when it ran, by the state of the operator.
pub(crate) fn is_dynamic(state: &str) -> Option<bool> {
    match state {
        "dynamic" => Some(true),
        "static" => Some(false),
        _ => None,
    }
}

/// The name of a memory layout, if it says something.
pub(crate) fn layout(word: &str) -> Option<&str> {
    Some(word).filter(|word| !matches!(*word, "" | "NULL" | "UNDEFINED"))
}

/// The type of elements, by its name in the graph engine: `FLOAT16`, `DT_BF16`.
pub(crate) fn data_type(word: &str) -> DataType {
    match word.trim().trim_start_matches("DT_") {
        "FLOAT" | "FLOAT32" => DataType::Float32,
        "FLOAT16" => DataType::Float16,
        "DOUBLE" => DataType::Float64,
        "BF16" | "BFLOAT16" => DataType::BFloat16,
        "FLOAT8_E4M3FN" => DataType::Float8E4M3Fn,
        "FLOAT8_E5M2" => DataType::Float8E5M2,
        "FLOAT8_E8M0" => DataType::Float8E8M0,
        "FLOAT4_E2M1" => DataType::Float4E2M1,
        "INT64" => DataType::Int64,
        "INT32" => DataType::Int32,
        "INT16" => DataType::Int16,
        "INT8" => DataType::Int8,
        "INT4" => DataType::Int4,
        "INT2" => DataType::Int2,
        "UINT64" => DataType::Uint64,
        "UINT32" => DataType::Uint32,
        "UINT16" => DataType::Uint16,
        "UINT8" => DataType::Uint8,
        "UINT2" => DataType::Uint2,
        "BOOL" => DataType::Bool,
        "STRING" => DataType::String,
        "COMPLEX64" => DataType::Complex64,
        "COMPLEX128" => DataType::Complex128,
        _ => DataType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_tasks_name_their_unit() {
        assert_eq!(unit("KERNEL_AICORE"), ExecutionUnit::AiCore);
        assert_eq!(unit("MIX_AIV"), ExecutionUnit::MixVectorCore);
        assert_eq!(unit("HCCL"), ExecutionUnit::Communication);
        assert_eq!(unit("EVENT_RECORD_SQE"), ExecutionUnit::Control);
        assert_eq!(unit("Notify Wait"), ExecutionUnit::Control);
        assert_eq!(unit("PCIE_DMA_SQE"), ExecutionUnit::MemoryCopy);
        assert_eq!(unit("something new"), ExecutionUnit::Other);
    }

    #[test]
    fn only_what_computes_has_an_operator() {
        assert!(computes("AI_VECTOR_CORE") && computes("DSA_SQE") && computes("HCCL"));
        assert!(!computes("MEMCPY_ASYNC") && !computes("EVENT_WAIT") && !computes("MsTx"));
    }

    #[test]
    fn types_are_known_with_and_without_their_prefix() {
        assert_eq!(data_type("DT_BF16"), DataType::BFloat16);
        assert_eq!(data_type("FLOAT"), DataType::Float32);
        assert_eq!(data_type("UNDEFINED"), DataType::Unknown);
    }
}
