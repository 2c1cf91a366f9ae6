//! Slices that were left out, summed up by time.

use opscope_timeline::{Bucket, Index};

use super::ticks::Ticks;
use crate::columns::Table;

/// Buckets over the whole time.
pub(super) const BUCKETS: usize = 8_192;

/// The buckets of all rows, one row's behind those of another.
#[derive(Default)]
pub(super) struct Density {
    buckets: Vec<Summed>,
}

struct Summed {
    number: u16,
    busy: u8,
    count: u16,
    item: u32,
    longest: u64,
}

impl Density {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Adds the slices of a row that were left out. `item` tells what a slice is.
    pub(super) fn add(&mut self, spans: &[(u64, u64)], ticks: Ticks, mut item: impl FnMut(usize) -> u32) {
        let width = (ticks.end / BUCKETS as u64 + 1) * ticks.nanoseconds;
        for bucket in Index::new(spans).buckets(0, width, BUCKETS) {
            let (start, end) = spans[bucket.longest];
            self.buckets.push(Summed {
                number: bucket.number as u16,
                busy: share(&bucket, width),
                count: bucket.count.min(usize::from(u16::MAX)) as u16,
                item: item(bucket.longest),
                longest: ticks.of_time(end) - ticks.of_time(start),
            });
        }
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("density", self.buckets.len());
        table.delta("bucket", self.buckets.iter().map(|bucket| bucket.number.into()));
        table.whole("busy", self.buckets.iter().map(|bucket| bucket.busy.into()));
        table.whole("count", self.buckets.iter().map(|bucket| bucket.count.into()));
        table.whole("item", self.buckets.iter().map(|bucket| bucket.item.into()));
        table.whole("longest", self.buckets.iter().map(|bucket| bucket.longest));
        table
    }
}

/// The busy part of a bucket from 0 to 255: 0 only if nothing runs, 255 only if something always does.
pub(crate) fn share(bucket: &Bucket, width: u64) -> u8 {
    match bucket.busy {
        0 => 0,
        busy if busy >= width => u8::MAX,
        busy => (u128::from(busy) * 255 / u128::from(width)).clamp(1, 254) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_none_or_all_only_where_that_is_exact() {
        let of = |busy| share(&Bucket { number: 0, busy, count: 0, longest: 0 }, 100_000);
        assert_eq!([0, 1, 50_000, 99_999, 100_000].map(of), [0, 1, 127, 254, 255]);
    }
}
