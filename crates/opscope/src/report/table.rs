//! Rows and columns for a person or a program: a table on a terminal, Markdown, CSV, or objects in JSON.
//!
//! Cells may hold whatever stands in a file. Each form makes that harmless by itself: lines for people
//! spell out what would act on a terminal and shorten what is too long, Markdown shows markup as text, and
//! CSV keeps spreadsheets from computing it. JSON has it as it is.

use std::borrow::Cow;

use opscope_analyze::Cell;
use opscope_formats::spreadsheet::mark;
use opscope_say::word;
use opscope_trace::units;
use serde_json::Value;

pub use super::layout::TableColumn;
use super::layout::lay_out;
use super::markdown;
use crate::terminal::{printable, shortened};

/// Rows of cells under columns.
#[derive(Debug, Default)]
pub struct Table {
    columns: Vec<TableColumn>,
    /// As many cells in each as there are columns.
    rows: Vec<Vec<TableCell>>,
}

/// The content of a cell.
#[derive(Clone, Debug)]
pub struct TableCell {
    /// For people.
    pub text: String,
    /// For programs; `None` where the text is for them, too.
    pub value: Option<Value>,
}

impl TableCell {
    /// A cell for people and programs.
    pub fn new(text: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { text: text.into(), value: Some(value.into()) }
    }

    /// A cell without anything in it.
    pub fn missing() -> Self {
        Self::new(UNKNOWN, Value::Null)
    }

    fn value(&self) -> Value {
        self.value.clone().unwrap_or_else(|| self.text.as_str().into())
    }
}

/// The text of a cell of which nothing is known.
pub const UNKNOWN: &str = "–";

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self { text, value: None }
    }
}

impl From<Cow<'_, str>> for TableCell {
    fn from(text: Cow<'_, str>) -> Self {
        text.into_owned().into()
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Cell> for TableCell {
    fn from(cell: Cell) -> Self {
        /// The most letters of a list, such as forty shapes, in one cell.
        const LONGEST: usize = 100;
        match cell {
            Cell::Missing => Self::missing(),
            Cell::Text(text) => Self::new(shortened(&text, LONGEST).into_owned(), text),
            Cell::Count(count) => Self::new(count.to_string(), count),
            Cell::Time(time) => Self::new(units::duration(time), time.0),
            Cell::Share(share) => Self::new(units::percent(share), share),
            Cell::Flops(flops) => Self::new(units::flops(flops as f64), flops),
            Cell::FlopRate(rate) => Self::new(units::flop_rate(rate), rate),
            Cell::Bytes(bytes) => Self::new(units::bytes(bytes as f64), bytes),
            Cell::ByteRate(rate) => Self::new(units::byte_rate(rate), rate),
            Cell::Number(number) => Self::new(format!("{number:.2}"), number),
        }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = TableColumn>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row of as many cells as there are columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<TableCell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Lines for a terminal of the given width; without one, the table gets all the room that it takes.
    pub fn to_text(&self, width: Option<u16>) -> String {
        /// The most letters in a cell: the time that laying out takes grows with their square.
        const LONGEST: usize = 400;
        let shown = |text: &str| printable(&shortened(text, LONGEST)).into_owned();
        let headings: Vec<String> = self.columns.iter().map(|column| shown(word(&column.heading))).collect();
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| shown(&cell.text)).collect()).collect();
        lay_out(&self.columns, &headings, &rows, width)
    }

    /// A table in Markdown.
    pub fn to_markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = Cow<'_, str>>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let mut text = line(&mut self.columns.iter().map(|column| markdown::text(word(&column.heading))));
        let rule = |column: &TableColumn| Cow::Borrowed(if column.is_text { "---" } else { "---:" });
        text.push_str(&line(&mut self.columns.iter().map(rule)));
        for row in &self.rows {
            text.push_str(&line(&mut row.iter().map(|cell| markdown::text(&cell.text))));
        }
        text
    }

    /// Comma-separated values.
    ///
    /// # Errors
    /// Never in practice: memory takes everything.
    pub fn to_csv(&self) -> anyhow::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|column| mark(&column.key).into_owned()))?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|cell| match cell.value() {
                Value::Null => String::new(),
                Value::String(text) => mark(&text).into_owned(),
                value => value.to_string(),
            }))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }

    /// Objects, one a row.
    pub fn to_json(&self) -> Value {
        let object = |row: &Vec<TableCell>| {
            let members = self.columns.iter().zip(row);
            members.map(|(column, cell)| (column.key.to_string(), cell.value())).collect()
        };
        Value::Array(self.rows.iter().map(|row| Value::Object(object(row))).collect())
    }
}

/// The widest column that text is lined up in: what is longer stands by itself, however long a file says it
/// is.
const WIDEST: usize = 200;

/// A text with blanks behind it, up to the width of its column.
pub fn padded(text: &str, width: usize) -> String {
    opscope_say::padded(text, width.min(WIDEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column =
            |column: TableColumn| TableColumn { key: format!("{}_key", column.heading).into(), ..column };
        let mut table = Table::new([TableColumn::number("time"), TableColumn::text("name")].map(column));
        let name = |name: &str| TableCell::new(name, name);
        table.row([TableCell::new("1.5 ms", 1_500_000), name("a|b\u{1b}[31m")]);
        table.row([TableCell::missing(), name("x, \"y\"")]);
        table
    }

    #[test]
    fn every_form_shows_the_same_cells() {
        let table = table();
        assert_eq!(table.to_csv().unwrap(), "time_key,name_key\n1500000,a|b\u{1b}[31m\n,\"x, \"\"y\"\"\"\n");
        let markdown = "| time | name |\n| ---: | --- |\n| 1.5 ms | a\\|b\\\\u{1b}[31m |\n| – | x, \"y\" |\n";
        assert_eq!(table.to_markdown(), markdown);
        let json = table.to_json();
        assert_eq!((&json[0]["time_key"], &json[1]["time_key"]), (&1_500_000.into(), &Value::Null));
        let text = table.to_text(None);
        assert!(text.contains("1.5 ms  a|b\\u{1b}[31m"), "{text}");
    }

    #[test]
    fn spreadsheets_compute_nothing_that_a_file_says() {
        let mut table = Table::new([TableColumn::text("=name"), TableColumn::number("change")]);
        for formula in ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1"] {
            table.row([TableCell::from(formula), TableCell::new("-5 %", -5)]);
        }
        let csv = table.to_csv().unwrap();
        assert_eq!(csv, "'=name,change\n'=1+1,-5\n'+cmd,-5\n'-2+3,-5\n'@SUM(A1),-5\n'\t=1,-5\n");
    }

    #[test]
    fn a_cell_of_a_million_letters_shows_its_ends() {
        let name = format!("begin{}end", "卷".repeat(1_000_000));
        let mut table = Table::new([TableColumn::text("name")]);
        table.row([name.as_str()]);
        for width in [None, Some(80)] {
            let text = table.to_text(width);
            assert!(text.len() < 4_000 && text.contains("begin卷") && text.contains("卷end"), "{text}");
        }
        assert_eq!(table.to_json()[0]["name"], name);
    }

    fn laid_out(width: Option<u16>) -> String {
        let columns = [
            TableColumn::number("time"),
            TableColumn::text("operator"),
            TableColumn::number("rate").expendable(),
        ];
        let mut table = Table::new(columns);
        table.row(["1.5 ms", "/backbone/conv1/Conv", "12 GFLOP/s"]);
        table.to_text(width)
    }

    #[test]
    fn a_table_takes_the_room_that_it_needs_where_nobody_watches() {
        let text = laid_out(None);
        assert!(text.contains("1.5 ms  /backbone/conv1/Conv  12 GFLOP/s"), "{text}");
    }

    #[test]
    fn columns_that_can_be_spared_make_room_for_whole_names() {
        let text = laid_out(Some(32));
        assert!(text.contains("1.5 ms  /backbone/conv1/Conv"), "{text}");
        assert!(!text.contains("rate"), "{text}");
    }
}
