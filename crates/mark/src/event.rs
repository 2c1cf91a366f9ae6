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

use std::sync::atomic::{AtomicU32, Ordering};

use crate::collector::is_on;
use crate::details::Details;
use crate::domain::{self, Domain};
use crate::open_ranges::{self, OpenRange};
use crate::queued_mark::{EventType, Extras, MarkHeader, SEGMENT_BYTES};
use crate::shortcut;
use crate::text::{self, Kept, LONGEST_TEXT, Piece, Short};
use crate::thread::{self, Local, Pushed};

/// The number of the last mark with a number.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Records an instant.
#[inline]
pub fn mark(text: &[u8], details: Details) {
    if is_on() {
        instant(text, &details, EventType::Mark);
    }
}

/// Records an instant that has a side on a device.
pub fn mark_ex(text: &[u8], details: Details) {
    if is_on() {
        let domain = details.domain.or(Some(domain::default()));
        instant(text, &Details { domain, ..details }, EventType::MarkEx);
    }
}

fn instant(text: &[u8], details: &Details, event_type: EventType) {
    thread::with(|local| {
        let now = local.clock.now();
        put_text(local, event_type, (now, now), text, some(details), 0);
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
    shortcut::push(text).unwrap_or_else(|| push_in_full(text))
}

#[inline(never)]
fn push_in_full(text: &[u8]) -> usize {
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
    let text = if has_details { local.texts.add(text) } else { keep(local, text) };
    let depth = local.pushed.len() + 1;
    local.note_open(depth);
    // Work until here belongs to nobody's range.
    let start = local.clock.now();
    local.pushed.push(Pushed { start, text, has_details });
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
    shortcut::pop().unwrap_or_else(pop_in_full)
}

#[inline(never)]
fn pop_in_full() -> usize {
    let depth = thread::with(|local| {
        let end = local.clock.now();
        let depth = local.pushed.len();
        let Some(Pushed { start, text, has_details }) = local.pushed.pop() else {
            local.recorder.control().unmatched.fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        let details = if has_details { local.details.pop() } else { None };
        put(local, EventType::PushPop, (start, end), text, details.as_ref(), 0);
        local.texts.remove_last(text);
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
        let end = local.clock.now();
        let depth = local.pushed.len();
        let Some((place, details)) = innermost(local, domain) else {
            local.recorder.control().unmatched.fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        let Pushed { start, text, has_details } = local.pushed[place];
        let its = has_details.then(|| local.details[details]);
        put(local, EventType::PushPop, (start, end), text, its.as_ref(), 0);
        // Others may be open within it.
        let words = local.texts.remove(text);
        local.pushed.remove(place);
        for later in &mut local.pushed[place..] {
            later.text.move_by(words);
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
        // The rest of a character goes when it is cut again.
        let text = Box::from(&text[..text.len().min(LONGEST_TEXT + 3)]);
        let begin = || OpenRange { start: local.clock.now(), details, text };
        if open_ranges::insert(number, begin) { number } else { 0 }
    });
    started.unwrap_or(0)
}

/// Ends a range; returns whether there was one of that number.
pub fn range_end(number: u64) -> bool {
    if number == 0 || !is_on() {
        return false;
    }
    let ended = thread::with(|local| {
        let end = local.clock.now();
        let Some(OpenRange { start, details, text }) = open_ranges::remove(number) else {
            local.recorder.control().unmatched.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        put_text(local, EventType::StartEnd, (start, end), &text, Some(&details), number);
        true
    });
    ended.unwrap_or(false)
}

/// A number that no other mark of this collection has: the process in the upper half.
fn next_number(local: &Local) -> u64 {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
    u64::from(local.recorder.process) << 32 | u64::from(number)
}

/// Keeps the text of a mark without details.
#[inline(always)]
fn keep(local: &mut Local, text: &[u8]) -> Kept {
    Short::of(text).map_or_else(|| local.texts.add(text), Kept::Short)
}

/// As [`put`], with a text of the caller's.
#[inline(always)]
fn put_text(
    local: &Local,
    event_type: EventType,
    span: (u64, u64),
    text: &[u8],
    details: Option<&Details>,
    number: u64,
) {
    let header = MarkHeader { start: span.0, end: span.1, thread: local.thread, event_type };
    match Short::of(text).filter(|_| details.is_none()) {
        Some(short) => local.put_short(header, short),
        None => put_pieces(local, header, &text::clean(text), details, number),
    }
}

/// Hands over what happened from `span.0` to `span.1`, in as many pieces as its text needs.
/// `number` is that of the mark, 0 when it needs none of its own. A mark with details has no short text.
#[inline(always)]
fn put(
    local: &Local,
    event_type: EventType,
    span: (u64, u64),
    text: Kept,
    details: Option<&Details>,
    number: u64,
) {
    let header = MarkHeader { start: span.0, end: span.1, thread: local.thread, event_type };
    let (first, letters) = match text {
        Kept::Short(text) => return local.put_short(header, text),
        Kept::Placed { first, letters } => (first, letters),
    };
    let text = local.texts.get(first, letters);
    match details {
        None if letters <= SEGMENT_BYTES => local.put(header, text, None),
        details => put_pieces(local, header, text.as_str(), details, number),
    }
}

/// Hands over a mark in as many pieces as its text needs. It takes no memory of its own: signal handlers
/// mark, too.
#[inline(never)]
fn put_pieces(local: &Local, header: MarkHeader, text: &str, details: Option<&Details>, number: u64) {
    let is_long = text.len() > SEGMENT_BYTES;
    if let (None, false) = (details, is_long) {
        return local.put(header, Piece::of(text).get(), None);
    }
    let details = details.copied().unwrap_or_default();
    let domain = if is_long { details.domain.or_else(|| Some(domain::default())) } else { details.domain };
    let details = Details { domain, ..details };
    let mark = match domain {
        None => 0,
        Some(_) if number == 0 => next_number(local),
        Some(_) => number,
    };
    let (mut rest, mut segment) = (text, 0);
    loop {
        let (now, later) = rest.split_at(rest.floor_char_boundary(SEGMENT_BYTES));
        local.put(header, Piece::of(now).get(), Some(Extras { details, mark, segment }));
        (rest, segment) = (later, segment + 1);
        if rest.is_empty() {
            return;
        }
    }
}
