//! The formats that opscope knows: a line each for programs and documents, a paragraph each on a terminal.

use opscope_open::formats::ALL;
use opscope_open::{About, Format};
use opscope_say::word;
use serde_json::{Value, json};

use super::{Envelope, Table, TableColumn, count};
use crate::terminal::{bold, dim};

/// The version of the members.
const SCHEMA_VERSION: u32 = 1;

/// A format that can be read.
pub struct Listed {
    name: &'static str,
    about: &'static About,
}

impl Listed {
    /// All formats, profiles first and by their names: a folder and the one above it have one line.
    pub fn all() -> Vec<Self> {
        let listed = |format: &&Format| Some(Self { name: bare(format.name), about: format.about? });
        let mut formats: Vec<Self> = ALL.iter().filter_map(listed).collect();
        formats.sort_by_key(|format| (format.about.kind.name() != "profile", format.name.to_lowercase()));
        formats.dedup_by_key(|format| format.name);
        formats
    }

    /// Whether a word stands in its line, in whatever case.
    pub fn has(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        self.cells().iter().any(|cell| cell.to_lowercase().contains(&word))
    }

    fn cells(&self) -> [&'static str; 7] {
        let Self { name, about } = self;
        let written_by = about.written_by.unwrap_or("–");
        [name, about.kind.name(), about.from, about.reads, written_by, about.lacks, about.tried.name()]
    }
}

/// A name without its article.
fn bare(name: &str) -> &str {
    ["a ", "an ", "the "].iter().find_map(|article| name.strip_prefix(article)).unwrap_or(name)
}

/// A row for each format.
pub fn table(formats: &[Listed]) -> Table {
    let mut table = Table::new(
        [
            "format",
            "kind",
            "from",
            "read",
            word("written by"),
            word("not read or not in it"),
            word("tried on"),
        ]
        .map(TableColumn::text),
    );
    formats.iter().for_each(|format| table.row(format.cells()));
    table
}

/// A paragraph for each format, on lines that fit the terminal.
pub fn details(formats: &[Listed], width: Option<u16>) -> String {
    let mut text = format!("{}\n", bold(&count(formats.len(), "format")));
    for format in formats {
        let [name, kind, from, reads, written_by, lacks, tried] = format.cells();
        text.push_str(&format!("\n{} {}\n", bold(name), dim(&format!("({kind})"))));
        let mut table = Table::new(["", ""].map(TableColumn::text));
        for line in [
            ["from", from],
            ["read", reads],
            [word("written by"), written_by],
            ["lacks", lacks],
            [word("tried on"), tried],
        ] {
            table.row(line);
        }
        // Its line of headings is empty.
        text.push_str(table.to_text(width).split_once('\n').unwrap_or_default().1);
    }
    text
}

/// The same for programs.
pub fn to_json(formats: &[Listed]) -> Envelope<Value> {
    let formats = formats.iter().map(|Listed { name, about }| {
        json!({
            "name": name,
            "kind": about.kind.name(),
            "from": about.from,
            "reads": about.reads,
            "written_by": about.written_by,
            "lacks": about.lacks,
            "tried_on": about.tried.name(),
        })
    });
    Envelope::new(SCHEMA_VERSION, json!({ "formats": formats.collect::<Vec<_>>() }))
}
