//! Rows and columns of CSV text: columns by their names, cells without the padding that the tools
//! put into them.

use std::borrow::Cow;

use super::translated;
use crate::vocabulary;
use csv::{ByteRecord, ReaderBuilder};
use opscope_trace::{LossKind, Nanoseconds, Trace};

use opscope_formats::reading::{Stop, WALL_CLOCK, decimal};
use opscope_formats::spreadsheet::unmark;

/// The names of a table's columns.
pub(in crate::read) struct Header {
    /// In small letters.
    names: Vec<String>,
    written: Vec<String>,
}

impl Header {
    /// The names in the first line, in English; letter case means nothing.
    fn new(record: &ByteRecord) -> Self {
        let name = |cell: &[u8]| translated::heading(String::from_utf8_lossy(cell).trim());
        let written: Vec<String> = record.iter().map(name).collect();
        Self { names: written.iter().map(|name| name.to_ascii_lowercase()).collect(), written }
    }

    /// The column that has one of the names, of which versions of the tools use different ones.
    pub fn find(&self, names: &[&str]) -> Option<Column> {
        let of_name = |name: &&str| self.names.iter().position(|known| known.eq_ignore_ascii_case(name));
        names.iter().find_map(of_name).map(Column)
    }

    /// Whether there is a column with one of the names.
    pub fn has(&self, names: &[&str]) -> bool {
        self.find(names).is_some()
    }

    /// The name of a column with its own case of letters.
    pub fn written(&self, column: Column) -> &str {
        &self.written[column.0]
    }

    /// All columns with their names in small letters.
    pub fn columns(&self) -> impl Iterator<Item = (Column, &str)> {
        self.names.iter().enumerate().map(|(index, name)| (Column(index), &**name))
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::read) struct Column(usize);

/// A row of a table.
pub(in crate::read) struct Row<'r> {
    record: &'r ByteRecord,
    separator: Separator,
    /// The line that it begins on, counted from 1.
    pub line: u64,
}

impl Row<'_> {
    /// A cell without what surrounds it: times have a tab behind them, so that spreadsheets leave
    /// their digits alone, and texts that they would compute an apostrophe before them. Nothing for a
    /// cell that says `N/A`.
    pub fn cell(&self, column: Option<Column>) -> &[u8] {
        let cell = column.and_then(|column| self.record.get(column.0)).unwrap_or_default();
        match cell.trim_ascii() {
            cell if cell == vocabulary::UNKNOWN.as_bytes() => b"",
            cell => unmark(cell),
        }
    }

    pub fn text(&self, column: Option<Column>) -> String {
        String::from_utf8_lossy(self.cell(column)).into_owned()
    }

    /// Microseconds.
    pub fn micros(&self, column: Option<Column>) -> Option<Nanoseconds> {
        decimal::from_micros(&self.numeral(column)).ok()
    }

    /// Milliseconds.
    pub fn millis(&self, column: Option<Column>) -> Option<Nanoseconds> {
        self.time_of_unit(column, 3)
    }

    /// Nanoseconds.
    pub fn nanos(&self, column: Option<Column>) -> Option<Nanoseconds> {
        self.time_of_unit(column, -3)
    }

    /// A time in a unit that is ten to the power `unit` microseconds.
    fn time_of_unit(&self, column: Option<Column>, unit: i32) -> Option<Nanoseconds> {
        let numeral = self.numeral(column);
        // Small numbers have an exponent, as `2e-05`; large ones have lost digits to it.
        if let Some(place) = numeral.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e')) {
            let exponent = std::str::from_utf8(&numeral[place + 1..]).ok()?.parse::<i32>().ok()?;
            Some(exponent).filter(|exponent| (-20..0).contains(exponent))?;
        }
        decimal::from_micros_times(&numeral, unit).ok()
    }

    pub fn number(&self, column: Option<Column>) -> Option<u64> {
        std::str::from_utf8(self.cell(column)).ok()?.parse().ok()
    }

    /// A number; nothing for words such as `inf` and `nan`.
    pub fn float(&self, column: Option<Column>) -> Option<f64> {
        let value: f64 = std::str::from_utf8(&self.numeral(column)).ok()?.parse().ok()?;
        value.is_finite().then_some(value)
    }

    /// A cell as a number is written with a decimal point: spreadsheets that separate cells by semicolons have
    /// decimal commas.
    fn numeral(&self, column: Option<Column>) -> Cow<'_, [u8]> {
        let cell = self.cell(column);
        let comma =
            cell.iter().position(|byte| *byte == b',').filter(|_| self.separator == Separator::Semicolon);
        match comma {
            None => Cow::Borrowed(cell),
            Some(comma) => {
                let mut cell = cell.to_vec();
                cell[comma] = b'.';
                Cow::Owned(cell)
            }
        }
    }
}

/// Rows that were dropped or doubted, by what is wrong with them.
#[derive(Default)]
pub(in crate::read) struct Losses {
    counted: Vec<Counted>,
    /// The files that were read into them, where there are several; the last is read now.
    files: Vec<String>,
}

/// Rows of one file with one fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    kind: LossKind,
    /// Which of the files it is; nothing where none was named.
    file: Option<usize>,
    count: u64,
    /// The line of the first.
    line: u64,
}

impl Losses {
    /// Names the file of the rows that are counted from now on.
    pub fn begin_file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// Counts something in the row that begins on `line`.
    pub fn count(&mut self, kind: LossKind, line: u64) {
        self.count_several(kind, 1, line);
    }

    pub fn count_several(&mut self, kind: LossKind, count: u64, line: u64) {
        if count == 0 {
            return;
        }
        let file = self.files.len().checked_sub(1);
        match self.counted.iter_mut().rev().find(|known| known.kind == kind && known.file == file) {
            Some(known) => known.count += count,
            None => self.counted.push(Counted { kind, file, count, line }),
        }
    }

    /// Whether nothing was counted.
    pub fn is_none(&self) -> bool {
        self.counted.is_empty()
    }

    /// As [`Losses::report`], of one of several files.
    pub fn report_in(&self, trace: &mut Trace, file: &str) {
        for &Counted { kind, count, line, .. } in &self.counted {
            trace.count_loss(kind, count, &format!("{file}, first on line {line}"));
        }
    }

    /// Notes everything in the trace.
    pub fn report(&self, trace: &mut Trace) {
        for &Counted { kind, file, count, line } in &self.counted {
            let line = format!("first on line {line}");
            let place = file.and_then(|file| self.files.get(file)).map(|file| format!("{file}, {line}"));
            trace.count_loss(kind, count, &place.unwrap_or(line));
        }
    }
}

/// The byte between cells. The tools write commas; spreadsheets of some languages save others in their stead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Comma,
    Semicolon,
    Tab,
}

impl Separator {
    /// The separator of a table by its first line. The tools themselves write tabs behind times, so only a line
    /// without commas has another.
    fn of(text: &[u8]) -> Self {
        /// No line of headings is longer.
        const LONGEST: usize = 1 << 16;
        let line = text[..text.len().min(LONGEST)].split(|byte| matches!(byte, b'\n' | b'\r')).next();
        let line = line.unwrap_or_default();
        match [b',', b';', b'\t'].map(|byte| line.contains(&byte)) {
            [true, ..] | [_, false, false] => Self::Comma,
            [_, true, _] => Self::Semicolon,
            [.., true] => Self::Tab,
        }
    }

    fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
        }
    }
}

/// Reads the names of the columns, if there is a first line.
pub(in crate::read) fn read_header(text: &[u8]) -> Option<Header> {
    let mut record = ByteRecord::new();
    let found = reader(without_mark(text)).read_byte_record(&mut record).ok()?;
    found.then(|| Header::new(&record))
}

/// Hands every row below the header to `row`. A row with fewer cells than there are columns was cut
/// off and is counted instead: its last cell may be a part of what it should be. Ends early where `stop` is wanted.
pub(in crate::read) fn read_rows(
    text: &[u8],
    header: &Header,
    stop: &Stop,
    losses: &mut Losses,
    mut row: impl FnMut(&Row<'_>, &mut Losses),
) {
    let text = without_mark(text);
    let separator = Separator::of(text);
    let mut reader = reader(text);
    let mut record = ByteRecord::new();
    let mut is_header = true;
    let mut last_whole = None;
    let mut turns = stop.within(0u64..);
    // Bytes in memory can't fail to be read, and rows of any length are taken.
    while turns.next().is_some() && reader.read_byte_record(&mut record).unwrap_or(false) {
        if std::mem::take(&mut is_header) {
            // Where it has no end, columns may lack, and all rows do.
            last_whole = Some(1);
            continue;
        }
        let line = record.position().map_or(0, |position| first_line(text, position));
        last_whole = (record.len() >= header.len()).then_some(line);
        if record.len() < header.len() {
            losses.count(LossKind::ShortRow, line);
        } else {
            row(&Row { record: &record, separator, line }, losses);
        }
    }
    // All tools that write these tables end every line.
    if let Some(line) = last_whole.filter(|_| !text.ends_with(b"\n")) {
        losses.count(LossKind::OpenLastLine, line);
    }
}

/// The line that a record begins on. The reader leaves the second half of a line's end, where it
/// has two, to the record behind it.
fn first_line(text: &[u8], position: &csv::Position) -> u64 {
    let at = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = text.get(at..).unwrap_or_default();
    position.line() + u64::from(at > 0 && rest.starts_with(b"\n"))
}

fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

fn reader(text: &[u8]) -> csv::Reader<&[u8]> {
    let separator = Separator::of(text).byte();
    ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(text)
}

/// The time to take off a table's times: the first of them, where they are counted since 1970.
pub(in crate::read) fn zero_of(first: Nanoseconds) -> Nanoseconds {
    if first.0 >= WALL_CLOCK { first } else { Nanoseconds::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_lose_their_padding_and_quotes() {
        let text = b"\xef\xbb\xbfName , Start Time(us)\t,Shapes\r\nconv,1736412474730135.222\t,\"\"\"1,3\"\"\"\r\n\"a,\nb\",N/A,x\r\ncut,1\n";
        let header = read_header(text).unwrap();
        let [name, start, shapes] = ["name", "START TIME(US)", "Shapes"].map(|name| header.find(&[name]));
        let mut rows = Vec::new();
        let mut losses = Losses::default();
        read_rows(text, &header, &Stop::default(), &mut losses, |row, _| {
            rows.push((row.text(name), row.micros(start), row.text(shapes), row.line));
        });
        let time = Some(Nanoseconds(1_736_412_474_730_135_222));
        assert_eq!(
            rows,
            [
                ("conv".to_owned(), time, "\"1,3\"".to_owned(), 2),
                ("a,\nb".to_owned(), None, "x".to_owned(), 3)
            ]
        );
        assert_eq!(losses.counted, [Counted { kind: LossKind::ShortRow, file: None, count: 1, line: 5 }]);
        assert!(!header.has(&["Duration(us)"]));
    }

    #[test]
    fn a_header_without_an_end_is_told_and_one_without_rows_is_an_empty_table() {
        let losses = |text: &[u8]| {
            let (header, mut losses) = (read_header(text).unwrap(), Losses::default());
            read_rows(text, &header, &Stop::default(), &mut losses, |_, _| {});
            losses.counted
        };
        assert!(losses(b"Name,Start Time(us)\n").is_empty());
        let open = Counted { kind: LossKind::OpenLastLine, file: None, count: 1, line: 1 };
        assert_eq!(losses(b"Name,Start Ti"), [open]);
    }

    #[test]
    fn cells_between_semicolons_or_tabs_are_read_with_decimal_commas_and_points() {
        for text in [
            &b"\xef\xbb\xbfName;Start Time(us);Ratio\r\nconv,1;1736412474730135,222\t;0,5\r\n"[..],
            b"Name\tStart Time(us)\tRatio\nconv,1\t1736412474730135.222\t0.5\n",
        ] {
            let header = read_header(text).unwrap();
            let [name, start, ratio] = ["Name", "Start Time(us)", "Ratio"].map(|name| header.find(&[name]));
            let mut rows = Vec::new();
            read_rows(text, &header, &Stop::default(), &mut Losses::default(), |row, _| {
                rows.push((row.text(name), row.micros(start), row.float(ratio)));
            });
            let time = Some(Nanoseconds(1_736_412_474_730_135_222));
            assert_eq!(rows, [("conv,1".to_owned(), time, Some(0.5))]);
        }
        // Shapes in a table of commas keep theirs.
        let header = read_header(b"Name,Input Shapes\n").unwrap();
        assert_eq!(header.len(), 2);
    }
}
