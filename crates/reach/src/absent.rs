//! Members of collectives that weren't recorded, and when they came.
//!
//! Who was recorded waits for them as for anybody, and that wait looks like a longer transfer. A transfer that takes
//! longer than those of its like, of which everybody was recorded, is therefore taken to have begun later: when the
//! last of those came of whom nothing was recorded. Nothing tells what held them up, but that they take part in other
//! collectives: after the one that ended last before, the rest is taken for their own work. So a delay passes through
//! them to others, as it did when the run was recorded.

use std::collections::BTreeMap;

use opscope_columns::Column;
use opscope_trace::NumberMap;

use crate::discover::Role;
use crate::rows::{CollectiveType, StepsOrigin};
use crate::run::{Instance, Run};

/// A member's part in a collective that wasn't recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbsentPart {
    /// The collective, as an index of [`Run::instances`].
    pub instance: u32,
    /// A part of the collective after which the member was on its own, as an index of [`Run::events`]; `None` if it is
    /// not known, and it comes after those that were recorded.
    pub pred: Option<u32>,
    /// The time between, in nanoseconds. Clocks and other transfers may make it less than nothing.
    pub segment_ns: f64,
    /// The typical work before the same collective.
    pub typical_ns: f64,
}

/// All parts that weren't recorded, and what follows from them.
#[derive(Clone, Debug, Default)]
pub struct Absent {
    /// The collectives in the order in which their transfers begin; empty where that is the order of
    /// [`Run::instances`].
    order: Column<u32>,
    /// By collective, how much later its transfer begins than the last came that was recorded; empty where nobody is
    /// absent.
    later: Column<f64>,
    /// By collective.
    parts: Column<AbsentPart>,
    /// Parts before which a rank's work wasn't recorded, as indices of [`Run::events`], each with a part that ended
    /// before and the time between in nanoseconds.
    resumed: NumberMap<u32, (u32, f64)>,
}

/// By how much the length of a transfer may differ from the typical one, by which arrivals are told: in nanoseconds, and
/// as a share of it. An end that lies so far behind an arrival may still be what was waited for.
const NEAR_NS: f64 = 20_000.0;
const NEAR: f64 = 0.1;

/// How many absent members of a collective are looked at.
const MOST_MISSING: usize = 64;

/// How many collectives, of which an absent member has none, are passed back over to one that it has.
const MOST_BACK: usize = 8;

impl Absent {
    /// Finds the absent, by typical transfers of all collectives and typical work before all recorded parts.
    pub fn find(run: &Run, typical: Typical<'_>) -> Self {
        let mut lacking: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (index, instance) in run.instances.iter().enumerate().filter(|(_, it)| !it.is_complete()) {
            lacking.insert(index as u32, missing(run, instance));
        }
        if lacking.is_empty() {
            return Self::default();
        }
        let mut later: Column<f64> = std::iter::repeat_n(0.0, run.instances.len()).collect();
        for index in lacking.keys() {
            let (instance, typical) = (&run.instances[*index as usize], typical.tails[*index as usize]);
            let excess = instance.tail - typical;
            // Of transfers that are hardly longer nothing can be said.
            if excess > NEAR_NS + NEAR * typical {
                later[*index as usize] = excess;
            }
        }
        let mut absent = Self { order: Column::new(), later, ..Self::default() };
        let mut order: Vec<u32> = (0..run.instances.len() as u32).collect();
        order.sort_by(|a, b| absent.begin(run, *a).total_cmp(&absent.begin(run, *b)));
        absent.order = order.into_iter().collect();
        let histories = absent.histories(run, &lacking);
        let by_kind = by_kind(&histories);
        let others = Others {
            run,
            typical,
            histories,
            by_kind,
            near: near(run, &lacking),
            exchanges: exchanges(run, typical.slots),
        };
        for (index, members) in &lacking {
            absent.add(&others, *index, members);
        }
        absent.resumed = others.resumed();
        absent
    }

    /// When the transfer of a collective began, on the common clock.
    pub fn begin(&self, run: &Run, instance: u32) -> f64 {
        run.instances[instance as usize].begin + self.later_by(instance)
    }

    /// How much later that is than the last came that was recorded, in nanoseconds.
    pub fn later_by(&self, instance: u32) -> f64 {
        self.later.get(instance as usize).copied().unwrap_or(0.0)
    }

    /// The part of a collective that the others waited for, as an index of [`Run::events`]; none where a member came last
    /// that wasn't recorded.
    pub fn last_part(&self, run: &Run, instance: u32) -> Option<u32> {
        let start = |part: &&u32| run.events[**part as usize].start;
        let parts = run.parts_of(&run.instances[instance as usize]).iter();
        let last = parts.max_by(|a, b| start(a).total_cmp(&start(b))).copied();
        last.filter(|_| self.later_by(instance) <= 0.0)
    }

    /// The part of the member that came last to a collective, where it wasn't recorded.
    pub fn came_last(&self, instance: u32) -> Option<&AbsentPart> {
        // It is added before those of the other members.
        self.of(instance).first().filter(|_| self.later_by(instance) > 0.0)
    }

    /// All collectives in the order in which their transfers begin.
    pub fn order(&self, run: &Run) -> impl Iterator<Item = u32> + '_ {
        let is_as_recorded = self.order.is_empty();
        (0..run.instances.len())
            .map(move |place| if is_as_recorded { place as u32 } else { self.order[place] })
    }

    /// The parts of a collective that weren't recorded.
    pub fn of(&self, instance: u32) -> &[AbsentPart] {
        let from = self.parts.partition_point(|part| part.instance < instance);
        let count = self.parts[from..].iter().take_while(|part| part.instance == instance).count();
        &self.parts[from..from + count]
    }

    /// All of them.
    pub fn parts(&self) -> &[AbsentPart] {
        &self.parts
    }

    /// The part of another after which a rank was on its own before one of its parts, where what was between wasn't
    /// recorded of itself: with the time between in nanoseconds.
    pub fn resumed(&self, part: u32) -> Option<(u32, f64)> {
        self.resumed.get(&part).copied()
    }

    /// The collectives of each absent member, in the order of their ends.
    fn histories(&self, run: &Run, lacking: &BTreeMap<u32, Vec<u32>>) -> BTreeMap<u32, Vec<Ended>> {
        let mut histories: BTreeMap<u32, Vec<Ended>> =
            lacking.values().flatten().map(|member| (*member, Vec::new())).collect();
        let of_group = |group: &crate::run::RunGroup| -> Vec<u32> {
            group.ranks.iter().copied().filter(|rank| histories.contains_key(rank)).collect()
        };
        let of_groups: Vec<Vec<u32>> = run.groups.iter().map(of_group).collect();
        for (index, instance) in run.instances.iter().enumerate() {
            let members = &of_groups[instance.group as usize];
            if members.is_empty() {
                continue;
            }
            let parts = run.parts_of(instance).iter().map(|part| (run.events[*part as usize].end(), *part));
            let Some((end, part)) = parts.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            let first = run.first_of(instance);
            let kind = (run.groups[instance.group as usize].role, first.kind);
            let ended = Ended { end, begin: self.begin(run, index as u32), part, kind };
            // Of a group in which two exchange something, the others take no part.
            let between = first.kind.is_between_two();
            let recorded =
                |rank: u32| run.parts_of(instance).iter().any(|part| number_of(run, *part) == rank);
            let own_kind = |rank: u32| {
                let own = run.events_of(instance).find(|part| run.ranks[part.rank as usize].number == rank);
                own.map_or(first.kind, |part| part.kind)
            };
            let lacks = lacking.get(&(index as u32));
            for member in members {
                let is_recorded = recorded(*member);
                let takes_part = !between || is_recorded || lacks.is_some_and(|it| it.contains(member));
                if takes_part && let Some(history) = histories.get_mut(member) {
                    // The other side of a send receives.
                    let kind = if is_recorded { own_kind(*member) } else { other_side(first.kind) };
                    history.push(Ended { kind: (ended.kind.0, kind), ..ended });
                }
            }
        }
        histories.values_mut().for_each(|history| history.sort_by(|a, b| a.end.total_cmp(&b.end)));
        histories
    }

    /// Adds the absent members of a collective. The one that came last is the one that would usually have come last; the
    /// others came before, and when isn't known: after the same as whoever is nearest to them, as far as that is told.
    fn add(&mut self, others: &Others<'_>, index: u32, members: &[u32]) {
        let (begin, later) = (self.begin(others.run, index), self.later_by(index));
        let usual: Vec<Option<Usual>> =
            members.iter().map(|member| others.usual(*member, index, begin)).collect();
        let comes = |place: &usize| usual[*place].map_or(f64::MIN, |it| it.end + it.segment_ns);
        let last = (0..members.len()).max_by(|a, b| comes(a).total_cmp(&comes(b)));
        if later > 0.0 {
            let history = last.and_then(|last| others.known_history(members[last]));
            let since = history.and_then(|history| ended_before(history, begin)).map(|it| (it.end, it.part));
            let of_like = last.and_then(|last| usual[last]).filter(|it| it.is_of_like);
            let since = [since, of_like.map(|it| (it.end, it.part))].into_iter().flatten();
            let since = since.max_by(|a, b| a.0.total_cmp(&b.0));
            let segment_ns = since.map_or(later, |(end, _)| begin - end);
            // Without a like, all that is waited is more than usual; but what another stage sends is waited for anyway,
            // and of members that nobody names nothing is known.
            let like = last.and_then(|last| usual[last]).filter(|_| since.is_some());
            let is_between_two =
                others.run.first_of(&others.run.instances[index as usize]).kind.is_between_two();
            let without = if is_between_two || members.is_empty() { segment_ns } else { segment_ns - later };
            let typical_ns = like.map_or(without, |it| it.segment_ns).clamp(0.0, segment_ns.max(0.0));
            self.parts.push(AbsentPart {
                instance: index,
                pred: since.map(|(_, part)| part),
                segment_ns,
                typical_ns,
            });
        }
        for (place, usual) in usual.iter().enumerate() {
            if let Some(usual) = usual.filter(|_| later == 0.0 || Some(place) != last) {
                let segment_ns = usual.segment_ns.min(begin - usual.end);
                let (pred, typical_ns) = (Some(usual.part), segment_ns);
                self.parts.push(AbsentPart { instance: index, pred, segment_ns, typical_ns });
            }
        }
    }
}

/// Typical times of the recorded.
#[derive(Clone, Copy)]
pub struct Typical<'r> {
    /// The transfer of each collective, in nanoseconds; over slow links it takes longer than elsewhere.
    pub tails: &'r [f64],
    /// The work before each part, in nanoseconds.
    pub segments: &'r [f64],
    /// The slot of each part.
    pub slots: &'r [u32],
}

/// The recorded ranks, by which those are judged that weren't.
struct Others<'r> {
    run: &'r Run,
    typical: Typical<'r>,
    /// The collectives of each absent member, in the order of their ends.
    histories: BTreeMap<u32, Vec<Ended>>,
    /// The same by use and type.
    by_kind: BTreeMap<u32, BTreeMap<Kind, Vec<Ended>>>,
    /// With how many groups each absent member is tied to others.
    near: BTreeMap<u32, BTreeMap<u32, u32>>,
    /// The sends and receives of which both sides were recorded: by slot and step of each part the other one.
    exchanges: BTreeMap<(u32, i32), Vec<u32>>,
}

/// After what a member comes that does as its nearest do: a recorded part, its end, and the work behind it.
#[derive(Clone, Copy)]
struct Usual {
    part: u32,
    end: f64,
    segment_ns: f64,
    /// Whether the part is the nearest one's own, which the member has no part in.
    is_of_like: bool,
}

impl Others<'_> {
    /// The collectives of an absent member, unless they are all sends and receives where others have more: then nobody was
    /// recorded with whom it works on its stage, and it may have waited for any of those.
    fn known_history(&self, member: u32) -> Option<&[Ended]> {
        let of_kinds = &self.by_kind[&member];
        let is_between_stages = |(role, kind): &Kind| *role == Role::Pp || kind.is_between_two();
        let is_known = !of_kinds.keys().all(is_between_stages)
            || self.run.groups.iter().all(|group| group.role == Role::Pp);
        is_known.then(|| &self.histories[&member][..])
    }

    /// After what an absent member usually comes to a collective: its own collective of that kind which the nearest
    /// recorded member of the collective comes after. The other side of a send or receive is of a stage with other work:
    /// nearest is whoever exchanges the same with a peer of that side.
    fn usual(&self, member: u32, index: u32, begin: f64) -> Option<Usual> {
        let run = self.run;
        let instance = &run.instances[index as usize];
        let near = &self.near[&member];
        let ties = |part: &u32| near.get(&number_of(run, *part)).copied().unwrap_or(0);
        let recorded = match run.parts_of(instance) {
            [part] if run.first_of(instance).kind.is_between_two() => {
                let place = (self.typical.slots[*part as usize], run.events[*part as usize].step);
                self.exchanges.get(&place).map_or(&[][..], |like| like)
            }
            parts => parts,
        };
        let told = recorded.iter().copied().filter(|part| self.typical.segments[*part as usize].is_finite());
        let like = told.filter(|part| run.events[*part as usize].pred.is_some()).max_by_key(ties)?;
        let (mut part, mut segment_ns) = (like, 0.0);
        for _ in 0..MOST_BACK {
            segment_ns += Some(self.typical.segments[part as usize]).filter(|it| it.is_finite())?;
            part = run.events[part as usize].pred?;
            let pred = &run.events[part as usize];
            let kind = (run.groups[pred.group as usize].role, pred.kind);
            if let Some(history) = self.by_kind[&member].get(&kind) {
                let after = nearest(history, pred.end(), begin)?;
                return Some(Usual { part: after.part, end: after.end, segment_ns, is_of_like: false });
            }
            if pred.kind.is_between_two() {
                // Exchanges of absent members nobody recorded; the nearest got theirs at about that time.
                let usual = Usual { part, end: pred.end(), segment_ns, is_of_like: true };
                return (usual.end < begin).then_some(usual);
            }
            // Among absent members the same went on as among these.
            segment_ns += (pred.end() - self.run.instances[pred.instance as usize].begin).max(0.0);
        }
        None
    }
}

impl Others<'_> {
    /// The first part of each rank whose earlier ones are lacking, and those behind steps that are.
    fn resumed(&self) -> NumberMap<u32, (u32, f64)> {
        let mut resumed = NumberMap::default();
        for (member, history) in &self.histories {
            let Some(rank) = self.run.rank_of(*member) else { continue };
            for part in self.run.ranks[rank].events.clone() {
                let event = &self.run.events[part];
                if event.pred.is_none()
                    && let Some(since) = ended_before(history, event.start)
                {
                    resumed.insert(part as u32, (since.part, event.start - since.end));
                }
            }
        }
        resumed
    }
}

/// The operation of whoever takes part in one on the other side of a pair.
fn other_side(kind: CollectiveType) -> CollectiveType {
    match kind {
        CollectiveType::Send => CollectiveType::Receive,
        CollectiveType::Receive => CollectiveType::Send,
        both => both,
    }
}

fn number_of(run: &Run, part: u32) -> u32 {
    run.ranks[run.events[part as usize].rank as usize].number
}

fn by_kind(histories: &BTreeMap<u32, Vec<Ended>>) -> BTreeMap<u32, BTreeMap<Kind, Vec<Ended>>> {
    let of_member = |history: &Vec<Ended>| {
        let mut of_kinds: BTreeMap<Kind, Vec<Ended>> = BTreeMap::new();
        history.iter().for_each(|it| of_kinds.entry(it.kind).or_default().push(*it));
        of_kinds
    };
    histories.iter().map(|(member, history)| (*member, of_member(history))).collect()
}

/// The sends and receives of which both sides were recorded: by slot and step of each part the other one.
fn exchanges(run: &Run, slots: &[u32]) -> BTreeMap<(u32, i32), Vec<u32>> {
    let mut found: BTreeMap<(u32, i32), Vec<u32>> = BTreeMap::new();
    for instance in run.instances.iter().filter(|it| run.first_of(it).kind.is_between_two()) {
        if let [one, other] = *run.parts_of(instance) {
            for (own, theirs) in [(one, other), (other, one)] {
                let place = (slots[own as usize], run.events[own as usize].step);
                found.entry(place).or_default().push(theirs);
            }
        }
    }
    found
}

/// How many groups, other than those of a pipeline's stages, each absent member shares with each other rank.
fn near(run: &Run, lacking: &BTreeMap<u32, Vec<u32>>) -> BTreeMap<u32, BTreeMap<u32, u32>> {
    let mut near: BTreeMap<u32, BTreeMap<u32, u32>> =
        lacking.values().flatten().map(|member| (*member, BTreeMap::new())).collect();
    let absent: Vec<u32> = near.keys().copied().collect();
    for group in run.groups.iter().filter(|group| group.role != Role::Pp) {
        for member in absent.iter().filter(|member| group.ranks.contains(member)) {
            let shared = near.entry(*member).or_default();
            group.ranks.iter().for_each(|rank| *shared.entry(*rank).or_default() += 1);
        }
    }
    near
}

/// The use and type of a collective.
type Kind = (Role, CollectiveType);

/// A collective of a member: its end and its transfer's begin on the common clock, and the recorded part that ended
/// last, as an index of [`Run::events`].
#[derive(Clone, Copy, Debug)]
struct Ended {
    end: f64,
    begin: f64,
    part: u32,
    kind: Kind,
}

impl Ended {
    /// Whether somebody may have come at a time after it.
    fn is_before(&self, arrival: f64) -> bool {
        self.begin < arrival && self.end <= arrival + NEAR_NS
    }
}

/// The collective of a member that ended last before an arrival.
fn ended_before(history: &[Ended], arrival: f64) -> Option<Ended> {
    let behind = history.partition_point(|it| it.end <= arrival + NEAR_NS);
    history[..behind].iter().rev().find(|it| it.is_before(arrival)).copied()
}

/// Of collectives before an arrival, the one that ended nearest to a time.
fn nearest(history: &[Ended], end: f64, arrival: f64) -> Option<Ended> {
    let place = history.partition_point(|it| it.end < end);
    let before = history[..place].iter().rev().find(|it| it.is_before(arrival));
    let mut behind = history[place..].iter().take_while(|it| it.end <= arrival + NEAR_NS);
    let behind = behind.find(|it| it.is_before(arrival));
    before
        .into_iter()
        .chain(behind)
        .copied()
        .min_by(|a, b| (a.end - end).abs().total_cmp(&(b.end - end).abs()))
}

/// Whether nothing tells that a rank, which is given by its number, lacks a step.
fn has_step(run: &Run, number: u32, step: i32) -> bool {
    let rank = run.rank_of(number).map(|rank| &run.ranks[rank]);
    rank.is_some_and(|it| it.origin == StepsOrigin::Whole || it.steps.iter().any(|own| own.step == step))
}

/// The members of a collective whose parts weren't recorded, by their numbers; none where nothing tells who they are, or
/// there are so many that any of them may have been the last.
pub fn missing(run: &Run, instance: &Instance) -> Vec<u32> {
    let group = &run.groups[instance.group as usize];
    let mut seen: Vec<u32> =
        run.events_of(instance).map(|part| run.ranks[part.rank as usize].number).collect();
    seen.sort_unstable();
    let first = run.first_of(instance);
    if first.kind.is_between_two() {
        let other = match (first.peer, &group.ranks[..]) {
            (Some(peer), _) => group.member(peer),
            _ if group.unnamed > 0 => None,
            (None, [a, b]) => Some(if seen.contains(a) { *b } else { *a }),
            // Texts don't tell it. The part of one that was recorded would have been matched, unless it was left out.
            (None, members) => {
                let (recorded, unrecorded): (Vec<u32>, Vec<u32>) =
                    members.iter().partition(|member| run.is_recorded(**member));
                match unrecorded[..] {
                    [only] if recorded.iter().all(|member| has_step(run, *member, first.step)) => Some(only),
                    _ => None,
                }
            }
        };
        return other.filter(|other| !seen.contains(other)).into_iter().collect();
    }
    let missing = group.ranks.iter().copied().filter(|rank| seen.binary_search(rank).is_err());
    let missing: Vec<u32> = missing.take(MOST_MISSING + 1).collect();
    if missing.len() > MOST_MISSING { Vec::new() } else { missing }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::matching;
    use crate::tests::stages::{Message, run};

    /// The number of the sender of each message whose other side is missing, its step, and who is taken for that side.
    fn unmatched(run: &Run) -> Vec<(u32, i32, Vec<u32>)> {
        let lacking = run.instances.iter().filter(|it| !it.is_complete());
        let of = |instance: &Instance| {
            let part = run.first_of(instance);
            (run.ranks[part.rank as usize].number, part.step, missing(run, instance))
        };
        let mut found: Vec<_> = lacking.map(of).collect();
        found.sort();
        found
    }

    #[test]
    fn a_stage_that_was_not_recorded_stands_for_the_other_side_only_in_steps_that_all_others_have() {
        let messages = (0..9).map(|number: i32| {
            let (step, from) = (number / 3, (number % 3) as u32);
            let sent_ns = i64::from(number + 1) * 10_000;
            Message { step, from, to: from + 1, sent_ns, received_ns: sent_ns + 500 }
        });
        let messages: Vec<Message> = messages.collect();
        let mut run = run(4, 3, &messages, true);
        let to_last: Vec<(u32, i32, Vec<u32>)> = (0..3).map(|step| (2, step, vec![3])).collect();
        assert_eq!(unmatched(&run), to_last);
        run.leave_out(&BTreeSet::from([(1, 1)]));
        matching::tie(&mut run);
        // The first and the third stage exchanged something with the second in that step, which nobody else has.
        let untold: [(u32, i32, Vec<u32>); 5] =
            [(0, 1, vec![]), (2, 0, vec![3]), (2, 1, vec![]), (2, 1, vec![]), (2, 2, vec![3])];
        assert_eq!(unmatched(&run), untold);
    }
}
