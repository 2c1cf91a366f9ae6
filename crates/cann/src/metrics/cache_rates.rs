//! How often caches hit, from the events that were counted for a task.

use opscope_cann_raw::Chip;

use crate::text::numbers;

/// The events behind two rates, which both refer to the same requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheRates {
    requests: &'static [u32],
    hits: &'static [u32],
    /// Events that aren't hits though they are among them.
    no_hits: &'static [u32],
    /// The events of the second rate: victims of the cache, or misses of the translation.
    losses: &'static [u32],
}

impl CacheRates {
    /// Hits and victims of the level-2 cache.
    pub(crate) fn of_cache(chip: Chip) -> Option<Self> {
        let rates = |requests, hits, losses| Self { requests, hits, no_hits: &[], losses };
        Some(match chip {
            Chip::V2_1_0 => rates(&[0x59], &[0x5b], &[0x5c]),
            Chip::V3_1_0 | Chip::V3_2_0 | Chip::V3_3_0 => rates(&[0x78, 0x79], &[0x6a], &[0x71]),
            Chip::V6_1_0 | Chip::V6_2_0 => {
                let no_hits = &[0x81, 0x82, 0x83, 0x74, 0x75];
                Self { no_hits, ..rates(&[0x00], &[0x00], &[0x74, 0x75]) }
            }
            Chip::V4_1_0 => rates(&[0xfb, 0xfc], &[0x90, 0x91], &[0x9c]),
            _ if chip.is_310b_family() => rates(&[0xfb, 0xfc], &[0x90, 0x91], &[0x9c]),
            _ => return None,
        })
    }

    /// Hits and misses of the translation of addresses.
    pub(crate) fn of_translation(chip: Chip) -> Option<Self> {
        let is_counted = matches!(chip, Chip::V4_1_0 | Chip::V6_1_0 | Chip::V6_2_0);
        let rates = Self { requests: &[0x8a], hits: &[0x8c, 0x8d], no_hits: &[], losses: &[0x2] };
        is_counted.then_some(rates)
    }

    /// Whether all that the rates need was counted.
    pub(crate) fn are_counted(&self, events: &[u32]) -> bool {
        let needed = [self.requests, self.hits, self.no_hits, self.losses];
        needed.into_iter().flatten().all(|event| events.contains(event))
    }

    /// Both rates of a task, with six decimals; 0 where nothing was requested.
    pub(crate) fn of(&self, events: &[u32], counters: &[u64; 8]) -> [f64; 2] {
        let count = |event: &u32| {
            let place = events.iter().position(|known| known == event);
            place.and_then(|place| counters.get(place)).map_or(0, |count| i128::from(*count))
        };
        let sum = |list: &[u32]| list.iter().map(count).sum::<i128>();
        let requests = sum(self.requests);
        [sum(self.hits) - sum(self.no_hits), sum(self.losses)].map(|part| match requests {
            0 => 0.0,
            requests => numbers::python_round(part as f64 / requests as f64, 6),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_hit_is_taken_off() {
        let rates = CacheRates::of_cache(Chip::V6_1_0).expect("a chip with counters");
        let events = [0x00, 0x81, 0x82, 0x83, 0x74, 0x75];
        assert!(rates.are_counted(&events) && !rates.are_counted(&events[..5]));
        assert_eq!(rates.of(&events, &[100, 10, 5, 1, 3, 6, 0, 0]), [0.75, 0.09]);
        assert_eq!(rates.of(&events, &[0; 8]), [0.0, 0.0]);
    }
}
