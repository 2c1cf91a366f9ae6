//! The rows of such a table, cut into cells and numbers on all cores.

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::reading::Stop;

/// The cells of a row that say what a kernel was, and which quantity a row of its own has.
#[derive(Clone, Copy, Debug)]
pub enum About {
    Id,
    Process,
    Kernel,
    Device,
    Stream,
    Name,
    Unit,
}

/// How many there are.
const CELLS: usize = About::Unit as usize + 1;

/// The headings of [`About`], in its order.
pub const HEADINGS: [&str; CELLS] =
    ["ID", "Process ID", "Kernel Name", "Device", "Stream", "Metric Name", "Metric Unit"];

/// Rows of a table behind its heading.
pub struct Rows<'t> {
    /// Their text.
    pub text: &'t [u8],
    /// The heading, which the output of a further program begins with again.
    pub headings: ByteRecord,
    /// The columns of [`About`], in its order; those that are missing are none.
    pub about: [Option<usize>; CELLS],
    /// The columns of numbers.
    pub numbers: Vec<usize>,
    /// How these are written, as far as that is known.
    pub notation: Option<Notation>,
    /// Whether it is wanted that no more rows are read.
    pub stop: &'t Stop,
}

/// The reason why rows aren't taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Whoever asked for them wants them no more.
    Stopped,
    /// The rows can't be cut into blocks: one ends within a cell, as far as its quotes tell, or is too large because
    /// lines begin otherwise than rows do.
    NoBlocks,
    /// The first number that tells how all are written has points between its thousands, or a comma before its
    /// decimals.
    PointsPartThousands,
}

/// How a table writes its numbers, which is how the machine's language does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notation {
    /// `1,234.5`
    #[default]
    CommasPartThousands,
    /// `1.234,5`
    PointsPartThousands,
}

impl Notation {
    /// The notation in which a cell is a number, where it is one in a single notation.
    fn of(cell: &[u8]) -> Option<Self> {
        let has_marks = cell.iter().any(|byte| matches!(byte, b',' | b'.'));
        let is_number = |notation| has_marks && number(cell, notation).is_some();
        match [Self::CommasPartThousands, Self::PointsPartThousands].map(is_number) {
            [true, false] => Some(Self::CommasPartThousands),
            [false, true] => Some(Self::PointsPartThousands),
            _ => None,
        }
    }
}

/// Some rows, of which only the cells are kept that anything is made of. Parts are used again, because fresh memory
/// costs more than to fill it.
#[derive(Default)]
pub struct Part {
    /// The cells of all rows that say what kernels were, end to end, and where each ends.
    cells: Vec<u8>,
    ends: Vec<u32>,
    /// The numbers of all rows, row by row; NaN where there is none.
    numbers: Vec<f64>,
    /// Rows with the units of columns, each with the number of kernels' rows before.
    units: Vec<(usize, ByteRecord)>,
    /// Lines that are no rows.
    pub unreadable: u64,
    /// Cells that should have a number and have something else.
    pub no_number: u64,
    /// The notation of the first number that tells one.
    pub notation: Option<Notation>,
    /// Whether the text of these rows ends within a cell.
    pub is_within_cell: bool,
}

/// A row of a part.
pub enum Row<'p> {
    /// The units of the columns.
    Units(&'p ByteRecord),
    /// A kernel: the cells that say which, and its numbers.
    Kernel(Cells<'p>, &'p [f64]),
}

/// The cells of a row that say what a kernel was.
#[derive(Clone, Copy)]
pub struct Cells<'p> {
    part: &'p Part,
    row: usize,
}

impl<'p> Cells<'p> {
    /// A cell without the blanks around it; empty where there is no such column.
    pub fn get(self, about: About) -> &'p [u8] {
        let place = self.row * CELLS + about as usize;
        let begin = place.checked_sub(1).map_or(0, |before| self.part.ends[before]);
        &self.part.cells[begin as usize..self.part.ends[place] as usize]
    }
}

impl Part {
    /// All rows in order, of which each has so many numbers.
    pub fn rows(&self, numbers: usize) -> impl Iterator<Item = Row<'_>> {
        let mut units = self.units.iter().peekable();
        let mut row = 0;
        std::iter::from_fn(move || {
            if let Some((_, record)) = units.next_if(|(before, _)| *before == row) {
                return Some(Row::Units(record));
            }
            let cells = (row < self.ends.len() / CELLS).then_some(Cells { part: self, row })?;
            row += 1;
            Some(Row::Kernel(cells, &self.numbers[(row - 1) * numbers..row * numbers]))
        })
    }

    /// Fills the part with rows of so many bytes at most, or one; false at the end of the text, or where it is to stop.
    fn fill(&mut self, reader: &mut Reader<&[u8]>, rows: &Rows<'_>, most: usize) -> bool {
        /// So many records are read before anyone asks whether to stop.
        const AT_ONCE: usize = 4096;
        *self = Self {
            cells: emptied(&mut self.cells),
            ends: emptied(&mut self.ends),
            numbers: emptied(&mut self.numbers),
            ..Self::default()
        };
        let end = reader.position().byte().saturating_add(most as u64);
        let mut record = ByteRecord::new();
        for count in 1_usize.. {
            match reader.read_byte_record(&mut record) {
                Ok(false) => return false,
                Ok(true) if record == rows.headings => {}
                Ok(true) if record.len() == rows.headings.len() => self.take(&record, rows),
                // Anything else that the program printed.
                Ok(true) | Err(_) => self.unreadable += 1,
            }
            if count.is_multiple_of(AT_ONCE) && rows.stop.is_wanted() {
                return false;
            }
            if reader.position().byte() >= end {
                break;
            }
        }
        true
    }

    fn take(&mut self, record: &ByteRecord, rows: &Rows<'_>) {
        if record.get(0).is_some_and(|id| id.trim_ascii().is_empty()) {
            self.units.push((self.ends.len() / CELLS, record.clone()));
            return;
        }
        // Where a cell ends is kept as a number of 32 bits.
        if self.cells.len() + record.as_slice().len() > u32::MAX as usize {
            self.unreadable += 1;
            return;
        }
        for column in rows.about {
            self.cells.extend_from_slice(column.map_or(&[], |column| cell(record, column)));
            self.ends.push(self.cells.len() as u32);
        }
        for &column in &rows.numbers {
            let cell = cell(record, column);
            self.notation = self.notation.or_else(|| Notation::of(cell));
            let value = number(cell, rows.notation.unwrap_or_default());
            self.no_number += u64::from(value.is_none() && !cell.is_empty());
            self.numbers.push(value.unwrap_or(f64::NAN));
        }
    }
}

/// A list without what was in it, with its room.
fn emptied<T>(list: &mut Vec<T>) -> Vec<T> {
    list.clear();
    std::mem::take(list)
}

/// The bytes of a block, at least; on every machine the same, so that all read the same.
const BLOCK: usize = 1 << 20;

impl Rows<'_> {
    /// Hands on all rows in order, block by block, which all cores cut into cells.
    ///
    /// # Errors
    /// The first of `each`, which is handed a part that says so where a block ends within a cell; and where a block would
    /// take too much memory.
    pub fn in_blocks(&self, each: impl FnMut(&mut Part) -> Result<(), Break> + Send) -> Result<(), Break> {
        let ends = self.ends();
        let produce = |number: usize, part: &mut Part| {
            let begin = number.checked_sub(1).map_or(0, |before| ends[before]);
            let block = &self.text[begin..ends[number]];
            part.fill(&mut reader(block), self, usize::MAX);
            // Cells have quotes in pairs, those within them as well.
            let has_odd_quotes = || block.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            part.is_within_cell = number + 1 < ends.len() && has_odd_quotes();
        };
        let begins = std::iter::once(0).chain(ends.iter().copied());
        match begins.zip(&ends).any(|(begin, end)| end - begin > 4 * BLOCK) {
            true => Err(Break::NoBlocks),
            false => opscope_parallel::parts(ends.len(), produce, each),
        }
    }

    /// Hands on all rows in order, one after another.
    ///
    /// # Errors
    /// The first of `each`.
    pub fn in_turn(&self, mut each: impl FnMut(&mut Part) -> Result<(), Break>) -> Result<(), Break> {
        let (mut part, mut reader) = (Part::default(), reader(self.text));
        loop {
            let more = part.fill(&mut reader, self, BLOCK);
            each(&mut part)?;
            if !more {
                return Ok(());
            }
        }
    }

    /// The ends of blocks: of lines before others that begin as a row does.
    fn ends(&self) -> Vec<usize> {
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

/// A cell without the blanks around it.
pub fn cell(record: &ByteRecord, column: usize) -> &[u8] {
    record.get(column).unwrap_or_default().trim_ascii()
}

/// A number, with marks between its thousands or without. Text in which such a mark stands elsewhere is none: nothing
/// tells what it parts.
pub fn number(cell: &[u8], notation: Notation) -> Option<f64> {
    /// Numbers of so many digits are whole in floating point, and most are; anything else takes several times as long.
    const MOST_DIGITS: usize = 15;
    if (1..=MOST_DIGITS).contains(&cell.len()) && cell.iter().all(u8::is_ascii_digit) {
        return Some(cell.iter().fold(0, |number: u64, digit| number * 10 + u64::from(digit - b'0')) as f64);
    }
    let text = std::str::from_utf8(cell).ok()?;
    let (mark, decimal) = match notation {
        Notation::CommasPartThousands => (',', '.'),
        Notation::PointsPartThousands => ('.', ','),
    };
    if text.contains(mark) && !are_thousands(text, mark, decimal) {
        return None;
    }
    let is_plain = !text.contains(mark) && (decimal == '.' || !text.contains(decimal));
    let number: f64 = match is_plain {
        true => text.parse().ok()?,
        false => text.replace(mark, "").replace(decimal, ".").parse().ok()?,
    };
    number.is_finite().then_some(number)
}

/// Whether marks stand before each three digits of the whole part and nowhere else. A number with thousands doesn't
/// begin with 0.
fn are_thousands(text: &str, mark: char, decimal: char) -> bool {
    let whole = text.split(decimal).next().unwrap_or_default();
    let mut groups = whole.trim_start_matches(['-', '+']).split(mark);
    let first = groups.next().unwrap_or_default();
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && are_digits(first)
        && groups.all(|group| group.len() == 3 && are_digits(group))
        && !text[whole.len()..].contains(mark)
}

#[cfg(test)]
mod tests {
    use super::{Notation, number};

    #[test]
    fn commas_part_thousands_and_nothing_else() {
        let all = ["1,234,567", "-12,345.5", "250,25", "1,2345", "1.5,5", ",123", "1,,234", "1 234", "0,123"];
        let numbers = all.map(|text| number(text.as_bytes(), Notation::CommasPartThousands));
        assert_eq!(numbers[..2], [Some(1_234_567.0), Some(-12_345.5)]);
        assert_eq!(numbers[2..], [None; 7]);
    }

    #[test]
    fn points_part_thousands_and_nothing_else_where_commas_part_decimals() {
        let all = ["1.234.567", "-12.345,5", "45,60", "992", "1.2345", "45.60", "1,2,3", "0.123", "1..234"];
        let numbers = all.map(|text| number(text.as_bytes(), Notation::PointsPartThousands));
        assert_eq!(numbers[..4], [Some(1_234_567.0), Some(-12_345.5), Some(45.6), Some(992.0)]);
        assert_eq!(numbers[4..], [None; 5]);
    }

    #[test]
    fn numbers_tell_their_notation_where_they_are_numbers_in_one_alone() {
        let notations =
            |all: &[&str]| all.iter().map(|text| Notation::of(text.as_bytes())).collect::<Vec<_>>();
        let commas = Some(Notation::CommasPartThousands);
        assert_eq!(notations(&["2.50", "1,234.5", "1,234,567", "0.123", "1234.567"]), [commas; 5]);
        let points = Some(Notation::PointsPartThousands);
        assert_eq!(notations(&["45,60", "1.234,5", "1.234.567", "0,123"]), [points; 4]);
        assert_eq!(notations(&["123.456", "12,345", "992", "n/a", "", "1,2,3"]), [None; 6]);
    }
}
