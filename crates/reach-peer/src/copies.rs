//! Additions to the ranks' own files: they go into copies within the folder of results, or into the files themselves
//! where the user wants that. Either is written whole or not at all.
//!
//! Copies lie as the vendor's tool lays out those that it makes itself (`mstx2commop`): in a folder named like the
//! mode, at the place that the file has below the folder of the ranks.

use opscope_reach::database::Database;
use std::path::{Path, PathBuf};

use opscope_reach::Collection;
use rusqlite::ErrorCode;

use crate::error::PeerError;
use crate::ranks::{File, Ranks};
use crate::table::Output;

/// The place for additions to the ranks' files.
#[derive(Debug)]
pub enum Destination {
    /// Copies below a folder, each where its file is below that of the ranks.
    Copies {
        /// The folder of the ranks.
        ranks: PathBuf,
        /// That of the copies.
        copies: PathBuf,
    },
    /// The files themselves.
    Ranks,
}

impl Destination {
    /// Refuses ranks whose databases can't be written anew, before any is: what another program left unfinished
    /// beside one would be taken for a part of the new one.
    ///
    /// # Errors
    /// With the file that lies beside a database.
    pub fn check(&self, ranks: &Ranks) -> Result<(), PeerError> {
        let Self::Ranks = self else { return Ok(()) };
        let databases = ranks.collections.iter().filter_map(|it| it.outputs.database.as_ref());
        let beside = |path: &PathBuf| {
            ["-journal", "-wal"].map(|end| {
                let mut name = path.as_os_str().to_owned();
                name.push(end);
                PathBuf::from(name)
            })
        };
        let is_unfinished = |path: &PathBuf| path.metadata().is_ok_and(|found| found.len() > 0);
        match databases.flat_map(beside).find(is_unfinished) {
            Some(path) => Err(PeerError::Unfinished(path)),
            None => Ok(()),
        }
    }

    /// The file in which additions to a rank's file go. Its folder is there.
    ///
    /// # Errors
    /// When the folder can't be made, or a copy would lie in the place of the file.
    pub fn of(&self, file: &Path) -> Result<PathBuf, PeerError> {
        let Self::Copies { ranks, copies } = self else { return Ok(file.to_owned()) };
        let copy = copies.join(file.strip_prefix(ranks).unwrap_or(file.file_name().map_or(file, Path::new)));
        let folder = copy.parent().unwrap_or(copies);
        opscope_files::create_folder(folder)
            .map_err(|source| PeerError::Write { path: folder.to_owned(), source })?;
        // The folders, because the file itself need not be there.
        let place = |folder: Option<&Path>| folder.and_then(|folder| folder.canonicalize().ok());
        if place(Some(folder)).is_some_and(|there| place(file.parent()) == Some(there)) {
            let file = file.display();
            return Err(PeerError::Usage(format!(
                "{file} would be its own copy: give another folder with -o, or --into-input"
            )));
        }
        Ok(copy)
    }

    /// Finds additions to a rank's database and writes it with them; returns whether there are any. A database that is
    /// damaged is left as it is, and told.
    ///
    /// # Errors
    /// When the result can't be written.
    pub fn add<Additions>(
        &self,
        ranks: &Ranks,
        collection: &Collection,
        find: impl FnOnce(&Database) -> rusqlite::Result<Option<Additions>>,
        fill: impl FnOnce(&Additions, &Output) -> rusqlite::Result<()>,
    ) -> Result<bool, PeerError> {
        let Some(source) = &collection.outputs.database else { return Ok(false) };
        let left = || {
            ranks.remark(collection, "nothing was added to its damaged database".to_owned());
            Ok(false)
        };
        let mut found = None;
        if !ranks.read(collection, File::Profile, |database| find(database).map(|it| found = it)) {
            return left();
        }
        let Some(found) = found else { return Ok(false) };
        let path = self.of(source)?;
        let permissions = source.metadata().map(|it| it.permissions()).ok();
        match Output::rewrite(source, &path, |output| fill(&found, output)) {
            Ok(()) => {}
            Err(PeerError::Database { source: error, .. }) if !is_of_the_system(&error) => {
                ranks.damaged(collection, source, error);
                return left();
            }
            Err(error) => return Err(error),
        }
        if let (Self::Ranks, Some(permissions)) = (self, permissions) {
            std::fs::set_permissions(&path, permissions)
                .map_err(|source| PeerError::Write { path: path.clone(), source })?;
        }
        Ok(true)
    }
}

/// Whether a disk or a folder is to blame, not the database's content.
fn is_of_the_system(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DiskFull, OutOfMemory, PermissionDenied, ReadOnly, SystemIoFailure};
    let code = error.sqlite_error_code();
    code.is_some_and(|code| {
        matches!(code, CannotOpen | DiskFull | OutOfMemory | PermissionDenied | ReadOnly | SystemIoFailure)
    })
}
