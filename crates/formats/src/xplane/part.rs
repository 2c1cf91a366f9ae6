//! Events of a part of a line, which any core reads; what they mean is decided in order, on one.

use opscope_trace::Nanoseconds;

use super::event::{Event, Line};
use super::metadata::{KindId, Plane};
use super::stat::Known;

/// An event with its times in the trace.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    pub kind: KindId,
    pub start: Nanoseconds,
    pub duration: Nanoseconds,
    /// The values that it has itself.
    pub own: Known<'a>,
}

/// As [`Occurrence`], in a third of its room: most events have no value of their own but a correlation.
#[derive(Clone, Copy, Debug)]
struct Row {
    kind: KindId,
    /// The place of the values among those of the part, from 1; 0 if there are none but the correlation.
    own: u32,
    start: i64,
    duration: i64,
    /// 0 is none.
    correlation: u64,
}

/// The events of a part, and how many of what else stands there.
#[derive(Debug, Default)]
pub struct Part<'a> {
    rows: Vec<Row>,
    own: Vec<Known<'a>>,
    /// Events that are only counted, and have no time.
    pub counted: u64,
    pub unreadable: u64,
    /// Events with times that can't be.
    pub impossible: u64,
    pub unnamed: u64,
}

impl<'a> Part<'a> {
    /// Reads a part of a line of a plane, whose times are counted from `zero` on.
    pub fn read(&mut self, plane: &Plane<'a>, line: &Line<'a>, number: usize, zero: i64) {
        for event in line.events_of_part(number) {
            let Some(event) = event.and_then(|event| Event::read(event, plane)) else {
                self.unreadable += 1;
                continue;
            };
            if event.offset.is_none() {
                self.counted += 1;
                continue;
            }
            let Some((start, duration)) = event.span(line).filter(|(_, duration)| *duration >= 0) else {
                self.impossible += 1;
                continue;
            };
            let kind = plane.kinds.find(event.kind);
            self.unnamed += u64::from(plane.kinds.get(kind).shown().is_empty());
            let own = if event.known.is_of_kind() {
                0
            } else {
                self.own.push(event.known);
                self.own.len() as u32
            };
            let start = (Nanoseconds(start) - Nanoseconds(zero)).0;
            let correlation = event.known.correlation.unwrap_or(0);
            self.rows.push(Row { kind, own, start, duration, correlation });
        }
    }

    /// Hands the events on, and leaves an empty part.
    pub fn drain(&mut self, mut take: impl FnMut(Occurrence<'a>)) {
        for Row { kind, own, start, duration, correlation } in self.rows.drain(..) {
            let own = match (own as usize).checked_sub(1) {
                Some(place) => self.own[place],
                None => {
                    Known { correlation: Some(correlation).filter(|number| *number != 0), ..Known::default() }
                }
            };
            take(Occurrence { kind, start: Nanoseconds(start), duration: Nanoseconds(duration), own });
        }
        let Self { rows, mut own, .. } = std::mem::take(self);
        own.clear();
        *self = Self { rows, own, ..Self::default() };
    }
}
