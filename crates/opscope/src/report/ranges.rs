//! The ranges and marks of a program, in a table.

use std::collections::BTreeMap;

use opscope_trace::{Nanoseconds, RangeKind, StringId, Trace, units};

use crate::terminal::{Column, Table, bold};

/// The ranges that took most, by their text; at least ten of them, and all where `top` is 0. Nothing
/// where the program marked nothing.
pub fn ranges_text(trace: &Trace, top: usize, width: Option<u16>) -> String {
    let mut sums: BTreeMap<StringId, (u64, Nanoseconds, Nanoseconds)> = BTreeMap::new();
    let mut marks = 0;
    for (_, range) in trace.ranges.iter() {
        if range.kind == RangeKind::Mark {
            marks += 1;
            continue;
        }
        let (count, total, longest) = sums.entry(range.name).or_default();
        *count += 1;
        *total += range.duration;
        *longest = range.duration.max(*longest);
    }
    if sums.is_empty() && marks == 0 {
        return String::new();
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, (_, total, _))| std::cmp::Reverse(*total));
    // The few longest say where the time goes; all of them are in the table msprof_tx.
    let shown = if top == 0 { rows.len() } else { rows.len().min(top.max(10)) };
    let columns =
        [Column::number("total"), Column::number("count"), Column::number("longest"), Column::text("range")];
    let mut table = Table::new(&columns, width);
    for (name, (count, total, longest)) in &rows[..shown] {
        table.row([
            units::duration(*total),
            count.to_string(),
            units::duration(*longest),
            trace.strings.get(*name).escape_debug().to_string(),
        ]);
    }
    let heading = format!("Top {shown} of {} ranges that the program marked, and {marks} marks", rows.len());
    let table = if shown > 0 { table.render() } else { String::new() };
    format!("{}\n{table}\n", bold(&heading))
}
