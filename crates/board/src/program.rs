//! The program on the board, and its start.
//!
//! The program is started apart from the connection, so that it goes on where that is lost. Its
//! output and its end go into files of a folder of the run:
//!
//! | file | content |
//! |---|---|
//! | `before` | the `JOB*` directories that were there before, a line for each |
//! | `group` | the number of the group of processes that the run consists of |
//! | `stdout`, `stderr` | the program's output |
//! | `status` | its exit status, once it has ended; 128 and more is a signal, as in a shell |
//!
//! Where the disk is full, the status goes beside the board's lock, which usually lies on another; and where
//! that is full, too, the end is known by the program's being gone. No file that is empty says anything.

use std::time::Duration;

use russh_sftp::client::SftpSession;

use crate::Progress;
use crate::connection::{Connection, at, io_at};
use crate::error::Error;
use crate::link::{ATTEMPTS, Link};
use crate::remote::{join, quoted};
use crate::upload::exists;

/// The work during which a connection may be lost.
pub(crate) const RUNNING: &str = "the program ran on the board";

/// Runs the program and notes its end. Its arguments: the folder of the run, the file for the
/// program's number, and the program with its own arguments. A program that couldn't be found again
/// isn't started.
const WRAPPER: &str = r#"run=$1; pid=$2; shift 2
echo $$ >"$run/group" && [ -s "$run/group" ] || exit 1
"$@" >"$run/stdout" 2>"$run/stderr" &
echo $! >"$pid"
wait $!; status=$?
for place in "$run" "${pid%/*}"; do
    echo $status >"$place/status.part" && [ -s "$place/status.part" ] && mv "$place/status.part" "$place/status" && break
done"#;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// By itself, with this status.
    Status(u32),
    /// By this signal.
    Killed(u32),
    /// It took too long and was stopped.
    TimedOut(Duration),
    /// The user had it stopped.
    Interrupted,
    /// It is gone, and nothing noted how it ended.
    Vanished,
    /// It has ended, and the board's disk is so full that how it did couldn't be noted.
    DiskFull,
}

impl ProgramEnd {
    /// The end that a shell's `$?` says; signals are added to 128 there.
    pub(crate) fn of_shell(status: u32) -> Self {
        match status {
            129..=192 => Self::Killed(status - 128),
            status => Self::Status(status),
        }
    }
}

/// A program to run, and its place.
pub(crate) struct Program<'p> {
    /// The folder that it runs in.
    pub folder: &'p str,
    /// The program, in that folder.
    pub name: &'p str,
    /// Its arguments.
    pub arguments: &'p [String],
    /// Further variables, as `NAME=VALUE`.
    pub environment: Vec<String>,
    /// The folder of the run.
    pub run: String,
    /// The folder whose space is watched.
    pub output: &'p str,
    /// How long it may take.
    pub timeout: Option<Duration>,
}

impl Program<'_> {
    /// A file of the run.
    pub fn file(&self, name: &str) -> String {
        join(&self.run, name)
    }

    /// Starts it. `before` is kept for a later collection that goes on with this run.
    pub async fn start(
        &self,
        link: &mut Link<'_>,
        before: &str,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        let mut attempt = 1;
        while let Err(error) = self.try_start(link, before).await {
            if attempt == ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
            link.mend(error, progress).await?;
            // It may have been started before the line broke, and must not be a second time.
            if exists(&link.connection.sftp, &self.file("group")).await? {
                break;
            }
        }
        Ok(())
    }

    async fn try_start(&self, link: &Link<'_>, before: &str) -> Result<(), Error> {
        let connection = &link.connection;
        let run = quoted(&self.run);
        if connection.ask(&format!("umask 0027; rm -rf -- {run} && mkdir -p {run}")).await?.is_none() {
            return Err(Error::Remote {
                path: self.run.clone(),
                what: "the folder could not be made".to_owned(),
            });
        }
        put(&connection.sftp, &self.file("before"), before.as_bytes()).await?;
        let started = connection.ask(&self.command(&link.lock.pid_file())).await?;
        let failed =
            || Error::Remote { path: self.name.to_owned(), what: "it could not be started".to_owned() };
        started.map(|_| ()).ok_or_else(failed)
    }

    /// The line for the board's shell. The umask is what the board's profiler asks for.
    fn command(&self, pid_file: &str) -> String {
        let mut words = vec![self.run.clone(), pid_file.to_owned()];
        if !self.environment.is_empty() {
            words.push("env".to_owned());
            words.extend(self.environment.iter().cloned());
        }
        words.push(format!("./{}", self.name));
        words.extend(self.arguments.iter().cloned());
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!(
            "cd {} && umask 0027 && {{ apart=nohup; command -v setsid >/dev/null 2>&1 && apart=setsid; \
             $apart sh -c {} sh {} </dev/null >/dev/null 2>&1 & }}",
            quoted(self.folder),
            quoted(WRAPPER),
            words.join(" ")
        )
    }

    /// Removes the folder of the run, once everything is here.
    pub async fn forget(&self, connection: &Connection) {
        let _ = connection.ask(&format!("rm -rf -- {}", quoted(&self.run))).await;
    }
}

async fn put(sftp: &SftpSession, path: &str, content: &[u8]) -> Result<(), Error> {
    use tokio::io::AsyncWriteExt;
    let mut file = sftp.create(path).await.map_err(at(path, RUNNING))?;
    file.write_all(content).await.map_err(io_at(path, RUNNING))?;
    file.shutdown().await.map_err(io_at(path, RUNNING))
}
