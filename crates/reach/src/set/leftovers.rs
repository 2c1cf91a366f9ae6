//! Files of a run that no manifest names: of an importer that was stopped between the names of its files and that of
//! its manifest, of a part whose manifest somebody deleted to import it anew, or of tables over all ranks that were
//! made before others came in, or by an earlier program. Readers of manifests don't see them, but engines that read
//! all files of a folder would count their rows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::import::lock_commits;
use super::manifest;
use super::{SetError, whole};
use crate::TABLES;

/// How old a file must be that may be one of another importer, whose manifest follows within moments.
const OLD: Duration = Duration::from_secs(3600);

/// The part, in the names of their files, of the tables over all ranks.
const WHOLE: &str = "whole";

/// Removes files that no manifest names. Those of parts of these names have no other importer; others must be old.
/// Tables over all ranks are named together with their manifest, while nobody else may name files: so whatever of them
/// isn't of the parts that there are goes at once, and nobody reads it for what it was.
///
/// # Errors
/// When a manifest can't be read.
pub fn remove(set: &Path, run: &str, own: &[String]) -> Result<(), SetError> {
    let folder = manifest::folder(set, run);
    let _held = lock_commits(&folder)?;
    let parts = manifest::manifests(set, run)?;
    let whole = whole::of_parts(&folder, &parts);
    if whole.is_none() {
        let _ = std::fs::remove_file(folder.join(whole::FILE));
    }
    let files = parts.iter().flat_map(|part| &part.files).chain(whole.iter().flat_map(|it| &it.files));
    let named = files.map(|file| set.join(&file.path)).collect();
    let now = SystemTime::now();
    let is_free = |path: &Path| {
        let is_its = |part: &str| part == WHOLE || own.iter().any(|it| it == part) || is_old(path, now);
        part_of(path).is_some_and(is_its)
    };
    // Whoever counts the rows of one that stays does so until the next import.
    unnamed(set, run, &named)
        .iter()
        .filter(|path| is_free(path))
        .for_each(|path| drop(std::fs::remove_file(path)));
    Ok(())
}

/// The files of a run's tables, as engines find them that read whole folders, without those that are named.
pub fn unnamed(set: &Path, run: &str, named: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let of_table = |table: &str| tables_below(&set.join(table).join(format!("run={run}")));
    TABLES.into_iter().flat_map(of_table).filter(|path| !named.contains(path)).collect()
}

/// The files of Parquet below a folder.
fn tables_below(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                _ if path.extension().is_some_and(|ending| ending == "parquet") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// The part that a file's name tells, `00000000-00000063` of `00000000-00000063-1a2b3c4d.parquet`, or `whole`; none of
/// files that no importer names so.
fn part_of(path: &Path) -> Option<&str> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".parquet")?;
    let (part, print) = stem.rsplit_once('-')?;
    let is_print = print.len() == 8 && print.bytes().all(|it| it.is_ascii_hexdigit());
    let is_number = |text: &str| text.len() == 8 && text.bytes().all(|it| it.is_ascii_digit());
    let is_part = part == WHOLE || part.split_once('-').is_some_and(|(a, b)| is_number(a) && is_number(b));
    (is_print && is_part).then_some(part)
}

fn is_old(path: &Path, now: SystemTime) -> bool {
    let modified = path.metadata().and_then(|it| it.modified());
    modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > OLD))
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use super::*;

    #[test]
    fn only_files_that_importers_name_are_parts() {
        let part = |name: &str| part_of(Path::new(name)).map(str::to_owned);
        assert_eq!(part("a/00000000-00000063-1a2b3c4d.parquet").as_deref(), Some("00000000-00000063"));
        assert_eq!(part("whole-1a2b3c4d.parquet").as_deref(), Some("whole"));
        for other in ["mine.parquet", "00000000-00000063.parquet", "0-63-1a2b3c4d.parquet", "whole-1a2b3c4d"]
        {
            assert_eq!(part(other), None, "{other}");
        }
    }

    #[test]
    fn files_without_a_manifest_go_when_they_are_an_importers_own_or_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let set = folder.path();
        std::fs::create_dir_all(manifest::folder(set, "r")).expect("made");
        let block = set.join("ranks/run=r/block=00000");
        std::fs::create_dir_all(&block).expect("made");
        let file = |name: &str, age: u64| {
            let path = block.join(name);
            let file = std::fs::File::create(&path).expect("made");
            let times = FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(age));
            file.set_times(times).expect("set");
            path
        };
        let own = file("00000000-00000063-1a2b3c4d.parquet", 0);
        let new = file("00000064-00000127-1a2b3c4d.parquet", 60);
        let old = file("00000128-00000191-1a2b3c4d.parquet", 2 * 3600);
        let foreign = file("mine.parquet", 2 * 3600);
        let whole = file("whole-1a2b3c4d.parquet", 0);
        remove(set, "r", &["00000000-00000063".to_owned()]).expect("no damage");
        let left = [&own, &new, &old, &foreign, &whole].map(|it| it.exists());
        assert_eq!(left, [false, true, false, true, false]);
    }
}
