//! What follows the end of a collected program: what was lost is said, the profile is read and
//! exported, and its path is printed last.

use std::collections::BTreeMap;
use std::path::Path;

use opscope_capture::{Outcome, Plan, explain};
use opscope_trace::{Nanoseconds, RangeKind, StringId, Trace, units};

use crate::commands::export::{self, What};
use crate::commands::outputs::AnswerArguments;
use crate::profile;
use crate::terminal::{Column, Table, Terminal, bold, dim};

/// Does everything that can be done; what fails is said, and the rest goes on.
pub fn finish(plan: &Plan, outcome: &Outcome, no_parse: bool, top: usize, terminal: &Terminal) {
    tell_end(plan, outcome, terminal);
    finish_profile(outcome, no_parse, top, terminal);
}

/// Says what was lost, reads the profile and prints its path.
pub fn finish_profile(outcome: &Outcome, no_parse: bool, top: usize, terminal: &Terminal) {
    tell_losses(outcome, terminal);
    for path in &outcome.device_profiles {
        terminal.note(&format!("AscendCL wrote the device's data into {}", path.display()));
        if !no_parse && let Err(error) = read(path, top, terminal) {
            terminal.warn(&format!("{error:#}; the raw data are there all the same"));
        }
    }
    if !no_parse && let Err(error) = read(&outcome.path, top, terminal) {
        terminal.warn(&format!("{error:#}; the raw data are there all the same"));
    }
    // Whoever ran this wants the path in any case; standard output may be gone.
    let _ = terminal.print(&format!("{}\n", outcome.path.display()));
}

fn tell_end(plan: &Plan, outcome: &Outcome, terminal: &Terminal) {
    let elapsed = Nanoseconds(outcome.elapsed.as_nanos() as i64);
    terminal.detail(&format!("the program ran for {}", units::duration(elapsed)));
    explain_end(plan, outcome.status, &outcome.complaints, terminal);
}

/// Explains a failure that is known, by what the program said or by its status.
pub fn explain_end(plan: &Plan, status: u8, complaints: &str, terminal: &Terminal) {
    if status == 0 {
        return;
    }
    let name = plan.program.as_ref().map_or_else(String::new, |program| program.short_name());
    terminal.note(&format!("{name} ended with status {status}"));
    // What a program says before it ends counts more than its status.
    let said = explain::last_explained(complaints);
    let by_status = || explain::explain(&format!("status {status}")).first().copied();
    let Some(page) = said.or_else(by_status) else { return };
    terminal.note(&format!("{} (opscope explain {})\n{}", bold(page.title), page.name, dim(page.text)));
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
        terminal.warn(&format!(
            "{} pops or stops had no push or start; they count for nothing",
            outcome.unmatched
        ));
    }
    if outcome.unclosed > 0 {
        terminal.warn(&format!("{} ranges were never closed, and are not in the profile", outcome.unclosed));
    }
}

/// Imports the profile, exports it, and prints the answer and the query table.
fn read(path: &Path, top: usize, terminal: &Terminal) -> anyhow::Result<()> {
    let profile = profile::only(path, profile::raw(path, terminal)?)?;
    let begin = profile.metadata().map(|metadata| metadata.session.begin_date.clone()).unwrap_or_default();
    let stamp = profile::stamp();
    let kinds = [What::Summary, What::Timeline];
    let files = export::export(profile, &kinds, &export::Options::default(), None, &stamp, terminal)?;
    for file in &files {
        terminal.detail(&format!("wrote {}", file.display()));
    }
    let trace = profile::open(path, terminal)?;
    if !trace.operators.is_empty() {
        AnswerArguments { top, json: false }.print(&trace, terminal)?;
        terminal.print("\n")?;
    }
    terminal.print(&ranges_table(&trace, top, terminal))?;
    terminal.print(&query_table(path, &begin, terminal))?;
    Ok(())
}

/// The ranges that took most, by their text.
fn ranges_table(trace: &Trace, top: usize, terminal: &Terminal) -> String {
    let mut sums: BTreeMap<StringId, (u64, Nanoseconds, Nanoseconds)> = BTreeMap::new();
    let mut marks = 0;
    for (_, range) in trace.ranges.iter() {
        if range.kind == RangeKind::Mark {
            marks += 1;
            continue;
        }
        let (count, total, longest) = sums.entry(range.name).or_default();
        *count += 1;
        *total += range.duration;
        *longest = range.duration.max(*longest);
    }
    if sums.is_empty() && marks == 0 {
        return String::new();
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, (_, total, _))| std::cmp::Reverse(*total));
    // The few longest say where the time goes; all of them are in the table msprof_tx.
    let shown = if top == 0 { rows.len() } else { rows.len().min(top.max(10)) };
    let columns =
        [Column::number("total"), Column::number("count"), Column::number("longest"), Column::text("range")];
    let mut table = Table::new(&columns, terminal.width());
    for (name, (count, total, longest)) in &rows[..shown] {
        table.row([
            units::duration(*total),
            count.to_string(),
            units::duration(*longest),
            trace.strings.get(*name).escape_debug().to_string(),
        ]);
    }
    let heading = format!("Top {shown} of {} ranges that the program marked, and {marks} marks", rows.len());
    let table = if shown > 0 { table.render() } else { String::new() };
    format!("{}\n{table}\n", bold(&heading))
}

/// What the reference prints of a profile at the end.
fn query_table(path: &Path, begin: &str, terminal: &Terminal) -> String {
    let columns = [
        "Job Info",
        "Device ID",
        "Dir Name",
        "Collection Time",
        "Model ID",
        "Iteration Number",
        "Top Time Iteration",
        "Rank ID",
    ];
    let mut table = Table::new(&columns.map(Column::text), terminal.width());
    let cells = ["NA", "host", "host", begin, "N/A", "N/A", "N/A", "N/A"];
    table.row(cells.map(str::to_owned));
    format!("{}\n{}\n", bold(&path.file_name().unwrap_or_default().to_string_lossy()), table.render())
}
