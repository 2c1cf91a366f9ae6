//! The files that OpenVINO's `benchmark_app` leaves.
//!
//! | option | file | content |
//! |---|---|---|
//! | `-report_type detailed_counters` | CSV with semicolons, or with `-json_stats` JSON | the nodes of each infer request, with their mean times over all inferences of the request's stream |
//! | `-report_type average_counters` | the same | the mean of these over all requests |
//! | `-pcsort` | CSV with commas, or JSON | the nodes of one request, by mean time |
//! | `-exec_graph_path` | XML | the executable graph: nodes, the layers that they were made of, kernels, values, and a time each |
//!
//! Layouts are those that OpenVINO 2021 to 2026 writes. None of the files has a start, and
//! none tells single inferences.

mod counters;
mod counters_json;
mod exec_graph;
mod sections;

use opscope_trace::ProfileFormat;

use crate::json::JsonError;

pub use counters::{looks_like as looks_like_counters, read as read_counters};
pub use counters_json::{is_key as is_json_key, names as names_in_json, read as read_json_counters};
pub use exec_graph::ExecGraph;
pub use opscope_openvino_xml::is_executable_graph;

/// The name of the format's facts.
const FORMAT: ProfileFormat = ProfileFormat::OpenVino;

/// A file that is none of them.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing of it before the damage.
    #[error("{0}; nothing before that can be used, run benchmark_app again")]
    Json(#[from] JsonError),
    /// A table without the columns that it is known by.
    #[error(
        "this has no line of headings with layerName, execStatus and realTime (ms), as benchmark_app writes it"
    )]
    NoCounters,
    /// XML without a node.
    #[error("this is no executable graph with layers, as benchmark_app -exec_graph_path writes it")]
    NoGraph,
}

/// Whether a node's status says that it ran. Words stand behind the name of their enum in the files of Python.
fn is_executed(status: &str) -> bool {
    status.rsplit('.').next().unwrap_or_default().eq_ignore_ascii_case("executed")
}

/// Whether a text is the status of a node.
fn is_status(text: &str) -> bool {
    let word = text.rsplit('.').next().unwrap_or_default();
    ["EXECUTED", "NOT_RUN", "OPTIMIZED_OUT", "INVALID_STATUS"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}
