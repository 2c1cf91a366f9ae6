//! Reading the list of events in parts, on several threads.
//!
//! Where a part begins is guessed: at the first object behind the comma behind another object. The
//! guess may be wrong (such text occurs in strings and in arguments), so it counts for nothing until
//! the part before it was read to its end: only if that ended just where the next one began, the
//! next one's rows are taken; else it is read again from the right place. No rows can come of a
//! wrong guess, and none are lost by it.

use std::hash::RandomState;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chunk::Chunk;
use super::event::read_event;
use crate::json::{JsonError, Scanner};
use crate::reading::Stop;

/// How the list of events is divided up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    /// How many bytes a part has.
    pub part: usize,
    /// How far a part that was guessed may be read beyond its end before the guess is given up.
    pub slack: usize,
}

impl Default for Division {
    fn default() -> Self {
        Self { part: 8 << 20, slack: 16 << 20 }
    }
}

/// The list of events.
pub(super) struct Events<'a> {
    pub chunks: Vec<Chunk<'a>>,
    /// Where the list has ended, or what ended it before its time.
    pub end: Result<usize, JsonError>,
    /// How many bytes were read, those of wrong guesses as well.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests limit what wrong guesses cost"))]
    pub bytes_read: usize,
}

/// The expectation where the text ends and no event has begun.
pub(super) const BETWEEN_EVENTS: &str = "an event or ']'";

/// The end to which the reading of a part came.
enum PartEnd {
    /// At an event that belongs to the next part.
    Next(usize),
    /// The list is closed; it ended here.
    Closed(usize),
    Failed(JsonError),
}

struct Part<'a> {
    start: usize,
    chunk: Chunk<'a>,
    stop: PartEnd,
    /// Where reading stopped.
    end: usize,
}

/// Reads the events of the list whose bracket opened right before `start`. Between parts it ends where
/// `stop` is wanted.
pub(super) fn read_events<'a>(text: &'a [u8], start: usize, division: Division, stop: &Stop) -> Events<'a> {
    let ids = RandomState::new();
    let bytes_read = AtomicUsize::new(0);
    let read_part = |text: &'a [u8], start: usize, limit: usize, is_first: bool| {
        let part = read_part(text, start, limit, is_first, &ids);
        bytes_read.fetch_add(part.end - start, Ordering::Relaxed);
        stop.has_read((part.end - start).min(division.part));
        part
    };
    let first = start;
    let parts: Vec<usize> = (0..text.len().saturating_sub(start).div_ceil(division.part).max(1)).collect();
    let limit = |part: usize| start.saturating_add((part + 1).saturating_mul(division.part)).min(text.len());
    let guessed = |&part: &usize| {
        if stop.is_wanted() {
            return None;
        }
        if part == 0 {
            return Some(read_part(text, first, limit(0), true));
        }
        let (begin, limit) = (limit(part - 1), limit(part));
        let end = limit.saturating_add(division.slack).min(text.len());
        let start = guess_boundary(text, begin, limit)?;
        let part = read_part(&text[..end], start, limit, false);
        // Where the text was cut off for the sake of the guess, a failure says nothing.
        let doubtful = matches!(part.stop, PartEnd::Failed(_)) && end < text.len();
        (!doubtful).then_some(part)
    };
    let mut guesses = opscope_parallel::map(&parts, guessed);

    let mut chunks = Vec::with_capacity(parts.len());
    let mut at = start;
    let mut end = Err(JsonError { offset: text.len(), expected: BETWEEN_EVENTS, found: None });
    for (index, guess) in guesses.iter_mut().enumerate() {
        if index > 0 && at >= limit(index) {
            // An event that is longer than the part.
            continue;
        }
        let part = match guess.take() {
            Some(part) if part.start == at => part,
            _ if stop.is_wanted() => break,
            _ => read_part(text, at, limit(index), index == 0),
        };
        chunks.push(part.chunk);
        match part.stop {
            PartEnd::Next(next) => at = next,
            PartEnd::Closed(at) => {
                end = Ok(at);
                break;
            }
            PartEnd::Failed(error) => {
                end = Err(error);
                break;
            }
        }
    }
    Events { chunks, end, bytes_read: bytes_read.into_inner() }
}

/// The first object from `begin` on that follows another one behind a comma.
pub(super) fn guess_boundary(text: &[u8], begin: usize, end: usize) -> Option<usize> {
    let before = |at: usize| text[..at].iter().rposition(|byte| !byte.is_ascii_whitespace());
    let mut at = begin;
    loop {
        at += text.get(at..end)?.iter().position(|&byte| byte == b'{')?;
        let comma = before(at).filter(|&comma| text[comma] == b',');
        if comma.and_then(before).is_some_and(|brace| text[brace] == b'}') {
            return Some(at);
        }
        at += 1;
    }
}

/// Reads the events that begin from `start` up to `limit`.
fn read_part<'a>(text: &'a [u8], start: usize, limit: usize, is_first: bool, ids: &RandomState) -> Part<'a> {
    let mut chunk = Chunk::new(ids.clone());
    let mut scanner = Scanner::starting_at(text, start);
    let stop = loop {
        match scanner.peek() {
            // Many writers leave a comma behind the last event.
            Some(b']') => {
                scanner.takes(b']');
                break PartEnd::Closed(scanner.position());
            }
            Some(_) if scanner.position() >= limit && !(is_first && scanner.position() == start) => {
                break PartEnd::Next(scanner.position());
            }
            None => break PartEnd::Failed(scanner.wrong(BETWEEN_EVENTS)),
            _ => {}
        }
        if let Err(error) = read_event(&mut scanner, text, &mut chunk) {
            break PartEnd::Failed(error);
        }
        if scanner.takes(b',') {
            continue;
        }
        match scanner.peek() {
            Some(b']') => {}
            None => break PartEnd::Failed(scanner.wrong(BETWEEN_EVENTS)),
            Some(_) => break PartEnd::Failed(scanner.wrong("',' or ']' behind an event")),
        }
    };
    chunk.shrink();
    Part { start, chunk, stop, end: scanner.position() }
}
