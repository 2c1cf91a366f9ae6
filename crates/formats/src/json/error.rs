//! Where a text is no JSON, and why.

/// Where JSON text is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: expected {expected}, found {}", describe(*.found))]
pub struct JsonError {
    /// How many bytes precede the place.
    pub offset: usize,
    /// The thing that should stand there.
    pub expected: &'static str,
    /// The byte that stands there; `None` is the end of the text.
    pub found: Option<u8>,
}

fn describe(found: Option<u8>) -> String {
    match found {
        None => "the end of the file".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => format!("'{}'", char::from(byte)),
        Some(byte) => format!("the byte {byte:#04x}"),
    }
}
