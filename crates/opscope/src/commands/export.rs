//! `opscope export`: the files that the vendor's own tool makes of a raw directory of Ascend.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use opscope_advise::Settings;
use opscope_cann::{
    ExportLayout, ExportOptions, IterationRange, Joined, LaneChoice, Outline, PerformanceReport, Profile,
    SheetFormat, describe_results, export_database, export_summary, export_timeline, performance_reports,
};
use opscope_open::Source;
use opscope_svp::{Exports, TableFormat};
use opscope_trace::Severity;

use super::advise;
use super::export_places::{layout, note_own, save_report, tell_iteration};
use super::run::create_folder;
use super::vendor::VendorArguments;
use crate::exit::{Exit, UsageError, with_causes};
use crate::profile::{self, Results, Tell, board, cache, remarks_of_joined};
use crate::terminal::{StepBar, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope export all PROF_000001_20251009085320000_ABCDEFGH
  opscope export summary output/                     every raw directory below a folder
  opscope export summary PROF_… --format json
  opscope export timeline PROF_… --model-id 1 --iteration-id 2
  opscope export timeline PROF_… --slice-mb 200      files that a viewer can open
  opscope export all /mnt/archive/PROF_… --output results

The tables and timelines go to mindstudio_profiler_output/ below the raw directory, the database
msprof_<time>.db beside that folder, with the names, columns and numbers of the vendor's tool. Those
of data that the tools of 2022 recorded go where those tools put theirs (--layout classic): summary/
and timeline/ below the raw directory and its device_N/. What another tool wrote is never replaced. The
import of a profile of up to 100,000 tasks and calls is left beside them if there was none: see
'opscope import --help'. What was written is listed on standard output, and described in README.txt
beside it; what was skipped is counted on standard error.

With the tables comes a report, as the vendor's tool had it until 2024: which rules about operators
fire, and on which of them. It is printed, and kept in summary/prof_rule_<device>.json. Rules that the
opscope.toml of the current folder silences ('opscope advise --help') are left out of both.";

/// The options of `opscope export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to export
    #[arg(value_enum)]
    what: What,

    /// A raw directory (PROF_*, JOB*), or one above several; or a board's exported files
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    options: Options,

    #[command(flatten)]
    vendor: VendorArguments,
}

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// The timeline, in Chrome's trace format
    Timeline,
    /// The tables of operators, calls, tasks and samples
    Summary,
    /// The unified database
    Db,
    /// All of these
    All,
}

impl What {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeline => "timeline",
            Self::Summary => "summary",
            Self::Db => "db",
            Self::All => "all",
        }
    }

    /// The kinds of files that it stands for.
    fn kinds(self) -> &'static [Self] {
        match self {
            Self::Timeline => &[Self::Timeline],
            Self::Summary => &[Self::Summary],
            Self::Db => &[Self::Db],
            Self::All => &[Self::Summary, Self::Timeline, Self::Db],
        }
    }
}

/// How it is exported.
#[derive(Clone, Debug, Default, Args)]
pub struct Options {
    /// Only iterations of this model; with neither of the next two, all of its
    #[arg(long, value_name = "ID")]
    pub model_id: Option<u64>,

    /// Only this iteration, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub iteration_id: Option<u64>,

    /// So many iterations from that one on [default: 1]
    #[arg(long, value_name = "N", requires = "iteration_id", value_parser = clap::value_parser!(u64).range(1..))]
    pub iteration_count: Option<u64>,

    /// How tables are written
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    /// What the timeline shows: a JSON file in the vendor's form
    #[arg(long, value_name = "FILE")]
    pub reports: Option<PathBuf>,

    /// Divide a timeline larger than this by time into several files
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub slice_mb: Option<u64>,

    /// Where files go, and how they are called [default: classic for data of 2022, modern for others]
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub layout: Option<Layout>,

    /// Leave no imported database behind, and remove the one that is there
    #[arg(long)]
    pub clear: bool,

    /// The folder to write to [default: the raw directory]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// The layout of the exported files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// Today's: all in mindstudio_profiler_output/, such as op_summary_20251009085320.csv
    Modern,
    /// That of 2022: summary/ and timeline/ below the raw directory and its device_N/, such as
    /// op_summary_0_1_1.csv for device 0, model 1, iteration 1
    Classic,
}

impl Layout {
    /// The folder that the files go to, or below which they go.
    fn outputs(self, results: &Results) -> PathBuf {
        match self {
            Self::Modern => results.outputs(),
            Self::Classic => results.folder().to_owned(),
        }
    }
}

/// The format of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma-separated values
    #[default]
    Csv,
    /// Arrays of objects
    Json,
}

/// Exports every profile of a directory and lists what was written.
///
/// # Errors
/// When there is none, or the only one can't be exported.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    if let Some(exports) = arguments.vendor.parse(&arguments.directory, terminal)? {
        return export_board(
            &arguments.directory,
            Some(exports),
            arguments.what,
            &arguments.options,
            terminal,
        );
    }
    if let Some(path) = Source::at(&arguments.directory)?.board() {
        return export_board(&path, None, arguments.what, &arguments.options, terminal);
    }
    let profiles = profile::raw(&arguments.directory, terminal)?;
    let stamp = profile::stamp();
    profile::each(profiles, terminal, |profile| {
        let folder = (arguments.options.output.as_deref())
            .map(|output| profile::folder_in(output, &arguments.directory, &profile));
        let exported = export(profile, arguments.what.kinds(), &arguments.options, folder, &stamp, terminal)?;
        for path in &exported {
            terminal.print(&format!("{}\n", path.display()))?;
        }
        Ok(())
    })
}

/// Exports a board's profile in the layout of its own guide, which knows no unified database.
///
/// # Errors
/// When it can't be read or a file can't be written.
pub fn export_board(
    path: &Path,
    exports: Option<Exports>,
    what: What,
    options: &Options,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let (summary, timeline) = match what {
        What::Summary => (true, false),
        What::Timeline => (false, true),
        What::All => (true, true),
        What::Db => bail!(
            "{}: a board's profile has no unified database; 'opscope import' makes opscope's own",
            path.display()
        ),
    };
    let format = match options.format {
        Format::Csv => TableFormat::Csv,
        Format::Json => TableFormat::Json,
    };
    let beside = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let folder = options.output.as_deref().unwrap_or(beside);
    let exports = match exports {
        Some(exports) => {
            profile::of_exports(&exports, path, Tell::Warnings, terminal);
            exports
        }
        None => board::exports(path, Tell::Warnings, terminal)?,
    };
    let written = board::write(&exports, (summary, timeline), format, folder)?;
    for file in &written.files {
        terminal.print(&format!("{}\n", file.display()))?;
    }
    board::tell_kept(&written, terminal);
    if written.files.is_empty() && written.kept.is_empty() {
        terminal.note("nothing was written: the profile has no data for these files");
    }
    Ok(Exit::Done)
}

/// The lanes that a file in the vendor's form chooses; all without one.
fn lanes(options: &Options) -> anyhow::Result<LaneChoice> {
    let Some(path) = &options.reports else { return Ok(LaneChoice::ALL) };
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("can't read --reports {}", path.display()))?;
    LaneChoice::from_json(&text).with_context(|| format!("can't use --reports {}", path.display()))
}

/// Imports a profile if need be, exports these kinds of files, and returns those that were written.
///
/// # Errors
/// When it can't be read or a file can't be written; then what was written before is whole, and said.
pub fn export(
    profile: Profile,
    kinds: &[What],
    options: &Options,
    folder: Option<PathBuf>,
    stamp: &str,
    terminal: &Terminal,
) -> anyhow::Result<Vec<PathBuf>> {
    let results = profile::place_results(&profile, folder, terminal)?;
    let outputs = results.outputs();
    let stamp = unused_stamp(stamp, &[results.folder(), &outputs]);
    let written = write(profile, kinds, options, &results, &stamp, terminal);
    written.map_err(|problem| match is_about_room(&problem) {
        true => {
            let cause = with_causes(&problem);
            let kept = names_with(&stamp, &[results.folder(), &outputs]).len();
            let kept = match kept {
                0 => "nothing was written before it".to_owned(),
                1 => "the file that was written before it is whole and was kept".to_owned(),
                kept => format!("the {kept} files that were written before it are whole and were kept"),
            };
            anyhow::anyhow!("{cause}; {kept}; make room, or name another folder with --output DIR")
        }
        false => problem,
    })
}

/// Whether an error says that a disk, a quota or a limit is full.
fn is_about_room(problem: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let kind =
        |cause: &(dyn std::error::Error + 'static)| Some(cause.downcast_ref::<std::io::Error>()?.kind());
    let by_kind = problem
        .chain()
        .filter_map(kind)
        .any(|kind| matches!(kind, StorageFull | QuotaExceeded | FileTooLarge));
    // SQLite has words of its own.
    let by_words =
        || ["disk is full", "disk I/O error"].iter().any(|words| with_causes(problem).contains(words));
    by_kind || by_words()
}

/// The names of files in these folders that carry a time.
fn names_with(stamp: &str, folders: &[&Path]) -> BTreeSet<PathBuf> {
    let tail = format!("_{stamp}.");
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    entries
        .filter(|entry| entry.file_name().to_string_lossy().contains(&tail))
        .map(|entry| entry.path())
        .collect()
}

/// The first time from this one on that no file in these folders carries, so that an export never
/// takes the place of another of the same second.
fn unused_stamp(stamp: &str, folders: &[&Path]) -> String {
    let mut stamp = stamp.to_owned();
    while !names_with(&stamp, folders).is_empty() {
        match profile::second_after(&stamp) {
            Some(next) => stamp = next,
            None => break,
        }
    }
    stamp
}

/// Does the work of [`export`].
fn write(
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
        format: match options.format {
            Format::Csv => SheetFormat::Csv,
            Format::Json => SheetFormat::Json,
        },
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
    let (mut written, (outline, import, mut reports)) = std::thread::scope(|scope| {
        let about = || {
            let reports = if with_reports { performance_reports(joined, export_options) } else { Vec::new() };
            let outline = profile::outline(&raw);
            let leaves_import = !options.clear && cache::is_worth_writing(outline);
            (outline, leaves_import.then(|| profile::trace_of(&raw)), reports)
        };
        let beside = std::thread::Builder::new().spawn_scoped(scope, about);
        let written = files.write(results.folder(), outputs, &bar, terminal)?;
        bar.step("finishing");
        // Where there is no thread to be had, one after the other does as well.
        let about = beside.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(about);
        anyhow::Ok((written, about))
    })?;
    if layout == Layout::Classic {
        note_own(results.folder(), &written)?;
        tell_iteration(joined, kinds, options, terminal);
    }
    let silenced = silence(&mut reports, &settings);
    for report in &reports {
        written.push(save_report(report, &results.folder().join("summary"), stamp)?);
    }
    if !options.clear && !cache::is_current(&joined.data.profile) {
        if let Some(trace) = import {
            bar.step("leaving the import for later commands");
            cache::write(&trace, &joined.data.profile, &results.database())?;
        } else {
            terminal
                .note("later commands read the raw files again; 'opscope import' leaves a database for them");
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
        terminal.note(&format!("silenced in the report by opscope.toml: {}", silenced.join(", ")));
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
            bar.step("writing the tables");
            written.extend(export_summary(joined, outputs, stamp, options)?);
        }
        if kinds.contains(&What::Timeline) {
            bar.step("writing the timeline");
            // Tables and timelines have names in common, so that as JSON they need different times.
            let stamp = match options.format {
                SheetFormat::Csv => stamp.to_owned(),
                SheetFormat::Json => unused_stamp(stamp, &[outputs]),
            };
            written.extend(export_timeline(joined, outputs, &stamp, options)?);
        }
        if layout == Layout::Modern && !only_database {
            written.extend(describe_results(outputs)?);
        }
        if kinds.contains(&What::Db) {
            bar.step("writing the database");
            match export_database(joined, folder, stamp)? {
                Some(file) => written.push(file),
                None if only_database => {
                    let chip = joined.data.chip().product();
                    terminal
                        .warn(&format!("the vendor's tool makes no database for {chip}, so there is none"));
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
        let line = format!("skipped: {} × {}{place}", loss.count, loss.kind);
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
        terminal.note(&format!(
            "of {chip} the files show iteration 1 of the {recorded} of model {model}, as those of the vendor's \
             tool; all of them: --model-id {model}"
        ));
    }
}

/// The iterations that the options name; `None` for what the vendor's tool shows unasked.
fn iterations(joined: &Joined, options: &Options) -> anyhow::Result<Option<IterationRange>> {
    if options.model_id.is_none() && options.iteration_id.is_none() {
        return Ok(None);
    }
    let known = joined.inferences();
    let listed = || match known.len() {
        0 => "no iteration of any model was recorded".to_owned(),
        _ => {
            let counts = known.iter().map(|(model, count)| format!("model {model}: {count}"));
            format!("the iterations that were recorded: {}", counts.collect::<Vec<_>>().join(", "))
        }
    };
    let refuse = |problem: String| UsageError(format!("{problem}; {}", listed()));
    let model = match (options.model_id, known.keys().next()) {
        (Some(model), _) => model,
        (None, Some(model)) if known.len() == 1 => *model,
        (None, _) => return Err(refuse("--iteration-id needs --model-id here".to_owned()).into()),
    };
    let Some(&count) = known.get(&model) else {
        return Err(refuse(format!("there is no model {model}")).into());
    };
    match options.iteration_id {
        None => Ok(Some(IterationRange { model, first: 1, count })),
        Some(first) if first > count => Err(refuse(format!("model {model} has no iteration {first}")).into()),
        Some(first) => Ok(Some(IterationRange { model, first, count: options.iteration_count.unwrap_or(1) })),
    }
}
