//! Figures of ranks of which only differences between two are known: each is told against the first rank that it meets,
//! at once or through others.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Add, Sub};

/// By two ranks, both as indices of the run's, how much more the second has.
pub type Differences<N> = BTreeMap<(usize, usize), N>;

/// By rank, how much more it has than the first of those that meet, which has none; ranks that meet nobody are left out.
pub fn offsets<N>(differences: &Differences<N>) -> BTreeMap<usize, N>
where
    N: Copy + Default + Add<Output = N> + Sub<Output = N>,
{
    let mut of_rank: BTreeMap<usize, Vec<(usize, N)>> = BTreeMap::new();
    for (&(a, b), &difference) in differences {
        of_rank.entry(a).or_default().push((b, difference));
        of_rank.entry(b).or_default().push((a, N::default() - difference));
    }
    let mut offsets: BTreeMap<usize, N> = BTreeMap::new();
    for &first in of_rank.keys() {
        let Entry::Vacant(place) = offsets.entry(first) else { continue };
        place.insert(N::default());
        let mut open = vec![first];
        while let Some(rank) = open.pop() {
            let own = offsets[&rank];
            for &(other, difference) in &of_rank[&rank] {
                if let Entry::Vacant(place) = offsets.entry(other) {
                    place.insert(own + difference);
                    open.push(other);
                }
            }
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_meet_through_others_are_told_against_the_first() {
        let differences = Differences::from([((0, 2), 5), ((1, 2), 3), ((4, 5), -1)]);
        assert_eq!(offsets(&differences), BTreeMap::from([(0, 0), (1, 2), (2, 5), (4, 0), (5, -1)]));
    }
}
