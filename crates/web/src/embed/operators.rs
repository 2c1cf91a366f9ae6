//! The rows of the answer to the usual question: what `opscope analyze` says of operators.

use std::collections::HashMap;

use opscope_analyze::{Answer, Cell, Column, Row};
use opscope_trace::{Nanoseconds, OperatorId, StringId, Trace};

use super::strings::Strings;
use crate::columns::Table;

/// Rows that a page can sort and filter at once.
pub(crate) const MOST: usize = 100_000;

/// The costliest operators.
pub(super) struct Operators {
    /// Taken by whoever carries it.
    pub table: Option<Table>,
    pub count: usize,
    /// The time of the others in an average iteration.
    pub rest: Nanoseconds,
    by_operator: HashMap<OperatorId, u32>,
    /// Rows of tasks that belong to no operator, by their name.
    by_name: HashMap<StringId, u32>,
}

impl Operators {
    pub(super) fn of(trace: &Trace, answer: &Answer, strings: &mut Strings) -> Self {
        let rows = &answer.rows[..answer.rows.len().min(MOST)];
        let (mut by_operator, mut by_name) = (HashMap::new(), HashMap::new());
        for (number, row) in (0..).zip(rows) {
            match (row.operator, row.name) {
                (Some(operator), _) => by_operator.insert(operator, number),
                (None, Some(name)) => by_name.insert(name, number),
                (None, None) => None,
            };
        }
        let rest = answer.rows[rows.len()..].iter().map(|row| row.total).sum();
        Self { table: Some(table(trace, rows, strings)), count: rows.len(), rest, by_operator, by_name }
    }

    /// The operator of a row, or the name of the tasks that it is of where they belong to none.
    pub(super) fn of_row(&self, row: u32) -> Option<(Option<OperatorId>, Option<StringId>)> {
        let operator = self.by_operator.iter().find(|(_, known)| **known == row).map(|(id, _)| *id);
        let name = || self.by_name.iter().find(|(_, known)| **known == row).map(|(id, _)| *id);
        operator.map(|id| (Some(id), None)).or_else(|| name().map(|id| (None, Some(id))))
    }

    /// The rows, each with its operator or the name of its tasks.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u32, Option<OperatorId>, Option<StringId>)> {
        let operators = self.by_operator.iter().map(|(&id, &row)| (row, Some(id), None));
        operators.chain(self.by_name.iter().map(|(&id, &row)| (row, None, Some(id))))
    }

    /// The row of a task, by its operator or else its name.
    pub(super) fn row_of(&self, operator: Option<OperatorId>, name: StringId) -> Option<u32> {
        match operator {
            Some(operator) => self.by_operator.get(&operator).copied(),
            None => self.by_name.get(&name).copied(),
        }
    }
}

fn table(trace: &Trace, rows: &[Row], strings: &mut Strings) -> Table {
    let mut table = Table::new("operators", rows.len());
    for (name, column) in [
        ("name", Column::Name),
        ("type", Column::Type),
        ("shapes", Column::Shapes),
        ("data_type", Column::DataType),
        ("stream", Column::Stream),
        ("attribution", Column::Attribution),
    ] {
        let number = |row: &Row| match column.of(trace, row) {
            Cell::Text(text) => strings.number(&text),
            _ => 0,
        };
        let numbers: Vec<u32> = rows.iter().map(number).collect();
        table.whole(name, numbers.iter().map(|&number| number.into()));
    }
    for (name, text) in [
        ("engine_type", engine_type as fn(&Trace, OperatorId) -> Option<String>),
        ("attributes", attributes),
        ("nodes", nodes),
    ] {
        let number = |row: &Row| {
            let text = row.operator.and_then(|operator| text(trace, operator));
            text.map_or(0, |text| strings.number(&text))
        };
        let numbers: Vec<u32> = rows.iter().map(number).collect();
        table.whole(name, numbers.iter().map(|&number| number.into()));
    }
    let time = |time: Nanoseconds| time.0.max(0) as u64;
    table.whole("unit", rows.iter().map(|row| row.unit.map_or(0, |unit| unit as u64 + 1)));
    table.whole("time", rows.iter().map(|row| time(row.total)));
    table.whole("count", rows.iter().map(|row| row.times.count as u64));
    table.whole("mean", rows.iter().map(|row| time(row.times.mean)));
    table.whole("min", rows.iter().map(|row| time(row.times.min)));
    table.whole("max", rows.iter().map(|row| time(row.times.max)));
    table.whole("median", rows.iter().map(|row| time(row.times.median)));
    table.whole("p90", rows.iter().map(|row| time(row.times.p90)));
    table.whole("p99", rows.iter().map(|row| time(row.times.p99)));
    table.whole("wait", rows.iter().map(|row| row.wait.map_or(0, |wait| time(wait) + 1)));
    table.whole("flops", rows.iter().map(|row| row.flops.map_or(0, |flops| flops.saturating_add(1))));
    // The limit that holds an operator back, the share of its ceiling that it reaches, and its time there.
    table.whole("bound", rows.iter().map(|row| row.position.map_or(0, |it| it.bound as u64 + 1)));
    if rows.iter().any(|row| row.position.is_some()) {
        table.float("ceiling", rows.iter().map(|row| row.position.map_or(0.0, |it| it.share)));
        table.whole("ideal", rows.iter().map(|row| row.position.map_or(0, |it| time(it.ideal) + 1)));
    }
    table.whole("bytes", rows.iter().map(|row| row.bytes.map_or(0, |bytes| bytes.saturating_add(1))));
    table
}

fn engine_type(trace: &Trace, operator: OperatorId) -> Option<String> {
    trace.operators.engine_type()[operator.index()].map(|id| trace.strings.get(id).to_owned())
}

fn attributes(trace: &Trace, operator: OperatorId) -> Option<String> {
    trace.operators.attributes()[operator.index()].map(|id| trace.strings.get(id).to_owned())
}

/// The model's nodes that an operator stands for.
fn nodes(trace: &Trace, operator: OperatorId) -> Option<String> {
    let nodes = trace.names.get(trace.operators.origins()[operator.index()]).iter();
    let nodes: Vec<&str> = nodes.map(|&id| trace.strings.get(id)).collect();
    (!nodes.is_empty()).then(|| nodes.join(", "))
}
