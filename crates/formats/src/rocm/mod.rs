//! Tables of AMD's `rocprofv3` (`--output-format csv`), and its JSON (see `json`).
//!
//! Each kind of record has a table, known by its columns (ROCprofiler-SDK's documentation, "Using rocprofv3");
//! times are nanoseconds since the system started. A process has a table of each kind, whose names begin alike.
//!
//! | table | known by | what it makes |
//! |---|---|---|
//! | `*_kernel_trace.csv` | `Kernel_Name`, times | tasks of a queue or stream of a GPU, an operator for each name |
//! | `*_memory_copy_trace.csv` | `Direction`, times | tasks that copy |
//! | `*_hip_api_trace.csv`, `*_hsa_api_trace.csv`, `*_rccl_api_trace.csv` | `Domain`, `Function` | calls; `Correlation_Id` ties tasks to them |
//! | `*_marker_api_trace.csv` | the same, the domain begins with `MARKER` | ranges and marks |
//! | `*_counter_collection.csv` | `Counter_Name`, `Counter_Value` | what hardware counted while kernels ran; without times, which ROCm 6.2 leaves out, that of the kernels of the other table, or alone kernels without times |
//! | `*_kernel_stats.csv`, `*_hip_api_stats.csv`, … | `TotalDurationNs`, `Calls` | figures |
//! | `*_agent_info.csv` | `Agent_Type`, `Node_Id`, `Logical_Node_Id` | names of devices |
//!
//! Other tables have no place in a trace and are counted in its losses.

mod agents;
mod counted;
mod folder;
mod json;
mod lost;
mod reader;
mod records;
mod table;

#[cfg(test)]
mod tests;

pub use folder::{is_folder, read_folder};
pub use json::{is_json, read_json};
pub use reader::{SOURCE, read};
pub use table::{ReadError, looks_like};
