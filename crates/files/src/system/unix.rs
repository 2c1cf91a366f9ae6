//! Linux, macOS and their kin.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

/// Has a file made with the mode 0640.
pub(crate) fn for_user_and_group(options: &mut OpenOptions) {
    options.mode(0o640);
}

/// Has folders made with the mode 0750.
pub(crate) fn with_folders_for_user_and_group(builder: &mut DirBuilder) {
    builder.mode(0o750);
}

/// Has a file opened without waiting for whoever writes or reads a pipe.
pub(crate) fn without_waiting(options: &mut OpenOptions) {
    options.custom_flags(libc::O_NONBLOCK);
}

/// Has a file opened unless it is a link, without waiting for what else there may be.
pub(crate) fn refuse_link(options: &mut OpenOptions) {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
}

/// How many names a file has.
pub(crate) fn names(found: &Metadata) -> u64 {
    found.nlink()
}

/// Gives a temporary file its own name, in place of what has it.
pub(crate) fn rename(file: NamedTempFile, path: &Path) -> io::Result<()> {
    let (_locked, name) = file.into_parts();
    // By the C library, as all else, so that tests can make it fail; `persist` calls the kernel itself.
    std::fs::rename(&name, path)?;
    // Nothing is left to remove under the temporary name.
    let _ = name.keep();
    Ok(())
}

/// Waits until the names in a folder are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied};
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // It may be removed by now or not be readable, and some file systems sync no folders.
        Err(error) if matches!(error.kind(), InvalidInput | NotFound | PermissionDenied) => Ok(()),
        synced => synced,
    }
}
