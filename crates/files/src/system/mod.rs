//! The calls by which systems differ, under one name for all of them.
//!
//! | | Unix | Windows |
//! |---|---|---|
//! | new files and folders | for the user and the group only, less what the umask takes away | with the rights that the folder hands down |
//! | a link where a file is opened for writing | refused | opened itself, and so no plain file |
//! | a pipe where a file is opened | not waited for | never waited for |
//! | a second name of a file | found | not found: the standard library doesn't tell it yet |
//! | a new file over an old one | takes its place, whoever reads the old one | the same, but refused while a program that shares nothing has the old one open |
//! | names in a folder after a failure of the machine | synced | kept by the file system's own journal |

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    for_user_and_group, names, refuse_link, rename, sync_folder, with_folders_for_user_and_group,
    without_waiting,
};
#[cfg(windows)]
pub(crate) use windows::{
    for_user_and_group, names, refuse_link, rename, sync_folder, with_folders_for_user_and_group,
    without_waiting,
};
