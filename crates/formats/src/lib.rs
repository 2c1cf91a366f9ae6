//! Profile formats that belong to no vendor of hardware.
//!
//! Every format owns one module with both directions and its own native tables: it decodes without
//! loss, writes its own files, and projects what it read into an [`opscope_trace::Trace`].
//!
//! ```
//! use opscope_formats::chrome;
//! use opscope_trace::Nanoseconds;
//!
//! let timeline = br#"[{"ph": "X", "cat": "cpu_op", "name": "conv1", "pid": 1, "tid": 1, "ts": 10, "dur": 40}]"#;
//! let trace = chrome::read(timeline)?;
//! assert_eq!(trace.tasks.duration(), [Nanoseconds(40_000)]);
//!
//! let mut written = Vec::new();
//! let count = chrome::write(&trace, &mut written)?;
//! assert_eq!((count.slices, count.bytes), (1, written.len() as u64));
//! assert_eq!(chrome::read(&written)?.tasks.duration(), trace.tasks.duration());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Floors
//! A module uses only those below it.
//!
//! ```text
//! perfetto, xplane: over the crate protobuf, the wire format;  nsight: over other_database, tables of other programs
//! chrome      megengine      onnxruntime      sqlite      rocm      perf       a module for each format
//! tensorrt  openvino  tflite  phone  pytorch_table      those that tell no starts, over layers: their rows
//!                                             sqlite_file  pages of SQLite's files      (public, for vendors' databases)
//!     reading: the rows of a trace that readers share      (public, for vendors' readers)
//!     json        input: mapped or unpacked ─► memory       reading
//!     encoding: UTF-16, and the names of others            own_files: what opscope wrote in a folder
//! ```

pub mod chrome;
pub mod encoding;
pub mod input;
pub mod megengine;
pub mod memory;
pub mod nsight;
pub mod onnxruntime;
pub mod openvino;
pub mod other_database;
pub mod perf;
pub mod perfetto;
pub mod phone;
pub mod pytorch_table;
pub mod reading;
pub mod rocm;
pub mod spreadsheet;
pub mod sqlite;
pub mod sqlite_file;
pub mod tensorrt;
pub mod tflite;
pub mod xplane;

mod json;
mod layers;
mod own_files;
#[cfg(test)]
mod testing;

#[doc(hidden)]
pub use json::is_json;
pub use own_files::OwnFiles;
