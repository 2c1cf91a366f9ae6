//! Files that are synced together, because to wait for each by itself takes a disk longer than to write
//! them.

use std::cell::RefCell;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::at_once;
use crate::draft::Draft;
use crate::target::target;

/// Files that wait for their names; each is an open descriptor.
const MOST: usize = 64;

thread_local! {
    /// The batch that takes the files of this thread, see [`Batch::gather`].
    static GATHERED: RefCell<Option<Batch>> = const { RefCell::new(None) };
}

/// A file that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot write the file", path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The system's answer.
    pub source: io::Error,
}

/// Files that get their names together, or some of them at a time if they are many. Those that are
/// whole when it is dropped get theirs too, as far as the system lets them.
#[derive(Debug, Default)]
pub struct Batch {
    whole: Vec<(Draft, PathBuf)>,
}

impl Batch {
    /// Writes a file; it isn't there before [`Batch::finish`]. The content may go back in it.
    ///
    /// # Errors
    /// When it, or one before it, can't be written.
    pub fn write(
        &mut self,
        path: &Path,
        content: impl FnOnce(&mut BufWriter<Draft>) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let draft =
            draft_for(path, content).map_err(|source| WriteError { path: path.to_owned(), source })?;
        self.add(draft, path)
    }

    /// Adds a file that is whole.
    ///
    /// # Errors
    /// When one before it can't be written.
    pub fn add(&mut self, mut draft: Draft, path: &Path) -> Result<(), WriteError> {
        draft.end();
        self.whole.push((draft, path.to_owned()));
        if self.whole.len() >= MOST { self.settle() } else { Ok(()) }
    }

    /// Takes all files that this thread writes within `work`, in whatever way it writes them: they get
    /// their names with those of this batch. [`pending_in`] tells which they will be.
    pub fn gather<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let outer = GATHERED.replace(Some(std::mem::take(self)));
        let done = work();
        *self = GATHERED.replace(outer).unwrap_or_default();
        done
    }

    /// Syncs the files and gives them their names, or hands them to the batch that gathers them.
    ///
    /// # Errors
    /// The first file that couldn't be written; all others have their names.
    pub fn finish(mut self) -> Result<(), WriteError> {
        GATHERED.with_borrow_mut(|outer| match outer {
            Some(outer) => {
                let mut whole = std::mem::take(&mut self.whole).into_iter();
                whole.try_for_each(|(draft, path)| outer.add(draft, &path))
            }
            None => self.settle(),
        })
    }

    fn settle(&mut self) -> Result<(), WriteError> {
        let whole = std::mem::take(&mut self.whole);
        let synced = at_once::for_each(&whole, |(draft, _)| draft.sync());
        let mut first = Ok(());
        for ((draft, path), synced) in whole.into_iter().zip(synced) {
            if let Err(source) = synced.and_then(|()| draft.rename(&path)) {
                first = first.and(Err(WriteError { path, source }));
            }
        }
        first
    }
}

/// Hands a file that is whole to the batch that gathers those of this thread; gives it back where there is
/// none, or no room in it.
pub(crate) fn hand_over(mut draft: Draft, path: &Path) -> Option<Draft> {
    GATHERED.with_borrow_mut(|outer| match outer {
        Some(outer) if outer.whole.len() < MOST => {
            draft.end();
            outer.whole.push((draft, path.to_owned()));
            None
        }
        _ => Some(draft),
    })
}

/// The files in a folder that this thread has written and that wait for their names.
pub fn pending_in(folder: &Path) -> Vec<PathBuf> {
    GATHERED.with_borrow(|outer| {
        let paths = outer.iter().flat_map(|outer| outer.whole.iter().map(|(_, path)| path));
        paths.filter(|path| path.parent() == Some(folder)).cloned().collect()
    })
}

impl Drop for Batch {
    fn drop(&mut self) {
        // Whoever drops it has another error to tell.
        let _ = self.settle();
    }
}

/// A file with its content under a temporary name, for what `path` leads to.
pub(crate) fn draft_for(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<Draft>) -> io::Result<()>,
) -> io::Result<Draft> {
    let mut writer = BufWriter::with_capacity(1 << 16, Draft::new(target(path)?.folder()?)?);
    content(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn more_files_than_may_be_open_get_their_names_and_those_before_an_error_too() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |number: usize| folder.path().join(number.to_string());
        let mut batch = Batch::default();
        for number in 0..MOST + 3 {
            batch.write(&path(number), |out| write!(out, "{number}")).expect("space on disk");
        }
        assert!(path(0).exists() && !path(MOST).exists());
        let failed = batch.write(&path(500), |_| Err(io::Error::other("no room"))).expect_err("the error");
        assert_eq!((failed.path, failed.source.to_string()), (path(500), "no room".to_owned()));
        drop(batch);
        for number in 0..MOST + 3 {
            assert_eq!(std::fs::read_to_string(path(number)).ok(), Some(number.to_string()));
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), MOST + 3);
    }

    #[test]
    fn what_a_thread_writes_waits_for_the_batch_that_gathers_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        let mut batch = Batch::default();
        batch.gather(|| {
            crate::write_atomically(&path("alone"), |out| out.write_all(b"1")).expect("space on disk");
            let mut inner = Batch::default();
            inner.write(&path("inner"), |out| out.write_all(b"2")).expect("space on disk");
            inner.finish().expect("space on disk");
            assert_eq!(pending_in(folder.path()), [path("alone"), path("inner")]);
            assert!(!path("alone").exists() && !path("inner").exists());
        });
        assert_eq!(pending_in(folder.path()), Vec::<PathBuf>::new());
        crate::write_atomically(&path("outside"), |out| out.write_all(b"3")).expect("space on disk");
        assert!(path("outside").exists() && !path("alone").exists());
        batch.finish().expect("space on disk");
        assert!(path("alone").exists() && path("inner").exists());
    }

    #[test]
    fn a_file_that_cannot_get_its_name_is_named_and_keeps_no_other_from_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut batch = Batch::default();
        for name in ["a", "b", "c"] {
            batch.write(&folder.path().join(name), |out| out.write_all(b"x")).expect("space on disk");
        }
        std::fs::create_dir(folder.path().join("b")).expect("a folder in the way");
        let failed = batch.finish().expect_err("the error");
        assert_eq!(failed.path, folder.path().join("b"));
        assert!(folder.path().join("a").is_file() && folder.path().join("c").is_file());
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 3);
    }
}
