//! Profiles of TensorFlow and JAX, alone and in the folder of a run.

use std::path::{Path, PathBuf};

use opscope_formats::xplane;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader, read_file};
use crate::look::Look;
use crate::progress::go_on;

/// A single file.
pub static FORMAT: Format = Format {
    name: "a profile of TensorFlow or JAX",
    about: Some(&ABOUT),
    is: |look| !look.is_folder && xplane::looks_like(&look.bytes),
    reader: Reader::Bytes(read),
};

/// The folder of a run with one such file, beside which a timeline of the same run may lie.
pub static FOLDER: Format = Format {
    name: "a folder of a run of TensorFlow or JAX",
    about: Some(&About {
        from: "jax.profiler and tf.profiler: the folder plugins/profile/TIME, or the one that was named for logs",
        lacks: "*.trace.json.gz beside it, which tells less of the same run and is named",
        ..ABOUT
    }),
    is: |look| look.is_folder && !files_below(look).is_empty(),
    reader: Reader::Place(|look, progress| {
        let mut files = files_below(&look);
        let stop = progress.stop();
        let Some(place) = files.pop().filter(|_| files.is_empty()) else {
            let what = "profiles of TensorFlow or JAX, one for each host and run,";
            return Err(OpenError::Several { path: look.path.clone(), what, found: files_below(&look) });
        };
        let trace = read_file(&place, read, &stop)?;
        go_on(&stop, &place)?;
        let along = timelines_beside(&place);
        let tells = |path: &PathBuf| {
            format!("{} tells of the same run as {} and was left out", name_of(path), name_of(&place))
        };
        let remarks = along.iter().map(tells).collect();
        Ok(Content { remarks, along, ..Content::new(trace, place) })
    }),
};

const ABOUT: About = About {
    kind: FormatKind::Profile,
    from: "JAX, TensorFlow, PyTorch/XLA (*.xplane.pb of their profilers), on CPU, GPU and TPU",
    reads: "operators with HLO names, categories and operations, those of TensorFlow's executor on CPU, kernels, copies, \
            waits, calls, launches, steps, modules",
    written_by: None,
    lacks: "the HLO graphs themselves, and lines that only group others, which are counted",
    tried: Tried::RealFiles,
};

fn read(
    input: opscope_formats::input::Input,
    path: &Path,
    stop: &crate::Stop,
) -> Result<opscope_trace::Trace, OpenError> {
    xplane::read_until(&input, stop).map_err(|error| OpenError::at(path, error))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The end of a profile's name, behind that of its host.
const END: &str = ".xplane.pb";

/// No run has as many hosts.
const MOST_NAMES: usize = 10_000;

/// The files of a folder whose names end so, sorted.
fn ending_in(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| name_of(path).ends_with(end) && path.is_file())
        .collect();
    files.sort();
    files
}

/// The profiles of a run's folder, or of all runs below the folder that was named for logs
/// (`plugins/profile/TIME` in it).
fn files_below(look: &Look) -> Vec<PathBuf> {
    let own = ending_in(&look.path, END);
    if !own.is_empty() {
        return own;
    }
    let runs = std::fs::read_dir(look.path.join("plugins/profile")).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = runs.map(|entry| entry.path()).take(MOST_NAMES).collect();
    runs.sort();
    runs.iter().flat_map(|run| ending_in(run, END)).collect()
}

/// The timelines that the profiler itself writes beside a profile: that of the same host, and JAX's for Perfetto.
fn timelines_beside(place: &Path) -> Vec<PathBuf> {
    let name = name_of(place);
    let host = name.strip_suffix(END).unwrap_or(&name);
    let names =
        [format!("{host}.trace.json.gz"), format!("{host}.trace.json"), "perfetto_trace.json.gz".to_owned()];
    names.iter().map(|name| place.with_file_name(name)).filter(|path| path.is_file()).collect()
}
