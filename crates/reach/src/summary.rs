//! Where steps go, by rank or by what ranks have in common, with how unevenly the work is spread.

use std::collections::BTreeMap;

use crate::Findings;
use crate::discover::Role;

/// The property by which ranks or steps are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Each by itself.
    #[default]
    Rank,
    /// The host.
    Host,
    /// The place in the first group of this use: of a pipeline, the stage.
    Place(Role),
    /// The step.
    Step,
}

/// A line of the summary. Times are means over the steps of its ranks, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct SummaryRow {
    /// The rank, host, place or step; `None` for ranks that have no such place.
    pub of: Option<String>,
    /// How many ranks.
    pub ranks: usize,
    /// How many steps of ranks.
    pub steps: usize,
    /// A step.
    pub step_ns: f64,
    /// Under computing tasks.
    pub compute_ns: f64,
    /// In collectives before the last rank came.
    pub waiting_ns: f64,
    /// In receives before the sender came.
    pub bubble_ns: f64,
    /// In transfers that no computing hides.
    pub transfer_ns: f64,
    /// With neither operators nor collectives on the device.
    pub idle_ns: f64,
    /// The step less all these.
    pub unaccounted_ns: f64,
    /// By how much the rank with the most computing exceeds the mean of these ranks, as a share of the mean.
    pub imbalance: f64,
    /// The same as time: what a step would lose if all waited for that rank.
    pub imbalance_ns: f64,
}

/// The lines in the order of what they are of, without the ranks of which [nothing is known](Findings::knows_account). Where
/// nothing can be compared, transfer is all communication.
pub fn summary(findings: &Findings, by: By) -> Vec<SummaryRow> {
    /// Numbers in their order, names in theirs, what has neither last.
    type Key = (bool, i64, Option<String>);
    /// The sums of a line, and of each of its ranks the computing time and the number of steps.
    type Sums = (SummaryRow, BTreeMap<usize, (f64, f64)>);
    let mut rows: BTreeMap<Key, Sums> = BTreeMap::new();
    for index in (0..findings.run.ranks.len()).filter(|rank| findings.knows_account(*rank)) {
        for step in findings.steps_of(index) {
            let number = |number: Option<i64>| match number {
                Some(number) => (false, number, Some(number.to_string())),
                None => (true, 0, None),
            };
            let rank = &findings.run.ranks[index];
            let key: Key = match by {
                By::Rank => number(Some(i64::from(rank.number))),
                By::Step => number(Some(i64::from(step.step))),
                By::Place(role) => number(place(findings, index, role)),
                By::Host => (false, 0, Some(findings.run.hosts[rank.host].clone())),
            };
            let (row, computing) = rows.entry(key).or_default();
            let of_rank = computing.entry(index).or_default();
            *of_rank = (of_rank.0 + step.compute_ns as f64, of_rank.1 + 1.0);
            row.steps += 1;
            row.step_ns += step.step_ns as f64;
            row.compute_ns += step.compute_ns as f64;
            row.waiting_ns += step.waiting_ns as f64;
            row.bubble_ns += step.bubble_ns as f64;
            row.transfer_ns += step.transfer_ns as f64;
            row.idle_ns += step.idle_ns as f64;
            row.unaccounted_ns += step.unaccounted_ns() as f64;
        }
    }
    let finish = |((_, _, of), (row, computing)): (Key, Sums)| {
        let steps = row.steps.max(1) as f64;
        let means: Vec<f64> = computing.values().map(|(sum, count)| sum / count).collect();
        let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
        let most = means.iter().copied().fold(0.0, f64::max);
        SummaryRow {
            of,
            ranks: computing.len(),
            steps: row.steps,
            step_ns: row.step_ns / steps,
            compute_ns: row.compute_ns / steps,
            waiting_ns: row.waiting_ns / steps,
            bubble_ns: row.bubble_ns / steps,
            transfer_ns: row.transfer_ns / steps,
            idle_ns: row.idle_ns / steps,
            unaccounted_ns: row.unaccounted_ns / steps,
            imbalance: if mean > 0.0 { most / mean - 1.0 } else { 0.0 },
            imbalance_ns: most - mean,
        }
    };
    rows.into_iter().map(finish).collect()
}

/// A rank's place in the first group of a use that it is in.
fn place(findings: &Findings, rank: usize, role: Role) -> Option<i64> {
    let number = findings.run.ranks[rank].number;
    let mut of_role = findings.run.groups.iter().filter(|group| group.role == role);
    of_role.find_map(|group| group.ranks.iter().position(|it| *it == number)).map(|place| place as i64)
}
