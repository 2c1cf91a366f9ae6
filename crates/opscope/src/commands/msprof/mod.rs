//! `opscope msprof`, and the program under the name `msprof` or `msprof.py`: the vendor's own
//! spellings for what other commands do.

mod console;
mod options;

use std::path::Path;

use clap::Args;
use opscope_cann::Profile;

use self::console::{Level, say};
use self::options::{Action, Request};
use super::export::{Options, What, export};
use super::query;
use crate::exit::Exit;
use crate::profile::{self, Results, cache};
use crate::terminal::{StepBar, Terminal};

const HELP: &str = "\
Does what the vendor's msprof does with the raw directories of Ascend, with the same spellings.

Usage:
  msprof import -dir DIR
  msprof export timeline -dir DIR [--model-id N] [--iteration-id N] [--iteration-count N] [--reports FILE] [--clear]
  msprof export summary  -dir DIR [--model-id N] [--iteration-id N] [--format csv|json] [--clear]
  msprof export db       -dir DIR [--clear]
  msprof query -dir DIR
  msprof [--output=DIR] [--msproftx=on] [--host-sys=cpu,mem] [...] PROGRAM ARGS
  msprof collect -m MAIN --config BOARD.ini [--all] [...]      on a board, over SSH
  msprof --application=\"PROGRAM ARGS\" [--output=DIR] [...]     see opscope collect --help
  msprof --parse=on|--export=on|--query=on --output=DIR [--type=text|db] [--summary-format=csv|json]
         [--model-id=N] [--iteration-id=N] [--reports=FILE] [--clear=on]

DIR is a raw directory (PROF_*, JOB*) or one above several. Tables and timelines go to
mindstudio_profiler_output/ below it, the database msprof_<time>.db beside that. Values follow an
option after = or a space.

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
    matches!(&*name, "msprof" | "msprof.py" | "msprof.exe")
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
/// Those of [`execute`].
pub fn run(arguments: &[String], terminal: &Terminal) -> anyhow::Result<Exit> {
    #[cfg(target_os = "linux")]
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
        terminal.print(HELP)?;
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

fn carry_out(request: &Request, action: Action, terminal: &Terminal) -> anyhow::Result<Exit> {
    let profiles = profile::raw(&request.directory, terminal)?;
    let stamp = profile::stamp();
    profile::each(profiles, terminal, |profile| match action {
        Action::Import => import(profile, terminal),
        Action::Query => {
            let joined = profile::join(profile, &StepBar::new(terminal))?;
            Ok(terminal.print(&query::table(&query::lines(&joined)))?)
        }
        Action::Export(what) => write(profile, &[what], &request.options, &stamp, terminal),
        Action::ExportText => {
            write(profile, &[What::Summary, What::Timeline], &request.options, &stamp, terminal)
        }
    })
}

fn import(profile: Profile, terminal: &Terminal) -> anyhow::Result<()> {
    let results = Results::place(&profile, None, terminal)?;
    let _lock = results.lock()?;
    let folders = folders(&profile);
    for folder in &folders {
        say(Level::Info, &format!("Start analyzing data in \"{folder}\" ..."));
    }
    let trace = profile::import(profile, &results.database(), terminal)?;
    for folder in &folders {
        say(Level::Info, &format!("Analysis of data in \"{folder}\" finished."));
    }
    for (_, loss) in trace.losses.iter() {
        let (reason, place) = (trace.strings.get(loss.reason), trace.strings.get(loss.detail));
        say(Level::Warning, &format!("skipped: {} × {reason} ({place})", loss.count));
    }
    Ok(())
}

fn write(
    profile: Profile,
    kinds: &[What],
    options: &Options,
    stamp: &str,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let is_imported = cache::is_current(&profile);
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
    let files = export(profile, kinds, options, None, stamp, terminal)?;
    match files.first().and_then(|file| file.parent()) {
        Some(folder) => {
            let count = match files.len() {
                1 => "1 file is".to_owned(),
                count => format!("{count} files are"),
            };
            let text = format!("End exporting {name} output_file: {count} in \"{}\".", folder.display());
            say(Level::Info, &text);
        }
        None => {
            let text = format!("End exporting {name} output_file: there was nothing to write.");
            say(Level::Warning, &text);
        }
    }
    Ok(())
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
