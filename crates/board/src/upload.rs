//! Bringing a project to the board: only what changed, and links only within the project.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use russh_sftp::client::SftpSession;
use russh_sftp::protocol::{FileAttributes, OpenFlags};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use crate::Progress;
use crate::connection::{Connection, at, io_at};
use crate::error::Error;
use crate::remote::{join, portable};

const UPLOADING: &str = "files were uploaded";
/// The end of the name of a file that isn't whole yet.
const PART: &str = ".opscope-part";
const BLOCK: usize = 256 << 10;

/// A project: what is to be on the board.
#[derive(Debug, Default)]
pub(crate) struct Project {
    folders: Vec<String>,
    files: BTreeMap<String, Source>,
    links: Vec<(String, String)>,
    /// Links that lead out of the project and are left out.
    pub left_out: Vec<String>,
}

#[derive(Debug)]
enum Source {
    File { path: PathBuf, size: u64, modified: u32, mode: u32 },
    Text(String),
}

impl Source {
    fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } => *size,
            Self::Text(text) => text.len() as u64,
        }
    }
}

/// The counts of an upload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uploaded {
    pub files: u64,
    pub unchanged: u64,
}

impl Project {
    /// Lists a folder. Files that stay here (`skip`) are left out, however their path is written: profiles
    /// that earlier collections brought back, and secrets.
    pub fn list(root: &Path, skip: &[PathBuf]) -> Result<Self, Error> {
        let mut project = Self::default();
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let root = &real(root);
        let skip: Vec<PathBuf> = skip.iter().map(|path| real(path)).collect();
        let mut pending = vec![root.clone()];
        while let Some(folder) = pending.pop() {
            let local = |source| Error::Local { path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(local)? {
                let path = entry.map_err(|source| Error::Local { path: folder.clone(), source })?.path();
                let name = portable(path.strip_prefix(root).unwrap_or(&path));
                let found =
                    path.symlink_metadata().map_err(|source| Error::Local { path: path.clone(), source })?;
                if skip.contains(&path) || (found.is_symlink() && skip.contains(&real(&path))) {
                    continue;
                }
                if found.is_symlink() {
                    project.add_link(root, &path, name);
                } else if found.is_dir() {
                    project.folders.push(name);
                    pending.push(path);
                } else if found.is_file() {
                    project.files.insert(name, file(path, &found));
                }
            }
        }
        project.folders.sort();
        Ok(project)
    }

    /// A link is made again on the board if it stays within the project. One that names its target
    /// from the root, or by way of the project's own folder, is made from where it stands.
    fn add_link(&mut self, root: &Path, path: &Path, name: String) {
        let within = || {
            let target = portable(&fs::read_link(path).ok()?);
            let real = fs::canonicalize(path).ok()?;
            let real = portable(real.strip_prefix(root).ok()?);
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            Some(if stays_within(folder, &target) { target } else { way(folder, &real) })
        };
        match within() {
            Some(target) => self.links.push((name, target)),
            None => self.left_out.push(name),
        }
    }

    /// Sets the content of a file, whatever the folder has.
    pub fn replace(&mut self, name: String, content: String) {
        self.files.insert(name, Source::Text(content));
    }

    /// Adds a file from elsewhere.
    pub fn add(&mut self, name: &str, path: &Path) -> Result<(), Error> {
        let found = fs::metadata(path).map_err(|source| Error::Local { path: path.to_owned(), source })?;
        self.files.insert(name.to_owned(), file(path.to_owned(), &found));
        Ok(())
    }

    /// The files' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Brings everything below `root` on the board up to date.
    pub async fn upload(
        &self,
        connection: &Connection,
        root: &str,
        progress: &mut dyn Progress,
    ) -> Result<Uploaded, Error> {
        let sftp = &connection.sftp;
        make_folders(sftp, root).await?;
        for folder in &self.folders {
            let path = join(root, folder);
            if !exists(sftp, &path).await? {
                sftp.create_dir(&path).await.map_err(at(&path, UPLOADING))?;
            }
        }
        let total = self.files.values().map(Source::size).sum();
        let (mut done, mut uploaded) = (0, Uploaded::default());
        for (name, source) in &self.files {
            let path = join(root, name);
            if is_there(sftp, &path, source).await {
                uploaded.unchanged += 1;
            } else {
                put(sftp, &path, source, &mut |bytes| progress.bytes(done + bytes, total)).await?;
                uploaded.files += 1;
            }
            done += source.size();
            progress.bytes(done, total);
        }
        for (name, target) in &self.links {
            let path = join(root, name);
            if sftp.read_link(&path).await.ok().as_deref() != Some(target) {
                // Something else of that name may stand there.
                let _ = sftp.remove_file(&path).await;
                link(connection, &path, target).await?;
            }
        }
        Ok(uploaded)
    }
}

/// Whether following `target` from a folder of the project never leaves the project.
fn stays_within(folder: &str, target: &str) -> bool {
    let mut depth = folder.split('/').filter(|part| !part.is_empty()).count();
    !target.starts_with('/')
        && target.split('/').all(|part| match part {
            ".." => depth.checked_sub(1).inspect(|left| depth = *left).is_some(),
            "" | "." => true,
            _ => {
                depth += 1;
                true
            }
        })
}

/// The way from a folder of the project to a path in it.
fn way(folder: &str, path: &str) -> String {
    let up = folder.split('/').filter(|part| !part.is_empty()).map(|_| "..");
    up.chain([path]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

fn file(path: PathBuf, found: &fs::Metadata) -> Source {
    let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |since| u32::try_from(since.as_secs()).unwrap_or(u32::MAX));
    #[cfg(unix)]
    let mode = std::os::unix::fs::MetadataExt::mode(found) & 0o777;
    #[cfg(not(unix))]
    let mode = 0o755;
    Source::File { path, size: found.len(), modified, mode }
}

/// Servers disagree on the order of the two names in the protocol's own request; the shell doesn't.
async fn link(connection: &Connection, path: &str, target: &str) -> Result<(), Error> {
    let command = format!("ln -s {} {}", crate::remote::quoted(target), crate::remote::quoted(path));
    match connection.ask(&command).await? {
        Some(_) => Ok(()),
        None => Err(Error::Remote { path: path.to_owned(), what: "the link could not be made".to_owned() }),
    }
}

/// Makes a folder and those above it.
pub(crate) async fn make_folders(sftp: &SftpSession, path: &str) -> Result<(), Error> {
    let mut made = String::new();
    for part in path.split('/') {
        made = if made.is_empty() && part.is_empty() { "/".to_owned() } else { join(&made, part) };
        if !part.is_empty() && !exists(sftp, &made).await? {
            sftp.create_dir(&made).await.map_err(|error| match at(&made, UPLOADING)(error) {
                Error::Remote { path, what } => Error::Check {
                    what: format!("the folder {path} cannot be made on the board: {what}"),
                    remedy: "name another place with --remote-dir".to_owned(),
                },
                error => error,
            })?;
        }
    }
    Ok(())
}

pub(crate) async fn exists(sftp: &SftpSession, path: &str) -> Result<bool, Error> {
    sftp.try_exists(path).await.map_err(at(path, UPLOADING))
}

/// Whether a file is on the board already: of the same size and time.
async fn is_there(sftp: &SftpSession, path: &str, source: &Source) -> bool {
    let Ok(found) = sftp.metadata(path).await else { return false };
    match source {
        Source::File { size, modified, mode, .. } => {
            found.size == Some(*size)
                && found.mtime == Some(*modified)
                && (found.permissions.is_none_or(|there| there & 0o777 == *mode)
                    || set_mode(sftp, path, *mode).await)
        }
        Source::Text(text) => sftp.read(path).await.is_ok_and(|bytes| bytes == text.as_bytes()),
    }
}

/// Gives a file that is there other rights: they can change without its time.
async fn set_mode(sftp: &SftpSession, path: &str, mode: u32) -> bool {
    let attributes = FileAttributes { permissions: Some(mode), ..FileAttributes::empty() };
    sftp.set_metadata(path, attributes).await.is_ok()
}

/// Writes a file under another name and renames it when it is whole. The part that an earlier
/// attempt wrote is kept.
async fn put(
    sftp: &SftpSession,
    path: &str,
    source: &Source,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let (part, mode) = match source {
        Source::File { size, modified, mode, .. } => (format!("{path}.{size}.{modified}{PART}"), *mode),
        Source::Text(_) => (format!("{path}{PART}"), 0o640),
    };
    match source {
        Source::Text(text) => {
            let flags = OpenFlags::CREATE | OpenFlags::TRUNCATE | OpenFlags::WRITE;
            let mut file = sftp.open_with_flags(&part, flags).await.map_err(at(&part, UPLOADING))?;
            file.write_all(text.as_bytes()).await.map_err(io_at(&part, UPLOADING))?;
            file.shutdown().await.map_err(io_at(&part, UPLOADING))?;
        }
        Source::File { path: local, .. } => copy(sftp, local, &part, progress).await?,
    }
    let attributes = FileAttributes { permissions: Some(mode), ..times(source) };
    sftp.set_metadata(&part, attributes).await.map_err(at(&part, UPLOADING))?;
    // The protocol's rename doesn't replace.
    let _ = sftp.remove_file(path).await;
    sftp.rename(&part, path).await.map_err(at(path, UPLOADING))
}

fn times(source: &Source) -> FileAttributes {
    let time = match source {
        Source::File { modified, .. } => Some(*modified),
        Source::Text(_) => None,
    };
    FileAttributes { atime: time, mtime: time, ..FileAttributes::empty() }
}

async fn copy(
    sftp: &SftpSession,
    local: &Path,
    part: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let in_local = |source| Error::Local { path: local.to_owned(), source };
    let mut input = fs::File::open(local).map_err(in_local)?;
    let flags = OpenFlags::CREATE | OpenFlags::WRITE;
    let mut file = sftp.open_with_flags(part, flags).await.map_err(at(part, UPLOADING))?;
    let mut done = file.metadata().await.map_err(at(part, UPLOADING))?.size.unwrap_or(0);
    std::io::Seek::seek(&mut input, std::io::SeekFrom::Start(done)).map_err(in_local)?;
    file.seek(std::io::SeekFrom::Start(done)).await.map_err(io_at(part, UPLOADING))?;
    let mut block = vec![0; BLOCK];
    loop {
        let count = std::io::Read::read(&mut input, &mut block).map_err(in_local)?;
        if count == 0 {
            break;
        }
        file.write_all(&block[..count]).await.map_err(io_at(part, UPLOADING))?;
        done += count as u64;
        progress(done);
    }
    file.shutdown().await.map_err(io_at(part, UPLOADING))
}

/// The content of a small file on the board, if it is there.
pub(crate) async fn read_small(sftp: &SftpSession, path: &str) -> Option<Vec<u8>> {
    const SMALL: u64 = 1 << 20;
    let file = sftp.open(path).await.ok()?;
    let mut bytes = Vec::new();
    file.take(SMALL).read_to_end(&mut bytes).await.ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_stay_within_the_project_and_earlier_results_stay_here() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        for name in ["out", "profiling", "src"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("out/main"), "x").unwrap();
        fs::write(root.join("profiling/old"), "x").unwrap();
        fs::write(folder.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink("out/main", root.join("main")).unwrap();
        std::os::unix::fs::symlink("../secret", root.join("leak")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
        std::os::unix::fs::symlink(root.join("src"), root.join("out/sources")).unwrap();
        std::os::unix::fs::symlink("../project/src", root.join("by_way_of_its_name")).unwrap();
        let mut project = Project::list(&root, &[root.join("out/../profiling")]).unwrap();
        project.replace("src/acl.json".to_owned(), "{}".to_owned());
        assert_eq!(project.folders, ["out", "src"]);
        assert_eq!(project.names().collect::<Vec<_>>(), ["out/main", "src/acl.json"]);
        project.links.sort();
        let links = [("by_way_of_its_name", "src"), ("main", "out/main"), ("out/sources", "../src")];
        assert_eq!(project.links, links.map(|(name, target)| (name.to_owned(), target.to_owned())));
        project.left_out.sort();
        assert_eq!(project.left_out, ["dangling", "leak"]);
    }
}
