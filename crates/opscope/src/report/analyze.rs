//! The answer to a query as a table, what it is of in words, and all of it as JSON.

use std::path::Path;

use opscope_analyze::{Aggregate, Answer, Cell, Column, GroupBy, Overview, Query, RangeTree, Row, TimeKind};
use opscope_say::{say, word};
use opscope_trace::{Trace, units};
use serde_json::{Value, json};

use super::{
    Envelope, Table, TableCell, TableColumn, count, latency_json, overview_json, ranges_json, shown,
    stated_json,
};

/// The columns that suit a query, without those of which nothing is known.
pub fn fitting_columns(trace: &Trace, query: &Query, answer: &Answer) -> Vec<Column> {
    use Column::*;
    let mut columns = vec![Time, Share, Cumulative];
    let of_group: &[Column] = match query.group_by {
        GroupBy::Operator if query.host => &[Count, Mean, Phase, Level, Name],
        GroupBy::Operator => &[Count, Name, Type, Unit, Shapes],
        GroupBy::Type => &[Operators, Count, Mean, Type],
        GroupBy::Name => &[Count, Mean, Name, Type],
        GroupBy::Unit => &[Operators, Count, Mean, Unit],
        GroupBy::Stream => &[Operators, Count, Mean, Stream, Device],
        GroupBy::Shape => &[Operators, Count, Mean, Type, Shapes],
        GroupBy::Iteration => &[Operators, Count, Max, Iteration, Wall],
    };
    columns.extend(of_group);
    if query.host && matches!(query.group_by, GroupBy::Type | GroupBy::Unit) {
        columns.retain(|column| !matches!(column, Type | Unit));
        columns.push(Level);
    }
    if let Some(aggregated) = column_of(query.aggregate) {
        columns.retain(|column| *column != aggregated);
        columns.insert(0, aggregated);
    }
    match query.roofline {
        Some(_) => columns.extend([Rate, Bandwidth, Intensity, Bound, Ceiling, Ideal]),
        None => columns.extend([Compute, Rate, Moved, Bandwidth]),
    }
    let is_known = |column: &Column| answer.rows.iter().any(|row| column.of(trace, row) != Cell::Missing);
    // One unit for all needs no column; nor does a single execution of each operator.
    let differs = |column: &Column| match column {
        Unit if query.group_by == GroupBy::Operator => {
            answer.rows.iter().any(|row| row.unit != answer.rows[0].unit)
        }
        Count if query.group_by == GroupBy::Operator && query.aggregate == Aggregate::Sum => {
            answer.rows.iter().any(|row| row.times.count != answer.averaged)
        }
        _ => true,
    };
    columns.retain(|column| is_known(column) && differs(column));
    columns
}

/// The column that shows what an aggregate makes; the sum has one anyway.
fn column_of(aggregate: Aggregate) -> Option<Column> {
    Some(match aggregate {
        Aggregate::Sum => return None,
        Aggregate::Typical => Column::Typical,
        Aggregate::Mean => Column::Mean,
        Aggregate::Min => Column::Min,
        Aggregate::Max => Column::Max,
        Aggregate::Median => Column::Median,
        Aggregate::P90 => Column::P90,
        Aggregate::P99 => Column::P99,
        Aggregate::Count => Column::Count,
    })
}

/// The first `top` rows of an answer.
pub fn table_of(trace: &Trace, answer: &Answer, columns: &[Column], top: usize) -> Table {
    let rank = TableColumn { key: "rank".into(), ..TableColumn::number("#") };
    let mut table =
        Table::new(std::iter::once(rank).chain(columns.iter().map(|&column| table_column(column))));
    for (rank, row) in answer.rows.iter().take(top).enumerate() {
        let rank = TableCell::new((rank + 1).to_string(), rank + 1);
        let cells = columns.iter().map(|&column| said(column, TableCell::from(column.of(trace, row))));
        table.row(std::iter::once(rank).chain(cells));
    }
    table
}

/// A cell with a variant's name in the reader's language; programs get the name itself.
fn said(column: Column, cell: TableCell) -> TableCell {
    match column {
        Column::Phase | Column::Bound => TableCell { text: word(&cell.text).to_owned(), ..cell },
        _ => cell,
    }
}

fn table_column(column: Column) -> TableColumn {
    use Column::*;
    let is_text = matches!(
        column,
        Name | Type | Level | Phase | Unit | Stream | Model | DataType | Shapes | Bound | Attribution
    );
    let is_expendable = matches!(
        column,
        Cumulative | Shapes | Compute | Rate | Moved | Bandwidth | Operators | Mean | Intensity | Ideal
    );
    TableColumn { heading: column.name().into(), key: column.key().into(), is_text, is_expendable }
}

/// The heading of a table: `Top 5 of 187 operators by own time in an average iteration, counts of all 9`.
pub fn title(query: &Query, answer: &Answer, columns: &[Column], top: usize) -> String {
    let noun = match query.group_by {
        GroupBy::Operator if query.host => "call",
        GroupBy::Operator => "operator",
        GroupBy::Type if query.host => "level",
        GroupBy::Type => "type",
        GroupBy::Name => "name",
        GroupBy::Unit => "unit",
        GroupBy::Stream if query.host => "thread",
        GroupBy::Stream => "stream",
        GroupBy::Shape => "shape",
        GroupBy::Iteration => "iteration",
    };
    let shown = shown(top, answer.rows.len(), noun);
    let by = match query.sort {
        Some(sort) => sort.column.name().to_owned(),
        None if answer.rows.first().is_some_and(Row::has_nothing) => word("wall time").to_owned(),
        None => {
            let time = match query.time {
                TimeKind::Total => word("own time"),
                TimeKind::Kernel => word("kernel time"),
                TimeKind::Wait => word("waiting time"),
            };
            match column_of(query.aggregate) {
                None if answer.averaged > 1 => say!("{time} in an average iteration"),
                None => time.to_owned(),
                Some(Column::Typical) => say!("{time} in a typical iteration"),
                Some(Column::Count) => word("number of executions").to_owned(),
                Some(column) => say!("{} {time} of an execution", column.name()),
            }
        }
    };
    let counts = match answer.averaged {
        2.. if columns.contains(&Column::Count) => say!(", counts of all {}", answer.averaged),
        _ => String::new(),
    };
    say!("{shown} by {by}{counts}{}", chosen(answer))
}

/// How much of everything was chosen, where it isn't all.
fn chosen(answer: &Answer) -> String {
    let mut text = String::new();
    if answer.subjects < answer.all_subjects {
        let whole = answer.whole.0.max(1) as f64;
        let share = units::percent(answer.selected.0 as f64 / whole);
        let time = units::duration(answer.selected);
        text = say!("; chosen are {} of {}, {time} ({share})", answer.subjects, answer.all_subjects);
    }
    if answer.unknown > 0 {
        text.push_str(&say!("; of {} it isn't known", count(answer.unknown, "execution")));
    }
    text
}

/// The answer with the overview of what it is of, for programs.
pub fn to_json(
    path: &Path,
    trace: &Trace,
    query: &Query,
    answer: &Answer,
    table: &Table,
    overview: &Overview,
    ranges: &RangeTree,
) -> Envelope<Value> {
    let roofline = query.roofline.map(|roof| {
        json!({
            "flops_per_second": roof.flops,
            "bytes_per_second": roof.bandwidth,
            "ridge_flops_per_byte": roof.ridge(),
        })
    });
    let answer = json!({
        "path": path.to_string_lossy(),
        "latency": latency_json(trace),
        "overview": overview_json(trace, overview),
        "averaged_over": answer.averaged,
        "selected_ns": answer.selected.0,
        "whole_ns": answer.whole.0,
        "executions": answer.executions,
        "operators": answer.subjects,
        "all_operators": answer.all_subjects,
        "executions_of_unknown_time": answer.unknown,
        "roofline": roofline,
        "rows": table.to_json(),
        "stated": stated_json(trace),
        "ranges": ranges_json(trace, ranges),
    });
    Envelope::new(1, answer)
}
