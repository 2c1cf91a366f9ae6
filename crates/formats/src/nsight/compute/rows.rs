//! The rows of such a table, cut into cells and numbers on all cores.

use csv::{ByteRecord, Reader, ReaderBuilder};

/// Rows of a table behind its heading.
pub struct Rows<'t> {
    /// Their text.
    pub text: &'t [u8],
    /// The heading, which the output of a further program begins with again.
    pub headings: ByteRecord,
    /// The columns of numbers.
    pub numbers: Vec<usize>,
}

/// The reason why rows aren't taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Whoever asked for them wants them no more.
    Stopped,
    /// A block of rows ends within a cell, as far as its quotes tell.
    WithinCell,
}

/// Some rows. Parts are used again, because fresh memory costs more than to fill it.
#[derive(Default)]
pub struct Part {
    /// Room for rows, of which the first are filled.
    room: Vec<ByteRecord>,
    filled: usize,
    /// The numbers of all rows, row by row; NaN where there is none.
    pub numbers: Vec<f64>,
    /// Lines that are no rows.
    pub unreadable: u64,
    /// Cells that should have a number and have something else.
    pub no_number: u64,
    /// Whether the text of these rows ends within a cell.
    pub is_within_cell: bool,
}

impl Part {
    /// The rows.
    pub fn records(&self) -> &[ByteRecord] {
        &self.room[..self.filled]
    }

    /// Fills the part with so many rows at most; false at the end of the text.
    fn fill(&mut self, reader: &mut Reader<&[u8]>, rows: &Rows<'_>, most: usize) -> bool {
        (self.filled, self.unreadable, self.no_number, self.is_within_cell) = (0, 0, 0, false);
        self.numbers.clear();
        while self.filled < most {
            if self.room.len() == self.filled {
                self.room.push(ByteRecord::new());
            }
            let record = &mut self.room[self.filled];
            match reader.read_byte_record(record) {
                Ok(false) => return false,
                Ok(true) if *record == rows.headings => {}
                Ok(true) if record.len() == rows.headings.len() => {
                    self.take_numbers(&rows.numbers);
                    self.filled += 1;
                }
                // Anything else that the program printed.
                Ok(true) | Err(_) => self.unreadable += 1,
            }
        }
        true
    }

    /// Reads the numbers of the last row; one of units has none.
    fn take_numbers(&mut self, columns: &[usize]) {
        let record = &self.room[self.filled];
        if is_of_units(record) {
            self.numbers.extend(columns.iter().map(|_| f64::NAN));
            return;
        }
        for column in columns {
            let cell = cell(record, Some(*column));
            let value = number(cell);
            self.no_number += u64::from(value.is_none() && !cell.is_empty());
            self.numbers.push(value.unwrap_or(f64::NAN));
        }
    }
}

impl Rows<'_> {
    /// Hands on all rows in order, block by block, which all cores cut into cells.
    ///
    /// # Errors
    /// The first of `each`, which is handed a part that says so where a block ends within a cell.
    pub fn in_blocks(&self, each: impl FnMut(&mut Part) -> Result<(), Break> + Send) -> Result<(), Break> {
        let ends = self.ends();
        let produce = |number: usize, part: &mut Part| {
            let begin = number.checked_sub(1).map_or(0, |before| ends[before]);
            let block = &self.text[begin..ends[number]];
            part.fill(&mut reader(block), self, usize::MAX);
            // Cells have quotes in pairs, those within them as well.
            part.is_within_cell =
                ends.len() > 1 && block.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
        };
        opscope_parallel::parts(ends.len(), produce, each)
    }

    /// Hands on all rows in order, one after another.
    ///
    /// # Errors
    /// The first of `each`.
    pub fn in_turn(&self, mut each: impl FnMut(&mut Part) -> Result<(), Break>) -> Result<(), Break> {
        /// Rows that are handed on at once.
        const AT_ONCE: usize = 4096;
        let (mut part, mut reader) = (Part::default(), reader(self.text));
        loop {
            let more = part.fill(&mut reader, self, AT_ONCE);
            each(&mut part)?;
            if !more {
                return Ok(());
            }
        }
    }

    /// The ends of blocks: of lines before others that begin as a row does.
    fn ends(&self) -> Vec<usize> {
        /// The bytes of a block, at least; on every machine the same, so that all read the same.
        const BLOCK: usize = 1 << 20;
        let begins_row = |line: &[u8]| match line {
            [b'"', digit, ..] | [digit, ..] => digit.is_ascii_digit(),
            [] => false,
        };
        let mut ends = Vec::new();
        let mut at = BLOCK;
        while let Some(rest) = self.text.get(at..) {
            let Some(line) = rest.iter().position(|byte| *byte == b'\n') else { break };
            at += line + 1;
            if begins_row(&self.text[at..]) {
                ends.push(at);
                at += BLOCK;
            }
        }
        ends.push(self.text.len());
        ends
    }
}

fn reader(text: &[u8]) -> Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text)
}

/// Whether a row has the units of the columns, and not a kernel.
pub fn is_of_units(record: &ByteRecord) -> bool {
    record.get(0).is_some_and(|id| id.trim_ascii().is_empty())
}

/// A cell without the blanks around it; empty where there is no such column.
pub fn cell(record: &ByteRecord, column: Option<usize>) -> &[u8] {
    column.and_then(|column| record.get(column)).unwrap_or_default().trim_ascii()
}

/// A number, with commas between its thousands or without.
pub fn number(cell: &[u8]) -> Option<f64> {
    /// Numbers of so many digits are whole in floating point, and most are; anything else takes several times as long.
    const MOST_DIGITS: usize = 15;
    if (1..=MOST_DIGITS).contains(&cell.len()) && cell.iter().all(u8::is_ascii_digit) {
        return Some(cell.iter().fold(0, |number: u64, digit| number * 10 + u64::from(digit - b'0')) as f64);
    }
    let text = std::str::from_utf8(cell).ok()?;
    let number: f64 = match text.contains(',') {
        true => text.replace(',', "").parse().ok()?,
        false => text.parse().ok()?,
    };
    number.is_finite().then_some(number)
}
