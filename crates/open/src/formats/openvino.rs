//! Files that OpenVINO's `benchmark_app` leaves: counters with the executable graph beside them, and the graph alone.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use opscope_formats::input::Input;
use opscope_formats::openvino::{
    self, ExecGraph, is_executable_graph, is_json_key, looks_like_counters, names_in_json, read_counters,
    read_json_counters,
};
use opscope_trace::Trace;

use super::beside::{Described, Files, bytes, files_beside, files_in, only};
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
        let stop = progress.stop();
        let found = files_in(&look.path, &stop, is_counters);
        let of_one_run = of_one_run(&found, &stop);
        go_on(&stop, &look.path)?;
        let Some([place, other]) = of_one_run else {
            return read_profile(only(&look.path, "profiles of OpenVINO", found)?, progress);
        };
        let name = name_of(&other);
        let remark = format!("{name} tells of the same run as {} and was left out", name_of(&place));
        let content = read_profile(place, progress)?;
        Ok(Content { remarks: vec![remark], ..content })
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
    let mut remarks = Vec::new();
    let trace = read_file(
        &place,
        |input, path, stop| {
            let read = |graph: Option<&ExecGraph>| {
                counters(&input, graph, stop).map_err(|error| OpenError::at(path, error))
            };
            let alone = read(None)?;
            if alone.operators.is_empty()
                && let Some((name, trace)) = graph_in_place(&input, path, stop)
            {
                remarks.push(format!(
                    "{} tells no time of a node, as reports of averages in JSON may; all times are those of {name}",
                    name_of(path)
                ));
                return Ok(trace);
            }
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
    Ok(Content { remarks, ..Content::new(trace, place) })
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The two files that one run leaves with `-pcsort`, of which one has the nodes by their time: first the one that tells
/// of more nodes, which the order of the run decides where they tell of the same. Nothing of other files.
fn of_one_run(files: &Files, stop: &Stop) -> Option<[PathBuf; 2]> {
    let [first, second] = &files.found[..] else { return None };
    let are_sorted = [first, second].map(|path| is_sorted(path, stop));
    let (run, sorted) = match are_sorted {
        [false, true] => (first, second),
        [true, false] => (second, first),
        _ => return None,
    };
    let nodes = |path: &Path| -> Option<HashSet<String>> {
        let trace = counters(&bytes(path, stop).ok()?, None, stop).ok()?;
        Some(trace.operators.name().iter().map(|name| trace.strings.get(*name).to_owned()).collect())
    };
    let (of_run, of_sorted) = (nodes(run)?, nodes(sorted)?);
    let pair = [run, sorted].map(Clone::clone);
    match () {
        () if !files.is_all => None,
        () if of_sorted.is_subset(&of_run) => Some(pair),
        // Averages as JSON may lack nodes.
        () if of_run.is_subset(&of_sorted) => Some([pair[1].clone(), pair[0].clone()]),
        () => None,
    }
}

/// Whether counters are those of `-pcsort`: tables of these have commas, and JSON says so.
fn is_sorted(path: &Path, stop: &Stop) -> bool {
    let Ok(look) = Look::met(path, stop) else { return false };
    let head = String::from_utf8_lossy(&look.bytes);
    let said = head.split_once("\"report_type\"").and_then(|(_, rest)| rest.split('"').nth(1));
    said.map_or_else(|| head.starts_with("layerName,"), |said| said.starts_with("sort"))
}

fn counters(input: &Input, graph: Option<&ExecGraph>, stop: &Stop) -> Result<Trace, openvino::ReadError> {
    match looks_like_counters(input) {
        true => read_counters(input, graph, stop),
        false => read_json_counters(input, graph, stop),
    }
}

/// The only graph beside counters without times that knows all nodes which these name, and has times: its name and
/// what it tells. Counters that name nothing are of any network.
fn graph_in_place(input: &Input, path: &Path, stop: &Stop) -> Option<(String, Trace)> {
    let names = names_in_json(input, stop);
    let Files { found, is_all } = files_beside(path, stop, is_graph);
    let mut graphs = found.iter().filter_map(|found| {
        let graph = ExecGraph::read(&bytes(found, stop).ok()?, stop).ok()?;
        let is_it = graph.has_times() && names.iter().all(|name| graph.knows(name));
        is_it.then(|| (name_of(found), graph.to_trace()))
    });
    let only = graphs.next().filter(|_| is_all && !names.is_empty())?;
    graphs.next().is_none().then_some(only)
}

/// The graph beside counters that knows most of their nodes.
fn graph_beside(path: &Path, alone: &Trace, stop: &Stop) -> Described<ExecGraph> {
    let read = |found: &Path| ExecGraph::read(&bytes(found, stop).ok()?, stop).ok();
    Described::beside(path, alone, stop, is_graph, read, ExecGraph::knows)
}
