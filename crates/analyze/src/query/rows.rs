//! Positions under the roof, the order of rows, and the shares of each row and those before.

use std::cmp::Ordering;

use opscope_trace::Trace;

use super::answer::Row;
use super::column::Cell;
use super::question::Query;

/// Completes the rows of an answer and sorts them.
pub(super) fn finish(trace: &Trace, query: &Query, rows: &mut Vec<Row>) {
    for row in rows.iter_mut() {
        row.position = query.roofline.and_then(|roof| roof.position(row.flops?, row.bytes?, row.working?));
    }
    // Equal rows stand in the order in which they began.
    rows.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.start.cmp(&b.start)));
    if let Some(sort) = query.sort {
        let mut keyed: Vec<(Cell, Row)> =
            rows.drain(..).map(|row| (sort.column.of(trace, &row), row)).collect();
        keyed.sort_by(|(a, _), (b, _)| compare(a, b, sort.ascending));
        rows.extend(keyed.into_iter().map(|(_, row)| row));
    }
    let mut cumulative = 0.0;
    for row in rows.iter_mut() {
        cumulative += row.share;
        row.cumulative_share = cumulative;
    }
}

/// Orders two cells; missing ones come last in either direction.
fn compare(a: &Cell, b: &Cell, ascending: bool) -> Ordering {
    let directed = |order: Ordering| if ascending { order } else { order.reverse() };
    match (a, b) {
        (Cell::Missing, Cell::Missing) => Ordering::Equal,
        (Cell::Missing, _) => Ordering::Greater,
        (_, Cell::Missing) => Ordering::Less,
        (Cell::Text(a), Cell::Text(b)) => directed(a.cmp(b)),
        (a, b) => directed(a.number().total_cmp(&b.number())),
    }
}
