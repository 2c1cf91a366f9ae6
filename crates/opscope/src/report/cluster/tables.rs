//! Answers that are tables: where steps go, collectives, links, one collective, experts.

use opscope_reach::{
    CollectivesRow, Experts, ExpertsProduct, Findings, InstanceParts, MatrixRow, PartRow, SummaryRow,
};
use opscope_say::{say, word};
use opscope_trace::units;
use serde_json::{Map, Value};

use super::{amount, grouped, listed, milliseconds, whole};
use crate::report::{Envelope, Table, TableCell, TableColumn};
use crate::terminal::bold;

/// A table with its name in JSON and, if there are several, its heading.
pub struct Named {
    key: &'static str,
    heading: Option<String>,
    table: Table,
}

impl Named {
    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Its rows for programs.
    pub fn to_json(&self) -> Value {
        self.table.to_json()
    }
}

/// A form of tables.
#[derive(Clone, Copy, Debug)]
pub enum TablesForm {
    /// Lines for a terminal of this width.
    Text(Option<u16>),
    /// One object.
    Json,
    /// Comma-separated values, of several tables the first.
    Csv,
    /// Markdown.
    Markdown,
}

/// Tables in a form.
///
/// # Errors
/// Never in practice: every figure has a form in JSON, and memory takes everything.
pub fn print(tables: &[Named], form: TablesForm, losses: Vec<Value>) -> anyhow::Result<String> {
    let one = |named: &Named| match form {
        TablesForm::Markdown => named.table.to_markdown(),
        TablesForm::Text(width) => named.table.to_text(width),
        TablesForm::Json | TablesForm::Csv => String::new(),
    };
    let heading = |named: &Named| match (&named.heading, form) {
        (Some(heading), TablesForm::Markdown) => format!("### {heading}\n\n"),
        (Some(heading), _) => format!("{}\n", bold(heading)),
        (None, _) => String::new(),
    };
    match form {
        TablesForm::Json => {
            let members: Map<String, Value> =
                tables.iter().map(|named| (named.key.to_owned(), named.table.to_json())).collect();
            Envelope::new(1, members).with_losses(losses).to_text()
        }
        TablesForm::Csv => tables.first().map_or(Ok(String::new()), |named| named.table.to_csv()),
        TablesForm::Text(_) | TablesForm::Markdown => {
            let texts: Vec<String> = tables.iter().map(|named| heading(named) + &one(named)).collect();
            Ok(texts.join("\n"))
        }
    }
}

fn number(heading: &'static str, key: &'static str) -> TableColumn {
    TableColumn { key: key.into(), ..TableColumn::number(heading) }
}

fn text(heading: &'static str, key: &'static str) -> TableColumn {
    TableColumn { key: key.into(), ..TableColumn::text(heading) }
}

/// A time for people in milliseconds, for programs in whole nanoseconds.
fn time(nanoseconds: f64) -> TableCell {
    TableCell::new(format!("{} ms", milliseconds(nanoseconds)), whole(nanoseconds))
}

fn share(share: f64) -> TableCell {
    TableCell::new(format!("{:.1} %", 100.0 * share), share)
}

fn count(count: usize) -> TableCell {
    TableCell::new(grouped(count), count as u64)
}

fn bandwidth(gb_per_s: Option<f64>) -> TableCell {
    gb_per_s.map_or_else(TableCell::missing, |it| TableCell::new(format!("{it:.1} GB/s"), it))
}

/// Where steps go; `of` says by what. Of ranks that can't be compared, nothing tells waiting from transfer.
pub fn summary_tables(findings: &Findings, rows: &[SummaryRow], of: &'static str) -> Vec<Named> {
    type Part = fn(&SummaryRow) -> f64;
    let (waiting, bubble): (Part, Part) = (|row| row.waiting_ns, |row| row.bubble_ns);
    let transfer: Part = |row| row.transfer_ns;
    let communication: &[(&'static str, &'static str, Part)] = match findings.incomparable {
        None => &[
            ("waiting", "waiting_ns", waiting),
            ("bubble", "bubble_ns", bubble),
            ("transfer", "transfer_ns", transfer),
        ],
        Some(_) => &[("communication", "communication_ns", transfer)],
    };
    let mut columns = vec![
        TableColumn { key: of.into(), ..TableColumn::text(of) },
        number("ranks", "ranks"),
        number("step", "step_ns"),
        number("computing", "compute_ns"),
    ];
    columns.extend(communication.iter().map(|(heading, key, _)| number(heading, key)));
    columns.extend([
        number("idle", "idle_ns"),
        number("unaccounted", "unaccounted_ns").expendable(),
        number("imbalance", "imbalance"),
        number("costs", "imbalance_ns"),
    ]);
    let mut table = Table::new(columns);
    for row in rows {
        let is_plain = row.unaccounted_ns.abs() < 1e-3 * row.step_ns;
        let unaccounted = match is_plain {
            true => TableCell::new("–", whole(row.unaccounted_ns)),
            false => time(row.unaccounted_ns),
        };
        let spread =
            |cell: TableCell, value: Value| if row.ranks > 1 { cell } else { TableCell::new("–", value) };
        let mut cells = vec![
            row.of.as_deref().map_or_else(TableCell::missing, TableCell::from),
            count(row.ranks),
            time(row.step_ns),
            time(row.compute_ns),
        ];
        cells.extend(communication.iter().map(|(.., part)| time(part(row))));
        cells.extend([
            time(row.idle_ns),
            unaccounted,
            spread(share(row.imbalance), Value::Null),
            spread(time(row.imbalance_ns), Value::Null),
        ]);
        table.row(cells);
    }
    vec![Named { key: "rows", heading: None, table }]
}

/// Collectives by use and type.
pub fn collectives_tables(rows: &[CollectivesRow]) -> Vec<Named> {
    let mut transports: Vec<&'static str> =
        rows.iter().flat_map(|row| row.bandwidth.keys().copied()).collect();
    transports.sort_unstable();
    transports.dedup();
    let mut columns = vec![
        text("group", "role"),
        text("type", "type"),
        number("groups", "groups"),
        number("calls", "calls"),
        number("incomplete", "incomplete").expendable(),
        number("waiting a step", "waiting_ns"),
        number("transfer a step", "transfer_ns"),
        number("bytes", "bytes").expendable(),
    ];
    let of_transport = |name: &&'static str| TableColumn {
        key: format!("{name}_gb_per_s").into(),
        ..TableColumn::number(*name)
    };
    columns.extend(transports.iter().map(of_transport));
    columns.push(text("slowest group", "slowest_group"));
    let mut table = Table::new(columns);
    for row in rows {
        let slowest = row.slowest.as_ref().map_or_else(TableCell::missing, |(ranks, times)| {
            let told = say!("{}: {times:.1} times as long as the median", listed(ranks));
            TableCell::new(told, serde_json::json!({ "ranks": ranks, "times": times }))
        });
        let mut cells = vec![
            TableCell::from(row.role.name()),
            row.kind.name().into(),
            count(row.groups),
            count(row.calls),
            count(row.incomplete),
            time(row.waiting_ns),
            time(row.transfer_ns),
            row.bytes.map_or_else(TableCell::missing, |it| TableCell::new(units::bytes(it as f64), it)),
        ];
        cells.extend(transports.iter().map(|name| bandwidth(row.bandwidth.get(name).copied())));
        cells.push(slowest);
        table.row(cells);
    }
    vec![Named { key: "collectives", heading: None, table }]
}

/// The traffic between ranks.
pub fn matrix_tables(rows: &[MatrixRow]) -> Vec<Named> {
    let columns = [
        number("from", "src"),
        number("to", "dst"),
        text("group", "role"),
        text("type", "type"),
        text("link", "transport"),
        number("bytes", "bytes"),
        number("time", "time_ns"),
        number("bandwidth", "gb_per_s"),
    ];
    let mut table = Table::new(columns);
    for row in rows {
        table.row([
            TableCell::new(row.src.to_string(), row.src),
            TableCell::new(row.dst.to_string(), row.dst),
            row.role.name().into(),
            row.kind.name().into(),
            row.transport.name().into(),
            TableCell::new(units::bytes(row.bytes), amount(row.bytes)),
            time(row.time_ns),
            bandwidth(Some(row.gb_per_s)),
        ]);
    }
    vec![Named { key: "links", heading: None, table }]
}

/// One collective, or those of several pairs under one number: for people a table of each, for programs one of all
/// their parts and one of themselves.
pub fn instance_tables(found: &[InstanceParts], form: TablesForm) -> Vec<Named> {
    match form {
        TablesForm::Text(_) | TablesForm::Markdown => found.iter().map(parts_of_one).collect(),
        TablesForm::Json | TablesForm::Csv => vec![parts_of_all(found), instances_themselves(found)],
    }
}

fn parts_of_one(instance: &InstanceParts) -> Named {
    let mut table = Table::new(part_columns());
    instance.parts.iter().for_each(|part| table.row(part_cells(part)));
    let missing = match instance.missing.is_empty() {
        true => String::new(),
        false => say!("; not recorded: {}", listed(&instance.missing)),
    };
    let heading =
        say!("{} of {} in step {}{missing}", instance.kind.name(), instance.role.name(), instance.step);
    Named { key: "parts", heading: Some(heading), table }
}

fn parts_of_all(found: &[InstanceParts]) -> Named {
    let columns = part_columns().into_iter().chain([number("collective", "instance")]);
    let mut table = Table::new(columns.collect::<Vec<_>>());
    for (place, instance) in found.iter().enumerate() {
        for part in &instance.parts {
            let cells = part_cells(part).into_iter();
            table.row(cells.chain([TableCell::new(place.to_string(), place as u64)]).collect::<Vec<_>>());
        }
    }
    Named { key: "parts", heading: None, table }
}

fn instances_themselves(found: &[InstanceParts]) -> Named {
    let columns = [
        number("collective", "instance"),
        text("group", "role"),
        text("type", "type"),
        number("step", "step"),
        text("not recorded", "missing"),
    ];
    let mut table = Table::new(columns);
    for (place, instance) in found.iter().enumerate() {
        table.row([
            TableCell::new(place.to_string(), place as u64),
            instance.role.name().into(),
            instance.kind.name().into(),
            TableCell::new(instance.step.to_string(), instance.step),
            TableCell::new(listed(&instance.missing), serde_json::json!(instance.missing)),
        ]);
    }
    Named { key: "instances", heading: None, table }
}

fn part_columns() -> [TableColumn; 8] {
    [
        number("rank", "rank"),
        text("place", "place"),
        number("came after", "came_ns"),
        number("waited", "waited_ns"),
        number("transferred", "transfer_ns"),
        number("own work before", "segment_ns"),
        number("typical", "typical_ns"),
        text("", "is_last"),
    ]
}

fn part_cells(part: &PartRow) -> [TableCell; 8] {
    [
        TableCell::new(part.rank.to_string(), part.rank),
        part.place.as_str().into(),
        fine(part.came_ns),
        fine(part.waited_ns),
        fine(part.transfer_ns),
        fine(part.segment_ns as f64),
        fine(part.typical_ns),
        TableCell::new(if part.is_last { word("the others waited for it") } else { "" }, part.is_last),
    ]
}

/// A time that may be microseconds only.
fn fine(nanoseconds: f64) -> TableCell {
    TableCell::new(units::duration(opscope_trace::Nanoseconds(whole(nanoseconds))), whole(nanoseconds))
}

/// The products of experts, those first that lose most, at most so many.
pub fn products_table(found: &Experts, most: usize) -> Named {
    let mut table = Table::new([
        number("group", "group"),
        number("product", "place"),
        number("ranks", "ranks"),
        number("tokens of a rank", "tokens"),
        number("most tokens", "most"),
        number("more than the mean", "imbalance"),
        number("longest", "longest_ns"),
        number("loses at most", "loses_ns"),
    ]);
    let mut products: Vec<&ExpertsProduct> = found.products.iter().collect();
    products
        .sort_by(|a, b| b.loses_ns.total_cmp(&a.loses_ns).then((a.group, a.place).cmp(&(b.group, b.place))));
    for row in products.into_iter().take(most) {
        table.row([
            TableCell::new(row.group.to_string(), row.group as u64),
            TableCell::new(row.place.to_string(), row.place),
            TableCell::new(row.ranks.to_string(), row.ranks as u64),
            TableCell::new(grouped(row.tokens.round() as usize), amount(row.tokens)),
            TableCell::new(say!("rank {}", row.most), row.most),
            share(row.imbalance),
            fine(row.longest_ns),
            fine(row.loses_ns),
        ]);
    }
    Named {
        key: "products",
        heading: Some(word("Products of experts, those first that lose most").to_owned()),
        table,
    }
}

/// Experts by rank, and by group.
pub fn experts_tables(found: &Experts) -> Vec<Named> {
    let columns = [
        number("rank", "rank"),
        number("group", "group"),
        number("products a step", "products"),
        number("tokens a step", "tokens"),
        number("time a step", "time_ns"),
        number("beside its group's mean", "times_mean"),
    ];
    let mut ranks = Table::new(columns);
    for row in &found.ranks {
        ranks.row([
            TableCell::new(row.rank.to_string(), row.rank),
            row.group
                .map_or_else(TableCell::missing, |group| TableCell::new(group.to_string(), group as u64)),
            TableCell::new(format!("{:.0}", row.products), amount(row.products)),
            TableCell::new(grouped(row.tokens.round() as usize), amount(row.tokens)),
            time(row.time_ns),
            row.times_mean.map_or_else(TableCell::missing, |it| TableCell::new(say!("{it:.2} times"), it)),
        ]);
    }
    let columns = [
        number("group", "group"),
        text("ranks", "ranks"),
        text("not recorded", "missing"),
        text("operators not recorded", "without_operators"),
        number("most tokens", "most"),
        number("more than the mean", "imbalance"),
        number("loses a step at most", "loses_ns"),
    ];
    let mut groups = Table::new(columns);
    for (place, row) in found.groups.iter().enumerate() {
        groups.row([
            TableCell::new(place.to_string(), place as u64),
            TableCell::new(listed(&row.ranks), serde_json::json!(row.ranks)),
            TableCell::new(listed(&row.missing), serde_json::json!(row.missing)),
            TableCell::new(listed(&row.without_operators), serde_json::json!(row.without_operators)),
            TableCell::new(say!("rank {}", row.most), row.most),
            row.imbalance.map_or_else(TableCell::missing, share),
            row.loses_ns.map_or_else(TableCell::missing, time),
        ]);
    }
    vec![
        Named { key: "ranks", heading: Some(word("Experts by rank").to_owned()), table: ranks },
        Named { key: "groups", heading: Some(word("By group").to_owned()), table: groups },
    ]
}
