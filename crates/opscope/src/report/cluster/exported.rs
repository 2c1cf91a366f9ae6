//! A run as tables for other programs: ranks, collectives, suspects.

use opscope_reach::{CollectiveType, Findings};
use serde_json::Value;

use super::suspects::{Asked, all_of, suspects_values};
use super::whole;
use crate::report::table::{Table, TableCell, TableColumn};

/// The tables by the names of their files.
pub fn tables(findings: &Findings) -> [(&'static str, Table); 3] {
    let suspects = suspects_values(findings, &all_of(findings), Asked::default());
    [("ranks", ranks(findings)), ("collectives", collectives(findings)), ("suspects", suspects)]
}

/// A table for programs.
pub fn table(columns: &[&str]) -> Table {
    Table::new(columns.iter().map(|name| TableColumn::number((*name).to_owned())))
}

/// A value for programs.
pub fn value(value: impl Into<Value>) -> TableCell {
    TableCell::new(String::new(), value)
}

/// Where the mean step of each rank goes.
pub fn ranks(findings: &Findings) -> Table {
    let columns = [
        "rank",
        "host",
        "device",
        "steps",
        "operators",
        "frequency_mhz",
        "compute_ns",
        "waiting_ns",
        "transfer_ns",
        "bubble_ns",
        "host_ns",
    ];
    let mut table = table(&columns);
    for (rank, account) in findings.run.ranks.iter().zip(&findings.accounts) {
        table.row([
            value(rank.number),
            value(findings.run.hosts[rank.host].as_str()),
            rank.device.map_or(value(Value::Null), value),
            value(rank.steps.len()),
            value(rank.operators),
            rank.frequency_mhz.map_or(value(Value::Null), value),
            value(whole(account.compute_ns)),
            value(whole(account.waiting_ns)),
            value(whole(account.transfer_ns)),
            value(whole(account.bubble_ns)),
            value(whole(account.host_ns)),
        ]);
    }
    table
}

/// The collectives in the order in which they began to transfer, by the aligned clocks.
fn collectives(findings: &Findings) -> Table {
    let columns = [
        "step",
        "role",
        "type",
        "group",
        "sequence",
        "ranks",
        "seen",
        "first_rank",
        "last_rank",
        "begin_ns",
        "waiting_ns",
        "transfer_ns",
        "bytes",
    ];
    let mut table = table(&columns);
    let run = &findings.run;
    for instance in &run.instances {
        let events = || run.events_of(instance);
        let first = events().min_by(|a, b| a.start.total_cmp(&b.start));
        let last = events().max_by(|a, b| a.start.total_cmp(&b.start));
        let (Some(first), Some(last)) = (first, last) else { continue };
        let group = &run.groups[instance.group as usize];
        let kind: CollectiveType = first.kind;
        let waiting: f64 = events().map(|event| (instance.begin - event.start).max(0.0)).sum();
        let number = |event: &opscope_reach::Event| run.ranks[event.rank as usize].number;
        table.row([
            value(first.step),
            value(group.role.name()),
            value(kind.name()),
            value(group.key.to_string()),
            value(first.sequence),
            value(instance.members),
            value(instance.seen),
            value(number(first)),
            value(number(last)),
            value(whole(instance.begin)),
            value(whole(waiting)),
            value(whole(instance.tail)),
            value(events().map(|event| event.bytes).max().unwrap_or(0)),
        ]);
    }
    table
}
