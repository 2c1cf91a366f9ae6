//! A mark's details: everything besides its text.

use crate::domain::Domain;

/// Everything that a mark or range says besides its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The namespace of the text; `None` for records of the classic form.
    pub domain: Option<Domain>,
    /// A number that groups marks.
    pub category: u32,
    /// The payload's type, as numbered by the interface that it came through.
    pub payload_type: i32,
    /// A value of the program's own, as bits.
    pub payload: u64,
    /// The text's type, as numbered by the interface that it came through.
    pub message_type: i32,
}

impl Details {
    /// A text alone.
    pub const NONE: Self = Self { domain: None, category: 0, payload_type: 0, payload: 0, message_type: 0 };
}
