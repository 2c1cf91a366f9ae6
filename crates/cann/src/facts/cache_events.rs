//! Traffic of the last-level cache of a 310, and how much of it each of the device's processors holds.

use std::collections::BTreeMap;

use crate::facts::view::DeviceView;
use crate::tables::{CacheEvent, CacheEventCount};
use crate::text::numbers::python_round;

/// The bytes of a line of the cache.
const LINE: f64 = 64.0;

const MEGABYTE: f64 = 1_048_576.0;

/// The decimals of values over time.
const DECIMALS: usize = 6;

/// Counts in one direction: all accesses, and those that hit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Accesses {
    pub(crate) all: u64,
    pub(crate) hits: u64,
}

impl Accesses {
    /// Hits per access; 0 without accesses.
    pub(crate) fn hit_share(self) -> f64 {
        if self.all == 0 { 0.0 } else { self.hits as f64 / self.all as f64 }
    }

    /// Hits in percent, as timelines have it.
    pub(crate) fn hit_percent(self) -> f64 {
        python_round(self.hit_share() * 100.0, DECIMALS)
    }

    /// Throughput, and that of hits, in MB/s, as timelines have it.
    pub(crate) fn rounded_throughput(self, seconds: f64) -> [f64; 2] {
        self.throughput(seconds).map(|rate| python_round(rate, DECIMALS))
    }

    /// Throughput, and that of hits, in MB/s.
    pub(crate) fn throughput(self, seconds: f64) -> [f64; 2] {
        [self.all, self.hits]
            .map(|lines| if seconds > 0.0 { lines as f64 * LINE / seconds / MEGABYTE } else { 0.0 })
    }

    fn add(&mut self, other: Self) {
        self.all = self.all.saturating_add(other.all);
        self.hits = self.hits.saturating_add(other.hits);
    }
}

/// The traffic of the cache since the sample before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheTraffic {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    /// Seconds since the sample before, of the first one since the begin.
    pub(crate) seconds: f64,
    pub(crate) read: Accesses,
    pub(crate) written: Accesses,
}

/// The traffic of a device's cache over time.
pub(crate) fn cache_traffic(device: &DeviceView<'_>) -> Vec<CacheTraffic> {
    let mut by_time: BTreeMap<u64, [Accesses; 2]> = BTreeMap::new();
    for CacheEventCount { time, event, count } in device.device.tables.samples.cache_events.rows() {
        let accesses = Accesses { all: count, hits: 0 };
        let hits = Accesses { all: 0, hits: count };
        let (direction, counted) = match event {
            CacheEvent::ReadAllocate | CacheEvent::ReadNoAllocate => (0, accesses),
            CacheEvent::ReadHit => (0, hits),
            CacheEvent::WriteAllocate | CacheEvent::WriteNoAllocate => (1, accesses),
            CacheEvent::WriteHit => (1, hits),
            CacheEvent::Held(_) => continue,
        };
        by_time.entry(time).or_default()[direction].add(counted);
    }
    let mut before = 0;
    let traffic = by_time.into_iter().map(|(time, [read, written])| {
        let seconds = (time - before) as f64 / 1e9;
        before = time;
        CacheTraffic { time: wall(device, time), seconds, read, written }
    });
    traffic.collect()
}

/// The sums of all samples, and the seconds between the first and the last.
pub(crate) fn cache_traffic_sums(traffic: &[CacheTraffic]) -> Option<(f64, [Accesses; 2])> {
    let (first, last) = (traffic.first()?, traffic.last()?);
    let mut sums = [Accesses::default(); 2];
    for sample in traffic {
        sums[0].add(sample.read);
        sums[1].add(sample.written);
    }
    Some((last.time.saturating_sub(first.time) as f64 / 1e9, sums))
}

/// The processors of a device that hold parts of its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holders {
    Ai,
    Control,
}

/// The lines that one processor held at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    /// The processor's place among those of its kind.
    pub(crate) place: usize,
    pub(crate) lines: u64,
}

impl Held {
    /// Megabytes, as timelines have them.
    pub(crate) fn megabytes(&self) -> f64 {
        python_round(Self::bytes(self.lines) / MEGABYTE, DECIMALS)
    }

    /// Bytes of a number of lines.
    pub(crate) fn bytes(lines: u64) -> f64 {
        lines as f64 * LINE
    }
}

/// How many lines each processor of a kind held, by time and place, and how many processors there are; nothing
/// where no such event was counted.
pub(crate) fn cache_held(device: &DeviceView<'_>, holders: Holders) -> (usize, Vec<Held>) {
    let info = &device.device.metadata.info;
    let list = match holders {
        Holders::Ai => &info.ai_cpus,
        Holders::Control => &info.control_cpus,
    };
    let numbers: Vec<u8> = list.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let mut by_time: BTreeMap<(u64, usize), u64> = BTreeMap::new();
    for CacheEventCount { time, event, count } in device.device.tables.samples.cache_events.rows() {
        let CacheEvent::Held(holder) = event else { continue };
        let Some(place) = numbers.iter().position(|number| *number == holder) else { continue };
        let sum = by_time.entry((time, place)).or_default();
        *sum = sum.saturating_add(count);
    }
    let held =
        by_time.into_iter().map(|((time, place), lines)| Held { time: wall(device, time), place, lines });
    (numbers.len(), held.collect())
}

fn wall(device: &DeviceView<'_>, since_start: u64) -> i64 {
    let clock = device.device.metadata.sample_clock();
    clock.local_of_device(since_start.saturating_add(clock.device_monotonic))
}
