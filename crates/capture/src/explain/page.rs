//! The form of a page about a known error message.

/// A page of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// A short name.
    pub name: &'static str,
    /// The fault, in a line.
    pub title: &'static str,
    /// The same in Chinese.
    pub title_zh: &'static str,
    /// Pieces of text that messages of this kind hold; all of one group must be there.
    pub(super) signs: &'static [&'static [&'static str]],
    /// Its meaning and its remedy.
    pub text: &'static str,
    /// The same in Chinese.
    pub text_zh: &'static str,
}
