//! A file under a temporary name.

use std::fs::OpenOptions;
use std::io::{self, Seek, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::unfinished::Unfinished;
use crate::write_out::WriteOut;
use crate::{batch, folders, leftovers, system};

/// The begin and end of temporary names.
pub(crate) const PREFIX: &str = ".opscope-";
pub(crate) const SUFFIX: &str = ".part";

/// A file under a temporary name, which is gone unless [`Draft::keep_as`] gives it its own. It gets
/// the mode 0640, less what the umask takes away.
///
/// It is locked for as long as its writer lives, by which others know that it isn't left over.
#[derive(Debug)]
pub struct Draft {
    // In this order: it is removed before it is forgotten.
    file: NamedTempFile,
    _unfinished: Unfinished,
    write_out: WriteOut,
}

impl Draft {
    /// Begins a file in a folder, and removes those that were left there by programs that are gone.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let draft = Self::in_folder(folder)?;
        leftovers::remove_once(folder, draft.file.as_file());
        Ok(draft)
    }

    fn in_folder(folder: &Path) -> io::Result<Self> {
        // No signal comes between making and noting it.
        let (file, unfinished) = Unfinished::once_named(|| {
            let file = locked(folder)?;
            let path = file.path().to_owned();
            io::Result::Ok((file, path))
        })?;
        Ok(Self { file, _unfinished: unfinished, write_out: WriteOut::default() })
    }

    /// Its temporary name.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Writes it to the disk and gives it its name, or hands it to the [`Batch`](crate::Batch) that
    /// gathers the files of this thread. What had that name before is replaced.
    ///
    /// # Errors
    /// When the file can't be written out or renamed; then the draft is gone.
    pub fn keep_as(self, path: &Path) -> io::Result<()> {
        let Some(mut draft) = batch::hand_over(self, path) else { return Ok(()) };
        draft.end();
        draft.sync()?;
        draft.rename(path)
    }

    /// Notes that it is whole, before it waits for others.
    pub(crate) fn end(&mut self) {
        self.write_out.end(self.file.as_file());
    }

    /// Waits until the content is on the disk. Its length goes with it; its times, which
    /// `sync_all` would wait for in addition, are no part of what it says.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self.file.as_file().sync_data() {
            // A file system without such a thing.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }

    /// Gives it its name, once it was synced.
    pub(crate) fn rename(self, path: &Path) -> io::Result<()> {
        system::rename(self.file, path)?;
        folders::note_change(path.parent());
        Ok(())
    }
}

impl Write for Draft {
    // To the file itself, because errors would name the temporary path otherwise.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.as_file_mut().write(bytes)?;
        self.write_out.wrote(self.file.as_file(), count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

impl Seek for Draft {
    fn seek(&mut self, place: io::SeekFrom) -> io::Result<u64> {
        self.file.as_file_mut().seek(place)
    }
}

/// A new file with a temporary name, locked.
fn locked(folder: &Path) -> io::Result<NamedTempFile> {
    const TRIES: usize = 100;
    for _ in 1..TRIES {
        let file = temporary(folder)?;
        if leftovers::lock_new(file.as_file()) {
            return Ok(file);
        }
    }
    // Nobody takes a new file away a hundred times; without its lock it is written as well.
    temporary(folder)
}

fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    system::for_user_and_group(&mut options);
    let mut code = None;
    let open = |path: &Path| options.open(path).inspect_err(|error| code = error.raw_os_error());
    let made = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).make_in(folder, open);
    // The error that comes with it names the temporary file, which means nothing to the user.
    made.map_err(|error| match (error.kind(), code) {
        (io::ErrorKind::PermissionDenied, _) => {
            let text = format!("the folder {} cannot be written", folder.display());
            io::Error::new(io::ErrorKind::PermissionDenied, text)
        }
        (_, Some(code)) => io::Error::from_raw_os_error(code),
        _ => error,
    })
}
