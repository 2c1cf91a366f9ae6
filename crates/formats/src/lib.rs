//! Profile formats from outside opscope.
//!
//! Every format owns one module with both directions and its own native tables: it decodes without
//! loss, writes its own files, and projects what it read into an [`opscope_trace::Trace`].

pub mod ascend_vocabulary;
pub mod chrome;
pub mod input;
pub mod megengine;
pub mod onnxruntime;
pub mod reading;
pub mod sqlite;

mod escapes;
mod json;
mod output;
mod own_files;
#[cfg(test)]
mod testing;

pub use output::{Draft, Unfinished, check_target, discard_unfinished, write_atomically, write_seekable};
pub use own_files::OwnFiles;
