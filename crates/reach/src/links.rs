//! Links that are slower than their like.
//!
//! The bandwidth of each directed pair of ranks is compared with that of other pairs with the same kind of link, the
//! same type of collective, number of members and size of messages.

use std::collections::{BTreeMap, BTreeSet};

use crate::clocks::median;
use crate::rows::{CollectiveType, Transport};
use crate::run::Run;

/// A slow link, or many of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowLink {
    /// The sender's index; of a slow port, the rank that has it.
    pub src: usize,
    /// The receiver's index; `None` if most links out of the sender are slow.
    pub dst: Option<usize>,
    /// The kind of link.
    pub transport: Transport,
    /// Its bandwidth in bytes a nanosecond, which are GB/s.
    pub bandwidth: f64,
    /// The median of its like.
    pub typical: f64,
    /// The groups that use it, as indices.
    pub groups: Vec<u32>,
}

/// Pairs that can be compared: kind of link, type, members, size of all that was carried in powers of two.
type Class = (Transport, CollectiveType, usize, i32);

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
    /// Its bandwidth in GB/s.
    pub bandwidth: f64,
    /// The median of its like; `None` where too few are alike to be compared.
    pub typical: Option<f64>,
    /// Whether it is slower than chance explains.
    pub is_slow: bool,
}

/// The bandwidth of each use of a directed pair beside those of its like: kind by kind, and within a kind by sender
/// and receiver.
pub fn compare(run: &Run) -> Vec<Compared> {
    let mut classes: BTreeMap<Class, BTreeMap<(usize, usize, u32), f64>> = BTreeMap::new();
    for ((kind, transport, src, dst, group), (bytes, time)) in traffic(run) {
        let members = run.groups[group as usize].ranks.len();
        let class = (transport, kind, members, bytes.log2().round() as i32);
        classes.entry(class).or_default().insert((src, dst, group), bytes / time);
    }
    let mut compared = Vec::new();
    for ((transport, kind, ..), pairs) in classes {
        let mut logarithms: Vec<f64> = pairs.values().map(|it| it.ln()).collect();
        let middle = median(&mut logarithms);
        let mut off: Vec<f64> = logarithms.iter().map(|it| (it - middle).abs()).collect();
        let spread = (1.4826 * median(&mut off)).max(0.02);
        let typical = (pairs.len() >= FEWEST).then(|| middle.exp());
        for ((src, dst, group), bandwidth) in pairs {
            let is_low =
                |typical: f64| (bandwidth.ln() - middle) / spread < -4.0 && bandwidth < 0.85 * typical;
            let is_slow = typical.is_some_and(is_low);
            compared.push(Compared { transport, kind, src, dst, group, bandwidth, typical, is_slow });
        }
    }
    compared
}

/// Finds slow links, the slowest first.
pub fn slow_links(run: &Run) -> Vec<SlowLink> {
    let compared = compare(run);
    let mut users: BTreeMap<(usize, usize), BTreeSet<u32>> = BTreeMap::new();
    for it in &compared {
        users.entry((it.src, it.dst)).or_default().insert(it.group);
    }
    let mut slow: BTreeMap<(usize, usize), SlowLink> = BTreeMap::new();
    let mut receivers: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for it in &compared {
        let Some(typical) = it.typical else { continue };
        let &Compared { src, dst, transport, bandwidth, .. } = it;
        receivers.entry(src).or_default().insert(dst);
        if it.is_slow {
            let groups = users[&(src, dst)].iter().copied().collect();
            let found = SlowLink { src, dst: Some(dst), transport, bandwidth, typical, groups };
            let known = slow.entry((src, dst)).or_insert_with(|| found.clone());
            if found.bandwidth / found.typical < known.bandwidth / known.typical {
                *known = found;
            }
        }
    }
    join_ports(slow.into_values().collect(), &receivers)
}

/// Makes one of the links of a rank most of which are slow.
fn join_ports(slow: Vec<SlowLink>, receivers: &BTreeMap<usize, BTreeSet<usize>>) -> Vec<SlowLink> {
    /// Fewer slow links of a rank are told one by one.
    const MANY: usize = 3;
    let mut bad: BTreeMap<usize, usize> = BTreeMap::new();
    slow.iter().for_each(|link| *bad.entry(link.src).or_default() += 1);
    let mut joined: Vec<SlowLink> = Vec::new();
    for link in slow {
        let (bad, all) = (bad[&link.src], receivers[&link.src].len());
        let is_port = bad >= MANY && 2 * bad > all;
        match joined.iter_mut().find(|known| is_port && known.src == link.src && known.dst.is_none()) {
            Some(port) => {
                port.groups.extend(link.groups);
                port.groups.sort_unstable();
                port.groups.dedup();
                port.bandwidth = port.bandwidth.min(link.bandwidth);
            }
            None if is_port => joined.push(SlowLink { dst: None, ..link }),
            None => joined.push(link),
        }
    }
    let ratio = |link: &SlowLink| link.bandwidth / link.typical;
    joined.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    joined
}

/// A group's use of a directed pair: type, kind of link, sender, receiver, group.
type Use = (CollectiveType, Transport, usize, usize, u32);

/// The bytes and nanoseconds of each use over all steps.
fn traffic(run: &Run) -> BTreeMap<Use, (f64, f64)> {
    let mut traffic = BTreeMap::new();
    for (rank, row) in &run.links {
        let Ok(group) = run.groups.binary_search_by_key(&row.group_key, |group| group.key) else { continue };
        let member = |place: u32| run.groups[group].ranks.get(place as usize).copied();
        let index = |place: u32| run.rank_of(member(place)?);
        let (Some(src), Some(dst)) = (index(row.src), index(row.dst)) else { continue };
        // Both sides of a send tell of the same bytes; the sender's word counts.
        let is_told_twice = row.kind == CollectiveType::Receive || src != *rank as usize;
        if src == dst || is_told_twice || row.bytes <= 0.0 || row.time_ns <= 0.0 {
            continue;
        }
        let sum = traffic.entry((row.kind, row.transport, src, dst, group as u32)).or_insert((0.0, 0.0));
        *sum = (sum.0 + row.bytes, sum.1 + row.time_ns);
    }
    traffic
}
