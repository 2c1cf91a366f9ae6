//! The files of a raw directory of Ascend, and what is said of them once they are written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use opscope_advise::Settings;
use opscope_cann::{
    ExportLayout, ExportOptions, Joined, Outline, PerformanceReport, Profile, SheetFormat, describe_results,
    export_database, export_summary, export_timeline, performance_reports,
};
use opscope_files::Batch;
use opscope_say::{say, word};
use opscope_trace::Severity;

use super::options::{Layout, Options, What, iterations, lanes};
use super::places::{layout, note_own, save_report, tell_iteration, unused_stamp};
use crate::commands::advise;
use crate::commands::run::create_folder;
use crate::profile::{self, Results, imported, remarks_of_joined};
use crate::terminal::{StepBar, Terminal};

/// Imports a profile if need be, and writes these kinds of files.
///
/// # Errors
/// When it can't be read or a file can't be written.
pub fn write(
    profile: Profile,
    kinds: &[What],
    options: &Options,
    results: &Results,
    stamp: &str,
    terminal: &Terminal,
) -> anyhow::Result<Vec<PathBuf>> {
    let settings = advise::settings_in(None)?;
    let lock = results.lock()?;
    let bar = StepBar::new(terminal);
    let raw = profile::join(profile, &bar)?;
    let joined = &raw.joined;
    let layout = layout(joined, options, results, terminal)?;
    let outputs = &layout.outputs(results);
    let export_options = ExportOptions {
        format: options.sheet_format(),
        iterations: iterations(joined, options)?,
        layout: match layout {
            Layout::Modern => ExportLayout::Current,
            Layout::Classic => ExportLayout::Classic,
        },
        lanes: lanes(options)?,
        timeline_bytes: options.slice_mb.map(|megabytes| megabytes << 20),
        other_recorders: Some(&raw.other_recorders),
    };
    let files = Files { joined, kinds, layout, options: export_options, stamp };
    let with_reports = kinds.contains(&What::Summary);
    // Remarks about the whole profile are worked out beside the writing.
    let about = || {
        let reports = if with_reports { performance_reports(joined, export_options) } else { Vec::new() };
        let outline = profile::outline(&raw);
        let leaves_import = !options.clear && imported::is_worth_writing(outline);
        (outline, leaves_import.then(|| profile::trace_of(&raw)), reports)
    };
    let write = || {
        // All files are synced together: to wait for each would take longer than to write them.
        let mut batch = Batch::default();
        let written = batch.gather(|| files.write(results.folder(), outputs, &bar, terminal));
        bar.step("finishing");
        (written, batch)
    };
    let ((written, mut batch), (outline, import, mut reports)) = opscope_parallel::join(write, about);
    let mut written = written?;
    let silenced = silence(&mut reports, &settings);
    let summary = results.folder().join("summary");
    let save = || reports.iter().map(|report| save_report(report, &summary, stamp)).collect();
    let saved: anyhow::Result<Vec<PathBuf>> = batch.gather(save);
    let saved = saved?;
    batch.finish()?;
    if layout == Layout::Classic {
        tell_iteration(joined, kinds, options, terminal);
        written.extend(saved);
        note_own(results.folder(), &written)?;
    } else {
        note_own(results.folder(), &saved)?;
        written.extend(saved);
    }
    if !options.clear && !imported::is_current(&joined.data.profile) {
        if let Some(trace) = import {
            bar.step(word("leaving the import"));
            imported::write(&trace, &joined.data.profile, &results.database())?;
        } else {
            terminal.note(word("it is too large to leave its import as well; 'opscope import' writes that"));
        }
    }
    drop(bar);
    say(joined, outline, terminal);
    if export_options.iterations.is_none() {
        say_what_is_shown(joined, terminal);
    }
    for report in reports {
        terminal.print(&report.text())?;
    }
    if !silenced.is_empty() {
        terminal.note(&say!("silenced in the report by opscope.toml: {}", silenced.join(", ")));
    }
    if options.clear {
        results.clear(lock)?;
    }
    Ok(written)
}

/// Takes what the settings silence out of the reports, and gives the names of those rules.
fn silence(reports: &mut [PerformanceReport], settings: &Settings) -> Vec<&'static str> {
    let mut silenced = BTreeSet::new();
    for report in reports {
        report.findings.retain(|finding| {
            let is_silent = settings.silences_vendor(finding.rule);
            if is_silent {
                silenced.insert(finding.rule);
            }
            !is_silent
        });
    }
    silenced.into_iter().collect()
}

/// The files of a profile: tables, timeline and database.
struct Files<'e> {
    joined: &'e Joined,
    kinds: &'e [What],
    layout: Layout,
    options: ExportOptions<'e>,
    stamp: &'e str,
}

impl Files<'_> {
    /// Writes the database to one folder and all else to the other.
    fn write(
        &self,
        folder: &Path,
        outputs: &Path,
        bar: &StepBar,
        terminal: &Terminal,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let &Self { joined, kinds, layout, options, stamp } = self;
        let only_database = kinds == [What::Db];
        let mut written = Vec::new();
        if !only_database {
            // Here and not where files are written, for the permissions of all folders of results.
            create_folder(outputs)?;
        }
        if kinds.contains(&What::Summary) {
            bar.step(word("writing the tables"));
            written.extend(export_summary(joined, outputs, stamp, options)?);
        }
        if kinds.contains(&What::Timeline) {
            bar.step(word("writing the timeline"));
            // Tables and timelines have names in common, so that as JSON they need different times.
            let stamp = match options.format {
                SheetFormat::Csv | SheetFormat::MarkedCsv => stamp.to_owned(),
                SheetFormat::Json => unused_stamp(stamp, &[outputs]),
            };
            written.extend(export_timeline(joined, outputs, &stamp, options)?);
        }
        if layout == Layout::Modern && !only_database {
            written.extend(describe_results(outputs)?);
        }
        if kinds.contains(&What::Db) {
            bar.step(word("writing the database"));
            match export_database(joined, folder, stamp)? {
                Some(file) => written.push(file),
                None if only_database => {
                    let chip = joined.data.chip().product();
                    terminal.warn(&say!("the vendor's tool makes no database for {chip}, so there is none"));
                }
                None => {}
            }
        }
        Ok(written)
    }
}

/// Says what is odd, and what was skipped.
fn say(joined: &Joined, outline: Outline, terminal: &Terminal) {
    for remark in remarks_of_joined(joined, outline) {
        terminal.warn(&remark);
    }
    for loss in joined.all_losses().rows().iter().filter(|loss| loss.kind.is_loss()) {
        let place = if loss.place.is_empty() { String::new() } else { format!(" ({})", loss.place) };
        let line = say!("skipped: {} × {}{place}", loss.count, loss.kind);
        match loss.kind.severity() {
            Severity::Lost => terminal.warn(&line),
            Severity::Doubted | Severity::Remark => terminal.note(&line),
        }
    }
}

/// Says that the files hold one iteration of many, where the vendor's tool leaves it at that.
fn say_what_is_shown(joined: &Joined, terminal: &Terminal) {
    if let Some((model, recorded @ 2..)) = joined.first_iteration_alone() {
        let chip = joined.data.chip().product();
        terminal.note(&say!(
            "of {chip} the files show iteration 1 of the {recorded} of model {model}, as those of the vendor's \
             tool; all of them: --model-id {model}"
        ));
    }
}
