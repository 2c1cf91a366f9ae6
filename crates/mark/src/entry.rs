//! A mark while it waits to be written.
//!
//! What most marks consist of lies in one cache line, because fetching a line that another
//! processor has read costs more than everything else that a mark does. The writer makes the
//! record of it ([`Entry::record`]).

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::{TX_MESSAGE_BYTES, Tx};
use opscope_cann_raw::host::{Head, MAGIC, level};

use crate::event::Details;

/// How much text a record holds: the last byte must be zero.
pub(crate) const SEGMENT_BYTES: usize = TX_MESSAGE_BYTES - 1;

/// The inner tag of the records.
const TAG: u16 = 120;

/// What every mark has, besides its text.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Essence {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The thread that ended it: the reference names that one, too.
    pub(crate) thread: u32,
    /// As the records number them.
    pub(crate) event_type: u8,
}

/// What a mark has when it isn't a plain text.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Extras {
    pub(crate) details: Details,
    /// The number of the mark; 0 when it needs none of its own.
    pub(crate) mark: u64,
    /// The place of this text in a longer one.
    pub(crate) segment: u16,
}

/// A place for a mark, in whole cache lines.
#[repr(C, align(64))]
pub(crate) struct Entry {
    essence: Essence,
    text_length: u8,
    has_extras: bool,
    text: [u8; SEGMENT_BYTES],
    /// Stale unless `has_extras`.
    extras: Extras,
}

impl Entry {
    pub(crate) const EMPTY: Self = Self {
        essence: Essence { start: 0, end: 0, thread: 0, event_type: 0 },
        text_length: 0,
        has_extras: false,
        text: [0; SEGMENT_BYTES],
        extras: Extras { details: Details::NONE, mark: 0, segment: 0 },
    };

    /// Fills the place; of the text, as much as a record holds.
    #[inline(always)]
    pub(crate) fn set(&mut self, essence: Essence, text: &[u8], extras: Option<Extras>) {
        let length = text.len().min(SEGMENT_BYTES);
        // Field by field: a copy of the whole would wait for the fields to be stored somewhere else.
        self.essence.start = essence.start;
        self.essence.end = essence.end;
        self.essence.thread = essence.thread;
        self.essence.event_type = essence.event_type;
        self.text_length = length as u8;
        self.has_extras = extras.is_some();
        copy(&text[..length], &mut self.text[..length]);
        if let Some(extras) = extras {
            self.extras = extras;
        }
    }

    /// The record of the mark, as a process writes it.
    pub(crate) fn record(&self, process: u32) -> Tx {
        let Essence { start, end, thread, event_type } = self.essence;
        let Extras { details, mark, segment } = if self.has_extras { self.extras } else { Extras::default() };
        let length = usize::from(self.text_length).min(SEGMENT_BYTES);
        let mut message = [0; TX_MESSAGE_BYTES];
        message[..length].copy_from_slice(&self.text[..length]);
        Tx {
            head: Head {
                magic: MAGIC,
                level: level::MSPROFTX,
                kind: 0,
                thread,
                length: (<Tx as Record>::SIZE - <Head as Record>::SIZE) as u32,
                time: end,
            },
            info_type: u16::from(details.domain.is_some()),
            segment,
            magic: MAGIC,
            tag: TAG,
            process,
            thread,
            category: details.category,
            event_type: u32::from(event_type),
            payload_type: details.payload_type,
            payload: details.payload,
            start,
            end,
            mark,
            domain: details.domain.map_or(0, |domain| domain.0),
            message_type: details.message_type,
            message,
        }
    }
}

/// Copies a text; short ones in two overlapping pieces, which is quicker than to ask how long it is
/// in a function for all lengths.
#[inline(always)]
fn copy(from: &[u8], to: &mut [u8]) {
    if let (Some(first), Some(last)) = (from.first_chunk::<8>(), from.last_chunk::<8>())
        && from.len() <= 16
        && to.len() == from.len()
    {
        to[..8].copy_from_slice(first);
        to[from.len() - 8..].copy_from_slice(last);
    } else {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_used_again_shows_nothing_of_the_mark_before() {
        let mut entry = Entry::EMPTY;
        let essence = Essence { start: 5, end: 9, thread: 7, event_type: 1 };
        let details = Details { category: 3, payload: 4, ..Details::NONE };
        entry.set(essence, &[b'x'; 300], Some(Extras { details, mark: 11, segment: 2 }));
        let long = entry.record(1);
        assert_eq!((long.category, long.payload, long.mark, long.segment), (3, 4, 11, 2));
        assert_eq!(long.message.iter().filter(|byte| **byte == b'x').count(), SEGMENT_BYTES);

        entry.set(Essence { start: 10, ..essence }, b"infer", None);
        let short = entry.record(1);
        assert_eq!((short.category, short.payload, short.mark, short.segment), (0, 0, 0, 0));
        assert_eq!((short.start, short.end, short.head.thread), (10, 9, 7));
        assert!(short.message.starts_with(b"infer\0") && short.message[5..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn what_most_marks_consist_of_lies_in_one_cache_line() {
        assert_eq!(size_of::<Entry>() % 64, 0);
        assert!(std::mem::offset_of!(Entry, text) + 32 <= 64);
    }
}
