//! Rows in SQLite's record format.
//!
//! | part | content |
//! |---|---|
//! | length of the header | a variable-length number, itself included |
//! | for each value | its type, a variable-length number |
//! | for each value | its bytes |
//!
//! Types: 0 NULL; 1 to 6 integers of 1, 2, 3, 4, 6 and 8 bytes; 7 a double; 8 and 9 the integers 0
//! and 1 without bytes; 13 + 2n text of n bytes.

/// Collects the values of one row after another.
#[derive(Debug, Default)]
pub(super) struct RowBuffer {
    pub(super) key: i64,
    values: usize,
    types: Vec<u8>,
    body: Vec<u8>,
}

/// Takes the values of one row, from the first column to the last.
pub struct Row<'a>(&'a mut RowBuffer);

impl RowBuffer {
    /// Begins a row.
    pub(super) fn begin(&mut self, key: i64) -> Row<'_> {
        self.key = key;
        self.values = 0;
        self.types.clear();
        self.body.clear();
        Row(self)
    }

    /// Bytes of the header, its own length included.
    fn header_len(&self) -> usize {
        // The length's own bytes make it longer than one byte holds from 127 on.
        self.types.len() + if self.types.len() < 127 { 1 } else { 2 }
    }

    /// Bytes of the record.
    pub(super) fn len(&self) -> usize {
        self.header_len() + self.body.len()
    }

    /// Writes the record to `out`, which is as long as [`RowBuffer::len`].
    #[inline]
    pub(super) fn write(&self, out: &mut [u8]) {
        let used = put_varint(out, self.header_len() as u64);
        out[used..used + self.types.len()].copy_from_slice(&self.types);
        out[used + self.types.len()..].copy_from_slice(&self.body);
    }
}

impl Row<'_> {
    /// How many values there are so far.
    pub fn count(&self) -> usize {
        self.0.values
    }

    /// A column that is the row's key.
    pub fn key(&mut self, key: i64) {
        self.0.key = key;
        self.null();
    }

    /// No value.
    pub fn null(&mut self) {
        self.0.values += 1;
        self.0.types.push(0);
    }

    /// An integer.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        let (kind, length) = integer_type(value);
        self.0.values += 1;
        self.0.types.push(kind);
        self.0.body.extend_from_slice(&value.to_be_bytes()[8 - length..]);
    }

    /// A number in a column for numbers of any kind: SQLite keeps whole ones as integers there.
    #[inline]
    pub fn number(&mut self, value: f64) {
        let whole = value as i64;
        if whole as f64 == value && whole != i64::MIN && whole != i64::MAX {
            self.integer(whole);
        } else {
            self.real(value);
        }
    }

    /// A double; what isn't a number becomes NULL.
    #[inline]
    pub fn real(&mut self, value: f64) {
        if value.is_nan() {
            return self.null();
        }
        self.0.values += 1;
        self.0.types.push(7);
        self.0.body.extend_from_slice(&value.to_be_bytes());
    }

    /// Text.
    pub fn text(&mut self, text: &str) {
        let mut kind = [0; 9];
        let length = put_varint(&mut kind, text.len() as u64 * 2 + 13);
        self.0.values += 1;
        self.0.types.extend_from_slice(&kind[..length]);
        self.0.body.extend_from_slice(text.as_bytes());
    }
}

/// The type of an integer and how many bytes it takes.
#[inline]
pub(super) fn integer_type(value: i64) -> (u8, usize) {
    // The bits that must be kept, the sign among them.
    let bits = 65 - (value ^ (value >> 63)).leading_zeros();
    match bits {
        _ if value == 0 => (8, 0),
        _ if value == 1 => (9, 0),
        0..=8 => (1, 1),
        9..=16 => (2, 2),
        17..=24 => (3, 3),
        25..=32 => (4, 4),
        33..=48 => (5, 6),
        _ => (6, 8),
    }
}

/// How many bytes a variable-length number takes.
#[inline]
pub(super) fn varint_len(value: u64) -> usize {
    match 64 - value.leading_zeros() as usize {
        0..=7 => 1,
        57.. => 9,
        bits => bits.div_ceil(7),
    }
}

/// Writes a variable-length number: seven bits a byte, the most significant first, all bytes but
/// the last marked by their top bit; a ninth byte has eight bits. Returns the number of bytes.
#[inline]
pub(super) fn put_varint(out: &mut [u8], value: u64) -> usize {
    let length = varint_len(value);
    if length == 9 {
        put_groups(&mut out[..8], value >> 8);
        out[7] |= 0x80;
        out[8] = value as u8;
    } else {
        put_groups(&mut out[..length], value);
    }
    length
}

#[inline]
fn put_groups(out: &mut [u8], mut value: u64) {
    let mut mark = 0;
    for byte in out.iter_mut().rev() {
        *byte = (value & 0x7F) as u8 | mark;
        value >>= 7;
        mark = 0x80;
    }
}
