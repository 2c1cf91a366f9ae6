//! The form in which rows are printed.

use clap::Args;

/// Options for the form of rows.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Form")]
pub struct FormArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Print comma-separated values, with plain numbers and a line of headings
    #[arg(long)]
    pub csv: bool,

    /// Print a Markdown table
    #[arg(long)]
    pub markdown: bool,
}
