//! The values of a counter over time, with the least and the greatest of any stretch.
//!
//! A tree over blocks of values tells both, so that the cost of an answer goes by the number of stretches asked about.

/// Values beneath a leaf of the tree.
const BLOCK: usize = 16;

/// The least and the greatest of some values.
type Ends = (f64, f64);

/// The index of a counter.
///
/// ```
/// use opscope_timeline::CounterIndex;
///
/// let index = CounterIndex::new(vec![(10, 2.0), (20, -1.0), (40, 5.0)]);
/// assert_eq!(index.value_at(30), Some(-1.0));
/// assert_eq!(index.ends_within(10, 40), Some((-1.0, 2.0)));
/// assert_eq!((index.value_at(9), index.ends_within(21, 40)), (None, None));
/// ```
#[derive(Clone, Debug)]
pub struct CounterIndex {
    times: Vec<u64>,
    values: Vec<f64>,
    /// The ends of each block, of each two blocks, of each four, …
    ends: Vec<Vec<Ends>>,
}

impl CounterIndex {
    /// Indexes finite values in the order of their times.
    pub fn new(samples: Vec<(u64, f64)>) -> Self {
        let (times, values): (Vec<u64>, Vec<f64>) = samples.into_iter().unzip();
        let mut level: Vec<Ends> = values.chunks(BLOCK).filter_map(ends_of).collect();
        let mut ends = Vec::new();
        while level.len() > 1 {
            let above =
                level.chunks(2).map(|pair| pair[1..].iter().fold(pair[0], |all, &ends| both(all, ends)));
            let above = above.collect();
            ends.push(std::mem::replace(&mut level, above));
        }
        ends.push(level);
        Self { times, values, ends }
    }

    /// The value that holds at a moment: the last one until then.
    pub fn value_at(&self, time: u64) -> Option<f64> {
        let next = self.times.partition_point(|&at| at <= time);
        Some(self.values[next.checked_sub(1)?])
    }

    /// The least and the greatest value of those from `from` on and before `to`.
    pub fn ends_within(&self, from: u64, to: u64) -> Option<Ends> {
        let first = self.times.partition_point(|&at| at < from);
        let end = first + self.times[first..].partition_point(|&at| at < to);
        let (mut low, mut high) = (first.div_ceil(BLOCK), end / BLOCK);
        if low >= high {
            return ends_of(&self.values[first..end]);
        }
        let edges = [&self.values[first..low * BLOCK], &self.values[high * BLOCK..end]];
        let mut found: Option<Ends> = None;
        let mut take = |ends: Ends| found = Some(found.map_or(ends, |all| both(all, ends)));
        edges.into_iter().filter_map(ends_of).for_each(&mut take);
        for level in &self.ends {
            if low >= high {
                break;
            }
            if low % 2 == 1 {
                take(level[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                take(level[high]);
            }
            (low, high) = (low / 2, high / 2);
        }
        found
    }
}

fn both(a: Ends, b: Ends) -> Ends {
    (a.0.min(b.0), a.1.max(b.1))
}

fn ends_of(values: &[f64]) -> Option<Ends> {
    let (first, rest) = values.split_first()?;
    Some(rest.iter().fold((*first, *first), |ends, &value| both(ends, (value, value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_stretch_has_the_ends_that_a_look_at_all_values_finds() {
        for count in [0_u64, 1, 15, 16, 17, 100, 1_000, 4_097] {
            let samples: Vec<(u64, f64)> =
                (0..count).map(|at| (at / 3 * 10, ((at * 7_919) % 1_009) as f64 - 300.0)).collect();
            let index = CounterIndex::new(samples.clone());
            for question in 0..400_u64 {
                let (from, length) =
                    ((question * 37) % (count * 4 + 9), (question * question) % (count * 4 + 2));
                let to = from + length;
                let within: Vec<f64> = samples
                    .iter()
                    .filter(|(time, _)| (from..to).contains(time))
                    .map(|(_, value)| *value)
                    .collect();
                assert_eq!(index.ends_within(from, to), ends_of(&within), "{count} values, {from} to {to}");
                let last = samples.iter().rev().find(|(time, _)| *time <= from).map(|(_, value)| *value);
                assert_eq!(index.value_at(from), last, "{count} values at {from}");
            }
        }
    }
}
