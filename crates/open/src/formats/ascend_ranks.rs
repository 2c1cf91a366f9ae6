//! Sums over several ranks, which the vendor's msprof-analyze makes: a profile is of one rank, so they can't be read
//! as one. A table has a row for each rank and step, and one for each stage of a pipeline, with the greatest of its
//! ranks.

use opscope_cann::read::tables;

use super::other_database::is_database;
use crate::format::{Format, Reader};
use crate::look::Look;

/// The format.
pub static FORMAT: Format = Format {
    name: "a summary of several ranks by the Ascend tools",
    about: None,
    is,
    reader: Reader::None("; give the folder that it is in to 'opscope cluster'"),
};

/// The names of such files.
pub(crate) const NAMES: [&str; 4] = [
    "cluster_analysis.db",
    "cluster_step_trace_time.csv",
    "cluster_communication.json",
    "cluster_communication_matrix.json",
];

/// The folder that they are put into.
pub(crate) const FOLDER: &str = "cluster_analysis_output";

fn is(look: &Look) -> bool {
    /// Tables of the database, the definitions of which are at its begin.
    const TABLES: [&[u8]; 2] = [b"ClusterStepTraceTime", b"ClusterCommunicationTime"];
    if is_database(look) {
        return TABLES.iter().any(|table| look.bytes.windows(table.len()).any(|bytes| bytes == *table));
    }
    match &look.json {
        // Operations by steps, below the ranks of a group or all of them that are between two ranks.
        Some(json) => {
            let is_of_ranks = |key: &str| key == "p2p" || (key.starts_with('(') && key.ends_with(')'));
            let is_step = |key: &str| key.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("step"));
            let mut members = json.members.iter().filter(|member| member.depth == 1).peekable();
            let is_list_of_groups = json.has_key("p2p") && json.has_key("collective");
            !json.is_list
                && members.peek().is_some()
                && (is_list_of_groups
                    || (members.all(|member| is_of_ranks(&member.key))
                        && json.keys_in_members().next().is_some_and(is_step)))
        }
        None => tables::is_of_ranks(&look.bytes),
    }
}
