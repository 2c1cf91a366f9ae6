//! Profiles of TensorFlow and JAX: `*.xplane.pb`, an `XSpace` in protocol buffers (`xplane.proto` of the XLA
//! project).
//!
//! A space has planes (devices, the host), a plane lines (streams, threads), a line events. An event names its
//! metadata by number: name, and values that hold for all such events. Values (stats) are named by number, too,
//! and a value may be the name of another. Times are picoseconds from the begin of the line, which is nanoseconds since
//! 1970, or since `profile_start_time` of the plane `Task Environment`, which is that.
//!
//! | plane | line | what it makes |
//! |---|---|---|
//! | `/device:TPU:*` | `XLA Ops` | tasks with operators: HLO names, categories, operations, bytes |
//! | | `Async XLA Ops` | copies and collective operations beside them |
//! | | `XLA TraceMe` | tasks that wait |
//! | `/device:GPU:*` | `Stream #*` | kernels and copies; the operators that they name; `correlation_id` ties them to calls |
//! | all devices | `Steps` | inferences |
//! | | `XLA Modules`, others | ranges, of several devices those of each line on a thread of their own, else without one |
//! | `/host:CUPTI` | threads | calls of CUDA |
//! | `/host:*` | threads | calls of the framework; where no device was recorded, operators that name their HLO are tasks, and those that TensorFlow's executor runs (`path/name:Type` on `tf_*`) |
//!
//! Lines that only group or repeat events of others are counted as such.

mod event;
pub(crate) mod meaning;
mod metadata;
mod part;
mod read;
pub(crate) mod stat;

#[cfg(test)]
mod tests;

pub use read::{ReadError, looks_like, read, read_until};
