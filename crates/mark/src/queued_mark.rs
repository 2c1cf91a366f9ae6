//! A mark while it waits to be written: one cache line, and more for a long text or for details.
//!
//! Fetching a line costs more than everything else that a mark does, so most marks take one. The
//! writer makes the record of it ([`Mark::record`]).
//!
//! | words of the first line | |
//! |---|---|
//! | 0 | begin, in ticks |
//! | 1 | end, in ticks |
//! | 2 | thread (32 bits), event type (8), letters (8), lines (8), flags (8) |
//! | 3 to 7 | the first forty letters, or the two words of a short text |
//!
//! The lines that follow hold the rest of the text, and a last one of their own the details.

use std::ptr;

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::{TX_MESSAGE_BYTES, Tx};
use opscope_cann_raw::host::{Head, MAGIC, level};

use crate::details::Details;
use crate::domain::Domain;
use crate::text::{self, Short, Text, WORD, Word};

/// How much text a record holds: the last byte must be zero.
pub(crate) const SEGMENT_BYTES: usize = TX_MESSAGE_BYTES - 1;

/// The inner tag of the records.
const TAG: u16 = 120;

/// How many words a line has, and how many of the first are text.
const WORDS: usize = 8;
const FIRST_TEXT: usize = 5;

/// How many words the text of a record has at most.
const TEXT_WORDS: usize = SEGMENT_BYTES.div_ceil(WORD);
const _: () = assert!(TEXT_WORDS == text::MOST_PIECE);

/// How many lines a mark has at most.
pub(crate) const MOST_LINES: usize = 1 + (TEXT_WORDS - FIRST_TEXT).div_ceil(WORDS) + 1;

/// The part of a mark that every one has, besides its text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MarkHeader {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The thread that ended it: the reference names that one, too.
    pub(crate) thread: u32,
    pub(crate) event_type: EventType,
}

/// The type of a mark, as the records number it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(u8)]
pub(crate) enum EventType {
    #[default]
    Mark = 0,
    PushPop = 1,
    StartEnd = 2,
    /// A mark that has a side on a device.
    MarkEx = 3,
}

/// The part of a mark that only those have which aren't a plain text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    pub(crate) details: Details,
    /// The number of the mark; 0 when it needs none of its own.
    pub(crate) mark: u64,
    /// The place of this text in a longer one.
    pub(crate) segment: u16,
}

/// A cache line of a mark.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Line([u64; WORDS]);

/// The lines of a mark that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark<'a>(&'a [Line]);

/// The third word of the first line.
struct Shape {
    thread: u32,
    event_type: u8,
    letters: usize,
    lines: usize,
    flags: u8,
}

/// The last line holds details.
const HAS_EXTRAS: u8 = 1;
/// The text is a [`Short`].
const IS_SHORT: u8 = 2;

impl Shape {
    #[inline(always)]
    fn word(&self) -> u64 {
        u64::from(self.thread)
            | u64::from(self.event_type) << 32
            | (self.letters as u64) << 40
            | (self.lines as u64) << 48
            | u64::from(self.flags) << 56
    }

    fn of(line: &Line) -> Self {
        let [thread @ .., event_type, letters, lines, flags] = line.0[2].to_le_bytes();
        Self {
            thread: u32::from_le_bytes(thread),
            event_type,
            letters: usize::from(letters).min(SEGMENT_BYTES),
            lines: usize::from(lines).clamp(1, MOST_LINES),
            flags,
        }
    }
}

impl Line {
    pub(crate) const EMPTY: Self = Self([0; WORDS]);

    /// Makes this a mark of a short text and nothing else.
    #[inline(always)]
    pub(crate) fn set_short(&mut self, header: MarkHeader, text: Short) {
        let MarkHeader { start, end, thread, event_type } = header;
        let event_type = event_type as u8;
        let shape = Shape { thread, event_type, letters: text.letters, lines: 1, flags: IS_SHORT };
        [self.0[0], self.0[1], self.0[2]] = [start, end, shape.word()];
        [self.0[3], self.0[4]] = text.words;
    }
}

/// How many lines a mark takes.
#[inline(always)]
pub(crate) fn line_count(text: Text<'_>, extras: Option<&Extras>) -> usize {
    let words = text.words.len().min(TEXT_WORDS);
    1 + words.saturating_sub(FIRST_TEXT).div_ceil(WORDS) + usize::from(extras.is_some())
}

/// Makes lines, as many as it takes, a mark; of its text, as much as a record holds.
#[inline(always)]
pub(crate) fn set(lines: &mut [Line], header: MarkHeader, text: Text<'_>, extras: Option<&Extras>) {
    let MarkHeader { start, end, thread, event_type } = header;
    let flags = if extras.is_some() { HAS_EXTRAS } else { 0 };
    let letters = text.letters.min(SEGMENT_BYTES);
    let event_type = event_type as u8;
    let shape = Shape { thread, event_type, letters, lines: lines.len(), flags };
    let Some((first, further)) = lines.split_first_mut() else { return };
    [first.0[0], first.0[1], first.0[2]] = [start, end, shape.word()];
    let (text, rest) = text.words.split_at(text.words.len().min(FIRST_TEXT));
    copy(text, &mut first.0[WORDS - FIRST_TEXT..]);
    for (words, line) in rest.chunks(WORDS).zip(&mut *further) {
        copy(words, &mut line.0);
    }
    if let (Some(extras), Some(last)) = (extras, further.last_mut()) {
        *last = extras.line();
    }
}

/// Copies words one by one.
#[inline(always)]
fn copy(from: &[Word], to: &mut [u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        // SAFETY: it is a reference, and any eight bytes are a number. Volatile keeps words from being
        // loaded in pairs.
        *to = u64::from_le(unsafe { ptr::read_volatile(ptr::from_ref(from).cast::<Unaligned>()) }.0);
    }
}

/// A number that may lie anywhere.
#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Unaligned(u64);

impl Extras {
    fn line(&self) -> Line {
        let Details { domain, category, payload_type, payload, message_type } = self.details;
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Line([
            domain.map_or(0, |domain| domain.0),
            pair(u32::from(domain.is_some()), u32::from(self.segment)),
            pair(category, payload_type as u32),
            payload,
            pair(message_type as u32, 0),
            self.mark,
            0,
            0,
        ])
    }

    fn of(line: &Line) -> Self {
        let [domain, flags, category, payload, message_type, mark, ..] = line.0;
        let high = |pair: u64| (pair >> 32) as u32;
        let details = Details {
            domain: (flags as u32 != 0).then_some(Domain(domain)),
            category: category as u32,
            payload_type: high(category) as i32,
            payload,
            message_type: message_type as i32,
        };
        Self { details, mark, segment: high(flags) as u16 }
    }
}

impl<'a> Mark<'a> {
    /// The mark at the begin of some lines.
    pub(crate) fn at(lines: &'a [Line]) -> Option<Self> {
        lines.get(..Shape::of(lines.first()?).lines).map(Self)
    }

    /// How many lines it takes.
    pub(crate) fn lines(&self) -> usize {
        self.0.len()
    }

    /// The record of the mark, as a process writes it.
    pub(crate) fn record(&self, process: u32) -> Tx {
        let [start, end, ..] = self.0[0].0;
        let Shape { thread, event_type, letters, flags, .. } = Shape::of(&self.0[0]);
        let extras = self.0.last().filter(|_| flags & HAS_EXTRAS != 0).map(Extras::of).unwrap_or_default();
        let Extras { details, mark, segment } = extras;
        let mut message = [0; TX_MESSAGE_BYTES];
        if flags & IS_SHORT != 0 {
            let [.., first, second, _, _, _] = self.0[0].0;
            let short = Short { words: [first, second], letters };
            let letters = short.letters();
            let text = text::clean(&letters[..short.letters.min(letters.len())]);
            message[..text.len()].copy_from_slice(text.as_bytes());
        } else {
            let words = self.0.iter().flat_map(|line| &line.0).skip(WORDS - FIRST_TEXT);
            for (to, word) in message[..letters].chunks_mut(WORD).zip(words) {
                to.copy_from_slice(&word.to_le_bytes()[..to.len()]);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Kept, Texts};

    fn lines(header: MarkHeader, text: &[u8], extras: Option<&Extras>) -> Vec<Line> {
        let mut texts = Texts::default();
        let Kept::Placed { first, letters } = texts.add(text) else { panic!("not among the texts") };
        let text = texts.get(first, letters);
        let mut lines = vec![Line([u64::MAX; WORDS]); line_count(text, extras)];
        set(&mut lines, header, text, extras);
        lines
    }

    #[test]
    fn a_mark_comes_out_as_it_went_in_whatever_its_length() {
        let header = MarkHeader { start: 5, end: 9, thread: 0xdead_beef, event_type: EventType::MarkEx };
        let details = Details {
            domain: Some(Domain(0)),
            category: u32::MAX,
            payload_type: -2,
            payload: u64::MAX,
            message_type: -4,
        };
        let extras = Extras { details, mark: 11, segment: 2 };
        for length in 0..SEGMENT_BYTES + 10 {
            let text: Vec<u8> = (b'a'..=b'z').cycle().take(length).collect();
            for extras in [None, Some(&extras)] {
                let lines = lines(header, &text, extras);
                let tx = Mark::at(&lines).expect("a mark").record(7);
                let kept = length.min(SEGMENT_BYTES);
                assert_eq!(tx.message[..kept], text[..kept]);
                assert!(tx.message[kept..].iter().all(|byte| *byte == 0));
                assert_eq!((tx.start, tx.end, tx.event_type, tx.process), (5, 9, 3, 7));
                assert_eq!((tx.thread, tx.head.thread), (0xdead_beef, 0xdead_beef));
                let seen = (tx.info_type, tx.category, tx.payload_type, tx.payload, tx.message_type);
                let expected =
                    if extras.is_some() { (1, u32::MAX, -2, u64::MAX, -4) } else { (0, 0, 0, 0, 0) };
                assert_eq!(seen, expected);
                assert_eq!((tx.mark, tx.segment), if extras.is_some() { (11, 2) } else { (0, 0) });
            }
        }
    }

    #[test]
    fn a_line_that_is_used_again_shows_nothing_of_the_mark_before() {
        let header = MarkHeader { start: 5, end: 9, thread: 7, event_type: EventType::PushPop };
        let mut line = lines(header, &[b'x'; 40], None)[0];
        line.set_short(MarkHeader { start: 10, ..header }, Short::of(b"infer").expect("a short text"));
        let short = Mark::at(std::slice::from_ref(&line)).expect("a mark").record(1);
        assert_eq!((short.start, short.end, short.head.thread), (10, 9, 7));
        assert!(short.message.starts_with(b"infer\0") && short.message[5..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn short_texts_are_made_valid_where_the_record_is_made() {
        let message = |text: &[u8]| {
            let mut line = Line::EMPTY;
            line.set_short(MarkHeader::default(), Short::of(text).expect("a short text"));
            let record = Mark::at(std::slice::from_ref(&line)).expect("a mark").record(1);
            String::from_utf8(record.message.to_vec()).expect("UTF-8").trim_end_matches('\0').to_owned()
        };
        assert_eq!(message(b"preprocess"), "preprocess");
        assert_eq!(message(b"until\0here"), "until");
        assert_eq!(message(&[0xff; 16]), "\u{fffd}".repeat(16));
        assert_eq!(message(b""), "");
    }

    #[test]
    fn a_mark_of_up_to_forty_letters_takes_one_cache_line() {
        assert_eq!(size_of::<Line>(), 64);
        assert_eq!(lines(MarkHeader::default(), &[b'x'; 40], None).len(), 1);
        let most = lines(MarkHeader::default(), &[b'x'; 200], Some(&Extras::default()));
        assert_eq!(most.len(), MOST_LINES);
    }
}
