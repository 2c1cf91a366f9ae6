//! Links that are slower than their like.
//!
//! The bandwidth of each directed pair of ranks is compared with that of other pairs with the same kind of link, the
//! same type of collective, number of members and size of messages. Where too few pairs are alike, as in a run of two
//! ranks, the other direction is what is left to compare with: ranks of a collective send one another as much at the
//! same time. Sends are left to their group, because those of the two directions have other times and loads.

use std::collections::{BTreeMap, BTreeSet};

use opscope_columns::Column;

use crate::clocks::median;
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveType, LinkRow, StepsOrigin, Transport};
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
    /// Whether that is the other direction's instead, because too few are alike.
    pub is_of_opposite: bool,
    /// The groups that use it, as indices.
    pub groups: Vec<u32>,
    /// The slow links, by sender and receiver.
    pub pairs: Vec<(usize, usize)>,
}

/// The fewest pairs of a class that are compared.
const FEWEST: usize = 4;

/// The share of the other direction's bandwidth below which a link is slow that has no like: nothing tells how far such
/// links lie apart by chance, and all of a healthy group lie within a few hundredths.
const CLEARLY: f64 = 0.7;

/// A group's use of a directed pair of ranks beside those of its like.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// The median of its like; `None` where too few are alike to be compared, and the other direction isn't clearly quicker.
    pub typical: Option<f64>,
    /// Whether that is the other direction's bandwidth.
    pub is_of_opposite: bool,
    /// Whether it is slower than chance explains.
    pub is_slow: bool,
}

/// The bandwidth of each use of a directed pair of recorded ranks beside those of its like: kind by kind, and within a
/// kind by sender and receiver. There are so many that they lie in a column.
pub fn compare(run: &Run) -> Column<Compared> {
    let mut all = Column::new();
    each_measured(run, |dst, compared| {
        all.extend(run.rank_of(dst).map(|dst| Compared { dst, ..compared }));
    });
    all
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
    each_measured(run, |dst, compared| {
        let Some(peers_gb_per_s) =
            compared.typical.filter(|_| compared.is_slow && run.rank_of(dst).is_none())
        else {
            return;
        };
        let (src, transport, gb_per_s) =
            (run.ranks[compared.src].number, compared.transport, compared.bandwidth);
        let link = ToUnrecorded { src, dst, transport, gb_per_s, peers_gb_per_s };
        let known = slowest.entry((src, dst)).or_insert_with(|| link.clone());
        if link.share() < known.share() {
            *known = link;
        }
    });
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

/// Hands each use of a link on, with the number of its receiver, which may not have been recorded, so that its index isn't
/// known.
fn each_measured(run: &Run, mut each: impl FnMut(u32, Compared)) {
    let mut uses = traffic(run);
    uses.sort_unstable_by_key(|it| (it.class(), it.pair()));
    for uses in uses.chunk_by(|a, b| a.class() == b.class()) {
        let mut logarithms: Vec<f64> = uses.iter().map(|it| it.bandwidth().ln()).collect();
        let middle = median(&mut logarithms);
        let mut off: Vec<f64> = logarithms.iter().map(|it| (it - middle).abs()).collect();
        let spread = (1.4826 * median(&mut off)).max(0.02);
        let of_like = (uses.len() >= FEWEST).then(|| middle.exp());
        for it in uses {
            let bandwidth = it.bandwidth();
            let is_low =
                |typical: f64| (bandwidth.ln() - middle) / spread < -4.0 && bandwidth < 0.85 * typical;
            let of_opposite = if of_like.is_some() { None } else { opposite(run, uses, it) };
            let of_opposite = of_opposite.filter(|opposite| bandwidth < CLEARLY * opposite);
            let is_slow = of_like.is_some_and(is_low) || of_opposite.is_some();
            let compared = Compared {
                transport: it.transport,
                kind: it.kind,
                src: it.src as usize,
                dst: usize::MAX,
                group: it.group,
                time_ns: it.time_ns,
                bandwidth,
                typical: of_like.or(of_opposite),
                is_of_opposite: of_opposite.is_some(),
                is_slow,
            };
            each(it.dst, compared);
        }
    }
}

/// The bandwidth of the other direction in the same collectives, where it is told.
fn opposite(run: &Run, uses: &[Use], it: &Use) -> Option<f64> {
    let number = |index: u32| run.ranks[index as usize].number;
    let is_opposite =
        |other: &&Use| other.group == it.group && number(other.src) == it.dst && other.dst == number(it.src);
    uses.iter().find(is_opposite).filter(|_| !it.kind.is_between_two()).map(Use::bandwidth)
}

/// A slow link in a group's use of its links.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SlowUse {
    /// The sender and the receiver.
    pair: (usize, usize),
    /// How long it was used, in nanoseconds.
    time_ns: f64,
    /// The share of that which its like would take.
    left: f64,
}

/// A group's use of its links in one operation, some of which are slow. All links of a group work at a time, so that the one
/// that takes longest, whatever kind of link it is, is how long they take; but a send uses one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowUses {
    slow: Vec<SlowUse>,
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
        match typical {
            Some(typical) => {
                let (pair, left) = ((it.src, it.dst), it.bandwidth / typical);
                self.slow.push(SlowUse { pair, time_ns: it.time_ns, left });
            }
            None => self.others_ns = self.others_ns.max(it.time_ns),
        }
    }

    /// Whether several links are slow.
    pub fn has_several(&self) -> bool {
        self.slow.iter().any(|it| it.pair != self.slow[0].pair)
    }

    /// How long the longest of some slow links was used.
    fn longest_of(&self, is_meant: impl Fn((usize, usize)) -> bool) -> f64 {
        self.slow.iter().filter(|it| is_meant(it.pair)).map(|it| it.time_ns).fold(0.0, f64::max)
    }

    /// The share of a transfer's time that is left without the slow links: of a send, which has a sender and a receiver, without
    /// that from the one to the other. `None` where that isn't slow, and where no other link tells it, or takes longer.
    pub fn left(&self, direction: Option<(usize, usize)>) -> Option<f64> {
        if direction.is_some() {
            return self.slow.iter().find(|it| Some(it.pair) == direction).map(|it| it.left);
        }
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
    let slow = compared.iter().filter(|it| it.is_slow);
    let mut uses: BTreeMap<_, SlowUses> = slow.map(|it| ((it.group, it.kind), SlowUses::default())).collect();
    for it in compared {
        if let Some(uses) = uses.get_mut(&(it.group, it.kind)) {
            uses.add(it);
        }
    }
    uses
}

/// Finds slow links, the slowest first.
pub fn slow_links(run: &Run, compared: &[Compared]) -> Vec<SlowLink> {
    let mut slow: BTreeMap<(usize, usize), SlowLink> = BTreeMap::new();
    for it in compared.iter().filter(|it| it.is_slow) {
        let Some(typical) = it.typical else { continue };
        let &Compared { src, dst, transport, bandwidth, is_of_opposite, .. } = it;
        let (ends, pairs, groups) = (Ends::Pair(src, dst), vec![(src, dst)], Vec::new());
        let found = SlowLink { ends, transport, bandwidth, typical, is_of_opposite, groups, pairs };
        let known = slow.entry((src, dst)).or_insert_with(|| found.clone());
        if ratio(&found) < ratio(known) {
            *known = found;
        }
    }
    for it in compared {
        if let Some(link) = slow.get_mut(&(it.src, it.dst)) {
            link.groups.push(it.group);
        }
    }
    for link in slow.values_mut() {
        link.groups.sort_unstable();
        link.groups.dedup();
    }
    let hosts: Vec<usize> = run.ranks.iter().map(|rank| rank.host).collect();
    let mut joined = Vec::new();
    for whole in WHOLES {
        joined.extend(join(whole, &hosts, &mut slow, compared));
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
    /// The links, by sender and receiver: several groups may use one.
    pairs: BTreeSet<(usize, usize)>,
    /// The senders, the receivers and their hosts.
    sides: [BTreeSet<usize>; 4],
}

impl Links {
    fn add(&mut self, (src, dst): (usize, usize), (from, to): (usize, usize)) {
        self.pairs.insert((src, dst));
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
    compared: &[Compared],
) -> Vec<SlowLink> {
    /// Fewer slow links are told one by one.
    const MANY: usize = 3;
    let hosts_of = |(src, dst): (usize, usize)| (hosts[src], hosts[dst]);
    // The slow links and all links of things that have slow ones.
    let mut things: BTreeMap<Ends, (Links, Links)> = BTreeMap::new();
    for &pair in slow.keys() {
        if let Some(ends) = whole(pair, hosts_of(pair)) {
            things.entry(ends).or_default().0.add(pair, hosts_of(pair));
        }
    }
    things.retain(|ends, (slow, _)| slow.pairs.len() >= MANY && slow.are_of_several(*ends));
    for pair in compared.iter().filter(|it| it.typical.is_some()).map(|it| (it.src, it.dst)) {
        let thing = whole(pair, hosts_of(pair)).and_then(|ends| things.get_mut(&ends));
        if let Some((_, all)) = thing {
            all.add(pair, hosts_of(pair));
        }
    }
    things.retain(|_, (slow, all)| 2 * slow.pairs.len() > all.pairs.len());
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

/// A group's use of a directed pair of ranks.
#[derive(Clone, Copy)]
struct Use {
    kind: CollectiveType,
    transport: Transport,
    /// The sender's index.
    src: u32,
    /// The receiver's number.
    dst: u32,
    /// The group, as an index.
    group: u32,
    /// How many members that has.
    members: u32,
    /// The size of all that was carried in a step, in powers of two.
    size: i32,
    /// The bytes of all steps.
    bytes: f64,
    /// How long these took, in nanoseconds.
    time_ns: f64,
}

impl Use {
    /// The uses that it can be compared with: by kind of link, type, members and size.
    fn class(&self) -> (Transport, CollectiveType, u32, i32) {
        (self.transport, self.kind, self.members, self.size)
    }

    /// The sender, the receiver and the group.
    fn pair(&self) -> (u32, u32, u32) {
        (self.src, self.dst, self.group)
    }

    /// The bandwidth in GB/s.
    fn bandwidth(&self) -> f64 {
        self.bytes / self.time_ns
    }
}

/// Each use over all steps.
fn traffic(run: &Run) -> Column<Use> {
    let all_steps = run.steps().len();
    let steps = |rank: &Rank| match rank.origin {
        StepsOrigin::Whole => all_steps.max(1) as f64,
        _ => rank.finishes.len().max(1) as f64,
    };
    let of_row = |&(rank, row): &(u32, LinkRow)| {
        let group = run.groups.binary_search_by_key(&row.group_key, |group| group.key).ok()?;
        let member = |place: u32| run.groups[group].member(place);
        let (src, dst) = (run.rank_of(member(row.src)?)?, member(row.dst)?);
        // Both sides of a send tell of the same bytes; the sender's word counts.
        let is_told_twice = row.kind == CollectiveType::Receive || src != rank as usize;
        let is_other = run.ranks[src].number != dst && !is_told_twice;
        (is_other && row.bytes > 0.0 && row.time_ns > 0.0).then(|| Use {
            kind: row.kind,
            transport: row.transport,
            src: src as u32,
            dst,
            group: group as u32,
            members: run.groups[group].size(),
            size: 0,
            bytes: row.bytes,
            time_ns: row.time_ns,
        })
    };
    let mut uses: Column<Use> = run.links.iter().filter_map(of_row).collect();
    let key = |it: &Use| (it.kind, it.transport, it.pair());
    // The same order of additions, whatever the order of rows.
    let order = |it: &Use| (key(it), it.bytes.to_bits(), it.time_ns.to_bits());
    uses.sort_unstable_by_key(order);
    let mut kept = 0;
    for index in 0..uses.len() {
        let it = uses[index];
        match uses[..kept].last_mut().filter(|last| key(last) == key(&it)) {
            Some(known) => {
                (known.bytes, known.time_ns) = (known.bytes + it.bytes, known.time_ns + it.time_ns)
            }
            None => {
                uses[kept] = it;
                kept += 1;
            }
        }
    }
    uses.truncate(kept);
    for it in uses.iter_mut() {
        // Some ranks may have recorded more steps than others.
        let a_step = it.bytes / steps(&run.ranks[it.src as usize]);
        it.size = a_step.log2().round() as i32;
    }
    uses
}
