//! The folders that may be read, and nothing else.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, Metadata};
use std::hash::{Hash, Hasher};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow, bail};

/// Folders, as the system names them when all links are followed.
#[derive(Clone, Debug)]
pub struct Folders(Vec<PathBuf>);

/// A path within the folders, with all links followed, and the state of what lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path.
    pub path: PathBuf,
    /// A number that changes when a file there, its size or its time changes.
    pub stamp: u64,
}

/// The most files of a folder that are looked at before it is opened. A profile of a large run has some thousands.
const MOST_FILES: usize = 200_000;

/// The deepest folder within a folder.
const DEEPEST: usize = 16;

impl Folders {
    /// The folders of a command line; the current one if it names none.
    ///
    /// # Errors
    /// When one isn't there, or is a file.
    pub fn new(named: &[PathBuf]) -> anyhow::Result<Self> {
        let here = [PathBuf::from(".")];
        let named = if named.is_empty() { &here[..] } else { named };
        let folder = |path: &PathBuf| {
            let real = path.canonicalize().with_context(|| format!("{}: cannot be read", path.display()))?;
            if !real.is_dir() {
                bail!("{}: this is a file; name the folder that it is in", path.display());
            }
            Ok(real)
        };
        named.iter().map(folder).collect::<anyhow::Result<_>>().map(Self)
    }

    /// The folders.
    pub fn all(&self) -> &[PathBuf] {
        &self.0
    }

    /// A path that a client names, from the root or from one of the folders.
    ///
    /// # Errors
    /// When there is nothing, or it or anything in it leads out of the folders.
    pub fn find(&self, named: &str) -> anyhow::Result<Place> {
        let candidates: Vec<PathBuf> = self.0.iter().map(|folder| folder.join(named)).collect();
        // Whether anything lies outside is nobody's business, so this comes before a look at the disk.
        let mut inside = candidates.iter().filter(|path| self.holds(&without_dots(path))).peekable();
        if inside.peek().is_none() {
            return Err(self.outside(named));
        }
        let Some(real) = inside.find_map(|path| path.canonicalize().ok()) else {
            bail!("{named}: there is no such file or folder in {}", self.names());
        };
        if !self.holds(&real) {
            return Err(self.outside(named));
        }
        let mut state = DefaultHasher::new();
        self.look(&real, named, DEEPEST, &mut { MOST_FILES }, &mut state)?;
        Ok(Place { path: real, stamp: state.finish() })
    }

    /// Whether a path, given with all links followed, lies in one of them.
    pub fn holds(&self, real: &Path) -> bool {
        self.0.iter().any(|folder| real.starts_with(folder))
    }

    fn outside(&self, named: &str) -> anyhow::Error {
        anyhow!("{named}: this lies outside of what may be read: {}", self.names())
    }

    fn names(&self) -> String {
        self.0.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Takes the state of a file or folder, and makes sure that no link in it leads out.
    fn look(
        &self,
        path: &Path,
        named: &str,
        depth: usize,
        left: &mut usize,
        state: &mut DefaultHasher,
    ) -> anyhow::Result<()> {
        let problem = || format!("{}: cannot be read", path.display());
        let found = fs::symlink_metadata(path).with_context(problem)?;
        let found = match found.is_symlink() {
            false => found,
            true => match path.canonicalize() {
                Ok(real) if !self.holds(&real) => {
                    bail!(
                        "{named}: {} in it is a link that leads outside of {}",
                        path.display(),
                        self.names()
                    );
                }
                // The folders above were looked at already.
                Ok(real) if path.starts_with(&real) => return Ok(()),
                Ok(real) => fs::metadata(real).with_context(problem)?,
                // A link to nothing can't be read.
                Err(_) => return Ok(()),
            },
        };
        hash(path, &found, state);
        if !found.is_dir() {
            return Ok(());
        }
        if depth == 0 {
            bail!("{named}: its folders lie more than {DEEPEST} deep; name one below");
        }
        let mut entries: Vec<PathBuf> =
            fs::read_dir(path).with_context(problem)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        for entry in entries {
            *left = left.checked_sub(1).ok_or_else(|| {
                anyhow!("{named}: there are more than {MOST_FILES} files in it; name one below")
            })?;
            self.look(&entry, named, depth - 1, left, state)?;
        }
        Ok(())
    }
}

fn hash(path: &Path, found: &Metadata, state: &mut DefaultHasher) {
    path.hash(state);
    found.len().hash(state);
    found.modified().ok().hash(state);
}

/// A path without `.` and `..`, as it is written.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_folders_is_found() {
        let all = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (all.path().join("inside"), all.path().join("outside"));
        for folder in [&inside, &outside] {
            fs::create_dir(folder).expect("a folder");
            fs::write(folder.join("a.json"), "{}").expect("a file");
        }
        let folders = Folders::new(std::slice::from_ref(&inside)).expect("folders");
        let found =
            |named: &str| folders.find(named).map(|place| place.path).map_err(|error| error.to_string());
        let real = inside.canonicalize().expect("a folder").join("a.json");
        assert_eq!(found("a.json"), Ok(real.clone()));
        assert_eq!(found(&real.display().to_string()), Ok(real));
        assert!(found("b.json").unwrap_err().contains("there is no such"));
        for named in ["../outside/a.json", "../outside/b.json", "/etc/passwd", "/nowhere", "x/../../outside"]
        {
            assert!(found(named).unwrap_err().contains("outside of what may be read"), "{named}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_out_are_refused_wherever_they_lie() {
        use std::os::unix::fs::symlink;
        let all = tempfile::tempdir().expect("a folder");
        let (inside, secret) = (all.path().join("inside"), all.path().join("secret.json"));
        fs::create_dir_all(inside.join("PROF_1/deep")).expect("a folder");
        fs::write(&secret, "{}").expect("a file");
        let folders = Folders::new(std::slice::from_ref(&inside)).expect("folders");
        let before = folders.find("PROF_1").expect("a folder");
        fs::write(inside.join("PROF_1/deep/own.json"), "{}").expect("a file");
        symlink(inside.join("PROF_1/deep/own.json"), inside.join("PROF_1/link.json")).expect("a link");
        let after = folders.find("PROF_1").expect("a folder with a link within");
        assert_ne!(before.stamp, after.stamp, "a new file is a change");
        symlink(&secret, inside.join("PROF_1/deep/out.json")).expect("a link");
        symlink(&secret, inside.join("link.json")).expect("a link");
        assert!(folders.find("PROF_1").unwrap_err().to_string().contains("leads outside"));
        assert!(folders.find("link.json").unwrap_err().to_string().contains("outside of what may be read"));
    }
}
