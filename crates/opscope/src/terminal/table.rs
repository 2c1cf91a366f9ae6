//! Tables without lines: a bold heading, columns aligned by what they hold.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};

use super::style::bold;

/// A table that is filled row by row.
pub struct Table {
    table: comfy_table::Table,
}

/// The narrowest that a column of text is made.
const NARROWEST: u16 = 12;

impl Table {
    /// A table with the given columns. A heading that begins with `<` is of a column of text, which
    /// is aligned left and wrapped where the terminal is too narrow; all others are aligned right
    /// and kept whole.
    pub fn new(columns: &[&str], width: Option<u16>) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(columns.iter().map(|heading| heading.trim_start_matches('<')));
        if let Some(width) = width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        for (column, heading) in table.column_iter_mut().zip(columns) {
            column.set_padding((0, 2));
            if heading.starts_with('<') {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(NARROWEST)));
            } else {
                column.set_cell_alignment(CellAlignment::Right);
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        Self { table }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.add_row(cells);
    }

    /// The table as lines of text, each with a line end.
    pub fn render(&self) -> String {
        let text = self.table.to_string();
        let mut lines = text.lines().map(str::trim_end);
        let heading = lines.next().unwrap_or_default();
        let mut rendered = format!("{}\n", bold(heading));
        for line in lines {
            rendered.push_str(line);
            rendered.push('\n');
        }
        rendered
    }
}
