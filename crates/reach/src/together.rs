//! Suspects that hide one another: most ranks of a host, or all ranks on which an operator is slow. Without any one of
//! them the others still hold the run up, so that none costs anything by itself.

use std::collections::BTreeMap;

use crate::causes::{Cause, Evidence, OperatorsOf, explain};
use crate::clocks::median;
use crate::peers::Peers;
use crate::read::OperatorKey;
use crate::run::Run;
use crate::suspects::{Costs, Suspect, Trial, Who, of_ranks, sort, suspect};

/// How many hosts, and how many operators, are replayed.
const MOST: usize = 4;

/// How many times the usual excess one must have to stand out.
const STANDS_OUT: f64 = 3.0;

/// Suspects with their evidence.
type Told = Vec<(Suspect, Evidence)>;

/// The run and what is known of its ranks.
struct Ranks<'r> {
    run: &'r Run,
    peers: &'r Peers,
    trial: &'r Trial<'r>,
    operators: &'r OperatorsOf<'r>,
    /// The excess of each rank's work over its peers'.
    excess: Vec<Suspect>,
}

/// Adds hosts and operators whose ranks hide one another. Ranks for which one of them stands are marked.
pub fn add(
    run: &Run,
    peers: &Peers,
    trial: &Trial<'_>,
    operators: &OperatorsOf<'_>,
    costs: &mut Costs,
    evidence: &mut Vec<Evidence>,
) {
    let ranks = Ranks { run, peers, trial, operators, excess: of_ranks(run, peers) };
    let mut told: Told =
        std::mem::take(&mut costs.suspects).into_iter().zip(std::mem::take(evidence)).collect();
    ranks.add(ranks.hosts(), &mut told);
    ranks.add(ranks.slow_operators(&told), &mut told);
    sort(&mut told, |(it, _)| it);
    (costs.suspects, *evidence) = told.into_iter().unzip();
}

impl Ranks<'_> {
    /// Judges candidates and adds those that tell more than their ranks do.
    fn add(&self, mut candidates: Vec<Suspect>, told: &mut Told) {
        self.trial.judge(&mut candidates);
        candidates.retain(|it| self.trial.is_told(it));
        for candidate in candidates {
            let workers = candidate.who.workers(self.run);
            if !hides_its_ranks(&candidate, &workers, told) {
                continue;
            }
            let evidence = self.evidence(&workers, told);
            for (it, _) in told.iter_mut() {
                it.is_within |= !it.is_named && is_one_of(&it.who, &workers);
            }
            told.push((candidate, evidence));
        }
    }

    /// The evidence against several ranks: that against the one with the largest excess.
    fn evidence(&self, workers: &[usize], told: &Told) -> Evidence {
        let excess = |rank: &usize| self.excess[*rank].excess_ns;
        let Some(&worst) = workers.iter().max_by(|a, b| excess(a).total_cmp(&excess(b))) else {
            return Evidence::default();
        };
        let known = told.iter().find(|(it, _)| it.who == Who::Rank(worst)).map(|(_, it)| it.clone());
        let evidence =
            known.unwrap_or_else(|| explain(self.run, self.peers, self.operators, &self.excess[worst]));
        Evidence { of_rank: Some(self.run.ranks[worst].number), ..evidence }
    }

    /// Whether a rank's own work exceeds that of its peers by what would stand out.
    fn is_slow(&self, rank: usize) -> bool {
        self.excess[rank].excess_ns > 2.0 * self.trial.least
    }

    /// Several ranks as a suspect.
    fn suspect(&self, who: Who, ranks: &[usize]) -> Suspect {
        let of = || ranks.iter().map(|rank| &self.excess[*rank]);
        let mean = of().map(|it| it.excess_ns).sum::<f64>() / ranks.len().max(1) as f64;
        let since = of().map(|it| it.since).min().unwrap_or(0);
        suspect(who, mean, since, of().any(|it| it.is_weak))
    }

    /// Hosts more than half of whose ranks are slow, and which stand out among the hosts.
    fn hosts(&self) -> Vec<Suspect> {
        let mut of_hosts: Vec<Vec<usize>> = vec![Vec::new(); self.run.hosts.len()];
        for (rank, it) in self.run.ranks.iter().enumerate() {
            of_hosts[it.host].push(rank);
        }
        let all: Vec<Suspect> =
            of_hosts.iter().enumerate().map(|(host, ranks)| self.suspect(Who::Host(host), ranks)).collect();
        let mut found: Vec<Suspect> = Vec::new();
        for (host, ranks) in of_hosts.iter().enumerate() {
            let slow = ranks.iter().filter(|rank| self.is_slow(**rank)).count();
            let mut others: Vec<f64> =
                all.iter().enumerate().filter(|(it, _)| *it != host).map(|(_, it)| it.excess_ns).collect();
            let is_one = slow >= 2
                && 2 * slow > ranks.len()
                && !others.is_empty()
                && all[host].excess_ns > STANDS_OUT * median(&mut others);
            if is_one {
                found.push(all[host].clone());
            }
        }
        worst(found)
    }

    /// Operators that are the reason of a suspect and that other slow ranks have as well.
    fn slow_operators(&self, told: &Told) -> Vec<Suspect> {
        let mut of_operators: BTreeMap<&OperatorKey, Vec<usize>> = BTreeMap::new();
        for (suspect, evidence) in told {
            let (Who::Rank(rank), Some(operator)) = (&suspect.who, deciding_operator(evidence)) else {
                continue;
            };
            if !suspect.is_within {
                of_operators.entry(operator).or_default().push(*rank);
            }
        }
        if of_operators.is_empty() {
            return Vec::new();
        }
        let is_known = |rank: &usize| told.iter().any(|(it, _)| it.who == Who::Rank(*rank));
        let others: Vec<usize> =
            (0..self.run.ranks.len()).filter(|rank| self.is_slow(*rank) && !is_known(rank)).collect();
        let has = opscope_parallel::map(&others, |rank| {
            let own = (self.operators)(*rank);
            of_operators.keys().map(|operator| own.by_key.contains_key(*operator)).collect::<Vec<bool>>()
        });
        for (place, ranks) in of_operators.values_mut().enumerate() {
            ranks.extend(others.iter().zip(&has).filter(|(_, has)| has[place]).map(|(rank, _)| *rank));
            ranks.sort_unstable();
        }
        let several = of_operators.into_iter().filter(|(_, ranks)| ranks.len() >= 2);
        let one = |(operator, ranks): (&OperatorKey, Vec<usize>)| {
            let who = Who::Operator(operator.clone(), ranks.clone());
            self.suspect(who, &ranks)
        };
        worst(several.map(one).collect())
    }
}

/// The candidates with the largest excess.
fn worst(mut found: Vec<Suspect>) -> Vec<Suspect> {
    found.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
    found.truncate(MOST);
    found
}

/// The operator that explains a suspect.
fn deciding_operator(evidence: &Evidence) -> Option<&OperatorKey> {
    match &evidence.causes.first()?.cause {
        Cause::AiCpu { operator, .. } | Cause::OtherWork { operator, .. } => Some(operator),
        _ => None,
    }
}

fn is_one_of(who: &Who, workers: &[usize]) -> bool {
    matches!(who, Who::Rank(rank) if workers.contains(rank))
}

/// Whether several ranks together cost more than twice what any of them does by itself.
fn hides_its_ranks(candidate: &Suspect, workers: &[usize], told: &Told) -> bool {
    let named = told.iter().filter(|(it, _)| it.is_named && is_one_of(&it.who, workers));
    let largest = named.map(|(it, _)| it.saves_ns).fold(0.0, f64::max);
    match candidate.is_named {
        true => largest < 0.5 * candidate.saves_ns,
        false => largest == 0.0,
    }
}
