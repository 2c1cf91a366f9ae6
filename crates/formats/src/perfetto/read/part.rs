//! Packets of a part of a file, which any core reads; what they tell is taken in order, on one.

use opscope_protobuf::{Fault, Fields, Value};

use super::super::fields::{event, packet, trace};
use super::events::Found;
use super::packets::Head;

/// Packets are read in parts of so many: enough to hand a part from one core to another, and few enough that what was
/// read of them stays close to a core.
const PACKETS_OF_PART: usize = 1 << 12;

/// A packet, or what stands in its place.
pub enum Item<'b> {
    /// An event that tells nothing which needs more than it says.
    Plain(PlainEvent),
    /// The bytes of any other packet.
    Packet(&'b [u8]),
    /// A field that is no packet.
    Beside,
    Fault(Fault),
}

/// An event with its type, track, name and category alone, as most are, and the head of its packet; numbers are as
/// small as most are, because there are millions, which another core reads.
#[derive(Clone, Copy)]
pub struct PlainEvent {
    time: u64,
    track: u64,
    clock: u32,
    sequence: u32,
    flags: u32,
    name_iid: u32,
    category_iid: u32,
    kind: u8,
    has_track: bool,
    has_clock: bool,
}

const _: () = assert!(size_of::<(usize, Item<'_>)>() <= 48);

impl PlainEvent {
    /// Reads a packet; nothing if there is anything else in it.
    fn read(body: &[u8]) -> Option<Self> {
        let mut head = Head::default();
        let mut content = None;
        for field in Fields::of(body) {
            let (number, value) = field.ok()?;
            match number {
                packet::TIMESTAMP => head.time = Some(value.number()),
                packet::CLOCK => head.clock = Some(value.number() as u32),
                packet::SEQUENCE => head.sequence = value.number() as u32,
                packet::SEQUENCE_FLAGS => head.flags |= value.number(),
                packet::TRUSTED_UID | packet::TRUSTED_PID => {}
                packet::TRACK_EVENT if content.is_none() => content = Some(value.bytes()),
                _ => return None,
            }
        }
        let (mut kind, mut track, mut name_iid, mut category_iid) = (0, None, 0, 0);
        for field in Fields::of(content?) {
            let (number, value) = field.ok()?;
            match number {
                event::TYPE => kind = value.number(),
                event::TRACK => track = Some(value.number()),
                event::NAME_IID => name_iid = value.number(),
                event::CATEGORY_IIDS if category_iid == 0 => {
                    category_iid = value.numbers().next().unwrap_or(0);
                }
                _ => return None,
            }
        }
        if !matches!(kind, event::SLICE_BEGIN | event::SLICE_END | event::INSTANT) {
            return None;
        }
        Some(Self {
            time: head.time?,
            track: track.unwrap_or(0),
            clock: head.clock.unwrap_or(0),
            sequence: head.sequence,
            flags: u32::try_from(head.flags).ok()?,
            name_iid: u32::try_from(name_iid).ok()?,
            category_iid: u32::try_from(category_iid).ok()?,
            kind: kind as u8,
            has_track: track.is_some(),
            has_clock: head.clock.is_some(),
        })
    }

    /// The fields of the packet beside the event.
    pub fn head(&self) -> Head {
        Head {
            time: Some(self.time),
            clock: self.has_clock.then_some(self.clock),
            sequence: self.sequence,
            flags: u64::from(self.flags),
            is_dropped: false,
        }
    }

    /// The event's own fields.
    pub fn found(&self) -> Found<'static> {
        Found {
            kind: u64::from(self.kind),
            track: self.has_track.then_some(self.track),
            name_iid: u64::from(self.name_iid),
            category_iid: u64::from(self.category_iid),
            ..Found::default()
        }
    }
}

/// Where the parts of a file begin.
pub fn begins(bytes: &[u8]) -> Vec<usize> {
    let mut begins = Vec::new();
    let mut at = 0;
    for count in 0_usize.. {
        if at >= bytes.len() {
            break;
        }
        if count.is_multiple_of(PACKETS_OF_PART) {
            begins.push(at);
        }
        at = behind(bytes, at);
    }
    begins
}

/// Where the field behind one begins.
fn behind(bytes: &[u8], at: usize) -> usize {
    /// The tag of a packet, before its length.
    const TAG: u8 = trace::PACKET as u8 * 8 + 2;
    // Nearly all are packets of less than 16 kB, whose length takes one or two bytes.
    let end = match bytes[at..] {
        [TAG, low @ ..0x80, ..] => Some(at + 2 + usize::from(low)),
        [TAG, low, high @ ..0x80, ..] => Some(at + 3 + usize::from(low & 0x7f) + (usize::from(high) << 7)),
        _ => None,
    };
    end.filter(|end| *end <= bytes.len()).unwrap_or_else(|| {
        let mut fields = Fields::of(&bytes[at..]);
        fields.next();
        at + fields.position()
    })
}

/// Reads the packets of a part, each with where it stands in the file.
pub fn read<'b>(bytes: &'b [u8], begins: &[usize], number: usize, items: &mut Vec<(usize, Item<'b>)>) {
    let begin = begins[number];
    let end = begins.get(number + 1).copied().unwrap_or(bytes.len());
    let mut fields = Fields::of(&bytes[begin..end]);
    loop {
        let at = begin + fields.position();
        let Some(field) = fields.next() else { break };
        let item = match field {
            Ok((trace::PACKET, Value::Bytes(body))) => {
                PlainEvent::read(body).map_or(Item::Packet(body), Item::Plain)
            }
            Ok(_) => Item::Beside,
            Err(fault) => Item::Fault(fault),
        };
        items.push((at, item));
    }
}
