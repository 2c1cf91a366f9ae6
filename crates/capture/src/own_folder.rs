//! A folder for what is loaded into other programs, which nobody but its user can change.
//!
//! Whoever can write a library, a folder above it or a link on the way could run code in every program
//! that is collected. So the whole path is checked, as OpenSSH checks the way to a user's keys, and
//! where no place stands the check, nothing is loaded.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Written by the group or by others.
const SHARED: u32 = 0o022;

/// Entries may be renamed and removed by their owners only.
const STICKY: u32 = 0o1000;

const ROOT: u32 = 0;

/// Where the system's own caches lie, which everybody may read.
const SYSTEM_CACHE: &str = "/var/cache";

/// The user that this process acts as.
pub(crate) fn user() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::geteuid() }
}

/// The first place for a cache that is the user's alone, made if need be; or each that was tried,
/// with what is wrong with it.
pub(crate) fn find() -> Result<PathBuf, Vec<String>> {
    let mut tried = Vec::new();
    for candidate in candidates() {
        match prepare(&candidate) {
            Ok(folder) => return Ok(folder),
            Err(reason) => tried.push(format!("{}: {reason}", candidate.display())),
        }
    }
    Err(tried)
}

fn candidates() -> Vec<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    // Programs that root starts may become other users, who can't enter its home.
    let of_root = (user() == ROOT).then(|| PathBuf::from(SYSTEM_CACHE)).filter(|path| path.is_dir());
    let caches = [named("XDG_CACHE_HOME"), of_root, named("HOME").map(|home| home.join(".cache"))];
    let mut candidates: Vec<PathBuf> = caches.into_iter().flatten().map(|it| it.join("opscope")).collect();
    candidates.push(std::env::temp_dir().join(format!("opscope-{}", user())));
    candidates.retain(|path| path.is_absolute());
    candidates
}

/// Makes a folder where there is none, and returns its real path if it is the user's alone.
fn prepare(folder: &Path) -> Result<PathBuf, String> {
    let io = |error: io::Error| error.to_string();
    // Nothing is made where others could exchange it. Checked is the way that links lead.
    let there = folder.ancestors().skip(1).find(|above| above.exists()).unwrap_or(Path::new("/"));
    check_way(&there.canonicalize().map_err(io)?)?;
    make(folder).map_err(io)?;
    let real = folder.canonicalize().map_err(io)?;
    check_way(real.parent().unwrap_or(&real))?;
    match own(&real).map_err(io)? {
        true => Ok(real),
        false => Err("it belongs to another user, or others can write it".to_owned()),
    }
}

/// Checks a real path and all folders above it.
fn check_way(path: &Path) -> Result<(), String> {
    for folder in path.ancestors() {
        let status = folder.symlink_metadata().map_err(|error| error.to_string())?;
        if let Some(reason) = why_unsafe(&status, user()) {
            return Err(format!("{} {reason}", folder.display()));
        }
    }
    Ok(())
}

/// Makes a folder and those above it. Only root's can be entered by others: programs that it starts
/// may become other users and load libraries afterwards.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    let mode = if user() == ROOT { 0o755 } else { 0o700 };
    DirBuilder::new().recursive(true).mode(mode).create(folder)
}

/// Whether something, which is no link, is the user's and can be written by nobody else.
pub(crate) fn own(path: &Path) -> io::Result<bool> {
    let status = fs::symlink_metadata(path)?;
    Ok(!status.is_symlink() && status.uid() == user() && status.mode() & SHARED == 0)
}

/// Why a folder above is no good: whoever can rename its entries can put another one in their place.
fn why_unsafe(status: &Metadata, user: u32) -> Option<&'static str> {
    if ![user, ROOT].contains(&status.uid()) {
        return Some("belongs to another user");
    }
    (status.mode() & SHARED != 0 && status.mode() & STICKY == 0).then_some("can be written by others")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn a_folder_of_ones_own_in_a_shared_one_is_used_if_only_owners_can_rename_there() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let shared = place.path().join("shared");
        fs::create_dir(&shared).expect("a directory");
        set_mode(&shared, 0o1777);
        let folder = shared.join("opscope");
        assert_eq!(prepare(&folder).as_deref(), Ok(folder.canonicalize().expect("a folder").as_path()));
        set_mode(&shared, 0o777);
        let reason = prepare(&folder).expect_err("a folder that others can rename");
        assert!(reason.contains("shared can be written by others"), "{reason}");
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_used() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let folder = place.path().join("opscope");
        fs::create_dir(&folder).expect("a directory");
        set_mode(&folder, 0o775);
        assert!(prepare(&folder).is_err());
        set_mode(&folder, 0o700);
        assert!(prepare(&folder).is_ok());
    }

    #[test]
    fn the_way_that_a_link_leads_is_checked() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let open = place.path().join("open");
        fs::create_dir_all(open.join("below")).expect("directories");
        set_mode(&open, 0o777);
        symlink(open.join("below"), place.path().join("link")).expect("a link");
        let reason = prepare(&place.path().join("link")).expect_err("a way through an open folder");
        assert!(reason.contains("open can be written by others"), "{reason}");
    }

    #[test]
    fn folders_of_other_users_are_not_used() {
        if user() != ROOT {
            return opscope_testing::companions::skip("only root can give files away");
        }
        let place = tempfile::tempdir().expect("a temporary directory");
        let theirs = place.path().join("theirs");
        fs::create_dir_all(theirs.join("opscope")).expect("directories");
        std::os::unix::fs::chown(&theirs, Some(65534), None).expect("another owner");
        let reason = prepare(&theirs.join("opscope")).expect_err("a folder in another user's");
        assert!(reason.contains("theirs belongs to another user"), "{reason}");
        std::os::unix::fs::chown(&theirs, Some(ROOT), None).expect("an owner");
        std::os::unix::fs::chown(theirs.join("opscope"), Some(65534), None).expect("another owner");
        assert!(prepare(&theirs.join("opscope")).is_err());
    }
}
