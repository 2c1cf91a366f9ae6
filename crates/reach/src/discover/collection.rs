//! A look at the folder of a rank that a framework's profiler wrote.

use std::path::Path;

use serde_json::Value;

use super::collected::options_of;
use super::found::Found;
use super::{Declared, Format, Outputs, Whole, metadata, name_of, raw};
use crate::database;
use crate::error::{Loss, LossReason};

/// The folder of a collection in which its results are.
pub const RESULTS: &str = "ASCEND_PROFILER_OUTPUT";

/// The ends of the names of collections: of the profilers of PyTorch and MindSpore.
const ENDS: [&str; 2] = ["_ascend_pt", "_ascend_ms"];

/// The begins of the names of their databases.
const PROFILERS: [&str; 2] = ["ascend_pytorch_profiler", "ascend_mindspore_profiler"];

/// Whether a folder's name is a collection's.
pub fn is_named_so(name: &str) -> bool {
    ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a file's name is that of a database of these profilers.
pub fn is_profilers(name: &str) -> bool {
    PROFILERS.iter().any(|begin| name.starts_with(begin))
}

/// How much of a collection is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// All that tells whose it is.
    Whole,
    /// No database where names and texts tell the rank, its groups and a host: opening one takes as long as reading a
    /// table.
    NamesAndTexts,
}

/// Looks at a collection: its files, and who it says that it is.
pub fn look_at(folder: &Path, depth: Depth) -> Found {
    let name = name_of(folder);
    let (worker, taken) = parts_of(&name);
    let (outputs, of_database) = outputs_of(&folder.join(RESULTS));
    let mut found = Found { host: worker, taken, outputs, ..Found::at(folder) };
    found.or_host_above();
    if found.outputs.is_empty() {
        raw::look_within(folder, &mut found);
    }
    let mut said: Vec<Option<u32>> = take_info(folder, &mut found);
    said.push(of_database);
    let mut of_files = json(&folder.join("profiler_metadata.json"), &mut found.losses);
    said.push(found.rank);
    let is_told = said.iter().any(Option::is_some) && of_files.is_some() && !found.is_host_above;
    if let Some(path) = found.outputs.database.clone()
        && (depth == Depth::Whole || !is_told)
        && let Ok(identity) = database::identity(&path)
    {
        if let Some(host) = identity.host {
            found.take_host(host, identity.host_uid);
        }
        if let Some((rank, device)) = identity.ranks_and_devices.last() {
            said.push(*rank);
            found.device = rank.and(Some(*device));
        }
        of_files = of_files.or(identity.metadata);
    }
    if let Some(of_files) = &of_files {
        said.push(take_metadata(&mut found, of_files));
    }
    said.push(rank_in(&name));
    found.take_rank(said);
    if let Some(timeline) = &mut found.outputs.timeline {
        timeline.declared = Declared::of(&found.groups, found.rank);
    }
    if found.outputs.has_only_a_timeline() {
        found.outputs.whole = found.outputs.timeline.take();
    }
    found
}

/// Takes what a framework's metadata say of the job; returns the rank that they name.
pub fn take_metadata(found: &mut Found, metadata: &Value) -> Option<u32> {
    found.groups = metadata::groups(metadata);
    let arguments = metadata::member(metadata, "distributed_args").unwrap_or(Value::Null);
    found.world_size = metadata::number(&arguments, "world_size");
    found.layout = metadata::layout(&arguments);
    metadata::tell_uses(&mut found.groups, &arguments);
    metadata::number(&arguments, "rank")
}

/// The worker and the time in a name such as `worker_PID_TIME_ascend_pt`.
fn parts_of(name: &str) -> (String, String) {
    let stem = ENDS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or_default();
    let mut parts = stem.rsplitn(3, '_');
    let (taken, process, worker) = (parts.next(), parts.next(), parts.next());
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (taken.filter(is_number), process.filter(is_number), worker) {
        (Some(taken), Some(_), Some(worker)) => (worker.to_owned(), taken.to_owned()),
        _ => (String::new(), String::new()),
    }
}

/// Takes what the files `profiler_info_N.json` say of the recording; returns the ranks that they name, in their names
/// and within.
fn take_info(folder: &Path, found: &mut Found) -> Vec<Option<u32>> {
    let mut ranks = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<std::path::PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = name_of(&path);
        let Some(number) = name.strip_prefix("profiler_info").and_then(|it| it.strip_suffix(".json")) else {
            continue;
        };
        ranks.push(number.strip_prefix('_').and_then(|number| number.parse().ok()));
        let said = json(&path, &mut Vec::new());
        ranks.push(said.as_ref().and_then(|said| metadata::number(said, "rank_id")));
        found.collected.extend(said.as_ref().map(options_of).unwrap_or_default());
    }
    ranks
}

/// The rank in the name of a folder or file, as in `rank12`.
pub fn rank_in(name: &str) -> Option<u32> {
    let number = |(at, word): (usize, &str)| {
        let is_word = !name[..at].ends_with(|letter: char| letter.is_alphabetic());
        let behind = name[at + word.len()..].trim_start_matches(['_', '-']);
        let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|_| is_word)
    };
    name.match_indices("rank").find_map(number)
}

/// The files of a folder that are read, and the rank in the name of the database.
fn outputs_of(folder: &Path) -> (Outputs, Option<u32>) {
    let (mut outputs, mut rank) = (Outputs::default(), None);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = |begin: &str| Some(name.strip_prefix(begin)?.strip_suffix(".db")?.to_owned());
        let profiler = PROFILERS.iter().find_map(|begin| number(begin));
        let place = match (&*name, profiler) {
            (_, Some(number)) => {
                rank = number.strip_prefix('_').and_then(|number| number.parse().ok());
                &mut outputs.database
            }
            ("analysis.db" | "communication_analyzer.db", _) => &mut outputs.analysis,
            ("kernel_details.csv", _) => &mut outputs.kernels,
            ("communication.json", _) => &mut outputs.communication,
            ("communication_matrix.json", _) => &mut outputs.matrix,
            ("step_trace_time.csv", _) => &mut outputs.steps,
            ("trace_view.json", _) => {
                let declared = Declared::default();
                let path = entry.path();
                outputs.timeline = Some(Whole { path, device: None, format: Format::Timeline, declared });
                continue;
            }
            _ => continue,
        };
        *place = Some(entry.path());
    }
    (outputs, rank)
}

/// A file of JSON; none if it isn't there, or is damaged, which is told.
pub fn json(path: &Path, losses: &mut Vec<Loss>) -> Option<Value> {
    let bytes = opscope_files::read_plain(path).ok()?;
    serde_json::from_slice(&bytes)
        .inspect_err(|error| {
            let loss = Loss::new(None, path.display().to_string(), LossReason::Damaged, 1);
            losses.push(loss.because(error));
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folders_name_tells_worker_and_time() {
        let parts = |name| {
            let (worker, taken) = parts_of(name);
            format!("{worker} {taken}")
        };
        assert_eq!(parts("node_a_123_20251009080000000_ascend_pt"), "node_a 20251009080000000");
        assert_eq!(parts("something_ascend_ms"), " ");
        assert_eq!((rank_in("run_rank12"), rank_in("rank_3"), rank_in("frank")), (Some(12), Some(3), None));
        assert_eq!((rank_in("ranks8_rank1"), rank_in("frank_3")), (Some(1), None));
    }
}
