//! Checks of the board before the program runs, each with its remedy.

use russh_sftp::protocol::OpenFlags;

use crate::Progress;
use crate::connection::{Connection, at};
use crate::error::Error;
use crate::remote::{join, odd_characters, quoted};
use crate::space::{LITTLE_SPACE, free_space};

const CHECKING: &str = "the board was checked";

/// The places that a collection is about to use.
pub(crate) struct Plan<'p> {
    /// The program on the board.
    pub program: &'p str,
    /// Where the board's profiler is to put its results.
    pub output: &'p str,
}

fn check(what: String, remedy: &str) -> Error {
    Error::Check { what, remedy: remedy.to_owned() }
}

/// Looks at everything. A fault that only may spoil the run is a warning.
///
/// # Errors
/// With the first thing that makes a run pointless.
pub(crate) async fn all(
    connection: &Connection,
    plan: &Plan<'_>,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    umask(connection, progress).await?;
    let odd = odd_characters(plan.output);
    if !odd.is_empty() {
        progress.warn(&format!(
            "{}: the board's profiler takes letters, digits and underscores in paths only, not '{odd}'; if no \
             results appear, name another folder with --remote-dir",
            plan.output
        ));
    }
    program(connection, plan.program).await?;
    output(connection, plan.output).await?;
    if let Some(left) = free_space(connection, plan.output).await.filter(|left| *left < LITTLE_SPACE) {
        return Err(check(
            format!("the board has only {} MB left at {}", left >> 20, plan.output),
            "remove old results there, or mount a folder of this machine with --nfs SERVER:PATH",
        ));
    }
    Ok(())
}

/// The profiler makes its files with the user's umask. The program is run with a strict one, so a
/// loose one only concerns what the user starts by hand.
async fn umask(connection: &Connection, progress: &mut dyn Progress) -> Result<(), Error> {
    let umask = connection.ask("umask").await?.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    if let Some(umask) = umask.filter(|umask| umask & 0o027 != 0o027) {
        progress.warn(&format!(
            "the umask on the board is {umask:04o}, so results would be open to others; the program runs with 0027 \
             (set it for good with 'umask 0027' in the profile of the user's shell)"
        ));
    }
    Ok(())
}

async fn program(connection: &Connection, path: &str) -> Result<(), Error> {
    let sftp = &connection.sftp;
    let link = sftp.symlink_metadata(path).await.map_err(|error| match at(path, CHECKING)(error) {
        Error::Remote { what, .. } => check(
            format!("{path} is not on the board ({what})"),
            "is --main within the project folder (--project)?",
        ),
        error => error,
    })?;
    let found = sftp.metadata(path).await.map_err(at(path, CHECKING));
    if let Err(error @ (Error::Lost { .. } | Error::Ssh(_))) = found {
        return Err(error);
    }
    let Ok(found) = found else {
        let target = sftp.read_link(path).await.unwrap_or_default();
        return Err(check(
            format!("{path} is a link to {target}, which is not on the board"),
            "name the program itself with --main, or put the link's target into the project",
        ));
    };
    if found.is_dir() {
        return Err(check(format!("{path} is a folder"), "name the program in it with --main"));
    }
    let place = if link.is_symlink() { "the file that it links to" } else { "it" };
    if found.permissions.is_some_and(|mode| mode & 0o111 == 0) {
        return Err(check(
            format!("{path} is not executable"),
            &format!("run 'chmod +x' on {place} here and collect again"),
        ));
    }
    if connection.ask(&format!("[ -x {} ]", quoted(path))).await?.is_none() {
        return Err(check(
            format!("the board refuses to execute {path} although its mode allows it"),
            "its file system may be mounted with noexec, or a folder above it closed to the user: name another \
             place with --remote-dir",
        ));
    }
    Ok(())
}

/// The profiler doesn't make its output folder; without it, results go beside the program.
async fn output(connection: &Connection, path: &str) -> Result<(), Error> {
    let probe = join(path, ".opscope-probe");
    let flags = OpenFlags::CREATE | OpenFlags::WRITE | OpenFlags::TRUNCATE;
    let opened = connection.sftp.open_with_flags(&probe, flags).await;
    let may_write = match opened.map_err(at(path, CHECKING)) {
        Ok(file) => file.close().await.is_ok(),
        Err(Error::Remote { .. }) => false,
        Err(error) => return Err(error),
    };
    let _ = connection.sftp.remove_file(&probe).await;
    if may_write {
        return Ok(());
    }
    Err(check(
        format!("the folder {path} on the board cannot be written"),
        "give the user the right to write there, or name another with --remote-dir",
    ))
}
