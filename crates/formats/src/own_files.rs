//! Which files in a folder of results opscope wrote: other tools write theirs under the same names, and
//! nothing of theirs is ever replaced.
//!
//! The list lies beside the files (`.written-by-opscope`), a line for each: size in bytes, time of the last
//! change in nanoseconds since 1970, and name, with a tab between. A file that was changed since is
//! somebody else's, and so is one that the list doesn't have.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use opscope_files::write_atomically;

const LIST: &str = ".written-by-opscope";

/// The size and time by which a file is known to be as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    size: u64,
    modified: u128,
}

impl State {
    fn of(found: &Metadata) -> Self {
        let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self { size: found.len(), modified: modified.map_or(0, |since| since.as_nanos()) }
    }
}

/// The files in a folder that opscope wrote.
#[derive(Clone, Debug)]
pub struct OwnFiles {
    folder: PathBuf,
    known: BTreeMap<String, State>,
}

impl OwnFiles {
    /// Reads the list of a folder; where there is none, nothing in it is ours.
    pub fn of(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join(LIST)).unwrap_or_default();
        let entry = |line: &str| {
            let mut fields = line.splitn(3, '\t');
            let (size, modified) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            Some((fields.next()?.to_owned(), State { size, modified }))
        };
        Self { folder: folder.to_owned(), known: text.lines().filter_map(entry).collect() }
    }

    /// Whether something is there under this name that opscope didn't write, or that was changed since.
    pub fn is_foreign(&self, name: &str) -> bool {
        match self.folder.join(name).symlink_metadata() {
            Ok(found) => !found.is_file() || self.known.get(name) != Some(&State::of(&found)),
            Err(_) => false,
        }
    }

    /// Notes files that were just written, by their names, and keeps the list.
    ///
    /// # Errors
    /// When the list can't be written.
    pub fn add<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) -> io::Result<()> {
        let before = self.known.clone();
        for name in names.into_iter().filter(|name| !name.contains(['\n', '\t'])) {
            if let Ok(found) = self.folder.join(name).symlink_metadata() {
                self.known.insert(name.to_owned(), State::of(&found));
            }
        }
        self.known.retain(|name, _| self.folder.join(name).symlink_metadata().is_ok());
        if self.known == before {
            return Ok(());
        }
        write_atomically(&self.folder.join(LIST), |out| {
            let line = |(name, state): (&String, &State)| {
                writeln!(out, "{}\t{}\t{name}", state.size, state.modified)
            };
            self.known.iter().try_for_each(line)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_ours_until_somebody_else_changes_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect(name);
        assert!(!OwnFiles::of(folder.path()).is_foreign("a.csv"), "there is nothing yet");
        write("a.csv", "1");
        write("theirs.csv", "1");
        assert!(OwnFiles::of(folder.path()).is_foreign("a.csv"));
        OwnFiles::of(folder.path()).add(["a.csv", "gone.csv"]).expect("the list");
        let own = OwnFiles::of(folder.path());
        assert!(!own.is_foreign("a.csv") && own.is_foreign("theirs.csv"));
        write("a.csv", "22");
        assert!(own.is_foreign("a.csv"), "it was changed");
        write(LIST, "x\ty\n\u{1}");
        assert!(OwnFiles::of(folder.path()).is_foreign("a.csv"), "a damaged list has nothing");
    }
}
