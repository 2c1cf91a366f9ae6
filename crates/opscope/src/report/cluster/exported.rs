//! A run as tables for other programs: ranks, collectives, suspects.

use opscope_reach::{Account, CollectiveType, Findings, StepAccount, instance_bytes};
use serde_json::Value;

use super::suspects::{Asked, all_of, ranks_of, suspects_values};
use super::{Chosen, whole};
use crate::report::table::{Table, TableCell, TableColumn};

/// The tables of chosen ranks and steps, by the names of their files.
pub fn tables(findings: &Findings, chosen: &Chosen) -> [(&'static str, Table); 3] {
    let is_chosen = |index: &usize| {
        let mut ranks = ranks_of(findings, &findings.costs.suspects[*index].who).into_iter();
        chosen.ranks.is_none() || ranks.any(|rank| chosen.has_rank(findings.run.ranks[rank].number))
    };
    let suspects: Vec<usize> = all_of(findings).into_iter().filter(is_chosen).collect();
    let steps = findings.run.steps();
    // The cost of several steps is that of a mean one, which only all of them tell.
    let step = match chosen.steps.as_ref().map(|chosen| Vec::from_iter(chosen.iter())).as_deref() {
        Some([step]) => steps.binary_search(step).ok(),
        _ => None,
    };
    let suspects = suspects_values(findings, &suspects, Asked { step, ..Asked::default() });
    [
        ("ranks", ranks(findings, chosen)),
        ("collectives", collectives(findings, chosen)),
        ("suspects", suspects),
    ]
}

/// A table for programs.
pub fn table(columns: &[&str]) -> Table {
    Table::new(columns.iter().map(|name| TableColumn::number((*name).to_owned())))
}

/// A value for programs.
pub fn value(value: impl Into<Value>) -> TableCell {
    TableCell::new(String::new(), value)
}

/// Where the mean of the chosen steps of each rank goes.
pub fn ranks(findings: &Findings, chosen: &Chosen) -> Table {
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
        "unaccounted_ns",
    ];
    // Nothing tells waiting from transfer of ranks that can't be compared.
    let is_compared = findings.incomparable.is_none();
    let columns = columns.map(|name| match name {
        "transfer_ns" if !is_compared => "communication_ns",
        _ => name,
    });
    let mut table = table(&columns);
    for (index, rank) in findings.run.ranks.iter().enumerate() {
        if !chosen.has_rank(rank.number) {
            continue;
        }
        let (steps, account) = mean_step(findings, index, chosen);
        // Of no step nothing is known.
        let told = |is_known: bool, time: f64| match is_known && steps > 0 {
            true => value(whole(time)),
            false => value(Value::Null),
        };
        let is_known = findings.knows_account(index);
        let part = |time: f64| told(is_known, time);
        let wait = |time: f64| told(is_known && is_compared, time);
        table.row([
            value(rank.number),
            value(findings.run.hosts[rank.host].as_str()),
            rank.device.map_or(value(Value::Null), value),
            value(steps),
            // They are counted in all steps.
            if chosen.steps.is_some() { value(Value::Null) } else { value(rank.operators) },
            rank.frequency_mhz.map_or(value(Value::Null), value),
            told(findings.knows_computing(index), account.compute_ns),
            wait(account.waiting_ns),
            part(account.transfer_ns),
            wait(account.bubble_ns),
            part(account.host_ns),
            part(account.unaccounted_ns),
        ]);
    }
    table
}

/// How many of a rank's steps are chosen, and where their mean goes.
fn mean_step(findings: &Findings, index: usize, chosen: &Chosen) -> (usize, Account) {
    if chosen.steps.is_none() {
        return (findings.run.ranks[index].steps.len(), findings.accounts[index]);
    }
    let mut steps = findings.steps_of(index);
    steps.retain(|step| chosen.has_step(step.step));
    let sum = |part: fn(&StepAccount) -> i64| steps.iter().map(|step| part(step) as f64).sum::<f64>();
    let mean = |part: fn(&StepAccount) -> i64| sum(part) / steps.len().max(1) as f64;
    let (compute_ns, waiting_ns) = (mean(|it| it.compute_ns), mean(|it| it.waiting_ns));
    let (transfer_ns, bubble_ns) = (mean(|it| it.transfer_ns), mean(|it| it.bubble_ns));
    let (host_ns, unaccounted_ns) = (mean(|it| it.idle_ns), mean(StepAccount::unaccounted_ns));
    (steps.len(), Account { compute_ns, waiting_ns, transfer_ns, bubble_ns, host_ns, unaccounted_ns })
}

/// The collectives of chosen ranks and steps in the order in which they began to transfer, by the aligned clocks: what
/// all parts wait, and the mean of what they transfer. Where a rank came last that wasn't recorded, that is inferred.
fn collectives(findings: &Findings, chosen: &Chosen) -> Table {
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
        "inferred",
    ];
    let mut table = table(&columns);
    let run = &findings.run;
    for index in findings.peers.absent.order(run) {
        let instance = &run.instances[index as usize];
        let events = || run.events_of(instance);
        let Some(first) = events().min_by(|a, b| a.start.total_cmp(&b.start)) else { continue };
        let number = |event: &opscope_reach::Event| run.ranks[event.rank as usize].number;
        let is_chosen =
            |event: &opscope_reach::Event| chosen.has_step(event.step) && chosen.has_rank(number(event));
        if !events().any(is_chosen) {
            continue;
        }
        let last = findings.last_part(index).map(|part| number(&run.events[part as usize]));
        let group = &run.groups[instance.group as usize];
        let kind: CollectiveType = first.kind.of_both_sides();
        let waiting: f64 = events().map(|event| findings.waited_ns(event)).sum();
        let whole_ns: f64 = events().map(|event| event.duration_ns as f64).sum();
        // None of them where no profile tells.
        let bytes = instance_bytes(events().map(|event| event.bytes), kind);
        let bytes = Some(bytes).filter(|bytes| *bytes > 0);
        table.row([
            value(first.step),
            value(group.role.name()),
            value(kind.name()),
            value(group.key.to_string()),
            value(first.sequence),
            value(instance.members),
            value(instance.seen),
            value(number(first)),
            last.map_or_else(TableCell::missing, value),
            value(whole(findings.transfer_begin(index))),
            value(whole(waiting)),
            value(whole((whole_ns - waiting) / f64::from(instance.seen.max(1)))),
            bytes.map_or_else(TableCell::missing, value),
            value(findings.is_wait_inferred(index)),
        ]);
    }
    table
}
