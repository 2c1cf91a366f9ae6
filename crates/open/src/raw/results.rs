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

use std::fs::{File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use opscope_cann::Profile;
use opscope_files::{Unfinished, create_folder, open_own};

/// Results that can't be written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The system refused something with a file or folder.
    #[error("{}: {problem}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// A phrase such as "cannot be written".
        problem: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// Another program writes them.
    #[error(
        "{}: another opscope{} is importing or exporting this profile; wait until it is done",
        folder.display(),
        process.as_ref().map_or_else(String::new, |process| format!(" (process {process})"))
    )]
    Busy {
        /// The folder of the results.
        folder: PathBuf,
        /// The program's number, if it can be told.
        process: Option<String>,
    },
}

impl ResultsError {
    fn io(path: &Path, problem: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), problem, source }
    }
}

/// The reason why a profile's results have no place.
#[derive(Debug, thiserror::Error)]
pub enum NoPlace {
    /// The chosen place can't be written to.
    #[error(transparent)]
    Chosen(ResultsError),
    /// The profile can't be written to, and the user has no cache folder.
    #[error(transparent)]
    Below(ResultsError),
    /// Neither the profile nor the user's cache folder can be written to.
    #[error("{below}, and neither can the user's cache folder")]
    Nowhere {
        /// Why not the profile.
        below: ResultsError,
        /// Why not the cache folder.
        #[source]
        cache: ResultsError,
    },
}

/// The folder that the results of one profile go to.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
}

impl Results {
    /// The place for the results of a profile: `chosen` if the user chose one, else below the profile,
    /// else in the user's cache folder; then the error says why they don't lie below the profile.
    ///
    /// # Errors
    /// When nothing can be written to the chosen place, or nowhere.
    pub fn place(
        profile: &Profile,
        chosen: Option<PathBuf>,
    ) -> Result<(Self, Option<ResultsError>), NoPlace> {
        if let Some(folder) = chosen {
            let results = Self { folder };
            make_folder(&results.folder).map_err(NoPlace::Chosen)?;
            results.prepare().map_err(NoPlace::Chosen)?;
            return Ok((results, None));
        }
        let results = Self { folder: profile.path.clone() };
        let Err(below) = results.prepare() else { return Ok((results, None)) };
        let Some(results) = Self::in_cache(profile) else { return Err(NoPlace::Below(below)) };
        match results.prepare() {
            Ok(()) => Ok((results, Some(below))),
            Err(cache) => Err(NoPlace::Nowhere { below, cache }),
        }
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
    fn prepare(&self) -> Result<(), ResultsError> {
        let folder = self.folder.join("sqlite");
        make_folder(&folder)?;
        let target = self.database();
        opscope_files::check_seekable_target(&target).map_err(ResultsError::io(&target, "cannot be written"))
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
    pub fn lock(&self) -> Result<Lock, ResultsError> {
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
        let mut file = open_own(path).map_err(ResultsError::io(path, "cannot make this lock file"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                // Who it is only makes the message better.
                let _ = file.take(20).read_to_string(&mut process);
                let process = Some(process.trim().to_owned()).filter(|process| !process.is_empty());
                return Err(ResultsError::Busy { folder: self.folder.clone(), process }.into());
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
    pub fn clear(&self, lock: Lock) -> Result<(), ResultsError> {
        let database = self.database();
        match std::fs::remove_file(&database) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => {
                return Err(ResultsError::io(&database, "cannot be removed")(problem));
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

fn make_folder(folder: &Path) -> Result<(), ResultsError> {
    create_folder(folder).map_err(ResultsError::io(folder, "cannot make this folder"))
}

/// Why a lock file was not taken.
enum NotTaken {
    /// Who had it before removed it since it was opened; the next one may be had.
    Removed,
    /// Another program has it, or the file can't be made.
    Refused(ResultsError),
}

impl From<ResultsError> for NotTaken {
    fn from(problem: ResultsError) -> Self {
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
