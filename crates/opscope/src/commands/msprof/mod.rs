//! `opscope msprof`, and the program under the name `msprof` or `msprof.py`: the vendor's own
//! spellings for what other commands do.

mod board;
mod console;
mod options;
mod questions;

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use opscope_cann::Profile;
use opscope_cann_raw::Chip;
use opscope_open::{Source, formats};

use self::console::{Level, losses, say};
use self::options::{Action, Request};
use super::export::{Options, What, export};
use super::show;
use crate::exit::Exit;
use crate::profile::{self, imported};
use crate::report::query;
use crate::terminal::{StepBar, Terminal};
use crate::{help, language};

/// The help, in the vendor's own form.
pub const HELP: &str = "\
Does what the vendor's msprof does with the raw directories of Ascend, with the same spellings.

Usage:
  msprof import -dir DIR
  msprof export timeline -dir DIR [--model-id N] [--iteration-id N] [--iteration-count N] [--reports FILE] [--clear]
  msprof export summary  -dir DIR [--model-id N] [--iteration-id N] [--format csv|json] [--clear]
  msprof export db       -dir DIR [--clear]
  msprof query -dir DIR
  msprof show -dir DIR                                          in tables
  msprof query -dir DIR --data-type 0       whether DIR holds the profiles of a cluster: 1, else 0
  msprof query -dir DIR --data-type 1 --id N --model-id N       a device's iterations, as JSON in query/
  msprof query -dir DIR --data-type 1 --id -1 --model-id N --iteration-id N       all devices' ones
  msprof query -dir DIR --data-type 2 --id N --model-id N --iteration-id N       what was computed
  msprof [--output=DIR] [--msproftx=on] [--host-sys=cpu,mem] [...] PROGRAM ARGS
  msprof collect -m MAIN --config BOARD.ini [--all] [...]      on a board, over SSH
  msprof --application=\"PROGRAM ARGS\" [--output=DIR] [...]     see opscope collect --help
  msprof --parse=on|--export=on|--query=on --output=DIR [--type=text|db] [--summary-format=csv|json]
         [--model-id=N] [--iteration-id=N] [--reports=FILE] [--clear=on]

DIR is a raw directory (PROF_*, JOB*) or one above several, or a board's JOB* directory. Tables and
timelines go to mindstudio_profiler_output/ below it (a board's to summary/ and timeline/), the
database msprof_<time>.db beside that; as with the vendor's tool, exporting either of a whole run of
a 910B or 950 brings the database as well, unless one is there. Data of 2022 have their files in the
places and with the names of that time (summary/, timeline/, device_N/summary/op_summary_0_1_1.csv);
--layout classic or modern says which for any data. Values follow an option after = or a
space.

Examples:
  alias msprof='opscope msprof'
  msprof export summary -dir PROF_000001_20251009085320000_ABCDEFGH
  ln -s $(command -v opscope) msprof.py && ./msprof.py export timeline -dir output
  msprof --export=on --output=output --type=db

Exit status: 0 done, 1 the work failed, 2 the command line is wrong.
";

/// The vendor's command line, which has conventions of its own: it is handed on as it is.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// The vendor's words and options; --help lists them
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Whether the program was called by the vendor's name.
pub fn is_called_for(program: &str) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    matches!(&*name, "msprof" | "msprof.py" | "msprof.pyc" | "msprof.exe")
}

/// Carries out a vendor's command line.
///
/// # Errors
/// When standard output can't take the answer.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    run(&arguments.arguments, terminal)
}

/// As [`execute`], with the arguments behind the program's name.
///
/// # Errors
/// As [`execute`].
pub fn run(arguments: &[String], terminal: &Terminal) -> anyhow::Result<Exit> {
    if super::collect::is_meant(arguments) {
        return super::collect::run_vendor(arguments, terminal);
    }
    let request = match options::parse(arguments) {
        Ok(request) => request,
        Err(problem) => {
            say(Level::Error, &problem);
            terminal.note("see msprof --help");
            return Ok(Exit::Usage);
        }
    };
    if request.help {
        language::as_asked();
        terminal.print(&help::by_hand(HELP))?;
        return Ok(Exit::Done);
    }
    for option in &request.without_effect {
        say(Level::Warning, &format!("{option} has no effect here"));
    }
    let done = request.actions.iter().try_fold(Exit::Done, |worst, action| {
        let exit = carry_out(&request, *action, terminal)?;
        Ok::<_, anyhow::Error>(if exit == Exit::Done { worst } else { exit })
    });
    done.or_else(|problem| {
        let is_usage = problem.is::<crate::exit::UsageError>();
        say(Level::Error, &format!("{problem:#}"));
        Ok(if is_usage { Exit::Usage } else { Exit::Failed })
    })
}

/// Whether profiles are those of a cluster, as the vendor's tool decides it: every device has a rank
/// of its own, or none has one and there are several devices of different numbers.
fn is_cluster(profiles: &[Profile]) -> bool {
    const NO_RANK: i64 = -1;
    let devices = || profiles.iter().flat_map(|profile| &profile.devices);
    let differ = |mut numbers: Vec<i64>| {
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        count > 0 && numbers.len() == count
    };
    let ranks: Vec<i64> = devices().map(|device| device.metadata.info.rank).collect();
    if ranks.iter().all(|rank| *rank == NO_RANK) {
        return ranks.len() > 1 && differ(devices().map(|device| i64::from(device.id())).collect());
    }
    !ranks.contains(&NO_RANK) && differ(ranks)
}

fn carry_out(request: &Request, action: Action, terminal: &Terminal) -> anyhow::Result<Exit> {
    // Anew for each action: those before it may have left files here.
    let source = Source::at(&request.directory)?;
    if source.board().as_ref() == Some(&request.directory) {
        return board::carry_out(source, request, action, terminal);
    }
    if action == Action::Show {
        return show::execute_at(source, &show::Arguments::of(request.directory.clone()), terminal);
    }
    let profiles = profile::raw(source, terminal)?;
    if action == Action::QueryCluster {
        let answer = if is_cluster(&profiles) { "1" } else { "0" };
        terminal.print(&format!("{{\"status\": 0, \"info\": \"\", \"data\": \"{answer}\"}}\n"))?;
        return Ok(Exit::Done);
    }
    if let Action::Answer(question) = action {
        return questions::answer(question, &request.directory, profiles, terminal);
    }
    let stamp = profile::stamp();
    profile::each(profiles, terminal, |profile, terminal| match action {
        Action::Import => import(profile, terminal),
        // Done above.
        Action::Show | Action::QueryCluster | Action::Answer(_) => Ok(()),
        Action::Query => {
            let raw = profile::join(profile, &StepBar::new(terminal))?;
            Ok(terminal.print(&query::table(&query::contents(&raw)))?)
        }
        Action::Export(what) => write(profile, &[what], &request.options, &stamp, terminal),
        Action::ExportText => {
            write(profile, &[What::Summary, What::Timeline], &request.options, &stamp, terminal)
        }
    })
}

fn import(profile: Profile, terminal: &Terminal) -> anyhow::Result<()> {
    let results = profile::place_results(&profile, None, terminal)?;
    let _lock = results.lock()?;
    let folders = folders(&profile);
    for folder in &folders {
        say(Level::Info, &format!("Start analyzing data in \"{folder}\" ..."));
    }
    let trace = profile::import(profile, &results.database(), terminal)?;
    for folder in &folders {
        say(Level::Info, &format!("Analysis of data in \"{folder}\" finished."));
    }
    losses(&trace).iter().for_each(|loss| say(Level::Warning, loss));
    Ok(())
}

fn write(
    profile: Profile,
    kinds: &[What],
    options: &Options,
    stamp: &str,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let is_imported = imported::is_current(&profile);
    for folder in folders(&profile) {
        match is_imported {
            true => say(Level::Info, &format!("The data in \"{folder}\" has been analyzed already.")),
            false => say(Level::Info, &format!("Start analyzing data in \"{folder}\" ...")),
        }
    }
    if options.model_id.is_none() && options.iteration_id.is_none() {
        say(
            Level::Info,
            &format!("All collected data will be exported, path is: {}.", profile.path.display()),
        );
    }
    let names: Vec<&str> = kinds.iter().map(|what| what.name()).collect();
    let name = names.join(" and ");
    say(Level::Info, &format!("Start exporting {name} output_file."));
    let mut with_database = kinds.to_vec();
    if brings_database(&profile, options) && !has_database(&profile.path) {
        with_database.push(What::Db);
    }
    let files = export(profile, &with_database, options, None, stamp, terminal)?;
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    match folders.len() {
        1.. => {
            let count = match files.len() {
                1 => "1 file is".to_owned(),
                count => format!("{count} files are"),
            };
            let folders: Vec<String> =
                folders.iter().map(|folder| format!("\"{}\"", folder.display())).collect();
            let text = format!("End exporting {name} output_file: {count} in {}.", folders.join(", "));
            say(Level::Info, &text);
        }
        0 => {
            let text = format!("End exporting {name} output_file: there was nothing to write.");
            say(Level::Warning, &text);
        }
    }
    Ok(())
}

/// Whether the vendor's tool writes the database together with tables and timelines of a profile. It
/// does where its library writes these, which it does of whole runs only.
fn brings_database(profile: &Profile, options: &Options) -> bool {
    let chip = profile.metadata().map(opscope_cann::Metadata::chip);
    let is_whole = options.model_id.is_none() && options.iteration_id.is_none();
    is_whole && matches!(chip, Some(Chip::V4_1_0 | Chip::V6_1_0 | Chip::V6_2_0))
}

/// Whether a whole database of an earlier export is there, which the vendor's tool then keeps.
fn has_database(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_named = name.starts_with("msprof_") && name.ends_with(".db");
        is_named && Source::at(&path).is_ok_and(|source| source.is(&formats::ascend_database::FORMAT))
    })
}

/// The host's and devices' directories.
fn folders(profile: &Profile) -> Vec<String> {
    let sources = profile.host.iter().chain(&profile.devices);
    let mut folders: Vec<String> = sources.map(|source| source.path.display().to_string()).collect();
    // A directory of 2022 is host and device in one.
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::is_called_for;

    #[test]
    fn the_vendors_name_is_known_with_any_folder_before_it() {
        assert!(is_called_for("msprof") && is_called_for("/usr/local/bin/msprof.py"));
        assert!(!is_called_for("opscope") && !is_called_for("msprof/opscope"));
    }
}
