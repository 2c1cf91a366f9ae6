//! The library that `LD_PRELOAD` puts before ONNX Runtime and AscendCL in programs that opscope
//! runs, and before the system's functions by which a process is gone without having ended.
//!
//! It exports functions of the names that programs look for, does what recording needs, and calls
//! the real ones. Where there is no real one, or nothing is recorded, it does nothing else.

mod ascendcl;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod leaving;
mod onnxruntime;
mod real;

// A dependency on the instrumentation library would put its functions before the program's own,
// those of `acl.prof` among them. These of its files stand by themselves.
#[path = "../../mark/src/clock.rs"]
#[allow(dead_code, reason = "the instrumentation library uses the rest")]
mod clock;
#[path = "../../mark/src/control.rs"]
#[allow(dead_code, reason = "the instrumentation library uses the rest")]
mod control;
#[path = "../../mark/src/flusher.rs"]
#[allow(dead_code, reason = "the instrumentation library uses the rest")]
mod flusher;
#[path = "../../mark/src/sink.rs"]
#[allow(dead_code, reason = "the instrumentation library uses the rest")]
mod sink;
#[path = "../../mark/src/leaving.rs"]
#[allow(dead_code, reason = "the instrumentation library uses the rest")]
mod table;
