//! Lines and their events.

use opscope_protobuf::{Fields, Value};

use super::metadata::Plane;
use super::stat::Known;

/// Events are read in parts of so many: enough to hand a part from one core to another, and few enough to stay close
/// to a core.
const EVENTS_OF_PART: usize = 1 << 13;

/// The head of a line.
#[derive(Clone, Debug, Default)]
pub struct Line<'a> {
    pub number: i64,
    pub name: &'a [u8],
    /// Nanoseconds since 1970, or since the recording began.
    pub begin: i64,
    pub body: &'a [u8],
    /// Where the parts begin in which the events are read; a line without events has none.
    parts: Vec<usize>,
}

impl<'a> Line<'a> {
    /// Reads all but the events.
    pub fn read(body: &'a [u8]) -> Self {
        let mut line = Self { body, ..Self::default() };
        let mut display_name: &[u8] = b"";
        let mut fields = Fields::of(body);
        let mut events = 0_usize;
        loop {
            let at = fields.position();
            let Some(field) = fields.next() else { break };
            match field {
                Ok((4, Value::Bytes(_))) | Err(_) => {
                    if events.is_multiple_of(EVENTS_OF_PART) {
                        line.parts.push(at);
                    }
                    events += 1;
                }
                Ok((1, value)) => line.number = value.signed(),
                Ok((2, value)) => line.name = value.bytes(),
                Ok((3, value)) => line.begin = value.signed(),
                Ok((11, value)) => display_name = value.bytes(),
                Ok(_) => {}
            }
        }
        if !display_name.is_empty() {
            line.name = display_name;
        }
        line
    }

    /// Whether there is any event.
    pub fn has_events(&self) -> bool {
        !self.parts.is_empty()
    }

    /// How many parts the events have.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The events of a part, each as its message; `None` where the line breaks off.
    pub fn events_of_part(&self, number: usize) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let end = self.parts.get(number + 1).copied().unwrap_or(self.body.len());
        events_in(&self.body[self.parts[number]..end])
    }

    /// All events.
    pub fn events(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        events_in(self.body)
    }
}

fn events_in(fields: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    Fields::of(fields).filter_map(|field| match field {
        Ok((4, Value::Bytes(event))) => Some(Some(event)),
        Ok(_) => None,
        Err(_) => Some(None),
    })
}

/// An event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    pub kind: i64,
    /// Picoseconds from the begin of the line; `None` of events that are only counted.
    pub offset: Option<i64>,
    pub duration: i64,
    /// The event's own values.
    pub known: Known<'a>,
}

impl<'a> Event<'a> {
    /// Reads an event of a plane; nothing if the message is damaged.
    #[inline]
    pub fn read(body: &'a [u8], plane: &Plane<'a>) -> Option<Self> {
        let mut event = Self { offset: Some(0), ..Self::default() };
        for field in Fields::of(body) {
            let (number, value) = field.ok()?;
            match number {
                1 => event.kind = value.signed(),
                2 => event.offset = Some(value.signed()),
                3 => event.duration = value.signed(),
                4 => {
                    if let Some((_, meaning, stat)) = plane.stat(value.bytes()) {
                        event.known.take(meaning, stat);
                    }
                }
                5 => event.offset = None,
                _ => {}
            }
        }
        Some(event)
    }

    /// Start and duration in nanoseconds. Both ends are rounded by themselves, so that what nests or touches
    /// goes on doing so.
    pub fn span(&self, line: &Line<'_>) -> Option<(i64, i64)> {
        let offset = i128::from(self.offset?);
        let (start, end) = (rounded(offset), rounded(offset + i128::from(self.duration)));
        let nanoseconds = |rounded: i128| i64::try_from(i128::from(line.begin) + rounded).ok();
        let (start, end) = (nanoseconds(start)?, nanoseconds(end)?);
        Some((start, end.checked_sub(start)?))
    }
}

/// Picoseconds as the nearest nanoseconds, halves upwards.
#[inline]
fn rounded(picoseconds: i128) -> i128 {
    // To divide numbers of 128 bits takes many times as long.
    match i64::try_from(picoseconds + 500) {
        Ok(picoseconds) => i128::from(picoseconds.div_euclid(1_000)),
        Err(_) => (picoseconds + 500).div_euclid(1_000),
    }
}
