//! Whether collections are of one job, by the words of each about its groups.
//!
//! Every rank of a job declares the groups that it belongs to, by names that are the same on all their members, and in
//! most frameworks other ones in each job. Two ranks are of different jobs if they state different numbers of ranks, give
//! one name to different members, or both belong to the same members and have no name for them in common.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::error::ReachError;

/// Collections that agree, with what they say of their job.
pub struct Saying<'f> {
    pub ranks: Vec<u32>,
    pub folder: &'f Path,
    pub world_size: Option<u32>,
    /// The names of groups that they belong to, with the members.
    pub groups: Vec<(u64, Members)>,
}

/// The members of a group in order, which all that belong to it share.
pub type Members = Arc<[u32]>;

impl<'f> Saying<'f> {
    pub fn new<'g>(
        ranks: Vec<u32>,
        folder: &'f Path,
        world_size: Option<u32>,
        groups: impl Iterator<Item = (u64, &'g [u32])>,
        known: &mut BTreeSet<Members>,
    ) -> Self {
        let in_order = |(key, ranks): (u64, &[u32])| {
            let mut ranks = ranks.to_vec();
            ranks.sort_unstable();
            ranks.dedup();
            let members = known.get(&ranks[..]).cloned().unwrap_or_else(|| ranks.into());
            known.insert(Arc::clone(&members));
            (key, members)
        };
        // A group of one ties nobody to anybody.
        let groups = groups.map(in_order).filter(|(_, ranks)| ranks.len() > 1).collect();
        Self { ranks, folder, world_size, groups }
    }
}

/// Refuses collections of which some contradict others.
///
/// # Errors
/// With the ranks of both sides, where there are such.
pub fn refuse_several(all: &[Saying<'_>]) -> Result<(), ReachError> {
    let by_size = sides(all, |saying| saying.world_size.into_iter().map(|size| ((), size)));
    if let Some([first, second]) = by_size {
        return Err(several(all, first, second));
    }
    let by_name = sides(all, |saying| saying.groups.iter().map(|(key, ranks)| (*key, &ranks[..])));
    if let Some([first, second]) = by_name {
        return Err(several(all, first, second));
    }
    match by_members(all) {
        Some([first, second]) => Err(several(all, first, second)),
        None => Ok(()),
    }
}

/// The places of collections of one side, and of the other.
type Sides = [Vec<usize>; 2];

/// The first two sides that say different things about one thing, each by the collections that say it.
fn sides<'s, 'f, About: Ord, Word: Ord, Words: Iterator<Item = (About, Word)>>(
    all: &'s [Saying<'f>],
    words: impl Fn(&'s Saying<'f>) -> Words,
) -> Option<Sides> {
    let mut said: BTreeMap<About, BTreeMap<Word, Vec<usize>>> = BTreeMap::new();
    for (place, saying) in all.iter().enumerate() {
        for (about, word) in words(saying) {
            said.entry(about).or_default().entry(word).or_default().push(place);
        }
    }
    said.into_values().find_map(|words| first_two(words.into_values()))
}

/// The sides of the first list of members for which some of them have no name in common with others.
fn by_members(all: &[Saying<'_>]) -> Option<Sides> {
    let mut names: BTreeMap<&[u32], Vec<(usize, BTreeSet<u64>)>> = BTreeMap::new();
    for (place, saying) in all.iter().enumerate() {
        let mut own: BTreeMap<&[u32], BTreeSet<u64>> = BTreeMap::new();
        let is_member = |ranks: &[u32]| saying.ranks.iter().any(|rank| ranks.binary_search(rank).is_ok());
        for (key, ranks) in saying.groups.iter().filter(|(_, ranks)| is_member(ranks)) {
            own.entry(&ranks[..]).or_default().insert(*key);
        }
        for (members, keys) in own {
            names.entry(members).or_default().push((place, keys));
        }
    }
    names.into_values().find_map(|of_members| first_two(connected(of_members).into_iter()))
}

/// Collections that share names, by themselves or through others.
fn connected(named: Vec<(usize, BTreeSet<u64>)>) -> Vec<Vec<usize>> {
    let mut sides: Vec<(Vec<usize>, BTreeSet<u64>)> = Vec::new();
    for (place, keys) in named {
        let mut joined = (vec![place], keys);
        // A side that shares none of the names stays as it is.
        for side in std::mem::take(&mut sides) {
            if side.1.is_disjoint(&joined.1) {
                sides.push(side);
            } else {
                joined.0.extend(side.0);
                joined.1.extend(side.1);
            }
        }
        sides.push(joined);
    }
    let mut sides: Vec<Vec<usize>> = sides
        .into_iter()
        .map(|(mut places, _)| {
            places.sort_unstable();
            places
        })
        .collect();
    sides.sort_unstable();
    sides
}

fn first_two(mut sides: impl Iterator<Item = Vec<usize>>) -> Option<Sides> {
    Some([sides.next()?, sides.next()?])
}

/// The error that names both sides.
fn several(all: &[Saying<'_>], first: Vec<usize>, second: Vec<usize>) -> ReachError {
    let folder = |side: &[usize]| all[side[0]].folder.to_owned();
    let ranks = |side: &[usize]| numbers(side.iter().flat_map(|place| all[*place].ranks.iter().copied()));
    ReachError::SeveralJobs {
        ranks: ranks(&first),
        folder: folder(&first),
        other_ranks: ranks(&second),
        other_folder: folder(&second),
    }
}

/// Numbers as people write them: `0-3, 7`.
pub fn numbers(numbers: impl Iterator<Item = u32>) -> String {
    /// Stretches that are written out.
    const MOST: usize = 8;
    let numbers: BTreeSet<u32> = numbers.collect();
    let sorted: Vec<u32> = numbers.into_iter().collect();
    let stretch = |stretch: &[u32]| match stretch {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    let stretches: Vec<String> = sorted.chunk_by(|a, b| a.checked_add(1) == Some(*b)).map(stretch).collect();
    let more = if stretches.len() > MOST { ", …" } else { "" };
    format!("{}{more}", stretches[..stretches.len().min(MOST)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Groups<'g> = &'g [(u64, &'g [u32])];
    type Said<'g> = (u32, Option<u32>, Groups<'g>);

    /// The sides that contradict each other of ranks with the sizes and groups that they state.
    fn refused(said: &[Said<'_>]) -> Option<(String, String)> {
        let mut known = BTreeSet::new();
        let saying = |(rank, world_size, groups): &Said<'_>| {
            Saying::new(vec![*rank], Path::new("folder"), *world_size, groups.iter().copied(), &mut known)
        };
        match refuse_several(&said.iter().map(saying).collect::<Vec<_>>()) {
            Err(ReachError::SeveralJobs { ranks, other_ranks, .. }) => Some((ranks, other_ranks)),
            other => other.map(|()| None).expect("no other error"),
        }
    }

    #[test]
    fn ranks_of_one_job_agree_whatever_some_of_them_leave_out() {
        let (pair, world): (&[u32], &[u32]) = (&[0, 1], &[0, 1, 2, 3]);
        // Two groups of the same members, of which one rank has made only one.
        let said: [Said<'_>; 4] = [
            (0, Some(4), &[(1, pair), (2, world), (3, world), (7, &[0])]),
            (1, Some(4), &[(1, &[1, 0]), (3, world), (7, &[1])]),
            (2, None, &[(2, world)]),
            (3, Some(4), &[]),
        ];
        assert_eq!(refused(&said), None);
    }

    #[test]
    fn ranks_that_contradict_one_another_are_of_several_jobs() {
        let told = |sides: (&str, &str)| Some((sides.0.to_owned(), sides.1.to_owned()));
        let said: [Said<'_>; 4] =
            [(0, Some(8), &[]), (1, Some(8), &[]), (2, Some(8), &[]), (9, Some(16), &[])];
        assert_eq!(refused(&said), told(("0-2", "9")));
        let world: &[u32] = &[0, 1, 2, 3];
        let (one, other): (Groups<'_>, Groups<'_>) = (&[(1, world)], &[(2, world)]);
        let said = [(0, Some(4), one), (1, Some(4), other), (2, Some(4), one), (3, Some(4), other)];
        assert_eq!(refused(&said), told(("0, 2", "1, 3")));
        let said: [Said<'_>; 2] = [(0, None, &[(1, &[0, 1])]), (2, None, &[(1, &[2, 3])])];
        assert_eq!(refused(&said), told(("0", "2")));
    }

    #[test]
    fn many_ranks_are_told_in_few_words() {
        assert_eq!(numbers([3, 1, 2, 7, 9, 10].into_iter()), "1-3, 7, 9-10");
        assert_eq!(numbers((0..40).map(|it| it * 2)), "0, 2, 4, 6, 8, 10, 12, 14, …");
    }
}
