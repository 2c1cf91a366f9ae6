//! The library that `LD_PRELOAD` puts before ONNX Runtime and AscendCL in programs that opscope
//! runs.
//!
//! It exports functions of the names that programs look for, does what recording needs, and calls
//! the real ones. Where there is no real one, or nothing is recorded, it does nothing else.

mod onnxruntime;
mod real;
