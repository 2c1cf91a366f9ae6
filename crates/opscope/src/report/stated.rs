//! Figures that files beside the records state: in a line each, and as tables.

use opscope_analyze::{StatedPart, StatedRow, StatedSum, StatedTable};
use opscope_say::{say, word};
use opscope_trace::{FigureTopic, Nanoseconds, Trace, units};
use serde_json::{Map, Value, json};

use super::{Table, TableCell, TableColumn};
use crate::terminal::{bold, dim, printable};

/// The rows of a topic, one and several.
fn nouns(topic: FigureTopic) -> [&'static str; 2] {
    match topic {
        FigureTopic::Step => ["step", "steps"],
        FigureTopic::Collective => [word("collective operation"), word("collective operations")],
        FigureTopic::Transport => {
            [word("operation over a kind of link"), word("operations over kinds of links")]
        }
        FigureTopic::Link => [word("link between ranks"), word("links between ranks")],
        FigureTopic::Allocation => [word("operator that took memory"), word("operators that took memory")],
        FigureTopic::PeakMemory => {
            [word("owner of memory at its peak"), word("owners of memory at its peak")]
        }
        FigureTopic::TakenMemory => [
            word("owner of memory taken over the whole recording"),
            word("owners of memory taken over the whole recording"),
        ],
        FigureTopic::PlannedMemory => {
            [word("operator with planned memory"), word("operators with planned memory")]
        }
        FigureTopic::FrameworkCall => {
            [word("kind of calls of the framework"), word("kinds of calls of the framework")]
        }
        FigureTopic::OperatorType => [word("type of operators"), word("types of operators")],
        FigureTopic::Operator => [word("operator in a step"), word("operators in a step")],
        FigureTopic::DataOperation => {
            [word("operation that prepares data"), word("operations that prepare data")]
        }
        FigureTopic::HostCall => {
            [word("kind of calls of the runtime"), word("kinds of calls of the runtime")]
        }
        FigureTopic::Domain => [word("domain of records"), word("domains of records")],
        FigureTopic::Cache => {
            [word("task with figures of the cache"), word("tasks with figures of the cache")]
        }
        FigureTopic::Function => [word("function with samples"), word("functions with samples")],
    }
}

/// `1 step`, `3 types of operators`.
fn rows_of(topic: FigureTopic, rows: usize) -> String {
    let [one, several] = nouns(topic);
    format!("{rows} {}", if rows == 1 { one } else { several })
}

/// A value in its unit.
fn shown(value: f64, unit: &str) -> String {
    match unit {
        "ns" => units::duration(Nanoseconds(value.round() as i64)),
        "B" => units::bytes(value),
        "B/s" => units::byte_rate(value),
        "%" => format!("{value:.1} %"),
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        unit => format!("{value:.3} {unit}").trim_end().to_owned(),
    }
}

/// Quantities and their sums: `computing 8.87 ms, free 25.0 ms`.
fn sums(trace: &Trace, totals: &[StatedSum]) -> String {
    let text = |id| trace.strings.get(id);
    let named = totals.iter().map(|sum| format!("{} {}", text(sum.name), shown(sum.value, text(sum.unit))));
    named.collect::<Vec<_>>().join(", ")
}

/// A line for each file that states figures, and of samples for each event: how many rows and what they sum up to.
pub fn stated_lines(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    let line = |table: &StatedTable, event: &str| {
        // Their rows overlap: SDMA carries what went over HCCS, and a matrix has rows of all operations together.
        let overlap = matches!(table.topic, FigureTopic::Transport | FigureTopic::Link);
        let sums = if overlap { String::new() } else { sums(trace, &table.totals(trace)) };
        let gap = if sums.is_empty() { "" } else { ": " };
        let rows = rows_of(table.topic, table.rows.len());
        let source = text(table.source);
        match event {
            "" => say!("{}{gap}{sums} ({source})", rows),
            event => say!("{}{gap}{sums} ({source}, {event})", rows),
        }
    };
    let lines = |table: &StatedTable| -> Vec<String> {
        match table.topic {
            FigureTopic::Function => {
                table.by_step(trace).iter().map(|(event, table)| line(table, text(*event))).collect()
            }
            _ => vec![line(table, "")],
        }
    };
    StatedTable::all(trace).iter().flat_map(lines).collect()
}

/// The tables: of a profile with tasks those that tell what its tasks don't, of others all. Each has `top` rows, or
/// all where that is 0.
pub fn stated_text(trace: &Trace, top: usize, width: Option<u16>) -> String {
    let top = if top == 0 { usize::MAX } else { top };
    let is_shown = |table: &&StatedTable| {
        let beyond_tasks = [
            FigureTopic::Step,
            FigureTopic::Collective,
            FigureTopic::Transport,
            FigureTopic::Link,
            FigureTopic::DataOperation,
            FigureTopic::PeakMemory,
            FigureTopic::TakenMemory,
        ];
        trace.tasks.is_empty() || beyond_tasks.contains(&table.topic)
    };
    let mut text = String::new();
    for table in StatedTable::all(trace).iter().filter(is_shown) {
        let parts = if table.topic == FigureTopic::Transport { table.by_part(trace) } else { Vec::new() };
        let rows = rows_of(table.topic, table.rows.len());
        let of = match top < table.rows.len() && parts.is_empty() {
            true => say!("Top {top} of {rows}"),
            false => rows,
        };
        let source = printable(trace.strings.get(table.source)).into_owned();
        text.push_str(&format!("\n{} {}\n", bold(&of), dim(&say!("as {source} states"))));
        let rows = if parts.is_empty() { rows_table(trace, table, top) } else { parts_table(trace, &parts) };
        text.push_str(&rows.to_text(width));
    }
    text
}

fn rows_table(trace: &Trace, table: &StatedTable, top: usize) -> Table {
    let text = |id| trace.strings.get(id);
    let [with_step, with_subject, with_part] =
        [|row: &StatedRow| row.step, |row: &StatedRow| row.subject, |row: &StatedRow| row.part]
            .map(|of| table.rows.iter().any(|row| !text(of(row)).is_empty()));
    let mut columns: Vec<TableColumn> = Vec::new();
    columns.extend(with_step.then(|| TableColumn::text("step")));
    // The first few quantities tell most.
    let quantities = table.columns.iter().enumerate().map(|(index, (name, _))| {
        let column = TableColumn::number(text(*name).to_owned());
        if index < 4 { column } else { column.expendable() }
    });
    columns.extend(quantities);
    columns.extend(with_subject.then(|| TableColumn::text("name")));
    columns.extend(with_part.then(|| TableColumn::text("of").expendable()));
    let mut out = Table::new(columns);
    for row in table.rows.iter().take(top) {
        let mut cells: Vec<TableCell> = Vec::new();
        cells.extend(with_step.then(|| text(row.step).into()));
        cells.extend(row.values.iter().zip(&table.columns).map(|(value, (_, unit))| {
            value.map_or_else(TableCell::missing, |value| shown(value, text(*unit)).into())
        }));
        cells.extend(with_subject.then(|| text(row.subject).into()));
        cells.extend(with_part.then(|| text(row.part).into()));
        out.row(cells);
    }
    out
}

/// The sums by part, with the rate at which bytes went.
fn parts_table(trace: &Trace, parts: &[StatedPart]) -> Table {
    let text = |id| trace.strings.get(id);
    let columns = ["size", "transit", "bandwidth", "operations"].map(TableColumn::number);
    let mut out = Table::new(columns.into_iter().chain([TableColumn::text("link")]));
    for StatedPart { part, rows, sums } in parts {
        let sum = |name: &str| sums.iter().find(|sum| text(sum.name) == name).map(|sum| sum.value);
        let (size, transit) = (sum("size"), sum("transit"));
        let rate = size.zip(transit).filter(|(_, time)| *time > 0.0).map(|(size, time)| size / time * 1e9);
        let cell = |value: Option<f64>, unit: &str| match value {
            Some(value) => TableCell::from(shown(value, unit)),
            None => TableCell::missing(),
        };
        out.row([
            cell(size, "B"),
            cell(transit, "ns"),
            cell(rate, "B/s"),
            rows.to_string().into(),
            text(*part).into(),
        ]);
    }
    out
}

/// All figures for programs: an object for each file, with an object for each row.
pub fn stated_json(trace: &Trace) -> Value {
    let text = |id| trace.strings.get(id);
    let table = |table: &StatedTable| {
        let row = |row: &StatedRow| {
            let named = table.columns.iter().zip(&row.values);
            let named = named.filter_map(|(&(name, unit), value)| {
                let unit = if text(unit).is_empty() { String::new() } else { format!(" ({})", text(unit)) };
                Some((format!("{}{unit}", text(name)), json!((*value)?)))
            });
            let values: Map<String, Value> = named.collect();
            json!({ "step": text(row.step), "subject": text(row.subject), "part": text(row.part), "values": values })
        };
        let rows: Vec<Value> = table.rows.iter().map(row).collect();
        json!({ "topic": table.topic.name(), "source": text(table.source), "rows": rows })
    };
    StatedTable::all(trace).iter().map(table).collect()
}
