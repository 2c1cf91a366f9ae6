//! The metadata of a plane: what its events and values are called.

use opscope_protobuf::{Fault, Fields, Value};
use opscope_trace::NumberMap;

use super::event::Line;
use super::stat::{Known, Stat, StatMeaning};

/// The properties that events of one kind have in common.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventKind<'a> {
    pub name: &'a [u8],
    pub display_name: &'a [u8],
    /// The values that hold for all of them.
    pub known: Known<'a>,
}

impl<'a> EventKind<'a> {
    /// The name that is shown.
    pub fn shown(&self) -> &'a [u8] {
        if self.display_name.is_empty() { self.name } else { self.display_name }
    }
}

/// Names a kind of events of a plane; the default is that of events whose kind the plane doesn't tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindId(u32);

impl KindId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kinds of events of a plane.
#[derive(Debug)]
pub struct Kinds<'a> {
    by_number: NumberMap<i64, KindId>,
    rows: Vec<EventKind<'a>>,
}

impl Default for Kinds<'_> {
    fn default() -> Self {
        Self { by_number: NumberMap::default(), rows: vec![EventKind::default()] }
    }
}

impl<'a> Kinds<'a> {
    /// The kind of a number.
    #[inline]
    pub fn find(&self, number: i64) -> KindId {
        self.by_number.get(&number).copied().unwrap_or_default()
    }

    pub fn get(&self, id: KindId) -> &EventKind<'a> {
        &self.rows[id.index()]
    }

    /// All of them, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &EventKind<'a>> {
        self.rows.iter()
    }

    /// How many there are, the default one among them.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    fn insert(&mut self, number: i64, kind: EventKind<'a>) {
        let next = KindId(self.rows.len() as u32);
        let id = *self.by_number.entry(number).or_insert(next);
        if id == next {
            self.rows.push(kind);
        } else {
            self.rows[id.index()] = kind;
        }
    }
}

/// The metadata of one plane.
#[derive(Debug, Default)]
pub struct Plane<'a> {
    pub name: &'a [u8],
    pub lines: Vec<Line<'a>>,
    pub kinds: Kinds<'a>,
    /// The names of values, and what they mean.
    pub stats: NumberMap<i64, (&'a [u8], StatMeaning)>,
    /// The values of the plane itself, as messages.
    pub own: Vec<&'a [u8]>,
    /// Whether the plane breaks off.
    pub is_damaged: bool,
}

impl<'a> Plane<'a> {
    /// Reads all but the events.
    pub fn read(body: &'a [u8]) -> Self {
        let mut plane = Self::default();
        let mut kinds = Vec::new();
        let fields = Fields::of(body);
        for field in fields.clone() {
            match field {
                Ok((2, value)) => plane.name = value.bytes(),
                Ok((3, Value::Bytes(line))) => plane.lines.push(Line::read(line)),
                Ok((4, value)) => kinds.push(value.bytes()),
                Ok((5, value)) => {
                    if let Some((number, body)) = entry(value.bytes()) {
                        let name = bytes_of(body, 2);
                        plane.stats.insert(number, (name, StatMeaning::of(name)));
                    }
                }
                Ok((6, value)) => plane.own.push(value.bytes()),
                Ok(_) => {}
                Err(fault) => {
                    plane.is_damaged = true;
                    if let Fault::Cut(start) = fault
                        && let Some((3, line)) = fields.cut_content(start)
                    {
                        plane.lines.push(Line::read(line));
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
                    if let Some((_, meaning, stat)) = self.stat(value.bytes()) {
                        kind.known.take(meaning, stat);
                    }
                }
                _ => {}
            }
        }
        kind
    }

    /// The name, meaning and value of a stat.
    #[inline]
    pub fn stat(&self, body: &'a [u8]) -> Option<(&'a [u8], StatMeaning, Stat<'a>)> {
        let (mut number, mut stat) = (0, None);
        for (field, value) in Fields::of(body).flatten() {
            match field {
                1 => number = value.signed(),
                2 => stat = Some(Stat::Double(value.double())),
                3 | 4 => stat = Some(Stat::Whole(value.signed())),
                5 | 6 => stat = Some(Stat::Text(value.bytes())),
                7 => stat = self.stats.get(&value.signed()).map(|(name, _)| Stat::Text(name)),
                _ => {}
            }
        }
        // A number that is 0 isn't written.
        let &(name, meaning) = self.stats.get(&number)?;
        Some((name, meaning, stat.unwrap_or(Stat::Whole(0))))
    }

    /// The value of the plane itself that has a name.
    pub fn own_stat(&self, name: &str) -> Option<Stat<'a>> {
        let stats = self.own.iter().filter_map(|body| self.stat(body));
        stats.into_iter().find(|(known, ..)| *known == name.as_bytes()).map(|(.., stat)| stat)
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
