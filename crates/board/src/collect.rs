//! A whole collection, step by step.

use std::path::PathBuf;

use crate::Progress;
use crate::acl_json::{config_file, found_style, tell_changes};
use crate::checks::{self, Plan};
use crate::connection::{Connection, LONG_COMMAND, at};
use crate::download;
use crate::error::Error;
use crate::link::{ATTEMPTS, Link};
use crate::main_program::main_in_project;
use crate::mounting::{mount, unmount};
use crate::program::{Program, ProgramEnd};
use crate::remote::{join, local_target, quoted};
use crate::request::Request;
use crate::settings::{KeyStyle, Settings};
use crate::upload::{Project, exists, make_folders, read_small};

/// Where the board has opscope's own collector, below the project.
const COLLECTOR: &str = ".opscope-collector.so";
/// Where the board notes what the program prints and how it ends, below the project.
const RUN_FOLDER: &str = ".opscope-run";
/// A file that marks a folder on the board as one that opscope made and may remove.
const OWN_FOLDER: &str = ".opscope-project";
/// The folder below the project, on the board and here, that results go to.
const PROFILING: &str = "profiling";

/// The results of a collection.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The profiles that are here now: `JOB*` of a board, `PROF_*` of a host with Ascend processors.
    pub profiles: Vec<PathBuf>,
    /// How the program ended.
    pub end: ProgramEnd,
    /// How many files were uploaded, and how many were on the board already.
    pub uploaded: (u64, u64),
}

/// Collects a profile on a board.
///
/// # Errors
/// With what went wrong, where, and what to do about it. Everything that was brought here until then
/// stays; the next collection uploads and fetches only the rest.
pub fn collect(request: &Request, progress: &mut dyn Progress) -> Result<Collected, Error> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    runtime.block_on(collect_async(request, progress))
}

async fn collect_async(request: &Request, progress: &mut dyn Progress) -> Result<Collected, Error> {
    let main = main_in_project(&request.project, &request.main)?;
    if let Some(export) = &request.nfs {
        export.check_name()?;
    }
    progress.step(&format!("connecting to {}", request.config.host));
    let mut link = Link::open(request).await?;
    let result = collect_locked(request, &main, &mut link, progress).await;
    match &result {
        // Its program may run on, and has the lock as long as it does.
        Err(Error::LeftOff { .. }) => {}
        _ => link.close().await,
    }
    result
}

async fn collect_locked(
    request: &Request,
    main: &str,
    link: &mut Link<'_>,
    progress: &mut dyn Progress,
) -> Result<Collected, Error> {
    let root = remote_root(request, &link.connection).await?;
    let output = join(&root, PROFILING);
    let path = join(&root, main);
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", &path));
    let mut environment = Vec::new();
    if request.collector.is_some() {
        environment.push(format!("LD_PRELOAD={}", join(&root, COLLECTOR)));
        environment.push(format!("OPSCOPE_SVP_OUTPUT={output}"));
    }
    let (arguments, timeout) = (&request.arguments, request.timeouts.program);
    let run = join(&root, RUN_FOLDER);
    let program = Program { folder, name, arguments, environment, run, output: &output, timeout };
    let begun = match request.resume {
        true => earlier_run(&program, link).await.map(|before| ((0, 0), before)),
        false => begin(request, main, &root, &program, link, progress).await,
    };
    if begun.is_err() && !request.resume && request.nfs.is_some() {
        unmount(&output, &link.connection).await;
    }
    let (uploaded, before) = begun?;
    let result = finish(request, &program, &before, link, progress).await;
    let is_left = matches!(result, Err(Error::LeftOff { .. }));
    if !is_left && request.nfs.is_some() {
        unmount(&output, &link.connection).await;
    }
    let (profiles, end) = result?;
    program.forget(&link.connection).await;
    if request.clean_up {
        clean_up(&link.connection, &root, progress).await;
    }
    Ok(Collected { profiles, end, uploaded })
}

/// The profiles that were there before the run that is gone on with.
async fn earlier_run(program: &Program<'_>, link: &Link<'_>) -> Result<Vec<RemoteProfile>, Error> {
    let before = read_small(&link.connection.sftp, &join(&program.run, "before")).await;
    let text = before.ok_or_else(|| Error::Check {
        what: format!("there is no collection of {} on the board to go on with", program.name),
        remedy: "collect without --resume".to_owned(),
    })?;
    let lines = String::from_utf8_lossy(&text);
    let profiles = lines.lines().filter_map(|line| {
        let (state, path) = line.split_once(' ')?;
        Some(RemoteProfile { path: path.to_owned(), state: state.to_owned() })
    });
    Ok(profiles.collect())
}

/// A profile on the board, and a state by which a profile that was written again is told.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RemoteProfile {
    path: String,
    state: String,
}

/// Brings the project to the board, looks at everything, and starts the program.
async fn begin(
    request: &Request,
    main: &str,
    root: &str,
    program: &Program<'_>,
    link: &mut Link<'_>,
    progress: &mut dyn Progress,
) -> Result<((u64, u64), Vec<RemoteProfile>), Error> {
    let uploaded = upload(request, main, root, program.output, link, progress).await?;
    let (mut attempt, mut is_mounted) = (1, false);
    let before = loop {
        match prepare(request, program, &mut is_mounted, link, progress).await {
            Ok(before) => break before,
            Err(error) => again(error, &mut attempt, link, progress).await?,
        }
    };
    progress.step(&format!("running {}", program.name));
    let lines: Vec<String> =
        before.iter().map(|profile| format!("{} {}", profile.state, profile.path)).collect();
    program.start(link, &lines.join("\n"), progress).await?;
    Ok((uploaded, before))
}

/// Makes the output folder, looks at everything, and lists the profiles that are there.
async fn prepare(
    request: &Request,
    program: &Program<'_>,
    is_mounted: &mut bool,
    link: &Link<'_>,
    progress: &mut dyn Progress,
) -> Result<Vec<RemoteProfile>, Error> {
    let output = program.output;
    make_folders(&link.connection.sftp, output).await?;
    if let Some(export) = request.nfs.as_ref().filter(|_| !*is_mounted) {
        mount(export, output, request.timeouts.mount, &link.connection).await?;
        *is_mounted = true;
    }
    progress.step("checking the board");
    let plan = Plan { program: &join(program.folder, program.name), output };
    checks::all(&link.connection, &plan, progress).await?;
    profiles_in(program, link).await
}

async fn remote_root(request: &Request, connection: &Connection) -> Result<String, Error> {
    let remote = request.remote.as_deref().map(|remote| match remote.trim_end_matches('/') {
        "" if remote.starts_with('/') => "/",
        remote => remote,
    });
    if let Some(remote) = remote.filter(|remote| remote.starts_with('/')) {
        return Ok(remote.to_owned());
    }
    let home = connection.sftp.canonicalize(".").await.map_err(at(".", "connecting"))?;
    if let Some(remote) = remote {
        // The program runs elsewhere, and its acl.json must name the same place.
        let below = remote.strip_prefix("~/").unwrap_or(remote);
        return Ok(if matches!(below, "" | "~") { home } else { join(&home, below) });
    }
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
    let results = [request.project.join(PROFILING), request.output.clone()];
    let skip: Vec<PathBuf> = results.into_iter().chain(request.secrets.iter().cloned()).collect();
    let mut project = Project::list(&request.project, &skip)?;
    for name in &project.left_out {
        progress
            .warn(&format!("{name}: a link that leads out of the project, or nowhere; it is not uploaded"));
    }
    let config = config_file(&project, main);
    progress.step(&format!("switching profiling on in {config}"));
    let existing = std::fs::read(request.project.join(&config)).ok();
    let in_config =
        |source| Error::Settings { path: request.project.join(&config).display().to_string(), source };
    let style = match request.settings.style {
        KeyStyle::Found => found_style(&link.connection).await?,
        style => style,
    };
    let settings = Settings { style, ..request.settings.clone() };
    let (text, changed) = settings.apply(existing.as_deref(), output).map_err(in_config)?;
    tell_changes(&config, &changed, output, progress);
    project.replace(config, text);
    if let Some(collector) = &request.collector {
        project.add(COLLECTOR, collector)?;
    }
    let is_new = !exists(&link.connection.sftp, root).await?;
    let mut attempt = 1;
    let done = loop {
        match project.upload(&link.connection, root, progress).await {
            Ok(done) => break done,
            Err(error) => again(error, &mut attempt, link, progress).await?,
        }
    };
    if is_new {
        let marker = join(root, OWN_FOLDER);
        let made = link.connection.sftp.create(&marker).await.map_err(at(&marker, "uploading"))?;
        let _ = made.close().await;
    }
    Ok((done.files, done.unchanged))
}

/// Follows the program to its end and brings its results back.
async fn finish(
    request: &Request,
    program: &Program<'_>,
    before: &[RemoteProfile],
    link: &mut Link<'_>,
    progress: &mut dyn Progress,
) -> Result<(Vec<PathBuf>, ProgramEnd), Error> {
    progress.runs(true);
    let end = program.follow(link, progress).await;
    progress.runs(false);
    let end = end?;
    let left_off = |error: Error| match error.may_pass() {
        true => Error::LeftOff { what: "the results are", source: Box::new(error) },
        false => error,
    };
    let profiles = fetch(request, program, before, link, progress).await.map_err(left_off)?;
    Ok((profiles, end))
}

/// Brings back the profiles that were not there before.
async fn fetch(
    request: &Request,
    program: &Program<'_>,
    before: &[RemoteProfile],
    link: &mut Link<'_>,
    progress: &mut dyn Progress,
) -> Result<Vec<PathBuf>, Error> {
    let mut attempt = 1;
    let found = loop {
        match profiles_in(program, link).await {
            Ok(found) => break found,
            Err(error) => again(error, &mut attempt, link, progress).await?,
        }
    };
    let new = found.into_iter().filter(|profile| !before.contains(profile)).map(|profile| profile.path);
    let new: Vec<String> = new.collect();
    let is_job = |path: &String| path.rsplit('/').next().is_some_and(|name| name.starts_with("JOB"));
    if new.iter().any(|path| is_job(path) && !path.starts_with(&join(program.output, ""))) {
        progress
            .warn("the board put results beside the program: it did not take the output folder of acl.json");
    }
    let mut profiles = Vec::new();
    for path in new {
        let name = path.rsplit('/').next().unwrap_or_default();
        progress.step(&format!("bringing {name} back"));
        let target = local_target(&request.output, name).ok_or_else(|| Error::Remote {
            path: path.clone(),
            what: "a name that can't be a folder's here".to_owned(),
        })?;
        // A collection that is gone on with goes on with what it brought, too.
        let aside = if request.resume { None } else { download::move_aside(&target)? };
        if let Some(aside) = aside {
            progress.warn(&format!("an earlier {name} was here; it is {} now", aside.display()));
        }
        while let Err(error) = download::fetch(&link.connection.sftp, &path, &target, progress).await {
            again(error, &mut attempt, link, progress).await?;
        }
        profiles.push(target);
    }
    Ok(profiles)
}

/// Connects again for a further attempt, if there is one.
async fn again(
    error: Error,
    attempt: &mut u32,
    link: &mut Link<'_>,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    if *attempt >= ATTEMPTS {
        return Err(error);
    }
    *attempt += 1;
    link.mend(error, progress).await
}

/// The profiles on the board: in the output folder, beside the program, and in the project's own folder,
/// which is where a script that runs the vendor's collector may have put them.
async fn profiles_in(program: &Program<'_>, link: &Link<'_>) -> Result<Vec<RemoteProfile>, Error> {
    let (sftp, mut found) = (&link.connection.sftp, Vec::new());
    let mut places = vec![program.output, program.folder];
    let root = program.run.rsplit_once('/').map_or("", |(root, _)| root);
    if !places.contains(&root) && !root.is_empty() {
        places.push(root);
    }
    for place in places {
        for name in download::profiles(sftp, place).await? {
            let path = join(place, &name);
            let state = download::state(sftp, &path).await?;
            found.push(RemoteProfile { path, state });
        }
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
    let command = format!("rm -rf -- {}", quoted(root));
    if connection.ask_within(&command, LONG_COMMAND).await.ok().flatten().is_none() {
        progress.warn(&format!("{root} could not be removed from the board"));
    }
}
