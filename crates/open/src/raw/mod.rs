//! Raw directories of Ascend: found, decoded together with what other recorders left beside the raw
//! files, and imported.

mod ascendcl;
pub mod imported;
mod onnxruntime;
mod profile;
mod remarks;
mod results;

use std::path::Path;

use opscope_cann::Profile;
use opscope_formats::sqlite;
use opscope_trace::Trace;

use crate::progress::begin;
use crate::{OpenError, Progress};

use profile::trace_until;
pub use profile::{RawProfile, join, losses_of_joined, trace_of};
pub use remarks::{outline, remarks, remarks_of_joined};
pub use results::{Lock, NoPlace, Results, ResultsError};

/// The profile among those found at `path`, if it is the only one.
///
/// # Errors
/// When there are several; they are named.
pub fn only(path: &Path, mut profiles: Vec<Profile>) -> Result<Profile, OpenError> {
    if profiles.len() == 1 {
        return Ok(profiles.remove(0));
    }
    let found = profiles.into_iter().map(|profile| profile.path).collect();
    Err(OpenError::Several { path: path.to_owned(), what: "profiles", found })
}

/// The trace of a raw directory and the remarks about it.
pub(crate) fn read(profile: Profile, progress: &dyn Progress) -> Result<(Trace, Vec<String>), OpenError> {
    let raw = join(profile, progress)?;
    let profile = &raw.joined.data.profile;
    begin(progress, "making a trace of it", &profile.path)?;
    let trace = trace_until(&raw, &progress.stop());
    let remarks = remarks(profile, &trace);
    Ok((trace, remarks))
}

/// A raw directory that can't be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It can't be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its database can't be written.
    #[error(transparent)]
    Write(#[from] sqlite::WriteError),
}

/// Reads a profile, writes its trace into a database, and returns it with the
/// remarks about it.
///
/// # Errors
/// When it can't be read, or the database can't be written.
pub fn import(
    profile: Profile,
    database: &Path,
    progress: &dyn Progress,
) -> Result<(Trace, Vec<String>), ImportError> {
    let raw = join(profile, progress)?;
    let profile = &raw.joined.data.profile;
    begin(progress, "making a trace of it", &profile.path)?;
    let trace = trace_until(&raw, &progress.stop());
    begin(progress, "writing the database", &profile.path)?;
    imported::write(&trace, profile, database)?;
    let remarks = remarks(profile, &trace);
    Ok((trace, remarks))
}
