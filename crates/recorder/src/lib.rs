//! The common part of opscope's libraries inside other people's processes: the instrumentation library
//! (`mark`), the one that stands before ONNX Runtime and AscendCL (`preload`), and the one for boards
//! (`svp-shim`). The collector outside (`capture`) uses the same declarations.
//!
//! It exports no symbol, so that a library which links it puts nothing before a program's own
//! functions, and it depends on byte layouts and the C library only.
//!
//! | module | content |
//! |---|---|
//! | [`environment`] | the variables by which a collector tells a program's libraries what to do |
//! | [`clock`] | the clock of the records |
//! | [`control`] | the page of memory shared by a collector and its programs; uses `clock` and `environment`, as no other module uses another |
//! | [`sink`] | writing records to slices without keeping a descriptor open |
//! | [`flusher`] | the thread that writes a few times a second |
//! | [`published`] | values that are made once for a process and never freed |
//! | [`process`] | threads without signals, and handlers of a process's fork and end |
//! | [`leaving`] | the table of functions that are called before a process is gone without having ended |
//! | [`real`] | finding the functions that a library's own stand before |
//! | [`pipe`] | reading the pipe into which a vendor's runtime writes of its operators |
//!
//! ```
//! use opscope_recorder::sink::{MARKS, Sink};
//!
//! let folder = std::env::temp_dir().join(format!("opscope-recorder-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let mut sink = Sink::new(folder.clone(), MARKS);
//! sink.write(&[7; 512], 256)?;
//! sink.finish();
//! assert_eq!(std::fs::read(folder.join(format!("{MARKS}.slice_0")))?, [7; 512]);
//! std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod clock;
pub mod control;
pub mod environment;
pub mod flusher;
pub mod leaving;
#[cfg(target_os = "linux")]
pub mod pipe;
pub mod process;
pub mod published;
#[cfg(target_os = "linux")]
pub mod real;
pub mod sink;
