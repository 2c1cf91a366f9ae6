//! Lines and their events.

use opscope_protobuf::{Fields, Value};

use super::metadata::{EventKind, Plane};
use super::stat::Known;

/// The head of a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line<'a> {
    pub number: i64,
    pub name: &'a [u8],
    /// Nanoseconds since 1970, or since the recording began.
    pub begin: i64,
    pub body: &'a [u8],
}

impl<'a> Line<'a> {
    /// Reads all but the events.
    pub fn read(body: &'a [u8]) -> Self {
        let mut line = Self { body, ..Self::default() };
        let mut display_name: &[u8] = b"";
        for (field, value) in Fields::of(body).flatten() {
            match field {
                1 => line.number = value.signed(),
                2 => line.name = value.bytes(),
                3 => line.begin = value.signed(),
                11 => display_name = value.bytes(),
                _ => {}
            }
        }
        if !display_name.is_empty() {
            line.name = display_name;
        }
        line
    }

    /// The events, each as its message; `None` where the line breaks off.
    pub fn events(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        Fields::of(self.body).filter_map(|field| match field {
            Ok((4, Value::Bytes(event))) => Some(Some(event)),
            Ok(_) => None,
            Err(_) => Some(None),
        })
    }
}

/// An event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    pub kind: i64,
    /// Picoseconds from the begin of the line; `None` of events that are only counted.
    pub offset: Option<i64>,
    pub duration: i64,
    pub body: &'a [u8],
}

impl<'a> Event<'a> {
    /// Reads all but the values; nothing if the message is damaged.
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let mut event = Self { body, offset: Some(0), ..Self::default() };
        for field in Fields::of(body) {
            let (number, value) = field.ok()?;
            match number {
                1 => event.kind = value.signed(),
                2 => event.offset = Some(value.signed()),
                3 => event.duration = value.signed(),
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
        let begin = i128::from(line.begin) * 1_000 + offset;
        let nanoseconds = |picoseconds: i128| i64::try_from((picoseconds + 500).div_euclid(1_000)).ok();
        let (start, end) = (nanoseconds(begin)?, nanoseconds(begin + i128::from(self.duration))?);
        Some((start, end.checked_sub(start)?))
    }

    /// The values, and those of its kind.
    pub fn known(&self, plane: &Plane<'a>, kind: &EventKind<'a>) -> Known<'a> {
        let mut known = Known::default();
        for (_, value) in Fields::of(self.body).flatten().filter(|(field, _)| *field == 4) {
            if let Some((name, stat)) = plane.stat(value.bytes()) {
                known.take(name, stat);
            }
        }
        known.or(&kind.known)
    }
}
