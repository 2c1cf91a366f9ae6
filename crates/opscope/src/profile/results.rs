//! Where the results of a raw directory lie, and who may write them.
//!
//! | place | holds |
//! |---|---|
//! | `sqlite/opscope.db` | the imported trace |
//! | `sqlite/.opscope.lock` | the lock of whoever writes results; the system frees it when that ends |
//! | `mindstudio_profiler_output/` | exported tables and timelines |
//! | `msprof_<time>.db` | the exported database |
//!
//! They lie below the profile, or where the user says, or in the user's cache folder where the
//! profile can't be written to.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use opscope_cann::Profile;

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
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
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
                bail!(
                    "{}: another opscope{process} is importing or exporting this profile; wait until it is done",
                    self.folder.display()
                );
            }
            // Some network file systems know no locks; files are still replaced as a whole.
            Err(TryLockError::Error(_)) => {}
        }
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Lock { _file: file })
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
        let _ = std::fs::remove_file(folder.join(".opscope.lock"));
        // Databases of others may be in it; then it stays.
        let _ = std::fs::remove_dir(folder);
        Ok(())
    }
}

/// The right to write the results of a profile.
#[derive(Debug)]
pub struct Lock {
    _file: File,
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
