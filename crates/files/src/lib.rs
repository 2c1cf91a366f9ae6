//! Files of any content: mapped into memory while they are read, and written whole or not at all.
//!
//! A result is written under a temporary name beside its own, synced and renamed, so that whatever ends
//! the program, a reader finds the old file, the new one or none. Temporary files of programs that were
//! killed are removed by the next one that writes into their folder.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("answer.txt");
//! opscope_files::write_atomically(&path, |file| file.write_all(b"42"))?;
//! opscope_files::sync_folders()?;
//!
//! let file = std::fs::File::open(&path)?;
//! assert_eq!(&*opscope_files::MappedFile::new(&file, &path)?, b"42");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Floors
//! A module uses only those below it.
//!
//! ```text
//! write                        a file from its content
//!   batch ◄─► draft            files that are synced together, a file under its temporary name
//!       leftovers              temporary files of programs that are gone
//!       folders                folders made, and synced
//!         at_once              waiting for a disk many times at once
//!       unfinished             what a stopped program removes
//!       write_out              large files on their way to the disk before they are whole
//!     target                   what a path leads to
//! plain                        files of strangers, opened without waiting
//! mapped                       files in memory, by address
//! system                       the calls by which systems differ
//! ```

mod at_once;
mod batch;
mod draft;
mod folders;
mod leftovers;
mod mapped;
mod plain;
mod system;
mod target;
mod unfinished;
mod write;
mod write_out;

pub use batch::{Batch, WriteError, pending_in};
pub use draft::Draft;
pub use folders::{create_folder, note_change, sync_folders};
pub use mapped::{MappedFile, file_at};
pub use plain::{open_plain, read_plain};
pub use unfinished::{Unfinished, discard_unfinished};
pub use write::{
    check_seekable_target, check_target, create_new, open_own, replace_atomically, write_atomically,
    write_seekable,
};
