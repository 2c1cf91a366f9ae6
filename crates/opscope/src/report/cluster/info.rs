//! The contents of the ranks' collections.

use opscope_reach::Findings;
use opscope_say::{say, word};
use serde_json::{Value, json};

use super::screen::{extent, losses};
use super::{grouped, listed, milliseconds, whole};
use crate::report::{Envelope, Table, TableCell, TableColumn, count};
use crate::terminal::{bold, printable};

/// The ranks, and what their profiles hold.
pub fn ranks_table(findings: &Findings) -> Table {
    let run = &findings.run;
    let mut columns = vec![
        TableColumn::number("rank"),
        TableColumn::text("host"),
        TableColumn::number("device"),
        TableColumn::text("read from"),
        TableColumn::number("steps"),
        TableColumn::number("collectives"),
        TableColumn::number("operators"),
        TableColumn::number("compute a step"),
    ];
    // Nothing tells waits of ranks that can't be compared.
    let is_compared = findings.incomparable.is_none();
    columns.extend(match is_compared {
        true => ["waiting", "bubble"].map(|part| TableColumn::number(part).expendable()),
        false => ["communication", "idle"].map(|part| TableColumn::number(part).expendable()),
    });
    columns.push(TableColumn::text("folder").expendable());
    let mut table = Table::new(columns);
    for (index, rank) in run.ranks.iter().enumerate() {
        let collection = &findings.discovery.collections[index];
        let account = &findings.accounts[index];
        let [first, second] = match is_compared {
            true => [account.waiting_ns, account.bubble_ns],
            false => [account.transfer_ns, account.host_ns],
        };
        let is_known = findings.knows_account(index);
        table.row([
            TableCell::from(rank.number.to_string()),
            run.hosts[rank.host].as_str().into(),
            rank.device.map_or("–".to_owned(), |device| device.to_string()).into(),
            collection.format.name().into(),
            rank.steps.len().to_string().into(),
            grouped(rank.events.len()).into(),
            grouped(rank.operators as usize).into(),
            time(findings.knows_computing(index), account.compute_ns),
            time(is_known, first),
            time(is_known, second),
            collection.folder.display().to_string().into(),
        ]);
    }
    table
}

/// A time for people, if it is known.
fn time(is_known: bool, nanoseconds: f64) -> TableCell {
    match is_known {
        true => format!("{} ms", milliseconds(nanoseconds)).into(),
        false => TableCell::missing(),
    }
}

/// Ranks, groups, clocks and what is missing.
pub fn info_text(findings: &Findings, width: Option<u16>) -> String {
    let run = &findings.run;
    let mut text = String::new();
    if let Some(why) = findings.incomparable {
        text = format!("{}\n{}\n\n", extent(findings), opscope_say::sentence(why.sentence()));
    }
    text.push_str(&ranks_table(findings).to_text(width));
    let missing = findings.missing();
    // The line about ranks that nothing can be compared with has said it.
    if !missing.is_empty() && findings.incomparable.is_none() {
        text.push_str(&say!("\nMissing: {}\n", listed(&missing)));
    }
    text.push_str(&groups(findings));
    if run.hosts.len() > 1 && findings.incomparable.is_none() {
        text.push_str(&format!(
            "\n{}\n{}",
            bold(word("Clocks, beside the first host's")),
            clocks(findings, width)
        ));
    }
    for line in super::losses_lines(&findings.losses) {
        text.push_str(&format!("\n{}", printable(&line)));
    }
    if !findings.losses.is_empty() {
        text.push('\n');
    }
    text
}

/// How many groups of which size there are of each use.
fn groups(findings: &Findings) -> String {
    let mut kinds = std::collections::BTreeMap::new();
    for group in &findings.run.groups {
        *kinds.entry((group.role, group.ranks.len(), group.is_declared, group.unnamed)).or_insert(0_usize) +=
            1;
    }
    type Kind = (opscope_reach::Role, usize, bool, u32);
    let kind = |((role, size, is_declared, unnamed), number): (&Kind, &usize)| {
        let seen = match (is_declared, unnamed) {
            (true, _) => String::new(),
            (false, 0) => word(" (by what was seen)").to_owned(),
            (false, more) => say!(" (by what was seen; {more} more by their links)"),
        };
        say!("{} of {}{seen} for {}", count(*number, "group"), count(*size, "rank"), role.name())
    };
    let kinds: Vec<String> = kinds.iter().map(kind).collect();
    if kinds.is_empty() { String::new() } else { say!("\nGroups: {}\n", kinds.join(", ")) }
}

fn clocks(findings: &Findings, width: Option<u16>) -> String {
    let columns = [
        TableColumn::text("host"),
        TableColumn::number("ahead"),
        TableColumn::number("drift"),
        TableColumn::number("error"),
        TableColumn::number("island"),
    ];
    let mut table = Table::new(columns);
    for host in &findings.clocks.hosts {
        table.row([
            TableCell::from(host.host.as_str()),
            format!("{:.3} ms", host.offset_ns / 1e6).into(),
            match host.is_drift_unknown {
                true => "–".into(),
                false => format!("{:.1} ppm", host.drift_ppm).into(),
            },
            format!("± {:.1} µs", host.error_ns / 1e3).into(),
            (host.island + 1).to_string().into(),
        ]);
    }
    table.to_text(width)
}

/// The account of a rank as far as it is known, which has all communication in one where nothing tells waiting from
/// transfer.
fn account_json(findings: &Findings, rank: usize) -> Value {
    let account = &findings.accounts[rank];
    let compute_ns = findings.knows_computing(rank).then(|| whole(account.compute_ns));
    let part = |nanoseconds: f64| findings.knows_account(rank).then(|| whole(nanoseconds));
    match findings.incomparable {
        None => json!({
            "compute_ns": compute_ns,
            "waiting_ns": part(account.waiting_ns),
            "transfer_ns": part(account.transfer_ns),
            "bubble_ns": part(account.bubble_ns),
            "host_ns": part(account.host_ns),
            "unaccounted_ns": part(account.unaccounted_ns),
        }),
        Some(_) => json!({
            "compute_ns": compute_ns,
            "communication_ns": part(account.transfer_ns),
            "host_ns": part(account.host_ns),
            "unaccounted_ns": part(account.unaccounted_ns),
        }),
    }
}

/// The same for programs.
pub fn info_json(findings: &Findings) -> Envelope<Value> {
    let run = &findings.run;
    let ranks = run.ranks.iter().enumerate().map(|(index, rank)| {
        let collection = &findings.discovery.collections[index];
        json!({
            "rank": rank.number,
            "host": run.hosts[rank.host],
            "device": rank.device,
            "source": collection.folder.display().to_string(),
            "format": collection.format.name(),
            "steps": rank.steps.iter().map(|step| step.step).collect::<Vec<_>>(),
            "collectives": rank.events.len(),
            "operators": rank.operators,
            "frequency_mhz": rank.frequency_mhz,
            "account": account_json(findings, index),
        })
    });
    let groups = run.groups.iter().map(|group| {
        json!({
            "group_key": group.key,
            "role": group.role,
            "ranks": group.ranks,
            "origin": if group.is_declared { "declared" } else { "seen" },
        })
    });
    let answer = json!({
        "ranks": ranks.collect::<Vec<_>>(),
        "incomparable": findings.incomparable,
        "missing": findings.missing(),
        "groups": groups.collect::<Vec<_>>(),
        "clocks": findings.clocks.hosts,
        "shifts": findings.shifts,
        "incomplete": findings.incomplete(),
    });
    Envelope::new(1, answer).with_losses(losses(findings))
}
