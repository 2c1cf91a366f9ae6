//! Reading Perfetto's traces into a [`Trace`].
//!
//! Packets are taken one after another, because names, clocks and values may be told relative to earlier ones; the
//! fields of most of them are found on all cores before (`part`).
//! Their events become the rows that Chrome's events become (`crate::chrome::read`), and from there on it is the
//! same work. Text is kept once, as JSON, in which those rows have it.
//!
//! ```text
//! texts ─► clocks, tracks, annotations ─► sequence, slices ─► part ─► packets, events ─► document
//! ```

mod annotations;
mod clocks;
mod document;
mod events;
mod packets;
mod part;
mod sequence;
mod slices;
mod texts;
mod tracks;

use opscope_trace::{LossKind, Trace};

use super::fields::packet;
use crate::chrome::dialect::Dialect;
use crate::chrome::read::make_trace;
use crate::reading::Stop;
use document::{Frame, document};
use opscope_protobuf::{Fault, Fields, Value};
use packets::{Order, Packets};
use texts::Texts;

/// Bytes that are no trace of Perfetto's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No packet can be read.
    #[error("this is no trace of Perfetto's: no packet stands at byte {offset}")]
    NoPacket {
        /// Where the first one should be.
        offset: usize,
    },
    /// Whoever asked for it wants it no more.
    #[error("the reading was stopped")]
    Stopped,
}

/// Reads a trace of Perfetto's.
///
/// Damage costs only what it touches; that, and all that was left out, is counted in [`Trace::losses`].
///
/// # Errors
/// When no packet can be read.
pub fn read(bytes: &[u8]) -> Result<Trace, ReadError> {
    read_with(bytes, &[], &Stop::default())
}

/// As [`read()`], of a trace that may be in the dialect of a vendor, until `stop` is wanted.
///
/// # Errors
/// When no packet can be read, or it was stopped.
pub fn read_with(bytes: &[u8], vendors: &[&dyn Dialect], stop: &Stop) -> Result<Trace, ReadError> {
    stop.expects(|| bytes.len() as u64);
    let mut texts = Texts::default();
    let mut packets = Packets::read(bytes, Order::AsWritten, &mut texts, stop)?;
    if packets.slices.is_out_of_order {
        // Writers promise the order of time within a sequence only, and several may write to one track.
        texts = Texts::default();
        packets = Packets::read(bytes, Order::ByTime, &mut texts, stop)?;
    }
    if packets.lacks_events(&texts) {
        packets.problems.count_all(LossKind::CutEventList, 1);
    }
    let frame = Frame::new(&mut packets, &mut texts);
    let mut document = document(packets, &frame, &texts);
    make_trace(&mut document, vendors, stop).ok_or(ReadError::Stopped)
}

/// Whether bytes that begin so may be a trace of Perfetto's: packets whose fields have the kinds that the
/// schema gives them, and one that says who wrote it or when.
///
/// `head` may be cut off anywhere.
pub fn looks_like(head: &[u8]) -> bool {
    /// As many as it takes to be sure.
    const PACKETS: usize = 16;
    let mut is_told = false;
    let mut seen = 0;
    let fields = Fields::of(head);
    for field in fields.clone().take(PACKETS) {
        let (body, is_cut) = match field {
            Ok((super::fields::trace::PACKET, Value::Bytes(body))) => (body, false),
            Err(Fault::Cut(start)) => match fields.cut_content(start) {
                Some((super::fields::trace::PACKET, body)) => (body, true),
                _ => return seen > 0 && is_told,
            },
            _ => return false,
        };
        for field in Fields::of(body) {
            let (number, value) = match field {
                Ok(field) => field,
                Err(_) if is_cut => break,
                Err(_) => return false,
            };
            let is_number = matches!(value, Value::Number(_));
            let Some(wants_number) = kind_of(number) else { continue };
            if is_number != wants_number {
                return false;
            }
            is_told |= matches!(
                number,
                packet::TRUSTED_UID | packet::TIMESTAMP | packet::SEQUENCE | packet::TRACK_DESCRIPTOR
            );
        }
        seen += 1;
    }
    seen > 0 && is_told
}

/// Whether a field of a packet is a number, or bytes; nothing is known of others.
fn kind_of(number: u32) -> Option<bool> {
    match number {
        packet::TRUSTED_UID
        | packet::TIMESTAMP
        | packet::SEQUENCE
        | packet::SEQUENCE_FLAGS
        | packet::STATE_CLEARED
        | packet::PREVIOUS_DROPPED
        | packet::CLOCK
        | packet::TRUSTED_PID
        | packet::FIRST_ON_SEQUENCE
        | packet::MACHINE => Some(true),
        1..=90 => Some(false),
        _ => None,
    }
}

/// The kind of loss that a fault in the file itself is.
fn loss_of(fault: Fault) -> LossKind {
    match fault {
        Fault::Cut(_) => LossKind::CutPacket,
        Fault::Malformed(_) => LossKind::DamagedPacket,
    }
}
