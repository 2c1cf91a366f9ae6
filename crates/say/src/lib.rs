//! The program's sentences in the language of the user.
//!
//! English sentences stand in the code, where they are read beside what they tell, and are their own ids. Texts
//! in another language stand in tables (`texts/`, a file in TOML for each part of the program) under
//! these ids. A sentence without a text falls back to English by itself, and the English output can't depend on any
//! translation.
//!
//! ```
//! use opscope_say::{Language, choose, say};
//!
//! let (wall, number) = ("1.5 ms", 3);
//! assert_eq!(say!("{wall} an iteration, the mean of {number}"), "1.5 ms an iteration, the mean of 3");
//! choose(Language::Chinese);
//! assert_eq!(say!("{wall} an iteration, the mean of {number}"), "每次迭代 1.5 ms，3 次的平均值");
//! assert_eq!(say!("a sentence without a text: {number}"), "a sentence without a text: 3");
//! ```
//!
//! Three ways lead to a text:
//!
//! ```text
//! say!(…)      a sentence of the program's own, with its values: as format!
//! word(…)      a word or sentence without values: a heading, the name of a variant
//! sentence(…)  a whole sentence that a library made, with its values already in it
//! ```
//!
//! Libraries of the workspace know no language: their sentences are English, in errors, losses, findings. Where
//! the program shows one, [`sentence`] finds the format string that it was made by, and so its values. A test
//! holds that each id is a literal of the code, so that no text outlives its sentence unnoticed.
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! lib        the language that was chosen, and look-ups in it
//! table      the tables of texts, and sentences recognised by them
//! template   a format string: its fixed text and its placeholders
//! language   languages, and those of locales
//! width      how many columns a text takes on a terminal
//! wrap       lines of a text no wider than so many columns
//! ```

mod language;
mod table;
mod template;
mod width;
mod wrap;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

pub use language::{Language, of_environment};
pub use opscope_say_macro::say;
pub use table::{Entry, FILES, Origin, Translation, entries};
pub use template::Template;
pub use width::{padded, width};
pub use wrap::wrapped;

/// Whether Chinese was chosen; there are two languages.
static IS_CHINESE: AtomicBool = AtomicBool::new(false);

/// Chooses the language of everything that is said from now on.
pub fn choose(language: Language) {
    IS_CHINESE.store(language == Language::Chinese, Ordering::Relaxed);
}

/// The language that was chosen; English at first.
pub fn chosen() -> Language {
    if IS_CHINESE.load(Ordering::Relaxed) { Language::Chinese } else { Language::English }
}

/// The text of one of the program's own sentences; `None` where the sentence is to be said as it stands in the
/// code. For [`say!`].
pub fn translation(id: &str) -> Option<&'static Translation> {
    match chosen() {
        Language::English => None,
        Language::Chinese => table::chinese().exact(id),
    }
}

/// A word or a sentence without values.
pub fn word(english: &str) -> &str {
    translation(english).and_then(Translation::fixed).unwrap_or(english)
}

/// A number of things: `3 tasks`. The id is `{n} task`; English has a plural of its own there.
pub fn counted(number: usize, noun: &str) -> Option<String> {
    Some(translation(&format!("{{n}} {noun}"))?.with(&[number.to_string()]))
}

/// A whole sentence that a library made: the text of the format string that it was made by, with its values.
pub fn sentence(english: &str) -> Cow<'_, str> {
    match chosen() {
        Language::English => english.into(),
        Language::Chinese => table::chinese().recognised(english).map_or(english.into(), Cow::Owned),
    }
}
