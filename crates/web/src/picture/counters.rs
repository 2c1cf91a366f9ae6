//! The values of counters in the buckets that a page paints.

use opscope_timeline::CounterIndex;

use super::Picture;
use crate::columns::{Table, to_bytes};
use crate::embed::values_of;

/// The counters and buckets of each that an answer has.
const MOST_COUNTERS: usize = 256;
const MOST_BUCKETS: u64 = 8_192;

/// A stretch of time in buckets of the same width, in ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountersAsked {
    pub from: u64,
    pub to: u64,
    /// How many buckets.
    pub width: u64,
    /// Counters by their numbers in the answers.
    pub counters: Vec<usize>,
}

impl Picture {
    /// A container of the table `buckets`, those of one counter behind those of another: the least and the greatest value
    /// in each, and the last until its end; NaN where there is none.
    ///
    /// # Errors
    /// When more is asked for than an answer has, or a counter that isn't there.
    pub(crate) fn counters(&self, asked: &CountersAsked) -> Result<Vec<u8>, String> {
        let CountersAsked { from, to, width, .. } = *asked;
        if width == 0 || width > MOST_BUCKETS || asked.counters.len() > MOST_COUNTERS || to <= from {
            return Err(format!(
                "1 to {MOST_BUCKETS} buckets of at most {MOST_COUNTERS} counters, of a time that ends after it begins"
            ));
        }
        let edge = |bucket: u64| {
            from + (u128::from(to - from) * u128::from(bucket)).div_ceil(u128::from(width)) as u64
        };
        let known = self.counter_indexes();
        let mut found: Vec<[f64; 3]> = Vec::with_capacity(asked.counters.len() * width as usize);
        for &counter in &asked.counters {
            let index = known.get(counter).ok_or_else(|| format!("there is no counter {counter}"))?;
            found.extend((0..width).map(|bucket| {
                let (begin, end) = (edge(bucket), edge(bucket + 1));
                let (least, greatest) = index.ends_within(begin, end).unwrap_or((f64::NAN, f64::NAN));
                let last = end.checked_sub(1).and_then(|last| index.value_at(last));
                [least, greatest, last.unwrap_or(f64::NAN)]
            }));
        }
        let mut table = Table::new("buckets", found.len());
        for (column, name) in ["low", "high", "last"].into_iter().enumerate() {
            table.plain_f64(name, found.iter().map(|bucket| bucket[column]));
        }
        Ok(to_bytes("counters", &[table]))
    }

    /// The counters in the order of the answers: those that have a value.
    fn counter_indexes(&self) -> &[CounterIndex] {
        self.counters.get_or_init(|| {
            let values = values_of(self.trace(), &self.base.layout, self.base.ticks);
            values.into_iter().filter(|values| !values.is_empty()).map(CounterIndex::new).collect()
        })
    }
}
