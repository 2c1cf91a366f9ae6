//! The framed table: records with a line between them, cells of several lines.

use std::io::{self, Write};

use super::numbers::is_space;

/// Writes a framed table; each cell is a text of one or more lines.
pub fn write_grid<const COLUMNS: usize>(
    out: &mut dyn Write,
    headers: [&str; COLUMNS],
    records: &[[String; COLUMNS]],
) -> io::Result<()> {
    let mut widths = headers.map(|header| header.chars().count() + 2);
    for record in records {
        for (width, cell) in widths.iter_mut().zip(record) {
            let widest = cell.split('\n').map(|line| strip(line).chars().count()).max();
            *width = (*width).max(widest.unwrap_or(0));
        }
    }
    let rule = |left: &str, dash: &str, cross: &str, right: &str| {
        let dashes: Vec<String> = widths.iter().map(|width| dash.repeat(width + 2)).collect();
        format!("{left}{}{right}", dashes.join(cross))
    };
    writeln!(out, "{}", rule("╒", "═", "╤", "╕"))?;
    write_line(out, &widths, headers.iter().copied())?;
    let between = rule("├", "─", "┼", "┤");
    let mut above = rule("╞", "═", "╪", "╡");
    for record in records {
        writeln!(out, "{above}")?;
        let mut cells = record.each_ref().map(|cell| cell.split('\n'));
        for _ in 0..record.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(0) {
            write_line(out, &widths, cells.iter_mut().map(|lines| lines.next().unwrap_or("")))?;
        }
        above.clone_from(&between);
    }
    if records.is_empty() {
        writeln!(out, "{above}")?;
    }
    writeln!(out, "{}", rule("╘", "═", "╧", "╛"))
}

fn write_line<'a>(
    out: &mut dyn Write,
    widths: &[usize],
    cells: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    for (width, cell) in widths.iter().zip(cells) {
        let cell = strip(cell);
        let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
        write!(out, "│ {cell}{fill} ")?;
    }
    writeln!(out, "│")
}

fn strip(line: &str) -> &str {
    line.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::write_grid;

    #[test]
    fn records_are_framed_and_shorter_cells_filled_below() {
        let records = [["#0\n1.0", "one"], ["#1\n2.0", "  two  "]].map(|row| row.map(str::to_owned));
        let mut out = Vec::new();
        write_grid(&mut out, ["time", "op"], &records).unwrap();
        let expected = "\
╒════════╤══════╕
│ time   │ op   │
╞════════╪══════╡
│ #0     │ one  │
│ 1.0    │      │
├────────┼──────┤
│ #1     │ two  │
│ 2.0    │      │
╘════════╧══════╛
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
