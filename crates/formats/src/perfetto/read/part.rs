//! Packets of a part of a file, which any core reads; what they tell is taken in order, on one.

use opscope_protobuf::{Fault, Fields, Value};

use super::super::fields::{event, packet, trace};
use super::packets::Head;

/// Packets are read in parts of so many: enough to hand a part from one core to another, and few enough to stay close
/// to a core.
const PACKETS_OF_PART: usize = 1 << 13;

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

/// An event with its type, track, name and category alone, as most are, and the head of its packet.
pub struct PlainEvent {
    pub head: Head,
    pub kind: u64,
    pub track: Option<u64>,
    pub name_iid: u64,
    pub category_iid: u64,
}

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
        let is_slice = matches!(kind, event::SLICE_BEGIN | event::SLICE_END | event::INSTANT);
        (is_slice && head.time.is_some()).then_some(Self { head, kind, track, name_iid, category_iid })
    }
}

/// Where the parts of a file begin.
pub fn begins(bytes: &[u8]) -> Vec<usize> {
    let mut fields = Fields::of(bytes);
    let mut begins = Vec::new();
    for count in 0_usize.. {
        let at = fields.position();
        if fields.next().is_none() {
            break;
        }
        if count.is_multiple_of(PACKETS_OF_PART) {
            begins.push(at);
        }
    }
    begins
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
