//! The same work on each of several profiles: one that fails doesn't keep the others from it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::Error;
use opscope_cann::{Profile, Source};
use opscope_open::Progress;
use opscope_say::say;

use crate::exit::{Exit, is_about_reader};
use crate::terminal::{StepBar, Terminal};

/// Does something with each of several profiles. Progress on the terminal that it gets says which of them
/// it is.
///
/// # Errors
/// When the only profile fails, or nobody reads the output any more.
pub fn each(
    profiles: Vec<Profile>,
    terminal: &Terminal,
    mut work: impl FnMut(Profile, &Terminal) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let mut outcome = Outcome::of(profiles.len(), terminal);
    for profile in profiles {
        let path = profile.path.clone();
        outcome.take(&path, work(profile, &outcome.next()))?;
    }
    Ok(outcome.exit())
}

/// Reads something of each of several profiles and tells it, in their order. Small ones are read on all cores
/// at the same time, a large one by itself: it keeps all cores busy, and memory holds no second.
///
/// # Errors
/// As [`each`].
pub fn each_answer<A: Send>(
    profiles: Vec<Profile>,
    terminal: &Terminal,
    read: impl Fn(Profile, &dyn Progress) -> anyhow::Result<A> + Sync,
    mut tell: impl FnMut(A) -> anyhow::Result<()> + Send,
) -> anyhow::Result<Exit> {
    let mut outcome = Outcome::of(profiles.len(), terminal);
    let small = opscope_parallel::map(&profiles, is_small);
    let profiles: Vec<(Profile, bool)> = profiles.into_iter().zip(small).collect();
    for alike in profiles.chunk_by(|(_, small), (_, next_is_small)| *small && *next_is_small) {
        let bar = StepBar::new(&outcome.next());
        if let [(profile, _)] = alike {
            let answer = read(profile.clone(), &bar);
            drop(bar);
            outcome.take(&profile.path, answer.and_then(&mut tell))?;
            continue;
        }
        bar.step("decoding");
        opscope_parallel::ordered(
            alike.len(),
            PROFILES_AHEAD,
            |index| {
                let profile = &alike[index].0;
                (&profile.path, opscope_parallel::alone(|| read(profile.clone(), &())))
            },
            |(path, answer)| {
                bar.aside(|| outcome.take(path, answer.and_then(&mut tell)))?;
                bar.of_several(&outcome.next());
                Ok::<(), Error>(())
            },
        )?;
    }
    Ok(outcome.exit())
}

/// The number of answers that may wait for each thread before their turn comes.
const PROFILES_AHEAD: usize = 4;

/// Whether a profile's raw files are so small that several can be in memory at the same time, and that one
/// alone wouldn't keep all cores busy.
fn is_small(profile: &Profile) -> bool {
    /// Bytes; decoded, they take some ten times as many.
    const SMALL: u64 = 1 << 20;
    let folders = profile.devices.iter().chain(&profile.host).map(Source::data);
    let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    // The markers beside the slices hold a number each.
    let slices = files.filter(|file| file.path().extension() != Some(OsStr::new("done")));
    let sizes = slices.filter_map(|file| file.metadata().ok()).map(|it| it.len());
    let mut left = SMALL;
    sizes.into_iter().all(|bytes| {
        left = left.saturating_sub(bytes);
        left > 0
    })
}

/// The outcome of work on several profiles so far.
struct Outcome<'t> {
    terminal: &'t Terminal,
    count: usize,
    done: usize,
    failed: usize,
}

impl<'t> Outcome<'t> {
    fn of(count: usize, terminal: &'t Terminal) -> Self {
        Self { terminal, count, done: 0, failed: 0 }
    }

    /// The terminal for the next profile.
    fn next(&self) -> Terminal {
        self.terminal.of_several(self.done + 1, self.count)
    }

    /// Tells a profile's failure, unless it is that of the whole.
    fn take(&mut self, path: &Path, result: anyhow::Result<()>) -> anyhow::Result<()> {
        self.done += 1;
        match result {
            Err(problem) if self.count == 1 || is_about_reader(&problem) => Err(problem),
            Err(problem) => {
                self.failed += 1;
                self.terminal.error(&say!("{}: {problem:#}", path.display()));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn exit(&self) -> Exit {
        if self.failed == 0 {
            return Exit::Done;
        }
        self.terminal.error(&say!("{} of {} profiles failed", self.failed, self.count));
        Exit::Failed
    }
}
