//! The outputs of the Ascend tools, read back as a trace: msprof's `mindstudio_profiler_output`,
//! torch_npu's `ASCEND_PROFILER_OUTPUT`.
//!
//! [`tables::read()`] takes one table, [`database`] a database, [`chrome::read_with`] a timeline in the
//! dialect [`AscendTimeline`], [`communication`] the sums of collective operations, and [`read_folder`] whatever a folder holds, joined.
//!
//! [`chrome::read_with`]: opscope_formats::chrome::read_with

pub mod communication;
mod csv_files;
pub mod database;
mod folder;
mod lanes;
pub(crate) mod operators;
pub mod serving;
pub mod single_operators;
mod stated;
pub mod tables;
#[cfg(test)]
mod testing;

pub use crate::timeline::AscendTimeline;
pub use folder::{FileFate, Folder, FolderError, SeenFile, is_folder, read_folder, read_folder_until};
