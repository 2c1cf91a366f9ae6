//! Profiles that sessions of ONNX Runtime wrote.

use opscope_formats::onnxruntime::{Profile, is_event_name};

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};
use crate::look::Look;

/// The format.
pub static FORMAT: Format = Format {
    name: "a profile of ONNX Runtime",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "ONNX Runtime 1.x, any program that turns on its profiling",
        reads: "sessions, runs, nodes with shapes, providers and threads, kernels of GPUs, the state of the allocator",
        written_by: None,
        lacks: "the model: --model names it",
        tried: Tried::RealFiles,
    }),
    is,
    reader: Reader::Bytes(|input, path, stop| {
        let profile = Profile::parse_until(&input, path, stop).map_err(OpenError::content)?;
        Ok(profile.to_trace_until(stop))
    }),
};

/// A list of events of the categories and with names that only the runtime gives.
fn is(look: &Look) -> bool {
    let Some(json) = &look.json else { return false };
    let has_category = json.texts_in_items("cat").any(|category| matches!(category, "Session" | "Node"));
    has_category && json.texts_in_items("name").any(is_event_name)
}
