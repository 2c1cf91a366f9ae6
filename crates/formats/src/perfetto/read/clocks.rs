//! Clocks: what a packet's time is in the clock of the trace.
//!
//! A snapshot reads several clocks at once, which ties them to one another until the next one. A clock of a
//! sequence may count on: each time is told as the difference to the one before.

use opscope_trace::NumberMap;

use super::super::fields::{clock, snapshot};
use opscope_protobuf::Fields;

/// A time that can't be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// A clock, as far as its snapshots tell.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// The trace's time less this clock's; `None` where no snapshot ties them.
    offset: Option<i64>,
    /// Nanoseconds in a unit.
    multiplier: i64,
    /// The last time in nanoseconds, of a clock that counts on.
    last: Option<i64>,
}

/// All clocks of a trace.
pub struct Clocks {
    primary: u32,
    clocks: NumberMap<u64, Clock>,
    /// The wall clock's time at the trace's zero.
    pub wall_zero: Option<i64>,
    /// How many times were told by a clock that nothing ties to the trace's.
    pub untied: u64,
}

impl Default for Clocks {
    fn default() -> Self {
        Self { primary: clock::BOOT, clocks: NumberMap::default(), wall_zero: None, untied: 0 }
    }
}

/// A clock in a snapshot.
#[derive(Clone, Copy, Default)]
struct Reading {
    id: u32,
    /// Nanoseconds.
    time: i64,
    multiplier: i64,
    is_incremental: bool,
}

impl Clocks {
    /// Takes a snapshot of a sequence in.
    pub fn snapshot(&mut self, sequence: u32, body: &[u8]) {
        let mut readings = Vec::new();
        for (number, value) in Fields::of(body).flatten() {
            match number {
                snapshot::CLOCKS => readings.extend(reading(value.bytes())),
                snapshot::PRIMARY => self.primary = value.number() as u32,
                _ => {}
            }
        }
        let tied = readings.iter().find(|reading| reading.id == self.primary).map(|reading| reading.time);
        let by_others = || {
            let known = |reading: &Reading| {
                let clock = self.clocks.get(&key(sequence, reading.id))?;
                reading.time.checked_add(clock.offset?)
            };
            readings.iter().find_map(known)
        };
        // Where the trace's own clock is nowhere read, the system's takes its place.
        let instead = || {
            let is_usual = |reading: &&Reading| matches!(reading.id, clock::BOOT | clock::MONOTONIC);
            readings.iter().find(is_usual).map(|reading| reading.time)
        };
        let now = tied.or_else(by_others).or_else(instead);
        for reading in readings {
            let offset = now.and_then(|now| now.checked_sub(reading.time));
            if reading.id == clock::REALTIME && self.wall_zero.is_none() {
                self.wall_zero = offset.and_then(i64::checked_neg);
            }
            let last = reading.is_incremental.then_some(reading.time);
            let clock = Clock { offset, multiplier: reading.multiplier, last };
            self.clocks.insert(key(sequence, reading.id), clock);
        }
    }

    /// A time of a packet of a sequence, in the trace's nanoseconds. Each is to be asked for once, in the order of
    /// the packets.
    pub fn time(&mut self, sequence: u32, id: Option<u32>, time: u64) -> Result<i64, TooLarge> {
        let id = id.unwrap_or(self.primary);
        let time = i64::try_from(time).map_err(|_| TooLarge)?;
        if id == self.primary {
            return Ok(time);
        }
        let Some(clock) = self.clocks.get_mut(&key(sequence, id)) else {
            self.untied += 1;
            return Ok(time);
        };
        let mut time = time.checked_mul(clock.multiplier).ok_or(TooLarge)?;
        if let Some(last) = clock.last {
            time = last.checked_add(time).ok_or(TooLarge)?;
            clock.last = Some(time);
        }
        let Some(offset) = clock.offset else {
            self.untied += 1;
            return Ok(time);
        };
        time.checked_add(offset).ok_or(TooLarge)
    }
}

/// The key of a clock, which holds within its sequence if its number says so.
fn key(sequence: u32, id: u32) -> u64 {
    let is_local = (clock::FIRST_OF_SEQUENCE..clock::FIRST_OF_OTHERS).contains(&id);
    (if is_local { u64::from(sequence) << 32 } else { 0 }) | u64::from(id)
}

fn reading(body: &[u8]) -> Option<Reading> {
    let mut reading = Reading { multiplier: 1, ..Reading::default() };
    for (number, value) in Fields::of(body).flatten() {
        match number {
            snapshot::CLOCK_ID => reading.id = value.number() as u32,
            snapshot::TIMESTAMP => reading.time = i64::try_from(value.number()).ok()?,
            snapshot::INCREMENTAL => reading.is_incremental = value.number() != 0,
            snapshot::MULTIPLIER => reading.multiplier = i64::try_from(value.number()).ok()?.max(1),
            _ => {}
        }
    }
    reading.time = reading.time.checked_mul(reading.multiplier)?;
    Some(reading)
}
