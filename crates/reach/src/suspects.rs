//! Whom the run waits for, and what each costs: replayed alone and in an otherwise healthy run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::causes::Evidence;
use crate::clocks::median;
use crate::discover::Role;
use crate::links::{Ends, SlowLink};
use crate::noise;
use crate::peers::Peers;
use crate::read::OperatorKey;
use crate::replay::{Choice, Moved, Raised, Scenario, StepEnds, replay};
use crate::rows::StepsOrigin;
use crate::run::{Rank, Run};
use crate::step_lengths::{StepLengths, measured_ends};

/// Whoever is slower than its peers.
#[derive(Clone, Debug, PartialEq)]
pub enum Who {
    /// A rank, by its index.
    Rank(usize),
    /// A link, or most links of a rank or host.
    Link(SlowLink),
    /// A group whose transfers are slow, of which the profiles don't tell the links; by its index.
    Group(u32),
    /// A rank that wasn't recorded, or one of several, for which those wait that were.
    Unrecorded(Unrecorded),
    /// A host most of whose ranks are slow and hide one another; by its index.
    Host(usize),
    /// An operator that slows several ranks, which hide one another; they are given by their indices.
    Operator(OperatorKey, Vec<usize>),
}

/// Ranks that weren't recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Unrecorded {
    /// Their numbers.
    pub ranks: Vec<u32>,
    /// The groups that lack these and no others, by their indices.
    pub groups: Vec<u32>,
}

impl Unrecorded {
    /// The one rank that it is, if it is no one of several.
    pub fn only(&self) -> Option<u32> {
        match self.ranks[..] {
            [rank] => Some(rank),
            _ => None,
        }
    }
}

impl Who {
    /// The kind, as all answers for programs have it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Rank(_) => "rank",
            Self::Host(_) => "host",
            Self::Operator(..) => "operator",
            Self::Group(_) => "group",
            Self::Unrecorded(_) => "unrecorded",
            Self::Link(link) => match link.ends {
                Ends::Pair(..) => "link",
                Ends::PortOut(_) => "port",
                Ends::PortIn(_) => "port_in",
                Ends::AdapterOut(_) => "adapter",
                Ends::AdapterIn(_) => "adapter_in",
                Ends::Path(..) => "path",
            },
        }
    }

    /// The recorded ranks whose own work it is, by their indices; none of links and groups.
    pub fn workers(&self, run: &Run) -> Vec<usize> {
        match self {
            Self::Rank(rank) => vec![*rank],
            Self::Host(host) => (0..run.ranks.len()).filter(|it| run.ranks[*it].host == *host).collect(),
            Self::Operator(_, ranks) => ranks.clone(),
            Self::Link(_) | Self::Group(_) | Self::Unrecorded(_) => Vec::new(),
        }
    }

    /// The slow links that it is, by sender and receiver; none of others.
    pub fn links(&self) -> Vec<(usize, usize)> {
        if let Self::Link(link) = self { link.pairs.clone() } else { Vec::new() }
    }

    /// The groups that it slows down, by their indices; none of ranks.
    pub fn groups(&self) -> Vec<u32> {
        match self {
            Self::Link(link) => link.groups.clone(),
            Self::Group(group) => vec![*group],
            Self::Unrecorded(it) => it.groups.clone(),
            Self::Rank(_) | Self::Host(_) | Self::Operator(..) => Vec::new(),
        }
    }
}

/// A suspect and its costs.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// Who.
    pub who: Who,
    /// The time by which its work or transfers exceed those of its peers, in nanoseconds a step.
    pub excess_ns: f64,
    /// The time that a step would save without it, all else as it is, in nanoseconds.
    pub saves_ns: f64,
    /// The same of each step, in the order of [`Run::steps`].
    pub saves_by_step_ns: Vec<f64>,
    /// The interval of 95 % of that, over the steps; `None` of fewer than three.
    pub interval_ns: Option<(f64, f64)>,
    /// The steps that would save nearly all of it, where the interval tells nothing because others hardly save
    /// anything.
    pub only_in: Vec<i32>,
    /// Its cost to a step in an otherwise healthy run, in nanoseconds.
    pub alone_ns: f64,
    /// The first step in which it exceeds its peers.
    pub since: i32,
    /// Whether the saving stands out of the noise.
    pub is_named: bool,
    /// Whether it has too few peers for more than a guess of what is typical.
    pub is_weak: bool,
    /// Whether a host or an operator among the suspects stands for it.
    pub is_within: bool,
    /// The work that others would have without it: tokens that it takes from them.
    pub leaves: Vec<Moved>,
}

/// The results of replaying.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// The length of a step, in nanoseconds.
    pub step_ns: f64,
    /// The length of each step, in the order of [`Run::steps`].
    pub by_step_ns: Vec<f64>,
    /// The length of a step if no rank and no link were slower than its peers.
    pub reachable_ns: f64,
    /// By how much the unchanged run, replayed, differs from the measured one, as a share of it.
    pub replay_error: f64,
    /// The least saving that is named, in nanoseconds a step.
    pub noise_ns: f64,
    /// The suspects, in the end the costliest first.
    pub suspects: Vec<Suspect>,
}

/// How many suspects are replayed.
const MOST: usize = 32;

/// The least share of a step that is named.
const LEAST: f64 = 0.005;

/// The replay's error, as a share of a step, above which no cost is told.
pub const LARGEST_ERROR: f64 = 0.02;

/// Finds ranks and links that are suspects, and replays the run without them.
pub fn find(run: &Run, peers: &Peers, trial: &Trial<'_>) -> Costs {
    let mut suspects = candidates(run, peers);
    trial.judge(&mut suspects);
    add_all_unrecorded(trial, &mut suspects);
    suspects.retain(|it| trial.is_told(it));
    let unseen = unseen(run, &trial.unchanged);
    Costs {
        step_ns: mean(&trial.unchanged) + unseen,
        by_step_ns: trial.unchanged.iter().map(|length| length + unseen).collect(),
        reachable_ns: trial.reachable_ns(),
        replay_error: trial.replay_error,
        noise_ns: trial.least,
        suspects,
    }
}

/// The time of a step, as its ranks' profiles have it, that no device shows: of hosts before the first collective or behind
/// the last task. None where ranks lack steps.
fn unseen(run: &Run, replayed: &[f64]) -> f64 {
    let steps = run.steps();
    let has_all = |rank: &&Rank| rank.origin == StepsOrigin::Profile && rank.steps.len() == steps.len();
    let whole = |rank: &Rank| rank.steps.iter().map(|step| step.duration_ns as f64).sum::<f64>();
    let mut wholes: Vec<f64> = run.ranks.iter().filter(has_all).map(whole).collect();
    if wholes.is_empty() {
        return 0.0;
    }
    ((median(&mut wholes) - replayed.iter().sum::<f64>()) / steps.len().max(1) as f64).max(0.0)
}

/// Suspects with their evidence.
pub type Told = Vec<(Suspect, Evidence)>;

/// Puts those that are named first, and of them the costliest.
pub fn sort(told: &mut Told) {
    let order = |it: &Suspect| (it.is_named, it.saves_ns.max(0.0));
    told.sort_by(|(a, _), (b, _)| {
        let by_cost = order(b).partial_cmp(&order(a)).unwrap_or(std::cmp::Ordering::Equal);
        by_cost.then(b.alone_ns.total_cmp(&a.alone_ns))
    });
}

fn mean(lengths: &[f64]) -> f64 {
    lengths.iter().sum::<f64>() / lengths.len().max(1) as f64
}

/// The run, replayed as it is and with nobody slower than its peers, beside which suspects are judged.
pub struct Trial<'r> {
    run: &'r Run,
    peers: &'r Peers,
    lengths: StepLengths,
    /// The numbers of the steps.
    steps: Vec<i32>,
    /// The length of each step, in nanoseconds.
    unchanged: Vec<f64>,
    /// The same with nobody slower than its peers.
    healthy: Vec<f64>,
    replay_error: f64,
    /// The least saving that stands out, in nanoseconds a step.
    pub least: f64,
    /// By rank that has too many tokens, the work that others have in a healthy run.
    left: BTreeMap<usize, Vec<Moved>>,
    /// The typical work there.
    raised: Arc<Raised>,
}

impl<'r> Trial<'r> {
    /// Replays the run.
    pub fn new(run: &'r Run, peers: &'r Peers) -> Self {
        let lengths = StepLengths::of(run);
        let healthy = Scenario { ranks: Choice::All, groups: Choice::All, ..Scenario::default() };
        let ends = replay(run, peers, &[Scenario::default(), healthy]);
        let unchanged = lengths.of_ends(&ends[0]);
        let steps = run.steps();
        let replay_error = error_of(&measured_ends(run, &steps), &ends[0], lengths.begin());
        let least = mean(&unchanged) * LEAST.max(2.0 * replay_error);
        let healthy = lengths.of_ends(&ends[1]);
        let (left, raised) = Default::default();
        Self { run, peers, lengths, steps, unchanged, healthy, replay_error, least, left, raised }
    }

    /// The steps that have time before them that is of none, each with that time in nanoseconds.
    pub fn times_between_steps(&self) -> Vec<(i32, f64)> {
        self.lengths.gaps().map(|(place, time_ns)| (self.steps[place], time_ns)).collect()
    }

    /// Takes for healthy from now on a run in which others have the tokens that some ranks have too many of: peers that
    /// lack them are no example. `left` is their work by that rank, `raised` the typical work then.
    pub fn balance(&mut self, left: BTreeMap<usize, Vec<Moved>>, raised: Raised) {
        (self.left, self.raised) = (left, Arc::new(raised));
        let healthy = self.balanced(Choice::All, Choice::All, &[]);
        if let [ends] = &replay(self.run, self.peers, &[healthy])[..] {
            self.healthy = self.lengths.of_ends(ends);
        }
    }

    /// The length of a step if no rank and no link were slower than its peers, in nanoseconds.
    pub fn reachable_ns(&self) -> f64 {
        mean(&self.healthy) + unseen(self.run, &self.unchanged)
    }

    /// The run with some as their peers, and with no rank but these having too many tokens.
    fn balanced(&self, ranks: Choice, groups: Choice, burdened: &[u32]) -> Scenario {
        let left = self.left.iter().filter(|(rank, _)| !burdened.contains(&(**rank as u32)));
        let moved = left.flat_map(|(_, moved)| moved).copied().collect();
        Scenario { ranks, groups, links: Choice::None, moved, raised: self.raised.clone() }
    }

    /// Replays the run without each suspect, and with it alone.
    pub fn judge(&self, suspects: &mut [Suspect]) {
        for suspect in suspects.iter_mut().filter(|_| !self.left.is_empty()) {
            let workers = suspect.who.workers(self.run);
            suspect.leaves =
                workers.iter().filter_map(|rank| self.left.get(rank)).flatten().copied().collect();
        }
        let of = |suspect: &Suspect| [self.without(suspect), self.with_only(suspect)];
        let scenarios: Vec<Scenario> = suspects.iter().flat_map(of).collect();
        let ends = replay(self.run, self.peers, &scenarios);
        for (suspect, ends) in suspects.iter_mut().zip(ends.chunks_exact(2)) {
            let without = self.lengths.of_ends(&ends[0]);
            suspect.saves_by_step_ns =
                self.unchanged.iter().zip(without).map(|(with, without)| with - without).collect();
            let known = |of_steps: &[f64]| self.known_of(&suspect.who, of_steps);
            let saves = known(&suspect.saves_by_step_ns);
            suspect.saves_ns = mean(&saves);
            let alone = self.lengths.of_ends(&ends[1]);
            suspect.alone_ns = mean(&known(&alone)) - mean(&known(&self.healthy));
            suspect.interval_ns = noise::interval(&saves);
            let half_width = suspect.interval_ns.map_or(0.0, |(low, high)| (high - low) / 2.0);
            let stands_out = suspect.saves_ns > half_width;
            suspect.only_in = if stands_out { Vec::new() } else { self.plain_steps(suspect, &saves) };
            let is_plain = stands_out || !suspect.only_in.is_empty();
            suspect.is_named = self.is_sound() && suspect.saves_ns > self.least && is_plain;
        }
    }

    /// The few steps that would save nearly all that a suspect costs, of which each stands out by itself; `saves` has the
    /// savings of the steps in which it was recorded.
    fn plain_steps(&self, suspect: &Suspect, saves: &[f64]) -> Vec<i32> {
        if !noise::is_of_a_few(saves, self.least) {
            return Vec::new();
        }
        let of_steps = self.steps.iter().zip(&suspect.saves_by_step_ns);
        of_steps.filter(|(_, saves)| noise::is_plain(**saves, self.least)).map(|(step, _)| *step).collect()
    }

    /// The values of those steps in which somebody was recorded: a step that a rank lacks tells nothing of what the rank
    /// costs it.
    fn known_of(&self, who: &Who, of_steps: &[f64]) -> Vec<f64> {
        let Who::Rank(rank) = who else { return of_steps.to_vec() };
        let rank = &self.run.ranks[*rank];
        // A recording that tells no steps is as long as all of them.
        if rank.origin == StepsOrigin::Whole {
            return of_steps.to_vec();
        }
        let is_recorded = |step: &i32| rank.steps.iter().any(|it| it.step == *step);
        let known = self.steps.iter().zip(of_steps).filter(|(step, _)| is_recorded(step));
        let known: Vec<f64> = known.map(|(_, value)| *value).collect();
        if known.is_empty() { of_steps.to_vec() } else { known }
    }

    /// Whether the replay is close enough to what was measured for costs to be told.
    fn is_sound(&self) -> bool {
        self.replay_error <= LARGEST_ERROR
    }

    /// Whether a suspect is told of whose reason isn't known: one rank of many is always the slowest, by what sets every
    /// device apart from the next. A rank whose own work is that of its peers is none either, whatever comes of replaying
    /// it: the order of its work before some collectives was taken for more of it. Of two peers one is always slower, by
    /// more than the least of all their steps shows.
    pub fn is_told_without_reason(&self, suspect: &Suspect) -> bool {
        /// How many times what else stands out of the noise.
        const MORE: f64 = 3.0;
        /// The share of the cost that a rank's own work must exceed its peers' by.
        const OWN: f64 = 0.5;
        let cost = if suspect.is_named { suspect.saves_ns } else { suspect.alone_ns / 2.0 };
        let is_own = !matches!(suspect.who, Who::Rank(_)) || suspect.excess_ns > OWN * cost;
        let more = if suspect.is_weak { 2.0 * MORE } else { MORE };
        is_own && cost > more * self.least
    }

    /// Whether a judged suspect is told of: it is named, or others hide its cost, but alone it would be as plain as
    /// those that are.
    pub fn is_told(&self, suspect: &Suspect) -> bool {
        suspect.is_named || self.is_sound() && suspect.alone_ns > 2.0 * self.least
    }

    /// The time that a step would save without any of some suspects, by their places, in nanoseconds.
    pub fn saves_together(&self, all: &[Suspect], chosen: &[usize]) -> f64 {
        let none = Scenario::default();
        let without = chosen.iter().fold(none, |others, it| others.and(&self.without(&all[*it])));
        let ends = replay(self.run, self.peers, &[without]);
        ends.first().map_or(0.0, |ends| mean(&self.unchanged) - mean(&self.lengths.of_ends(ends)))
    }

    /// The suspect that costs most once another is as its peers, by their places, and by how much it does, in nanoseconds
    /// a step; of these steps, by their places in [`Run::steps`]. `None` if none stands out then.
    pub fn next_hindrance(&self, all: &[Suspect], without: usize, steps: &[usize]) -> Option<(usize, f64)> {
        // No part of it; of several ranks that it is among, the others may still hinder.
        let workers = all[without].who.workers(self.run);
        let is_other = |it: &usize| {
            let theirs = all[*it].who.workers(self.run);
            let is_within = !theirs.is_empty() && theirs.iter().all(|rank| workers.contains(rank));
            *it != without && !is_within
        };
        let others: Vec<usize> = (0..all.len()).filter(is_other).collect();
        let first = self.without(&all[without]);
        let both = |other: &usize| first.and(&self.without(&all[*other]));
        let scenarios: Vec<Scenario> =
            std::iter::once(first.clone()).chain(others.iter().map(both)).collect();
        let length = |ends: &StepEnds| {
            let lengths = self.lengths.of_ends(ends);
            mean(&steps.iter().filter_map(|step| lengths.get(*step).copied()).collect::<Vec<f64>>())
        };
        let ends = replay(self.run, self.peers, &scenarios);
        let before = length(ends.first()?);
        let saved = others.into_iter().zip(&ends[1..]).map(|(other, ends)| (other, before - length(ends)));
        saved.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, saves_ns)| *saves_ns > self.least)
    }

    /// The run with somebody as its peers.
    pub fn without(&self, suspect: &Suspect) -> Scenario {
        let (ranks, groups) = (self.workers(&suspect.who), suspect.who.groups());
        Scenario {
            ranks: these(ranks),
            groups: these(groups),
            links: these(suspect.who.links()),
            moved: suspect.leaves.clone(),
            raised: Arc::default(),
        }
    }

    /// The run with all others as their peers.
    fn with_only(&self, suspect: &Suspect) -> Scenario {
        let (ranks, groups) = (self.workers(&suspect.who), suspect.who.groups());
        let links = suspect.who.links();
        Scenario {
            links: if links.is_empty() { Choice::None } else { Choice::AllBut(links) },
            ..self.balanced(others(ranks.clone()), others(groups), &ranks)
        }
    }

    fn workers(&self, who: &Who) -> Vec<u32> {
        who.workers(self.run).into_iter().map(|rank| rank as u32).collect()
    }
}

/// A choice of some, or of none.
fn these<T>(chosen: Vec<T>) -> Choice<T> {
    if chosen.is_empty() { Choice::None } else { Choice::These(chosen) }
}

/// A choice of all but some.
fn others(left: Vec<u32>) -> Choice {
    if left.is_empty() { Choice::All } else { Choice::AllBut(left) }
}

fn error_of(measured: &StepEnds, replayed: &StepEnds, begin: f64) -> f64 {
    let off = measured.iter().zip(replayed).map(|(a, b)| ((a - b) / (a - begin).max(1.0)).abs());
    off.fold(0.0, f64::max)
}

/// A suspect that hasn't been judged.
pub fn suspect(who: Who, excess_ns: f64, since: i32, is_weak: bool) -> Suspect {
    Suspect {
        who,
        excess_ns,
        saves_ns: 0.0,
        saves_by_step_ns: Vec::new(),
        interval_ns: None,
        only_in: Vec::new(),
        alone_ns: 0.0,
        since,
        is_named: false,
        is_weak,
        is_within: false,
        leaves: Vec::new(),
    }
}

/// Ranks by what their work exceeds their peers' by, slow links, and slow groups without known links.
fn candidates(run: &Run, peers: &Peers) -> Vec<Suspect> {
    let steps = run.steps().len().max(1) as f64;
    let mut found: Vec<Suspect> = peers
        .slow_links
        .iter()
        .take(MOST / 2)
        .cloned()
        .map(|link| {
            let (excess, since) = excess_of_groups(run, peers, &link.groups);
            let is_weak = link.is_of_opposite;
            suspect(Who::Link(link), excess / steps, since, is_weak)
        })
        .collect();
    let mut groups = groups_by_themselves(run, peers, steps);
    groups.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
    found.extend(groups.into_iter().take(MOST / 4));
    found.extend(unrecorded(run, peers, steps));
    let mut ranks = of_ranks(run, peers);
    ranks.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
    found.extend(ranks.into_iter().take(MOST.saturating_sub(found.len())));
    found
}

/// The groups of which no slow link tells, but transfers that are longer than typical by more than chance.
fn groups_by_themselves(run: &Run, peers: &Peers, steps: f64) -> Vec<Suspect> {
    // A slow link tells more of its group than that it is slow.
    let linked: BTreeSet<u32> =
        peers.slow_links.iter().flat_map(|link| link.groups.iter().copied()).collect();
    let mut groups = groups_without_links(run, &peers.compared);
    groups.retain(|group| !linked.contains(group));
    if groups.is_empty() {
        return Vec::new();
    }
    let excess_of = excess_by_group(run, peers);
    let of_group = |group: u32| {
        let excess = &excess_of[group as usize];
        suspect(Who::Group(group), excess.sum / steps, excess.since(), true)
    };
    groups.into_iter().filter(|group| peers.beyond_chance[*group as usize]).map(of_group).collect()
}

/// The groups, by their indices, of which all members were recorded and not all tell their links, or none of these is
/// compared.
fn groups_without_links(run: &Run, compared: &BTreeSet<u32>) -> Vec<u32> {
    let mut senders: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for (rank, link) in &run.links {
        senders.entry(link.group_key).or_default().insert(*rank);
    }
    // Where a rank's part wasn't recorded, waiting for it looks like a longer transfer.
    let mut is_broken = vec![false; run.groups.len()];
    for instance in run.instances.iter().filter(|instance| !instance.is_complete()) {
        is_broken[instance.group as usize] = true;
    }
    let lacks_links = |index: &u32| {
        let group = &run.groups[*index as usize];
        let told = senders.get(&group.key).map_or(0, BTreeSet::len);
        // Of two that send in one direction only, one tells of links.
        let enough = if group.role == Role::Pp { 1 } else { group.ranks.len() };
        !is_broken[*index as usize] && (told < enough || !compared.contains(index))
    };
    (0..run.groups.len() as u32).filter(lacks_links).collect()
}

/// Ranks that weren't recorded, by the work of their own that those who were recorded wait for in groups that lack them.
fn unrecorded(run: &Run, peers: &Peers, steps: f64) -> Vec<Suspect> {
    let by_group = excess_of_absent(run, peers);
    let mut groups_of: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for (index, group) in run.groups.iter().enumerate() {
        let is_missing = |rank: &u32| !run.is_recorded(*rank);
        let missing: Vec<u32> = group.ranks.iter().copied().filter(is_missing).collect();
        // A slow link tells more.
        let is_linked = peers.slow_links.iter().any(|link| link.groups.contains(&(index as u32)));
        if !missing.is_empty() && !is_linked {
            groups_of.entry(missing).or_default().push(index as u32);
        }
    }
    let mut found: Vec<Suspect> = groups_of
        .into_iter()
        .map(|(ranks, groups)| {
            let mut excess = Excess::default();
            for (step, more) in groups.iter().flat_map(|group| &by_group[*group as usize].of_steps) {
                excess.add(*step, *more, 0.0);
            }
            let (sum, since) = (excess.sum, excess.since());
            suspect(Who::Unrecorded(Unrecorded { ranks, groups }), sum / steps, since, false)
        })
        .collect();
    found.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
    found.truncate(MOST / 4);
    found
}

/// Adds all ranks that weren't recorded as one suspect, where others wait for several of them, or for one in several
/// groups, so that none costs by itself what they do together. The others are no suspects then.
fn add_all_unrecorded(trial: &Trial<'_>, suspects: &mut Vec<Suspect>) {
    let parts: Vec<&Suspect> =
        suspects.iter().filter(|it| matches!(it.who, Who::Unrecorded(_)) && it.excess_ns > 0.0).collect();
    if parts.len() < 2 {
        return;
    }
    let (mut ranks, mut groups) = (BTreeSet::new(), BTreeSet::new());
    for part in &parts {
        if let Who::Unrecorded(it) = &part.who {
            ranks.extend(it.ranks.iter().copied());
            groups.extend(it.groups.iter().copied());
        }
    }
    let who = Unrecorded { ranks: ranks.into_iter().collect(), groups: groups.into_iter().collect() };
    let excess = parts.iter().map(|it| it.excess_ns).sum();
    let since = parts.iter().map(|it| it.since).min().unwrap_or(0);
    let by_themselves: f64 = parts.iter().filter(|it| it.is_named).map(|it| it.saves_ns).sum();
    let mut all = [suspect(Who::Unrecorded(who), excess, since, false)];
    trial.judge(&mut all);
    let [all] = all;
    if all.is_named && by_themselves < 0.5 * all.saves_ns {
        suspects.retain(|it| !matches!(it.who, Who::Unrecorded(_)));
        suspects.push(all);
    }
}

/// The time by which groups wait longer for their absent members than is typical, in nanoseconds, by group.
pub fn waits_for_absent(run: &Run, peers: &Peers) -> Vec<f64> {
    excess_of_absent(run, peers).iter().map(|excess| excess.sum).collect()
}

/// By how much the work of those that weren't recorded, or the transfers of slow groups which lack them, exceed what is
/// typical, by group.
fn excess_of_absent(run: &Run, peers: &Peers) -> Vec<Excess> {
    let mut found: Vec<Excess> = run.groups.iter().map(|_| Excess::default()).collect();
    for part in peers.absent.parts() {
        let instance = &run.instances[part.instance as usize];
        let step = run.first_of(instance).step;
        found[instance.group as usize].add(step, part.segment_ns, part.typical_ns);
    }
    for (instance, typical) in run.instances.iter().zip(&peers.tail) {
        if peers.slow_groups.contains_key(&instance.group) {
            let step = run.first_of(instance).step;
            found[instance.group as usize].add(step, instance.tail, *typical);
        }
    }
    found
}

/// By how much the transfers of each group exceed what is typical.
fn excess_by_group(run: &Run, peers: &Peers) -> Vec<Excess> {
    let mut found: Vec<Excess> = run.groups.iter().map(|_| Excess::default()).collect();
    for (instance, typical) in run.instances.iter().zip(&peers.tail) {
        found[instance.group as usize].add(run.first_of(instance).step, instance.tail, *typical);
    }
    found
}

/// The same of some groups together: the sum, and the step since which it is so.
fn excess_of_groups(run: &Run, peers: &Peers, groups: &[u32]) -> (f64, i32) {
    let mut excess = Excess::default();
    for (instance, typical) in run.instances.iter().zip(&peers.tail) {
        if groups.contains(&instance.group) {
            let step = run.first_of(instance).step;
            excess.add(step, instance.tail, *typical);
        }
    }
    (excess.sum, excess.since())
}

/// Every rank with what its work exceeds its peers' by.
pub fn of_ranks(run: &Run, peers: &Peers) -> Vec<Suspect> {
    let steps = run.steps().len();
    (0..run.ranks.len()).map(|rank| of_rank(run, peers, rank, steps)).collect()
}

/// By how much a rank's own work exceeds that of its peers in all steps, in nanoseconds.
pub fn excess_of_rank(run: &Run, peers: &Peers, rank: usize) -> f64 {
    own_excess(run, peers, rank).sum
}

/// The excess of a step is that of the work before collectives, where it is comparable, or that of all the rank's own
/// time, whichever is more: the one misses work that is done while others are waited for, and work without a collective
/// behind it, the other what the rank has less to do elsewhere.
fn own_excess(run: &Run, peers: &Peers, rank: usize) -> Excess {
    let mut excess = excess_before_collectives(run, peers, rank);
    for ((step, own), typical) in run.ranks[rank].own_times().zip(&peers.own[rank]) {
        let known = excess.of_steps.get(&step).copied().unwrap_or_default();
        excess.add(step, own - typical, known);
    }
    excess
}

/// Where collectives run in the background, the same work lies before several of them: each moment counts once.
fn excess_before_collectives(run: &Run, peers: &Peers, rank: usize) -> Excess {
    let beyond = |index: usize| {
        let event = &run.events[index];
        let excess = event.segment_ns as f64 - peers.work.segment[index];
        (excess > 0.0 && peers.work.is_alike[index])
            .then(|| (event.start_ns.saturating_sub(event.segment_ns) as f64, excess, event.step))
    };
    let mut all: Vec<(f64, f64, i32)> = run.ranks[rank].events.clone().filter_map(beyond).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut found, mut counted_until) = (Excess::default(), f64::MIN);
    for (begin, excess, step) in all {
        let end = begin + excess;
        found.add(step, end, counted_until.max(begin));
        counted_until = counted_until.max(end);
    }
    found
}

/// A rank as a suspect. The excess is a mean over the steps that it has, which are all where it tells none.
fn of_rank(run: &Run, peers: &Peers, rank: usize, steps: usize) -> Suspect {
    let excess = own_excess(run, peers, rank);
    let steps = run.steps_of(rank, steps).max(1) as f64;
    let is_weak = peers.sizes[peers.class[rank] as usize] < 3;
    suspect(Who::Rank(rank), excess.sum / steps, excess.since(), is_weak)
}

/// The excess of values over typical ones, in all and in each step.
#[derive(Default)]
struct Excess {
    sum: f64,
    of_steps: BTreeMap<i32, f64>,
}

impl Excess {
    fn add(&mut self, step: i32, value: f64, typical: f64) {
        let excess = (value - typical).max(0.0);
        self.sum += excess;
        *self.of_steps.entry(step).or_default() += excess;
    }

    /// The first step with at least half of the largest step's excess.
    fn since(&self) -> i32 {
        let largest = self.of_steps.values().copied().fold(0.0, f64::max);
        self.of_steps.iter().find(|(_, excess)| 2.0 * **excess >= largest).map_or(0, |(step, _)| *step)
    }
}
