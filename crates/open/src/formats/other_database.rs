//! SQLite databases of other programs, which can't be read.

use opscope_formats::sqlite;

use crate::format::{Format, Reader};
use crate::look::Look;

/// The format.
pub static FORMAT: Format =
    Format { name: "a SQLite database of another program", is: is_database, reader: Reader::None("") };

pub(super) fn is_database(look: &Look) -> bool {
    look.bytes.starts_with(sqlite::MAGIC)
}
