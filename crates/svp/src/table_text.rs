//! Tables as text: CSV, or JSON in the forms that Ascend's tools use, read and written.
//!
//! These tables have a row for each layer or call of one model, so they are small, and kept as text
//! until somebody asks for a column.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use opscope_formats::spreadsheet::{mark, unmark};
use serde_json::{Map, Value};

/// No table of a model is larger; what is, isn't one.
const LARGEST_TABLE: u64 = 256 << 20;

/// A file that is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Too large to be a table of one model.
    #[error("{size} bytes are more than any table of a model has")]
    TooLarge {
        /// The file's size.
        size: u64,
    },
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// JSON that can't be read.
    #[error("not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but no rows.
    #[error("expected a list of objects, one for each row")]
    NoRows,
    /// Needed columns are missing.
    #[error("the column '{column}' is missing; found: {}", found.join(", "))]
    NoColumn {
        /// The column's name.
        column: &'static str,
        /// The columns that are there.
        found: Vec<String>,
    },
}

/// A table as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextTable {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    is_open: bool,
}

/// The position of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column(usize);

impl TextTable {
    pub fn new(columns: impl IntoIterator<Item = &'static str>) -> Self {
        Self { columns: columns.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// The same table with further columns at its end.
    pub fn with_columns(mut self, names: &[String]) -> Self {
        self.columns.extend(names.iter().cloned());
        self
    }

    /// The columns that are none of the known ones, as they are called.
    pub fn others(&self, known: &[&str]) -> (Vec<String>, Vec<Option<Column>>) {
        let known: Vec<usize> = known.iter().filter_map(|name| Some(self.find(name)?.0)).collect();
        let others = (0..self.columns.len()).filter(|index| !known.contains(index));
        others.map(|index| (self.columns[index].clone(), Some(Column(index)))).unzip()
    }

    /// Reads a file, JSON or CSV by its content.
    pub fn read_file(path: &Path) -> Result<Self, TableError> {
        Self::read(&read_small(path)?)
    }

    pub fn read(bytes: &[u8]) -> Result<Self, TableError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match bytes.trim_ascii_start().first() {
            None => Err(TableError::Empty),
            Some(b'[' | b'{') => Self::from_json(&serde_json::from_slice(bytes)?),
            Some(_) => Ok(Self::from_csv(bytes)),
        }
    }

    /// A row that is too short has empty cells at its end; what CSV can't hold ends the table.
    fn from_csv(bytes: &[u8]) -> Self {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let mut lines = reader.byte_records().map_while(Result::ok).map(|record| {
            record.iter().map(|cell| String::from_utf8_lossy(unmark(cell)).into_owned()).collect::<Vec<_>>()
        });
        let columns = lines.next().unwrap_or_default();
        Self { columns, rows: lines.collect(), is_open: !bytes.ends_with(b"\n") }
    }

    /// A list of objects; or an object whose `data` is one, as older tools wrap it.
    fn from_json(json: &Value) -> Result<Self, TableError> {
        let rows = json.as_array().or_else(|| json.get("data")?.as_array()).ok_or(TableError::NoRows)?;
        let mut columns: Vec<String> = Vec::new();
        for row in rows.iter().filter_map(Value::as_object) {
            for name in row.keys().filter(|name| !columns.contains(name)).cloned().collect::<Vec<_>>() {
                columns.push(name);
            }
        }
        let cells = |row: &Map<String, Value>| columns.iter().map(|name| cell_text(row.get(name))).collect();
        let rows: Vec<Vec<String>> = rows.iter().filter_map(Value::as_object).map(cells).collect();
        if columns.is_empty() && !rows.is_empty() {
            Err(TableError::NoRows)
        } else {
            Ok(Self { columns, rows, is_open: false })
        }
    }

    /// The column of a name. Letter case means nothing, nor whether words are joined by a space or
    /// an underscore.
    pub fn find(&self, name: &str) -> Option<Column> {
        let plain = |text: &str| text.trim().replace('_', " ").to_ascii_lowercase();
        let wanted = plain(name);
        self.columns.iter().position(|column| plain(column) == wanted).map(Column)
    }

    pub fn need(&self, column: &'static str) -> Result<Column, TableError> {
        self.find(column).ok_or_else(|| TableError::NoColumn { column, found: self.columns.clone() })
    }

    /// The cells of a column, one for each row.
    pub fn cell(&self, row: usize, column: Option<Column>) -> &str {
        let cell = column.and_then(|Column(index)| self.rows.get(row)?.get(index));
        cell.map_or("", |cell| cell.trim())
    }

    /// How many rows have fewer cells than there are columns.
    pub fn short_rows(&self) -> u64 {
        self.rows.iter().filter(|row| row.len() < self.columns.len()).count() as u64
    }

    /// Whether the last line has no end, so that its last cell may be a part of what it should be.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_cells(out, |cell| cell.into())
    }

    /// The same with marks before cells that a spreadsheet would compute. A dash alone is the tables' word
    /// for no value.
    pub fn write_marked_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_cells(out, |cell| if cell == "-" { cell.into() } else { mark(cell) })
    }

    fn write_cells(&self, out: &mut dyn Write, written: fn(&str) -> Cow<'_, str>) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let mut write = |row: &[String]| {
            row.iter().try_for_each(|cell| writer.write_field(written(cell).as_bytes()))?;
            writer.write_record(None::<&[u8]>)
        };
        write(&self.columns)?;
        self.rows.iter().try_for_each(|row| write(row))?;
        writer.flush()
    }

    /// A list of objects; figures stand as numbers with the digits that the CSV has.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"[")?;
        for (index, row) in self.rows.iter().enumerate() {
            out.write_all(if index == 0 { b"\n{" } else { b",\n{" })?;
            for (place, (name, cell)) in self.columns.iter().zip(row).enumerate() {
                let comma = if place == 0 { "" } else { ", " };
                write!(out, "{comma}{}: {}", Value::from(&**name), json_cell(cell))?;
            }
            out.write_all(b"}")?;
        }
        out.write_all(b"\n]\n")
    }
}

/// Reads a file that is small if it is what it should be.
pub(crate) fn read_small(path: &Path) -> Result<Vec<u8>, TableError> {
    let size = std::fs::metadata(path)?.len();
    if size > LARGEST_TABLE {
        return Err(TableError::TooLarge { size });
    }
    Ok(std::fs::read(path)?)
}

fn cell_text(cell: Option<&Value>) -> String {
    match cell {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A cell as JSON: a number stays one if JSON knows its digits as such.
fn json_cell(cell: &str) -> Value {
    let number = cell.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    match serde_json::from_str(cell) {
        Ok(Value::Number(value)) if number => Value::Number(value),
        _ => Value::from(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(table: &TextTable, column: &str) -> Vec<String> {
        let column = table.find(column);
        (0..table.len()).map(|row| table.cell(row, column).to_owned()).collect()
    }

    #[test]
    fn csv_and_json_of_the_same_rows_read_alike() {
        let csv = b"\xef\xbb\xbfLayer Id, Time(us) ,Layer Name\r\n0,1.5,\"a,b\"\r\n-,N/A\r\n";
        let json = br#"{"status": 0, "data": [{"Layer Id": 0, "Time(us)": 1.5, "Layer Name": "a,b"},
                       {"Layer Id": "-", "Time(us)": "N/A", "Layer Name": null}]}"#;
        for text in [&csv[..], &json[..]] {
            let table = TextTable::read(text).unwrap();
            assert_eq!(cells(&table, "layer_id"), ["0", "-"]);
            assert_eq!(cells(&table, "TIME(US)"), ["1.5", "N/A"]);
            assert_eq!(cells(&table, "Layer Name"), ["a,b", ""]);
        }
    }

    #[test]
    fn what_is_written_reads_back_the_same_in_both_forms() {
        let mut table = TextTable::new(["Name", "Time(us)", "Count"]);
        table.push(vec!["conv \"1\", x".into(), "1001590000000".into(), "3".into()]);
        table.push(vec!["5e".into(), "N/A".into(), "0.25".into()]);
        let (mut csv, mut json) = (Vec::new(), Vec::new());
        table.write_csv(&mut csv).unwrap();
        table.write_json(&mut json).unwrap();
        assert_eq!(TextTable::read(&csv).unwrap(), table);
        let read = TextTable::read(&json).unwrap();
        for column in ["Name", "Time(us)", "Count"] {
            assert_eq!(cells(&read, column), cells(&table, column));
        }
        assert!(String::from_utf8(json).unwrap().contains("\"Time(us)\": 1001590000000"));
    }

    #[test]
    fn what_is_no_table_says_so() {
        let error = |text: &[u8]| TextTable::read(text).unwrap_err().to_string();
        assert_eq!(error(b" \n"), "the file is empty");
        assert!(error(b"[1, 2").starts_with("not valid JSON"));
        assert_eq!(error(b"{\"status\": 1}"), "expected a list of objects, one for each row");
        let table = TextTable::read(b"a,b\n1,2\n").unwrap();
        assert_eq!(
            table.need("Layer Name").unwrap_err().to_string(),
            "the column 'Layer Name' is missing; found: a, b"
        );
    }
}
