//! The metadata of a plane: what its events and values are called.

use opscope_protobuf::{Fault, Fields, Value};
use opscope_trace::{NumberMap, OperatorId};

use super::stat::{Known, Stat};

/// The properties that events of one kind have in common.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventKind<'a> {
    pub name: &'a [u8],
    pub display_name: &'a [u8],
    /// The values that hold for all of them.
    pub known: Known<'a>,
    /// The operator, once an event of this kind was met.
    pub operator: Option<OperatorId>,
}

/// The metadata of one plane.
#[derive(Debug, Default)]
pub struct Plane<'a> {
    pub name: &'a [u8],
    pub lines: Vec<&'a [u8]>,
    pub kinds: NumberMap<i64, EventKind<'a>>,
    /// The names of values.
    pub stats: NumberMap<i64, &'a [u8]>,
    /// The values of the plane itself, as messages.
    pub own: Vec<&'a [u8]>,
    /// Whether the plane breaks off.
    pub is_damaged: bool,
}

impl<'a> Plane<'a> {
    /// Reads all but the lines.
    pub fn read(body: &'a [u8]) -> Self {
        let mut plane = Self::default();
        let mut kinds = Vec::new();
        let fields = Fields::of(body);
        for field in fields.clone() {
            match field {
                Ok((2, value)) => plane.name = value.bytes(),
                Ok((3, Value::Bytes(line))) => plane.lines.push(line),
                Ok((4, value)) => kinds.push(value.bytes()),
                Ok((5, value)) => {
                    if let Some((number, body)) = entry(value.bytes()) {
                        plane.stats.insert(number, bytes_of(body, 2));
                    }
                }
                Ok((6, value)) => plane.own.push(value.bytes()),
                Ok(_) => {}
                Err(fault) => {
                    plane.is_damaged = true;
                    if let Fault::Cut(start) = fault
                        && let Some((3, line)) = fields.cut_content(start)
                    {
                        plane.lines.push(line);
                    }
                }
            }
        }
        // The names of values may stand behind the kinds that have them.
        for (number, body) in kinds.into_iter().filter_map(entry) {
            let kind = plane.kind(body);
            plane.kinds.insert(number, kind);
        }
        plane
    }

    fn kind(&self, body: &'a [u8]) -> EventKind<'a> {
        let mut kind = EventKind::default();
        for (field, value) in Fields::of(body).flatten() {
            match field {
                2 => kind.name = value.bytes(),
                4 => kind.display_name = value.bytes(),
                5 => {
                    if let Some((name, stat)) = self.stat(value.bytes()) {
                        kind.known.take(name, stat);
                    }
                }
                _ => {}
            }
        }
        kind
    }

    /// The name and value of a stat.
    pub fn stat(&self, body: &'a [u8]) -> Option<(&'a [u8], Stat<'a>)> {
        let (mut number, mut stat) = (0, None);
        for (field, value) in Fields::of(body).flatten() {
            match field {
                1 => number = value.signed(),
                2 => stat = Some(Stat::Double(value.double())),
                3 | 4 => stat = Some(Stat::Whole(value.signed())),
                5 | 6 => stat = Some(Stat::Text(value.bytes())),
                7 => stat = self.stats.get(&value.signed()).map(|name| Stat::Text(name)),
                _ => {}
            }
        }
        // A number that is 0 isn't written.
        Some((self.stats.get(&number)?, stat.unwrap_or(Stat::Whole(0))))
    }

    /// The value of the plane itself that has a name.
    pub fn own_stat(&self, name: &str) -> Option<Stat<'a>> {
        let stats = self.own.iter().filter_map(|body| self.stat(body));
        stats.into_iter().find(|(known, _)| *known == name.as_bytes()).map(|(_, stat)| stat)
    }
}

/// Number and message of an entry of a map.
fn entry(body: &[u8]) -> Option<(i64, &[u8])> {
    let (mut number, mut message) = (0, None);
    for (field, value) in Fields::of(body).flatten() {
        match (field, value) {
            (1, value) => number = value.signed(),
            (2, Value::Bytes(bytes)) => message = Some(bytes),
            _ => {}
        }
    }
    Some((number, message?))
}

/// The last text or bytes of a field.
pub fn bytes_of(body: &[u8], wanted: u32) -> &[u8] {
    Fields::of(body)
        .flatten()
        .filter(|(field, _)| *field == wanted)
        .last()
        .map_or(&[], |(_, value)| value.bytes())
}
