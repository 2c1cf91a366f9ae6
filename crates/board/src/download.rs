//! Bringing profiles back: `JOB*` directories of boards, `PROF_*` of hosts with Ascend processors. The board is not trusted: its names can't lead out of the
//! target folder, and links are not followed.

use std::fs;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use russh_sftp::client::SftpSession;
use russh_sftp::protocol::FileType;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::Progress;
use crate::connection::{at, io_at};
use crate::error::Error;
use crate::remote::{join, local_target};

const DOWNLOADING: &str = "results were brought back";
const BLOCK: usize = 256 << 10;
/// How deep below a profile is looked; it has two or three levels.
const DEEPEST: usize = 8;

/// A file on the board and where it goes.
struct Wanted {
    remote: String,
    local: PathBuf,
    size: u64,
    modified: u32,
}

impl Wanted {
    /// When the board wrote it.
    fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.modified.into())
    }
}

/// The names of the profiles in a folder on the board.
pub(crate) async fn profiles(sftp: &SftpSession, folder: &str) -> Result<Vec<String>, Error> {
    const PREFIXES: [&str; 2] = ["JOB", "PROF_"];
    let entries = sftp.read_dir(folder).await.map_err(at(folder, DOWNLOADING))?;
    let is_named = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let found = entries.filter(|entry| entry.file_type() == FileType::Dir && is_named(&entry.file_name()));
    let mut names: Vec<String> = found.map(|entry| entry.file_name()).collect();
    names.sort();
    Ok(names)
}

/// A folder's state, by which a change can be told: how many files, how large they are,
/// and when the newest was written.
pub(crate) async fn state(sftp: &SftpSession, folder: &str) -> Result<String, Error> {
    let mut pending = vec![(folder.to_owned(), 0)];
    let (mut files, mut bytes, mut newest) = (0u64, 0u64, 0);
    while let Some((folder, depth)) = pending.pop() {
        for entry in sftp.read_dir(&folder).await.map_err(at(&folder, DOWNLOADING))? {
            let (name, found) = (entry.file_name(), entry.metadata());
            match entry.file_type() {
                FileType::Dir if depth < DEEPEST && local_target(Path::new(""), &name).is_some() => {
                    pending.push((join(&folder, &name), depth + 1));
                }
                FileType::File => {
                    files += 1;
                    bytes = bytes.saturating_add(found.size.unwrap_or(0));
                    newest = newest.max(found.mtime.unwrap_or(0));
                }
                _ => {}
            }
        }
    }
    Ok(format!("{files}:{bytes}:{newest}"))
}

/// Moves what lies in the place of a new directory aside: an earlier one of the same name, which must
/// not be mixed with it. Returns where it is now.
pub(crate) fn move_aside(target: &Path) -> Result<Option<PathBuf>, Error> {
    if target.symlink_metadata().is_err() {
        return Ok(None);
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut places = (1..).map(|number: u32| target.with_file_name(format!("{name}.{number}")));
    let aside = places.find(|place| place.symlink_metadata().is_err()).unwrap_or_default();
    let moved = fs::rename(target, &aside);
    moved.map_err(|source| Error::Local { path: target.to_owned(), source })?;
    Ok(Some(aside))
}

/// Copies a folder into `target`, going on where an earlier attempt ended.
pub(crate) async fn fetch(
    sftp: &SftpSession,
    folder: &str,
    target: &Path,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    let wanted = list(sftp, folder, target, progress).await?;
    let total = wanted.iter().map(|file| file.size).sum();
    let mut done = 0;
    for file in &wanted {
        if !is_here(file) {
            copy(sftp, file, &mut |bytes| progress.bytes(done + bytes, total)).await?;
        }
        done += file.size;
        progress.bytes(done, total);
    }
    Ok(())
}

/// Lists the files below a folder and makes the folders for them.
async fn list(
    sftp: &SftpSession,
    folder: &str,
    target: &Path,
    progress: &mut dyn Progress,
) -> Result<Vec<Wanted>, Error> {
    let mut pending = vec![(folder.to_owned(), target.to_owned(), 0)];
    let mut wanted = Vec::new();
    while let Some((remote, local, depth)) = pending.pop() {
        make_folder(&local)?;
        for entry in sftp.read_dir(&remote).await.map_err(at(&remote, DOWNLOADING))? {
            let (name, found) = (entry.file_name(), entry.metadata());
            let Some(path) = local_target(&local, &name) else {
                progress.warn(&format!(
                    "left on the board: '{}' in {remote} is no name of a file",
                    name.escape_debug()
                ));
                continue;
            };
            match entry.file_type() {
                FileType::Dir if depth < DEEPEST => pending.push((join(&remote, &name), path, depth + 1)),
                FileType::File => wanted.push(Wanted {
                    remote: join(&remote, &name),
                    local: path,
                    size: found.size.unwrap_or(0),
                    modified: found.mtime.unwrap_or(0),
                }),
                _ => progress
                    .warn(&format!("left on the board: {} is neither file nor folder", join(&remote, &name))),
            }
        }
    }
    wanted.sort_by(|a, b| a.remote.cmp(&b.remote));
    Ok(wanted)
}

fn make_folder(path: &Path) -> Result<(), Error> {
    opscope_files::create_folder(path).map_err(|source| Error::Local { path: path.to_owned(), source })
}

/// Whether a file was brought here before: a whole one has its own name, and the time it has there.
fn is_here(file: &Wanted) -> bool {
    let found = file.local.symlink_metadata();
    let found = found.ok().filter(|found| found.is_file() && found.len() == file.size);
    found.is_some_and(|found| found.modified().is_ok_and(|time| time == file.time()))
}

async fn copy(sftp: &SftpSession, file: &Wanted, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
    let name = file.local.file_name().unwrap_or_default().to_string_lossy();
    // The size and time tell a beginning of this file from one of an older file of that name.
    let part = file.local.with_file_name(format!(".{name}.{}.{}.part", file.size, file.modified));
    let in_local = |source| Error::Local { path: part.clone(), source };
    let mut output = opscope_files::open_own(&part).map_err(in_local)?;
    let mut done = output.seek(std::io::SeekFrom::End(0)).map_err(in_local)?;
    let mut input = sftp.open(&file.remote).await.map_err(at(&file.remote, DOWNLOADING))?;
    input.seek(std::io::SeekFrom::Start(done)).await.map_err(io_at(&file.remote, DOWNLOADING))?;
    let mut block = vec![0; BLOCK];
    // A file that grows meanwhile is taken as far as it went when it was listed.
    while done < file.size {
        let room = usize::try_from(file.size - done).unwrap_or(BLOCK).min(BLOCK);
        let count = input.read(&mut block[..room]).await.map_err(io_at(&file.remote, DOWNLOADING))?;
        if count == 0 {
            let what = format!("it is {} bytes shorter than it was when it was listed", file.size - done);
            return Err(Error::Remote { path: file.remote.clone(), what });
        }
        output.write_all(&block[..count]).map_err(in_local)?;
        done += count as u64;
        progress(done);
    }
    // Where a file system has no times, the file is only brought once more.
    let _ = output.set_modified(file.time());
    output.sync_all().map_err(in_local)?;
    fs::rename(&part, &file.local).map_err(in_local)?;
    opscope_files::note_change(file.local.parent());
    Ok(())
}
