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

use crate::domain::{self, Domain};
use crate::entry::{Essence, Extras, SEGMENT_BYTES};
use crate::recorder::is_on;
use crate::thread::{self, Local};

/// The longest text that is kept of a mark; the rest is cut off.
pub const LONGEST_TEXT: usize = 16 << 10;

const MARK: u8 = 0;
const PUSH_POP: u8 = 1;
const START_END: u8 = 2;
const MARK_EX: u8 = 3;

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

impl Details {
    /// Nothing besides the text.
    pub const NONE: Self = Self { domain: None, category: 0, payload_type: 0, payload: 0, message_type: 0 };
}

/// A range that was begun on a thread.
#[derive(Clone, Copy)]
pub(crate) struct Pushed {
    start: u64,
    /// Where the text begins among the texts of the thread's open ranges.
    text: usize,
    /// Whether the last of the thread's details are this range's.
    has_details: bool,
}

/// A range that was begun and that any thread may end.
struct Open {
    start: u64,
    details: Details,
    text: Box<str>,
}

/// Ranges that any thread may end.
static RANGES: Mutex<Option<HashMap<u64, Open>>> = Mutex::new(None);
/// The number of the last mark with a number.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Records an instant.
#[inline]
pub fn mark(text: &[u8], details: Details) {
    if is_on() {
        instant(text, &details, MARK);
    }
}

/// Records an instant that has a side on a device.
pub fn mark_ex(text: &[u8], details: Details) {
    if is_on() {
        let domain = details.domain.or(Some(domain::default()));
        instant(text, &Details { domain, ..details }, MARK_EX);
    }
}

fn instant(text: &[u8], details: &Details, event_type: u8) {
    thread::with(|local| {
        let now = local.recorder.clock.now();
        put(local, event_type, (now, now), clean(text).as_bytes(), some(details), 0);
    });
}

/// The details, if there are any.
#[inline(always)]
fn some(details: &Details) -> Option<&Details> {
    (*details != Details::NONE).then_some(details)
}

/// Begins a range on the calling thread; returns how many are open on it now, 0 when nothing is
/// recorded.
#[inline(always)]
pub fn push(text: &[u8], details: Details) -> usize {
    if !is_on() {
        return 0;
    }
    // Most have none, and most callers know while they are compiled.
    match some(&details) {
        None => push_plain(text),
        Some(details) => push_detailed(text, details),
    }
}

#[inline(never)]
fn push_plain(text: &[u8]) -> usize {
    thread::with(|local| push_on(local, text, false)).unwrap_or(0)
}

#[inline(never)]
fn push_detailed(text: &[u8], details: &Details) -> usize {
    let depth = thread::with(|local| {
        local.details.push(*details);
        push_on(local, text, true)
    });
    depth.unwrap_or(0)
}

#[inline(always)]
fn push_on(local: &mut Local, text: &[u8], has_details: bool) -> usize {
    let place = local.texts.len();
    local.texts.extend_from_slice(clean(text).as_bytes());
    let depth = local.pushed.len() + 1;
    local.note_open(depth);
    // What was done until here belongs to nobody's range.
    let start = local.recorder.clock.now();
    local.pushed.push(Pushed { start, text: place, has_details });
    depth
}

/// Ends the innermost range of the calling thread; returns how many were open, 0 when there was
/// none.
#[inline(always)]
pub fn pop() -> usize {
    if is_on() { pop_recorded() } else { 0 }
}

#[inline(never)]
fn pop_recorded() -> usize {
    let depth = thread::with(|local| {
        let end = local.recorder.clock.now();
        let depth = local.pushed.len();
        let Some(Pushed { start, text, has_details }) = local.pushed.pop() else {
            local.recorder.control().unmatched.fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        let details = if has_details { local.details.pop() } else { None };
        put(local, PUSH_POP, (start, end), local.texts.get(text..).unwrap_or_default(), details.as_ref(), 0);
        local.texts.truncate(text);
        local.note_open(depth - 1);
        depth
    });
    depth.unwrap_or(0)
}

/// Ends the innermost range of the calling thread in a domain.
pub fn pop_in(domain: Option<Domain>) -> usize {
    if !is_on() {
        return 0;
    }
    let depth = thread::with(|local| {
        let end = local.recorder.clock.now();
        let depth = local.pushed.len();
        let Some((place, details)) = innermost(local, domain) else {
            local.recorder.control().unmatched.fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        let Pushed { start, text, has_details } = local.pushed[place];
        let text_end = local.pushed.get(place + 1).map_or(local.texts.len(), |next| next.text);
        let its = has_details.then(|| local.details[details]);
        let bytes = local.texts.get(text..text_end).unwrap_or_default();
        put(local, PUSH_POP, (start, end), bytes, its.as_ref(), 0);
        // Others may be open within it.
        local.texts.drain(text..text_end);
        local.pushed.remove(place);
        for later in &mut local.pushed[place..] {
            later.text -= text_end - text;
        }
        if has_details {
            local.details.remove(details);
        }
        local.note_open(depth - 1);
        depth
    });
    depth.unwrap_or(0)
}

/// The innermost range in a domain, and the place of its details if it has any.
fn innermost(local: &Local, domain: Option<Domain>) -> Option<(usize, usize)> {
    let mut details = local.details.len();
    for (place, pushed) in local.pushed.iter().enumerate().rev() {
        details -= usize::from(pushed.has_details);
        let its = if pushed.has_details { local.details[details].domain } else { None };
        if its == domain {
            return Some((place, details));
        }
    }
    None
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
        put(local, START_END, (start, end), text.as_bytes(), Some(&details), number);
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

/// Hands over what happened from `span.0` to `span.1`, in as many pieces as its text needs.
/// `number` is that of the mark, 0 when it needs none of its own.
#[inline(always)]
fn put(local: &Local, event_type: u8, span: (u64, u64), text: &[u8], details: Option<&Details>, number: u64) {
    let essence = Essence { start: span.0, end: span.1, thread: local.thread, event_type };
    match details {
        None if text.len() <= SEGMENT_BYTES => local.put(essence, text, None),
        details => put_detailed(local, essence, text, details.copied().unwrap_or_default(), number),
    }
}

#[inline(never)]
fn put_detailed(local: &Local, essence: Essence, text: &[u8], details: Details, number: u64) {
    let is_long = text.len() > SEGMENT_BYTES;
    let domain = if is_long { details.domain.or_else(|| Some(domain::default())) } else { details.domain };
    let details = Details { domain, ..details };
    let mark = match domain {
        None => 0,
        Some(_) if number == 0 => next_number(local),
        Some(_) => number,
    };
    if !is_long {
        return local.put(essence, text, Some(Extras { details, mark, segment: 0 }));
    }
    let (mut rest, mut segment) = (str::from_utf8(text).unwrap_or_default(), 0);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.floor_char_boundary(SEGMENT_BYTES));
        local.put(essence, now.as_bytes(), Some(Extras { details, mark, segment }));
        (rest, segment) = (later, segment + 1);
    }
}

/// Text that every reader of the records can take: UTF-8 without zeros, of a length that fits.
#[inline(always)]
fn clean(text: &[u8]) -> Cow<'_, str> {
    if text.len() <= LONGEST_TEXT && is_plain(text) {
        // SAFETY: ASCII is UTF-8.
        return Cow::Borrowed(unsafe { str::from_utf8_unchecked(text) });
    }
    clean_slowly(text)
}

/// Whether a text is ASCII without zeros, eight letters at a time.
#[inline(always)]
fn is_plain(text: &[u8]) -> bool {
    // A zero borrows from the top bit of its byte, and other letters than ASCII have that bit set.
    let odd = |word: [u8; 8]| {
        let word = u64::from_le_bytes(word);
        (word.wrapping_sub(0x0101_0101_0101_0101) | word) & 0x8080_8080_8080_8080
    };
    let (words, _) = text.as_chunks::<8>();
    match text.last_chunk::<8>() {
        // The last eight letters overlap those before them.
        Some(last) => words.iter().fold(odd(*last), |sum, word| sum | odd(*word)) == 0,
        None => text.iter().all(|letter| (1..0x80).contains(letter)),
    }
}

#[cold]
fn clean_slowly(text: &[u8]) -> Cow<'_, str> {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    let cleaned = String::from_utf8_lossy(&text[..end]);
    match cleaned.floor_char_boundary(LONGEST_TEXT) {
        length if length == cleaned.len() => cleaned,
        length => Cow::Owned(cleaned[..length].to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_letter_anywhere_in_a_text_is_found() {
        for length in 0..40 {
            let text = vec![b'a'; length];
            assert!(is_plain(&text));
            for (place, odd) in (0..length).flat_map(|place| [0, 0x80, 0xff].map(|odd| (place, odd))) {
                let mut text = text.clone();
                text[place] = odd;
                assert!(!is_plain(&text), "{odd} at {place} of {length}");
            }
        }
    }

    #[test]
    fn text_is_made_valid_and_cut_at_a_character() {
        assert_eq!(clean(b"plain"), "plain");
        assert_eq!(clean(b"caf\xe9"), "caf\u{fffd}");
        assert_eq!(clean(b"until\0here"), "until");
        assert_eq!(clean("größer als vorher".as_bytes()), "größer als vorher");
        let long = "é".repeat(LONGEST_TEXT);
        assert_eq!(clean(long.as_bytes()).len(), LONGEST_TEXT);
        let odd = format!("x{long}");
        assert_eq!(clean(odd.as_bytes()).len(), LONGEST_TEXT - 1);
    }
}
