//! Tables without lines: a bold heading, columns aligned by what they hold, and as many of them as
//! fit the terminal.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};

use super::harmless::printable;
use super::style::bold;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<'h> {
    heading: &'h str,
    text: bool,
    expendable: bool,
}

impl<'h> Column<'h> {
    /// A column of text: aligned left, and wrapped where there is too little room.
    pub fn text(heading: &'h str) -> Self {
        Self { heading, text: true, expendable: false }
    }

    /// A column of numbers: aligned right, and kept whole.
    pub fn number(heading: &'h str) -> Self {
        Self { heading, text: false, expendable: false }
    }

    /// The same column, to be left out where there is too little room.
    pub fn expendable(self) -> Self {
        Self { expendable: true, ..self }
    }
}

/// A table that is filled row by row.
pub struct Table<'h> {
    columns: Vec<Column<'h>>,
    rows: Vec<Vec<String>>,
    width: Option<usize>,
}

/// The blanks between two columns.
const GAP: usize = 2;

/// The narrowest that a column of text is made.
const NARROWEST: usize = 24;

impl<'h> Table<'h> {
    /// A table for a terminal of the given width; without one, it gets all the room it takes.
    pub fn new(columns: &[Column<'h>], width: Option<u16>) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), width: width.map(usize::from) }
    }

    /// Adds a row of as many cells as there are columns. Cells are single lines of plain text.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell).into_owned()).collect());
    }

    /// The table as lines of text, each with a line end.
    pub fn render(&self) -> String {
        let shown = self.fitting_columns();
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(shown.iter().map(|&index| self.columns[index].heading));
        if let Some(width) = self.width {
            let width = u16::try_from(width).unwrap_or(u16::MAX);
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        for row in &self.rows {
            table.add_row(shown.iter().map(|&index| row[index].as_str()));
        }
        for (column, &index) in table.column_iter_mut().zip(&shown) {
            column.set_padding((0, GAP as u16));
            if self.columns[index].text {
                let least = self.content_width(index).min(NARROWEST) + GAP;
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least as u16)));
            } else {
                column.set_cell_alignment(CellAlignment::Right);
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let text = table.to_string();
        let mut lines = text.lines().map(str::trim_end);
        let heading = lines.next().unwrap_or_default();
        let mut rendered = format!("{}\n", bold(heading));
        for line in lines {
            rendered.push_str(line);
            rendered.push('\n');
        }
        rendered
    }

    /// The columns that are shown: expendable ones are left out from the right until the rest fits,
    /// with columns of text at their narrowest.
    fn fitting_columns(&self) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let Some(width) = self.width else { return shown };
        let least = |index: usize| match self.columns[index].text {
            true => self.content_width(index).min(NARROWEST) + GAP,
            false => self.content_width(index) + GAP,
        };
        while shown.iter().map(|&index| least(index)).sum::<usize>() > width {
            let Some(last) = shown.iter().rposition(|&index| self.columns[index].expendable) else { break };
            shown.remove(last);
        }
        shown
    }

    /// The longest cell of a column, its heading included, in characters.
    fn content_width(&self, index: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[index].chars().count());
        cells.chain([self.columns[index].heading.chars().count()]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: Option<u16>) -> String {
        let columns = [Column::number("time"), Column::text("operator"), Column::number("rate").expendable()];
        let mut table = Table::new(&columns, width);
        table.row(["1.5 ms".to_owned(), "/backbone/conv1/Conv".to_owned(), "12 GFLO/s".to_owned()]);
        table.render()
    }

    #[test]
    fn a_table_takes_the_room_that_it_needs_where_nobody_watches() {
        let text = table(None);
        assert!(text.contains("1.5 ms  /backbone/conv1/Conv  12 GFLO/s"), "{text}");
    }

    #[test]
    fn columns_that_can_be_spared_make_room_for_whole_names() {
        let text = table(Some(32));
        assert!(text.contains("1.5 ms  /backbone/conv1/Conv"), "{text}");
        assert!(!text.contains("rate"), "{text}");
    }
}
