//! The files that TensorRT's `trtexec` exports.
//!
//! | option | file | content |
//! |---|---|---|
//! | `--exportProfile` | a list: `{"count": N}`, then an object for each layer | times of the layers, summed up over N inferences |
//! | `--exportLayerInfo` | an object: `Layers`, `Bindings` | the layers: names alone, or with `--profilingVerbosity=detailed` types, values, formats, and the ONNX nodes that a layer was made of |
//! | `--exportTimes` | a list of objects | when each inference was enqueued, copied, computed |
//!
//! Layouts are those of the exports of TensorRT 8.0 to 10 that are public. A profile has no starts; the export of
//! times has, of inferences and their copies.

mod layer_info;
mod profile;
mod times;

use opscope_trace::{LossKind, Nanoseconds, ProfileFormat, Trace, UnrecordedIteration};

use crate::json::JsonError;
use crate::reading::Stop;

pub use layer_info::LayerInfo;

/// Which of the files JSON is, by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `--exportProfile`.
    Profile,
    /// `--exportLayerInfo`.
    LayerInfo,
    /// `--exportTimes`.
    Times,
}

impl Kind {
    /// The kind of a list whose items have these members, or of an object with these.
    pub fn of<'k>(is_list: bool, mut keys: impl Iterator<Item = &'k str>) -> Option<Self> {
        if !is_list {
            return keys.any(|key| key == "Layers").then_some(Self::LayerInfo);
        }
        keys.find_map(|key| match key {
            "averageMs" | "timeMs" => Some(Self::Profile),
            "startComputeMs" | "endComputeMs" => Some(Self::Times),
            _ => None,
        })
    }
}

/// JSON that is none of the files.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing of it before the damage.
    #[error("{0}; nothing before that can be used, export it again with trtexec")]
    Json(#[from] JsonError),
}

/// Reads a profile as a trace of one mean inference, its layers as `layers` describes them, until `stop` is wanted.
///
/// # Errors
/// When there is no layer before the file breaks off.
pub fn read_profile(json: &[u8], layers: Option<&LayerInfo>, stop: &Stop) -> Result<Trace, ReadError> {
    profile::read(json, layers, stop)
}

/// Reads the export of times as a trace, until `stop` is wanted.
///
/// # Errors
/// When there is no inference before the file breaks off.
pub fn read_times(json: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    times::read(json, stop)
}

/// Enters the inferences whose times were exported beside a profile as those of which no layer was recorded: `trtexec`
/// takes the profile of its layers in a run of its own.
pub fn add_latencies(trace: &mut Trace, times: &Trace) {
    for (id, row) in times.iterations.iter() {
        let number = id.index() as u32 + 1;
        trace.unrecorded_iterations.push(UnrecordedIteration {
            model: None,
            number,
            warm_up: false,
            start: row.start,
            duration: row.duration,
        });
    }
    for (_, loss) in times.losses.iter() {
        trace.count_loss(loss.kind, loss.count, times.strings.get(loss.detail));
    }
}

/// The name of the format's facts.
const FORMAT: ProfileFormat = ProfileFormat::TensorRt;

/// Counts the damage that ended a file.
fn count_cut(trace: &mut Trace, error: &JsonError) {
    trace.count_loss(LossKind::CutLayers, 1, &error.to_string());
}

/// Milliseconds as a place in time, which may lie before the zero.
fn instant(milliseconds: f64) -> Option<Nanoseconds> {
    const FARTHEST: f64 = 1e17;
    let nanoseconds = milliseconds * 1e6;
    (nanoseconds.abs() <= FARTHEST).then(|| Nanoseconds(nanoseconds.round() as i64))
}
