//! Why a rank is slower than its peers, by its own operators beside theirs.

mod pace;

use pace::{Larger, MoreWork, computing, is_in_ratio, is_slow, tell_pace};

use crate::clocks::{median, upper_median};
use crate::discover::collected::{self, Options, OtherOption};
use crate::host_gaps;
use crate::links::{self, SlowLink, ToUnrecorded};
use crate::peers::Peers;
use crate::read::{Call, OperatorKey, Operators, is_of_experts};
use crate::rows::{CollectiveType, Transport};
use crate::run::{Event, Instance, Rank, Run, RunGroup};
use crate::suspects::{Suspect, Unrecorded, Who, excess_of_rank, waits_for_absent};

/// A reason, with its figures. Times are nanoseconds a step.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// Its AI Cores run at a lower frequency.
    Frequency {
        /// Its frequency.
        mhz: f64,
        /// Its peers'.
        peers_mhz: f64,
        /// How many times as long as its peers it computes.
        times: f64,
    },
    /// It computes slower, at the same frequency or an unknown one.
    SlowDevice {
        /// How many times as long as its peers it computes.
        times: f64,
        /// Its frequency, if the profile tells.
        mhz: Option<f64>,
    },
    /// An operator runs on the device's general processor, and on most peers' not.
    AiCpu {
        /// The operator.
        operator: OperatorKey,
        /// How often a step.
        count: f64,
        /// How many of the peers have it there as well.
        peers_with: usize,
        /// How long each takes.
        #[serde(serialize_with = "crate::rows::whole_ns")]
        each_ns: f64,
    },
    /// It has more tokens.
    Tokens {
        /// How many times its peers'.
        times: f64,
        /// The operators that take as many times as long.
        #[serde(skip)]
        operators: Vec<OperatorKey>,
    },
    /// An operator has larger inputs than on its peers.
    LargerShapes {
        /// The operator.
        operator: OperatorKey,
        /// How many times its peers' first dimensions.
        times: f64,
    },
    /// An operator that most peers don't have.
    OtherWork {
        /// The operator.
        operator: OperatorKey,
        /// How often a step.
        count: f64,
        /// How many of the peers have it.
        peers_with: usize,
    },
    /// Its steps begin with a gap before the first operator.
    LateInput {
        /// How much longer the gap is than its peers'.
        #[serde(serialize_with = "crate::rows::whole_ns")]
        gap_ns: f64,
        /// The framework's call that spans it.
        call: Option<String>,
    },
    /// Its host launches operators so late that the device waits for them.
    HostBound {
        /// How much longer than its peers' the device waits so.
        #[serde(serialize_with = "crate::rows::whole_ns")]
        gap_ns: f64,
        /// The framework's call in which most of these gaps lie.
        call: Option<String>,
    },
    /// It copies more between host and device.
    Copies {
        /// How much longer.
        #[serde(serialize_with = "crate::rows::whole_ns")]
        excess_ns: f64,
    },
    /// A link has less bandwidth.
    SlowLink {
        /// The kind of link.
        transport: Transport,
        /// Its bandwidth in GB/s.
        gb_per_s: f64,
        /// That of its like.
        peers_gb_per_s: f64,
        /// Whether that is of the other direction instead, because too few links are alike.
        is_of_opposite: bool,
        /// The use and type of what it slows.
        slows: Vec<String>,
    },
    /// A group's transfers take longer, and nothing tells which of its links is slow.
    SlowGroup {
        /// The group's ranks.
        ranks: Vec<u32>,
        /// Its use.
        role: &'static str,
        /// Whether no other group has that use: its transfers are compared with one another alone.
        is_alone: bool,
        /// Whether its links are told, but too few are alike to be compared.
        are_links_told: bool,
    },
    /// All transfers of a group that lacks a rank take the same multiple of what is typical, as over a slow link.
    SlowLinkNotRecorded {
        /// The group's ranks.
        ranks: Vec<u32>,
        /// Its use.
        role: &'static str,
        /// How many times as long as those of its like its transfers take.
        times: f64,
    },
    /// Recorded ranks wait for one that wasn't recorded.
    NotRecorded {
        /// The use and type of the collectives in which they wait.
        slows: Vec<String>,
        /// The links to it that are slow, as their senders measured them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        links: Vec<ToUnrecorded>,
    },
    /// It was recorded with other options than its peers, which cost time. How much isn't known.
    Collected {
        /// The options.
        options: Vec<OtherOption>,
    },
    /// None of the known reasons.
    Unknown,
    /// The profile has no operators, which reasons are found by.
    NoOperators,
    /// The profile has operators, and the set that was imported from it keeps none.
    OperatorsNotKept,
    /// The profiles of its peers have no operators, so that its own can't be compared.
    NoOperatorsOfPeers,
}

/// An operator's share in the excess.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Difference {
    /// The operator.
    pub operator: OperatorKey,
    /// How often a step on the suspect.
    pub count: f64,
    /// By how much longer it takes than on peers, in nanoseconds a step; negative if it takes less.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub excess_ns: f64,
    /// Whether any peer has it.
    pub is_on_peers: bool,
}

/// A reason and how much it explains.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Explanation {
    /// The reason.
    #[serde(flatten)]
    pub cause: Cause,
    /// The time that it explains, in nanoseconds a step.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub explains_ns: f64,
}

/// Why a suspect is one.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Evidence {
    /// The reasons, the deciding one first.
    pub causes: Vec<Explanation>,
    /// The operators that differ most.
    pub differences: Vec<Difference>,
    /// The peers that it was compared with.
    pub peers: Vec<u32>,
    /// The rank whose reasons and operators these are, where the suspect is several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_rank: Option<u32>,
    /// How many of the suspect's ranks are slow, where it is several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_ranks: Option<usize>,
}

impl Evidence {
    /// Whether the operators are known, and none of the reasons is theirs, or nothing is known but that others wait.
    pub fn is_without_reason(&self) -> bool {
        match self.causes.first().map(|it| &it.cause) {
            None
            | Some(
                Cause::Unknown | Cause::NoOperators | Cause::OperatorsNotKept | Cause::NoOperatorsOfPeers,
            ) => !self.differences.is_empty(),
            Some(Cause::NotRecorded { links, .. }) => links.is_empty(),
            Some(_) => false,
        }
    }
}

/// How many peers a suspect is compared with.
const PEERS: usize = 7;

/// The share of the excess from which on a reason decides.
pub const DECIDES: f64 = 0.6;

/// The share from which on a reason is told beside it.
const TOLD: f64 = 0.1;

/// How many operators are told.
const DIFFERENCES: usize = 10;

/// Reads a rank's operators, by its index.
pub type OperatorsOf<'o> = dyn Fn(usize) -> Operators + Sync + 'o;

/// Explains a suspect.
pub fn explain(run: &Run, peers: &Peers, operators: &OperatorsOf<'_>, suspect: &Suspect) -> Evidence {
    match &suspect.who {
        Who::Rank(rank) => explain_rank(run, peers, operators, *rank, suspect.excess_ns),
        Who::Link(link) => {
            let cause = Cause::SlowLink {
                transport: link.transport,
                gb_per_s: link.bandwidth,
                peers_gb_per_s: link.typical,
                is_of_opposite: link.is_of_opposite,
                slows: uses_of(run, link),
            };
            told(Explanation { cause, explains_ns: suspect.excess_ns })
        }
        Who::Group(group) => {
            let RunGroup { ranks, role, .. } = &run.groups[*group as usize];
            let is_alike = |it: &Instance| it.group != *group && run.groups[it.group as usize].role == *role;
            let is_alone = !run.instances.iter().any(is_alike);
            let are_links_told = are_links_told(run, *group);
            let cause =
                Cause::SlowGroup { ranks: ranks.clone(), role: role.name(), is_alone, are_links_told };
            told(Explanation { cause, explains_ns: suspect.excess_ns })
        }
        Who::Unrecorded(it) => {
            let causes = why_not_recorded(run, peers, it);
            Evidence { causes, ..Evidence::default() }
        }
        // Their evidence is that of one of their ranks.
        Who::Host(_) | Who::Operator(..) => Evidence::default(),
    }
}

/// Whether links of a group are told, which is given by its index.
fn are_links_told(run: &Run, group: u32) -> bool {
    let key = run.groups[group as usize].key;
    run.links.iter().any(|(_, link)| link.group_key == key && link.src != link.dst)
}

fn told(explanation: Explanation) -> Evidence {
    Evidence { causes: vec![explanation], ..Evidence::default() }
}

/// The reasons of a rank that wasn't recorded: slow transfers of its groups, and waits in the others, but for those in
/// which there is hardly any.
fn why_not_recorded(run: &Run, peers: &Peers, absent: &Unrecorded) -> Vec<Explanation> {
    const HARDLY_ANY: f64 = 0.05;
    let waits = waits_for_absent(run, peers);
    let steps = run.steps().len().max(1) as f64;
    let of = |groups: &[u32]| groups.iter().map(|group| waits[*group as usize]).sum::<f64>();
    let all = of(&absent.groups);
    let counts = |group: &u32| waits[*group as usize] > HARDLY_ANY * all;
    let (slow, late): (Vec<u32>, Vec<u32>) =
        absent.groups.iter().copied().filter(counts).partition(|group| peers.slow_groups.contains_key(group));
    let slow_link = |group: &u32| {
        let RunGroup { ranks, role, .. } = &run.groups[*group as usize];
        let times = peers.slow_groups[group];
        let cause = Cause::SlowLinkNotRecorded { ranks: ranks.clone(), role: role.name(), times };
        Explanation { cause, explains_ns: waits[*group as usize] / steps }
    };
    let mut causes: Vec<Explanation> = slow.iter().map(slow_link).collect();
    if !late.is_empty() || causes.is_empty() {
        let slows = uses(run, if late.is_empty() { &absent.groups } else { &late });
        let mut links = links::slow_to_unrecorded(run);
        links.retain(|link| absent.ranks.contains(&link.dst));
        causes
            .push(Explanation { cause: Cause::NotRecorded { slows, links }, explains_ns: of(&late) / steps });
    }
    causes.sort_by(|a, b| b.explains_ns.total_cmp(&a.explains_ns));
    causes
}

/// The uses and types of the collectives of some groups, such as `dp reduceScatter`.
fn uses(run: &Run, groups: &[u32]) -> Vec<String> {
    names_of(run, run.events.iter().filter(|event| groups.contains(&event.group)))
}

/// The uses and types of the collectives that use a link: of sends and receives those in its direction.
fn uses_of(run: &Run, link: &SlowLink) -> Vec<String> {
    let is_over = |event: &&Event| {
        let rank = event.rank as usize;
        link.groups.contains(&event.group)
            && match event.kind {
                CollectiveType::Send => link.pairs.iter().any(|(src, _)| *src == rank),
                CollectiveType::Receive => link.pairs.iter().any(|(_, dst)| *dst == rank),
                _ => true,
            }
    };
    names_of(run, run.events.iter().filter(is_over))
}

fn names_of<'r>(run: &Run, events: impl Iterator<Item = &'r Event>) -> Vec<String> {
    let mut uses: Vec<String> = Vec::new();
    for event in events {
        let text = format!("{} {}", run.groups[event.group as usize].role.name(), event.kind.name());
        if !uses.contains(&text) {
            uses.push(text);
        }
    }
    uses.sort();
    uses
}

/// The peers whose own excess is in the middle: neither spared nor burdened by the suspect.
fn chosen_peers(run: &Run, peers: &Peers, rank: usize) -> Vec<usize> {
    let excess = |rank: &usize| excess_of_rank(run, peers, *rank);
    // A rank of which most was lost has gaps and missing operators that say nothing.
    let a_step = |rank: usize| run.ranks[rank].operators as f64 / run.ranks[rank].recorded_steps();
    let is_whole = |it: &usize| 2.0 * a_step(*it) >= a_step(rank);
    let others = (0..run.ranks.len()).filter(|it| *it != rank && peers.class[*it] == peers.class[rank]);
    let others = others.filter(is_whole);
    let mut others: Vec<(f64, usize)> = others.map(|it| (excess(&it), it)).collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let first = others.len().saturating_sub(PEERS) / 2;
    others.into_iter().skip(first).take(PEERS).map(|(_, rank)| rank).collect()
}

fn explain_rank(
    run: &Run,
    peers: &Peers,
    operators: &OperatorsOf<'_>,
    rank: usize,
    excess_ns: f64,
) -> Evidence {
    let chosen = chosen_peers(run, peers, rank);
    let all: Vec<usize> = std::iter::once(rank).chain(chosen).collect();
    let mut read = opscope_parallel::map(&all, |rank| operators(*rank));
    let own = read.remove(0);
    // A peer whose operators were lost says nothing of those that it has none of.
    // Operators of steps that were left out aren't read.
    let steps = |rank: usize| run.ranks[rank].kept_steps();
    let count = |rank: usize, its: &Operators| {
        its.by_key.values().map(|it| it.count as f64).sum::<f64>() / steps(rank)
    };
    let enough = 0.5 * count(rank, &own);
    let peers_of = all.into_iter().skip(1).zip(read);
    let (chosen, read): (Vec<usize>, Vec<Operators>) =
        peers_of.filter(|(it, its)| count(*it, its) >= enough && count(*it, its) > 0.0).unzip();
    if chosen.is_empty() {
        let cause = if own.by_key.is_empty() { Cause::NoOperators } else { Cause::NoOperatorsOfPeers };
        let causes = vec![Explanation { cause, explains_ns: 0.0 }];
        return Evidence { causes, ..Evidence::default() };
    }
    let side = Side { run, rank, own: &own, chosen: &chosen, others: &read, steps: steps(rank) };
    let differences = side.differences();
    let slowness = pace::pace(&differences);
    let pace = if tell_pace(&differences) { slowness } else { 1.0 };
    let more = side.tokens(&differences, pace).or_else(|| side.larger_shapes(&differences, pace));
    let mut found: Vec<Explanation> = [
        (slowness > 1.0).then(|| side.slower(&differences, slowness, more.as_ref())),
        side.on_ai_cpu(&differences),
        more.map(MoreWork::explanation),
        side.other_work(&differences),
        side.late_input(),
        side.copies(),
        side.host_bound(),
    ]
    .into_iter()
    .flatten()
    .filter(|it| it.explains_ns >= TOLD * excess_ns)
    .collect();
    let by_itself = found.iter().position(|it| it.explains_ns >= DECIDES * excess_ns);
    match by_itself.or_else(|| largest_of_several(&found, excess_ns)) {
        Some(place) => {
            let deciding = found.remove(place);
            found.insert(0, deciding);
        }
        None => {
            // Where texts of a damaged file are lost, operators are there that nothing tells the names of.
            let cause = if own.by_key.is_empty() { Cause::NoOperators } else { Cause::Unknown };
            found.insert(0, Explanation { cause, explains_ns: 0.0 });
        }
    }
    found.extend(side.collected());
    let differences = differences.into_iter().take(DIFFERENCES).map(|it| it.difference).collect();
    let peers = chosen.iter().map(|it| run.ranks[*it].number).collect();
    Evidence { causes: found, differences, peers, ..Evidence::default() }
}

/// The place of the largest of several reasons that explain together what none of them explains by itself, and not much
/// more than there is.
fn largest_of_several(found: &[Explanation], excess_ns: f64) -> Option<usize> {
    const AT_MOST: f64 = 1.25;
    let together = found.iter().map(|it| it.explains_ns).sum::<f64>();
    let explain = together >= DECIDES * excess_ns && together <= AT_MOST * excess_ns;
    let largest = || (0..found.len()).max_by(|a, b| found[*a].explains_ns.total_cmp(&found[*b].explains_ns));
    explain.then(largest).flatten()
}

/// A suspect beside its peers.
struct Side<'s> {
    run: &'s Run,
    rank: usize,
    own: &'s Operators,
    chosen: &'s [usize],
    others: &'s [Operators],
    steps: f64,
}

/// An operator beside its peers'.
struct Compared {
    difference: Difference,
    /// How many of the peers have it.
    peers_with: usize,
    /// Whether most of them don't: a fault may be one of several.
    is_rare: bool,
    /// How many times as long as on peers one execution takes, where peers have it.
    times: Option<f64>,
    /// How many times their rows it has.
    rows_times: Option<f64>,
    total_ns: f64,
}

impl Compared {
    /// Whether it has as much to do as on peers, as far as the profile tells.
    fn has_as_many_rows(&self) -> bool {
        self.rows_times.is_none_or(|times| (times - 1.0).abs() < 0.1)
    }
}

impl Side<'_> {
    /// All operators, those first that exceed most.
    fn differences(&self) -> Vec<Compared> {
        let compare = |(key, own): (&OperatorKey, &crate::read::Operator)| {
            let of_peers = |value: &dyn Fn(usize, &crate::read::Operator) -> f64| {
                let peers = self.chosen.iter().zip(self.others);
                let mut values: Vec<f64> = peers
                    .map(|(rank, other)| other.by_key.get(key).map_or(0.0, |it| value(*rank, it)))
                    .collect();
                // Of two, one may have the fewer tokens because this rank has the more.
                if is_of_experts(&key.op_type) { upper_median(&mut values) } else { median(&mut values) }
            };
            // As many steps as the rank has.
            let scale = |rank: usize| self.steps / self.run.ranks[rank].kept_steps();
            let total = of_peers(&|rank, it| it.total_ns as f64 * scale(rank));
            let each = of_peers(&|_, it| it.total_ns as f64 / it.count.max(1) as f64);
            let rows = of_peers(&|_, it| it.rows as f64 / it.count.max(1) as f64);
            let (own_total, own_count) = (own.total_ns as f64, own.count.max(1) as f64);
            let peers_with = self.others.iter().filter(|other| other.by_key.contains_key(key)).count();
            Compared {
                peers_with,
                is_rare: peers_with == 0 || 2 * peers_with < self.others.len(),
                difference: Difference {
                    operator: key.clone(),
                    count: own_count / self.steps,
                    excess_ns: (own_total - total) / self.steps,
                    is_on_peers: peers_with > 0,
                },
                times: (each > 0.0).then(|| own_total / own_count / each),
                rows_times: (rows > 0.0).then(|| own.rows as f64 / own_count / rows),
                total_ns: own_total,
            }
        };
        let mut all: Vec<Compared> = self.own.by_key.iter().map(compare).collect();
        all.sort_by(|a, b| b.difference.excess_ns.abs().total_cmp(&a.difference.excess_ns.abs()));
        all
    }

    /// A lower frequency, or a slower device, on which all takes so many times as long. Of operators that have more to do
    /// it explains what that leaves.
    fn slower(&self, all: &[Compared], times: f64, more: Option<&MoreWork<'_>>) -> Explanation {
        let larger = || more.into_iter().flat_map(|it| &it.operators);
        let has_more = |it: &Compared| larger().any(|larger| std::ptr::eq(larger.compared, it));
        let slow = computing(all).filter(|(it, times)| is_slow(*times) && !has_more(it));
        let of_larger = larger().map(|it| it.compared.difference.excess_ns - it.by_amount_ns);
        let explains_ns = slow.map(|(it, _)| it.difference.excess_ns).chain(of_larger).sum();
        let frequency =
            |rank: usize, its: &Operators| self.run.ranks[rank].frequency_mhz.or(its.frequency_mhz);
        let mhz = frequency(self.rank, self.own);
        let peers = self.chosen.iter().zip(self.others);
        let mut of_peers: Vec<f64> = peers.filter_map(|(rank, its)| frequency(*rank, its)).collect();
        let cause = match mhz {
            Some(mhz) if !of_peers.is_empty() => {
                let peers_mhz = median(&mut of_peers);
                let is_why = mhz < 0.98 * peers_mhz && (times / (peers_mhz / mhz) - 1.0).abs() < 0.05;
                match is_why {
                    true => Cause::Frequency { mhz, peers_mhz, times },
                    false => Cause::SlowDevice { times, mhz: Some(mhz) },
                }
            }
            mhz => Cause::SlowDevice { times, mhz },
        };
        Explanation { cause, explains_ns }
    }

    fn on_ai_cpu(&self, all: &[Compared]) -> Option<Explanation> {
        let is_here = |it: &&Compared| {
            it.is_rare && it.difference.operator.is_on_ai_cpu() && it.difference.excess_ns > 0.0
        };
        let here = || all.iter().filter(is_here);
        let Compared { difference: first, peers_with, .. } = here().next()?;
        let (operator, count, peers_with) = (first.operator.clone(), first.count, *peers_with);
        let cause = Cause::AiCpu { operator, count, peers_with, each_ns: first.excess_ns / count };
        Some(Explanation { cause, explains_ns: here().map(|it| it.difference.excess_ns).sum() })
    }

    /// More rows in grouped products, and longer times in the same ratio but for the device's pace.
    fn tokens<'c>(&self, all: &'c [Compared], pace: f64) -> Option<MoreWork<'c>> {
        let is_grouped = |it: &&Compared| is_of_experts(&it.difference.operator.op_type);
        let grouped = all.iter().find(is_grouped)?;
        let times = grouped.rows_times.filter(|times| *times > 1.1)?;
        let is_alike = |it: &&Compared| it.times.is_some_and(|time| is_in_ratio(time, times, pace));
        is_alike(&grouped).then_some(())?;
        let alike = || all.iter().filter(is_alike);
        let operators = alike().map(|it| it.difference.operator.clone()).collect();
        let cause = Cause::Tokens { times, operators };
        let operators = alike().map(|it| Larger::new(it, times, pace, self.steps)).collect();
        Some(MoreWork { cause, operators })
    }

    /// More rows in operators of any kind, and longer times in the same ratio but for the device's pace.
    fn larger_shapes<'c>(&self, all: &'c [Compared], pace: f64) -> Option<MoreWork<'c>> {
        let rows = |it: &'c Compared| {
            let (rows, time) = it.rows_times.filter(|times| *times > 1.1).zip(it.times)?;
            is_in_ratio(time, rows, pace).then_some((it, rows))
        };
        let larger = || all.iter().filter(|it| it.difference.excess_ns > 0.0).filter_map(rows);
        let (first, times) = larger().next()?;
        let cause = Cause::LargerShapes { operator: first.difference.operator.clone(), times };
        let operators = larger().map(|(it, rows)| Larger::new(it, rows, pace, self.steps)).collect();
        Some(MoreWork { cause, operators })
    }

    fn other_work(&self, all: &[Compared]) -> Option<Explanation> {
        let is_here = |it: &&Compared| it.is_rare && !it.difference.operator.is_on_ai_cpu();
        let here = || all.iter().filter(is_here);
        let Compared { difference: first, peers_with, .. } = here().next()?;
        let (operator, count, peers_with) = (first.operator.clone(), first.count, *peers_with);
        let cause = Cause::OtherWork { operator, count, peers_with };
        Some(Explanation { cause, explains_ns: here().map(|it| it.difference.excess_ns).sum() })
    }

    /// The gaps between the begins of steps and the first that the device does in them: an operator, or a
    /// collective, which may wait for other ranks. Copies in them are a cause of their own.
    fn gaps(&self, rank: usize, operators: &Operators) -> Vec<(i64, i64)> {
        let events = &self.run.events[self.run.ranks[rank].events.clone()];
        let steps = self.run.ranks[rank].steps.iter().filter_map(|step| step.start_ns);
        let gap = |start: i64| {
            let operator = operators.spans.get(operators.spans.partition_point(|span| span.start < start));
            let event = events.get(events.partition_point(|event| event.start_ns < start));
            let first =
                operator.map(|span| span.start).into_iter().chain(event.map(|event| event.start_ns)).min()?;
            Some((start, first))
        };
        host_gaps::without(steps.filter_map(gap), &operators.copies)
    }

    /// The rank's gaps, and by how much longer they are a step than those of its peers.
    fn longer_gaps(
        &self,
        gaps: impl Fn(usize, &Operators) -> Vec<(i64, i64)>,
        steps: impl Fn(usize) -> f64,
    ) -> (Vec<(i64, i64)>, f64) {
        let length = |rank: usize, gaps: &[(i64, i64)]| {
            gaps.iter().map(|(start, end)| (end - start) as f64).sum::<f64>() / steps(rank)
        };
        let own = gaps(self.rank, self.own);
        let peers = self.chosen.iter().zip(self.others);
        let mut of_peers: Vec<f64> = peers.map(|(rank, it)| length(*rank, &gaps(*rank, it))).collect();
        let gap_ns = length(self.rank, &own) - median(&mut of_peers);
        (own, gap_ns)
    }

    fn late_input(&self) -> Option<Explanation> {
        // Gaps are those at the begins of steps that count, and of no others.
        let steps = |rank: usize| self.run.ranks[rank].kept_steps();
        let (own, gap_ns) = self.longer_gaps(|rank, operators| self.gaps(rank, operators), steps);
        let spans = |call: &&Call| own.iter().any(|gap| host_gaps::spans_most(call, *gap));
        let mut loads = self.own.calls.iter().filter(|call| call.fetches_input());
        let call = loads.find(spans).map(|call| call.name.to_string());
        (gap_ns > 0.0)
            .then_some(Explanation { cause: Cause::LateInput { gap_ns, call }, explains_ns: gap_ns })
    }

    /// Other options of the recording.
    fn collected(&self) -> Option<Explanation> {
        let of_peers: Vec<&Options> = self.chosen.iter().map(|it| &self.run.ranks[*it].collected).collect();
        let options = collected::differing(&self.run.ranks[self.rank].collected, &of_peers);
        (!options.is_empty()).then_some(Explanation { cause: Cause::Collected { options }, explains_ns: 0.0 })
    }

    /// Start and end of a rank's collectives, by start.
    fn collectives(&self, rank: &Rank) -> Vec<(i64, i64)> {
        let events = self.run.events[rank.events.clone()].iter();
        let events = events.map(|event| (event.start_ns, event.start_ns.saturating_add(event.duration_ns)));
        let mut collectives: Vec<(i64, i64)> = events.collect();
        collectives.sort_unstable();
        collectives
    }

    /// The time in which copies between host and device ran, and neither operators nor collectives.
    fn shown_copies_ns(&self, rank: usize, operators: &Operators) -> f64 {
        let mut others = self.collectives(&self.run.ranks[rank]);
        others.extend(operators.spans.iter().map(|span| (span.start, span.end)));
        others.sort_unstable();
        let shown = host_gaps::without(operators.copies.iter().copied(), &others);
        shown.into_iter().map(|(start, end)| (end - start) as f64).sum()
    }

    /// The gaps of a rank in which its device waits for its host, but for those at the begins of steps.
    fn host_gaps(&self, rank: usize, operators: &Operators) -> Vec<(i64, i64)> {
        let rank = &self.run.ranks[rank];
        let collectives = self.collectives(rank);
        let steps: Vec<i64> = rank.steps.iter().filter_map(|step| step.start_ns).collect();
        host_gaps::of(&operators.spans, &collectives, &operators.copies, &steps)
    }

    fn host_bound(&self) -> Option<Explanation> {
        let steps = |rank: usize| self.run.ranks[rank].kept_steps();
        let (own, gap_ns) = self.longer_gaps(|rank, operators| self.host_gaps(rank, operators), steps);
        let call = host_gaps::call_in_most(&own, &self.own.calls).map(str::to_owned);
        (gap_ns > 0.0)
            .then_some(Explanation { cause: Cause::HostBound { gap_ns, call }, explains_ns: gap_ns })
    }

    fn copies(&self) -> Option<Explanation> {
        let peers = self.chosen.iter().zip(self.others);
        let a_step = |rank: usize, its: &Operators| {
            self.shown_copies_ns(rank, its) / self.run.ranks[rank].kept_steps()
        };
        let mut of_peers: Vec<f64> = peers.map(|(rank, it)| a_step(*rank, it)).collect();
        let excess_ns = a_step(self.rank, self.own) - median(&mut of_peers);
        (excess_ns > 0.0)
            .then_some(Explanation { cause: Cause::Copies { excess_ns }, explains_ns: excess_ns })
    }
}
