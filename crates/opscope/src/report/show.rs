//! The tables of `opscope show`, as text and JSON.

use opscope_analyze::{
    CallStatistic, Component, ComponentUse, CoreMetrics, Coverage, Durations, Frequency, Phase, RangeTree,
    RunTables, TypeStatistic,
};
use opscope_say::{say, sentence, word};
use opscope_trace::{ApiLevel, MetricId, StringId, Trace, units};
use serde_json::{Value, json};

use super::placement::Placed;
use super::table::UNKNOWN;
use super::{Envelope, Table, TableColumn, count, ranges_json, ranges_table, titled};
use crate::profile::board::Missing;
use crate::terminal::bold;

/// The tables of a run, and everything else that is shown of it.
pub struct Answer<'a> {
    /// The run.
    pub trace: &'a Trace,
    /// Its tables.
    pub tables: &'a RunTables,
    /// The ranges that the program marked.
    pub ranges: RangeTree,
    /// How much of the executions of models operators account for, where that is known.
    pub coverage: Option<Coverage>,
    /// The layers as the model converter placed them.
    pub placed: Placed,
    /// The parts that the profile of a board lacks.
    pub missing: Vec<Missing>,
}

impl Answer<'_> {
    /// The tables that have rows, with `top` rows of each (0 is all), below what is missing.
    pub fn to_text(&self, top: usize, width: Option<u16>) -> String {
        let (trace, rows) = (self.trace, if top == 0 { usize::MAX } else { top });
        let missing = self
            .missing
            .iter()
            .map(|it| format!("{} {}: {}\n", bold(word("Missing:")), sentence(it.what), sentence(&it.how)));
        let tables = [
            components(trace, &self.tables.components, width),
            core_metrics(trace, self.tables, rows, width),
            operators(trace, self.tables, rows, width),
            calls(trace, &self.tables.calls, rows, width),
            self.coverage.as_ref().map(coverage_text),
            ranges_table(trace, &self.ranges, top, width),
            frequencies(trace, &self.tables.frequencies, width),
            self.placed.table(rows, width),
        ];
        let tables: Vec<String> = tables.into_iter().flatten().collect();
        format!("{}{}", missing.collect::<String>(), tables.join("\n"))
    }

    /// All rows of all tables.
    pub fn to_json(&self) -> Envelope<Value> {
        let mut answer = tables_json(self.trace, self.tables);
        answer["placement"] = self.placed.to_json();
        answer["missing"] = self.missing.iter().map(|it| json!({"what": it.what, "how": it.how})).collect();
        answer["covered"] = self.coverage.map_or(Value::Null, |coverage| coverage.share().into());
        answer["ranges"] = ranges_json(self.trace, &self.ranges);
        Envelope::new(1, answer)
    }
}

/// How much of the executions of models their operators account for.
fn coverage_text(coverage: &Coverage) -> String {
    let without = match coverage.calls_without {
        0 => String::new(),
        without => say!("; during {} no operator was recorded", count(without, "other")),
    };
    let calls = count(coverage.calls, "call");
    let average = if coverage.is_average { word(" on average") } else { "" };
    say!(
        "{}\nOperators account for {} of the {} that {calls} took to execute a model{average} ({}){without}.\n",
        bold(word("Coverage")),
        units::duration(coverage.operators),
        units::duration(coverage.time),
        units::percent(coverage.share()),
    )
}

fn components(trace: &Trace, rows: &[ComponentUse], width: Option<u16>) -> Option<String> {
    let columns = [
        TableColumn::text("component"),
        TableColumn::text("phase"),
        TableColumn::number("covered"),
        TableColumn::number("total"),
        TableColumn::number("count"),
        TableColumn::number("longest"),
        TableColumn::text("which"),
    ];
    let mut table = Table::new(columns);
    for row in rows {
        table.row([
            component_name(trace, row.component),
            phase_name(row.phase).to_owned(),
            units::duration(row.covered),
            units::duration(row.time.total),
            row.time.count.to_string(),
            units::duration(row.time.max),
            trace.strings.get(row.longest).to_owned(),
        ]);
    }
    let title = word(
        "Components of the whole profile; covered is the time in which at least one of a component's spans was open",
    );
    titled(title, &table.to_text(width), rows.len(), rows.len())
}

/// The name of a component, with the one that it has on the timelines of Ascend's tools.
fn component_name(trace: &Trace, component: Component) -> String {
    let (name, of_vendor) = match component {
        Component::Ranges => ("ranges", Some("MsprofTx")),
        Component::Calls(ApiLevel::Application) => (ApiLevel::Application.name(), Some("AscendCL")),
        Component::Calls(level) => (level.name(), None),
        Component::Tasks => ("tasks", Some("Task Scheduler")),
    };
    let is_acl = |id: &StringId| {
        let call = trace.strings.get(*id);
        call.starts_with("acl") || call.starts_with("svp_acl")
    };
    let of_vendor = of_vendor.filter(|_| trace.api_calls.name().iter().any(is_acl));
    of_vendor.map_or_else(|| name.to_owned(), |of_vendor| format!("{name} ({of_vendor})"))
}

fn phase_name(phase: Option<Phase>) -> &'static str {
    phase.map_or(UNKNOWN, |phase| word(phase.name()))
}

/// The iterations that operators are of, behind the title of a table.
fn of_iterations(tables: &RunTables) -> String {
    match tables.iterations {
        0 => String::new(),
        number => say!(" in {}", count(number, "measured iteration")),
    }
}

fn core_metrics(trace: &Trace, tables: &RunTables, top: usize, width: Option<u16>) -> Option<String> {
    let rows: &[CoreMetrics] = &tables.core_metrics;
    // The units of one run may have metrics of their own: every operator has cells for all of them.
    let mut shown: Vec<MetricId> = Vec::new();
    for (metric, _) in rows.iter().take(top).flat_map(|row| &row.metrics) {
        if !shown.contains(metric) {
            shown.push(*metric);
        }
    }
    let headings = shown.iter().map(|metric| {
        let (name, unit) = metric_texts(trace, *metric);
        if unit.is_empty() { name.to_owned() } else { format!("{name}({unit})") }
    });
    let mut columns = vec![
        TableColumn::text("operator"),
        TableColumn::text("type"),
        TableColumn::text("unit"),
        TableColumn::number("tasks"),
        TableColumn::number("time"),
    ];
    columns.extend(headings.map(|heading| TableColumn::number(heading).expendable()));
    let mut table = Table::new(columns);
    for row in rows.iter().take(top) {
        let operator = trace.operators.get(row.operator);
        let mut cells = vec![
            trace.strings.get(operator.name).to_owned(),
            trace.strings.get(operator.op_type).to_owned(),
            row.unit.name().to_owned(),
            row.time.count.to_string(),
            units::duration(row.time.mean()),
        ];
        cells.extend(shown.iter().map(|metric| {
            let value = row.metrics.iter().find(|(known, _)| known == metric);
            value.map_or_else(|| UNKNOWN.to_owned(), |(_, value)| decimal(*value))
        }));
        table.row(cells);
    }
    let title = say!("Core metrics, the average of an execution{}", of_iterations(tables));
    titled(&title, &table.to_text(width), rows.len().min(top), rows.len())
}

fn operators(trace: &Trace, tables: &RunTables, top: usize, width: Option<u16>) -> Option<String> {
    let rows: &[TypeStatistic] = &tables.operators;
    let mut columns = vec![TableColumn::text("type"), TableColumn::text("unit")];
    columns.extend(DURATIONS.map(TableColumn::number));
    let mut table = Table::new(columns);
    for row in rows.iter().take(top) {
        let mut cells = vec![trace.strings.get(row.op_type).to_owned(), row.unit.name().to_owned()];
        cells.extend(durations(&row.time, row.share));
        table.row(cells);
    }
    let title = say!("Operator statistic{}", of_iterations(tables));
    titled(&title, &table.to_text(width), rows.len().min(top), rows.len())
}

fn calls(trace: &Trace, rows: &[CallStatistic], top: usize, width: Option<u16>) -> Option<String> {
    let mut columns = vec![TableColumn::text("level"), TableColumn::text("phase"), TableColumn::text("call")];
    columns.extend(DURATIONS.map(TableColumn::number));
    let mut table = Table::new(columns);
    for row in rows.iter().take(top) {
        let within = if row.within_itself { word(" (within itself)") } else { "" };
        let name = format!("{}{within}", trace.strings.get(row.name));
        let mut cells = vec![row.level.name().to_owned(), phase_name(row.phase).to_owned(), name];
        cells.extend(durations(&row.time, row.share));
        table.row(cells);
    }
    let title = word("API statistic; the share is that of a level's calls, which may lie within one another");
    titled(title, &table.to_text(width), rows.len().min(top), rows.len())
}

fn frequencies(trace: &Trace, rows: &[Frequency], width: Option<u16>) -> Option<String> {
    let columns = [
        TableColumn::text("frequency"),
        TableColumn::text("device"),
        TableColumn::number("samples"),
        TableColumn::number("first"),
        TableColumn::number("lowest"),
        TableColumn::number("highest"),
        TableColumn::number("last"),
    ];
    let mut table = Table::new(columns);
    for row in rows {
        let counter = trace.counters.get(row.counter);
        let device = row.device.map(|device| trace.devices.get(device));
        let device =
            device.map_or("host".to_owned(), |it| format!("{} {}", trace.strings.get(it.name), it.number));
        let mut cells = vec![trace.strings.get(counter.name).to_owned(), device, row.samples.to_string()];
        let values = [row.first, row.min, row.max, row.last];
        cells.extend(values.map(|value| format!("{} MHz", decimal(value))));
        table.row(cells);
    }
    titled(word("Frequency"), &table.to_text(width), rows.len(), rows.len())
}

const DURATIONS: [&str; 6] = ["share", "total", "count", "mean", "min", "max"];

fn durations(time: &Durations, share: f64) -> [String; 6] {
    [
        units::percent(share),
        units::duration(time.total),
        time.count.to_string(),
        units::duration(time.mean()),
        units::duration(time.min),
        units::duration(time.max),
    ]
}

/// A number with up to three decimals.
fn decimal(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn metric_texts(trace: &Trace, metric: MetricId) -> (&str, &str) {
    let metric = trace.metrics.get(metric);
    (trace.strings.get(metric.name), trace.strings.get(metric.unit))
}

fn tables_json(trace: &Trace, tables: &RunTables) -> Value {
    let times = |time: &Durations| {
        json!({
            "count": time.count,
            "total_ns": time.total.0,
            "mean_ns": time.mean().0,
            "min_ns": time.min.0,
            "max_ns": time.max.0,
        })
    };
    let text = |id| trace.strings.get(id);
    let core_metrics = tables.core_metrics.iter().map(|row| {
        let operator = trace.operators.get(row.operator);
        let metrics = row.metrics.iter().map(|(metric, value)| {
            let (name, unit) = metric_texts(trace, *metric);
            json!({"name": name, "unit": unit, "mean": value})
        });
        json!({
            "operator": text(operator.name),
            "type": text(operator.op_type),
            "unit": row.unit.name(),
            "time": times(&row.time),
            "metrics": metrics.collect::<Vec<_>>(),
        })
    });
    let operators = tables.operators.iter().map(|row| {
        json!({
            "type": text(row.op_type),
            "unit": row.unit.name(),
            "share": row.share,
            "time": times(&row.time),
        })
    });
    let calls = tables.calls.iter().map(|row| {
        json!({
            "level": row.level.name(),
            "call": text(row.name),
            "phase": row.phase.map(Phase::name),
            "within_itself": row.within_itself,
            "share": row.share,
            "time": times(&row.time),
        })
    });
    let frequencies = tables.frequencies.iter().map(|row| {
        json!({
            "name": text(trace.counters.get(row.counter).name),
            "device": row.device.map(|device| trace.devices.get(device).number),
            "samples": row.samples,
            "first_mhz": row.first,
            "min_mhz": row.min,
            "max_mhz": row.max,
            "last_mhz": row.last,
        })
    });
    let components = tables.components.iter().map(|row| {
        json!({
            "component": component_name(trace, row.component),
            "phase": row.phase.map(Phase::name),
            "covered_ns": row.covered.0,
            "longest": text(row.longest),
            "time": times(&row.time),
        })
    });
    json!({
        "iterations": tables.iterations,
        "components": components.collect::<Vec<_>>(),
        "core_metrics": core_metrics.collect::<Vec<_>>(),
        "operator_statistic": operators.collect::<Vec<_>>(),
        "api_statistic": calls.collect::<Vec<_>>(),
        "frequency": frequencies.collect::<Vec<_>>(),
    })
}
