//! Texts on their way into records: in words of eight letters, the first in the lowest byte.
//!
//! Equal words are stored and loaded. A load that spans two stores has to wait until both have
//! reached the cache, behind all stores before them, such as those into a ring that another
//! processor has just read: that alone costs as much as everything else that a mark does.

use std::borrow::Cow;
use std::ptr;

/// The longest text that is kept of a mark; the rest is cut off.
pub const LONGEST_TEXT: usize = 16 << 10;

/// How many letters a word holds.
pub(crate) const WORD: usize = size_of::<Word>();

/// Eight letters.
pub(crate) type Word = [u8; 8];

/// How many words a [`Piece`] has, enough for a record's text.
pub(crate) const MOST_PIECE: usize = 20;

/// At most sixteen letters, as they came: who writes the record makes them valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short {
    /// Of more than eight letters, the second word holds the last eight, so that both are loaded from
    /// the text at once.
    pub(crate) words: [u64; 2],
    pub(crate) letters: usize,
}

/// A text that is kept until its range ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    Short(Short),
    /// Among the thread's texts.
    Placed {
        first: usize,
        letters: usize,
    },
}

/// The texts of a thread's open ranges, one after another: such as every reader of the records can
/// take, which is UTF-8 without zeros, of a length that fits.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    words: Vec<Word>,
}

/// A text in words, of which the last ends in zeros.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Text<'a> {
    pub(crate) words: &'a [Word],
    pub(crate) letters: usize,
}

/// As much of a text as a record holds, without further memory.
pub(crate) struct Piece {
    words: [Word; MOST_PIECE],
    letters: usize,
}

impl Short {
    const MOST: usize = 2 * WORD;

    /// A text, if it is short.
    #[inline(always)]
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        let words = match (text.first_chunk(), text.last_chunk()) {
            (Some(first), Some(last)) if text.len() <= Self::MOST => [*first, *last].map(u64::from_le_bytes),
            (None, None) => [part_of_word(text), 0],
            _ => return None,
        };
        Some(Self { words, letters: text.len() })
    }

    /// The same letters, loaded one word after the other.
    #[inline(always)]
    pub(crate) fn reload(&self) -> Self {
        // SAFETY: these are references.
        let word = |place: &u64| unsafe { ptr::read_volatile(place) };
        Self { words: [word(&self.words[0]), word(&self.words[1])], letters: self.letters }
    }

    /// The letters, behind one another, and zeros.
    pub(crate) fn letters(self) -> [u8; Self::MOST] {
        let mut letters = [0; Self::MOST];
        let [first, last] = self.words.map(u64::to_le_bytes);
        if let Some(begin) = self.letters.checked_sub(WORD).filter(|begin| *begin <= WORD) {
            letters[begin..][..WORD].copy_from_slice(&last);
        }
        letters[..WORD].copy_from_slice(&first);
        letters
    }
}

impl Texts {
    pub(crate) fn add(&mut self, text: &[u8]) -> Kept {
        let text = clean(text);
        let (words, rest) = text.as_bytes().as_chunks::<WORD>();
        let first = self.words.len();
        self.words.extend_from_slice(words);
        if !rest.is_empty() {
            self.words.push(part_of_word(rest).to_le_bytes());
        }
        Kept::Placed { first, letters: text.len() }
    }

    pub(crate) fn get(&self, first: usize, letters: usize) -> Text<'_> {
        let words = self.words.get(first..first + letters.div_ceil(WORD)).unwrap_or_default();
        Text { words, letters }
    }

    /// Removes the last text.
    pub(crate) fn remove_last(&mut self, kept: Kept) {
        if let Kept::Placed { first, .. } = kept {
            self.words.truncate(first);
        }
    }

    /// Removes any text, and tells by how many words those behind it moved.
    pub(crate) fn remove(&mut self, kept: Kept) -> usize {
        match kept {
            Kept::Short(_) => 0,
            Kept::Placed { first, letters } => {
                self.words.drain(first..first + letters.div_ceil(WORD)).count()
            }
        }
    }
}

impl Kept {
    /// The place of a text behind one that was removed, of so many words.
    pub(crate) fn move_by(&mut self, words: usize) {
        if let Self::Placed { first, .. } = self {
            *first -= words;
        }
    }
}

impl<'a> Text<'a> {
    /// The text as others know it.
    pub(crate) fn as_str(self) -> &'a str {
        let letters = self.words.as_flattened();
        str::from_utf8(letters.get(..self.letters).unwrap_or(letters)).unwrap_or_default()
    }
}

impl Piece {
    /// The begin of a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut piece = Self { words: [[0; WORD]; MOST_PIECE], letters: text.len().min(MOST_PIECE * WORD) };
        for (word, letters) in piece.words.iter_mut().zip(text.as_bytes().chunks(WORD)) {
            word[..letters.len()].copy_from_slice(letters);
        }
        piece
    }

    pub(crate) fn get(&self) -> Text<'_> {
        Text { words: &self.words[..self.letters.div_ceil(WORD)], letters: self.letters }
    }
}

/// Fewer than eight letters, and zeros behind them.
#[inline(always)]
fn part_of_word(text: &[u8]) -> u64 {
    // Pieces that overlap, because they are loaded in fewer steps.
    let shift = |length: usize| 8 * (text.len() - length);
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift(4);
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<2>(), text.last_chunk::<2>()) {
        return u64::from(u16::from_le_bytes(*first)) | u64::from(u16::from_le_bytes(*last)) << shift(2);
    }
    text.first().copied().map_or(0, u64::from)
}

/// Whether a text is ASCII without zeros.
fn is_plain(text: &[u8]) -> bool {
    let odd = |word: u64| (word.wrapping_sub(0x0101_0101_0101_0101) | word) & 0x8080_8080_8080_8080;
    let (words, rest) = text.as_chunks::<WORD>();
    // A zero borrows from the top bit of its byte, and other letters than ASCII have that bit set.
    let all = words.iter().fold(0, |sum, word| sum | odd(u64::from_le_bytes(*word)));
    all == 0 && rest.iter().all(|letter| (1..0x80).contains(letter))
}

/// Text that every reader of the records can take.
pub(crate) fn clean(text: &[u8]) -> Cow<'_, str> {
    if text.len() <= LONGEST_TEXT && is_plain(text) {
        // SAFETY: ASCII is UTF-8.
        return Cow::Borrowed(unsafe { str::from_utf8_unchecked(text) });
    }
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

    fn get(texts: &Texts, kept: Kept) -> Text<'_> {
        let Kept::Placed { first, letters } = kept else { panic!("not among the texts") };
        texts.get(first, letters)
    }

    #[test]
    fn texts_of_every_length_are_kept_to_the_letter() {
        let mut texts = Texts::default();
        let all: Vec<String> =
            (0..300).map(|length| "abcdefghijk".chars().cycle().take(length).collect()).collect();
        let mut kept: Vec<Kept> = all.iter().map(|text| texts.add(text.as_bytes())).collect();
        for (text, kept) in all.iter().zip(&kept) {
            let its = get(&texts, *kept);
            assert_eq!(its.as_str(), *text);
            let most = text.len().min(MOST_PIECE * WORD);
            assert_eq!(Piece::of(text).get().as_str(), &text[..most]);
            let letters = its.words.as_flattened();
            assert_eq!(letters.len(), text.len().next_multiple_of(WORD));
            assert!(letters[text.len()..].iter().all(|letter| *letter == 0), "zeros behind {text}");
        }
        texts.remove_last(kept[299]);
        assert_eq!(get(&texts, kept[298]).as_str(), all[298]);
        let moved = texts.remove(kept[33]);
        assert_eq!(moved, 5);
        assert_eq!(get(&texts, kept[32]).as_str(), all[32]);
        kept[298].move_by(moved);
        assert_eq!(get(&texts, kept[298]).as_str(), all[298]);
    }

    #[test]
    fn short_texts_are_put_together_from_their_two_ends() {
        let text = b"abcdefghijklmnopq";
        for length in 0..=16 {
            let short = Short::of(&text[..length]).expect("a short text").reload();
            let letters = short.letters();
            assert_eq!((short.letters, &letters[..length]), (length, &text[..length]));
            assert!(letters[length..].iter().all(|letter| *letter == 0));
        }
        assert!(Short::of(text).is_none());
    }

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
