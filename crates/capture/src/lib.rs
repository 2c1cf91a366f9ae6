//! Runs a program that was not written for it, and records what it does: the raw `PROF_*` directory
//! that CANN's runtime writes, with the program's own marks, ONNX Runtime's profiles and samples of
//! the host.
//!
//! - [`Plan`]: what to run and what to record.
//! - [`collect`]: does it; the answer says how the program ended and what was lost.
//! - [`OnDemand`]: makes profiles of running programs, begun and ended by commands.
//! - [`explain`]: what a known error message means and what to do about it.
//!
//! Everything that runs beside a program needs Linux; elsewhere there are only [`explain`], and the types that
//! options are made of.
//!
//! ```
//! let message = "./infer: error while loading shared libraries: libascendcl.so: cannot open shared object file";
//! let page = opscope_capture::explain::explain(message)[0];
//! assert_eq!(page.name, "shared-library");
//! ```
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! dynamic: OnDemand                                   profiles begun and ended by commands
//! collect                                             one program from its launch to its end
//! launch · injection · sampler · storage              the program, its environment, the host, the limit
//! plan · stderr_scan · own_folder · inherited_fds     what is asked for; helpers of one purpose each
//! program · finish_slices                             finding the program; slices of those that were killed
//! output ─► profile_lock                              where profiles go, and whose they are
//! error · host_kind                                   explain: stands alone
//! ```

mod error;
pub mod explain;
mod host_kind;

#[cfg(target_os = "linux")]
mod collect;
#[cfg(target_os = "linux")]
mod dynamic;
#[cfg(target_os = "linux")]
mod finish_slices;
#[cfg(target_os = "linux")]
mod inherited_fds;
#[cfg(target_os = "linux")]
mod injection;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod own_folder;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod profile_lock;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod sampler;
#[cfg(target_os = "linux")]
mod stderr_scan;
#[cfg(target_os = "linux")]
mod storage;

pub use error::CaptureError;
pub use host_kind::HostKind;

#[cfg(target_os = "linux")]
pub use collect::{Event, Outcome, collect};
#[cfg(target_os = "linux")]
pub use dynamic::{Command, OnDemand};
#[cfg(target_os = "linux")]
pub use opscope_recorder::clock::monotonic_raw;
#[cfg(target_os = "linux")]
pub use output::{OutputDirectory, free_bytes, umask};
#[cfg(target_os = "linux")]
pub use plan::{DeviceData, Domains, Plan};
#[cfg(target_os = "linux")]
pub use program::Program;
