//! A raw directory that was decoded, together with what other recorders left beside its files.

use opscope_cann::{Data, Joined, Profile, to_trace_until};
use opscope_formats::reading::Stop;
use opscope_trace::{Nanoseconds, Trace};

use super::{ascendcl, onnxruntime};
use crate::progress::begin;
use crate::{OpenError, Progress};

/// A raw directory, with what other recorders left beside its files.
#[derive(Debug)]
pub struct RawProfile {
    /// The native tables of host and devices, brought together.
    pub joined: Joined,
    /// The trace of ONNX Runtime and of AscendCL's subscription; its zero is the begin of the collection.
    pub other_recorders: Trace,
}

/// Decodes a raw directory and brings its host and device sides together.
///
/// # Errors
/// When a directory of it can't be listed, or `progress` stops it.
pub fn join(profile: Profile, progress: &dyn Progress) -> Result<RawProfile, OpenError> {
    let path = profile.path.clone();
    begin(progress, &format!("decoding {}", profile.name()), &path)?;
    let data = Data::load_until(profile, &progress.stop());
    begin(progress, "bringing host and devices together", &path)?;
    let joined = Joined::until(data?, &progress.stop()).ok_or(OpenError::Stopped { path })?;
    let mut other_recorders = Trace::new();
    onnxruntime::append(&mut other_recorders, &joined.data.profile, &progress.stop());
    ascendcl::append(&mut other_recorders, &joined.data.profile);
    Ok(RawProfile { joined, other_recorders })
}

/// The trace of a raw directory, with what ONNX Runtime and AscendCL told beside the raw files.
pub fn trace_of(raw: &RawProfile) -> Trace {
    trace_until(raw, &Stop::default())
}

/// As [`trace_of`], cut short where `stop` is wanted.
pub(super) fn trace_until(raw: &RawProfile, stop: &Stop) -> Trace {
    let mut trace = to_trace_until(&raw.joined, stop);
    trace.append(&raw.other_recorders, Nanoseconds(0));
    trace
}

/// The losses of a raw directory, as a trace that holds nothing else.
pub fn losses_of_joined(raw: &RawProfile) -> Trace {
    let mut losses = Trace::new();
    for loss in raw.joined.all_losses().rows().iter().filter(|loss| loss.kind.is_loss()) {
        losses.count_loss(loss.kind, loss.count, &loss.place);
    }
    losses.append_losses(&raw.other_recorders);
    losses
}
