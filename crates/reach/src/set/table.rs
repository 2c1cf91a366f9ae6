//! A table of a set: rows with typed columns, written to and read from Parquet a row group at a time.
//!
//! Columns have Parquet's plain types and nothing else: no schema of Arrow stands in the footer, because engines that
//! take columns for dictionaries by it fail where others read texts.

use std::collections::HashMap;
use std::ops::Range;

use parquet::basic::{LogicalType, Repetition};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{Type, TypePtr};

/// A text of a table, by its place in [`Texts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(u32);

/// The texts of a table, each once.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    all: Vec<ByteArray>,
    places: HashMap<Box<[u8]>, u32>,
}

impl Texts {
    /// The place of a text.
    pub fn enter(&mut self, text: &str) -> Text {
        self.enter_bytes(text.as_bytes())
    }

    fn enter_bytes(&mut self, bytes: &[u8]) -> Text {
        if let Some(place) = self.places.get(bytes) {
            return Text(*place);
        }
        let place = self.all.len() as u32;
        self.all.push(bytes.to_vec().into());
        self.places.insert(bytes.into(), place);
        Text(place)
    }

    /// The text at a place.
    pub fn get(&self, text: Text) -> &str {
        self.all.get(text.0 as usize).and_then(|it| it.as_utf8().ok()).unwrap_or_default()
    }
}

/// The value of a column in a row.
pub trait Cell: Copy {
    /// The type of Parquet.
    type Stored: DataType;
    /// Whether it may be missing.
    const MAY_BE_MISSING: bool = false;
    /// The meaning of the values beyond their type.
    const MEANS: Option<LogicalType> = None;

    /// The value as it is stored.
    fn store(self, texts: &Texts) -> Option<<Self::Stored as DataType>::T>;

    /// The value from how it is stored; `None` is a missing one, as of all rows where a file lacks the column.
    fn load(stored: Option<<Self::Stored as DataType>::T>, texts: &mut Texts) -> Self;
}

macro_rules! numbers {
    ($($number:ty as $stored:ty),*) => { $(
        impl Cell for $number {
            type Stored = $stored;

            fn store(self, _: &Texts) -> Option<$number> {
                Some(self)
            }

            fn load(stored: Option<$number>, _: &mut Texts) -> Self {
                stored.unwrap_or_default()
            }
        }

        impl Cell for Option<$number> {
            type Stored = $stored;
            const MAY_BE_MISSING: bool = true;

            fn store(self, _: &Texts) -> Option<$number> {
                self
            }

            fn load(stored: Option<$number>, _: &mut Texts) -> Self {
                stored
            }
        }
    )* };
}

numbers!(i32 as Int32Type, i64 as Int64Type, f64 as DoubleType);

/// A number that may not be told, in the place of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told(i64);

impl Told {
    /// Nothing.
    pub const NOTHING: Self = Self(i64::MIN);
}

impl From<Option<i64>> for Told {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::NOTHING, Self)
    }
}

impl Cell for Told {
    type Stored = Int64Type;
    const MAY_BE_MISSING: bool = true;

    fn store(self, _: &Texts) -> Option<i64> {
        (self != Self::NOTHING).then_some(self.0)
    }

    fn load(stored: Option<i64>, _: &mut Texts) -> Self {
        stored.into()
    }
}

impl Cell for Text {
    type Stored = parquet::data_type::ByteArrayType;
    const MEANS: Option<LogicalType> = Some(LogicalType::String);

    fn store(self, texts: &Texts) -> Option<ByteArray> {
        Some(texts.all.get(self.0 as usize).cloned().unwrap_or_else(|| ByteArray::from("")))
    }

    fn load(stored: Option<ByteArray>, texts: &mut Texts) -> Self {
        texts.enter_bytes(stored.as_ref().map_or(&[], ByteArray::data))
    }
}

/// A row of a table.
pub trait Row: Copy {
    /// The table's name, which is its folder's.
    const TABLE: &str;

    /// The columns.
    ///
    /// # Errors
    /// When a name or type can't stand in a Parquet file.
    fn schema() -> Result<TypePtr, ParquetError>;

    /// Writes rows as a group.
    ///
    /// # Errors
    /// The writer's.
    fn write<W: std::io::Write + Send>(
        rows: &[Self],
        texts: &Texts,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError>;

    /// Reads some of a group's rows.
    ///
    /// # Errors
    /// When it is damaged, or a column has another type.
    fn read(
        group: &dyn RowGroupReader,
        rows: Range<usize>,
        texts: &mut Texts,
    ) -> Result<Vec<Self>, ParquetError>;
}

/// Declares a row, whose fields are the table's columns in their order.
macro_rules! table {
    ($(#[$about:meta])* $row:ident in $table:literal { $($(#[$of:meta])* $column:ident: $cell:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $row { $($(#[$of])* pub $column: $cell,)* }

        impl $crate::set::table::Row for $row {
            const TABLE: &str = $table;

            fn schema() -> Result<parquet::schema::types::TypePtr, parquet::errors::ParquetError> {
                $crate::set::table::schema(vec![
                    $($crate::set::table::column::<$cell>(stringify!($column))?,)*
                ])
            }

            fn write<W: std::io::Write + Send>(
                rows: &[Self],
                texts: &$crate::set::table::Texts,
                group: &mut parquet::file::writer::SerializedRowGroupWriter<'_, W>,
            ) -> Result<(), parquet::errors::ParquetError> {
                $($crate::set::table::write_column(group, rows.iter().map(|row| row.$column), texts)?;)*
                Ok(())
            }

            fn read(
                group: &dyn parquet::file::reader::RowGroupReader,
                rows: std::ops::Range<usize>,
                texts: &mut $crate::set::table::Texts,
            ) -> Result<Vec<Self>, parquet::errors::ParquetError> {
                $(let mut $column =
                    $crate::set::table::read_column::<$cell>(group, stringify!($column), rows.clone(), texts)?
                        .into_iter();)*
                let mut read = Vec::with_capacity(rows.len());
                while let ($(Some($column),)*) = ($($column.next(),)*) {
                    read.push(Self { $($column,)* });
                }
                Ok(read)
            }
        }
    };
}
pub(super) use table;

/// A field's name without what Rust needs before words of its own.
fn plain(name: &str) -> &str {
    name.trim_start_matches("r#")
}

/// The schema of some columns.
pub fn schema(columns: Vec<TypePtr>) -> Result<TypePtr, ParquetError> {
    Ok(Type::group_type_builder("opscope").with_fields(columns).build()?.into())
}

/// A column's name and type.
pub fn column<C: Cell>(name: &str) -> Result<TypePtr, ParquetError> {
    let repetition = if C::MAY_BE_MISSING { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let of_type = Type::primitive_type_builder(plain(name), C::Stored::get_physical_type());
    Ok(of_type.with_repetition(repetition).with_logical_type(C::MEANS).build()?.into())
}

/// Writes a group's next column.
pub fn write_column<C: Cell, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: impl Iterator<Item = C>,
    texts: &Texts,
) -> Result<(), ParquetError> {
    let mut values = Vec::with_capacity(cells.size_hint().0);
    let mut levels = Vec::new();
    for cell in cells {
        let stored = cell.store(texts);
        if C::MAY_BE_MISSING {
            levels.push(i16::from(stored.is_some()));
        }
        values.extend(stored);
    }
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("a row has more columns than its table".to_owned()));
    };
    let levels = C::MAY_BE_MISSING.then_some(levels.as_slice());
    writer.typed::<C::Stored>().write_batch(&values, levels, None)?;
    writer.close()
}

/// How many rows a group has, as far as memory can hold.
pub fn rows_of(group: &dyn RowGroupReader) -> Result<usize, ParquetError> {
    /// More than any writer of sets puts into a group.
    const MOST: i64 = 1 << 26;
    match group.metadata().num_rows() {
        rows @ 0..=MOST => Ok(rows as usize),
        rows => Err(ParquetError::General(format!("a row group claims {rows} rows"))),
    }
}

/// Reads a column of some of a group's rows; all are missing where the file lacks it.
pub fn read_column<C: Cell>(
    group: &dyn RowGroupReader,
    name: &str,
    rows: Range<usize>,
    texts: &mut Texts,
) -> Result<Vec<C>, ParquetError> {
    let columns = group.metadata().columns();
    let path = [plain(name).to_owned()];
    let Some(place) = columns.iter().position(|column| column.column_path().parts() == path) else {
        return Ok(rows.map(|_| C::load(None, texts)).collect());
    };
    let descriptor = columns[place].column_descr();
    if descriptor.physical_type() != C::Stored::get_physical_type() || descriptor.max_rep_level() > 0 {
        let problem = format!("column {} has type {}", plain(name), descriptor.physical_type());
        return Err(ParquetError::General(problem));
    }
    let may_be_missing = descriptor.max_def_level() > 0;
    let mut reader = get_typed_column_reader::<C::Stored>(group.get_column_reader(place)?);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let ends_early = || ParquetError::EOF(format!("column {} ends early", plain(name)));
    let mut skipped = 0;
    while skipped < rows.start {
        match reader.skip_records(rows.start - skipped)? {
            0 => return Err(ends_early()),
            records => skipped += records,
        }
    }
    let mut read = 0;
    while read < rows.len() {
        let levels = may_be_missing.then_some(&mut levels);
        match reader.read_records(rows.len() - read, levels, None, &mut values)?.0 {
            0 => return Err(ends_early()),
            records => read += records,
        }
    }
    let mut values = values.into_iter();
    if !may_be_missing {
        return Ok(values.map(|value| C::load(Some(value), texts)).collect());
    }
    let whole = descriptor.max_def_level();
    Ok(levels
        .into_iter()
        .map(|level| C::load(if level == whole { values.next() } else { None }, texts))
        .collect())
}
