//! What follows the end of a collected program: what was lost is said, the profile is read and
//! exported, and its path is printed last.

use std::path::Path;

use opscope_capture::{Outcome, Plan, explain};
use opscope_cann::{ExportOptions, export_summary, export_timeline};
use opscope_trace::units;

use crate::commands::outputs::AnswerArguments;
use crate::profile;
use crate::terminal::{Column, StepBar, Table, Terminal, dim};

/// The directory of the exported tables and timeline, below the profile.
const EXPORTED: &str = "mindstudio_profiler_output";

/// Does everything that can be done; what fails is said, and the rest goes on.
pub fn finish(plan: &Plan, outcome: &Outcome, no_parse: bool, top: usize, terminal: &Terminal) {
    tell_end(plan, outcome, terminal);
    tell_losses(outcome, terminal);
    if !no_parse && let Err(error) = read(&outcome.path, top, terminal) {
        terminal.warn(&format!("{error:#}; the raw data are there all the same"));
    }
    // Whoever ran this wants the path in any case; standard output may be gone.
    let _ = terminal.print(&format!("{}\n", outcome.path.display()));
}

fn tell_end(plan: &Plan, outcome: &Outcome, terminal: &Terminal) {
    let elapsed = opscope_trace::Nanoseconds(outcome.elapsed.as_nanos() as i64);
    terminal.detail(&format!("the program ran for {}", units::duration(elapsed)));
    if outcome.status == 0 {
        return;
    }
    let name = plan.program.as_ref().map_or_else(String::new, |program| program.short_name());
    terminal.note(&format!("{name} ended with status {}", outcome.status));
    let pages = explain::explain(&format!("status {}", outcome.status));
    for page in pages.iter().take(1) {
        terminal.note(&dim(&format!("{}: opscope explain {}", page.title, page.name)));
    }
}

fn tell_losses(outcome: &Outcome, terminal: &Terminal) {
    if outcome.lost_marks > 0 {
        let why = outcome.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
        let total = outcome.marks + outcome.lost_marks;
        terminal.warn(&format!("{} of {total} marks could not be written{why}", outcome.lost_marks));
    }
    if outcome.lost_samples > 0 {
        terminal.warn(&format!("{} samples of the host could not be written", outcome.lost_samples));
    }
    if outcome.dropped_bytes > 0 {
        let bytes = units::bytes(outcome.dropped_bytes as f64);
        terminal.warn(&format!("the oldest {bytes} of the marks were dropped to keep the storage limit"));
    }
    if outcome.unmatched > 0 {
        terminal.warn(&format!("{} pops or stops had no push or start; they count for nothing", outcome.unmatched));
    }
    if outcome.unclosed > 0 {
        terminal.warn(&format!("{} ranges were never closed, and are not in the profile", outcome.unclosed));
    }
}

/// Reads the profile, exports it, and prints the answer and the query table.
fn read(path: &Path, top: usize, terminal: &Terminal) -> anyhow::Result<()> {
    let bar = StepBar::new(terminal);
    let profile = profile::only(path, opscope_cann::discover(path)?)?;
    let session = profile.metadata().map(|metadata| metadata.session.begin_date.clone()).unwrap_or_default();
    let joined = profile::join(profile, &bar)?;
    bar.step("exporting tables and the timeline");
    let output = path.join(EXPORTED);
    std::fs::create_dir_all(&output)?;
    let (stamp, options) = (stamp(&session), ExportOptions::default());
    let mut files = export_summary(&joined, &output, &stamp, options)?;
    files.extend(export_timeline(&joined, &output, &stamp, options)?);
    bar.step("making a trace of it");
    drop(joined);
    let trace = profile::open(path, terminal)?;
    drop(bar);
    for file in &files {
        terminal.detail(&format!("wrote {}", file.display()));
    }
    if !trace.operators.is_empty() {
        AnswerArguments { top, json: false }.print(&trace, terminal)?;
        terminal.print("\n")?;
    }
    terminal.print(&ranges_table(&trace, terminal))?;
    terminal.print(&query_table(path, &session, terminal))?;
    Ok(())
}

/// The digits of a date, as exported files carry them in their names.
fn stamp(date: &str) -> String {
    let digits: String = date.split('.').next().unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() { "0".to_owned() } else { digits }
}
