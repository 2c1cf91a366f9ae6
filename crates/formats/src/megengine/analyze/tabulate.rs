//! Plain-text tables in the layout of Python's `tabulate`: its styles `simple` and `orgtbl`.
//!
//! A column whose cells all read as numbers is aligned on the decimal point, even when the cells
//! are text; other columns stand at the left. Widths count characters, not what they take on a
//! screen.

use std::io::{self, Write};

use super::numbers::{general, is_space, parse_float, parse_int, shortest};

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A floating-point number.
    Number(f64),
    /// Anything else, as it is written.
    Text(String),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

/// Writes a table without headers between two dashed lines; no blanks end a line.
pub fn write_simple(out: &mut dyn Write, rows: Vec<Vec<Cell>>) -> io::Result<()> {
    let breaks = breaks(&rows);
    let columns = columns(&[], rows);
    let rule = columns.iter().map(|column| "-".repeat(column.width)).collect::<Vec<_>>().join("  ");
    writeln!(out, "{rule}")?;
    each_line(&columns, breaks, |cells| writeln!(out, "{}", cells.join("  ").trim_end_matches(is_space)))?;
    writeln!(out, "{rule}")
}

/// Writes a table with pipes between its columns, as wikis read it.
pub fn write_piped(out: &mut dyn Write, headers: &[&str], rows: Vec<Vec<Cell>>) -> io::Result<()> {
    let breaks = breaks(&rows);
    let columns = columns(headers, rows);
    let headers: Vec<String> = columns.iter().map(|column| column.pad(column.header)).collect();
    writeln!(out, "| {} |", headers.join(" | "))?;
    let rules: Vec<String> = columns.iter().map(|column| "-".repeat(column.width + 2)).collect();
    writeln!(out, "|{}|", rules.join("|"))?;
    each_line(&columns, breaks, |cells| writeln!(out, "| {} |", cells.join(" | ")))
}

/// A column whose cells are written out.
struct Column<'a> {
    header: &'a str,
    cells: Vec<String>,
    /// Whether the cells are numbers, which stand at the right.
    numeric: bool,
    width: usize,
}

impl Column<'_> {
    fn pad(&self, text: &str) -> String {
        let fill = " ".repeat(self.width.saturating_sub(text.chars().count()));
        if self.numeric { fill + text } else { text.to_owned() + &fill }
    }
}

/// The kind of values in a column; a later kind takes in the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Whole,
    Number,
    Text,
}

impl Kind {
    fn of(cell: &Cell) -> Self {
        match cell {
            Cell::Number(_) => Self::Number,
            Cell::Text(text) if parse_int(text).is_some() => Self::Whole,
            Cell::Text(text) if is_number(text) => Self::Number,
            Cell::Text(_) => Self::Text,
        }
    }
}

/// Whether a text reads as a number; of those that aren't finite only the short words do.
fn is_number(text: &str) -> bool {
    let short = || ["inf", "-inf", "nan"].contains(&text.to_lowercase().as_str());
    parse_float(text).is_some_and(|value| value.is_finite() || short())
}

fn columns<'a>(headers: &[&'a str], rows: Vec<Vec<Cell>>) -> Vec<Column<'a>> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(headers.len());
    let mut cells: Vec<Vec<Cell>> = (0..count).map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        for (column, cell) in cells.iter_mut().zip(row) {
            column.push(cell);
        }
    }
    let headers = headers.iter().map(Some).chain(std::iter::repeat(None));
    let columns = cells.into_iter().zip(headers);
    columns.map(|(cells, header)| column(header.copied(), cells)).collect()
}

fn column(header: Option<&str>, cells: Vec<Cell>) -> Column<'_> {
    let kind = cells.iter().map(Kind::of).max().unwrap_or(Kind::Text);
    let mut cells: Vec<String> = cells.into_iter().map(|cell| written(cell, kind)).collect();
    if kind != Kind::Text {
        align_points(&mut cells);
    }
    let widest_line = |cell: &String| cell.split(['\n', '\r']).map(|line| line.chars().count()).max();
    let least = header.map_or(0, |header| header.chars().count() + 2);
    let width = cells.iter().filter_map(widest_line).max().unwrap_or(0).max(least);
    Column { header: header.unwrap_or_default(), cells, numeric: kind != Kind::Text, width }
}

fn written(cell: Cell, kind: Kind) -> String {
    match (cell, kind) {
        (Cell::Number(value), Kind::Text) => shortest(value),
        (Cell::Number(value), _) => general(value, 6),
        (Cell::Text(text), Kind::Number) => parse_float(&text).map_or(text, |value| general(value, 6)),
        (Cell::Text(text), Kind::Whole) => text,
        (Cell::Text(text), Kind::Text) => text.trim_matches(is_space).to_owned(),
    }
}

/// Fills numbers with blanks at the right until their decimal points stand below one another.
fn align_points(cells: &mut [String]) {
    let behind_point = |cell: &String| {
        let cell = cell.trim_end_matches(is_space);
        // A number without a point may have an exponent, whose sign and digits count instead.
        let point = cell.rfind('.').or_else(|| cell.rfind(['e', 'E']).filter(|_| parse_int(cell).is_none()));
        point.map_or(0, |point| cell.len() - point)
    };
    let most = cells.iter().map(behind_point).max().unwrap_or(0);
    for cell in cells {
        let missing = most - behind_point(cell);
        cell.push_str(&" ".repeat(missing));
    }
}

/// Whether any cell holds a line break, which makes every cell of the table one of lines.
fn breaks(rows: &[Vec<Cell>]) -> bool {
    rows.iter().flatten().any(|cell| matches!(cell, Cell::Text(text) if text.contains(['\n', '\r'])))
}

/// Hands each line of the table to `write`, with its cells padded.
fn each_line(
    columns: &[Column],
    breaks: bool,
    mut write: impl FnMut(&[String]) -> io::Result<()>,
) -> io::Result<()> {
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        let lines = |column: &Column| match breaks {
            true => lines(&column.cells[row]),
            false => vec![column.cells[row].clone()],
        };
        let cells: Vec<Vec<String>> = columns.iter().map(lines).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let padded = columns.iter().zip(&cells);
            let padded = padded.map(|(column, lines)| column.pad(lines.get(line).map_or("", String::as_str)));
            write(&padded.collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

/// The lines of a text as Python's `splitlines` counts them.
fn lines(text: &str) -> Vec<String> {
    let plain = text.replace("\r\n", "\n");
    let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    plain.split_terminator(ends).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple(rows: Vec<Vec<Cell>>) -> String {
        let mut out = Vec::new();
        write_simple(&mut out, rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn piped(headers: &[&str], rows: Vec<Vec<Cell>>) -> String {
        let mut out = Vec::new();
        write_piped(&mut out, headers, rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_stand_on_their_points_and_mixed_columns_at_the_left() {
        let rows = vec![vec!["a".into(), 1e16.into()], vec!["b".into(), 0.000148.into()]];
        assert_eq!(simple(rows), "-  --------\na  1e+16\nb  0.000148\n-  --------\n");
        let rows = vec![vec!["a".into(), "N/A".into()], vec!["b".into(), 0.5.into()]];
        assert_eq!(simple(rows), "-  ---\na  N/A\nb  0.5\n-  ---\n");
    }

    #[test]
    fn text_that_reads_as_numbers_is_rounded_to_six_digits() {
        let rows = ["1522758.3", "236.0", "0.5"].map(|text| vec![text.into()]).to_vec();
        assert_eq!(
            piped(&["x"], rows),
            "|             x |\n|---------------|\n|   1.52276e+06 |\n| 236           |\n|   0.5         |\n"
        );
    }

    #[test]
    fn no_row_leaves_the_headers_at_the_left() {
        assert_eq!(piped(&["#", "time"], Vec::new()), "| #   | time   |\n|-----|--------|\n");
    }

    #[test]
    fn a_cell_of_two_lines_makes_two_lines_of_its_row() {
        let rows = vec![vec!["0".into(), "line1\nline2".into(), "".into()]];
        let expected = "|   # | name   | x   |\n|-----|--------|-----|\n|   0 | line1  |     |\n|     | line2  |     |\n";
        assert_eq!(piped(&["#", "name", "x"], rows), expected);
    }
}
