//! Files that OpenVINO's `benchmark_app` leaves: counters with the executable graph beside them, and the graph alone.

use std::path::{Path, PathBuf};

use opscope_formats::input::Input;
use opscope_formats::openvino::{
    self, ExecGraph, is_executable_graph, is_json_key, looks_like_counters, read_counters, read_json_counters,
};
use opscope_trace::Trace;

use super::beside::{Described, bytes, files_in, only};
use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader, read_file};
use crate::look::Look;
use crate::progress::go_on;
use crate::{OpenError, Progress, Stop};

/// The format of counters, as a table or as JSON.
pub static COUNTERS: Format = Format {
    name: NAME,
    about: Some(&ABOUT),
    is: is_counters,
    reader: Reader::Place(|look, progress| read_profile(look.path, progress)),
};

/// The same of a folder with one of them.
pub static FOLDER: Format = Format {
    name: NAME,
    about: Some(&ABOUT),
    is: |look| look.is_folder && !files_in(&look.path, &look.stop, is_counters).found.is_empty(),
    reader: Reader::Place(|look, progress| {
        let found = files_in(&look.path, &progress.stop(), is_counters);
        go_on(&progress.stop(), &look.path)?;
        read_profile(only(&look.path, "profiles of OpenVINO", found)?, progress)
    }),
};

const NAME: &str = "a profile of OpenVINO";

const ABOUT: About = About {
    kind: FormatKind::Profile,
    from: "benchmark_app -report_type detailed_counters or average_counters, also with -json_stats and -pcsort \
           (OpenVINO 2021 to 2026), with -exec_graph_path beside it",
    reads: "the nodes with their mean time and kernel; of the graph beside them the original layers, values and \
            precisions",
    written_by: None,
    lacks: "when a node ran: no timeline is drawn; latencies of benchmark_report.csv; what the JSON of Python's tool \
            leaves out of averages: all nodes but the first",
    tried: Tried::RealFiles,
};

/// The format of executable graphs.
pub static GRAPH: Format = Format {
    name: "an executable graph of OpenVINO",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "benchmark_app -exec_graph_path, CompiledModel.get_runtime_model (OpenVINO 2021 to 2026)",
        reads: "the nodes with their mean time, original layers, kernels, values and precisions; those that ran while \
                the network was loaded, as calls",
        written_by: None,
        lacks: "when a node ran: no timeline is drawn",
        tried: Tried::RealFiles,
    }),
    is: is_graph,
    reader: Reader::Bytes(|input, path, stop| {
        let graph = ExecGraph::read(&input, stop).map_err(|error| OpenError::at(path, error))?;
        Ok(graph.to_trace())
    }),
};

fn is_counters(look: &Look) -> bool {
    let is_json =
        || look.json.as_ref().is_some_and(|json| !json.is_list && json.keys_of_items().any(is_json_key));
    looks_like_counters(&look.bytes) || is_json()
}

fn is_graph(look: &Look) -> bool {
    is_executable_graph(&look.bytes)
}

fn read_profile(place: PathBuf, progress: &dyn Progress) -> Result<Content, OpenError> {
    let stop = progress.stop();
    let trace = read_file(
        &place,
        |input, path, stop| {
            let read = |graph: Option<&ExecGraph>| {
                counters(&input, graph, stop).map_err(|error| OpenError::at(path, error))
            };
            let alone = read(None)?;
            let graphs = graph_beside(path, &alone, stop);
            let mut trace = match &graphs.best {
                None => alone,
                Some(graph) => read(Some(graph))?,
            };
            graphs.count_others(&mut trace);
            Ok(trace)
        },
        &stop,
    )?;
    Ok(Content { trace, place, remarks: Vec::new(), files: Vec::new() })
}

fn counters(input: &Input, graph: Option<&ExecGraph>, stop: &Stop) -> Result<Trace, openvino::ReadError> {
    match looks_like_counters(input) {
        true => read_counters(input, graph, stop),
        false => read_json_counters(input, graph, stop),
    }
}

/// The graph beside counters that knows most of their nodes.
fn graph_beside(path: &Path, alone: &Trace, stop: &Stop) -> Described<ExecGraph> {
    let read = |found: &Path| ExecGraph::read(&bytes(found, stop).ok()?, stop).ok();
    Described::beside(path, alone, stop, is_graph, read, ExecGraph::knows)
}
