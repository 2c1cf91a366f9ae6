//! Following the program on the board to its end, with an eye on the time and on the space that is
//! left.
//!
//! The files of the run are read over SFTP by offset, so a new connection goes on where the last one
//! stopped.

use std::io::SeekFrom;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::time::Instant;

use crate::connection::{Connection, at, io_at};
use crate::error::Error;
use crate::link::{ATTEMPTS, Link};
use crate::program::{Program, ProgramEnd, RUNNING};
use crate::remote::quoted;
use crate::space::{LITTLE_SPACE, free_space};
use crate::upload::read_small;
use crate::{Output, Progress};

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

impl Program<'_> {
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
        // A disk that doesn't even take a byte is full, whatever the servers count.
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
}
