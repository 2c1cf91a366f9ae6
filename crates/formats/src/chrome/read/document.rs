//! The outside of a Chrome trace: a bare list of events, or an object with the list and more.

use opscope_trace::LossKind;

use super::chunk::Chunk;
use super::parts::{BETWEEN_EVENTS, Division, guess_boundary, read_events};
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
        End::of(text, error, Scanner::new(text).peek() == Some(b'['))
    }
}

impl End {
    /// How a text ends whose reading ended with an error, a bare list or an object.
    fn of(text: &[u8], error: &JsonError, is_list: bool) -> Self {
        match error.expected {
            // An object has more than a bracket to come.
            BETWEEN_EVENTS if is_list && error.found.is_none() => Self::BetweenEvents,
            _ if is_cut(text, error) => Self::Cut,
            _ => Self::Damaged,
        }
    }

    /// The loss that it is.
    pub fn loss(self) -> LossKind {
        match self {
            // Writers that stream may leave the bracket out, and a program that was killed does.
            Self::BetweenEvents => LossKind::OpenEventList,
            Self::Cut => LossKind::CutEventList,
            Self::Damaged => LossKind::DamagedEventList,
        }
    }
}

/// The loss that a Chrome trace ends before its list of events does, as its first and its last bytes tell it without the
/// rest, of `length` in all: [`LossKind::OpenEventList`] or [`LossKind::CutEventList`], as reading it counts it. `None` if it is
/// whole as far as they tell, or no Chrome trace.
///
/// `tail` should have room for some events. The first that begins in it is guessed as parts of the list are; from there on
/// it is read to its end.
pub fn loss_of_end(head: &[u8], tail: &[u8], length: u64) -> Option<LossKind> {
    if tail.len() as u64 >= length {
        let document = Document::read(tail, Division::default(), &Stop::default());
        let loss = document.end(tail, document.failure.as_ref()?).loss();
        return match loss {
            LossKind::DamagedEventList => None,
            // Without any event nothing was open.
            _ if document.events() == 0 => Some(LossKind::CutEventList),
            loss => Some(loss),
        };
    }
    let is_list = match Scanner::new(head).peek() {
        Some(b'[') => true,
        Some(b'{') => false,
        _ => return None,
    };
    let mut from = 0;
    while let Some(start) = guess_boundary(tail, from, tail.len()) {
        let mut scanner = Scanner::starting_at(tail, start);
        let Err(error) = read_to_end(&mut scanner, is_list) else { return None };
        let end = End::of(tail, &error, is_list);
        if end != End::Damaged {
            return Some(end.loss());
        }
        // Objects in arguments and text in strings look like events as well.
        from = error.offset.max(start + 1);
    }
    let last = tail.iter().rfind(|byte| !byte.is_ascii_whitespace());
    let is_closed = last == Some(if is_list { &b']' } else { &b'}' });
    (!is_closed).then_some(LossKind::CutEventList)
}

/// Reads over all from an event to the end of the text, whose list of events is bare or in an object.
fn read_to_end(scanner: &mut Scanner<'_>, is_list: bool) -> Scanned<()> {
    while !scanner.takes(b']') {
        if scanner.peek().is_none() {
            return Err(scanner.wrong(BETWEEN_EVENTS));
        }
        scanner.skip()?;
        if !scanner.takes(b',') && scanner.peek() != Some(b']') {
            return Err(scanner.wrong(BETWEEN_EVENTS));
        }
    }
    // Members of the object may follow.
    while !is_list && !scanner.takes(b'}') {
        if !scanner.takes(b',') {
            return Err(scanner.wrong("',' or '}'"));
        }
        scanner.raw_string("a name in quotes")?;
        if !scanner.takes(b':') {
            return Err(scanner.wrong("':' after the name"));
        }
        scanner.skip()?;
    }
    scanner.end()
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
