//! The places of a tree that ranks are read from: folders of the frameworks' profilers, raw directories, and files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use opscope_formats::input::Input;

use super::cluster_results;
use super::collection::{self, RESULTS};
use super::profile::{DISTRIBUTED_INFO, is_own_database, tail, tells_rank};
use super::{name_of, raw};
use crate::error::ReachError;

/// The folder of results beside collections. Modes of `msprof-analyze` put copies of collections there, which are no
/// further ranks.
const ANALYSES: &str = "cluster_analysis_output";

/// The folder in which what was imported of a profile lies, beside the profile itself.
const IMPORTED: &str = "sqlite";

/// How deep below a path places are looked for.
const DEPTH: usize = 32;

/// How many links are followed.
const MOST_LINKS: usize = 20_000;

/// A place that one rank is read from, or several.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The folder of a rank that a framework's profiler wrote (`*_ascend_pt`, `*_ascend_ms`).
    Collection(PathBuf),
    /// A raw directory (`PROF_*`), of one device or several.
    Raw(PathBuf),
    /// A database of the vendor's that lies by itself (`msprof_*.db`, `msmonitor_*.db`, …).
    Database(PathBuf),
    /// A timeline of PyTorch's profiler.
    Timeline(PathBuf),
    /// A database of opscope's.
    Own(PathBuf),
    /// A folder with what `msprof-analyze` made of all ranks (`cluster_analysis.db`, or texts).
    Results(PathBuf),
}

impl Place {
    /// Whether it is of a kind that programs of many ranks write, and hardly anybody else keeps side by side.
    pub fn is_of_many(&self) -> bool {
        matches!(self, Self::Collection(_) | Self::Timeline(_))
    }

    /// The kind of a file, if it is any; damaged ones go by their name.
    fn of_file(path: &Path) -> Option<Self> {
        let name = name_of(path);
        let is_json = name.ends_with(".json") || name.ends_with(".json.gz");
        if is_json {
            return is_ranks_timeline(path, &name).then(|| Self::Timeline(path.to_owned()));
        }
        if !name.ends_with(".db") {
            return None;
        }
        if collection::is_profilers(&name) || ["msprof_", "msmonitor_"].iter().any(|it| name.starts_with(it))
        {
            return Some(Self::Database(path.to_owned()));
        }
        is_own_database(path).then(|| Self::Own(path.to_owned()))
    }
}

/// Whether a file of JSON is a timeline that tells its rank, within or by its name.
fn is_ranks_timeline(path: &Path, name: &str) -> bool {
    const HEAD: u64 = 64 << 10;
    let Ok((_, head)) = Input::head(path, HEAD) else { return false };
    // An empty file tells its rank by its name alone, and nothing else.
    if head.is_empty() {
        return tells_rank(name) || name.contains(".pt.trace.json");
    }
    let has = |word: &[u8]| holds(&head, word);
    let is_at_end = || tail(path).is_some_and(|tail| holds(&tail, DISTRIBUTED_INFO));
    has(DISTRIBUTED_INFO) || has(b"\"traceEvents\"") && (tells_rank(name) || is_at_end())
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

/// Adds the places at and below a path.
///
/// # Errors
/// When it isn't there or can't be listed.
pub fn places_below(path: &Path, found: &mut BTreeSet<Place>) -> Result<(), ReachError> {
    if path.is_file() {
        // A file that is given is a rank, or refused.
        let place = match cluster_results::is_one(&name_of(path)) {
            true => path.parent().map(|folder| match folder.as_os_str().is_empty() {
                true => Place::Results(PathBuf::from(".")),
                false => Place::Results(folder.to_owned()),
            }),
            false => Place::of_file(path),
        };
        found.insert(place.ok_or_else(|| ReachError::NoCollections(path.to_owned()))?);
        return Ok(());
    }
    if !path.is_dir() {
        let is_address = path.to_str().is_some_and(|path| path.contains("://"));
        return Err(if is_address { ReachError::Address } else { ReachError::NotThere }(path.to_owned()));
    }
    let mut below = BTreeSet::new();
    let mut links = BTreeSet::new();
    descend(path, DEPTH, &mut links, &mut below)?;
    follow(path, links, &mut below);
    // Results count where the ranks themselves are gone.
    if below.is_empty() {
        let folders = [path.to_owned(), path.join(ANALYSES)];
        let with_results = folders.into_iter().find(|folder| cluster_results::are_in(folder));
        below.extend(with_results.map(Place::Results));
    }
    found.append(&mut below);
    Ok(())
}

/// Adds the places at and below a folder, and the links that lie there.
fn descend(
    path: &Path,
    depth: usize,
    links: &mut BTreeSet<PathBuf>,
    found: &mut BTreeSet<Place>,
) -> Result<(), ReachError> {
    let name = name_of(path);
    if path.join(RESULTS).is_dir() || collection::is_named_so(&name) {
        found.insert(Place::Collection(path.to_owned()));
        return Ok(());
    }
    if raw::is_raw(path) {
        found.insert(Place::Raw(path.to_owned()));
        return Ok(());
    }
    let unreadable = |source| ReachError::Unreadable { path: path.to_owned(), source };
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let Ok(kind) = entry.file_type() else { continue };
        let is_passed = [ANALYSES, IMPORTED].iter().any(|it| entry.file_name() == *it);
        if kind.is_symlink() && !is_passed {
            links.insert(entry.path());
        } else if kind.is_file() {
            found.extend(Place::of_file(&entry.path()));
        } else if kind.is_dir() && depth > 0 && !is_passed {
            descend(&entry.path(), depth - 1, links, found)?;
        }
    }
    Ok(())
}

/// Adds the places to which links lead, by the names of the links. A link into the tree that was looked at, or above it,
/// leads to nothing new, and so does a second one to the same place.
fn follow(root: &Path, mut links: BTreeSet<PathBuf>, found: &mut BTreeSet<Place>) {
    let Ok(root) = root.canonicalize() else { return };
    let mut seen = BTreeSet::from([root]);
    while let Some(link) = links.pop_first() {
        let Ok(target) = link.canonicalize() else { continue };
        let is_within = target.ancestors().any(|above| seen.contains(above));
        let is_above = seen.range(target.clone()..).next().is_some_and(|other| other.starts_with(&target));
        if seen.len() > MOST_LINKS || is_within || is_above {
            continue;
        }
        seen.insert(target);
        match link.is_file() {
            true => found.extend(Place::of_file(&link)),
            // A folder that can't be read is nothing that anybody meant.
            false => drop(descend(&link, DEPTH, &mut links, found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cluster_results::RESULTS_DATABASE;
    use super::*;

    fn found(path: &Path) -> BTreeSet<Place> {
        let mut found = BTreeSet::new();
        places_below(path, &mut found).expect("a folder");
        found
    }

    #[test]
    fn copies_among_results_are_no_ranks_unless_they_are_asked_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let copies = folder.path().join(ANALYSES).join("p2p_pairing");
        for rank in [folder.path().join("a_ascend_pt"), copies.join("a_ascend_pt")] {
            std::fs::create_dir_all(rank).expect("a writable temporary folder");
        }
        let collection = |folder: &Path| BTreeSet::from([Place::Collection(folder.join("a_ascend_pt"))]);
        assert_eq!(found(folder.path()), collection(folder.path()));
        assert_eq!(found(&copies), collection(&copies));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_circles_of_them_end() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (here, elsewhere) = (folder.path().join("here"), folder.path().join("elsewhere/a_ascend_pt"));
        std::fs::create_dir_all(&here).expect("a writable temporary folder");
        std::fs::create_dir_all(&elsewhere).expect("a writable temporary folder");
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, here.join(name)).expect("a link");
        link(&elsewhere, "a_ascend_pt");
        link(&elsewhere, "again_ascend_pt");
        link(folder.path(), "circle");
        link(&here, "latest");
        link(&folder.path().join("gone"), "gone");
        std::fs::create_dir(here.join("b_ascend_pt")).expect("a writable temporary folder");
        link(&here.join("b_ascend_pt"), "newest");
        let place = |name: &str| Place::Collection(here.join(name));
        assert_eq!(found(&here), BTreeSet::from([place("a_ascend_pt"), place("b_ascend_pt")]));
    }

    #[test]
    fn results_count_where_the_ranks_are_gone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let results = folder.path().join(ANALYSES);
        std::fs::create_dir(&results).expect("a writable temporary folder");
        std::fs::write(results.join(RESULTS_DATABASE), "").expect("a writable temporary folder");
        let only = BTreeSet::from([Place::Results(results.clone())]);
        assert_eq!((found(folder.path()), found(&results)), (only.clone(), only));
        std::fs::create_dir(folder.path().join("a_ascend_pt")).expect("a writable temporary folder");
        assert_eq!(
            found(folder.path()),
            BTreeSet::from([Place::Collection(folder.path().join("a_ascend_pt"))])
        );
    }

    #[test]
    fn texts_of_results_count_as_their_database_does() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = folder.path().join("cluster_step_trace_time.csv");
        std::fs::write(&text, "").expect("a writable temporary folder");
        let only = BTreeSet::from([Place::Results(folder.path().to_owned())]);
        assert_eq!((found(folder.path()), found(&text)), (only.clone(), only));
    }

    #[test]
    fn timelines_count_that_tell_their_rank() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a writable temporary folder");
            path
        };
        let told = write("a.json", r#"{"distributedInfo": {"rank": 3}, "traceEvents": []}"#);
        let named = write("rank-1.json", r#"{"traceEvents": []}"#);
        write("b.json", r#"{"traceEvents": []}"#);
        write("rank2.json", r#"{"model": "x"}"#);
        assert_eq!(found(folder.path()), BTreeSet::from([Place::Timeline(told), Place::Timeline(named)]));
    }
}
