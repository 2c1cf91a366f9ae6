//! The answer to a query as a sheet, and in words what it is of.

use opscope_analyze::{Aggregate, Answer, Column, GroupBy, Query, TimeKind};
use opscope_trace::{Trace, units};

use super::count;
use super::sheet::{Sheet, SheetCell, SheetColumn};

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
    let is_known = |column: &Column| {
        let unknown = SheetCell::missing().value;
        answer.rows.iter().any(|row| SheetCell::from(column.of(trace, row)).value != unknown)
    };
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
pub fn sheet_of(trace: &Trace, answer: &Answer, columns: &[Column], top: usize) -> Sheet {
    let mut sheet = Sheet {
        columns: vec![SheetColumn {
            heading: "#".into(),
            key: "rank".into(),
            is_text: false,
            is_expendable: false,
        }],
        rows: Vec::new(),
    };
    sheet.columns.extend(columns.iter().map(|&column| sheet_column(column)));
    for (rank, row) in answer.rows.iter().take(top).enumerate() {
        let rank = SheetCell { text: (rank + 1).to_string(), value: (rank + 1).into() };
        let cells = columns.iter().map(|column| SheetCell::from(column.of(trace, row)));
        sheet.rows.push(std::iter::once(rank).chain(cells).collect());
    }
    sheet
}

fn sheet_column(column: Column) -> SheetColumn {
    use Column::*;
    let is_text = matches!(
        column,
        Name | Type | Level | Phase | Unit | Stream | Model | DataType | Shapes | Bound | Attribution
    );
    let is_expendable = matches!(
        column,
        Cumulative | Shapes | Compute | Rate | Moved | Bandwidth | Operators | Mean | Intensity | Ideal
    );
    SheetColumn { heading: column.name().into(), key: column.key().into(), is_text, is_expendable }
}

/// What a table shows: `Top 5 of 187 operators by total time`.
pub fn title(query: &Query, answer: &Answer, top: usize) -> String {
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
    let all = answer.rows.len();
    let shown = match all {
        0 => format!("No {noun}"),
        1 => format!("The only {noun}"),
        _ if top >= all => format!("All {}", count(all, noun)),
        _ => format!("Top {top} of {}", count(all, noun)),
    };
    let by = match query.sort {
        Some(sort) => sort.column.name().to_owned(),
        None => {
            let time = match query.time {
                TimeKind::Total => "own time",
                TimeKind::Kernel => "kernel time",
                TimeKind::Wait => "waiting time",
            };
            match column_of(query.aggregate) {
                None => time.to_owned(),
                Some(Column::Count) => "number of executions".to_owned(),
                Some(column) => format!("{} {time} of an execution", column.name()),
            }
        }
    };
    format!("{shown} by {by}{}", chosen(answer))
}

/// How much of everything was chosen, where it isn't all.
fn chosen(answer: &Answer) -> String {
    let mut text = String::new();
    if answer.subjects < answer.all_subjects {
        let whole = answer.whole.0.max(1) as f64;
        let share = units::percent(answer.selected.0 as f64 / whole);
        let time = units::duration(answer.selected);
        text = format!("; chosen are {} of {}, {time} ({share})", answer.subjects, answer.all_subjects);
    }
    if answer.unknown > 0 {
        text.push_str(&format!("; of {} it isn't known", count(answer.unknown, "execution")));
    }
    text
}
