//! A whole collection, step by step.

use std::path::{Path, PathBuf};

use crate::Progress;
use crate::checks::{self, Lock, Plan};
use crate::config::BoardConfig;
use crate::connection::{Connection, HostKeys, Timeouts};
use crate::download;
use crate::error::Error;
use crate::nfs::NfsExport;
use crate::remote::{join, portable, quoted};
use crate::run::{Program, ProgramEnd};
use crate::settings::Settings;
use crate::upload::{Project, exists, make_folders, read_small};

/// How often a transfer is tried again with a new connection.
const ATTEMPTS: usize = 4;
/// A file that marks a folder on the board as one that opscope made and may remove.
const OWN_FOLDER: &str = ".opscope-project";
/// The folder below the project, on the board and here, that results go to.
const PROFILING: &str = "profiling";

/// What is to be collected.
#[derive(Clone, Debug)]
pub struct Request {
    /// How to reach the board.
    pub config: BoardConfig,
    /// Which hosts are known.
    pub host_keys: HostKeys,
    /// How long is waited for what.
    pub timeouts: Timeouts,
    /// The folder to upload.
    pub project: PathBuf,
    /// The program within it.
    pub main: PathBuf,
    /// What the program is given.
    pub arguments: Vec<String>,
    /// Where the project goes on the board; below the user's home by default.
    pub remote: Option<String>,
    /// The profiling switches.
    pub settings: Settings,
    /// Where the `JOB*` directories go here.
    pub output: PathBuf,
    /// A folder that the board mounts for its results.
    pub nfs: Option<NfsExport>,
    /// Whether the project and the results are removed from the board at the end.
    pub clean_up: bool,
}

/// What a collection brought.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The `JOB*` directories that are here now.
    pub jobs: Vec<PathBuf>,
    /// How the program ended.
    pub end: ProgramEnd,
    /// How many files were uploaded, and how many were on the board already.
    pub uploaded: (u64, u64),
}

/// Collects a profile on a board.
///
/// # Errors
/// With what went wrong, where, and what to do about it. What was brought here until then stays; the
/// next collection uploads and fetches only what is missing.
pub fn collect(request: &Request, progress: &mut dyn Progress) -> Result<Collected, Error> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    runtime.block_on(collect_async(request, progress))
}

async fn collect_async(request: &Request, progress: &mut dyn Progress) -> Result<Collected, Error> {
    let main = main_in_project(&request.project, &request.main)?;
    progress.step(&format!("connecting to {}", request.config.host));
    let mut link = Link::open(request).await?;
    let lock = Lock::take(&link.connection).await?;
    let result = collect_locked(request, &main, &mut link, &lock.pid_file(), progress).await;
    lock.release(&link.connection).await;
    link.connection.close().await;
    result
}

/// The program's path within the project, with forward slashes.
fn main_in_project(project: &Path, main: &Path) -> Result<String, Error> {
    let outside = || Error::Check {
        what: format!("{} is not in the project folder {}", main.display(), project.display()),
        remedy: "name the folder to upload with --project".to_owned(),
    };
    let local = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Local { path, source }
    };
    let root = project.canonicalize().map_err(local(project))?;
    // The program's own folder is resolved, but not the program: a link is looked at on the board.
    let folder = main.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(local(main))?;
    let name = main.file_name().ok_or_else(outside)?;
    main.symlink_metadata().map_err(local(main))?;
    let path = folder.join(name);
    Ok(portable(path.strip_prefix(&root).map_err(|_| outside())?))
}

/// The connection, which is made anew where a transfer loses it.
struct Link<'r> {
    request: &'r Request,
    connection: Connection,
}

impl<'r> Link<'r> {
    async fn open(request: &'r Request) -> Result<Self, Error> {
        let Request { config, host_keys, timeouts, .. } = request;
        Ok(Self { request, connection: Connection::open(config, host_keys, timeouts).await? })
    }

    async fn reopen(
        &mut self,
        error: Error,
        attempt: usize,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        if attempt >= ATTEMPTS || !error.is_lost_connection() {
            return Err(error);
        }
        progress.warn(&format!("{error}; connecting again"));
        tokio::time::sleep(std::time::Duration::from_secs(attempt as u64)).await;
        let Request { config, host_keys, timeouts, .. } = self.request;
        self.connection = Connection::open(config, host_keys, timeouts).await?;
        Ok(())
    }
}

async fn collect_locked(
    request: &Request,
    main: &str,
    link: &mut Link<'_>,
    pid_file: &str,
    progress: &mut dyn Progress,
) -> Result<Collected, Error> {
    let root = remote_root(request, &link.connection).await?;
    let output = join(&root, PROFILING);
    let uploaded = upload(request, main, &root, &output, link, progress).await?;
    make_folders(&link.connection.sftp, &output).await?;
    if let Some(export) = &request.nfs {
        mount(export, &output, &link.connection).await?;
    }
    let program = join(&root, main);
    let (folder, name) = program.rsplit_once('/').unwrap_or((".", &program));
    let result = run_and_fetch(request, (folder, name), &output, pid_file, link, progress).await;
    if request.nfs.is_some() {
        let _ = link.connection.ask(&format!("umount {}", quoted(&output))).await;
    }
    let (jobs, end) = result?;
    if request.clean_up {
        clean_up(&link.connection, &root, progress).await;
    }
    Ok(Collected { jobs, end, uploaded })
}

async fn remote_root(request: &Request, connection: &Connection) -> Result<String, Error> {
    if let Some(remote) = &request.remote {
        return Ok(remote.trim_end_matches('/').to_owned());
    }
    let home = connection.sftp.canonicalize(".").await.map_err(crate::connection::at(".", "connecting"))?;
    let project = request.project.canonicalize().unwrap_or_else(|_| request.project.clone());
    let name = project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Ok(join(&join(&home, "opscope"), if name.is_empty() { "project" } else { &name }))
}

async fn upload(
    request: &Request,
    main: &str,
    root: &str,
    output: &str,
    link: &mut Link<'_>,
    progress: &mut dyn Progress,
) -> Result<(u64, u64), Error> {
    progress.step("uploading the project");
    let skip = [request.project.join(PROFILING), request.output.clone()];
    let mut project = Project::list(&request.project, &skip)?;
    for name in &project.left_out {
        progress
            .warn(&format!("{name}: a link that leads out of the project, or nowhere; it is not uploaded"));
    }
    let config = config_file(&project, main);
    let existing = std::fs::read(request.project.join(&config)).ok();
    let in_config =
        |source| Error::Settings { path: request.project.join(&config).display().to_string(), source };
    let text = request.settings.apply(existing.as_deref(), output).map_err(in_config)?;
    project.replace(config, text);
    let is_new = !exists(&link.connection.sftp, root).await?;
    let mut attempt = 1;
    let done = loop {
        match project.upload(&link.connection, root, progress).await {
            Ok(done) => break done,
            Err(error) => link.reopen(error, attempt, progress).await?,
        }
        attempt += 1;
    };
    if is_new {
        let marker = join(root, OWN_FOLDER);
        let made = link
            .connection
            .sftp
            .create(&marker)
            .await
            .map_err(crate::connection::at(&marker, "uploading"))?;
        let _ = made.close().await;
    }
    Ok((done.files, done.unchanged))
}

/// The project's `acl.json`: the one that is there, nearest to the program; or where the vendor's
/// samples have theirs, in `src` beside the program's folder if there is one, else beside it.
fn config_file(project: &Project, main: &str) -> String {
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let source = join(above, "src");
    let likely = [join(folder, "acl.json"), join(&source, "acl.json"), join(above, "acl.json")];
    let names: Vec<&str> = project.names().collect();
    let found = likely.iter().find(|path| names.contains(&path.as_str()));
    let anywhere = || names.iter().find(|name| name.ends_with("/acl.json")).map(|name| (*name).to_owned());
    let has_source = names.iter().any(|name| name.starts_with(&format!("{source}/")));
    let default = if has_source && !folder.is_empty() { &likely[1] } else { &likely[0] };
    found.cloned().or_else(anywhere).unwrap_or_else(|| default.clone())
}

async fn mount(export: &NfsExport, output: &str, connection: &Connection) -> Result<(), Error> {
    let mut text = Vec::new();
    let command = export.mount_command(output);
    let end = connection.run(&command, |_, bytes| text.extend_from_slice(bytes)).await?;
    if end == crate::connection::CommandEnd::Status(0) {
        return Ok(());
    }
    Err(Error::Check {
        what: format!("the board could not mount ('{command}'): {}", String::from_utf8_lossy(&text).trim()),
        remedy: "check that the server exports the folder to the board, or collect without --nfs".to_owned(),
    })
}

async fn run_and_fetch(
    request: &Request,
    (folder, name): (&str, &str),
    output: &str,
    pid_file: &str,
    link: &mut Link<'_>,
    progress: &mut dyn Progress,
) -> Result<(Vec<PathBuf>, ProgramEnd), Error> {
    progress.step("checking the board");
    let plan = Plan { program: &join(folder, name), output };
    checks::all(&link.connection, &plan, progress).await?;
    let places = [output, folder];
    let before = jobs_in(&places, link).await?;
    progress.step(&format!("running {name}"));
    let (arguments, timeout) = (&request.arguments, request.timeouts.program);
    let program = Program { folder, name, arguments, pid_file, output, timeout };
    let end = program.run(&link.connection, progress).await?;
    let new: Vec<_> = jobs_in(&places, link).await?.into_iter().filter(|job| !before.contains(job)).collect();
    if new.iter().any(|(place, _)| place != output) {
        progress
            .warn("the board put results beside the program: it did not take the output folder of acl.json");
    }
    let mut jobs = Vec::new();
    for (place, job) in new {
        progress.step(&format!("bringing {job} back"));
        let target = crate::remote::local_target(&request.output, &job).ok_or_else(|| Error::Remote {
            path: job.clone(),
            what: "a name that can't be a folder's here".to_owned(),
        })?;
        let mut attempt = 1;
        while let Err(error) =
            download::fetch(&link.connection.sftp, &join(&place, &job), &target, progress).await
        {
            link.reopen(error, attempt, progress).await?;
            attempt += 1;
        }
        jobs.push(target);
    }
    Ok((jobs, end))
}

/// The `JOB*` directories in some folders on the board, with the folder of each.
async fn jobs_in(places: &[&str], link: &Link<'_>) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    for place in places {
        let jobs = download::jobs(&link.connection.sftp, place).await?;
        found.extend(jobs.into_iter().map(|job| ((*place).to_owned(), job)));
    }
    Ok(found)
}

/// Removes the project from the board if opscope brought it there.
async fn clean_up(connection: &Connection, root: &str, progress: &mut dyn Progress) {
    if read_small(&connection.sftp, &join(root, OWN_FOLDER)).await.is_none() {
        progress.warn(&format!("{root} was on the board before and is left there"));
        return;
    }
    progress.step("cleaning up");
    if connection.ask(&format!("rm -rf -- {}", quoted(root))).await.ok().flatten().is_none() {
        progress.warn(&format!("{root} could not be removed from the board"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn project(files: &[&str]) -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let project = Project::list(folder.path(), &[]).unwrap();
        (folder, project)
    }

    #[test]
    fn the_configuration_is_the_one_nearest_to_the_program() {
        let place = |files: &[&str], main: &str| config_file(&project(files).1, main);
        assert_eq!(place(&["out/main", "out/acl.json", "src/acl.json"], "out/main"), "out/acl.json");
        assert_eq!(place(&["out/main", "src/acl.json"], "out/main"), "src/acl.json");
        assert_eq!(place(&["out/main", "acl.json"], "out/main"), "acl.json");
        assert_eq!(place(&["out/main", "data/acl.json"], "out/main"), "data/acl.json");
        assert_eq!(place(&["out/main", "src/main.cpp"], "out/main"), "src/acl.json");
        assert_eq!(place(&["main"], "main"), "acl.json");
    }

    #[test]
    fn the_program_must_be_within_the_project() {
        let (folder, _) = project(&["app/out/main", "other"]);
        let root = folder.path().join("app");
        assert_eq!(main_in_project(&root, &root.join("out/main")).unwrap(), "out/main");
        let error = main_in_project(&root, &folder.path().join("other")).unwrap_err();
        assert!(error.to_string().contains("--project"), "{error}");
        assert!(matches!(main_in_project(&root, &root.join("none")), Err(Error::Local { .. })));
    }
}
