//! Tables of rows and cells, and how they become CSV or JSON files.

use std::io::Write;
use std::path::{Path, PathBuf};

use opscope_files::Batch;
use opscope_formats::spreadsheet;

use crate::error::Result;
use crate::options::SheetFormat;
use crate::parallel;
use crate::text::digits::Whole;
use crate::text::file::not_written;
use crate::text::numbers;
use crate::text::quoting::{push_csv, push_json};

/// A table that writes itself row by row.
pub(crate) struct Sheet<'a> {
    /// The first part of the file's name.
    pub(crate) kind: &'static str,
    /// The columns; the first is the device.
    pub(crate) headers: Vec<String>,
    /// How many rows there are.
    pub(crate) rows: usize,
    /// Writes the cells of a row.
    pub(crate) write: WriteRow<'a>,
}

/// Cells next to each other, not the first ones, that many rows have alike.
pub(crate) struct SharedCells {
    /// As a CSV file has them, each behind a comma.
    text: Vec<u8>,
    count: usize,
}

impl SharedCells {
    /// The cells that `write` writes.
    pub(crate) fn new(write: impl FnOnce(&mut Row<'_>)) -> Self {
        let mut text = Vec::new();
        let mut row = Row { out: &mut text, format: SheetFormat::Csv, headers: &[], column: 1 };
        write(&mut row);
        let count = row.column - 1;
        Self { text, count }
    }

    /// The text of each cell, if no text among them has a comma.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        self.text.split(|byte| *byte == b',').skip(1)
    }
}

/// Writes the cells of the row with a number.
pub(crate) type WriteRow<'a> = Box<dyn Fn(usize, &mut Row<'_>) + Send + Sync + 'a>;

/// A CSV file has no more rows than this; further ones go to further files.
const ROWS_PER_FILE: usize = 1_000_000;

/// How many rows are put into text in one go.
const ROWS_PER_CHUNK: usize = 512;

/// Writes the cells of one row, from the first column to the last.
pub(crate) struct Row<'a> {
    out: &'a mut Vec<u8>,
    format: SheetFormat,
    headers: &'a [String],
    column: usize,
}

impl Row<'_> {
    /// Cells that were put into text before; `write` writes the same, for formats in which they look
    /// otherwise.
    pub(crate) fn shared(&mut self, cells: &SharedCells, write: impl FnOnce(&mut Self)) {
        match self.format {
            SheetFormat::Csv => {
                self.out.extend_from_slice(&cells.text);
                self.column += cells.count;
            }
            SheetFormat::MarkedCsv | SheetFormat::Json => write(self),
        }
    }

    /// Begins a cell; false if the format leaves it out.
    #[inline(always)]
    fn begin(&mut self) -> bool {
        let column = self.column;
        self.column += 1;
        match self.format {
            SheetFormat::Csv | SheetFormat::MarkedCsv => {
                if column > 0 {
                    self.out.push(b',');
                }
                true
            }
            SheetFormat::Json => self.begin_json(column),
        }
    }

    #[inline(never)]
    fn begin_json(&mut self, column: usize) -> bool {
        if column == 0 {
            return false;
        }
        self.out.extend_from_slice(if column > 1 { b", " } else { b"" });
        push_json(self.out, self.headers.get(column).map_or("", String::as_str));
        self.out.extend_from_slice(b": ");
        true
    }

    /// A cell with text.
    pub(crate) fn text(&mut self, text: &str) {
        if !self.begin() {
            return;
        }
        match self.format {
            SheetFormat::Csv => push_csv(self.out, text),
            SheetFormat::MarkedCsv => push_csv(self.out, &spreadsheet::mark(text)),
            SheetFormat::Json => push_json(self.out, text),
        }
    }

    /// A cell with a word of the tables' own or a number as a text, of letters that no format quotes.
    #[inline(always)]
    pub(crate) fn word(&mut self, word: &str) {
        debug_assert!(
            word.bytes().all(|byte| byte.is_ascii_graphic() && !b",\"\\".contains(&byte)),
            "{word}"
        );
        if !self.begin() {
            return;
        }
        match self.format {
            SheetFormat::Csv | SheetFormat::MarkedCsv => self.out.extend_from_slice(word.as_bytes()),
            SheetFormat::Json => push_json(self.out, word),
        }
    }

    /// A cell with text that a program chose, which every CSV file keeps from being computed.
    pub(crate) fn foreign_text(&mut self, text: &str) {
        if !self.begin() {
            return;
        }
        match self.format {
            SheetFormat::Csv | SheetFormat::MarkedCsv => push_csv(self.out, &spreadsheet::mark_text(text)),
            SheetFormat::Json => push_json(self.out, text),
        }
    }

    /// A cell with a number, which `push` writes.
    #[inline(always)]
    pub(crate) fn number(&mut self, push: impl FnOnce(&mut Vec<u8>)) {
        if self.begin() {
            push(self.out);
        }
    }

    /// A cell with an integer.
    pub(crate) fn integer(&mut self, value: impl Whole) {
        self.number(|out| numbers::push_integer(out, value));
    }

    /// A cell with an integer that JSON files have as text.
    pub(crate) fn count(&mut self, value: u64) {
        match self.format {
            SheetFormat::Csv | SheetFormat::MarkedCsv => self.integer(value),
            SheetFormat::Json => self.number(|out| {
                out.push(b'"');
                numbers::push_integer(out, value);
                out.push(b'"');
            }),
        }
    }

    /// A cell with a number as Python prints it.
    pub(crate) fn float(&mut self, value: f64) {
        self.number(|out| numbers::push_float(out, value));
    }

    /// A cell with a wall-clock time of nanoseconds as microseconds. A tab at the end keeps
    /// spreadsheets from rounding it.
    pub(crate) fn time(&mut self, nanoseconds: i64) {
        if !self.begin() {
            return;
        }
        match self.format {
            SheetFormat::Csv | SheetFormat::MarkedCsv => {
                numbers::push_micros(self.out, nanoseconds);
                self.out.push(b'\t');
            }
            SheetFormat::Json => {
                self.out.push(b'"');
                numbers::push_micros(self.out, nanoseconds);
                self.out.extend_from_slice(b"\\t\"");
            }
        }
    }

    /// A cell without a value.
    pub(crate) fn missing(&mut self) {
        self.word("N/A");
    }

    /// Cells without a value up to the last column.
    pub(crate) fn fill(&mut self) {
        (self.column..self.headers.len()).for_each(|_| self.missing());
    }
}

impl Sheet<'_> {
    /// Writes the table below `directory` as `<kind>_<suffix>.csv` or `.json`, several files if it
    /// is long. Returns the files, which are there when the batch is finished.
    pub(crate) fn save(
        &self,
        batch: &mut Batch,
        directory: &Path,
        suffix: &str,
        format: SheetFormat,
    ) -> Result<Vec<PathBuf>> {
        let files = if format == SheetFormat::Json { 1 } else { self.rows.div_ceil(ROWS_PER_FILE).max(1) };
        let mut paths = Vec::with_capacity(files);
        for file in 0..files {
            let slice = if files > 1 { format!("slice_{file}_") } else { String::new() };
            let name = format!("{}_{slice}{suffix}.{}", self.kind, format.extension());
            let rows = match files {
                1 => 0..self.rows,
                _ => file * ROWS_PER_FILE..((file + 1) * ROWS_PER_FILE).min(self.rows),
            };
            let path = directory.join(name);
            batch.write(&path, |out| self.write_rows(rows, format, out)).map_err(not_written)?;
            paths.push(path);
        }
        Ok(paths)
    }

    fn write_rows(
        &self,
        rows: std::ops::Range<usize>,
        format: SheetFormat,
        out: &mut (impl Write + Send),
    ) -> std::io::Result<()> {
        if format != SheetFormat::Json {
            out.write_all(self.headers.join(",").as_bytes())?;
            out.write_all(b"\n")?;
        } else {
            out.write_all(b"[")?;
        }
        let chunk = |number: usize, text: &mut Vec<u8>| {
            let start = rows.start + number * ROWS_PER_CHUNK;
            for index in start..(start + ROWS_PER_CHUNK).min(rows.end) {
                self.write_row(index, index == rows.start, format, text);
            }
        };
        parallel::texts(rows.len().div_ceil(ROWS_PER_CHUNK), chunk, |text| out.write_all(text))?;
        if format == SheetFormat::Json {
            out.write_all(b"]")?;
        }
        Ok(())
    }

    fn write_row(&self, index: usize, is_first: bool, format: SheetFormat, out: &mut Vec<u8>) {
        if format == SheetFormat::Json {
            out.extend_from_slice(if is_first { b"{" } else { b", {" });
        }
        let mut row = Row { out, format, headers: &self.headers, column: 0 };
        (self.write)(index, &mut row);
        debug_assert_eq!(
            row.column,
            self.headers.len(),
            "{}: a row has as many cells as there are columns",
            self.kind
        );
        out.extend_from_slice(if format == SheetFormat::Json { b"}" } else { b"\n" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet<'a>(rows: usize) -> Sheet<'a> {
        Sheet {
            kind: "things",
            headers: ["Device_id", "Name", "Count"].map(str::to_owned).to_vec(),
            rows,
            write: Box::new(|index, row| {
                row.integer(0);
                row.text(if index == 0 { "a,\"b\"" } else { "plain" });
                row.count(index as u64);
            }),
        }
    }

    fn saved(sheet: &Sheet<'_>, directory: &tempfile::TempDir, format: SheetFormat) -> Vec<PathBuf> {
        let mut batch = Batch::default();
        let paths = sheet.save(&mut batch, directory.path(), "1", format).expect("space on disk");
        batch.finish().expect("space on disk");
        paths
    }

    #[test]
    fn cells_are_quoted_only_where_they_must_be() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let paths = saved(&sheet(2), &directory, SheetFormat::Csv);
        let text = std::fs::read_to_string(&paths[0]).expect("the file");
        assert_eq!(text, "Device_id,Name,Count\n0,\"a,\"\"b\"\"\",0\n0,plain,1\n");
    }

    #[test]
    fn what_spreadsheets_would_compute_is_marked_as_text_in_their_files_only() {
        let texts = ["=1+1", "+1", "-1", "@x", "a=b", ""];
        let sheet = Sheet {
            kind: "x",
            headers: ["Device_id", "Text"].map(str::to_owned).to_vec(),
            rows: texts.len(),
            write: Box::new(move |index, row| {
                row.integer(0);
                row.foreign_text(texts[index]);
            }),
        };
        let directory = tempfile::tempdir().expect("a temporary directory");
        let read = |format| {
            let paths = saved(&sheet, &directory, format);
            std::fs::read_to_string(&paths[0]).expect("the file")
        };
        assert_eq!(read(SheetFormat::Csv), "Device_id,Text\n0,'=1+1\n0,'+1\n0,'-1\n0,'@x\n0,a=b\n0,\n");
        assert_eq!(read(SheetFormat::MarkedCsv), read(SheetFormat::Csv));
        assert!(read(SheetFormat::Json).contains("{\"Text\": \"=1+1\"}"));
    }

    #[test]
    fn json_leaves_out_the_device_and_has_counts_as_text() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let paths = saved(&sheet(2), &directory, SheetFormat::Json);
        let text = std::fs::read_to_string(&paths[0]).expect("the file");
        assert_eq!(
            text,
            "[{\"Name\": \"a,\\\"b\\\"\", \"Count\": \"0\"}, {\"Name\": \"plain\", \"Count\": \"1\"}]"
        );
    }

    #[test]
    fn long_tables_go_to_several_files() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let paths = saved(&sheet(ROWS_PER_FILE + 1), &directory, SheetFormat::Csv);
        assert_eq!(paths.len(), 2);
        let second = std::fs::read_to_string(&paths[1]).expect("the file");
        assert_eq!(second, format!("Device_id,Name,Count\n0,plain,{ROWS_PER_FILE}\n"));
    }
}
