//! Every command's answer as a text for a person, and as Markdown, CSV or JSON where it has these forms.
//!
//! A file is named after the command whose answer it renders, or after what several of them show:
//! [`Table`] for rows and columns in every form, [`Envelope`] around every answer in JSON, [`markdown`] for
//! texts in Markdown, `overview`, `losses`, `ranges` and `latency` for parts of answers.

pub mod advise;
pub mod analyze;
pub mod check;
pub mod cluster;
pub mod compare;
pub mod conversion;
mod envelope;
pub mod formats;
pub mod fusion;
pub mod info;
pub mod junit;
mod latency;
mod layout;
pub mod locate;
mod losses;
pub mod markdown;
pub mod nodes;
pub mod opened;
mod overview;
pub mod page;
pub mod peak;
pub mod placement;
pub mod query;
mod ranges;
pub mod rewrite;
pub mod rows;
mod run;
pub mod show;
mod stated;
mod table;
pub mod tune;
pub mod whatif;
pub mod window;

use opscope_say::{say, word};

use crate::terminal::{bold, dim};

pub use envelope::Envelope;
pub use latency::{latency_json, latency_text};
pub use losses::losses_text;
pub use overview::{host_text, overview_json, overview_text};
pub use ranges::{ranges_json, ranges_table, ranges_text};
pub use run::{RunReport, to_json, to_text};
pub use stated::{stated_json, stated_lines, stated_text};
pub use table::{Table, TableCell, TableColumn, padded};

/// A number with its noun: `1 operator`, `3 operators`.
pub fn count(number: usize, noun: &str) -> String {
    opscope_say::counted(number, noun).unwrap_or_else(|| match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    })
}

/// The word that opens a line, as wide as those of the lines around it.
fn label(title: &str, width: usize) -> String {
    bold(&padded(word(title), width))
}

/// How many rows of a table are shown, as its heading begins: `Top 3 of 20 operators`.
fn shown(top: usize, all: usize, noun: &str) -> String {
    match all {
        0 => say!("No {noun}", noun = word(noun)),
        1 => say!("The only {noun}", noun = word(noun)),
        _ if top >= all => say!("All {}", count(all, noun)),
        _ => say!("Top {top} of {}", count(all, noun)),
    }
}

/// A table with its heading, and below it how many of all its rows aren't shown; `None` for one without rows.
fn titled(title: &str, table: &str, shown: usize, all: usize) -> Option<String> {
    (all > 0).then(|| format!("{}\n{table}{}", bold(title), not_shown(all.saturating_sub(shown))))
}

/// A line that says how many rows are missing; nothing where none is.
fn not_shown(rows: usize) -> String {
    if rows == 0 { String::new() } else { dim(&say!("… and {rows} more (-t 0 shows all)\n")) }
}
