//! Columns of any origin, side by side, and how they are printed.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Deref;
use std::sync::Arc;

use opscope_trace::{Nanoseconds, StringId, StringTable, Trace};

/// Plain values: a table's own, or a column of a trace, which stays where it is.
pub enum Column<T: 'static> {
    Own(Vec<T>),
    OfTrace(Arc<Trace>, fn(&Trace) -> &[T]),
}

impl<T> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Own(values) => values,
            Self::OfTrace(trace, column) => column(trace),
        }
    }
}

/// A bit for each row, the first in the lowest bit of the first byte.
#[derive(Default)]
pub struct Bits {
    pub bytes: Vec<u8>,
    /// How many rows have a 0.
    pub zeros: usize,
}

impl Bits {
    fn of(bits: impl ExactSizeIterator<Item = bool>) -> Self {
        let mut made = Self { bytes: vec![0; bits.len().div_ceil(8)], zeros: 0 };
        for (row, bit) in bits.enumerate() {
            made.bytes[row / 8] |= u8::from(bit) << (row % 8);
            made.zeros += usize::from(!bit);
        }
        made
    }

    fn get(&self, row: usize) -> bool {
        self.bytes[row / 8] >> (row % 8) & 1 == 1
    }
}

/// Texts, each piece once, and which of them a row has.
pub struct Words {
    /// A piece's position for each row; 0 where the row has none.
    pub indices: Vec<i32>,
    /// Where each piece ends in the text; the first entry is a 0.
    pub ends: Vec<i64>,
    pub text: String,
}

impl Default for Words {
    fn default() -> Self {
        Self { indices: Vec::new(), ends: vec![0], text: String::new() }
    }
}

impl Words {
    fn piece(&mut self, piece: &str) -> i32 {
        self.text.push_str(piece);
        self.ends.push(self.text.len() as i64);
        // Pieces are named by rows, of which a trace has fewer.
        (self.ends.len() - 2) as i32
    }

    fn get(&self, row: usize) -> &str {
        let piece = self.indices[row] as usize;
        &self.text[self.ends[piece] as usize..self.ends[piece + 1] as usize]
    }
}

/// The values of a column, by their type.
pub enum Values {
    Times(Column<Nanoseconds>),
    Integers(Column<i64>),
    Counts(Column<u64>),
    Numbers(Column<u32>),
    Doubles(Column<f64>),
    Truths(Bits),
    Words(Words),
}

/// A named column.
pub struct Series {
    pub name: String,
    pub values: Values,
    /// Which rows have a value; `None` where all have one.
    pub known: Option<Bits>,
}

impl Series {
    pub fn new(name: &str, values: Values) -> Self {
        Self { name: name.to_owned(), values, known: None }
    }

    /// A column in which values may be missing.
    fn partly<T: Default>(name: &str, rows: Vec<Option<T>>, of: fn(Column<T>) -> Values) -> Self {
        let known = Bits::of(rows.iter().map(Option::is_some));
        let values = of(Column::Own(rows.into_iter().map(Option::unwrap_or_default).collect()));
        Self { name: name.to_owned(), values, known: (known.zeros > 0).then_some(known) }
    }

    pub fn times(name: &str, rows: impl Iterator<Item = Option<Nanoseconds>>) -> Self {
        Self::partly(name, rows.collect(), Values::Times)
    }

    pub fn integers(name: &str, rows: impl Iterator<Item = Option<i64>>) -> Self {
        Self::partly(name, rows.collect(), Values::Integers)
    }

    pub fn counts(name: &str, rows: impl Iterator<Item = Option<u64>>) -> Self {
        Self::partly(name, rows.collect(), Values::Counts)
    }

    pub fn numbers(name: &str, rows: impl Iterator<Item = Option<u32>>) -> Self {
        Self::partly(name, rows.collect(), Values::Numbers)
    }

    pub fn doubles(name: &str, rows: impl Iterator<Item = Option<f64>>) -> Self {
        Self::partly(name, rows.collect(), Values::Doubles)
    }

    pub fn truths(name: &str, rows: impl ExactSizeIterator<Item = bool>) -> Self {
        Self::new(name, Values::Truths(Bits::of(rows)))
    }

    /// Texts of a trace; only pieces that rows have become part of the column.
    pub fn strings(name: &str, strings: &StringTable, rows: impl Iterator<Item = Option<StringId>>) -> Self {
        let (mut words, mut pieces) = (Words::default(), vec![None; strings.len()]);
        let mut piece =
            |id: StringId| *pieces[id.index()].get_or_insert_with(|| words.piece(strings.get(id)));
        let rows: Vec<Option<i32>> = rows.map(|row| row.map(&mut piece)).collect();
        Self::of_pieces(name, words, rows)
    }

    /// Any texts.
    pub fn texts<S: AsRef<str>>(name: &str, rows: impl Iterator<Item = Option<S>>) -> Self {
        let (mut words, mut pieces) = (Words::default(), HashMap::<String, i32>::new());
        let mut piece = |text: S| match pieces.get(text.as_ref()) {
            Some(&piece) => piece,
            None => {
                let piece = words.piece(text.as_ref());
                pieces.insert(text.as_ref().to_owned(), piece);
                piece
            }
        };
        let rows: Vec<Option<i32>> = rows.map(|row| row.map(&mut piece)).collect();
        Self::of_pieces(name, words, rows)
    }

    fn of_pieces(name: &str, mut words: Words, rows: Vec<Option<i32>>) -> Self {
        let known = Bits::of(rows.iter().map(Option::is_some));
        words.indices = rows.into_iter().map(Option::unwrap_or_default).collect();
        let known = (known.zeros > 0).then_some(known);
        Self { name: name.to_owned(), values: Values::Words(words), known }
    }

    /// A value for people.
    fn shown(&self, row: usize) -> String {
        if self.known.as_ref().is_some_and(|known| !known.get(row)) {
            return "–".to_owned();
        }
        match &self.values {
            Values::Times(values) => values[row].0.to_string(),
            Values::Integers(values) => values[row].to_string(),
            Values::Counts(values) => values[row].to_string(),
            Values::Numbers(values) => values[row].to_string(),
            Values::Doubles(values) => number(values[row]),
            Values::Truths(bits) => bits.get(row).to_string(),
            Values::Words(words) => short(words.get(row)),
        }
    }

    fn is_text(&self) -> bool {
        matches!(self.values, Values::Words(_))
    }
}

/// The longest text that is printed whole, in characters.
const LONGEST: usize = 48;

/// The most rows that are printed.
const SHOWN: usize = 10;

/// A number with as many digits as tell something.
fn number(value: f64) -> String {
    if value.abs() >= 1e6 {
        return format!("{value:.0}");
    }
    format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn short(text: &str) -> String {
    let safe = |c: char| if c.is_control() { ' ' } else { c };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text[..end].chars().map(safe).chain(['…']).collect(),
        None => text.chars().map(safe).collect(),
    }
}

/// Columns of equal length.
pub struct Columns {
    pub series: Vec<Series>,
    pub rows: usize,
}

/// A table, and how it is called where it is printed.
pub struct Table {
    pub columns: Arc<Columns>,
    name: String,
}

impl Table {
    /// A table of so many rows; all columns have as many.
    pub fn new(name: &str, rows: usize, series: Vec<Series>) -> Self {
        Self { columns: Arc::new(Columns { series, rows }), name: name.to_owned() }
    }

    /// Its first rows, and how many are left out.
    fn head(&self) -> (usize, usize) {
        let shown = self.columns.rows.min(SHOWN);
        (shown, self.columns.rows - shown)
    }

    fn heading(&self) -> String {
        let Columns { series, rows } = &*self.columns;
        format!("{}: {rows} rows, {} columns", self.name, series.len())
    }

    /// The first rows, for a terminal.
    pub fn text(&self) -> String {
        let (shown, left_out) = self.head();
        let mut text = self.heading();
        let cells: Vec<Vec<String>> = (self.columns.series.iter())
            .map(|series| {
                let rows = (0..shown).map(|row| series.shown(row));
                std::iter::once(series.name.clone()).chain(rows).collect()
            })
            .collect();
        let widths: Vec<usize> = cells
            .iter()
            .map(|column| column.iter().map(|cell| cell.chars().count()).max().unwrap_or_default())
            .collect();
        for row in 0..=shown {
            let mut line = String::new();
            for ((column, series), &width) in cells.iter().zip(&self.columns.series).zip(&widths) {
                let cell = &column[row];
                let blanks = " ".repeat(width - cell.chars().count());
                let (before, after) = if series.is_text() { ("", &*blanks) } else { (&*blanks, "") };
                let _ = write!(line, "{before}{cell}{after}  ");
            }
            let _ = write!(text, "\n{}", line.trim_end());
        }
        if left_out > 0 {
            let _ = write!(text, "\n… and {left_out} more");
        }
        text
    }

    /// The first rows, for a notebook.
    pub fn html(&self) -> String {
        let (shown, left_out) = self.head();
        let mut html = String::from("<table><thead><tr>");
        for series in &self.columns.series {
            let _ = write!(html, "<th>{}</th>", escaped(&series.name));
        }
        html.push_str("</tr></thead><tbody>");
        for row in 0..shown {
            html.push_str("<tr>");
            for series in &self.columns.series {
                let side = if series.is_text() { "left" } else { "right" };
                let _ = write!(html, "<td style=\"text-align:{side}\">{}</td>", escaped(&series.shown(row)));
            }
            html.push_str("</tr>");
        }
        let more = if left_out > 0 { format!(", of which {shown} are shown") } else { String::new() };
        let _ = write!(html, "</tbody></table><p>{}{more}</p>", escaped(&self.heading()));
        html
    }
}

/// Text that becomes no HTML, whatever a file had it be.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
