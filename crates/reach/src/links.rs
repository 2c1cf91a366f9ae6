//! Links that are slower than their like.
//!
//! The bandwidth of each directed pair of ranks is compared with that of other pairs with the same kind of link, the
//! same type of collective, number of members and size of messages.

use std::collections::{BTreeMap, BTreeSet};

use crate::clocks::median;
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveType, StepsOrigin, Transport};
use crate::run::{Rank, Run};

/// The links that are slow together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ends {
    /// The link from one rank to another, by their indices.
    Pair(usize, usize),
    /// Most links out of a rank.
    PortOut(usize),
    /// Most links into a rank.
    PortIn(usize),
    /// Most links out of a host, from several of its ranks to several hosts.
    AdapterOut(usize),
    /// Most links into a host, to several of its ranks from several hosts.
    AdapterIn(usize),
    /// Most links from one host to another, between several ranks of both.
    Path(usize, usize),
}

/// A slow link, or many of a rank or host.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowLink {
    /// The links.
    pub ends: Ends,
    /// The kind of link.
    pub transport: Transport,
    /// Its bandwidth in bytes a nanosecond, which are GB/s; of several, the one that is furthest below its like.
    pub bandwidth: f64,
    /// The median of its like.
    pub typical: f64,
    /// The groups that use it, as indices.
    pub groups: Vec<u32>,
    /// The slow links, by sender and receiver.
    pub pairs: Vec<(usize, usize)>,
}

/// Pairs that can be compared: kind of link, type, members, size of all that was carried in a step in powers of two.
type Class = (Transport, CollectiveType, usize, i32);

/// A directed pair that a group uses: the sender's index, the receiver's number, the group.
type UseOfPair = (usize, u32, u32);

/// The fewest pairs of a class that are compared.
const FEWEST: usize = 4;

/// A group's use of a directed pair of ranks beside those of its like.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The kind of link.
    pub transport: Transport,
    /// The operation.
    pub kind: CollectiveType,
    /// The sender's index.
    pub src: usize,
    /// The receiver's index.
    pub dst: usize,
    /// The group, as an index.
    pub group: u32,
    /// How long the link was used, in nanoseconds.
    pub time_ns: f64,
    /// Its bandwidth in GB/s.
    pub bandwidth: f64,
    /// The median of its like; `None` where too few are alike to be compared.
    pub typical: Option<f64>,
    /// Whether it is slower than chance explains.
    pub is_slow: bool,
}

/// The bandwidth of each use of a directed pair of recorded ranks beside those of its like: kind by kind, and within a
/// kind by sender and receiver.
pub fn compare(run: &Run) -> Vec<Compared> {
    let index = |it: Measured| Some(Compared { dst: run.rank_of(it.dst)?, ..it.compared });
    measured(run).into_iter().filter_map(index).collect()
}

/// A slow link to a rank that wasn't recorded, as its sender measured it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ToUnrecorded {
    /// The sender's number.
    pub src: u32,
    /// The receiver's number.
    pub dst: u32,
    /// The kind of link.
    pub transport: Transport,
    /// Its bandwidth in GB/s, where it is furthest below its like.
    pub gb_per_s: f64,
    /// The median of its like.
    pub peers_gb_per_s: f64,
}

impl ToUnrecorded {
    fn share(&self) -> f64 {
        self.gb_per_s / self.peers_gb_per_s
    }
}

/// Slow links to ranks that weren't recorded: what such a link costs can't be replayed.
pub fn slow_to_unrecorded(run: &Run) -> Vec<ToUnrecorded> {
    if run.groups.iter().all(|group| group.ranks.iter().all(|rank| run.rank_of(*rank).is_some())) {
        return Vec::new();
    }
    let mut slowest: BTreeMap<(u32, u32), ToUnrecorded> = BTreeMap::new();
    for Measured { dst, compared } in measured(run) {
        let Some(peers_gb_per_s) =
            compared.typical.filter(|_| compared.is_slow && run.rank_of(dst).is_none())
        else {
            continue;
        };
        let (src, transport, gb_per_s) =
            (run.ranks[compared.src].number, compared.transport, compared.bandwidth);
        let link = ToUnrecorded { src, dst, transport, gb_per_s, peers_gb_per_s };
        let known = slowest.entry((src, dst)).or_insert_with(|| link.clone());
        if link.share() < known.share() {
            *known = link;
        }
    }
    slowest.into_values().collect()
}

/// The losses by which such links are told.
pub fn losses_of(links: &[ToUnrecorded]) -> Vec<Loss> {
    let loss = |link: &ToUnrecorded| {
        let source = format!("link {} → {} ({})", link.src, link.dst, link.transport.name());
        let told = format!("{:.1} < {:.1} GB/s", link.gb_per_s, link.peers_gb_per_s);
        Loss::new(Some(link.src), source, LossReason::SlowToUnrecorded, 1).because(told)
    };
    links.iter().map(loss).collect()
}

/// A use of a link whose receiver, given by its number, may not have been recorded.
struct Measured {
    dst: u32,
    /// The use; its receiver's index isn't known.
    compared: Compared,
}

fn measured(run: &Run) -> Vec<Measured> {
    let mut classes: BTreeMap<Class, BTreeMap<UseOfPair, (f64, f64)>> = BTreeMap::new();
    let all_steps = run.steps().len();
    let steps = |rank: &Rank| match rank.origin {
        StepsOrigin::Whole => all_steps.max(1) as f64,
        _ => rank.finishes.len().max(1) as f64,
    };
    for ((kind, transport, src, dst, group), (bytes, time)) in traffic(run) {
        let members = run.groups[group as usize].size() as usize;
        // Some ranks may have recorded more steps than others.
        let a_step = bytes / steps(&run.ranks[src]);
        let class = (transport, kind, members, a_step.log2().round() as i32);
        classes.entry(class).or_default().insert((src, dst, group), (bytes / time, time));
    }
    let mut compared = Vec::new();
    for ((transport, kind, ..), pairs) in classes {
        let mut logarithms: Vec<f64> = pairs.values().map(|it| it.0.ln()).collect();
        let middle = median(&mut logarithms);
        let mut off: Vec<f64> = logarithms.iter().map(|it| (it - middle).abs()).collect();
        let spread = (1.4826 * median(&mut off)).max(0.02);
        let typical = (pairs.len() >= FEWEST).then(|| middle.exp());
        for ((src, dst, group), (bandwidth, time_ns)) in pairs {
            let is_low =
                |typical: f64| (bandwidth.ln() - middle) / spread < -4.0 && bandwidth < 0.85 * typical;
            let is_slow = typical.is_some_and(is_low);
            let of_group = Compared {
                transport,
                kind,
                src,
                dst: usize::MAX,
                group,
                time_ns,
                bandwidth,
                typical,
                is_slow,
            };
            compared.push(Measured { dst, compared: of_group });
        }
    }
    compared
}

/// A group's use of its links in one operation, some of which are slow. All links of a group work at a time, so that the one
/// that takes longest, whatever kind of link it is, is how long they take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowUses {
    /// The slow links, by sender and receiver, and how long they were used in nanoseconds.
    slow: Vec<((usize, usize), f64)>,
    /// How long the longest of the others was used.
    others_ns: f64,
    /// How long the longest of all would be used if all were as their like.
    healthy_ns: f64,
}

impl SlowUses {
    fn add(&mut self, it: &Compared) {
        let typical = it.typical.filter(|_| it.is_slow);
        let healthy_ns = typical.map_or(it.time_ns, |typical| it.time_ns * it.bandwidth / typical);
        self.healthy_ns = self.healthy_ns.max(healthy_ns);
        match it.is_slow {
            true => self.slow.push(((it.src, it.dst), it.time_ns)),
            false => self.others_ns = self.others_ns.max(it.time_ns),
        }
    }

    /// Whether several links are slow.
    pub fn has_several(&self) -> bool {
        self.slow.iter().any(|(pair, _)| *pair != self.slow[0].0)
    }

    /// How long the longest of some slow links was used.
    fn longest_of(&self, is_meant: impl Fn((usize, usize)) -> bool) -> f64 {
        self.slow.iter().filter(|(pair, _)| is_meant(*pair)).map(|(_, time)| *time).fold(0.0, f64::max)
    }

    /// The share of the transfers' time that is left without the slow links; `None` where no other tells it, or takes longer.
    pub fn left(&self) -> Option<f64> {
        let slow = self.longest_of(|_| true);
        (self.others_ns > 0.0 && slow > self.others_ns).then(|| self.others_ns / slow)
    }

    /// The share of all that is lost by slow links which isn't once some of them are as their like.
    pub fn relief(&self, is_repaired: impl Fn((usize, usize)) -> bool) -> f64 {
        let all = self.longest_of(|_| true).max(self.healthy_ns);
        let left = self.longest_of(|pair| !is_repaired(pair)).max(self.healthy_ns);
        if all > self.healthy_ns { (all - left) / (all - self.healthy_ns) } else { 1.0 }
    }
}

/// The uses of links by group and operation that have slow ones.
pub fn slow_uses(compared: &[Compared]) -> BTreeMap<(u32, CollectiveType), SlowUses> {
    let mut uses: BTreeMap<(u32, CollectiveType), SlowUses> = BTreeMap::new();
    for it in compared {
        uses.entry((it.group, it.kind)).or_default().add(it);
    }
    uses.retain(|_, it| !it.slow.is_empty());
    uses
}

/// Finds slow links, the slowest first.
pub fn slow_links(run: &Run, compared: &[Compared]) -> Vec<SlowLink> {
    let mut users: BTreeMap<(usize, usize), BTreeSet<u32>> = BTreeMap::new();
    for it in compared {
        users.entry((it.src, it.dst)).or_default().insert(it.group);
    }
    let mut slow: BTreeMap<(usize, usize), SlowLink> = BTreeMap::new();
    let mut all: BTreeSet<(usize, usize)> = BTreeSet::new();
    for it in compared {
        let Some(typical) = it.typical else { continue };
        let &Compared { src, dst, transport, bandwidth, .. } = it;
        all.insert((src, dst));
        if it.is_slow {
            let groups = users[&(src, dst)].iter().copied().collect();
            let (ends, pairs) = (Ends::Pair(src, dst), vec![(src, dst)]);
            let found = SlowLink { ends, transport, bandwidth, typical, groups, pairs };
            let known = slow.entry((src, dst)).or_insert_with(|| found.clone());
            if ratio(&found) < ratio(known) {
                *known = found;
            }
        }
    }
    let hosts: Vec<usize> = run.ranks.iter().map(|rank| rank.host).collect();
    let mut joined = Vec::new();
    for whole in WHOLES {
        joined.extend(join(whole, &hosts, &mut slow, &all));
    }
    joined.extend(slow.into_values());
    joined.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    joined
}

fn ratio(link: &SlowLink) -> f64 {
    link.bandwidth / link.typical
}

/// A thing of which a pair of ranks, with their hosts, is a link.
type Whole = fn((usize, usize), (usize, usize)) -> Option<Ends>;

/// The things that can slow many links, those first that explain most.
const WHOLES: [Whole; 5] = [
    |_, (from, to)| (from != to).then_some(Ends::AdapterOut(from)),
    |_, (from, to)| (from != to).then_some(Ends::AdapterIn(to)),
    |_, (from, to)| (from != to).then_some(Ends::Path(from, to)),
    |(src, _), _| Some(Ends::PortOut(src)),
    |(_, dst), _| Some(Ends::PortIn(dst)),
];

/// The links of a thing, some or all of them.
#[derive(Default)]
struct Links {
    count: usize,
    /// The senders, the receivers and their hosts.
    sides: [BTreeSet<usize>; 4],
}

impl Links {
    fn add(&mut self, (src, dst): (usize, usize), (from, to): (usize, usize)) {
        self.count += 1;
        for (side, it) in self.sides.iter_mut().zip([src, dst, from, to]) {
            side.insert(it);
        }
    }

    /// Whether they are more than one rank's or one host's affair, as far as the thing is.
    fn are_of_several(&self, ends: Ends) -> bool {
        let [senders, receivers, from, to] = self.sides.each_ref().map(|side| side.len() > 1);
        match ends {
            Ends::AdapterOut(_) => senders && to,
            Ends::AdapterIn(_) => receivers && from,
            Ends::Path(..) => senders && receivers,
            Ends::Pair(..) | Ends::PortOut(_) | Ends::PortIn(_) => true,
        }
    }
}

/// Takes out the slow links of things most of whose links are slow, and makes one of each thing's.
fn join(
    whole: Whole,
    hosts: &[usize],
    slow: &mut BTreeMap<(usize, usize), SlowLink>,
    all: &BTreeSet<(usize, usize)>,
) -> Vec<SlowLink> {
    /// Fewer slow links are told one by one.
    const MANY: usize = 3;
    let hosts_of = |(src, dst): (usize, usize)| (hosts[src], hosts[dst]);
    let mut things: BTreeMap<Ends, (Links, Links)> = BTreeMap::new();
    for &pair in all {
        let Some(ends) = whole(pair, hosts_of(pair)) else { continue };
        let (of_slow, of_all) = things.entry(ends).or_default();
        of_all.add(pair, hosts_of(pair));
        if slow.contains_key(&pair) {
            of_slow.add(pair, hosts_of(pair));
        }
    }
    things.retain(|ends, (slow, all)| {
        slow.count >= MANY && 2 * slow.count > all.count && slow.are_of_several(*ends)
    });
    let mut joined: BTreeMap<Ends, SlowLink> = BTreeMap::new();
    slow.retain(|pair, link| {
        let Some(ends) = whole(*pair, hosts_of(*pair)).filter(|ends| things.contains_key(ends)) else {
            return true;
        };
        let none = || SlowLink { ends, pairs: Vec::new(), ..link.clone() };
        let known = joined.entry(ends).or_insert_with(none);
        let mut pairs = std::mem::take(&mut known.pairs);
        pairs.extend(&link.pairs);
        let mut groups = std::mem::take(&mut known.groups);
        groups.extend(&link.groups);
        groups.sort_unstable();
        groups.dedup();
        if ratio(link) < ratio(known) {
            *known = SlowLink { ends, ..link.clone() };
        }
        (known.groups, known.pairs) = (groups, pairs);
        false
    });
    joined.into_values().collect()
}

/// A group's use of a directed pair: type, kind of link, the sender's index, the receiver's number, group.
type Use = (CollectiveType, Transport, usize, u32, u32);

/// The bytes and nanoseconds of each use over all steps.
fn traffic(run: &Run) -> BTreeMap<Use, (f64, f64)> {
    let mut traffic = BTreeMap::new();
    for (rank, row) in &run.links {
        let Ok(group) = run.groups.binary_search_by_key(&row.group_key, |group| group.key) else { continue };
        let member = |place: u32| run.groups[group].member(place);
        let Some(src) = member(row.src).and_then(|number| run.rank_of(number)) else { continue };
        let Some(dst) = member(row.dst) else { continue };
        // Both sides of a send tell of the same bytes; the sender's word counts.
        let is_told_twice = row.kind == CollectiveType::Receive || src != *rank as usize;
        if run.ranks[src].number == dst || is_told_twice || row.bytes <= 0.0 || row.time_ns <= 0.0 {
            continue;
        }
        let sum = traffic.entry((row.kind, row.transport, src, dst, group as u32)).or_insert((0.0, 0.0));
        *sum = (sum.0 + row.bytes, sum.1 + row.time_ns);
    }
    traffic
}
