//! `opscope import`: a profile that another tool wrote, or the raw directory of one.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope_open::{Format, Source, Stop, formats};
use opscope_say::say;

use super::import_raw;
use super::outputs::{AnswerArguments, FileArguments, check_target};
use super::vendor::VendorArguments;
use crate::exit::Exit;
use crate::profile::{self, Tell};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope import onnxruntime_profile__2026-11-21_10-15-00.json
  opscope import profile.json -o profile.db -t 10
  opscope import profile.json.gz --trace timeline.pftrace --json
  opscope import trace_view.json             a timeline of PyTorch's profiler, msprof, or any other
  opscope import ascend_pytorch_profiler_0.db
  opscope import report.sqlite               what 'nsys export --type sqlite' made of a report
  opscope import run/                        the tables of rocprofv3, or the folder of a run of JAX
  opscope import run_ascend_pt/              a folder: whatever the Ascend tools left in it
  opscope import PROF_000001_20251009085320000_ABCDEFGH
                                             the raw directory of a run on an Ascend processor
  opscope import output/                     all raw directories below a folder
  opscope import JOB… --vendor-parser msprof.pyc
                                             raw files of a board, which the vendor's parser reads

What a file is shows from its content, whatever it is called; gzip is read as it is. opscope formats
lists all that can be read. The database
is opscope's own, with everything that was read: its path can be given wherever a profile can.

Raw directories of Ascend (PROF_*, JOB*) are read as they are, without CANN or Python. Their database
is sqlite/opscope.db below them, or below --output DIR: for questions in SQL (opscope sql), and for other
programs. Commands that are given the directory read the raw files, which takes less time. Where nothing
can be written below them, the database goes to the user's cache folder. What was skipped is counted in
its table losses. The raw files are never changed.";

/// The options of `opscope import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The profile: of ONNX Runtime, MegEngine, PyTorch, TensorFlow, JAX, Nsight, rocprofv3, perf or the Ascend
    /// tools, any timeline in Chrome's format or Perfetto's, a folder of outputs or of raw directories, or opscope's own database
    // The files have an option of this name.
    #[arg(id = "input", value_name = "PROFILE")]
    profile: PathBuf,

    /// The database to write, the same as --db [default: beside the profile, with .db appended; in a
    /// folder, opscope.db; for a raw directory, sqlite/opscope.db below it or below a folder named here]
    #[arg(short, long, value_name = "FILE.db|DIR", conflicts_with = "db")]
    output: Option<PathBuf>,

    #[command(flatten)]
    answer: AnswerArguments,

    #[command(flatten)]
    files: FileArguments,

    #[command(flatten)]
    vendor: VendorArguments,
}

/// Reads the profile, prints the answer, writes the files.
///
/// # Errors
/// When the profile can't be read or a file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let mut files = arguments.files.clone();
    files.db = files.db.or_else(|| arguments.output.clone());
    let source = Source::at(&arguments.profile)?;
    // The vendor's parser reads nothing else.
    let is_raw = source.is_raw_directory() || arguments.vendor.vendor_parser.is_some();
    let trace = match arguments.vendor.parse(&source, terminal)? {
        Some(exports) => {
            files.check(&[&arguments.profile])?;
            profile::of_exports(&exports, &arguments.profile, Tell::InAnswer, terminal)
        }
        None => {
            if !source.profiles().is_empty() {
                let Arguments { profile, output, answer, files, .. } = arguments;
                let profiles = profile::raw_of(&source, &Stop::default(), terminal);
                return import_raw::execute(profile, profiles, output.as_deref(), answer, files, terminal);
            }
            // Of a profile that can't be read, the reason comes first.
            if source.format().is_some() {
                files.check(&[&arguments.profile])?;
            }
            let opened = profile::read(source, Tell::InAnswer, terminal)?;
            profile::warn_of_unread(&opened, terminal);
            opened
        }
    };
    if files.db.is_none() {
        files.db = beside(&arguments.profile, is_raw, trace.format(), terminal);
    }
    // Whoever reads the answer may go away; the files are wanted all the same.
    let printed = arguments.answer.print(&trace, terminal);
    files.write(&trace, terminal)?;
    printed?;
    Ok(Exit::Done)
}

/// The default database of a profile; `None` when the profile is a database itself, or lies where
/// nothing can be written.
fn beside(profile: &Path, is_raw: bool, format: &Format, terminal: &Terminal) -> Option<PathBuf> {
    if *format == formats::opscope_database::FORMAT {
        return None;
    }
    let database = match profile.is_dir() {
        // A raw directory has a place for databases.
        true if is_raw => {
            let folder = profile.join("sqlite");
            // If it can't be made, what follows says so.
            let _ = super::run::create_folder(&folder);
            folder.join("opscope.db")
        }
        true => profile.join("opscope.db"),
        false => {
            // Appended, so that profile.json never takes the place of the profile.db of another run.
            let mut database = profile.as_os_str().to_owned();
            database.push(".db");
            PathBuf::from(database)
        }
    };
    if let Err(error) = check_target(&database) {
        terminal.warn(&say!("{error:#}; name another place with --output FILE.db"));
        return None;
    }
    Some(database)
}
