//! Many ranks: which rank or link costs a step of all of them how much, and why.
//!
//! A run on many devices is as fast as its slowest rank or link, but most of what looks slow only waits. So ranks
//! aren't judged by their times in collectives: these are matched across ranks, the hosts' clocks laid upon one
//! another, and the run is replayed with one rank's own work, or one link's transfers, as short as those of its
//! peers. What the replay saves is what that rank or link costs.
//!
//! ```no_run
//! let paths = ["profiling_data".into()];
//! let findings = opscope_reach::examine(&paths, &Default::default(), &|_| {})?;
//! for suspect in findings.costs.suspects.iter().filter(|suspect| suspect.is_named) {
//!     println!("{}: {} ms a step", findings.name_of(&suspect.who), suspect.saves_ns / 1e6);
//! }
//! # Ok::<(), opscope_reach::ReachError>(())
//! ```
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! examine (here)                       the whole way, from folders to findings
//! together   chain   held              suspects that hide one another; what ends a step last; who waits for one
//! tokens                               what balancing experts costs the ranks that had too few
//! causes                               why a suspect is slow, by its operators beside its peers'
//! suspects                             whom to replay without, and what that saves
//! step_lengths   slow_classes          where steps begin and end; peers that all run at a lower frequency than others
//! links   account   replay   noise     slow links; where a step goes; the run with other values; chance
//! peers                                ranks that do the same, and what is typical of them
//! predecessors   absent                what an event waits for on its peers; when those came that weren't recorded
//! typical_work   hidden_work           how long work would take on peers; work done while collectives held a rank up
//! typical_transfers                    how long transfers of a kind take, in each step
//! slots   typical                      places of collectives in a step; what is typical of values
//! comparable                           collectives matched, steps agreed on, and what can't be compared left out
//! strangers   separate_clocks          ranks of another run; clocks that aren't their host's
//! steps_of_others   cut_steps          steps that a rank doesn't tell, or numbers otherwise, or lost most of
//! foreign_links   other_times          traffic of groups that a rank isn't in; ranks recorded at another time
//! clocks   matching   relative         hosts' clocks; which parts belong to one collective; differences of two ranks
//! run   gathered                       all ranks side by side; the parts of those that were read so far
//! profiles                             where they are read from: folders, or a set
//! set                                  the ranks of a run in Parquet files
//! doubles                              ranks that were recorded twice
//! read                                 a rank, reduced to collectives and the work between them
//! discover                             the collections of ranks below folders
//! rows   database   error              rows of a rank; access to the vendor's databases; losses
//! ```

mod absent;
mod account;
mod causes;
mod chain;
mod clocks;
mod collectives;
mod comparable;
mod cut_steps;
pub mod database;
mod discover;
mod doubles;
mod error;
mod experts;
mod foreign_links;
mod gathered;
mod held;
mod hidden_work;
mod host_gaps;
mod inferred_steps;
mod json_tree;
mod links;
mod lone_groups;
mod matching;
mod members;
mod noise;
mod other_times;
mod peers;
mod predecessors;
mod profiles;
mod queries;
mod read;
mod relative;
mod replay;
mod rows;
mod run;
mod separate_clocks;
mod set;
mod slots;
mod slow_classes;
mod slow_groups;
mod step_lengths;
mod step_stretch;
mod steps_of_others;
mod strangers;
mod summary;
mod suspects;
#[cfg(test)]
mod tests;
mod together;
mod tokens;
mod typical;
mod typical_transfers;
mod typical_work;
mod uneven_steps;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use comparable::Comparable;
use opscope_formats::reading::Stop;

pub use account::{Account, IdealBubble, StepAccount};
pub use causes::{Cause, Difference, Evidence, Explanation};
pub use chain::{Arrivals, Chain, Share, arrivals, chain};
pub use clocks::{Clocks, HostClock};
pub use collectives::{
    CollectivesFilter, CollectivesRow, InstanceParts, MatrixRow, PartRow, Standing, collectives, group_of,
    instance_bytes, instances, matrix, standings,
};
pub use discover::collected::OtherOption;
pub use discover::{
    Collection, Discovery, Group, Outputs, Role, discover, discover_of_any_job, group_key, key_of_text,
};
pub use error::{Advice, Loss, LossReason, ReachError};
pub use experts::{ExpertRow, ExpertRows, Experts, ExpertsGroup, ExpertsProduct, ExpertsRow, experts};
pub use held::Held;
pub use links::{Ends, SlowLink, ToUnrecorded};
pub use matching::Shift;
pub use peers::Peers;
pub use profiles::Profiles;
pub use queries::{Dialect, QUERIES, Query, RunTables, TABLES, for_duckdb, is_question, without_comments};
pub use read::OperatorKey;
pub use rows::{CollectiveType, FinishRow, LinkRow, StepRow, Transport};
pub use run::{Event, Instance, Rank, Run, RunGroup};
pub use set::catalog::SetTable;
pub use set::import::{ImportOptions, Imported, Shard, import};
pub use set::manifest::{Keep, has_several_runs};
pub use set::open::Set;
pub use set::{SetError, is_run_name, is_set};
pub use slow_classes::SlowClass;
pub use summary::{By, SummaryRow, summary};
pub use suspects::{Costs, LARGEST_ERROR, Suspect, Unrecorded, Who};

/// A stage of the work, for those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Folders are listed.
    Looking,
    /// Ranks are read: how many are done, and how many there are.
    Reading(usize, usize),
    /// Collectives are matched and clocks aligned.
    Matching,
    /// The run is replayed.
    Replaying,
    /// Suspects' operators are compared with their peers'.
    Explaining,
}

/// Why nothing of a run's ranks can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Incomparable {
    /// There is a single rank.
    SingleRank,
    /// No rank has collectives, which Ascend's profilers record from a level on.
    NoCollectives,
    /// The same where no such level is known to help.
    #[serde(rename = "no_collectives")]
    NoneRecorded,
    /// No collective tells its group.
    NoGroups,
    /// No collective of a rank's is another's as well.
    NoCounterpart,
}

impl Incomparable {
    /// The reason of a run none of whose collectives has a counterpart.
    fn of(run: &Run, advice: Advice) -> Self {
        match advice {
            _ if run.ranks.len() == 1 => Self::SingleRank,
            _ if !run.events.is_empty() => Self::NoCounterpart,
            Advice::Level => Self::NoCollectives,
            Advice::Groups => Self::NoGroups,
            Advice::AllRanks => Self::NoneRecorded,
        }
    }

    /// It in words, for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::SingleRank => {
                "nothing can be compared: this is a single rank, and how much of its communication is waiting only the other \
                 ranks of the run tell"
            }
            Self::NoCollectives => {
                "nothing can be compared: no rank has collectives, which the profiler level Level1 and above record"
            }
            Self::NoneRecorded => "nothing can be compared: no rank has collectives",
            Self::NoGroups => {
                "nothing can be compared: no collective of these ranks tells its group, without which none is matched; \
                 timelines of newer versions of PyTorch tell it"
            }
            Self::NoCounterpart => {
                "nothing can be compared: no collective of these ranks has a counterpart on another rank, so that nothing tells \
                 how much of their communication is waiting"
            }
        }
    }
}

/// All that is found of a run.
#[derive(Debug)]
pub struct Findings {
    /// Why nothing could be compared: there are no peers, costs and suspects then, and what computing doesn't hide in
    /// collectives counts as transfer as a whole in accounts. `None` as a rule.
    pub incomparable: Option<Incomparable>,
    /// The collections.
    pub discovery: Discovery,
    /// The ranks side by side.
    pub run: Run,
    /// Ranks that do the same, and what is typical of them.
    pub peers: Peers,
    /// The hosts' clocks.
    pub clocks: Clocks,
    /// Ranks whose collectives were numbered otherwise.
    pub shifts: Vec<Shift>,
    /// Costs and suspects.
    pub costs: Costs,
    /// Why each suspect is one, in their order.
    pub evidence: Vec<Evidence>,
    /// Where each rank's mean step goes, [as far as it is known](Findings::knows_account).
    pub accounts: Vec<Account>,
    /// Losses and doubts.
    pub losses: Vec<Loss>,
}

impl Findings {
    /// The ranks that the run has and of which nothing was recorded: no collection is of them, or its files are empty.
    pub fn missing(&self) -> Vec<u32> {
        let empty = self.run.ranks.iter().filter(|rank| rank.is_empty()).map(|rank| rank.number);
        let missing: BTreeSet<u32> = self.discovery.missing().into_iter().chain(empty).collect();
        missing.into_iter().collect()
    }

    /// Where a step goes, as the mean over ranks in each step, of which each weighs the same.
    pub fn account(&self) -> Account {
        account::mean(&self.run, &self.peers.absent)
    }

    /// Whether it is known where the time of a rank goes, which is given by its index: one without steps or collectives
    /// waits at unknown times, or in none. Of ranks that can't be compared no wait is told in any case.
    pub fn knows_account(&self, rank: usize) -> bool {
        match self.incomparable {
            None => self.run.counts(rank),
            Some(_) => !self.run.ranks[rank].steps.is_empty(),
        }
    }

    /// Whether it is known how long a rank computes, which is given by its index: of one without collectives as well, if it
    /// does in each of its steps and nothing of it was cut.
    pub fn knows_computing(&self, rank: usize) -> bool {
        let of_rank = &self.run.ranks[rank];
        let computes = |step: &StepRow| of_rank.compute_ns.get(&step.step).is_some_and(|time| *time > 0);
        let is_cut = |loss: &Loss| loss.rank == Some(of_rank.number) && loss.reason == LossReason::Damaged;
        self.knows_account(rank)
            || !of_rank.steps.is_empty()
                && of_rank.steps.iter().all(computes)
                && !self.losses.iter().any(is_cut)
    }

    /// Whether nothing was recorded of a rank, which is given by its number.
    fn nothing_is_known_of(&self, number: u32) -> bool {
        self.run.rank_of(number).is_none_or(|rank| self.run.ranks[rank].is_empty())
    }

    /// The bubble that the pipeline can't avoid, where there is one and its micro-batches can be counted.
    pub fn ideal_bubble(&self) -> Option<IdealBubble> {
        account::ideal_bubble(&self.run)
    }

    /// Where each step of a rank goes, by the rank's index.
    pub fn steps_of(&self, rank: usize) -> Vec<StepAccount> {
        account::of_steps(&self.run, &self.peers.absent, rank)
    }

    /// Who waits because of a suspect, by its place, in some steps, by their places among the run's.
    pub fn held_by(&self, suspect: usize, steps: &[usize]) -> Vec<Held> {
        let Some(suspect) = self.costs.suspects.get(suspect) else { return Vec::new() };
        let without = suspects::Trial::new(&self.run, &self.peers).without(suspect);
        let all = self.run.steps();
        let steps = steps.iter().filter_map(|step| all.get(*step).copied()).collect();
        held::held_by(&self.run, &self.peers, &suspect.who, &without, &steps)
    }

    /// The suspect that costs most once another one, by its place, is as its peers, and how much, in nanoseconds a step, in
    /// some steps, by their places among the run's; `None` if none stands out then.
    pub fn next_hindrance(&self, suspect: usize, steps: &[usize]) -> Option<(usize, f64)> {
        let trial = suspects::Trial::new(&self.run, &self.peers);
        trial.next_hindrance(&self.costs.suspects, suspect, steps)
    }

    /// The time that a step would save without all of those suspects that others hide, in nanoseconds, where nobody is
    /// named: they may hide one another. `None` if that doesn't stand out either.
    pub fn hidden_together_ns(&self) -> Option<f64> {
        let suspects = &self.costs.suspects;
        if suspects.len() < 2 || suspects.iter().any(|it| it.is_named) {
            return None;
        }
        let trial = suspects::Trial::new(&self.run, &self.peers);
        let all: Vec<usize> = (0..suspects.len()).collect();
        Some(trial.saves_together(suspects, &all)).filter(|saves_ns| *saves_ns > trial.least)
    }

    /// The ranks of which no other does the same: their work can't be compared but from step to step. None are those whose
    /// collectives weren't recorded, or were left out as another run's: nothing of them is compared, and a loss says why.
    pub fn without_peers(&self) -> Vec<u32> {
        let ranks = self.run.ranks.iter().zip(&self.peers.class);
        let is_alone = |class: u32| self.run.ranks.len() > 1 && self.peers.sizes[class as usize] == 1;
        ranks
            .filter(|(rank, class)| !rank.events.is_empty() && is_alone(**class))
            .map(|(rank, _)| rank.number)
            .collect()
    }

    /// Ranks that do the same and all run at a lower frequency than others.
    pub fn slow_classes(&self) -> Vec<SlowClass> {
        slow_classes::find(&self.run, &self.peers)
    }

    /// How many collectives lack a rank's part.
    pub fn incomplete(&self) -> usize {
        self.run.instances.iter().filter(|instance| !instance.is_complete()).count()
    }

    /// The parts in collectives that have a counterpart on another rank.
    pub fn matched(&self) -> usize {
        self.run.instances.iter().filter(|it| it.seen > 1).map(|it| it.seen as usize).sum()
    }

    /// A suspect's name, such as `rank 49 (host6:1)` or `link 0 → 28 (RDMA)`.
    pub fn name_of(&self, who: &Who) -> String {
        let number = |rank: usize| self.run.ranks[rank].number;
        match who {
            Who::Rank(rank) => format!("rank {} ({})", number(*rank), self.run.place(*rank)),
            Who::Link(link) => {
                let host = |host: usize| &self.run.hosts[host];
                let by = link.transport.name();
                match link.ends {
                    Ends::Pair(src, dst) => format!("link {} → {} ({by})", number(src), number(dst)),
                    Ends::PortOut(rank) => format!("port of rank {} ({by})", number(rank)),
                    Ends::PortIn(rank) => format!("port into rank {} ({by})", number(rank)),
                    Ends::AdapterOut(from) => format!("adapter of {} ({by})", host(from)),
                    Ends::AdapterIn(to) => format!("adapter into {} ({by})", host(to)),
                    Ends::Path(from, to) => format!("path {} → {} ({by})", host(from), host(to)),
                }
            }
            Who::Host(host) => format!("host {}", self.run.hosts[*host]),
            Who::Operator(operator, ranks) => {
                format!("operator {} on {} ranks", operator.called(), ranks.len())
            }
            Who::Unrecorded(it) => match &it.ranks[..] {
                [rank]
                    if self.run.rank_of(*rank).is_some_and(|it| !self.run.ranks[it].cut_steps.is_empty()) =>
                {
                    format!("rank {rank} (most of its collectives were lost)")
                }
                [rank]
                    if self
                        .run
                        .rank_of(*rank)
                        .is_some_and(|it| !self.run.ranks[it].steps_of_few.is_empty()) =>
                {
                    format!("rank {rank} (recorded in other steps)")
                }
                // Of a rank that was recorded without them, the rest is known.
                [rank] if self.run.rank_of(*rank).is_some_and(|it| self.run.ranks[it].operators > 0) => {
                    format!("rank {rank} (no collectives recorded)")
                }
                [rank] => format!("rank {rank} (not recorded)"),
                ranks if ranks.iter().all(|rank| self.nothing_is_known_of(*rank)) => {
                    format!("one of ranks {} (not recorded)", some_of(ranks))
                }
                ranks => format!("one of ranks {} (no collectives recorded)", some_of(ranks)),
            },
            Who::Group(group) => {
                let group = &self.run.groups[*group as usize];
                format!("{} group of {}", group.role.name(), some_of(&group.ranks))
            }
        }
    }
}

/// The first few of some ranks.
fn some_of(ranks: &[u32]) -> String {
    let first: Vec<String> = ranks.iter().take(3).map(u32::to_string).collect();
    let more = if ranks.len() > 3 { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

/// Whoever waits, and is told of stages.
pub type Progress<'p> = dyn Fn(Stage) + Sync + 'p;

/// Whether a path holds many ranks: it is a set, or several collections lie below it. A single collection is a
/// profile like any other.
pub fn holds_ranks(path: &Path) -> bool {
    is_set(path) || path.is_dir() && discover::holds_several(path)
}

/// Finds the collections below some folders, or the ranks of a set, and finds out who holds up whom.
///
/// # Errors
/// When there are no collections, nothing in them can be compared, or `stop` is wanted.
pub fn examine(paths: &[PathBuf], stop: &Stop, progress: &Progress<'_>) -> Result<Findings, ReachError> {
    progress(Stage::Looking);
    examine_profiles(&Profiles::open(paths, None)?, stop, progress)
}

/// The memory in bytes that is meant for large columns of ranks: a few steps of some hundred ranks fit, and more lie in
/// files, so that any number of ranks and steps takes about as much.
pub const COLUMNS_IN_MEMORY: usize = 128 << 20;

/// Reads ranks one by one and finds out who holds up whom.
///
/// # Errors
/// When nothing can be compared, or `stop` is wanted.
pub fn examine_profiles(
    profiles: &Profiles,
    stop: &Stop,
    progress: &Progress<'_>,
) -> Result<Findings, ReachError> {
    let findings = survey_profiles(profiles, stop, progress)?;
    if findings.incomparable.is_none() {
        return Ok(findings);
    }
    let losses = &findings.losses;
    // A loss says more of that than a remark.
    let lost = losses.iter().find(|loss| loss.reason.severity() == "lost");
    let why = lost.or(losses.first()).map_or(String::new(), |loss| {
        format!(" (one of {}: {}: {})", losses.len(), loss.source, loss.reason.sentence())
    });
    let advice = advice(&findings.discovery, losses);
    Err(ReachError::NothingMatched { ranks: findings.run.ranks.len(), advice, why })
}

/// A word on what ranks without a collective in common may lack: by what they were recorded with, and what is lost of them.
fn advice(discovery: &Discovery, losses: &[Loss]) -> Advice {
    // Databases of opscope's are made of any profiles.
    let is_of_ascend =
        |it: &Collection| !matches!(it.format, discover::Format::Timeline | discover::Format::Own);
    match () {
        () if discovery.collections.iter().any(is_of_ascend) => Advice::Level,
        () if losses.iter().any(|loss| loss.reason == LossReason::Ungrouped) => Advice::Groups,
        () => Advice::AllRanks,
    }
}

/// As [`examine_profiles`], also of ranks that can't be compared: for what needs no counterpart on another rank. The findings
/// say then why not.
///
/// # Errors
/// When a set keeps no collectives, or can't be read, or `stop` is wanted.
pub fn survey_profiles(
    profiles: &Profiles,
    stop: &Stop,
    progress: &Progress<'_>,
) -> Result<Findings, ReachError> {
    let (run, losses) = profiles.side_by_side(stop, progress)?;
    let discovery = Discovery { losses: Vec::new(), ..profiles.discovery().clone() };
    progress(Stage::Matching);
    let Comparable { mut run, is_matched, shifts, mut losses } = Comparable::of(&discovery, run, losses);
    if !is_matched {
        if matches!(profiles, Profiles::Set(set) if set.keep() == Keep::Summary) {
            return Err(ReachError::SummaryOnly);
        }
        if stop.is_wanted() {
            return Err(ReachError::Interrupted);
        }
        return Ok(incomparable(discovery, run, shifts, losses));
    }
    let clocks = clocks::align(&run);
    let hosts: Vec<usize> = run.ranks.iter().map(|rank| rank.host).collect();
    matching::time_instances(&mut run, |rank, time| clocks.align(hosts[rank], time));
    let peers = peers::find(&mut run);
    losses.extend(links::losses_of(&links::slow_to_unrecorded(&run)));
    progress(Stage::Replaying);
    if stop.is_wanted() {
        return Err(ReachError::Interrupted);
    }
    let mut trial = suspects::Trial::new(&run, &peers);
    let mut costs = suspects::find(&run, &peers, &trial);
    losses.extend(steps_apart(&run, costs.step_ns));
    losses.extend(between_steps(&trial.times_between_steps(), costs.step_ns));
    progress(Stage::Explaining);
    let lost = Mutex::default();
    let operators = |rank: usize| profiles.operators(&run, rank, &lost);
    let explain = |suspect: &Suspect| causes::explain(&run, &peers, &operators, suspect);
    let evidence: Vec<Evidence> = stop.within(&costs.suspects).map(explain).collect();
    if stop.is_wanted() {
        return Err(ReachError::Interrupted);
    }
    let mut told: suspects::Told = std::mem::take(&mut costs.suspects).into_iter().zip(evidence).collect();
    told.retain(|(it, evidence)| !evidence.is_without_reason() || trial.is_told_without_reason(it));
    // A rank of which nothing is known but a cost that others hide isn't worth a word.
    told.retain(|(it, _)| it.is_named || !matches!(it.who, Who::Unrecorded(_)));
    tokens::spread(&run, &peers, &mut trial, &operators, stop, &mut told);
    costs.reachable_ns = trial.reachable_ns();
    together::add(&run, &peers, &trial, &operators, stop, &mut told);
    if stop.is_wanted() {
        return Err(ReachError::Interrupted);
    }
    suspects::sort(&mut told);
    tell_what_is_not_kept(profiles, &run, &mut told);
    let evidence;
    (costs.suspects, evidence) = told.into_iter().unzip();
    losses.extend(lost.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    // Operators of a rank may be read more than once, and by any thread first.
    profiles::sort_losses(&mut losses);
    let accounts = account::of_ranks(&run, &peers.absent);
    let incomparable = None;
    Ok(Findings { incomparable, discovery, run, peers, clocks, shifts, costs, evidence, accounts, losses })
}

/// The findings about ranks none of whose collectives has a counterpart: each by its own clock, or its host's.
fn incomparable(discovery: Discovery, mut run: Run, shifts: Vec<Shift>, losses: Vec<Loss>) -> Findings {
    let clocks = clocks::align(&run);
    let hosts: Vec<usize> = run.ranks.iter().map(|rank| rank.host).collect();
    matching::time_instances(&mut run, |rank, time| clocks.align(hosts[rank], time));
    let peers = Peers::default();
    let accounts = account::of_ranks(&run, &peers.absent);
    Findings {
        incomparable: Some(Incomparable::of(&run, advice(&discovery, &losses))),
        discovery,
        run,
        peers,
        clocks,
        shifts,
        costs: Costs::default(),
        evidence: Vec::new(),
        accounts,
        losses,
    }
}

/// Says of suspects whose operators a set left out that it did.
fn tell_what_is_not_kept(profiles: &Profiles, run: &Run, told: &mut suspects::Told) {
    if !matches!(profiles, Profiles::Set(set) if set.keep() < Keep::All) {
        return;
    }
    for (suspect, evidence) in told {
        let rank = match suspect.who {
            Who::Rank(rank) => Some(rank),
            _ => evidence.of_rank.and_then(|number| run.rank_of(number)),
        };
        if rank.is_some_and(|rank| run.ranks[rank].operators > 0) {
            let unknown = evidence.causes.iter_mut().filter(|it| it.cause == Cause::NoOperators);
            unknown.for_each(|it| it.cause = Cause::OperatorsNotKept);
        }
    }
}

/// A loss where the ends of steps are much farther apart than any rank's steps are long.
fn steps_apart(run: &Run, step_ns: f64) -> Option<Loss> {
    /// How many times as far. Between steps there may be evaluations and checkpoints.
    const MUCH: f64 = 1.5;
    let mean = |rank: &Rank| {
        rank.steps.iter().map(|step| step.duration_ns as f64).sum::<f64>() / rank.steps.len().max(1) as f64
    };
    let longest = run.ranks.iter().map(mean).fold(0.0, f64::max);
    let loss = || Loss::new(None, "steps", LossReason::StepsApart, run.steps().len() as u64);
    (longest > 0.0 && step_ns > MUCH * longest)
        .then(|| loss().because(format!("{:.1} ms, and {:.1} ms long", step_ns / 1e6, longest / 1e6)))
}

/// A loss where much time lies before steps, such as steps that weren't recorded. It is given in nanoseconds.
fn between_steps(times: &[(i32, f64)], step_ns: f64) -> Option<Loss> {
    /// The share of a step from which on it is worth a word.
    const WORTH: f64 = 0.05;
    let worth: Vec<(i32, f64)> = times.iter().copied().filter(|(_, time)| *time > WORTH * step_ns).collect();
    let (first, _) = worth.first()?;
    let source = match worth.len() {
        1 => format!("step {first}"),
        count => format!("{count} steps from {first} on"),
    };
    let in_all: f64 = worth.iter().map(|(_, time)| time).sum();
    let loss = Loss::new(None, source, LossReason::BetweenSteps, worth.len() as u64);
    Some(loss.because(format!("{:.1} ms", in_all / 1e6)))
}
