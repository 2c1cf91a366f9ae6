//! SQLite databases of other programs, which can't be read.

use opscope_formats::sqlite;

use crate::format::{Format, Reader};
use crate::look::Look;
use crate::source::KNOWN;

/// The format.
pub static FORMAT: Format = Format {
    name: "a SQLite database of another program",
    about: None,
    is: is_database,
    reader: Reader::None(KNOWN),
};

/// A database so short that nothing tells whose it was.
pub static CUT_OFF: Format = Format {
    name: "a SQLite database that is cut off within its first page",
    about: None,
    is: is_without_header,
    reader: Reader::None("; copy it again, or convert the original profile again"),
};

fn is_without_header(look: &Look) -> bool {
    is_database(look) && look.bytes.len() < sqlite::HEADER_BYTES
}

pub(super) fn is_database(look: &Look) -> bool {
    look.bytes.starts_with(sqlite::MAGIC)
}
