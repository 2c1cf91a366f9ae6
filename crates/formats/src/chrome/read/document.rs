//! The outside of a Chrome trace: a bare list of events, or an object with the list and more.

use super::chunk::Chunk;
use super::parts::{BETWEEN_EVENTS, Division, read_events};
use super::text::Raw;
use crate::json::{JsonError, Scanned, Scanner};
use crate::reading::Stop;

/// A Chrome trace whose events are read but not yet understood.
pub(crate) struct Document<'a> {
    pub chunks: Vec<Chunk<'a>>,
    /// The members of the outer object beside the events, as they stand in the file.
    pub members: Vec<(&'a [u8], Raw<'a>)>,
    /// Whether there is a list of events at all.
    pub has_events: bool,
    /// The error that ended the reading before the end of the file.
    pub failure: Option<JsonError>,
    /// Contents of another format than Chrome's that have no place in a trace, and how often they occur.
    pub left_out: Vec<(String, u64)>,
}

impl<'a> Document<'a> {
    /// Reads as much of `text` as is sound, and no further than until `stop` is wanted.
    pub(super) fn read(text: &'a [u8], division: Division, stop: &Stop) -> Self {
        let mut document = Self {
            chunks: Vec::new(),
            members: Vec::new(),
            has_events: false,
            failure: None,
            left_out: Vec::new(),
        };
        let mut scanner = Scanner::new(text);
        let read = match scanner.peek() {
            Some(b'[') => document.read_list(&mut scanner, text, division, stop),
            Some(b'{') => scanner.entries("an object", |scanner, name| match name.bytes {
                b"traceEvents" => document.read_list(scanner, text, division, stop),
                name => {
                    document.members.push((name, scanner.value()?));
                    Ok(())
                }
            }),
            _ => Err(scanner.wrong("'[' or '{', with which a Chrome trace begins")),
        };
        document.failure = read.and_then(|()| scanner.end()).err();
        document
    }

    fn read_list(
        &mut self,
        scanner: &mut Scanner<'a>,
        text: &'a [u8],
        division: Division,
        stop: &Stop,
    ) -> Scanned<()> {
        if !scanner.takes(b'[') {
            return Err(scanner.wrong("'[', with which the list of events begins"));
        }
        self.has_events = true;
        stop.expects(|| text.len().saturating_sub(scanner.position()) as u64);
        let mut events = read_events(text, scanner.position(), division, stop);
        self.chunks.append(&mut events.chunks);
        scanner.move_to(events.end?);
        Ok(())
    }

    /// How many events there are, of whatever kind.
    pub fn events(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.events).sum()
    }

    /// The value of a member of the outer object.
    pub fn member(&self, name: &str) -> Option<Raw<'a>> {
        self.members.iter().find(|(known, _)| *known == name.as_bytes()).map(|(_, value)| *value)
    }
}

/// How a text that isn't whole ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Behind a whole event of a bare list, or behind the comma that follows it.
    BetweenEvents,
    /// Too early.
    Cut,
    /// In what is no JSON.
    Damaged,
}

impl Document<'_> {
    /// How the text of the document ends, whose reading ended with an error.
    pub fn end(&self, text: &[u8], error: &JsonError) -> End {
        // An object has more than a bracket to come.
        let is_list = Scanner::new(text).peek() == Some(b'[');
        match error.expected {
            BETWEEN_EVENTS if is_list && error.found.is_none() => End::BetweenEvents,
            _ if is_cut(text, error) => End::Cut,
            _ => End::Damaged,
        }
    }
}

/// Whether an error means only that the text stops too early.
fn is_cut(text: &[u8], error: &JsonError) -> bool {
    let rest = text.get(error.offset..).unwrap_or_default();
    let words: [&[u8]; 5] = [b"null", b"true", b"false", b"NaN", b"Infinity"];
    error.found.is_none() || words.iter().any(|word| word.starts_with(rest))
}

/// Whether text that begins so may be a Chrome trace: a list of objects one of whose first has a
/// phase, or an object with a list of events.
///
/// `head` may be cut off anywhere. Other formats are such lists as well (ONNX Runtime's profiles),
/// so they must be asked first.
pub fn looks_like(head: &[u8]) -> bool {
    let mut scanner = Scanner::new(head);
    let mut has_events = false;
    match scanner.peek() {
        Some(b'[') => {
            let mut looked_at = 0;
            // The end of the head is an error, as is the wish to look no further.
            let _ = scanner.array("a list", |scanner| {
                looked_at += 1;
                if has_events || looked_at > 8 {
                    return Err(scanner.wrong("nothing more"));
                }
                scanner.entries("an event", |scanner, name| {
                    has_events |= name.bytes == b"ph";
                    scanner.skip().map(drop)
                })
            });
        }
        Some(b'{') => {
            let _ = scanner.entries("an object", |scanner, name| {
                has_events |= name.bytes == b"traceEvents" && scanner.peek() == Some(b'[');
                if has_events { Err(scanner.wrong("nothing more")) } else { scanner.skip().map(drop) }
            });
        }
        _ => {}
    }
    has_events
}
