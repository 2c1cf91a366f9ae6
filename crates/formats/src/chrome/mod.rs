//! Chrome's trace event JSON: the timelines that Perfetto and `chrome://tracing` open.
//!
//! [`write()`] draws a [`Trace`](opscope_trace::Trace) as an object with `traceEvents`. The format
//! is that of the "Trace Event Format" document of the Chromium project; of its phases these are
//! written:
//!
//! | `ph` | what | from |
//! |---|---|---|
//! | `M` | names and order of groups and lanes | devices, streams, threads, models |
//! | `X` | a slice with start and duration | inferences, calls, ranges, tasks |
//! | `i` | a mark | marks |
//! | `C` | the value of a counter | samples |
//! | `s`, `f` | both ends of an arrow | the call that launched a task |
//!
//! Times are microseconds with three decimals. The slices of a lane nest: what would cross is
//! moved to a further lane of the same stream or thread, because viewers drop it otherwise.
//!
//! [`read()`] makes a trace of such a file, whoever wrote it; [`read_with()`] knows a vendor's
//! [`dialect`] as well.

mod arguments;
pub(crate) mod read;
mod slices;
pub(crate) mod text;
mod write;

#[cfg(test)]
mod tests;

pub use read::{ReadError, dialect, looks_like, loss_of_end, read, read_with};
pub(crate) use write::into_file;
pub use write::{WriteError, Written, write, write_file, write_within};
pub(crate) use write::{other_data, process_number, thread_number};
