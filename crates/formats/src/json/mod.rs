//! A tokenizer for JSON text that lies in memory: it reads what is asked for and checks the rest
//! without building it.
//!
//! It is stricter than nothing but JSON and more lenient in one place: strings may hold raw control
//! characters and bytes that are no UTF-8, because MegEngine's own writer emits both.

mod error;
mod escapes;
mod number;
mod piece;
mod scanner;
mod skip;

pub use error::JsonError;
pub(crate) use escapes::{string_text, unescape};
pub use piece::Piece;
pub(crate) use piece::RawText;
pub(crate) use scanner::{Scanned, Scanner};

/// Whether a text is JSON throughout. Nobody reads a file so; a fuzzer compares it with another reader.
#[doc(hidden)]
pub fn is_json(text: &[u8]) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.skip().is_ok() && scanner.end().is_ok()
}
