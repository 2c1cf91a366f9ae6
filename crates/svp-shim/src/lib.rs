//! opscope's own collector for small-chip boards (SS928, SS927 and their relatives): a library that
//! stands before the board's runtime, by `LD_PRELOAD` or linked ahead of it.
//!
//! It times the calls that a program makes, and subscribes to each model that is loaded, so that
//! the runtime reports when each layer began and ended. Its records go into a `JOB*`
//! directory in the folder that `OPSCOPE_SVP_OUTPUT` names; without that variable it only hands
//! calls on. The files are described in [`opscope_cann_raw::board`].
//!
//! ```text
//! OPSCOPE_SVP_OUTPUT=/mnt/results LD_PRELOAD=/mnt/libopscope_svp_shim.so ./main
//! ```
//!
//! | module | task |
//! |---|---|
//! | `calls` | the functions that programs find instead of the runtime's; uses all below |
//! | `subscription` | the pipe through which the runtime reports the layers of a model |
//! | `recorder` | the directory and its files |
//! | `real` | finding the runtime's own functions |
//!
//! The interface is that of the public headers `svp_acl.h`, `svp_acl_mdl.h`, `svp_acl_rt.h` and
//! `svp_acl_prof.h`, and of section 8.6 of the vendor's guide to application development. It has
//! been run against a stand-in for the runtime only, never on hardware.
#![cfg(target_os = "linux")]

mod calls;
mod real;
mod recorder;
mod subscription;

/// The answer of the runtime's functions; 0 is success.
type Status = std::ffi::c_int;
