//! Which parts belong to one collective.
//!
//! A collective is known by its group and its number in it. Profilers count from where they begin, so a rank's
//! numbers may be shifted against the others'; the shift is chosen that makes types agree with those of a member
//! whose numbers begin as most do, and among equals the one that lets ends coincide best. Sends and receives are
//! known by their pair besides.

use std::collections::{BTreeMap, BTreeSet};

use opscope_columns::Column;
use opscope_trace::NumberMap;

use crate::discover::Role;
use crate::members::count_unnamed;
use crate::rows::CollectiveType;
use crate::run::{Instance, Run};

/// The largest shift that is tried without a reason.
const LARGEST_SHIFT: i32 = 64;

/// A rank whose numbers of a group are shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Shift {
    /// The rank's number.
    pub rank: u32,
    /// The use of the group.
    pub role: Role,
    /// The number that was added to its own.
    pub added: i32,
}

/// Corrects shifted numbers, then ties parts together; needs no clocks.
pub fn match_collectives(run: &mut Run) -> Vec<Shift> {
    let shifts = correct_shifts(run);
    count_unnamed(run);
    tie(run);
    shifts
}

/// A rank's collectives of a group: number to type, end and step.
type Numbers = BTreeMap<i32, (CollectiveType, i64, i32)>;

/// Adds to each rank's numbers what makes them agree with the other members'.
fn correct_shifts(run: &mut Run) -> Vec<Shift> {
    let numbered = |index: &u32| !run.events[*index as usize].kind.is_between_two();
    let group_of = |index: &u32| run.events[*index as usize].group;
    let mut events: Column<u32> = (0..run.events.len() as u32).filter(numbered).collect();
    events.sort_unstable_by_key(|index| (group_of(index), *index));
    let usual = usual_firsts(run, &events);
    let mut added: NumberMap<u64, i32> = NumberMap::default();
    let mut shifts = Vec::new();
    // A group at a time, because the numbers of all take more memory than the events.
    for of_group in events.chunk_by(|a, b| group_of(a) == group_of(b)) {
        let mut ranks: BTreeMap<u32, Numbers> = BTreeMap::new();
        for event in of_group.iter().map(|index| &run.events[*index as usize]) {
            let numbers = ranks.entry(event.rank).or_default();
            numbers.insert(event.sequence, (event.kind, event.end_ns(), event.step));
        }
        let group = group_of(&of_group[0]);
        let reference = reference(&ranks, usual.get(&run.groups[group as usize].role).copied());
        for (rank, numbers) in &ranks {
            let shift = best_shift(numbers, reference);
            if shift != 0 {
                let role = run.groups[group as usize].role;
                shifts.push(Shift { rank: run.ranks[*rank as usize].number, role, added: shift });
                added.insert(u64::from(group) << 32 | u64::from(*rank), shift);
            }
        }
    }
    if !added.is_empty() {
        for event in run.events.iter_mut().filter(|event| !event.kind.is_between_two()) {
            let key = u64::from(event.group) << 32 | u64::from(event.rank);
            event.sequence = event.sequence.saturating_add(added.get(&key).copied().unwrap_or(0));
        }
    }
    shifts
}

/// The number with which most members of all groups of a use begin, by use. `events` come group by group.
fn usual_firsts(run: &Run, events: &[u32]) -> BTreeMap<Role, i32> {
    let event = |index: &u32| &run.events[*index as usize];
    let mut counts: BTreeMap<Role, BTreeMap<i32, usize>> = BTreeMap::new();
    for of_group in events.chunk_by(|a, b| event(a).group == event(b).group) {
        let mut firsts: BTreeMap<u32, i32> = BTreeMap::new();
        for event in of_group.iter().map(event) {
            let first = firsts.entry(event.rank).or_insert(event.sequence);
            *first = event.sequence.min(*first);
        }
        let of_role = counts.entry(run.groups[event(&of_group[0]).group as usize].role).or_default();
        firsts.into_values().for_each(|first| *of_role.entry(first).or_default() += 1);
    }
    let most = |firsts: BTreeMap<i32, usize>| firsts.into_iter().rev().max_by_key(|(_, count)| *count);
    counts.into_iter().filter_map(|(role, firsts)| Some((role, most(firsts)?.0))).collect()
}

/// The first member whose numbers begin as those of most do; of as many, as those of other groups.
fn reference(ranks: &BTreeMap<u32, Numbers>, usual: Option<i32>) -> &Numbers {
    let first = |numbers: &Numbers| numbers.keys().next().copied();
    let alike = |numbers: &Numbers| ranks.values().filter(|other| first(other) == first(numbers)).count();
    let order = |numbers: &Numbers| (alike(numbers), first(numbers) == usual);
    // Of equals the last is chosen.
    let best = ranks.values().rev().max_by_key(|numbers| order(numbers));
    best.expect("a group with events has a rank")
}

/// How far apart the differences of the ends of two ranks' parts in the same collectives lie at most, and half of them, in
/// nanoseconds: the jitter of leaving, and the drift of clocks.
const JITTER: u64 = 1_000_000;
const STEADY: u64 = 200_000;

/// The fewest collectives in common by which a rank is taken to have begun later than others.
const FEWEST: i64 = 8;

/// The number to add to a rank's numbers.
fn best_shift(numbers: &Numbers, reference: &Numbers) -> i32 {
    let most = numbers.len().min(reference.len()) as i64;
    let unshifted = agreement(numbers, reference, 0);
    let is_full = unshifted == (most, most) && (numbers.len() == reference.len() || most <= 1);
    // Full agreement as they stand is by far the most frequent; only then is nothing else tried.
    if is_full && (most <= 1 || spread(numbers, reference, 0) <= JITTER) {
        return 0;
    }
    let tried: Vec<(i32, (i64, i64))> = shifts(numbers, reference)
        .into_iter()
        .map(|shift| (shift, agreement(numbers, reference, shift)))
        .collect();
    let best = tried.iter().map(|(_, (agreeing, common))| 2 * agreeing - common).max().unwrap_or(0);
    // A rank that began later has fewer in common with the others, all of which agree.
    let may_be = |(agreeing, common): (i64, i64)| {
        2 * agreeing - common == best || agreeing == common && common >= FEWEST && 2 * common >= most
    };
    let spreads = tried
        .iter()
        .filter(|(_, it)| may_be(*it))
        .map(|(shift, _)| (spread(numbers, reference, *shift), shift.unsigned_abs(), *shift));
    match spreads.min().filter(|_| best > 0) {
        // Ends that coincide nowhere say nothing against the numbers as they stand.
        Some((spread, ..)) if is_full && spread > STEADY => 0,
        Some((.., shift)) => shift,
        None => 0,
    }
}

/// How many collectives of a shift have the same type, and how many both have.
fn agreement(numbers: &Numbers, reference: &Numbers, shift: i32) -> (i64, i64) {
    let (mut agreeing, mut common) = (0, 0);
    for (number, (kind, ..)) in numbers {
        if let Some((other, ..)) = reference.get(&number.saturating_add(shift)) {
            common += 1;
            agreeing += i64::from(other == kind);
        }
    }
    (agreeing, common)
}

/// How far apart the differences of ends lie at a shift, in nanoseconds. Ends of one collective coincide: their
/// differences are one clock's offset, however large.
fn spread(numbers: &Numbers, reference: &Numbers, shift: i32) -> u64 {
    let mut ends: Vec<i64> = numbers
        .iter()
        .filter_map(|(number, (_, end, _))| {
            Some(end.saturating_sub(reference.get(&number.saturating_add(shift))?.1))
        })
        .collect();
    ends.sort_unstable();
    let middle = ends.get(ends.len() / 2).copied().unwrap_or(0);
    let mut off: Vec<u64> = ends.iter().map(|end| end.abs_diff(middle)).collect();
    off.sort_unstable();
    off.get(off.len() / 2).copied().unwrap_or(u64::MAX)
}

/// The shifts that are tried: small ones, and however large those by which the begins, the ends, or the first collectives
/// of a step come to lie upon one another.
fn shifts(numbers: &Numbers, reference: &Numbers) -> BTreeSet<i32> {
    let mut shifts: BTreeSet<i32> = (-LARGEST_SHIFT..=LARGEST_SHIFT).collect();
    let ends = |numbers: &Numbers| Some([*numbers.first_key_value()?.0, *numbers.last_key_value()?.0]);
    if let (Some(own), Some(others)) = (ends(numbers), ends(reference)) {
        shifts.extend(own.into_iter().zip(others).map(|(own, other)| other.saturating_sub(own)));
    }
    let firsts = |numbers: &Numbers| {
        let mut firsts: BTreeMap<i32, i32> = BTreeMap::new();
        for (number, (_, _, step)) in numbers {
            firsts.entry(*step).or_insert(*number);
        }
        firsts
    };
    let of_reference = firsts(reference);
    for (step, own) in firsts(numbers) {
        shifts.extend(of_reference.get(&step).map(|other| other.saturating_sub(own)));
    }
    shifts
}

/// The key that the parts of one collective have in common: group, pair (or none), number, and the ordinal among
/// those of the same rank with all that.
type Key = (u32, u32, u32, i32, u32);

/// Stands where no pair does.
const NO_PAIR: u32 = u32::MAX;

/// Gives every part its instance.
pub fn tie(run: &mut Run) {
    let mut keys = keys(run);
    keys.sort_unstable();
    (run.instances, run.parts) = (Column::new(), Column::new());
    for of_one in keys.chunk_by(|a, b| a.0 == b.0) {
        let first = &run.events[of_one[0].1 as usize];
        let members = match first.kind.is_between_two() {
            true => 2,
            false => run.groups[first.group as usize].size(),
        };
        run.instances.push(Instance {
            group: first.group,
            first: run.parts.len() as u32,
            seen: of_one.len() as u32,
            members,
            ..Instance::default()
        });
        run.parts.extend(of_one.iter().map(|(_, part)| *part));
    }
    number_parts(run);
}

/// All parts with their keys.
fn keys(run: &Run) -> Column<(Key, u32)> {
    let pairs = pairs(run);
    let unequal = unequal_pairs(run, &pairs);
    let mut keys = Column::new();
    // Counts within a rank, whose parts stand together.
    let mut rank = u32::MAX;
    let mut times: BTreeMap<(u32, u32, u32, i32), i32> = BTreeMap::new();
    let mut again: BTreeMap<(u32, u32, u32, i32), u32> = BTreeMap::new();
    for (index, event) in run.events.iter().enumerate() {
        if event.rank != rank {
            rank = event.rank;
            times.clear();
            again.clear();
        }
        let (source, target) = pairs[index];
        let number = match event.kind.is_between_two() && source != NO_PAIR {
            // The two sides of a pair count on their own: the ordinal among those of the pair counts, or among
            // those of its step where one side lacks some.
            true => {
                let is_by_step = unequal.contains(&(event.group, source, target));
                let step = if is_by_step { event.step } else { 0 };
                let count = times.entry((event.group, source, target, step)).or_insert(-1);
                *count += 1;
                step.wrapping_mul(MOST_OF_STEP).wrapping_add(*count)
            }
            false => event.sequence,
        };
        let twice = again.entry((event.group, source, target, number)).or_insert(0);
        keys.push(((event.group, source, target, number, *twice), index as u32));
        *twice += 1;
    }
    keys
}

/// More sends and receives of a pair than a step has.
const MOST_OF_STEP: i32 = 1 << 14;

/// The pairs of which one side has more parts than the other, by group, sender and receiver.
fn unequal_pairs(run: &Run, pairs: &[(u32, u32)]) -> BTreeSet<(u32, u32, u32)> {
    let mut more_sends: BTreeMap<(u32, u32, u32), i64> = BTreeMap::new();
    for (event, (source, target)) in run.events.iter().zip(pairs).filter(|(_, pair)| pair.0 != NO_PAIR) {
        let more = if event.kind == CollectiveType::Send { 1 } else { -1 };
        *more_sends.entry((event.group, *source, *target)).or_default() += more;
    }
    more_sends.into_iter().filter(|(_, more)| *more != 0).map(|(pair, _)| pair).collect()
}

/// Writes the instances' indices into their parts.
fn number_parts(run: &mut Run) {
    for (index, instance) in run.instances.iter().enumerate() {
        for part in &run.parts[instance.first as usize..][..instance.seen as usize] {
            run.events[*part as usize].instance = index as u32;
        }
    }
}

/// The places of sender and receiver of each part; [`NO_PAIR`] for other collectives, and in groups where not all
/// parts tell the other side.
fn pairs(run: &Run) -> Column<(u32, u32)> {
    let mut untold = vec![false; run.groups.len()];
    let mut pairs = Column::new();
    for event in &run.events {
        let group = &run.groups[event.group as usize];
        let number = run.ranks[event.rank as usize].number;
        let me = group.place_of(number);
        let other = event.peer.filter(|other| Some(*other) != me).or_else(|| match (group.size(), me) {
            (2, Some(me)) => Some(1 - me),
            _ => None,
        });
        pairs.push(match (event.kind, me, other) {
            (CollectiveType::Send, Some(me), Some(other)) => (me, other),
            (CollectiveType::Receive, Some(me), Some(other)) => (other, me),
            (CollectiveType::Send | CollectiveType::Receive, ..) => {
                untold[event.group as usize] = true;
                (NO_PAIR, NO_PAIR)
            }
            _ => (NO_PAIR, NO_PAIR),
        });
    }
    for (pair, event) in pairs.iter_mut().zip(&run.events) {
        if untold[event.group as usize] {
            *pair = (NO_PAIR, NO_PAIR);
        }
    }
    pairs
}

/// Lays all parts on the common clock and sets the instances' begins and transfers; puts instances in order.
pub fn time_instances(run: &mut Run, aligned: impl Fn(usize, i64) -> f64) {
    for event in run.events.iter_mut() {
        event.start = aligned(event.rank as usize, event.start_ns);
    }
    for place in 0..run.instances.len() {
        let instance = &run.instances[place];
        let parts = || run.events_of(instance);
        let begin = parts().map(|event| event.start).fold(f64::MIN, f64::max);
        let tails = parts().map(|event| (event.end() - begin).max(0.0)).sum::<f64>();
        let tail = tails / f64::from(instance.seen.max(1));
        run.instances[place] = Instance { begin, tail, ..*instance };
    }
    run.instances.sort_by(|a, b| a.begin.total_cmp(&b.begin));
    number_parts(run);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(first: i32, kinds: &str, offset: i64) -> Numbers {
        let kind = |letter| match letter {
            'R' => CollectiveType::AllReduce,
            _ => CollectiveType::AllGather,
        };
        // Lengths differ, so that only the right shift lets ends coincide.
        let end = |index: usize| offset + (index * index * 1000) as i64;
        let row = |(index, letter)| (first + index as i32, (kind(letter), end(index), index as i32 / 4));
        kinds.chars().enumerate().map(row).collect()
    }

    #[test]
    fn shifted_numbers_are_found_by_types_and_where_those_agree_by_ends() {
        let reference = numbers(0, "RRRGRRRG", 0);
        assert_eq!(best_shift(&numbers(0, "RRRGRRRG", 5_000_000), &reference), 0);
        assert_eq!(best_shift(&numbers(3, "RRRGRRRG", -70_000_000_000), &reference), -3);
        let alike = numbers(0, "RRRRRRRR", 0);
        assert_eq!(best_shift(&numbers(7, "RRRRRRRR", 1_000), &alike), -7);
        // A rank that lacks the first three, and counts from its own begin.
        let mut late = numbers(0, "RRRRRRRR", 90_000);
        late = late.into_iter().skip(3).map(|(number, it)| (number - 3, it)).collect();
        assert_eq!(best_shift(&late, &alike), 3);
        // However far off, and where only steps tell.
        assert_eq!(best_shift(&numbers(300, "RRRGRRRG", 7), &reference), -300);
        let long: Numbers = numbers(0, &"RRRG".repeat(100), 0)
            .into_iter()
            .map(|(number, (kind, end, step))| (number, (kind, end * 1_000, step)))
            .collect();
        let window: Numbers = long.iter().skip(200).map(|(number, it)| (number - 200, *it)).collect();
        assert_eq!(best_shift(&window, &long), 200);
        // Steps that are numbered otherwise say nothing against collectives that end together.
        let other_steps = long.iter().map(|(number, (kind, end, step))| (*number, (*kind, *end, step + 1)));
        assert_eq!(best_shift(&other_steps.collect(), &long), 0);
    }
}
