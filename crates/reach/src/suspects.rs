//! Whom the run waits for, and what each costs: replayed alone and in an otherwise healthy run.

use crate::links::{SlowLink, slow_links};
use crate::noise;
use crate::peers::Peers;
use crate::replay::{Choice, Scenario, StepEnds, replay};
use crate::run::Run;

/// A rank or link that is slower than its peers.
#[derive(Clone, Debug, PartialEq)]
pub enum Who {
    /// A rank, by its index.
    Rank(usize),
    /// A link, or all links out of a rank.
    Link(SlowLink),
    /// A group whose transfers are slow, of which the profiles don't tell the links; by its index.
    Group(u32),
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
    /// The interval of 95 % of that, over the steps; `None` of fewer than three.
    pub interval_ns: Option<(f64, f64)>,
    /// Its cost to a step in an otherwise healthy run, in nanoseconds.
    pub alone_ns: f64,
    /// The first step in which it exceeds its peers.
    pub since: i32,
    /// Whether the saving stands out of the noise.
    pub is_named: bool,
    /// Whether it has too few peers for more than a guess of what is typical.
    pub is_weak: bool,
}

/// The results of replaying.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// The length of a step, in nanoseconds.
    pub step_ns: f64,
    /// The length of a step if no rank and no link were slower than its peers.
    pub reachable_ns: f64,
    /// By how much the unchanged run, replayed, differs from the measured one, as a share of it.
    pub replay_error: f64,
    /// The least saving that is named, in nanoseconds a step.
    pub noise_ns: f64,
    /// The suspects, the costliest first.
    pub suspects: Vec<Suspect>,
}

/// How many suspects are replayed.
const MOST: usize = 32;

/// The least share of a step that is named.
const LEAST: f64 = 0.005;

/// The replay's error, as a share of a step, above which no cost is told.
pub const LARGEST_ERROR: f64 = 0.02;

/// Finds suspects and replays the run without them.
pub fn find(run: &Run, peers: &Peers) -> Costs {
    let steps = run.steps();
    let begin = begin(run);
    let mut suspects = candidates(run, peers, steps.len());
    let ranks = |suspects: &[Suspect]| -> Vec<Scenario> {
        suspects.iter().flat_map(|suspect| [only(&suspect.who), all_but(&suspect.who)]).collect()
    };
    let mut scenarios = vec![Scenario::default(), Scenario { ranks: Choice::All, groups: Choice::All }];
    scenarios.extend(ranks(&suspects));
    let ends = replay(run, peers, &scenarios);
    let lengths: Vec<Vec<f64>> = ends.iter().map(|ends| lengths(ends, begin)).collect();
    let mean = |lengths: &[f64]| lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
    let (step_ns, reachable_ns) = (mean(&lengths[0]), mean(&lengths[1]));
    let measured = measured_ends(run, &steps);
    let replay_error = error_of(&measured, &ends[0], begin);
    let least = step_ns * LEAST.max(2.0 * replay_error);
    for (index, suspect) in suspects.iter_mut().enumerate() {
        let (only, all_but) = (&lengths[2 + 2 * index], &lengths[3 + 2 * index]);
        let saved: Vec<f64> = lengths[0].iter().zip(only).map(|(with, without)| with - without).collect();
        suspect.saves_ns = mean(&saved);
        suspect.alone_ns = mean(all_but) - reachable_ns;
        suspect.interval_ns = noise::interval(&saved);
        let half_width = suspect.interval_ns.map_or(0.0, |(low, high)| (high - low) / 2.0);
        suspect.is_named = replay_error <= LARGEST_ERROR && suspect.saves_ns > least.max(half_width);
    }
    // Others hide its cost, but alone it would be as plain as those that are named.
    suspects.retain(|it| it.is_named || (replay_error <= LARGEST_ERROR && it.alone_ns > 2.0 * least));
    let order = |it: &Suspect| (it.is_named, it.saves_ns.max(0.0));
    suspects.sort_by(|a, b| {
        let by_cost = order(b).partial_cmp(&order(a)).unwrap_or(std::cmp::Ordering::Equal);
        by_cost.then(b.alone_ns.total_cmp(&a.alone_ns))
    });
    Costs { step_ns, reachable_ns, replay_error, noise_ns: least, suspects }
}

/// The run's begin on the common clock: the first step's of the first rank to begin.
fn begin(run: &Run) -> f64 {
    let begins = run.ranks.iter().filter_map(|rank| {
        let first = run.events[rank.events.clone()].iter().find(|event| event.pred.is_none())?;
        let step = rank.steps.first()?.start_ns?;
        Some(first.start - (first.start_ns - step) as f64)
    });
    begins.fold(f64::MAX, f64::min)
}

/// The lengths of steps whose ends are known.
fn lengths(ends: &StepEnds, begin: f64) -> Vec<f64> {
    let mut before = begin;
    let length = |end: &f64| {
        let length = end - before;
        before = *end;
        length
    };
    ends.iter().map(length).collect()
}

fn measured_ends(run: &Run, steps: &[i32]) -> StepEnds {
    let mut ends = vec![f64::MIN; steps.len()];
    for rank in &run.ranks {
        for finish in rank.finishes.iter() {
            let (Some(pred), Ok(step)) = (finish.pred, steps.binary_search(&finish.step)) else { continue };
            let event = &run.events[pred as usize];
            let end = event.end() + (finish.end_ns - event.end_ns()) as f64;
            ends[step] = f64::max(ends[step], end);
        }
    }
    ends
}

fn error_of(measured: &StepEnds, replayed: &StepEnds, begin: f64) -> f64 {
    let off = measured.iter().zip(replayed).map(|(a, b)| ((a - b) / (a - begin).max(1.0)).abs());
    off.fold(0.0, f64::max)
}

/// The groups that a suspect slows down.
fn groups_of(who: &Who) -> Vec<u32> {
    match who {
        Who::Rank(_) => Vec::new(),
        Who::Link(link) => link.groups.clone(),
        Who::Group(group) => vec![*group],
    }
}

fn only(who: &Who) -> Scenario {
    match who {
        Who::Rank(rank) => Scenario { ranks: Choice::These(vec![*rank as u32]), ..Scenario::default() },
        _ => Scenario { groups: Choice::These(groups_of(who)), ..Scenario::default() },
    }
}

fn all_but(who: &Who) -> Scenario {
    match who {
        Who::Rank(rank) => Scenario { ranks: Choice::AllBut(vec![*rank as u32]), groups: Choice::All },
        _ => Scenario { ranks: Choice::All, groups: Choice::AllBut(groups_of(who)) },
    }
}

fn suspect(who: Who, excess_ns: f64, since: i32, is_weak: bool) -> Suspect {
    let (saves_ns, alone_ns) = (0.0, 0.0);
    Suspect { who, excess_ns, saves_ns, interval_ns: None, alone_ns, since, is_named: false, is_weak }
}

/// Ranks by what their work exceeds their peers' by, slow links, and slow groups without known links.
fn candidates(run: &Run, peers: &Peers, steps: usize) -> Vec<Suspect> {
    let steps = steps.max(1) as f64;
    let mut found: Vec<Suspect> = slow_links(run)
        .into_iter()
        .take(MOST / 2)
        .map(|link| {
            let (excess, since) = excess_of_groups(run, peers, &link.groups);
            suspect(Who::Link(link), excess / steps, since, false)
        })
        .collect();
    if run.links.is_empty() {
        let mut groups: Vec<Suspect> = (0..run.groups.len() as u32)
            .map(|group| {
                let (excess, since) = excess_of_groups(run, peers, &[group]);
                suspect(Who::Group(group), excess / steps, since, true)
            })
            .collect();
        groups.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
        found.extend(groups.into_iter().take(MOST / 4));
    }
    let mut ranks: Vec<Suspect> = (0..run.ranks.len()).map(|rank| of_rank(run, peers, rank, steps)).collect();
    ranks.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
    found.extend(ranks.into_iter().take(MOST.saturating_sub(found.len())));
    found
}

fn excess_of_groups(run: &Run, peers: &Peers, groups: &[u32]) -> (f64, i32) {
    let mut excess = Excess::default();
    for (instance, typical) in run.instances.iter().zip(&peers.tail) {
        if groups.contains(&instance.group) {
            let step = run.events[instance.events[0] as usize].step;
            excess.add(step, instance.tail, *typical);
        }
    }
    (excess.sum, excess.since())
}

fn of_rank(run: &Run, peers: &Peers, rank: usize, steps: f64) -> Suspect {
    let mut excess = Excess::default();
    for index in run.ranks[rank].events.clone() {
        excess.add(run.events[index].step, run.events[index].segment_ns as f64, peers.segment[index]);
    }
    let is_weak = peers.sizes[peers.class[rank] as usize] < 3;
    suspect(Who::Rank(rank), excess.sum / steps, excess.since(), is_weak)
}

/// The excess of values over typical ones, in all and in each step.
#[derive(Default)]
struct Excess {
    sum: f64,
    of_steps: std::collections::BTreeMap<i32, f64>,
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
