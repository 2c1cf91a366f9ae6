//! Stretches of a row as a page draws them: what is shorter than two buckets summed up by bucket, what is longer one
//! by one, nothing counted twice.

use crate::index::{Bucket, Index, Spans};

/// Buckets of equal width, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    /// The buckets that slices shorter than two buckets touch, and of those slices alone: the time that they cover, how
    /// many begin in the bucket, and the longest that touches it (of equals the first).
    pub fine: Vec<Bucket>,
    /// The slices of two buckets and more that touch the tile, in the order of time.
    pub wide: Vec<usize>,
}

impl<S: Spans> Index<S> {
    /// `count` buckets of `width` from `from` on. The cost goes by buckets or slices, whichever are fewer.
    ///
    /// ```
    /// use opscope_timeline::{Bucket, Index};
    ///
    /// let index = Index::new([(0, 4), (4, 6), (25, 60)].as_slice());
    /// let tile = index.tile(0, 10, 4);
    /// assert_eq!(tile.fine, [Bucket { number: 0, busy: 6, count: 2, longest: 0 }]);
    /// assert_eq!(tile.wide, [2]);
    /// ```
    pub fn tile(&self, from: u64, width: u64, count: usize) -> Tile {
        let width = width.max(1);
        let is_wide = |slice: usize| self.length(slice) / 2 >= width;
        let mut tile = Tile::default();
        let mut first = self.first_from(from, 0);
        // A slice that reaches into the bucket from those before.
        let mut over = first.checked_sub(1).filter(|&slice| self.spans().span(slice).1 > from);
        if let Some(slice) = over.filter(|&slice| is_wide(slice)) {
            tile.wide.push(slice);
            over = None;
        }
        let mut number = 0;
        while number < count {
            let begin = from.saturating_add(width.saturating_mul(number as u64));
            let end = begin.saturating_add(width);
            let next = self.first_from(end, first);
            // Only the last slice that begins in a bucket can reach beyond it.
            let last_is_wide = next > first && is_wide(next - 1);
            let short = first..next - usize::from(last_is_wide);
            let mut bucket = Bucket { number, busy: 0, count: short.len(), longest: short.start };
            let reaching = over.take();
            if let Some(slice) = reaching {
                let until = self.spans().span(slice).1;
                bucket.busy += until.min(end) - begin;
                bucket.longest = slice;
                over = (until > end).then_some(slice);
            }
            if !short.is_empty() {
                let until = self.spans().span(short.end - 1).1;
                bucket.busy += self.busy_of(short.clone()) - until.saturating_sub(end);
                let longest = self.longest_of(short.start, short.end);
                bucket.longest = reaching.map_or(longest, |slice| self.longer(slice, longest));
                over = (until > end).then_some(short.end - 1);
            }
            if bucket.count > 0 || reaching.is_some() {
                tile.fine.push(bucket);
            }
            tile.wide.extend(last_is_wide.then(|| next - 1));
            first = next;
            number = match over {
                Some(_) => number + 1,
                None if first == self.spans().len() => count,
                None => {
                    let distance = (self.spans().span(first).0 - from) / width;
                    usize::try_from(distance).unwrap_or(count).max(number + 1)
                }
            };
        }
        tile
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_hand(spans: &[(u64, u64)], from: u64, width: u64, count: usize) -> Tile {
        let length = |slice: usize| spans[slice].1 - spans[slice].0;
        let all = || 0..spans.len();
        let short = |slice: &usize| length(*slice) < 2 * width;
        let bucket = |number: usize| {
            let (begin, end) = (from + width * number as u64, from + width * (number as u64 + 1));
            let within = |slice: usize| spans[slice].1.min(end).saturating_sub(spans[slice].0.max(begin));
            let begins = |slice: &usize| (begin..end).contains(&spans[*slice].0);
            let touching = || all().filter(short).filter(move |slice| begins(slice) || within(*slice) > 0);
            let longest = touching().rev().max_by_key(|&slice| length(slice))?;
            let busy = touching().map(within).sum();
            Some(Bucket { number, busy, count: touching().filter(begins).count(), longest })
        };
        let end = from + width * count as u64;
        let touches = |slice: &usize| spans[*slice].0 < end && spans[*slice].1 > from;
        let wide = all().filter(|slice| !short(slice) && count > 0 && touches(slice)).collect();
        Tile { fine: (0..count).filter_map(bucket).collect(), wide }
    }

    proptest! {
        #[test]
        fn tiles_are_what_a_look_at_every_slice_says(
            parts in proptest::collection::vec((0u64..40, 0u64..60), 0..200),
            from in 0u64..3_000,
            level in 0u32..9,
            count in 1usize..70,
        ) {
            let mut now = 0;
            let spans: Vec<(u64, u64)> = parts.iter().map(|&(gap, length)| {
                let start = now + gap;
                now = start + length;
                (start, now)
            }).collect();
            let index = Index::new(spans.as_slice());
            prop_assert_eq!(index.tile(from, 1 << level, count), by_hand(&spans, from, 1 << level, count));
        }
    }

    #[test]
    fn neighbours_share_nothing_but_the_slices_between_them() {
        let spans: Vec<(u64, u64)> = (0..1_000).map(|n| (n * 10, n * 10 + 7)).collect();
        let index = Index::new(spans.as_slice());
        let busy: u64 =
            (0..20).flat_map(|n| index.tile(n * 512, 16, 32).fine).map(|bucket| bucket.busy).sum();
        assert_eq!(busy, 7_000);
        let wide: Vec<usize> = (0..3).flat_map(|n| index.tile(n * 16, 2, 8).wide).collect();
        assert_eq!(wide, [0, 1, 1, 2, 3, 3, 4]);
    }

    #[test]
    fn the_last_moment_of_all_is_in_reach() {
        let spans = [(u64::MAX - 10, u64::MAX)];
        let tile = Index::new(spans.as_slice()).tile(u64::MAX - 20, 1 << 40, 512);
        assert_eq!(tile.fine.iter().map(|bucket| bucket.busy).sum::<u64>(), 10);
    }
}
