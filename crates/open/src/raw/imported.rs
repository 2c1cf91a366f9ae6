//! The imported trace of a raw directory, and whether it still is that of the raw files.
//!
//! The database is for questions in SQL and for other programs. Commands read the raw files themselves, because
//! decoding those takes less time than reading a database.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use opscope_cann::{Outline, Profile};
use opscope_formats::sqlite;
use opscope_trace::Trace;

use super::results::Results;

/// The key in the database's `meta` that holds the [`fingerprint`].
const KEY: &str = "raw_files";

/// Writes the trace of a profile as its import.
///
/// # Errors
/// When the database can't be written.
pub fn write(trace: &Trace, profile: &Profile, database: &Path) -> Result<(), sqlite::WriteError> {
    sqlite::write_file_with(trace, database, &[(KEY, &fingerprint(profile))])
}

/// Whether an export leaves an import behind. That of a large profile would take a good part of the time that all
/// exports take.
pub fn is_worth_writing(outline: Outline) -> bool {
    const ROWS: usize = 100_000;
    outline.rows() <= ROWS
}

/// Whether a profile was imported as it is now.
pub fn is_current(profile: &Profile) -> bool {
    current(profile).next().is_some()
}

/// The databases that hold the trace of a profile as it is now.
fn current(profile: &Profile) -> impl Iterator<Item = PathBuf> {
    let expected = fingerprint(profile);
    let databases = Results::candidates(profile).map(|results| results.database());
    databases.filter(move |database| {
        database.is_file() && matches!(sqlite::read_meta(database, KEY), Ok(Some(found)) if found == expected)
    })
}

/// Text that changes with the names, sizes and times of the raw files, and with the program.
fn fingerprint(profile: &Profile) -> String {
    let mut hasher = DefaultHasher::new();
    let mut count = 0;
    for source in profile.host.iter().chain(&profile.devices) {
        for folder in [source.path.clone(), source.data()] {
            for file in files_of(&folder) {
                file.hash(&mut hasher);
                count += 1;
            }
        }
        source.name().hash(&mut hasher);
    }
    // Builds of the same version may still read differently.
    let program = std::env::current_exe().and_then(std::fs::metadata);
    program.ok().map(|found| (found.len(), modified(&found))).hash(&mut hasher);
    format!("{} {count} files {:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
}

/// A file's name, size and time.
type RawFile = (String, u64, u128);

/// The files of a folder, by name. Markers of other tools that they have read a file are left out, and
/// databases that were exported to it.
fn files_of(folder: &Path) -> Vec<RawFile> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<RawFile> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let found = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_exported = name.starts_with("msprof_") && name.ends_with(".db");
            (!name.ends_with(".complete") && !is_exported).then(|| (name, found.len(), modified(&found)))
        })
        .collect();
    files.sort_unstable();
    files
}

/// When a file was changed, in nanoseconds since 1970; 0 where the system doesn't tell.
fn modified(found: &std::fs::Metadata) -> u128 {
    let time = found.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    time.map_or(0, |since| since.as_nanos())
}
