//! Parts of a text that were read over, to be looked at later.

use std::borrow::Cow;

use super::escapes::unescape;

/// A JSON value, as the range of the text that it takes: strings with their quotes.
///
/// The default is no value at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    start: usize,
    len: u32,
}

impl Piece {
    /// The value's text. A piece of another text gives an empty one.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.start + self.len as usize).unwrap_or_default()
    }

    /// Whether there is no value.
    pub fn is_none(self) -> bool {
        self.len == 0
    }

    pub(crate) fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self { start, len: u32::try_from(end.checked_sub(start)?).ok()? })
    }
}

/// The inside of a string as it stands in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawText<'a> {
    /// The bytes between the quotes.
    pub bytes: &'a [u8],
    /// Whether any of them is a backslash, so that they don't stand for themselves.
    pub escaped: bool,
}

impl<'a> RawText<'a> {
    /// The bytes that the string stands for; only one with escapes is copied.
    #[inline]
    pub fn plain(self) -> Cow<'a, [u8]> {
        if self.escaped { unescape(self.bytes).into_owned().into_bytes().into() } else { self.bytes.into() }
    }
}
