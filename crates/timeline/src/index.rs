//! Rows summed up into buckets of time: how busy each was, how many slices begin in it, which is the longest.
//!
//! Prefix sums tell the busy time before any moment, so that a bucket's is exact whatever its width, and how long
//! each slice is; a tree over blocks of slices tells the longest of a range, and where each block begins leads to
//! the slices of a moment. Together they take 10 bytes a slice, and the cost of an answer goes by the number of
//! buckets: a row is looked at once or twice for each, because it may lie anywhere in a large profile.

use std::ops::Range;

/// Slices of a block, and beneath a leaf of the tree.
const BLOCK: usize = 8;

/// Slices of a row: starts and ends, in the order of time, without overlaps.
pub trait Spans {
    /// How many there are.
    fn len(&self) -> usize;
    /// Start and end of one.
    fn span(&self, slice: usize) -> (u64, u64);

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Spans for [(u64, u64)] {
    fn len(&self) -> usize {
        self.len()
    }

    fn span(&self, slice: usize) -> (u64, u64) {
        self[slice]
    }
}

impl<S: Spans + ?Sized> Spans for &S {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn span(&self, slice: usize) -> (u64, u64) {
        (**self).span(slice)
    }
}

/// Part of a row, summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its number in the window.
    pub number: usize,
    /// The time in it that slices cover.
    pub busy: u64,
    /// How many slices begin in it.
    pub count: usize,
    /// The longest of the slices that begin in it; where none does, the one that runs through it.
    pub longest: usize,
}

/// The index of a row.
///
/// ```
/// use opscope_timeline::{Bucket, Index};
///
/// let index = Index::new([(0, 4), (4, 6), (25, 40)].as_slice());
/// let buckets: Vec<Bucket> = index.buckets(0, 10, 4).collect();
/// assert_eq!(buckets[0], Bucket { number: 0, busy: 6, count: 2, longest: 0 });
/// assert_eq!(buckets[1], Bucket { number: 2, busy: 5, count: 1, longest: 2 });
/// assert_eq!(buckets[2], Bucket { number: 3, busy: 10, count: 0, longest: 2 });
/// ```
#[derive(Clone, Debug)]
pub struct Index<S> {
    spans: S,
    /// The time that all slices before each one cover, and at the end that of all.
    busy_before: Vec<u64>,
    /// The start of the first slice of each block.
    block_starts: Vec<u64>,
    /// The longest slice of each block, of each two blocks, of each four, …
    longest: Vec<Vec<u32>>,
}

impl<S: Spans> Index<S> {
    /// Indexes a row.
    pub fn new(spans: S) -> Self {
        let (mut busy, count) = (0, spans.len());
        let mut busy_before = Vec::with_capacity(count + 1);
        busy_before.push(0);
        let mut block_starts = Vec::with_capacity(count.div_ceil(BLOCK));
        for slice in 0..count {
            let (start, end) = spans.span(slice);
            if slice.is_multiple_of(BLOCK) {
                block_starts.push(start);
            }
            busy += end - start;
            busy_before.push(busy);
        }
        let mut index = Self { spans, busy_before, block_starts, longest: Vec::new() };
        // A row has fewer slices than 2^32.
        let blocks = (0..count).step_by(BLOCK);
        let mut level: Vec<u32> = blocks
            .map(|first| {
                let block = first..(first + BLOCK).min(count);
                block.fold(first, |best, slice| index.longer(best, slice)) as u32
            })
            .collect();
        while level.len() > 1 {
            let above = level.chunks(2).map(|pair| match *pair {
                [first, second] => index.longer(first as usize, second as usize) as u32,
                _ => pair[0],
            });
            let above = above.collect();
            index.longest.push(std::mem::replace(&mut level, above));
        }
        index.longest.push(level);
        index
    }

    /// The row.
    pub fn spans(&self) -> &S {
        &self.spans
    }

    /// The time that some slices cover.
    pub(crate) fn busy_of(&self, slices: Range<usize>) -> u64 {
        self.busy_before[slices.end] - self.busy_before[slices.start]
    }

    /// How much of a stretch of time slices cover, and how many of them touch it.
    pub fn within(&self, from: u64, to: u64) -> (u64, usize) {
        let (first, next) = (self.first_from(from, 0), self.first_from(to.max(from), 0));
        let busy = self.busy_until(to.max(from), next) - self.busy_until(from, first);
        (busy, self.touching(from, to).len())
    }

    /// The slices that touch a stretch of time.
    pub fn touching(&self, from: u64, to: u64) -> Range<usize> {
        let (first, next) = (self.first_from(from, 0), self.first_from(to.max(from), 0));
        let reaches = first.checked_sub(1).filter(|&before| self.spans.span(before).1 > from);
        reaches.unwrap_or(first)..next
    }

    /// The slice under a moment; where none is, the nearest of those at most `near` away.
    pub fn nearest(&self, time: u64, near: u64) -> Option<usize> {
        let next = self.first_from(time.saturating_add(1), 0);
        let distance = |slice: usize| {
            let (start, end) = self.spans.span(slice);
            start.saturating_sub(time).max(time.saturating_sub(end))
        };
        let candidates = next.checked_sub(1).into_iter().chain((next < self.spans.len()).then_some(next));
        candidates.min_by_key(|&slice| distance(slice)).filter(|&slice| distance(slice) <= near)
    }

    /// The longest of the slices that touch a stretch of time, of equals the first.
    pub fn longest_within(&self, from: u64, to: u64) -> Option<usize> {
        let slices = self.touching(from, to);
        (!slices.is_empty()).then(|| self.longest_of(slices.start, slices.end))
    }

    /// The buckets of a window in which anything runs: `count` buckets of `width` from `from` on.
    pub fn buckets(&self, from: u64, width: u64, count: usize) -> impl Iterator<Item = Bucket> + '_ {
        let width = width.max(1);
        let mut first = self.first_from(from, 0);
        let mut before = self.busy_until(from, first);
        (0..count).filter_map(move |number| {
            let end = from.saturating_add(width.saturating_mul(number as u64 + 1));
            let next = self.first_from(end, first);
            let until = self.busy_until(end, next);
            let (begin, busy) = (first, until - before);
            (first, before) = (next, until);
            if next == begin && busy == 0 {
                return None;
            }
            // A busy bucket in which nothing begins is covered by the slice before.
            let longest = if next > begin { self.longest_of(begin, next) } else { begin - 1 };
            Some(Bucket { number, busy, count: next - begin, longest })
        })
    }

    /// The first slice from `low` on that begins at a time or later. The next one is near, so steps from block to
    /// block begin small and double.
    pub(crate) fn first_from(&self, time: u64, low: usize) -> usize {
        let begins_before = |block: usize| self.block_starts.get(block).is_some_and(|&start| start < time);
        let (mut block, mut step) = (low / BLOCK + 1, 1);
        while begins_before(block + step - 1) {
            block += step;
            step *= 2;
        }
        let ahead = self.block_starts.get(block..(block + step - 1).min(self.block_starts.len()));
        block += ahead.map_or(0, |starts| starts.partition_point(|&start| start < time));
        let (mut low, mut high) = (low.max((block - 1) * BLOCK), (block * BLOCK).min(self.spans.len()));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.spans.span(middle).0 < time { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The time covered before `time`; `next` is the first slice that begins then or later.
    fn busy_until(&self, time: u64, next: usize) -> u64 {
        let beyond = next.checked_sub(1).map_or(0, |last| self.spans.span(last).1.saturating_sub(time));
        self.busy_before[next] - beyond
    }

    /// The longest of some slices, of equals the first.
    pub(crate) fn longest_of(&self, from: usize, to: usize) -> usize {
        let (mut best, mut slice) = (from, from);
        while slice < to {
            if !slice.is_multiple_of(BLOCK) || slice + BLOCK > to {
                best = self.longer(best, slice);
                slice += 1;
                continue;
            }
            let (mut block, mut level) = (slice / BLOCK, 0);
            while block.is_multiple_of(2) && slice + (BLOCK << (level + 1)) <= to {
                block /= 2;
                level += 1;
            }
            best = self.longer(best, self.longest[level][block] as usize);
            slice += BLOCK << level;
        }
        best
    }

    pub(crate) fn longer(&self, first: usize, second: usize) -> usize {
        if self.length(second) > self.length(first) { second } else { first }
    }

    /// The time that a slice takes.
    pub(crate) fn length(&self, slice: usize) -> u64 {
        self.busy_of(slice..slice + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gaps and lengths as spans.
    fn row_of(parts: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut now = 0;
        let spans = parts.iter().map(|&(gap, length)| {
            let start = now + gap;
            now = start + length;
            (start, now)
        });
        spans.collect()
    }

    fn by_hand(spans: &[(u64, u64)], from: u64, width: u64, count: usize) -> Vec<Bucket> {
        let bucket = |number: usize| {
            let (begin, end) = (from + width * number as u64, from + width * (number as u64 + 1));
            let busy = spans.iter().map(|&(s, e)| e.min(end).saturating_sub(s.max(begin))).sum();
            let inside = || (0..spans.len()).filter(|&slice| (begin..end).contains(&spans[slice].0));
            let longest = inside().rev().max_by_key(|&slice| spans[slice].1 - spans[slice].0);
            let through = || (0..spans.len()).rfind(|&slice| spans[slice].0 < begin);
            let longest = longest.or_else(through).unwrap_or(usize::MAX);
            Bucket { number, busy, count: inside().count(), longest }
        };
        (0..count).map(bucket).filter(|bucket| bucket.busy > 0 || bucket.count > 0).collect()
    }

    proptest! {
        #[test]
        fn buckets_are_what_a_look_at_every_slice_says(
            parts in proptest::collection::vec((0u64..40, 0u64..60), 0..300),
            from in 0u64..4_000,
            width in 1u64..500,
            count in 0usize..70,
        ) {
            let spans = row_of(&parts);
            let index = Index::new(spans.as_slice());
            let buckets: Vec<Bucket> = index.buckets(from, width, count).collect();
            prop_assert_eq!(buckets, by_hand(&spans, from, width, count));
        }
    }

    #[test]
    fn the_last_moment_of_all_is_in_reach() {
        let spans = [(0, 5), (u64::MAX - 10, u64::MAX)];
        let index = Index::new(spans.as_slice());
        assert_eq!(index.buckets(0, u64::MAX / 2 + 1, 2).map(|bucket| bucket.busy).sum::<u64>(), 15);
    }
}
