//! Marks and ranges, as records.
//!
//! | | record | event type |
//! |---|---|---|
//! | mark | one, begin = end | 0, or 3 where the mark has a device side |
//! | push, pop | one at the pop, with the begin of the push | 1 |
//! | range start, range end | one at the end, on whichever thread that is | 2 |
//!
//! The classic form of a record holds a category, a payload and 155 bytes of text. A longer text,
//! or one with a domain, takes the form of mstx: segments that carry the same number.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::{TX_MESSAGE_BYTES, Tx};
use opscope_cann_raw::host::{Head, MAGIC, level};

use crate::domain::{self, Domain};
use crate::recorder::is_on;
use crate::thread::{self, Local};

/// How much text a record holds: the last byte must be zero.
const SEGMENT_BYTES: usize = TX_MESSAGE_BYTES - 1;

/// The longest text that is kept of a mark; the rest is cut off.
pub const LONGEST_TEXT: usize = 16 << 10;

/// The inner tag of the records.
const TAG: u16 = 120;

const MARK: u32 = 0;
const PUSH_POP: u32 = 1;
const START_END: u32 = 2;
const MARK_EX: u32 = 3;

/// What a mark or range says besides its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The namespace of the text; `None` for records of the classic form.
    pub domain: Option<Domain>,
    /// A number that groups marks.
    pub category: u32,
    /// What the payload is, as the interface that it came through numbers types.
    pub payload_type: i32,
    /// A value of the program's own, as bits.
    pub payload: u64,
    /// What the text is, as the interface that it came through numbers types.
    pub message_type: i32,
}

/// A range that was begun on a thread, but for its text.
pub(crate) struct Pushed {
    start: u64,
    details: Details,
    /// Where the text begins among the texts of the thread's open ranges.
    text: usize,
}

/// A range that was begun and that any thread may end.
struct Open {
    start: u64,
    details: Details,
    text: Box<str>,
}

/// A record but for its text.
struct Event {
    event_type: u32,
    start: u64,
    end: u64,
    details: Details,
    /// The number of the mark; 0 when it needs none of its own.
    number: u64,
}

/// Ranges that any thread may end.
static RANGES: Mutex<Option<HashMap<u64, Open>>> = Mutex::new(None);
/// The number of the last mark with a number.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Records an instant.
pub fn mark(text: &[u8], details: Details) {
    instant(text, details, MARK);
}

/// Records an instant that has a side on a device.
pub fn mark_ex(text: &[u8], details: Details) {
    let domain = details.domain.or(Some(domain::default()));
    instant(text, Details { domain, ..details }, MARK_EX);
}

fn instant(text: &[u8], details: Details, event_type: u32) {
    if !is_on() {
        return;
    }
    thread::with(|local| {
        let now = local.recorder.clock.now();
        put(local, &clean(text), &Event { event_type, start: now, end: now, details, number: 0 });
    });
}

/// Begins a range on the calling thread; returns how many are open on it now, 0 when nothing is
/// recorded.
#[inline]
pub fn push(text: &[u8], details: Details) -> usize {
    if !is_on() {
        return 0;
    }
    let depth = thread::with(|local| {
        let text = clean(text);
        let pushed = Pushed { start: 0, details, text: local.texts.len() };
        local.texts.extend_from_slice(text.as_bytes());
        local.pushed.push(pushed);
        local.note_open();
        // What was done until here belongs to nobody's range.
        let now = local.recorder.clock.now();
        if let Some(pushed) = local.pushed.last_mut() {
            pushed.start = now;
        }
        local.pushed.len()
    });
    depth.unwrap_or(0)
}

/// Ends the innermost range of the calling thread; returns how many were open, 0 when there was
/// none.
#[inline]
pub fn pop() -> usize {
    pop_where(|_| true)
}

/// Ends the innermost range of the calling thread in a domain.
pub fn pop_in(domain: Option<Domain>) -> usize {
    pop_where(|pushed| pushed.details.domain == domain)
}

#[inline(always)]
fn pop_where(is: impl Fn(&Pushed) -> bool) -> usize {
    if !is_on() {
        return 0;
    }
    let depth = thread::with(|local| {
        let end = local.recorder.clock.now();
        let depth = local.pushed.len();
        let Some(place) = local.pushed.iter().rposition(is) else {
            local.recorder.control().unmatched.fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        let Pushed { start, details, text } = local.pushed[place];
        let text_end = local.pushed.get(place + 1).map_or(local.texts.len(), |next| next.text);
        let event = Event { event_type: PUSH_POP, start, end, details, number: 0 };
        let bytes = local.texts.get(text..text_end).unwrap_or_default();
        put(local, str::from_utf8(bytes).unwrap_or_default(), &event);
        if place + 1 == depth {
            local.texts.truncate(text);
            local.pushed.pop();
        } else {
            forget(local, place, text..text_end);
        }
        local.note_open();
        depth
    });
    depth.unwrap_or(0)
}

/// Takes a range out from among others that are still open.
#[cold]
fn forget(local: &mut Local, place: usize, text: std::ops::Range<usize>) {
    local.texts.drain(text.clone());
    local.pushed.remove(place);
    for later in &mut local.pushed[place..] {
        later.text -= text.len();
    }
}

/// Begins a range that any thread may end; returns its number, 0 when nothing is recorded.
pub fn range_start(text: &[u8], details: Details) -> u64 {
    if !is_on() {
        return 0;
    }
    let started = thread::with(|local| {
        let number = next_number(local);
        let text = Box::from(&*clean(text));
        let Some(mut ranges) = ranges() else { return 0 };
        let start = local.recorder.clock.now();
        ranges.get_or_insert_default().insert(number, Open { start, details, text });
        number
    });
    started.unwrap_or(0)
}

/// Ends a range; returns whether there was one of that number.
pub fn range_end(number: u64) -> bool {
    if number == 0 || !is_on() {
        return false;
    }
    let ended = thread::with(|local| {
        let end = local.recorder.clock.now();
        let open = ranges().and_then(|mut ranges| ranges.as_mut()?.remove(&number));
        let Some(Open { start, details, text }) = open else {
            local.recorder.control().unmatched.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        put(local, &text, &Event { event_type: START_END, start, end, details, number });
        true
    });
    ended.unwrap_or(false)
}

/// Forgets all ranges that any thread may end, and tells how many there were.
pub(crate) fn forget_ranges() -> u64 {
    ranges().and_then(|mut ranges| ranges.take()).map_or(0, |open| open.len() as u64)
}

/// In a forked child, where a thread that isn't there any more may hold the lock.
pub(crate) fn forked() {
    // A child that finds the lock held records no such ranges; all else works.
    if let Some(mut ranges) = ranges() {
        *ranges = None;
    }
}

fn ranges() -> Option<MutexGuard<'static, Option<HashMap<u64, Open>>>> {
    // Held for nanoseconds only. What waits longer than this waits for a thread that is gone.
    const TRIES: u32 = 1_000_000;
    for _ in 0..TRIES {
        match RANGES.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// A number that no other mark of this collection has: the process in the upper half.
fn next_number(local: &Local) -> u64 {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
    u64::from(local.recorder.process) << 32 | u64::from(number)
}

/// Hands over the record of an event, or as many as its text needs. The thread is the calling one:
/// the reference names the thread that ended a range, too.
#[inline(always)]
fn put(local: &Local, text: &str, event: &Event) {
    if text.len() > SEGMENT_BYTES {
        return put_segments(local, text, event);
    }
    let number = match event.details.domain {
        None => 0,
        Some(_) if event.number == 0 => next_number(local),
        Some(_) => event.number,
    };
    put_segment(local, text, 0, number, event);
}

#[cold]
fn put_segments(local: &Local, text: &str, event: &Event) {
    let domain = event.details.domain.or_else(|| Some(domain::default()));
    let event = Event { details: Details { domain, ..event.details }, ..*event };
    let number = if event.number == 0 { next_number(local) } else { event.number };
    let (mut rest, mut segment) = (text, 0);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.floor_char_boundary(SEGMENT_BYTES));
        put_segment(local, now, segment, number, &event);
        (rest, segment) = (later, segment + 1);
    }
}

#[inline(always)]
fn put_segment(local: &Local, text: &str, segment: u16, mark: u64, event: &Event) {
    let Details { domain, category, payload_type, payload, message_type } = event.details;
    let mut message = [0; TX_MESSAGE_BYTES];
    message[..text.len()].copy_from_slice(text.as_bytes());
    local.put(&Tx {
        head: Head {
            magic: MAGIC,
            level: level::MSPROFTX,
            kind: 0,
            thread: local.thread,
            length: (<Tx as Record>::SIZE - <Head as Record>::SIZE) as u32,
            time: event.end,
        },
        info_type: u16::from(domain.is_some()),
        segment,
        magic: MAGIC,
        tag: TAG,
        process: local.recorder.process,
        thread: local.thread,
        category,
        event_type: event.event_type,
        payload_type,
        payload,
        start: event.start,
        end: event.end,
        mark,
        domain: domain.map_or(0, |domain| domain.0),
        message_type,
        message,
    });
}

/// Text that every reader of the records can take: UTF-8 without zeros, of a length that fits.
#[inline(always)]
fn clean(text: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(text) {
        Ok(valid) if text.len() <= LONGEST_TEXT && !text.contains(&0) => Cow::Borrowed(valid),
        _ => clean_slowly(text),
    }
}

#[cold]
fn clean_slowly(text: &[u8]) -> Cow<'_, str> {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len()).min(LONGEST_TEXT);
    let mut cleaned = String::from_utf8_lossy(&text[..end]).into_owned();
    cleaned.truncate(cleaned.floor_char_boundary(LONGEST_TEXT));
    Cow::Owned(cleaned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_made_valid_and_cut_at_a_character() {
        assert_eq!(clean(b"plain"), "plain");
        assert_eq!(clean(b"caf\xe9"), "caf\u{fffd}");
        assert_eq!(clean(b"until\0here"), "until");
        let long = "é".repeat(LONGEST_TEXT);
        assert_eq!(clean(long.as_bytes()).len(), LONGEST_TEXT);
        let odd = format!("x{long}");
        assert_eq!(clean(odd.as_bytes()).len(), LONGEST_TEXT - 1);
    }
}
