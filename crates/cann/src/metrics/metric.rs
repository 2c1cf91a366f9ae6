//! A column of a group of counters: the events that it needs, and how its value comes of them.

use crate::tables::Counters;

/// How a column is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Formula {
    /// Events per cycle.
    Ratio,
    /// The part of the task's time that the ratio stands for, in microseconds.
    Time,
    /// The first event per second one.
    MissRate,
    /// As [`Formula::Bandwidth`] of the first event, but over the cycles of the second one, unless
    /// that or the third is zero.
    BusyBandwidth(f64),
    /// Gigabytes a second: events times the bytes of each and a factor.
    Bandwidth(f64),
    /// As [`Formula::Bandwidth`], with the bytes of each event.
    Bandwidths(&'static [f64]),
    /// Operations: each event times its factor.
    Operations(&'static [f64]),
    /// Events.
    Count,
    /// The sum of the events, times a factor.
    Sum(f64),
    /// The first event less the others, times a factor.
    Difference(f64),
}

/// A column of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The column's name without core and unit, such as `vec_ratio`.
    pub name: &'static str,
    /// How it is computed.
    pub formula: Formula,
    /// The events that it needs.
    pub events: &'static [u32],
}

/// How many events a metric needs at most.
const MOST_EVENTS: usize = 8;

/// Where the events of a metric are among those that were counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places([u8; MOST_EVENTS]);

/// A core's work in a task, and how fast the core ran.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The counters.
    pub counters: &'a Counters,
    /// The event numbers of the counters.
    pub events: &'a [u32],
    /// Microseconds that the core worked.
    pub total_time: f64,
    /// Hz to which bandwidths refer.
    pub hertz: f64,
    /// How many rounds the blocks took on all cores, divided by the blocks; only for chip 0.
    pub rounds: f64,
}

pub(crate) const CUBE_OPERATIONS: &[f64] = &[8_192.0, 16_384.0];

const GIGABITS: f64 = (1u64 << 33) as f64;

impl Metric {
    /// The value; 0 where an event isn't counted or no cycle passed.
    pub fn value(&self, load: &Load<'_>) -> f64 {
        self.value_of_places(&self.places(load.events), load)
    }

    /// The places of the metric's events among those that were counted; for each that wasn't, one at which
    /// no counter is.
    pub(crate) fn places(&self, counted: &[u32]) -> Places {
        let place = |event: &u32| counted.iter().position(|known| known == event);
        let mut places = [u8::MAX; MOST_EVENTS];
        for (slot, event) in places.iter_mut().zip(self.events) {
            *slot = place(event).and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX);
        }
        Places(places)
    }

    /// As [`Metric::value`], where the places of the events are known.
    pub(crate) fn value_of_places(&self, places: &Places, load: &Load<'_>) -> f64 {
        let count = |number: usize| {
            let place = places.0.get(number).copied().unwrap_or(u8::MAX);
            load.counters.counters.get(usize::from(place)).copied().unwrap_or(0) as f64
        };
        let counts = || (0..self.events.len()).map(count);
        let cycles = load.counters.cycles as f64;
        let ratio = || counts().fold(0.0, |sum, value| sum + value / cycles);
        match self.formula {
            Formula::Count => counts().sum(),
            Formula::Sum(factor) => counts().fold(0.0, |sum, value| sum + factor * value),
            Formula::Difference(factor) => {
                let mut values = counts().map(|value| factor * value);
                let first = values.next().unwrap_or(0.0);
                values.fold(first, |rest, value| rest - value)
            }
            _ if cycles == 0.0 => 0.0,
            Formula::Ratio => ratio(),
            Formula::Time => load.total_time * ratio(),
            Formula::MissRate => match (count(0), count(1)) {
                (miss, request) if miss != 0.0 && request != 0.0 => (miss / cycles) / (request / cycles),
                _ => 0.0,
            },
            Formula::Bandwidth(_) | Formula::Bandwidths(_) | Formula::BusyBandwidth(_)
                if load.hertz == 0.0 =>
            {
                0.0
            }
            Formula::BusyBandwidth(bytes) => {
                let [moved, busy, other] = [0, 1, 2].map(count);
                let whole = moved * bytes / (cycles / load.hertz * load.rounds) / GIGABITS;
                if busy == 0.0 || other == 0.0 { whole } else { whole / (busy / cycles) }
            }
            Formula::Bandwidth(bytes) => {
                let seconds = cycles / load.hertz * load.rounds;
                counts().fold(0.0, |sum, value| sum + value * bytes / seconds / GIGABITS)
            }
            Formula::Bandwidths(bytes) => {
                let seconds = cycles / load.hertz * load.rounds;
                counts().zip(bytes).map(|(value, bytes)| value * bytes / seconds / GIGABITS).sum()
            }
            Formula::Operations(factors) => {
                counts().zip(factors).fold(0.0, |sum, (value, factor)| sum + value * factor)
            }
        }
    }
}
