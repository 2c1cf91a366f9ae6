//! Collectives by their use and type: how long they wait and transfer, how fast their links are, and one of them rank
//! by rank.

use std::collections::{BTreeMap, BTreeSet};

use crate::Findings;
use crate::discover::Role;
use crate::links::compare;
use crate::rows::{CollectiveType, Transport};
use crate::run::{Event, Instance};

/// The collectives of a use and type.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CollectivesRow {
    /// The use.
    pub role: Role,
    /// The type; a send and its receive are a receive.
    #[serde(rename = "type")]
    pub kind: CollectiveType,
    /// The groups.
    pub groups: usize,
    /// The collectives.
    pub calls: usize,
    /// How many of these lack a rank that wasn't recorded, and so have waits that are inferred.
    pub incomplete: usize,
    /// The mean of what a rank waits in them a step, in nanoseconds.
    pub waiting_ns: f64,
    /// The mean of what a rank transfers in them a step, in nanoseconds.
    pub transfer_ns: f64,
    /// The contribution of the recorded ranks, in bytes, as [`crate::Event::bytes`] tells it; `None` where no profile does.
    pub bytes: Option<u64>,
    /// The bandwidth over each kind of link: bytes by the time that they took, in GB/s.
    pub bandwidth: BTreeMap<&'static str, f64>,
    /// The group that is slowest beside the others, if any is: its ranks, and how many times as long as the median
    /// of the groups its transfers take.
    pub slowest: Option<(Vec<u32>, f64)>,
}

/// The collectives that are asked for.
#[derive(Clone, Debug, Default)]
pub struct CollectivesFilter {
    /// Of this use.
    pub role: Option<Role>,
    /// Of this group.
    pub group_key: Option<u64>,
    /// Of this type.
    pub kind: Option<CollectiveType>,
}

impl CollectivesFilter {
    fn takes(&self, findings: &Findings, instance: &Instance) -> bool {
        self.takes_group(findings, instance.group as usize)
            && self.kind.is_none_or(|kind| kind == findings.run.first_of(instance).kind.of_both_sides())
    }

    fn takes_group(&self, findings: &Findings, group: usize) -> bool {
        let group = &findings.run.groups[group];
        self.role.is_none_or(|role| role == group.role) && self.group_key.is_none_or(|key| key == group.key)
    }
}

impl Findings {
    /// When the transfer of a collective began, which is given by its index, on the common clock in nanoseconds: when the
    /// last rank came, or is taken to have come that wasn't recorded.
    pub fn transfer_begin(&self, instance: u32) -> f64 {
        self.peers.absent.begin(&self.run, instance)
    }

    /// Whether that is inferred: a rank came last that wasn't recorded.
    pub fn is_wait_inferred(&self, instance: u32) -> bool {
        self.peers.absent.later_by(instance) > 0.0
    }

    /// How long a part waits until the transfer begins, in nanoseconds; the rest of it is transfer.
    pub fn waited_ns(&self, part: &Event) -> f64 {
        (self.transfer_begin(part.instance) - part.start).clamp(0.0, part.duration_ns as f64)
    }

    /// The part of a collective that the others waited for, as an index of [`crate::Run::events`]; none where a rank came
    /// last that wasn't recorded.
    pub fn last_part(&self, instance: u32) -> Option<u32> {
        self.peers.absent.last_part(&self.run, instance)
    }
}

/// The bytes of a collective by those of its parts, whose ranks were recorded: both sides of a send tell of the same.
pub fn instance_bytes(parts: impl Iterator<Item = u64>, kind: CollectiveType) -> u64 {
    if kind.is_between_two() { parts.max().unwrap_or(0) } else { parts.fold(0, u64::saturating_add) }
}

/// The collectives by use and type.
pub fn collectives(findings: &Findings, filter: &CollectivesFilter) -> Vec<CollectivesRow> {
    #[derive(Default)]
    struct Sums {
        calls: usize,
        incomplete: usize,
        waiting: f64,
        transfer: f64,
        bytes: u64,
        of_groups: BTreeMap<u32, (f64, f64)>,
        ranks: BTreeSet<u32>,
    }
    let run = &findings.run;
    let of_run = run.steps().len();
    let mut sums: BTreeMap<(Role, CollectiveType), Sums> = BTreeMap::new();
    for instance in run.instances.iter().filter(|it| filter.takes(findings, it)) {
        let parts = || run.events_of(instance);
        let kind = run.first_of(instance).kind.of_both_sides();
        let sums = sums.entry((run.groups[instance.group as usize].role, kind)).or_default();
        sums.calls += 1;
        sums.incomplete += usize::from(!instance.is_complete());
        for part in parts() {
            let waited = findings.waited_ns(part);
            sums.waiting += waited;
            sums.transfer += part.duration_ns as f64 - waited;
            sums.ranks.insert(part.rank);
        }
        let bytes = instance_bytes(parts().map(|part| part.bytes), kind);
        sums.bytes = sums.bytes.saturating_add(bytes);
        let of_group = sums.of_groups.entry(instance.group).or_default();
        if instance.is_complete() {
            *of_group = (of_group.0 + instance.tail, of_group.1 + 1.0);
        }
    }
    let mut bandwidth = bandwidths(findings, filter);
    let row = |((role, kind), sums): ((Role, CollectiveType), Sums)| {
        // A rank that lacks steps takes part in those that it has.
        let steps = sums.ranks.iter().map(|rank| run.steps_of(*rank as usize, of_run)).sum::<usize>();
        let steps = steps.max(1) as f64;
        CollectivesRow {
            role,
            kind,
            groups: sums.of_groups.len(),
            calls: sums.calls,
            incomplete: sums.incomplete,
            waiting_ns: sums.waiting / steps,
            transfer_ns: sums.transfer / steps,
            bytes: (sums.bytes > 0).then_some(sums.bytes),
            bandwidth: bandwidth.remove(&(role, kind)).unwrap_or_default(),
            slowest: slowest(findings, &sums.of_groups),
        }
    };
    sums.into_iter().map(row).collect()
}

/// The bandwidths of each use and type by the kind of link, in GB/s.
fn bandwidths(
    findings: &Findings,
    filter: &CollectivesFilter,
) -> BTreeMap<(Role, CollectiveType), BTreeMap<&'static str, f64>> {
    let mut sums: BTreeMap<(Role, CollectiveType, Transport), (f64, f64)> = BTreeMap::new();
    for link in matrix(findings, filter) {
        let sum = sums.entry((link.role, link.kind, link.transport)).or_default();
        *sum = (sum.0 + link.bytes, sum.1 + link.time_ns);
    }
    let mut found: BTreeMap<_, BTreeMap<&'static str, f64>> = BTreeMap::new();
    for ((role, kind, transport), (bytes, time)) in sums {
        found.entry((role, kind)).or_default().insert(transport.name(), bytes / time);
    }
    found
}

/// The group whose transfers take longest beside the median of the groups, if they take a fifth longer.
fn slowest(findings: &Findings, of_groups: &BTreeMap<u32, (f64, f64)>) -> Option<(Vec<u32>, f64)> {
    const CLEARLY: f64 = 1.2;
    let of_groups = || of_groups.iter().filter(|(_, (_, count))| *count > 0.0);
    let mut means: Vec<f64> = of_groups().map(|(_, (sum, count))| sum / count).collect();
    let middle = crate::clocks::median(&mut means);
    let (group, (sum, count)) = of_groups().max_by(|a, b| (a.1.0 / a.1.1).total_cmp(&(b.1.0 / b.1.1)))?;
    let times = sum / count / middle;
    let ranks = || findings.run.groups[*group as usize].ranks.clone();
    (means.len() > 1 && middle > 0.0 && times > CLEARLY).then(|| (ranks(), times))
}

/// The traffic of a use and type over a directed pair of ranks, over all steps.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MatrixRow {
    /// The use.
    pub role: Role,
    /// The type.
    #[serde(rename = "type")]
    pub kind: CollectiveType,
    /// The sender.
    pub src: u32,
    /// The receiver.
    pub dst: u32,
    /// The kind of link.
    pub transport: Transport,
    /// The bytes.
    pub bytes: f64,
    /// How long they took, in nanoseconds.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub time_ns: f64,
    /// Bytes by time, in GB/s.
    pub gb_per_s: f64,
}

/// The traffic between ranks: of each pair what its sender tells, and of a rank to itself nothing.
pub fn matrix(findings: &Findings, filter: &CollectivesFilter) -> Vec<MatrixRow> {
    /// The use and type of the collective, sender, receiver and transport.
    type Pair = (Role, CollectiveType, u32, u32, Transport);
    let run = &findings.run;
    let mut sums: BTreeMap<Pair, (f64, f64)> = BTreeMap::new();
    for (rank, row) in &run.links {
        let Ok(group) = run.groups.binary_search_by_key(&row.group_key, |group| group.key) else { continue };
        let member = |place: u32| run.groups[group].member(place);
        let (Some(src), Some(dst)) = (member(row.src), member(row.dst)) else { continue };
        let kind = if row.kind == CollectiveType::Send { CollectiveType::Receive } else { row.kind };
        let is_asked = filter.takes_group(findings, group) && filter.kind.is_none_or(|it| it == kind);
        // Both sides of a send tell of the same bytes; the sender's word counts.
        let is_told_twice = row.kind == CollectiveType::Receive || src != run.ranks[*rank as usize].number;
        if !is_asked || src == dst || is_told_twice || row.bytes <= 0.0 || row.time_ns <= 0.0 {
            continue;
        }
        let sum = sums.entry((run.groups[group].role, kind, src, dst, row.transport)).or_default();
        *sum = (sum.0 + row.bytes, sum.1 + row.time_ns);
    }
    let row = |((role, kind, src, dst, transport), (bytes, time_ns))| MatrixRow {
        role,
        kind,
        src,
        dst,
        transport,
        bytes,
        time_ns,
        gb_per_s: bytes / time_ns,
    };
    sums.into_iter().map(row).collect()
}

impl Findings {
    /// How many links [`matrix`] leaves out because nothing says which ranks are at their ends: where a run doesn't
    /// declare the members of a group, each rank's own files tell no more than its own place.
    pub fn unnamed_links(&self, filter: &CollectivesFilter) -> usize {
        let run = &self.run;
        let mut found = BTreeSet::new();
        for (_, row) in &run.links {
            let Ok(group) = run.groups.binary_search_by_key(&row.group_key, |group| group.key) else {
                continue;
            };
            let is_asked = filter.takes_group(self, group)
                && filter.kind.is_none_or(|kind| kind == row.kind.of_both_sides());
            let is_unnamed =
                [row.src, row.dst].iter().any(|place| run.groups[group].member(*place).is_none());
            if is_asked && is_unnamed && row.src != row.dst && row.bytes > 0.0 && row.time_ns > 0.0 {
                found.insert((group, row.src, row.dst));
            }
        }
        found.len()
    }
}

/// A link beside its like: of all that a use and type carry over it, the group's part that is slowest by comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The part's bandwidth in GB/s.
    pub gb_per_s: f64,
    /// The median of its like: the same kind of link, type, number of members and size.
    pub peers_gb_per_s: f64,
    /// Whether that is the other direction's bandwidth instead, because too few are alike.
    pub is_of_opposite: bool,
    /// Whether it is slower than chance explains.
    pub is_slow: bool,
}

/// How each row of [`matrix`] stands beside its like, or beside its other direction; `None` where too few are alike to be
/// compared, and the other direction isn't clearly quicker.
pub fn standings(findings: &Findings, rows: &[MatrixRow]) -> Vec<Option<Standing>> {
    let run = &findings.run;
    let mut slowest: BTreeMap<(Role, CollectiveType, u32, u32, Transport), Standing> = BTreeMap::new();
    let compared = compare(run);
    for (it, peers_gb_per_s) in compared.iter().filter_map(|it| Some((it, it.typical?))) {
        let number = |index: usize| run.ranks[index].number;
        let kind = if it.kind == CollectiveType::Send { CollectiveType::Receive } else { it.kind };
        let key = (run.groups[it.group as usize].role, kind, number(it.src), number(it.dst), it.transport);
        let (gb_per_s, is_of_opposite, is_slow) = (it.bandwidth, it.is_of_opposite, it.is_slow);
        let found = Standing { gb_per_s, peers_gb_per_s, is_of_opposite, is_slow };
        let known = slowest.entry(key).or_insert(found);
        // A slow part is told whatever else the link carries.
        let order = |it: &Standing| (!it.is_slow, it.gb_per_s / it.peers_gb_per_s);
        if order(&found) < order(known) {
            *known = found;
        }
    }
    let of_row =
        |row: &MatrixRow| slowest.get(&(row.role, row.kind, row.src, row.dst, row.transport)).copied();
    rows.iter().map(of_row).collect()
}

/// A rank's part in one collective. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PartRow {
    /// The rank.
    pub rank: u32,
    /// Its place, such as `host6:1`.
    pub place: String,
    /// When it came, after the first of them.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub came_ns: f64,
    /// How long it waited for the last of them.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub waited_ns: f64,
    /// How long it transferred.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub transfer_ns: f64,
    /// The rank's own work before it.
    pub segment_ns: i64,
    /// The time of that work where nothing is slow.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub typical_ns: f64,
    /// Whether the others waited for it; nobody of those recorded where one came later that wasn't.
    pub is_last: bool,
}

/// One collective, rank by rank.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct InstanceParts {
    /// The use of its group.
    pub role: Role,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: CollectiveType,
    /// Its step.
    pub step: i32,
    /// The members that weren't recorded, or whose parts weren't.
    pub missing: Vec<u32>,
    /// Its parts, in the order in which they came.
    pub parts: Vec<PartRow>,
}

/// The collectives of a group with a number: one, or several of sends and receives, whose sides count apart.
pub fn instances(findings: &Findings, group_key: u64, sequence: i32) -> Vec<InstanceParts> {
    let run = &findings.run;
    let is_asked = |it: &&Instance| {
        run.groups[it.group as usize].key == group_key && run.first_of(it).sequence == sequence
    };
    let parts = |instance: &Instance| {
        let mut events = run.parts_of(instance).to_vec();
        let event = |index: u32| &run.events[index as usize];
        events.sort_by(|a, b| event(*a).start.total_cmp(&event(*b).start));
        let first = event(events[0]).start;
        let last = findings.last_part(event(events[0]).instance);
        let part = |index: &u32| {
            let part = event(*index);
            let waited_ns = findings.waited_ns(part);
            PartRow {
                rank: run.ranks[part.rank as usize].number,
                place: run.place(part.rank as usize),
                came_ns: part.start - first,
                waited_ns,
                transfer_ns: part.duration_ns as f64 - waited_ns,
                segment_ns: part.segment_ns,
                typical_ns: findings.peers.work.segment[*index as usize],
                is_last: last == Some(*index),
            }
        };
        let parts: Vec<PartRow> = events.iter().map(part).collect();
        let group = &run.groups[instance.group as usize];
        let is_here = |rank: &&u32| !parts.iter().any(|part| part.rank == **rank);
        let is_pair = event(events[0]).kind.is_between_two();
        let missing =
            if is_pair { Vec::new() } else { group.ranks.iter().filter(is_here).copied().collect() };
        InstanceParts {
            role: group.role,
            kind: event(events[0]).kind.of_both_sides(),
            step: event(events[0]).step,
            missing,
            parts,
        }
    };
    run.instances.iter().filter(is_asked).map(parts).collect()
}

/// The group of a word: its number, its name, or a use and one of its ranks, such as `dp:28`.
///
/// # Errors
/// With what was expected.
pub fn group_of(findings: &Findings, word: &str) -> Result<u64, String> {
    let groups = &findings.run.groups;
    // Tables of a set have the number with a sign.
    let with_sign = word.parse::<i64>().ok().map(i64::cast_unsigned);
    let keys = with_sign.into_iter().chain([crate::discover::key_of_text(word)]);
    if let Some(key) = keys.into_iter().find(|key| groups.iter().any(|group| group.key == *key)) {
        return Ok(key);
    }
    let by_rank = word.split_once(':').and_then(|(role, rank)| Some((role, rank.parse::<u32>().ok()?)));
    let found = by_rank.and_then(|(role, rank)| {
        groups.iter().find(|group| group.role.name() == role && group.ranks.contains(&rank))
    });
    let mut roles: Vec<&str> = groups.iter().map(|group| group.role.name()).collect();
    roles.sort_unstable();
    roles.dedup();
    let expected = || {
        format!(
            "there is no group {word}; give a use and a rank such as {}:0 (uses: {}), or a group's name or number",
            roles.first().unwrap_or(&"dp"),
            roles.join(", ")
        )
    };
    found.map(|group| group.key).ok_or_else(expected)
}
