//! Running the program on the board, with an eye on the time and on the space that is left.

use std::time::Duration;

use russh_sftp::client::SftpSession;

use crate::Progress;
use crate::connection::{CommandEnd, Connection};
use crate::error::Error;
use crate::remote::quoted;

/// Below this, the board's profiler may lose data: the vendor's own tools stop at 20 MB.
pub(crate) const LITTLE_SPACE: u64 = 20 << 20;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// By itself, with this status.
    Status(u32),
    /// By a signal.
    Killed,
}

/// What to run, and where.
pub(crate) struct Program<'p> {
    /// The folder that it runs in.
    pub folder: &'p str,
    /// The program, in that folder.
    pub name: &'p str,
    /// What it is given.
    pub arguments: &'p [String],
    /// Where its process number is noted.
    pub pid_file: &'p str,
    /// The folder whose space is watched.
    pub output: &'p str,
    /// How long it may take.
    pub timeout: Option<Duration>,
}

impl Program<'_> {
    /// The line for the board's shell. The umask is what the board's profiler asks for.
    fn command(&self) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(|argument| quoted(argument)).collect();
        format!(
            "cd {} && umask 0027 && echo $$ > {} && exec ./{} {}",
            quoted(self.folder),
            quoted(self.pid_file),
            quoted(self.name),
            arguments.join(" ")
        )
    }

    /// Runs it to its end and hands over what it prints.
    pub async fn run(
        &self,
        connection: &Connection,
        progress: &mut dyn Progress,
    ) -> Result<ProgramEnd, Error> {
        let (sender, mut printed) = tokio::sync::mpsc::unbounded_channel();
        let command = self.command();
        let running = connection.run(&command, move |stream, bytes| {
            let _ = sender.send((stream, bytes.to_vec()));
        });
        let mut running = std::pin::pin!(running);
        let mut watch = tokio::time::interval(Duration::from_secs(2));
        let deadline = self.timeout.map(|timeout| tokio::time::Instant::now() + timeout);
        let mut warned = false;
        let end = loop {
            tokio::select! {
                biased;
                Some((stream, bytes)) = printed.recv() => progress.output(stream, &bytes),
                end = &mut running => break end?,
                _ = watch.tick() => {
                    let left = free_space(&connection.sftp, self.output).await;
                    if !warned && left.is_some_and(|left| left < LITTLE_SPACE) {
                        warned = true;
                        progress.warn(&format!(
                            "the board has only {} MB left where the results go; data will be missing",
                            left.unwrap_or(0) >> 20
                        ));
                    }
                }
                () = until(deadline) => {
                    self.stop(connection).await;
                    return Err(Error::Timeout { timeout: self.timeout.unwrap_or_default() });
                }
            }
        };
        while let Ok((stream, bytes)) = printed.try_recv() {
            progress.output(stream, &bytes);
        }
        Ok(match end {
            CommandEnd::Status(status) => ProgramEnd::Status(status),
            CommandEnd::Killed => ProgramEnd::Killed,
        })
    }

    /// Asks it to end, and makes it end after two seconds.
    async fn stop(&self, connection: &Connection) {
        let pid = format!("$(cat {})", quoted(self.pid_file));
        let command = format!("kill -TERM {pid}; sleep 2; kill -KILL {pid}");
        let _ = connection.ask(&command).await;
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The bytes that are left where a folder is, if the board's server tells.
pub(crate) async fn free_space(sftp: &SftpSession, folder: &str) -> Option<u64> {
    let found = sftp.fs_info(folder).await.ok()??;
    Some(found.blocks_avail.saturating_mul(found.fragment_size.max(1)))
}
