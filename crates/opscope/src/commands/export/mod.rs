//! `opscope export`: the files that the vendor's own tool makes of a raw directory of Ascend.

mod board;
mod files;
mod options;
mod places;

use std::path::PathBuf;

use clap::Args;
use opscope_cann::Profile;
use opscope_open::Source;
use opscope_say::{say, word};

use self::places::{names_with, unused_stamp};
use super::vendor::VendorArguments;
use crate::exit::{Exit, with_causes};
use crate::profile;
use crate::terminal::Terminal;

pub use self::board::export_board;
pub use self::options::{Format, Layout, Options, What};

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
    /// The kind of files
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

/// Exports every profile of a directory and lists what was written.
///
/// # Errors
/// When there is none, or the only one can't be exported.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let source = Source::at(&arguments.directory)?;
    if let Some(exports) = arguments.vendor.parse(&source, terminal)? {
        return export_board(
            &arguments.directory,
            Some(exports),
            arguments.what,
            &arguments.options,
            terminal,
        );
    }
    if let Some(path) = source.board() {
        return export_board(&path, None, arguments.what, &arguments.options, terminal);
    }
    let profiles = profile::raw(source, terminal)?;
    let stamp = profile::stamp();
    profile::each(profiles, terminal, |profile, terminal| {
        let folder = (arguments.options.output.as_deref())
            .map(|output| profile::folder_in(output, &arguments.directory, &profile));
        let exported = export(profile, arguments.what.kinds(), &arguments.options, folder, &stamp, terminal)?;
        for path in &exported {
            terminal.print(&format!("{}\n", path.display()))?;
        }
        Ok(())
    })
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
    let written = files::write(profile, kinds, options, &results, &stamp, terminal);
    written.map_err(|problem| match is_about_room(&problem) {
        true => {
            let cause = with_causes(&problem);
            let kept = names_with(&stamp, &[results.folder(), &outputs]).len();
            let kept = match kept {
                0 => word("nothing was written before it").to_owned(),
                1 => word("the file that was written before it is whole and was kept").to_owned(),
                kept => say!("the {kept} files that were written before it are whole and were kept"),
            };
            anyhow::anyhow!(
                "{}",
                say!("{cause}; {kept}; make room, or name another folder with --output DIR")
            )
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
