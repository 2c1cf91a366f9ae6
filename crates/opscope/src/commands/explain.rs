//! `opscope explain`: what a known error message means.

use clap::Args;
use opscope_capture::explain::{PAGES, Page, explain, page};

use crate::exit::Exit;
use crate::terminal::{Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope explain E10001
  opscope explain \"error while loading shared libraries: libpython3.9.so.1.0\"
  ./program 2>&1 | tail -1 | xargs -0 opscope explain
  opscope explain                            list the pages";

/// The options of `opscope explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The message, a part of it, or the name of a page; without it, all pages are listed
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
}

/// Prints the pages that fit.
///
/// # Errors
/// When standard output can't take it.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let text = arguments.text.join(" ");
    if text.trim().is_empty() {
        let lines =
            PAGES.iter().map(|page| format!("{} {}\n", bold(&format!("{:20}", page.name)), page.title));
        terminal.print(&lines.collect::<String>())?;
        return Ok(Exit::Done);
    }
    let found: Vec<&Page> = page(text.trim()).map_or_else(|| explain(&text), |page| vec![page]);
    if found.is_empty() {
        terminal.error("nothing is known about this message; 'opscope explain' lists what is");
        return Ok(Exit::Failed);
    }
    let pages = found.iter().map(|page| format!("{}\n\n{}\n", bold(page.title), page.text));
    terminal.print(&pages.collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Done)
}
