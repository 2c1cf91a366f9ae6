//! The suspects in a table, and one of them with its evidence.

use opscope_reach::{Findings, LARGEST_ERROR, Suspect, Who};
use opscope_say::{say, word};
use serde_json::{Value, json};

use super::reason::{of_cause, sentence};
use super::screen::losses;
use super::{listed, milliseconds, whole};
use crate::report::{Envelope, Table, TableCell, TableColumn};
use crate::terminal::{bold, dim, printable};

/// The name of a suspect where there is none.
const NOBODY: &str = "no rank and no link";

/// All suspects.
pub fn suspects_text(findings: &Findings, width: Option<u16>) -> String {
    match findings.costs.suspects.len() {
        0 => innocent_text(findings, NOBODY),
        all => table(findings, 0..all, width),
    }
}

/// Someone who costs nothing that can be told.
pub fn innocent_text(findings: &Findings, who: &str) -> String {
    let costs = &findings.costs;
    if costs.replay_error > LARGEST_ERROR {
        let off = 100.0 * costs.replay_error;
        return say!(
            "No costs are told: the run, replayed as it is, differs by {off:.1} % from what was measured.\n"
        );
    }
    let noise = 100.0 * costs.noise_ns / costs.step_ns;
    match who == NOBODY {
        true => say!("No rank and no link stands out; the step's own noise is ± {noise:.1} %.\n"),
        false => say!("Nothing stands out about {who}; the step's own noise is ± {noise:.1} %.\n"),
    }
}

/// A table of suspects; those that others hide have no number.
pub fn table(findings: &Findings, chosen: std::ops::Range<usize>, width: Option<u16>) -> String {
    let columns = [
        TableColumn::number("#"),
        TableColumn::text("who"),
        TableColumn::number("costs a step"),
        TableColumn::number("alone").expendable(),
        TableColumn::text("since").expendable(),
        TableColumn::text("why"),
    ];
    let mut table = Table::new(columns);
    for index in chosen {
        table.row(cells(findings, index).map(TableCell::from));
    }
    table.to_text(width)
}

/// A suspect's cells: number, who, costs a step, alone, since, why.
pub fn cells(findings: &Findings, index: usize) -> [String; 6] {
    let suspect = &findings.costs.suspects[index];
    let mut why = sentence(&findings.evidence[index]);
    if !suspect.is_named {
        why.push_str(word("; hidden by others"));
    }
    if suspect.is_weak {
        why.push_str(word("; it has too few peers for certainty"));
    }
    [
        number(findings, index),
        opscope_say::sentence(&findings.name_of(&suspect.who)).into_owned(),
        format!("{} ms", milliseconds(suspect.saves_ns.max(0.0))),
        format!("{} ms", milliseconds(suspect.alone_ns.max(0.0))),
        say!("step {}", suspect.since),
        why,
    ]
}

/// A suspect's number: those whose intervals overlap share one.
fn number(findings: &Findings, index: usize) -> String {
    let suspects = &findings.costs.suspects;
    if !suspects[index].is_named {
        return "–".to_owned();
    }
    let ties = |a: &Suspect, b: &Suspect| match (a.interval_ns, b.interval_ns) {
        (Some((low, _)), Some((_, high))) => low <= high,
        _ => false,
    };
    let mut first = index;
    while first > 0 && ties(&suspects[first - 1], &suspects[first]) {
        first -= 1;
    }
    (first + 1).to_string()
}

/// A difference of an operator that is told, in nanoseconds a step: less would show as nothing.
const LEAST_TOLD: f64 = 5e4;

/// A suspect with its evidence.
pub fn suspect_text(findings: &Findings, index: usize, width: Option<u16>) -> String {
    let (suspect, evidence) = (&findings.costs.suspects[index], &findings.evidence[index]);
    let name = findings.name_of(&suspect.who);
    let mut text = say!(
        "{} costs a step {} ms; alone it would cost {} ms\n",
        bold(&printable(&opscope_say::sentence(&name))),
        bold(&milliseconds(suspect.saves_ns.max(0.0))),
        milliseconds(suspect.alone_ns.max(0.0))
    );
    let exceeds = match suspect.who {
        Who::Rank(_) => word("Its own work exceeds that of its peers"),
        _ => word("Its transfers exceed those of its like"),
    };
    let peers = match evidence.peers.is_empty() {
        true => String::new(),
        false => say!(" (compared with {})", listed(&evidence.peers)),
    };
    let excess = milliseconds(suspect.excess_ns);
    text.push_str(&say!("{exceeds} by {excess} ms a step{peers}\n"));
    for explanation in &evidence.causes {
        let explained = match explanation.explains_ns > 0.0 {
            true => format!("{} ms: ", milliseconds(explanation.explains_ns)),
            false => String::new(),
        };
        text.push_str(&format!("  {explained}{}\n", of_cause(&explanation.cause)));
    }
    if !evidence.differences.is_empty() {
        let columns = [
            TableColumn::number("than on peers"),
            TableColumn::text("operator"),
            TableColumn::text("type"),
            TableColumn::text("unit"),
            TableColumn::number("a step"),
            TableColumn::text("on peers"),
        ];
        let mut table = Table::new(columns);
        let told = evidence.differences.iter().filter(|it| it.excess_ns.abs() >= LEAST_TOLD);
        for it in told {
            let sign = if it.excess_ns > 0.0 { "+" } else { "" };
            table.row([
                TableCell::from(format!("{sign}{} ms", milliseconds(it.excess_ns))),
                it.operator.name.as_str().into(),
                it.operator.op_type.as_str().into(),
                it.operator.unit.as_str().into(),
                format!("{:.0}", it.count).into(),
                if it.is_on_peers { "yes" } else { "no" }.into(),
            ]);
        }
        text.push_str(&format!("\n{}", table.to_text(width)));
    }
    if evidence.differences.iter().any(|it| it.operator.is_on_ai_cpu()) {
        text.push_str(&dim(word(
            "\nWhy operators run on the AI CPU, and what to do: opscope advise --explain A04\n",
        )));
    }
    text
}

/// Suspects for programs.
pub fn suspects_json(findings: &Findings, chosen: impl Iterator<Item = usize>) -> Envelope<Value> {
    let suspects: Vec<Value> = chosen.map(|index| suspect_json(findings, index)).collect();
    let costs = &findings.costs;
    let answer =
        json!({ "step_ns": whole(costs.step_ns), "noise_ns": whole(costs.noise_ns), "suspects": suspects });
    Envelope::new(1, answer).with_losses(losses(findings))
}

/// A suspect for programs.
pub fn suspect_json(findings: &Findings, index: usize) -> Value {
    let suspect = &findings.costs.suspects[index];
    let number = |rank: usize| findings.run.ranks[rank].number;
    let (kind, rank, src, dst) = match &suspect.who {
        Who::Rank(rank) => ("rank", Some(number(*rank)), None, None),
        Who::Link(link) => match link.dst {
            Some(dst) => ("link", None, Some(number(link.src)), Some(number(dst))),
            None => ("port", Some(number(link.src)), None, None),
        },
        Who::Group(_) => ("group", None, None, None),
    };
    json!({
        "kind": kind,
        "name": findings.name_of(&suspect.who),
        "rank": rank,
        "src": src,
        "dst": dst,
        "named": suspect.is_named,
        "weak": suspect.is_weak,
        "saves_ns": whole(suspect.saves_ns),
        "low_ns": suspect.interval_ns.map(|it| whole(it.0)),
        "high_ns": suspect.interval_ns.map(|it| whole(it.1)),
        "alone_ns": whole(suspect.alone_ns),
        "excess_ns": whole(suspect.excess_ns),
        "since_step": suspect.since,
        "evidence": findings.evidence[index],
    })
}
