//! The text of a report, each piece once.

use opscope_trace::StringTable;

use crate::columns::Table;

/// The bytes of the longest name that is carried whole: longer ones come out of damaged or hostile files.
const LONGEST: usize = 64 << 10;

/// Text by its number in the report.
pub(crate) struct Strings {
    texts: StringTable,
    /// Pieces that were cut.
    pub cut: usize,
}

impl Default for Strings {
    fn default() -> Self {
        let mut texts = StringTable::default();
        texts.intern("");
        Self { texts, cut: 0 }
    }
}

impl Strings {
    /// The number of a text; 0 is that of the empty one.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if text.len() <= LONGEST {
            return self.texts.intern(text).index() as u32;
        }
        let known = self.texts.len();
        let number = self.texts.intern(&format!("{}…", &text[..text.floor_char_boundary(LONGEST)])).index();
        self.cut += usize::from(number == known);
        number as u32
    }

    /// The text of a number.
    pub(super) fn get(&self, number: u32) -> &str {
        self.texts.iter().nth(number as usize).map_or("", |(_, text)| text)
    }

    /// The pieces from one on, as a table of that name.
    pub(crate) fn table_from(&self, name: &'static str, first: usize) -> Table {
        let mut table = Table::new(name, self.texts.len().saturating_sub(first));
        table.text("text", self.texts.iter().skip(first).map(|(_, text)| text));
        table
    }
}
