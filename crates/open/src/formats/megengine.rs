//! Graph profiles of MegEngine.

use opscope_formats::megengine::{Profile, ReadError};

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};
use crate::look::Look;

/// The format.
pub static FORMAT: Format = Format {
    name: "a profile of MegEngine",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "MegEngine (load_and_run --profile)",
        reads: "operators with kernels and waits on each computing node, the graph's shapes and memory",
        written_by: Some("--profile and --profile-host of run and import"),
        lacks: "all iterations but the one that was recorded",
        tried: Tried::PublicLayout,
    }),
    is,
    reader: Reader::Bytes(|input, path, stop| {
        let profile = Profile::from_input_as_far_as_it_goes(input, stop)
            .map_err(|source| OpenError::content(ReadError::Content { path: path.to_owned(), source }))?;
        Ok(profile.to_trace_until(stop))
    }),
};

/// An object of these two sections, in either order.
fn is(look: &Look) -> bool {
    look.json.as_ref().is_some_and(|json| json.has_key("profiler") || json.has_key("graph_exec"))
}
