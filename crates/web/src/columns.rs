//! Tables as columns of bytes, from which a page reads numbers without parsing text.
//!
//! A container is `OSC1`, the length of its head (four bytes), the head (JSON: the tables with their columns),
//! zeros up to a multiple of 8, and the columns, each at a multiple of 8. All numbers are little endian.
//! Values stand in planes: the lowest bytes of all, then the next bytes, which deflate packs best because
//! neighbours are alike in each.
//!
//! | coding | stored |
//! |---|---|
//! | `whole` | numbers from 0 to 2^53 − 1, in as many planes as the largest needs |
//! | `delta` | the difference of each to the one before (0 before the first), as `whole`: even is half of it, odd is −(half + 1/2) |
//! | `float` | doubles in 8 planes |
//! | `text` | a JSON array of strings |
//! | `plain` | numbers of the column's `type` one after another, to be read where they lie: what a server sends |
//!
//! A column that has nothing but zeros is left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 4] = b"OSC1";

/// The greatest whole number that a page can hold.
pub const MOST: u64 = (1 << 53) - 1;

/// The greatest number of a column of differences, whose signs take a bit.
pub const MOST_OF_DIFFERENCES: u64 = (1 << 52) - 1;

/// How a column's values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Coding {
    Whole,
    Delta,
    Float,
    Text,
    Plain,
}

/// The type of numbers that stand one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Number {
    U8,
    U16,
    U32,
    F64,
}

impl Number {
    fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 => 4,
            Self::F64 => 8,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ColumnHead {
    name: String,
    coding: Coding,
    /// Of `plain` alone.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    number: Option<Number>,
    /// Bytes of a value; of `text`, of all.
    bytes: usize,
    offset: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct TableHead {
    count: usize,
    columns: Vec<ColumnHead>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    kind: String,
    tables: BTreeMap<String, TableHead>,
}

/// A table that is being made.
///
/// ```
/// use opscope_web::columns::{Container, Table, to_bytes};
///
/// let mut slices = Table::new("slices", 3);
/// slices.whole("duration", [20, 300, 70_000].into_iter());
/// slices.delta("id", [7, 6, 9].into_iter());
/// let bytes = to_bytes("example", &[slices]);
///
/// let container = Container::read(&bytes)?;
/// assert_eq!(container.numbers("slices", "duration")?, [20.0, 300.0, 70_000.0]);
/// assert_eq!(container.numbers("slices", "id")?, [7.0, 6.0, 9.0]);
/// assert_eq!(container.numbers("slices", "never written")?, [0.0; 3]);
/// # Ok::<(), opscope_web::columns::ColumnsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    name: &'static str,
    count: usize,
    columns: Vec<Data>,
}

/// A column that is made.
#[derive(Clone, Debug)]
struct Data {
    name: &'static str,
    coding: Coding,
    number: Option<Number>,
    bytes: usize,
    data: Vec<u8>,
}

impl Table {
    /// A table of so many rows.
    pub fn new(name: &'static str, count: usize) -> Self {
        Self { name, count, columns: Vec::new() }
    }

    /// Adds a column of whole numbers; what is greater than [`MOST`] becomes that.
    ///
    /// # Panics
    /// If there is not one for each row.
    pub fn whole(&mut self, name: &'static str, values: impl Iterator<Item = u64> + Clone) {
        let values = values.map(|value| value.min(MOST));
        self.planes(name, Coding::Whole, values);
    }

    /// Adds a column of whole numbers that differ little from those before; what is greater than
    /// [`MOST_OF_DIFFERENCES`] becomes that.
    ///
    /// # Panics
    /// If there is not one for each row.
    pub fn delta(&mut self, name: &'static str, values: impl Iterator<Item = u64> + Clone) {
        let values = values.scan(0_i64, |before, value| {
            let value = value.min(MOST_OF_DIFFERENCES) as i64;
            let difference = value - std::mem::replace(before, value);
            Some(((difference << 1) ^ (difference >> 63)) as u64)
        });
        self.planes(name, Coding::Delta, values);
    }

    /// Adds a column of doubles.
    ///
    /// # Panics
    /// If there is not one for each row.
    pub fn float(&mut self, name: &'static str, values: impl Iterator<Item = f64> + Clone) {
        self.planes(name, Coding::Float, values.map(f64::to_bits));
    }

    /// Adds a column of text.
    ///
    /// # Panics
    /// If there is not one for each row.
    pub fn text<'t>(&mut self, name: &'static str, values: impl Iterator<Item = &'t str>) {
        let values: Vec<&str> = values.collect();
        assert_eq!(values.len(), self.count, "a column has a value for each row");
        let text = serde_json::Value::from(values).to_string().into_bytes();
        self.columns.push(Data { name, coding: Coding::Text, number: None, bytes: text.len(), data: text });
    }

    /// Adds a column of numbers that are read where they lie.
    ///
    /// # Panics
    /// If there is not one for each row.
    pub fn plain_u8(&mut self, name: &'static str, values: impl Iterator<Item = u8>) {
        self.plain(name, Number::U8, values.collect());
    }

    /// As [`Table::plain_u8`].
    ///
    /// # Panics
    /// If there is not one for each row.
    pub fn plain_u16(&mut self, name: &'static str, values: impl Iterator<Item = u16>) {
        self.plain(name, Number::U16, values.flat_map(u16::to_le_bytes).collect());
    }

    /// As [`Table::plain_u8`].
    ///
    /// # Panics
    /// If there is not one for each row.
    pub fn plain_u32(&mut self, name: &'static str, values: impl Iterator<Item = u32>) {
        self.plain(name, Number::U32, values.flat_map(u32::to_le_bytes).collect());
    }

    /// As [`Table::plain_u8`].
    ///
    /// # Panics
    /// If there is not one for each row.
    pub fn plain_f64(&mut self, name: &'static str, values: impl Iterator<Item = f64>) {
        self.plain(name, Number::F64, values.flat_map(f64::to_le_bytes).collect());
    }

    fn plain(&mut self, name: &'static str, number: Number, data: Vec<u8>) {
        assert_eq!(data.len(), self.count * number.bytes(), "a column has a value for each row");
        let (coding, bytes, number) = (Coding::Plain, number.bytes(), Some(number));
        self.columns.push(Data { name, coding, number, bytes, data });
    }

    fn planes(&mut self, name: &'static str, coding: Coding, values: impl Iterator<Item = u64> + Clone) {
        let (count, all) = values.clone().fold((0, 0), |(count, all), value| (count + 1, all | value));
        assert_eq!(count, self.count, "a column has a value for each row");
        if all == 0 {
            return;
        }
        let bytes = match coding {
            Coding::Float => 8,
            _ => (64 - all.leading_zeros()).div_ceil(8) as usize,
        };
        let mut planes = vec![0; bytes * count];
        for (row, value) in values.enumerate() {
            for (plane, byte) in value.to_le_bytes().into_iter().take(bytes).enumerate() {
                planes[plane * count + row] = byte;
            }
        }
        self.columns.push(Data { name, coding, number: None, bytes, data: planes });
    }
}

/// Tables as a container.
pub fn to_bytes(kind: &str, tables: &[Table]) -> Vec<u8> {
    // Offsets count from the container's first byte and stand in its head, whose length they change: so they are
    // made for a head that is longer than the longest can be.
    let columns = || tables.iter().flat_map(|table| &table.columns);
    let room = 64 + kind.len() + tables.len() * 128 + columns().count() * 160;
    let begin = (8 + room).next_multiple_of(8);
    let mut head = Head { kind: kind.to_owned(), tables: BTreeMap::new() };
    let mut offset = begin;
    for table in tables {
        let columns = table.columns.iter().map(|column| {
            let Data { name, coding, number, bytes, ref data } = *column;
            let column = ColumnHead { name: name.to_owned(), coding, number, bytes, offset };
            offset = (offset + data.len()).next_multiple_of(8);
            column
        });
        let columns = columns.collect();
        head.tables.insert(table.name.to_owned(), TableHead { count: table.count, columns });
    }
    let text = serde_json::json!(head).to_string();
    let mut out = Vec::with_capacity(offset);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    assert!(out.len() <= begin, "names of tables and columns are short");
    out.resize(begin, 0);
    for column in columns() {
        out.extend_from_slice(&column.data);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    out
}

/// A container that isn't one.
#[derive(Debug, thiserror::Error)]
pub enum ColumnsError {
    /// The first bytes are others.
    #[error("it does not begin with OSC1")]
    Magic,
    /// The head is cut off or no JSON of a head.
    #[error("its head can't be read: {0}")]
    Head(String),
    /// There is no such table.
    #[error("it has no table '{0}'")]
    NoTable(String),
    /// A column reaches beyond the end, or has too many bytes a value.
    #[error("its column '{0}' is damaged")]
    Column(String),
}

/// A container that was read.
#[derive(Debug)]
pub struct Container<'b> {
    bytes: &'b [u8],
    head: Head,
}

impl<'b> Container<'b> {
    /// Reads the head.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(bytes: &'b [u8]) -> Result<Self, ColumnsError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(ColumnsError::Magic)?;
        let cut = || ColumnsError::Head("it is cut off".to_owned());
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let text = rest.get(..u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        let head = serde_json::from_slice(text).map_err(|error| ColumnsError::Head(error.to_string()))?;
        Ok(Self { bytes, head })
    }

    /// The number of rows of a table.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn count(&self, table: &str) -> Result<usize, ColumnsError> {
        Ok(self.table(table)?.count)
    }

    /// The values of a column; zeros where it was left out.
    ///
    /// # Errors
    /// When there is no such table, or the column is damaged or text.
    pub fn numbers(&self, table: &str, column: &str) -> Result<Vec<f64>, ColumnsError> {
        let count = self.count(table)?;
        let damaged = || ColumnsError::Column(column.to_owned());
        let Some(head) = self.column(table, column)? else {
            // No file is so short as to claim that many rows and have none of them.
            return if count <= self.bytes.len() { Ok(vec![0.0; count]) } else { Err(damaged()) };
        };
        if head.coding == Coding::Text || head.bytes > 8 {
            return Err(damaged());
        }
        let length = head.bytes.checked_mul(count).ok_or_else(damaged)?;
        let planes = self.bytes.get(head.offset..).and_then(|rest| rest.get(..length)).ok_or_else(damaged)?;
        if head.coding == Coding::Plain {
            let data = &self.bytes[head.offset..head.offset + length];
            return plain_numbers(head.number, data).ok_or_else(damaged);
        }
        let value = |row: usize| {
            (0..head.bytes)
                .rev()
                .fold(0_u64, |value, plane| value << 8 | u64::from(planes[plane * count + row]))
        };
        let values = (0..count).map(value);
        Ok(match head.coding {
            Coding::Float => values.map(f64::from_bits).collect(),
            Coding::Delta => {
                let difference = |coded: u64| (coded >> 1) as i64 ^ -((coded & 1) as i64);
                let mut sum = 0_i64;
                values
                    .map(|coded| {
                        sum = sum.wrapping_add(difference(coded));
                        sum as f64
                    })
                    .collect()
            }
            _ => values.map(|value| value as f64).collect(),
        })
    }

    /// The strings of a column; empty ones where it was left out.
    ///
    /// # Errors
    /// When there is no such table, or the column is damaged or no text.
    pub fn strings(&self, table: &str, column: &str) -> Result<Vec<String>, ColumnsError> {
        let damaged = || ColumnsError::Column(column.to_owned());
        let head =
            self.column(table, column)?.filter(|head| head.coding == Coding::Text).ok_or_else(damaged)?;
        let text =
            self.bytes.get(head.offset..).and_then(|rest| rest.get(..head.bytes)).ok_or_else(damaged)?;
        let strings: Vec<String> = serde_json::from_slice(text).map_err(|_| damaged())?;
        if strings.len() == self.count(table)? { Ok(strings) } else { Err(damaged()) }
    }

    fn table(&self, table: &str) -> Result<&TableHead, ColumnsError> {
        self.head.tables.get(table).ok_or_else(|| ColumnsError::NoTable(table.to_owned()))
    }

    fn column(&self, table: &str, column: &str) -> Result<Option<&ColumnHead>, ColumnsError> {
        Ok(self.table(table)?.columns.iter().find(|head| head.name == column))
    }
}

/// Numbers one after another.
fn plain_numbers(number: Option<Number>, data: &[u8]) -> Option<Vec<f64>> {
    Some(match number? {
        Number::U8 => data.iter().map(|&value| value.into()).collect(),
        Number::U16 => data.as_chunks().0.iter().map(|&value| u16::from_le_bytes(value).into()).collect(),
        Number::U32 => data.as_chunks().0.iter().map(|&value| u32::from_le_bytes(value).into()).collect(),
        Number::F64 => data.as_chunks().0.iter().map(|&value| f64::from_le_bytes(value)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back_as_they_went(
            rows in proptest::collection::vec((0..=MOST, 0..=MOST_OF_DIFFERENCES, any::<f64>()), 0..70)
        ) {
            let mut table = Table::new("t", rows.len());
            table.whole("whole", rows.iter().map(|row| row.0));
            table.delta("delta", rows.iter().map(|row| row.1));
            table.float("float", rows.iter().map(|row| row.2));
            let bytes = to_bytes("test", &[table]);
            let container = Container::read(&bytes).unwrap();
            let of = |name| container.numbers("t", name).unwrap();
            prop_assert_eq!(of("whole"), rows.iter().map(|row| row.0 as f64).collect::<Vec<_>>());
            prop_assert_eq!(of("delta"), rows.iter().map(|row| row.1 as f64).collect::<Vec<_>>());
            let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            prop_assert_eq!(bits(of("float")), bits(rows.iter().map(|row| row.2).collect()));
        }

        #[test]
        fn text_comes_back_as_it_went(texts in proptest::collection::vec(any::<String>(), 0..20)) {
            let mut table = Table::new("t", texts.len());
            table.text("text", texts.iter().map(String::as_str));
            let bytes = to_bytes("test", &[table]);
            prop_assert_eq!(Container::read(&bytes).unwrap().strings("t", "text").unwrap(), texts);
        }
    }

    #[test]
    fn columns_stand_at_multiples_of_eight_and_zeros_nowhere() {
        let mut table = Table::new("t", 3);
        table.whole("nothing", [0; 3].into_iter());
        table.whole("small", [1, 2, 3].into_iter());
        table.whole("wide", [1, 70_000, 3].into_iter());
        let bytes = to_bytes("test", &[table]);
        let container = Container::read(&bytes).unwrap();
        let columns = &container.head.tables["t"].columns;
        let sizes: Vec<_> =
            columns.iter().map(|column| (&*column.name, column.bytes, column.offset % 8)).collect();
        assert_eq!(sizes, [("small", 1, 0), ("wide", 3, 0)]);
        assert_eq!(container.numbers("t", "nothing").unwrap(), [0.0; 3]);
    }

    #[test]
    fn no_damage_makes_the_reader_panic() {
        let mut table = Table::new("t", 200);
        table.whole("whole", (0..200).map(|n| n * 999));
        table.delta("delta", (0..200).map(|n| n * n));
        let mut text = Table::new("s", 2);
        text.text("text", ["a", "b"].into_iter());
        let whole = to_bytes("test", &[table, text]);
        let mut random = fastrand::Rng::with_seed(20);
        let mut refused = 0;
        for _ in 0..10_000 {
            let mut bytes = whole.clone();
            bytes.truncate(random.usize(..=whole.len()));
            for _ in 0..random.usize(..4) {
                if let Some(last) = bytes.len().checked_sub(1) {
                    bytes[random.usize(..=last)] = random.u8(..);
                }
            }
            let Ok(container) = Container::read(&bytes) else {
                refused += 1;
                continue;
            };
            for column in ["whole", "delta"] {
                refused += usize::from(container.numbers("t", column).is_err());
            }
            refused += usize::from(container.strings("s", "text").is_err());
        }
        assert!(refused > 5_000, "{refused}");
    }
}
