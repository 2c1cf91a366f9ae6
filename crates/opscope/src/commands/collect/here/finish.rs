//! The end of a collected program: its losses are told, the profile is read and
//! exported, and its path is printed last.

use std::path::{Path, PathBuf};

use opscope_capture::{Outcome, Plan, explain};
use opscope_say::{say, word};
use opscope_trace::{Nanoseconds, units};

use super::together::bring_together;
use crate::commands::collect::reading::{Wanted, read};
use crate::commands::explain::of_page;
use crate::commands::html::HtmlArguments;
use crate::exit::is_about_reader;
use crate::terminal::{Terminal, bold, dim};

/// Does everything that can be done; what fails is said, and the rest goes on. Returns whether nothing was
/// recorded at all.
pub fn finish(plan: &Plan, outcome: &Outcome, wanted: &Wanted, terminal: &Terminal) -> bool {
    tell_end(plan, outcome, terminal);
    finish_profile(outcome, wanted, terminal)
}

/// Says what was lost, reads what there is and prints its path. Returns whether nothing was recorded, which is
/// found out by reading only: a program whose profile isn't read keeps its status and its standard error.
pub fn finish_profile(outcome: &Outcome, wanted: &Wanted, terminal: &Terminal) -> bool {
    tell_losses(outcome, terminal);
    let is_empty = wanted.parse && outcome.device_profiles.is_empty() && holds_nothing(&outcome.path);
    if is_empty {
        terminal.warn(
            word("nothing was recorded: the program set no marks, ran nothing on ONNX Runtime or AscendCL that could be \
             seen, and no sample of the host was taken (--host-sys=cpu,mem asks for them; a program that ends at once \
             has none); see 'opscope collect --help'"),
        );
    }
    let profiles = profiles(outcome, terminal);
    for (position, path) in profiles.iter().enumerate() {
        // A page is of one profile: the last, which is the one with the devices' side.
        let page =
            if position + 1 == profiles.len() { wanted.page.clone() } else { HtmlArguments::default() };
        if page.html.is_none() && wanted.page.html.is_some() {
            terminal
                .note(&say!("--html has another profile; opscope report {} makes its page", path.display()));
        }
        if wanted.parse
            && let Err(error) = read(path, wanted, &page, terminal)
            && !is_about_reader(&error)
        {
            terminal.warn(&say!("{error:#}; the raw data are there all the same"));
        }
    }
    for path in &profiles {
        // Whoever ran this wants the path in any case; standard output may be gone. The last is the one with
        // the devices' side.
        let _ = terminal.print(&format!("{}\n", path.display()));
    }
    is_empty
}

/// The profiles of a run: one with both sides, wherever they can be brought together.
fn profiles(outcome: &Outcome, terminal: &Terminal) -> Vec<PathBuf> {
    let ours = outcome.path.clone();
    let theirs = &outcome.device_profiles;
    for path in theirs {
        terminal.note(&say!("AscendCL wrote the device's data into {}", path.display()));
    }
    let [only] = &theirs[..] else {
        return std::iter::once(ours).chain(theirs.iter().cloned()).collect();
    };
    match bring_together(&ours, only) {
        Ok(()) => {
            terminal.detail(word("what opscope recorded of the host lies there, too"));
            vec![only.clone()]
        }
        Err(why) => {
            terminal.note(&say!("what opscope recorded stays in {}: {why}", ours.display()));
            vec![ours, only.clone()]
        }
    }
}

/// Whether there is no record in a profile of ours. Messages of libraries are none.
fn holds_nothing(profile: &Path) -> bool {
    let is_record = |entry: &std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_about_records = [".done", ".notes"].iter().any(|ending| name.ends_with(ending));
        !is_about_records && entry.metadata().is_ok_and(|found| found.len() > 0)
    };
    let mut entries = std::fs::read_dir(profile.join("host/data")).into_iter().flatten().flatten();
    !entries.any(|entry| is_record(&entry))
}

fn tell_end(plan: &Plan, outcome: &Outcome, terminal: &Terminal) {
    let elapsed = Nanoseconds(outcome.elapsed.as_nanos() as i64);
    terminal.detail(&say!("the program ran for {}", units::duration(elapsed)));
    if !plan.delay.is_zero() && plan.delay >= outcome.elapsed {
        let delay = Nanoseconds(plan.delay.as_nanos() as i64);
        let [delay, elapsed] = [delay, elapsed].map(units::duration);
        terminal.warn(&say!(
            "nothing was recorded: the program ended after {elapsed}, before the delay of {delay}"
        ));
    }
    explain_end(plan, outcome.status, &outcome.stderr_end, terminal);
}

/// Explains a failure that is known, by what the program said or by its status.
pub fn explain_end(plan: &Plan, status: u8, stderr_end: &str, terminal: &Terminal) {
    let Some(program) = plan.program.as_ref().filter(|_| status != 0) else { return };
    let name = program.short_name();
    terminal.note(&say!("{name} ended with status {status}"));
    // The last words of a program count more than its status.
    let said = explain::last_explained(stderr_end);
    let by_status = || explain::explain(&format!("status {status}")).first().copied();
    let Some(page) = said.or_else(by_status) else { return };
    let (title, text) = of_page(page, opscope_say::chosen());
    terminal.note(&say!("{} (opscope explain {})\n{}", bold(title), page.name, dim(text)));
}

fn tell_losses(outcome: &Outcome, terminal: &Terminal) {
    if outcome.lost_marks > 0 {
        let why = outcome.error.as_ref().map_or_else(String::new, |error| say!(": {error}"));
        let total = outcome.marks + outcome.lost_marks;
        terminal.warn(&say!(
            "{} of {total} marks could not be written{why}; those set while recording was stopped aren't counted",
            outcome.lost_marks
        ));
    }
    if outcome.lost_samples > 0 {
        terminal.warn(&say!("{} samples of the host could not be written", outcome.lost_samples));
    }
    if outcome.dropped_bytes > 0 {
        let bytes = units::bytes(outcome.dropped_bytes as f64);
        terminal.warn(&say!("the oldest {bytes} of the marks were dropped to keep the storage limit"));
    }
    if outcome.unmatched > 0 {
        terminal.warn(&say!(
            "{} pops or stops had no push or start while it was recorded; they count for nothing",
            outcome.unmatched
        ));
    }
    if outcome.unclosed > 0 {
        terminal.warn(&say!(
            "{} ranges were not closed while it was recorded, and are not in the profile",
            outcome.unclosed
        ));
    }
}
