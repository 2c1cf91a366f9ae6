//! Profiles that sessions of ONNX Runtime wrote.

use opscope_formats::onnxruntime::{Profile, is_event_name};

use crate::OpenError;
use crate::format::{Format, Reader};
use crate::look::Look;

/// The format.
pub static FORMAT: Format = Format {
    name: "a profile of ONNX Runtime",
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
