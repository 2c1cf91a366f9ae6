//! The library that `LD_PRELOAD` puts before ONNX Runtime and AscendCL in programs that opscope
//! runs, and before the system's functions by which a process is gone without having ended.
//!
//! It exports functions of the names that programs look for, does what recording needs, and calls
//! the real ones. Where there is no real one, or nothing is recorded, it does nothing else.
//!
//! It doesn't depend on the instrumentation library, whose functions (those of `acl.prof` among them)
//! it would put before the program's own; both use `opscope_recorder`.
//!
//! | module | content |
//! |---|---|
//! | `leaving` | `exec`, `_exit` and their like; uses `ascendcl` |
//! | `ascendcl` | AscendCL's functions; below them `device`, `calls`, `operators`, `library`, `collector`, each of which uses those behind it |
//! | `onnxruntime` | ONNX Runtime's table of functions |

mod ascendcl;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod leaving;
mod onnxruntime;
