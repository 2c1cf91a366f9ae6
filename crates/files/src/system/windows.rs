//! Windows.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// `FILE_FLAG_OPEN_REPARSE_POINT` of CreateFileW: what is opened is the link.
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// Nothing: a file has the rights that its folder hands down, which for a user's own folders are the user's alone.
pub(crate) fn for_user_and_group(_: &mut OpenOptions) {}

/// Nothing, as for files.
pub(crate) fn with_folders_for_user_and_group(_: &mut DirBuilder) {}

/// Nothing: to open a pipe succeeds or fails at once, and only a special path leads to one.
pub(crate) fn without_waiting(_: &mut OpenOptions) {}

/// Has a link itself opened, which whoever asks for a plain file then refuses.
pub(crate) fn refuse_link(options: &mut OpenOptions) {
    options.custom_flags(OPEN_REPARSE_POINT);
}

/// One: the standard library doesn't tell how many names a file has.
pub(crate) fn names(_: &Metadata) -> u64 {
    1
}

/// Gives a temporary file its own name, in place of what has it.
pub(crate) fn rename(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist(path).map(drop).map_err(|failed| failed.error)
}

/// Nothing: a folder can't be synced, and NTFS has a journal for names.
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
