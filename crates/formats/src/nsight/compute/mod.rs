//! Tables of Nsight Compute: what hardware counted while single kernels ran (`ncu --csv`).
//!
//! | form | rows |
//! |---|---|
//! | `--page raw` | one for each kernel, a column for each quantity; a row of units below the heading |
//! | `--page details`, or `--metrics` alone | one for each quantity of a kernel: `Metric Name`, `Metric Unit`, `Metric Value` |
//!
//! Lines of the program and of the profiler itself (`==PROF== …`) may stand before the heading, and numbers may have
//! commas between their thousands.
//!
//! A table tells how long each kernel took and not when it ran, because each was run again and again, alone.
//! So nothing is drawn of it: kernels stand end to end, and the trace says that their starts are made up.

mod read;
mod rows;

#[cfg(test)]
mod tests;

pub use read::{ReadError, looks_like, read};
