//! Where the results of a raw directory lie, and who may write them.
//!
//! | place | holds |
//! |---|---|
//! | `sqlite/opscope.db` | the imported trace |
//! | `sqlite/.opscope.lock` | the lock of whoever writes results, while that lasts |
//! | `mindstudio_profiler_output/` | exported tables and timelines |
//! | `msprof_<time>.db` | the exported database |
//!
//! They lie below the profile, or where the user says, or in the user's cache folder where the
//! profile can't be written to.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use opscope_cann::Profile;
use opscope_formats::Unfinished;

use crate::commands::run::create_folder;
use crate::terminal::Terminal;

/// The folder that the results of one profile go to.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
}

impl Results {
    /// The place for the results of a profile: `chosen` if the user chose one, else below the profile,
    /// else, where that can't be written to, in the user's cache folder, which is said.
    ///
    /// # Errors
    /// When nothing can be written to the chosen place, or nowhere.
    pub fn place(profile: &Profile, chosen: Option<PathBuf>, terminal: &Terminal) -> anyhow::Result<Self> {
        if let Some(folder) = chosen {
            let results = Self { folder };
            create_folder(&results.folder)?;
            results.prepare()?;
            return Ok(results);
        }
        let below = Self { folder: profile.path.clone() };
        let Err(problem) = below.prepare() else { return Ok(below) };
        let Some(results) = Self::in_cache(profile) else {
            return Err(problem.context("name another place with --output DIR"));
        };
        let unusable = || format!("{problem:#}, and neither can the user's cache folder; give --output DIR");
        results.prepare().with_context(unusable)?;
        let folder = results.folder.display();
        terminal.warn(&format!("{problem:#}; results go to {folder} (--output DIR names another place)"));
        Ok(results)
    }

    /// The places where an import may have left its results, the likelier first.
    pub fn candidates(profile: &Profile) -> impl Iterator<Item = Self> {
        [Some(Self { folder: profile.path.clone() }), Self::in_cache(profile)].into_iter().flatten()
    }

    /// The place in the user's cache folder, if the user has one.
    fn in_cache(profile: &Profile) -> Option<Self> {
        let path = profile.path.canonicalize().ok()?;
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let name = path.file_name()?.to_string_lossy().into_owned();
        let folder = user_cache()?.join("opscope").join(format!("{name}-{:016x}", hasher.finish()));
        Some(Self { folder })
    }

    /// Makes the folder for databases, and makes sure that it can be written to.
    fn prepare(&self) -> anyhow::Result<()> {
        let folder = self.folder.join("sqlite");
        create_folder(&folder)?;
        let target = self.database();
        opscope_formats::check_target(&target)
            .with_context(|| format!("{}: cannot be written", target.display()))
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder for exported tables and timelines.
    pub fn outputs(&self) -> PathBuf {
        self.folder.join("mindstudio_profiler_output")
    }

    /// The imported trace.
    pub fn database(&self) -> PathBuf {
        self.folder.join("sqlite").join("opscope.db")
    }

    /// Takes the right to write results, for as long as the answer lives.
    ///
    /// # Errors
    /// When another program has it.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        let path = self.folder.join("sqlite").join(".opscope.lock");
        loop {
            match Unfinished::once_made(path.clone(), |path| self.take_lock(path)) {
                Ok((file, unfinished)) => return Ok(Lock { path, _unfinished: unfinished, _file: file }),
                Err(NotTaken::Removed) => {}
                Err(NotTaken::Refused(problem)) => return Err(problem),
            }
        }
    }

    fn take_lock(&self, path: &Path) -> Result<File, NotTaken> {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.with_context(|| format!("{}: cannot make this lock file", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                // Who it is only makes the message better.
                let _ = file.take(20).read_to_string(&mut process);
                let process = match process.trim() {
                    "" => String::new(),
                    process => format!(" (process {process})"),
                };
                return Err(NotTaken::Refused(anyhow!(
                    "{}: another opscope{process} is importing or exporting this profile; wait until it is done",
                    self.folder.display()
                )));
            }
            // Some network file systems know no locks; files are still replaced as a whole.
            Err(TryLockError::Error(_)) => {}
        }
        if !is_at(&file, path) {
            return Err(NotTaken::Removed);
        }
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(file)
    }

    /// Removes the imported trace and what belongs to it, but nothing that others put there.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn clear(&self, lock: Lock) -> anyhow::Result<()> {
        let database = self.database();
        match std::fs::remove_file(&database) {
            Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => {
                return Err(problem).with_context(|| format!("{}: cannot be removed", database.display()));
            }
            _ => {}
        }
        drop(lock);
        let folder = self.folder.join("sqlite");
        // Databases of others may be in it; then it stays.
        let _ = std::fs::remove_dir(folder);
        Ok(())
    }
}

/// Why a lock file was not taken.
enum NotTaken {
    /// Who had it before removed it since it was opened; the next one may be had.
    Removed,
    /// Another program has it, or the file can't be made.
    Refused(anyhow::Error),
}

impl From<anyhow::Error> for NotTaken {
    fn from(problem: anyhow::Error) -> Self {
        Self::Refused(problem)
    }
}

/// The right to write the results of a profile. The system frees it when the program ends, whatever
/// ends it; its file is gone as well, unless the program was killed.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _unfinished: Unfinished,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before it is freed, so that it is still this lock's own file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether a file still has its name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |opened: &std::fs::Metadata, named: &std::fs::Metadata| {
        (opened.dev(), opened.ino()) == (named.dev(), named.ino())
    };
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(opened), Ok(named)) if same(&opened, &named))
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// The user's folder for what can be made again.
fn user_cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if cfg!(windows) {
        return folder("LOCALAPPDATA");
    }
    let below_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(below_home)))
}
