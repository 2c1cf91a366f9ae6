//! Protocol buffers as bytes, field by field, by the public encoding guide: independent of the reader under test.

/// A message that grows by fields.
#[derive(Clone, Debug, Default)]
pub struct Message(pub Vec<u8>);

fn varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

impl Message {
    /// A message without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// A number.
    #[must_use]
    pub fn int(mut self, field: u64, value: i64) -> Self {
        varint(field << 3, &mut self.0);
        varint(value as u64, &mut self.0);
        self
    }

    /// A number of single precision.
    #[must_use]
    pub fn float(mut self, field: u64, value: f32) -> Self {
        varint(field << 3 | 5, &mut self.0);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Text or any bytes.
    #[must_use]
    pub fn bytes(mut self, field: u64, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        varint(field << 3 | 2, &mut self.0);
        varint(content.len() as u64, &mut self.0);
        self.0.extend(content);
        self
    }

    /// A message within.
    #[must_use]
    pub fn message(self, field: u64, content: &Self) -> Self {
        self.bytes(field, &content.0)
    }

    /// Numbers in one packed field.
    #[must_use]
    pub fn packed(self, field: u64, values: &[i64]) -> Self {
        let mut content = Vec::new();
        values.iter().for_each(|value| varint(*value as u64, &mut content));
        self.bytes(field, content)
    }

    /// Texts, a field each.
    #[must_use]
    pub fn texts(self, field: u64, texts: &[&str]) -> Self {
        texts.iter().fold(self, |message, text| message.bytes(field, text))
    }
}
