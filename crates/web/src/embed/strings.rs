//! The text of a report, each piece once.

use opscope_trace::StringTable;

use crate::columns::Table;

/// The bytes of the longest name that is carried whole: longer ones come out of damaged or hostile files.
const LONGEST: usize = 64 << 10;

/// Text by its number in the report.
pub(crate) struct Strings {
    texts: StringTable,
    /// The numbers of those that were cut.
    cut: Vec<u32>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut texts = StringTable::default();
        texts.intern("");
        Self { texts, cut: Vec::new() }
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
        if number == known {
            self.cut.push(number as u32);
        }
        number as u32
    }

    /// The texts that were cut, as they are carried.
    pub(crate) fn cut(&self) -> impl ExactSizeIterator<Item = &str> {
        self.cut.iter().map(|&number| self.get(number))
    }

    /// Whether a text is carried.
    pub(super) fn has(&self, text: &str) -> bool {
        self.texts.lookup(text).is_some()
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
