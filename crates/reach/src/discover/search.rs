//! The folders of a tree that are collections, and one look at each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::jobs::{Members, Saying};
use super::metadata::{self, Group};
use super::{Outputs, name_of};
use crate::database;
use crate::error::{Loss, LossReason, ReachError};

/// The folder of a collection in which its results are.
const RESULTS: &str = "ASCEND_PROFILER_OUTPUT";

/// The ends of the names of collections: of the profilers of PyTorch and MindSpore.
const ENDS: [&str; 2] = ["_ascend_pt", "_ascend_ms"];

/// The folder of results beside collections. Modes of `msprof-analyze` put copies of collections there, which are no
/// further ranks.
const ANALYSES: &str = "cluster_analysis_output";

/// How deep below a path collections are looked for.
const DEPTH: usize = 8;

/// The findings of a look at a collection.
pub struct Found {
    pub folder: PathBuf,
    pub rank: Option<u32>,
    pub host: String,
    pub device: Option<u32>,
    pub taken: String,
    pub outputs: Outputs,
    pub groups: BTreeMap<u64, Group>,
    pub world_size: Option<u32>,
    pub layout: Vec<(String, u32)>,
    pub losses: Vec<Loss>,
}

impl Found {
    /// The words about its job, of a collection whose rank is known.
    pub fn saying(&self, rank: u32, known: &mut BTreeSet<Members>) -> Saying<'_> {
        let groups = self.groups.iter().map(|(key, group)| (*key, &group.ranks[..]));
        Saying::new(vec![rank], &self.folder, self.world_size, groups, known)
    }
}

/// Adds the collections at and below a path.
///
/// # Errors
/// When it isn't there or can't be listed.
pub fn collections_below(path: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), ReachError> {
    if !path.is_dir() {
        return Err(ReachError::NotThere(path.to_owned()));
    }
    descend(path, DEPTH, found)
}

fn descend(path: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> Result<(), ReachError> {
    let name = name_of(path);
    if path.join(RESULTS).is_dir() || ENDS.iter().any(|end| name.ends_with(end)) {
        found.insert(path.to_owned());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let unreadable = |source| ReachError::Unreadable { path: path.to_owned(), source };
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // Links aren't followed, so that a circle of them has an end.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ANALYSES {
            descend(&entry.path(), depth - 1, found)?;
        }
    }
    Ok(())
}

/// Looks at a collection: its files, and who it says that it is.
pub fn look_at(folder: &Path) -> Found {
    let name = name_of(folder);
    let (worker, taken) = parts_of(&name);
    let (outputs, of_database) = outputs_of(&folder.join(RESULTS));
    let mut found = Found {
        folder: folder.to_owned(),
        rank: None,
        host: worker,
        device: None,
        taken,
        outputs,
        groups: BTreeMap::new(),
        world_size: None,
        layout: Vec::new(),
        losses: Vec::new(),
    };
    if found.host.is_empty() {
        found.host = folder.parent().map(name_of).unwrap_or_default();
    }
    let mut said: Vec<Option<u32>> = ranks_of_info(folder);
    said.push(of_database);
    let mut of_files = json(&folder.join("profiler_metadata.json"), &mut found.losses);
    if let Some(path) = found.outputs.database.clone()
        && let Ok(identity) = database::identity(&path)
    {
        if let Some(host) = identity.host {
            found.host = host;
        }
        if let Some((rank, device)) = identity.rank_and_device {
            said.push(Some(rank));
            found.device = Some(device);
        }
        of_files = of_files.or(identity.metadata);
    }
    if let Some(of_files) = &of_files {
        found.groups = metadata::groups(of_files);
        let arguments = metadata::member(of_files, "distributed_args").unwrap_or(Value::Null);
        found.world_size = metadata::number(&arguments, "world_size");
        found.layout = metadata::layout(&arguments);
        said.push(metadata::number(&arguments, "rank"));
    }
    said.push(rank_in(&name));
    let mut said = said.into_iter().flatten();
    found.rank = said.next();
    if let Some(other) = said.find(|rank| Some(*rank) != found.rank) {
        let loss = Loss::new(found.rank, folder.display().to_string(), LossReason::Contradiction, 1);
        found.losses.push(loss.because(format!("rank {other}")));
    }
    found
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

/// The ranks that the files `profiler_info_N.json` name, in their names and in what they hold.
fn ranks_of_info(folder: &Path) -> Vec<Option<u32>> {
    let mut ranks = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(number) = name.strip_prefix("profiler_info").and_then(|it| it.strip_suffix(".json")) else {
            continue;
        };
        ranks.push(number.strip_prefix('_').and_then(|number| number.parse().ok()));
        let said = json(&entry.path(), &mut Vec::new());
        ranks.push(said.and_then(|said| metadata::number(&said, "rank_id")));
    }
    ranks
}

/// The rank in the name of a folder, as in `rank12`.
fn rank_in(name: &str) -> Option<u32> {
    let (_, behind) = name.split_once("rank")?;
    let digits: String =
        behind.trim_start_matches(['_', '-']).chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The files of a folder that are read, and the rank in the name of the database.
fn outputs_of(folder: &Path) -> (Outputs, Option<u32>) {
    let (mut outputs, mut rank) = (Outputs::default(), None);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = |begin: &str| Some(name.strip_prefix(begin)?.strip_suffix(".db")?.to_owned());
        let profiler = number("ascend_pytorch_profiler").or_else(|| number("ascend_mindspore_profiler"));
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
            _ => continue,
        };
        *place = Some(entry.path());
    }
    (outputs, rank)
}

/// A file of JSON; none if it isn't there, or is damaged, which is told.
fn json(path: &Path, losses: &mut Vec<Loss>) -> Option<Value> {
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
    fn copies_among_results_are_no_ranks_unless_they_are_asked_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let copies = folder.path().join(ANALYSES).join("p2p_pairing");
        for rank in [folder.path().join("a_ascend_pt"), copies.join("a_ascend_pt")] {
            std::fs::create_dir_all(rank).expect("a writable temporary folder");
        }
        let found = |path: &Path| {
            let mut found = BTreeSet::new();
            collections_below(path, &mut found).expect("a folder");
            found
        };
        assert_eq!(found(folder.path()), BTreeSet::from([folder.path().join("a_ascend_pt")]));
        assert_eq!(found(&copies), BTreeSet::from([copies.join("a_ascend_pt")]));
    }

    #[test]
    fn a_folders_name_tells_worker_and_time() {
        let parts = |name| {
            let (worker, taken) = parts_of(name);
            format!("{worker} {taken}")
        };
        assert_eq!(parts("node_a_123_20251009080000000_ascend_pt"), "node_a 20251009080000000");
        assert_eq!(parts("something_ascend_ms"), " ");
        assert_eq!((rank_in("run_rank12"), rank_in("rank_3"), rank_in("frank")), (Some(12), Some(3), None));
    }
}
