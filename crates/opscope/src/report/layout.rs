//! Columns, and how they are laid out: without lines, below a bold heading, aligned by what they hold, and as
//! many of them as fit the terminal.

use std::borrow::Cow;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};

use crate::terminal::bold;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// Its heading for people.
    pub heading: Cow<'static, str>,
    /// Its name for programs.
    pub key: Cow<'static, str>,
    /// Whether it holds words rather than numbers: these are aligned left, and wrapped where there is too
    /// little room.
    pub is_text: bool,
    /// Whether it may be left out where a terminal is too narrow.
    pub is_expendable: bool,
}

impl TableColumn {
    /// A column of words.
    pub fn text(heading: impl Into<Cow<'static, str>>) -> Self {
        let heading = heading.into();
        Self { key: heading.clone(), heading, is_text: true, is_expendable: false }
    }

    /// A column of numbers: aligned right, and kept whole.
    pub fn number(heading: impl Into<Cow<'static, str>>) -> Self {
        Self { is_text: false, ..Self::text(heading) }
    }

    /// The same column, to be left out where there is too little room.
    pub fn expendable(self) -> Self {
        Self { is_expendable: true, ..self }
    }
}

/// The blanks between two columns.
const GAP: usize = 2;

/// The narrowest that a column of text is made.
const NARROWEST: usize = 24;

/// A table as lines of text, each with a line end. Headings and cells are single lines of plain text.
pub fn lay_out(
    columns: &[TableColumn],
    headings: &[String],
    rows: &[Vec<String>],
    width: Option<u16>,
) -> String {
    let widths: Vec<usize> = (0..columns.len())
        .map(|index| {
            let cells = rows.iter().map(|row| &row[index]).chain([&headings[index]]);
            cells.map(|text| opscope_say::width(text)).max().unwrap_or(0)
        })
        .collect();
    let shown = fitting_columns(columns, &widths, width);
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(shown.iter().map(|&index| headings[index].as_str()));
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        table.add_row(shown.iter().map(|&index| row[index].as_str()));
    }
    for (column, &index) in table.column_iter_mut().zip(&shown) {
        column.set_padding((0, GAP as u16));
        if columns[index].is_text {
            let least = widths[index].min(NARROWEST) + GAP;
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

/// The columns that are shown: expendable ones are left out from the right until the rest fits, with columns
/// of text at their narrowest.
fn fitting_columns(columns: &[TableColumn], widths: &[usize], width: Option<u16>) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let Some(width) = width else { return shown };
    let least = |index: usize| match columns[index].is_text {
        true => widths[index].min(NARROWEST) + GAP,
        false => widths[index] + GAP,
    };
    while shown.iter().map(|&index| least(index)).sum::<usize>() > usize::from(width) {
        let Some(last) = shown.iter().rposition(|&index| columns[index].is_expendable) else { break };
        shown.remove(last);
    }
    shown
}
