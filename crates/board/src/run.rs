//! Running the program on the board, with an eye on the time and on the space that is left.
//!
//! The program is started apart from the connection, so that it goes on where that is lost. What it
//! prints and how it ends goes into files of a folder of the run:
//!
//! | file | what it holds |
//! |---|---|
//! | `before` | the `JOB*` directories that were there before, a line for each |
//! | `group` | the number of the group of processes that the run consists of |
//! | `stdout`, `stderr` | what the program printed |
//! | `status` | its exit status, once it has ended; 128 and more is a signal, as in a shell |
//!
//! They are followed over SFTP by offset, so a new connection goes on where the last one stopped. Where
//! the disk is full, the status goes beside the board's lock, which usually lies on another; and where
//! that is full, too, the end is known by the program's being gone. No file that is empty says anything.

use std::io::SeekFrom;
use std::time::Duration;

use russh_sftp::client::SftpSession;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::time::Instant;

use crate::connection::{Connection, at, io_at};
use crate::error::Error;
use crate::link::{ATTEMPTS, Link};
use crate::remote::{join, quoted};
use crate::upload::{exists, read_small};
use crate::{Output, Progress};

/// Below this, the board's profiler may lose data: the vendor's own tools stop at 20 MB.
pub(crate) const LITTLE_SPACE: u64 = 20 << 20;

const RUNNING: &str = "the program ran on the board";
/// How often the board's space is looked at, and whether the program is still there.
const WATCH: Duration = Duration::from_secs(2);
/// How long a program may take to appear.
const START: Duration = Duration::from_secs(10);
/// The pauses between two looks at what was printed: short while there is something new.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// When asking for the space that is left costs too much.
const SLOW_ANSWER: Duration = Duration::from_secs(5);
/// How often the user is told what is waited for, while the program is silent.
const REMIND: Duration = Duration::from_secs(60);

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
    /// What a shell's `$?` says; signals are added to 128 there.
    fn of_shell(status: u32) -> Self {
        match status {
            129..=192 => Self::Killed(status - 128),
            status => Self::Status(status),
        }
    }
}

/// What to run, and where.
pub(crate) struct Program<'p> {
    /// The folder that it runs in.
    pub folder: &'p str,
    /// The program, in that folder.
    pub name: &'p str,
    /// What it is given.
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
    fn file(&self, name: &str) -> String {
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

    /// Follows it to its end and hands over what it prints.
    ///
    /// # Errors
    /// When the connection is lost and can't be made again; the program goes on then.
    pub async fn follow(
        &self,
        link: &mut Link<'_>,
        progress: &mut dyn Progress,
    ) -> Result<ProgramEnd, Error> {
        let begin = Instant::now();
        let mut following = Following {
            printed: [0; 2],
            deadline: self.timeout.map(|timeout| begin + timeout),
            warned: false,
            idle: 0,
            begin,
            reminded: begin,
        };
        loop {
            let left = |error| Error::LeftOff { what: "the program runs on", source: Box::new(error) };
            match self.follow_on(link, &mut following, progress).await {
                Err(error) if error.is_lost_connection() && following.idle < ATTEMPTS => {
                    following.idle += 1;
                    link.mend(error, progress).await.map_err(left)?;
                }
                Err(error) if error.is_lost_connection() => return Err(left(error)),
                ended => return ended,
            }
        }
    }

    async fn follow_on(
        &self,
        link: &Link<'_>,
        following: &mut Following,
        progress: &mut dyn Progress,
    ) -> Result<ProgramEnd, Error> {
        let connection = &link.connection;
        let mut pause = SHORTEST_PAUSE;
        let mut watched = Instant::now();
        loop {
            // The status first: what is printed before it is there when it is.
            let status = self.noted_status(link).await;
            let is_new = self.print(connection, following, progress).await?;
            if let Some(status) = status {
                // It may have ended between two looks at the space.
                self.watch_space(connection, following, progress).await;
                return Ok(ProgramEnd::of_shell(status));
            }
            let stopped = if progress.interrupted() {
                Some(ProgramEnd::Interrupted)
            } else if following.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                Some(ProgramEnd::TimedOut(self.timeout.unwrap_or_default()))
            } else {
                None
            };
            if let Some(end) = stopped {
                self.stop(link).await?;
                self.print(connection, following, progress).await?;
                return Ok(end);
            }
            if watched.elapsed() >= WATCH {
                watched = Instant::now();
                if !self.watch(link, following, progress).await? {
                    return self.end_without_status(link, following, progress).await;
                }
                // A connection over which both was answered was of use.
                following.idle = 0;
            }
            self.remind(is_new, following, progress);
            pause = if is_new { SHORTEST_PAUSE } else { LONGEST_PAUSE.min(pause * 2) };
            tokio::time::sleep(pause).await;
        }
    }

    /// The status that was noted, in either place. An empty file is one that a full disk kept from
    /// being written.
    async fn noted_status(&self, link: &Link<'_>) -> Option<u32> {
        for path in [self.file("status"), link.lock.status_file()] {
            let text = read_small(&link.connection.sftp, &path).await;
            if let Some(status) = text.and_then(|text| String::from_utf8(text).ok()?.trim().parse().ok()) {
                return Some(status);
            }
        }
        None
    }

    /// The program was gone when it was looked for. Its status may have been noted just before.
    async fn end_without_status(
        &self,
        link: &Link<'_>,
        following: &mut Following,
        progress: &mut dyn Progress,
    ) -> Result<ProgramEnd, Error> {
        let status = self.noted_status(link).await;
        self.print(&link.connection, following, progress).await?;
        self.watch_space(&link.connection, following, progress).await;
        if let Some(status) = status {
            return Ok(ProgramEnd::of_shell(status));
        }
        // What doesn't even take a byte is full, whatever the servers count.
        let probe = quoted(&self.file("probe"));
        let question = format!("echo x 2>/dev/null >{probe} && [ -s {probe} ] && echo room; rm -f {probe}");
        let has_room = link.connection.ask(&question).await?.as_deref() == Some("room");
        Ok(if has_room { ProgramEnd::Vanished } else { ProgramEnd::DiskFull })
    }

    /// Says from time to time what is waited for, and what ends it.
    fn remind(&self, is_new: bool, following: &mut Following, progress: &mut dyn Progress) {
        if is_new {
            following.reminded = Instant::now();
        } else if following.reminded.elapsed() >= REMIND {
            following.reminded = Instant::now();
            let minutes = following.begin.elapsed().as_secs() / 60;
            let limit = match self.timeout {
                Some(timeout) => format!("at most {} s", timeout.as_secs()),
                None => "without a limit (--timeout sets one)".to_owned(),
            };
            progress.step(&format!(
                "waiting for {} to end on the board, for {minutes} min now, {limit}; Ctrl-C stops it there",
                self.name
            ));
        }
    }

    /// Hands over what was printed since the last time; whether there was anything.
    async fn print(
        &self,
        connection: &Connection,
        following: &mut Following,
        progress: &mut dyn Progress,
    ) -> Result<bool, Error> {
        let mut is_new = false;
        for (index, stream, name) in [(0, Output::Stdout, "stdout"), (1, Output::Stderr, "stderr")] {
            let path = self.file(name);
            let sftp = &connection.sftp;
            let size = match sftp.metadata(&path).await.map_err(at(&path, RUNNING)) {
                Ok(found) => found.size.unwrap_or(0),
                // Not there yet.
                Err(Error::Remote { .. }) => continue,
                Err(error) => return Err(error),
            };
            let done = &mut following.printed[index];
            if size <= *done {
                continue;
            }
            let mut file = sftp.open(&path).await.map_err(at(&path, RUNNING))?;
            file.seek(SeekFrom::Start(*done)).await.map_err(io_at(&path, RUNNING))?;
            let mut block = vec![0; 64 << 10];
            while *done < size {
                let room = usize::try_from(size - *done).unwrap_or(block.len()).min(block.len());
                let count = file.read(&mut block[..room]).await.map_err(io_at(&path, RUNNING))?;
                if count == 0 {
                    break;
                }
                progress.output(stream, &block[..count]);
                *done += count as u64;
                is_new = true;
            }
            let _ = file.close().await;
        }
        Ok(is_new)
    }

    /// Looks at the space that is left, and says whether the program is still there.
    async fn watch(
        &self,
        link: &Link<'_>,
        following: &mut Following,
        progress: &mut dyn Progress,
    ) -> Result<bool, Error> {
        self.watch_space(&link.connection, following, progress).await;
        let group = quoted(&self.file("group"));
        let question = format!(
            "[ -s {group} ] || {{ echo none; exit 0; }}; group=$(cat {group}); \
             if [ -d /proc/$group ] || kill -0 $group 2>/dev/null; then echo there; else echo gone; fi"
        );
        match link.connection.ask(&question).await?.as_deref() {
            Some("none") if following.begin.elapsed() > START => Err(Error::Check {
                what: format!("{} did not start on the board within {} s", self.name, START.as_secs()),
                remedy: format!("is the disk there full? look at {} there", self.run),
            }),
            answer => Ok(answer != Some("gone")),
        }
    }

    /// Warns once when there is little space where the results go.
    async fn watch_space(
        &self,
        connection: &Connection,
        following: &mut Following,
        progress: &mut dyn Progress,
    ) {
        if following.warned {
            return;
        }
        let asked = Instant::now();
        let left = free_space(connection, self.output).await.filter(|left| *left < LITTLE_SPACE);
        if asked.elapsed() > SLOW_ANSWER {
            // A mounted folder whose server is gone holds up whoever looks at it.
            following.warned = true;
            progress.warn(&format!(
                "the board takes too long to say how much space is left at {}; it is not asked again",
                self.output
            ));
        }
        if let Some(left) = left {
            following.warned = true;
            progress.warn(&format!(
                "the board has only {} MB left where the results go, so data will be missing; remove old results \
                 there, or mount a folder of this machine with --nfs SERVER:PATH",
                left >> 20
            ));
        }
    }

    /// Asks it to end, and makes it end after two seconds.
    async fn stop(&self, link: &Link<'_>) -> Result<(), Error> {
        let group = quoted(&self.file("group"));
        // Without a group of its own (where there is no setsid) the number is that of the wrapper.
        let kill = |signal: &str| {
            format!("kill -s {signal} -- -$group 2>/dev/null || kill -s {signal} $group 2>/dev/null")
        };
        let there = "kill -0 -- -$group 2>/dev/null || kill -0 $group 2>/dev/null";
        let command = format!(
            "group=$(cat {group}) && [ -n \"$group\" ] || exit 0; {}; \
             for pause in 1 1; do {there} || exit 0; sleep $pause; done; {}; exit 0",
            kill("TERM"),
            kill("KILL")
        );
        link.connection.ask(&command).await.map(|_| ())
    }

    /// Removes the folder of the run, once everything is here.
    pub async fn forget(&self, connection: &Connection) {
        let _ = connection.ask(&format!("rm -rf -- {}", quoted(&self.run))).await;
    }
}

/// How far following the program has come, over all connections.
struct Following {
    /// How many bytes of standard output and of standard error were handed over.
    printed: [u64; 2],
    deadline: Option<Instant>,
    /// Whether it was said that there is little space.
    warned: bool,
    /// How many connections in a row were of no use.
    idle: u32,
    begin: Instant,
    /// When the user last saw that something goes on.
    reminded: Instant,
}

async fn put(sftp: &SftpSession, path: &str, content: &[u8]) -> Result<(), Error> {
    use tokio::io::AsyncWriteExt;
    let mut file = sftp.create(path).await.map_err(at(path, RUNNING))?;
    file.write_all(content).await.map_err(io_at(path, RUNNING))?;
    file.shutdown().await.map_err(io_at(path, RUNNING))
}

/// The bytes that are left where a folder is, as the board's server tells; or its `df`, because only
/// OpenSSH's server does.
pub(crate) async fn free_space(connection: &Connection, folder: &str) -> Option<u64> {
    if let Ok(Some(found)) = connection.sftp.fs_info(folder).await {
        return Some(found.blocks_avail.saturating_mul(found.fragment_size.max(1)));
    }
    let answer = connection.ask(&format!("df -Pk {}", quoted(folder))).await.ok()??;
    kilobytes_left(&answer).map(|kilobytes| kilobytes.saturating_mul(1024))
}

/// The fourth figure of the last line; the first word may hold spaces.
fn kilobytes_left(df: &str) -> Option<u64> {
    let words: Vec<&str> = df.lines().last()?.split_whitespace().collect();
    let percent = words.iter().position(|word| word.ends_with('%') && word.len() > 1)?;
    words.get(percent.checked_sub(1)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_that_df_names_is_read() {
        let answer = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                      192.168.1.2:/srv/my data 1000 200 800 20% /root/my files 100%";
        assert_eq!(kilobytes_left(answer), Some(800));
        assert_eq!(kilobytes_left("df: /x: can't find mount point"), None);
        assert_eq!(kilobytes_left(""), None);
    }
}
