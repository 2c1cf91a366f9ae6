//! The formats that opscope knows: a line each for programs and documents, a paragraph each on a terminal.

use std::borrow::Cow;

use opscope_open::formats::ALL;
use opscope_open::{About, Format, FormatKind, Tried};
use opscope_say::{say, sentence, word};
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

/// Files that commands take beside a model or profile: no path is opened as one.
static BESIDE: [(&str, About); 2] = [
    (
        "operator information library of Ascend's compiler",
        About {
            kind: FormatKind::Library,
            from: "CANN, for each chip (aic-*-ops-info*.json), and the files that describe operators of one's own \
                   (.ini)",
            reads: "operators by type, the types of elements that their inputs may have, whether their sizes may be \
                    known only when they run",
            written_by: None,
            lacks: "formats, attributes and other fields; limits of shapes",
            tried: Tried::Documentation,
        },
    ),
    (
        "report of the converter on its fusion rules",
        About {
            kind: FormatKind::Conversion,
            from: "ATC of CANN: fusion_result.json, today's form and that with an object for each graph",
            reads: "how often each fusion rule's pattern was found and was applied, by kind, over all graphs",
            written_by: None,
            lacks: "operators and graphs that a rule was applied to; rules that are off, which the file doesn't have",
            tried: Tried::Documentation,
        },
    ),
];

impl Listed {
    /// All formats, profiles first and by their names: a folder and the one above it have one line.
    pub fn all() -> Vec<Self> {
        let listed = |format: &&Format| Some(Self { name: bare(format.name), about: format.about? });
        let beside = BESIDE.iter().map(|(name, about)| Self { name: *name, about });
        let mut formats: Vec<Self> = ALL.iter().filter_map(listed).chain(beside).collect();
        formats.sort_by_key(|format| (format.about.kind, format.name.to_lowercase()));
        formats.dedup_by_key(|format| format.name);
        formats
    }

    /// Whether a word stands in its line, in whatever case.
    pub fn has(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        self.cells().iter().any(|cell| cell.to_lowercase().contains(&word))
    }

    /// Its cells in the reader's language.
    fn told(&self) -> [Cow<'static, str>; 7] {
        let [name, kind, rest @ ..] = self.cells();
        let [from, reads, written_by, lacks, tried] = rest.map(sentence);
        [spoken(name), word(kind).into(), from, reads, written_by, lacks, tried]
    }

    fn cells(&self) -> [&'static str; 7] {
        let Self { name, about } = self;
        let written_by = about.written_by.unwrap_or("–");
        [name, about.kind.name(), about.from, about.reads, written_by, about.lacks, about.tried.name()]
    }
}

/// A name without its article in the reader's language, where it is known by its whole name.
fn spoken(bare: &'static str) -> Cow<'static, str> {
    let whole = ["a ", "an ", "the "].map(|article| format!("{article}{bare}"));
    let told = whole.iter().find_map(|whole| Some(word(whole)).filter(|told| told != whole));
    told.map_or_else(|| sentence(bare), |told| told.to_owned().into())
}

/// A name without its article.
fn bare(name: &str) -> &str {
    ["a ", "an ", "the "].iter().find_map(|article| name.strip_prefix(article)).unwrap_or(name)
}

/// A row for each format.
pub fn table(formats: &[Listed]) -> Table {
    let mut table = Table::new(
        ["format", "kind", "from", "read", "written by", "not read or not in it", "tried on"]
            .map(TableColumn::text),
    );
    formats.iter().for_each(|format| table.row(format.told()));
    table
}

/// A paragraph for each format, on lines that fit the terminal.
pub fn details(formats: &[Listed], width: Option<u16>) -> String {
    let mut text = format!("{}\n", bold(&count(formats.len(), "format")));
    for format in formats {
        let [name, kind, from, reads, written_by, lacks, tried] = format.told();
        text.push_str(&format!("\n{} {}\n", bold(&name), dim(&say!("({})", kind))));
        let mut table = Table::new(["", ""].map(TableColumn::text));
        for line in [
            [word("from").into(), from],
            [word("read").into(), reads],
            [word("written by").into(), written_by],
            [word("lacks").into(), lacks],
            [word("tried on").into(), tried],
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
