//! Helpers for the tests of several crates; a development dependency only.
//!
//! - [`companions`]: programs, libraries and data from outside that some tests check against. A test
//!   that lacks its companion says so and returns, or fails where [`companions::REQUIRED`] is set.
//! - [`programs`]: programs that are ended where they don't end by themselves.
//! - [`ssh_server`]: OpenSSH's server as a child process.
//! - [`board`] (with the feature of that name): a board behind the server, for collecting.
//! - [`small_disk`]: a file system of a few megabytes.
//! - [`megengine_network`]: profiles of MegEngine of any size.
//! - [`om_file`], [`tensorflow`]: offline models of Ascend, frozen graphs; [`protobuf`]: the messages of such files.
//!   [`ge_dump`]: the graphs of the former as texts.
//!   [`caffe_file`]: weights of Caffe. [`tflite_file`], [`megengine_file`]: models of TensorFlow Lite and MegEngine; [`flatbuffer`]: the tables of such.
//!
//! ```
//! let Some(compiler) = opscope_testing::companions::c_compiler() else { return };
//! assert!(compiler.is_absolute());
//! ```

#[cfg(all(unix, feature = "board"))]
pub mod board;
pub mod caffe_file;
pub mod companions;
pub mod flatbuffer;
pub mod ge_dump;
pub mod megengine_file;
pub mod megengine_network;
pub mod om_file;
pub mod programs;
pub mod protobuf;
#[cfg(unix)]
pub mod small_disk;
#[cfg(unix)]
pub mod ssh_server;
pub mod tensorflow;
pub mod tflite_file;
