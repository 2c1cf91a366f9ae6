//! ONNX Runtime's profiles: the JSON that a session writes when `enable_profiling` is set.
//!
//! The file is a list of Chrome's complete events, one a line. Times are whole microseconds from
//! when the session began to record.
//!
//! | `cat` | `name` | what |
//! |---|---|---|
//! | `Session` | `model_loading_uri`, … | loading a model |
//! | `Session` | `session_initialization` | optimising and preparing it |
//! | `Session` | `model_run` | one inference |
//! | `Session` | `SequentialExecutor::Execute` | executing the graph, or one inside a node |
//! | `Node` | `<node>_kernel_time` | one execution of a node |
//! | `Node` | `<node>_fence_before`, `<node>_fence_after` | waiting for other devices; until 2022 |
//! | `Kernel`, `Api` | a kernel or call | what CUDA's or ROCm's profiler recorded |
//!
//! The arguments of a node are strings, even numbers: `op_name`, `node_index`, `provider`,
//! `activation_size`, `parameter_size`, `output_size`, `mem_*`; `input_type_shape` and
//! `output_type_shape` are lists, `thread_scheduling_stats` is an object. These facts are from
//! profiles of version 1.31 and from the runtime's public source.
//!
//! [`Profile`] holds the events in tables; [`Profile::to_trace`] makes them a trace.

mod event;
mod places;
mod profile;
mod read;
mod repetitions;
mod sessions;
mod shapes;
mod to_trace;

#[cfg(test)]
mod tests;

pub use profile::{
    Damage, DeviceEvent, DeviceEventKind, Memory, NodeEvent, Position, Profile, Scheduling, SessionEvent,
    SessionEventKind, Worker,
};
pub use read::ReadError;

/// Whether a name is one that only this runtime gives to its events.
pub fn is_event_name(name: &str) -> bool {
    let of_node = ["_kernel_time", "_fence_before", "_fence_after"].iter().any(|end| name.ends_with(end));
    of_node || SessionEventKind::of(name) != SessionEventKind::Other
}
