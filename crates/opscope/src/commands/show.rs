//! `opscope show`: a run in tables: components, core metrics, operators, calls, ranges, frequency.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use opscope_analyze::{Coverage, RangeTree, RunTables};
use opscope_open::Source;
use opscope_say::{say, word};
use opscope_svp::SideFiles;
use opscope_trace::ProfileFormat;

use super::vendor::VendorArguments;
use crate::exit::Exit;
use crate::profile::{self, Opened, Tell, board};
use crate::report::placement::Placed;
use crate::report::show;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope show PROF_000001_20251009085320000_ABCDEFGH
  opscope show PROF_… -t 0                       all rows
  opscope show PROF_… --json > show.json
  opscope show JOB… --vendor-parser ~/Ascend/ascend-toolkit/svp_latest/x86_64-linux

Components are the layers of the software and the device: how long their calls, ranges or tasks take
together, and the time in which at least one was open. Steady-state is what is called while inferences
run; one-off is what is called before and after, or to load something.

Core metrics are the averages of an operator's executions; a ratio is the part of the time in which a
unit was busy. Which there are depends on the group of counters that was collected. Any profile can be
shown; tables without rows are left out.";

/// The options of `opscope show`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A raw directory (PROF_*, JOB*), or any other profile
    #[arg(value_name = "DIR")]
    profile: PathBuf,

    /// Show the N most costly rows of each table; 0 shows all
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    top: usize,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,

    /// The converted model, or its folder: what its converter left says which layers run on the CPU
    /// and which were fused [default: the profile's folder and the one above]
    #[arg(long, value_name = "FILE.om|DIR")]
    model: Option<PathBuf>,

    #[command(flatten)]
    vendor: VendorArguments,
}

impl Arguments {
    /// The options for a profile, with nothing else asked for.
    pub fn of(profile: PathBuf) -> Self {
        Self { profile, top: 10, json: false, model: None, vendor: VendorArguments::default() }
    }
}

/// Prints the tables.
///
/// # Errors
/// When the profile can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    execute_at(Source::at(&arguments.profile)?, arguments, terminal)
}

/// As [`execute`], of a profile that was looked at already.
///
/// # Errors
/// As [`execute`].
pub fn execute_at(source: Source, arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let trace = match arguments.vendor.parse(&source, terminal)? {
        Some(exports) => profile::of_exports(&exports, &arguments.profile, Tell::Warnings, terminal),
        None => profile::read(source, Tell::Warnings, terminal)?,
    };
    let missing = missing(&trace);
    let run_tables = RunTables::of(&trace);
    let (ranges, coverage) = (RangeTree::of(&trace), Coverage::of(&trace));
    let placed = Placed::of(&trace, &side_files(arguments)?);
    let answer = show::Answer { trace: &trace, tables: &run_tables, ranges, coverage, placed, missing };
    if arguments.json {
        terminal.print(&answer.to_json().about([&trace]).to_text()?)?;
        return Ok(Exit::Done);
    }
    let text = answer.to_text(arguments.top, terminal.width());
    let caveats = [
        ("calls", trace.run.calls.as_deref()),
        (word("times of calls"), trace.run.call_times.caveat()),
        (word("times of layers"), trace.run.layer_times.caveat()),
    ];
    for (what, caveat) in caveats {
        if let Some(caveat) = caveat {
            terminal.note(&say!("{what}: {caveat}"));
        }
    }
    if text.is_empty() {
        terminal.note(word("there is nothing to show: no operator, call, range or frequency was recorded; samples are in what 'opscope export all' writes"));
    }
    terminal.print(&text)?;
    Ok(Exit::Done)
}

/// The parts that a board's profile lacks; other profiles have remarks of their own.
fn missing(profile: &Opened) -> Vec<board::Missing> {
    if profile.run.format != Some(ProfileFormat::Svp) {
        return Vec::new();
    }
    board::missing(profile.place(), profile)
}

/// The files that the converter left beside the model that was named, or else beside the profile or above it.
fn side_files(arguments: &Arguments) -> anyhow::Result<SideFiles> {
    if let Some(model) = &arguments.model {
        profile::check_presence(model)?;
        let found = SideFiles::beside(model)?;
        if found.is_empty() {
            bail!(
                "{}",
                say!(
                    "{}: the model converter left nothing here: no om.json, layer.json or the like",
                    model.display()
                )
            );
        }
        return Ok(found);
    }
    let path = std::path::absolute(&arguments.profile)?;
    let places = path.ancestors().take(3).filter(|place| place.is_dir());
    let mut found = places.filter_map(|place| SideFiles::beside(place).ok());
    Ok(found.find(|found| found.placements().next().is_some()).unwrap_or_default())
}
