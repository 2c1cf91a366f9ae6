//! Suspects that hide one another: most ranks of a host, or all ranks on which an operator is slow. Without any one of
//! them the others still hold the run up, so that none costs anything by itself.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

use opscope_formats::reading::Stop;

use crate::causes::{Cause, DECIDES, Evidence, OperatorsOf, explain};
use crate::clocks::median;
use crate::peers::Peers;
use crate::read::OperatorKey;
use crate::run::Run;
use crate::suspects::{Suspect, Told, Trial, Who, of_ranks, suspect};

/// How many hosts, and how many operators, are replayed.
const MOST: usize = 4;

/// How many times the usual excess one must have to stand out.
const STANDS_OUT: f64 = 3.0;

/// The run and what is known of its ranks.
struct Ranks<'r> {
    run: &'r Run,
    peers: &'r Peers,
    trial: &'r Trial<'r>,
    operators: &'r OperatorsOf<'r>,
    stop: &'r Stop,
    /// The excess of each rank's work over its peers'.
    excess: Vec<Suspect>,
}

/// Adds hosts and operators whose ranks hide one another. Ranks for which one of them stands are marked.
pub fn add(
    run: &Run,
    peers: &Peers,
    trial: &Trial<'_>,
    operators: &OperatorsOf<'_>,
    stop: &Stop,
    told: &mut Told,
) {
    let ranks = Ranks { run, peers, trial, operators, stop, excess: of_ranks(run, peers) };
    ranks.add(ranks.hosts(), told);
    ranks.add(ranks.slow_operators(told), told);
}

impl Ranks<'_> {
    /// Judges candidates and adds those that tell more than their ranks do.
    fn add(&self, candidates: Vec<Suspect>, told: &mut Told) {
        for candidate in self.hiding(candidates, told) {
            let Some(evidence) = self.evidence(&candidate, told) else { continue };
            let workers = candidate.who.workers(self.run);
            for (it, _) in told.iter_mut() {
                it.is_within |= !it.is_named && is_one_of(&it.who, &workers);
            }
            told.push((candidate, evidence));
        }
    }

    /// The candidates that cost more than twice what their ranks do by themselves.
    fn hiding(&self, mut candidates: Vec<Suspect>, told: &Told) -> Vec<Suspect> {
        self.trial.judge(&mut candidates);
        candidates.retain(|it| {
            let workers = it.who.workers(self.run);
            let named = told.iter().filter(|(one, _)| one.is_named && is_one_of(&one.who, &workers));
            let by_themselves: f64 = named.map(|(one, _)| one.saves_ns).sum();
            let hides = if it.is_named { by_themselves < 0.5 * it.saves_ns } else { by_themselves == 0.0 };
            self.trial.is_told(it) && hides
        });
        candidates
    }

    /// The evidence against several ranks: that against the one with the largest excess, which of an operator is one
    /// that it explains. A host is no reason where most of its ranks aren't slow for one and the same: none, then.
    fn evidence(&self, candidate: &Suspect, told: &Told) -> Option<Evidence> {
        let known = |rank: usize| told.iter().find(|(it, _)| it.who == Who::Rank(rank)).map(|(_, it)| it);
        let explained = |rank: usize| {
            let explain = || explain(self.run, self.peers, self.operators, &self.excess[rank]);
            known(rank).cloned().unwrap_or_else(explain)
        };
        let workers = candidate.who.workers(self.run);
        let excess = |rank: &usize| self.excess[*rank].excess_ns;
        let worst = |ranks: &[usize]| ranks.iter().copied().max_by(|a, b| excess(a).total_cmp(&excess(b)));
        let slow: Vec<usize> = workers.iter().copied().filter(|rank| self.is_slow(*rank)).collect();
        let (worst, slow_ranks) = match &candidate.who {
            Who::Operator(operator, _) => {
                let is_typical = |rank: &usize| known(*rank).and_then(deciding_operator) == Some(operator);
                let typical: Vec<usize> = workers.iter().copied().filter(is_typical).collect();
                (worst(&typical), slow.len())
            }
            _ => {
                let alike = of_one_reason(&slow, explained);
                if alike.len() < 2 || 2 * alike.len() <= workers.len() {
                    return None;
                }
                (worst(&alike), alike.len())
            }
        };
        let Some(worst) = worst else { return Some(Evidence::default()) };
        let of_rank = Some(self.run.ranks[worst].number);
        Some(Evidence { of_rank, slow_ranks: Some(slow_ranks), ..explained(worst) })
    }

    /// Whether a rank's own work exceeds that of its peers by what would stand out.
    fn is_slow(&self, rank: usize) -> bool {
        self.excess[rank].excess_ns > 2.0 * self.trial.least
    }

    /// Several ranks as a suspect.
    fn suspect(&self, who: Who, ranks: &[usize]) -> Suspect {
        let of = |rank: &usize| &self.excess[*rank];
        let mean = ranks.iter().map(|rank| of(rank).excess_ns).sum::<f64>() / ranks.len().max(1) as f64;
        // Of a rank that isn't slow, the first step that exceeds its peers' says nothing.
        let slow = || ranks.iter().filter(|rank| self.is_slow(**rank)).map(of);
        let since = slow().map(|it| it.since).min().unwrap_or(0);
        suspect(who, mean, since, slow().any(|it| it.is_weak))
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
            if slow < 2 || 2 * slow <= ranks.len() {
                continue;
            }
            let mut others: Vec<f64> =
                all.iter().enumerate().filter(|(it, _)| *it != host).map(|(_, it)| it.excess_ns).collect();
            if !others.is_empty() && all[host].excess_ns > STANDS_OUT * median(&mut others) {
                found.push(all[host].clone());
            }
        }
        worst(found)
    }

    /// Operators that are the reason of a suspect, and that explain the excess of other slow ranks as well.
    fn slow_operators(&self, told: &Told) -> Vec<Suspect> {
        let is_told = |rank: usize| {
            let on_host = Who::Host(self.run.ranks[rank].host);
            told.iter().any(|(it, _)| it.who == on_host)
        };
        let mut of_operators: BTreeMap<&OperatorKey, Vec<usize>> = BTreeMap::new();
        for (suspect, evidence) in told {
            if let (Who::Rank(rank), Some(operator)) = (&suspect.who, deciding_operator(evidence))
                && !is_told(*rank)
            {
                of_operators.entry(operator).or_default().push(*rank);
            }
        }
        let is_known = |rank: usize| told.iter().any(|(it, _)| it.who == Who::Rank(rank));
        let others: Vec<usize> = (0..self.run.ranks.len())
            .filter(|rank| self.is_slow(*rank) && !is_known(*rank) && !is_told(*rank))
            .collect();
        let found = of_operators.into_iter().map(|(operator, ranks)| {
            let alike =
                |rank: &usize| ranks.iter().any(|it| self.peers.class[*it] == self.peers.class[*rank]);
            let others: Vec<usize> = others.iter().copied().filter(alike).collect();
            self.with_others(operator, ranks, &others, told)
        });
        worst(
            found.filter(|ranks| ranks.1.len() >= 2).map(|(who, ranks)| self.suspect(who, &ranks)).collect(),
        )
    }

    /// The ranks that an operator slows: those that are known, and of their slow peers those whose excess it explains.
    fn with_others(
        &self,
        operator: &OperatorKey,
        mut ranks: Vec<usize>,
        others: &[usize],
        told: &Told,
    ) -> (Who, Vec<usize>) {
        let who = |ranks: &[usize]| Who::Operator(operator.clone(), ranks.to_vec());
        let all = [&ranks, others].concat();
        // Their operators are read only where that can tell anything: without all of them the run would be quicker.
        if !others.is_empty() && !self.hiding(vec![self.suspect(who(&all), &all)], told).is_empty() {
            let explains = opscope_parallel::map(others, |rank| {
                let steps = self.run.ranks[*rank].kept_steps();
                let time =
                    || (self.operators)(*rank).by_key.get(operator).map(|it| it.total_ns as f64 / steps);
                !self.stop.is_wanted()
                    && time().is_some_and(|time| time >= DECIDES * self.excess[*rank].excess_ns)
            });
            ranks
                .extend(others.iter().zip(explains).filter(|(_, explains)| *explains).map(|(rank, _)| *rank));
        }
        ranks.sort_unstable();
        (who(&ranks), ranks)
    }
}

/// The most of some ranks whose first reason is of one kind.
fn of_one_reason(ranks: &[usize], explained: impl Fn(usize) -> Evidence + Sync) -> Vec<usize> {
    let evidence = opscope_parallel::map(ranks, |rank| explained(*rank));
    let kinds: Vec<Option<Discriminant<Cause>>> =
        evidence.iter().map(|it| it.causes.first().map(|it| discriminant(&it.cause))).collect();
    let alike = |kind: &Option<Discriminant<Cause>>| -> Vec<usize> {
        let of_kind = ranks.iter().zip(&kinds).filter(|(_, other)| *other == kind);
        of_kind.map(|(rank, _)| *rank).collect()
    };
    kinds.iter().map(alike).max_by_key(Vec::len).unwrap_or_default()
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
