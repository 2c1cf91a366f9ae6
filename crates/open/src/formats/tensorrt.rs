//! Files that TensorRT's `trtexec` exports: profiles with the layers and times beside them, times, layers.

use std::path::{Path, PathBuf};

use opscope_formats::tensorrt::{self, Kind, LayerInfo};
use opscope_trace::Trace;

use super::beside::{Described, Files, bytes, files_beside, files_in, only};
use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader, read_file};
use crate::look::Look;
use crate::progress::go_on;
use crate::{OpenError, Progress, Stop};

/// The format of profiles.
pub static PROFILE: Format = Format {
    name: PROFILE_NAME,
    about: Some(&PROFILE_ABOUT),
    is: |look| kind(look) == Some(Kind::Profile),
    reader: Reader::Place(|look, progress| read_profile(look.path, progress)),
};

/// The same of a folder with one of them.
pub static FOLDER: Format = Format {
    name: PROFILE_NAME,
    about: Some(&PROFILE_ABOUT),
    is: |look| look.is_folder && !profiles_in(&look.path, &look.stop).found.is_empty(),
    reader: Reader::Place(|look, progress| {
        let found = profiles_in(&look.path, &progress.stop());
        go_on(&progress.stop(), &look.path)?;
        read_profile(only(&look.path, "profiles of TensorRT", found)?, progress)
    }),
};

const PROFILE_NAME: &str = "a profile of TensorRT";

const PROFILE_ABOUT: About = About {
    kind: FormatKind::Profile,
    from: "trtexec --exportProfile (TensorRT 8 to 10), with --exportLayerInfo and --exportTimes beside it",
    reads: "each layer's mean time, of the layers beside it types, values, formats, tactics and ONNX nodes, of the \
            times the latencies; without layers the nodes that a layer's name is made of",
    written_by: None,
    lacks: "when a layer ran and how its times varied: no timeline is drawn",
    tried: Tried::EngineExplorer,
};

/// The format of times.
pub static TIMES: Format = Format {
    name: "the times of inferences by TensorRT",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "trtexec --exportTimes (TensorRT 7 to 10)",
        reads: "each inference with its copies, computing and enqueueing, on a timeline",
        written_by: None,
        lacks: "layers",
        tried: Tried::EngineExplorer,
    }),
    is: |look| kind(look) == Some(Kind::Times),
    reader: Reader::Bytes(|input, path, stop| {
        tensorrt::read_times(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};

/// The format of layers, which have no times of their own.
pub static LAYERS: Format = Format {
    name: "the layers of a TensorRT engine",
    about: None,
    is: |look| kind(look) == Some(Kind::LayerInfo),
    reader: Reader::None(
        "; put it beside the profile of the same engine (trtexec --exportProfile), and give that one",
    ),
};

fn kind(look: &Look) -> Option<Kind> {
    /// Names that tell other formats, whatever else stands beside them.
    const OF_OTHERS: [&str; 4] = ["ph", "traceEvents", "graph_exec", "profiler"];
    let json = look.json.as_ref()?;
    if json.keys_of_items().any(|key| OF_OTHERS.contains(&key)) {
        return None;
    }
    Kind::of(json.is_list, json.keys_of_items())
}

fn profiles_in(folder: &Path, stop: &Stop) -> Files {
    files_in(folder, stop, |look| kind(look) == Some(Kind::Profile))
}

fn read_profile(place: PathBuf, progress: &dyn Progress) -> Result<Content, OpenError> {
    let stop = progress.stop();
    let mut along = Vec::new();
    let trace = read_file(
        &place,
        |input, path, stop| {
            let read = |layers| {
                tensorrt::read_profile(&input, layers, stop).map_err(|error| OpenError::at(path, error))
            };
            let alone = read(None)?;
            let layers = layers_beside(path, &alone, stop);
            let mut trace = match &layers.best {
                None => alone,
                Some(layers) => read(Some(layers))?,
            };
            if let Some((path_of_times, times)) = times_beside(path, stop) {
                tensorrt::add_latencies(&mut trace, &times);
                along.push(path_of_times);
            }
            layers.count_others(&mut trace);
            Ok(trace)
        },
        &stop,
    )?;
    Ok(Content { along, ..Content::new(trace, place) })
}

/// The layers beside a profile that know most of its names.
fn layers_beside(path: &Path, alone: &Trace, stop: &Stop) -> Described<LayerInfo> {
    let is = |look: &Look| kind(look) == Some(Kind::LayerInfo);
    let read = |found: &Path| LayerInfo::read(&bytes(found, stop).ok()?).ok();
    Described::beside(path, alone, stop, is, read, LayerInfo::knows)
}

/// The times beside a profile. Of several, or beside several profiles, nothing tells which belongs to which;
/// the same holds where not all files were looked at.
fn times_beside(path: &Path, stop: &Stop) -> Option<(PathBuf, Trace)> {
    let of_kind = |wanted: Kind| files_beside(path, stop, |look| kind(look) == Some(wanted));
    let Files { found, is_all: true } = of_kind(Kind::Times) else { return None };
    let [times] = &found[..] else { return None };
    let others = of_kind(Kind::Profile).found;
    let bytes = others.is_empty().then(|| bytes(times, stop).ok()).flatten()?;
    let mut trace = tensorrt::read_times(&bytes, stop).ok()?;
    trace.drop_impossible(&times.display().to_string());
    Some((times.clone(), trace))
}
