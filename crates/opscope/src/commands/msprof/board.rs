//! A board's `JOB*` directory in the spellings of its own guide: `msprof.pyc import|export|show -dir`.
//!
//! Where the guide's tool leaves something beside the data, so does this: `sqlite/` of an import,
//! `summary/` and `timeline/` of an export, and `sqlite/`, `timeline/` and `log/` of what is shown.

use std::path::Path;

use anyhow::{Context, bail};
use opscope_formats::sqlite;
use opscope_open::Source;
use opscope_svp::{Exports, TableFormat};
use opscope_trace::Trace;

use super::console::{Level, losses, say};
use super::options::{Action, Request};
use crate::commands::export::{What, export_board};
use crate::commands::run::create_folder;
use crate::commands::show;
use crate::exit::Exit;
use crate::profile::board;
use crate::terminal::Terminal;

/// Does what is asked of a board's profile.
///
/// # Errors
/// When it can't be read, or something can't be written.
pub fn carry_out(
    source: Source,
    request: &Request,
    action: Action,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let path = &request.directory;
    match action {
        Action::Import => {
            say(Level::Info, &format!("Start analyzing data in \"{}\" ...", path.display()));
            let (_, trace) = import(path)?;
            losses(&trace).iter().for_each(|loss| say(Level::Warning, loss));
            say(Level::Info, &format!("Analysis of data in \"{}\" finished.", path.display()));
            Ok(Exit::Done)
        }
        Action::Export(what) => export_board(path, None, what, &request.options, terminal),
        Action::ExportText => export_board(path, None, What::All, &request.options, terminal),
        Action::Show => {
            let exit = show::execute_at(source, &show::Arguments::of(path.clone()), terminal)?;
            if path.is_dir() {
                let (exports, trace) = import(path)?;
                let written = board::write(&exports, (false, true), TableFormat::Csv, path)?;
                board::tell_kept(&written, terminal);
                write_log(path, &trace)?;
            }
            Ok(exit)
        }
        Action::Query | Action::QueryCluster | Action::Answer(_) => {
            bail!("{}: a board's profile is one run; 'msprof show -dir' shows it in tables", path.display())
        }
    }
}

/// Reads the profile anew, and leaves its database in the place of the guide's.
fn import(path: &Path) -> anyhow::Result<(Exports, Trace)> {
    let (exports, trace) = board::read(path)?;
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) }.join("sqlite");
    create_folder(&folder)?;
    sqlite::write_file(&trace, &folder.join("opscope.db"))?;
    Ok((exports, trace))
}

/// Leaves what was skipped in a log.
fn write_log(path: &Path, trace: &Trace) -> anyhow::Result<()> {
    let folder = path.join("log");
    create_folder(&folder)?;
    let file = folder.join("opscope.log");
    let mut text = losses(trace).join("\n");
    text.push('\n');
    opscope_files::write_atomically(&file, |output| std::io::Write::write_all(output, text.as_bytes()))
        .with_context(|| format!("{}: cannot be written", file.display()))
}
