//! What is looked at on the board before the program runs, each with its remedy.

use russh_sftp::protocol::OpenFlags;

use crate::Progress;
use crate::connection::Connection;
use crate::error::Error;
use crate::remote::{join, odd_characters};
use crate::run::{LITTLE_SPACE, free_space};

/// What a collection is about to use.
pub(crate) struct Plan<'p> {
    /// The program on the board.
    pub program: &'p str,
    /// Where the board's profiler is to put its results.
    pub output: &'p str,
}

fn check(what: String, remedy: &str) -> Error {
    Error::Check { what, remedy: remedy.to_owned() }
}

/// Looks at everything; what only may spoil the run is a warning.
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
    if let Some(left) = free_space(&connection.sftp, plan.output).await.filter(|left| *left < LITTLE_SPACE) {
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
    let link = sftp.symlink_metadata(path).await.map_err(|_| {
        check(format!("{path} is not on the board"), "is --main within the project folder (--project)?")
    })?;
    let Ok(found) = sftp.metadata(path).await else {
        let target = sftp.read_link(path).await.unwrap_or_default();
        return Err(check(
            format!("{path} is a link to {target}, which is not on the board"),
            "name the program itself with --main, or put the link's target into the project",
        ));
    };
    if found.is_dir() {
        return Err(check(format!("{path} is a folder"), "name the program in it with --main"));
    }
    let may_run = found.permissions.is_none_or(|mode| mode & 0o111 != 0);
    if !may_run && !link.is_symlink() {
        return Err(check(
            format!("{path} is not executable"),
            "run 'chmod +x' on it here and collect again",
        ));
    }
    Ok(())
}

/// The profiler doesn't make its output folder; without it, results go beside the program.
async fn output(connection: &Connection, path: &str) -> Result<(), Error> {
    let probe = join(path, ".opscope-probe");
    let flags = OpenFlags::CREATE | OpenFlags::WRITE | OpenFlags::TRUNCATE;
    let opened = connection.sftp.open_with_flags(&probe, flags).await;
    let may_write = match opened {
        Ok(file) => file.close().await.is_ok(),
        Err(_) => false,
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
