//! A table's file: written under a temporary name a row group at a time, and read whole or the groups of one rank.

use std::io::BufWriter;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_files::{Batch, Draft};
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use super::table::{Row, Texts, read_column, rows_of};
use super::{SCHEMA, SetError};

/// The rows of a group: enough for engines to read it in one go, and few enough to keep in memory meanwhile.
const ROWS_OF_GROUP: usize = 1 << 17;

/// The key under which a file's footer has the set's version.
const SCHEMA_KEY: &str = "opscope.schema";

/// A file of a table that is being written; it is gone unless [`TableFile::finish`] gives it its name.
pub struct TableFile<R: Row> {
    path: PathBuf,
    writer: SerializedFileWriter<BufWriter<Draft>>,
    waiting: Vec<R>,
    /// The texts of the rows.
    pub texts: Texts,
    rows: u64,
}

/// A file that is whole and waits for its name.
pub struct WholeFile {
    path: PathBuf,
    draft: Draft,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
}

impl<R: Row> TableFile<R> {
    /// Begins a file that will have this path.
    ///
    /// # Errors
    /// When its folder or it can't be made.
    pub fn new(path: PathBuf) -> Result<Self, SetError> {
        let begin = || {
            let folder = path.parent().unwrap_or(Path::new("."));
            opscope_files::create_folder(folder)?;
            let draft = BufWriter::new(Draft::new(folder)?);
            let version = KeyValue::new(SCHEMA_KEY.to_owned(), SCHEMA.to_string());
            let schema = R::schema()?;
            let mut properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .set_statistics_enabled(EnabledStatistics::Page)
                .set_max_row_group_row_count(Some(ROWS_OF_GROUP))
                .set_created_by(format!("opscope {}", env!("CARGO_PKG_VERSION")))
                .set_key_value_metadata(Some(vec![version]));
            for column in schema.get_fields().iter().filter(|column| is_time(column)) {
                let column = ColumnPath::from(column.name());
                properties = properties
                    .set_column_dictionary_enabled(column.clone(), false)
                    .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
            }
            SerializedFileWriter::new(draft, schema, Arc::new(properties.build()))
        };
        let writer = begin().map_err(|error: ParquetError| SetError::unwritable(&path, error))?;
        Ok(Self { path, writer, waiting: Vec::new(), texts: Texts::default(), rows: 0 })
    }

    /// Adds a row, whose texts are [`TableFile::texts`].
    ///
    /// # Errors
    /// When a row group can't be written.
    pub fn push(&mut self, row: R) -> Result<(), SetError> {
        self.waiting.push(row);
        if self.waiting.len() >= ROWS_OF_GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<(), SetError> {
        let mut write = || {
            let mut group = self.writer.next_row_group()?;
            R::write(&self.waiting, &self.texts, &mut group)?;
            group.close()
        };
        write().map_err(|error| SetError::unwritable(&self.path, error))?;
        self.rows += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Ends the file. Without rows it has columns all the same, so that engines find the table.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish(mut self) -> Result<WholeFile, SetError> {
        if !self.waiting.is_empty() {
            self.write_group()?;
        }
        let Self { path, writer, rows, .. } = self;
        let bytes = |draft: &Draft| std::fs::metadata(draft.path()).map(|it| it.len());
        let end = || {
            let draft = writer.into_inner()?.into_inner().map_err(|error| error.into_error())?;
            let bytes = bytes(&draft)?;
            Ok((draft, bytes))
        };
        let (draft, bytes) = end().map_err(|error: ParquetError| SetError::unwritable(&path, error))?;
        Ok(WholeFile { path, draft, rows, bytes })
    }
}

/// Whether a column has times or lengths in nanoseconds: they seldom repeat, and differ by little from the row before.
fn is_time(column: &Type) -> bool {
    column.name().ends_with("_ns") && column.get_physical_type() == PhysicalType::INT64
}

impl WholeFile {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives all files their names.
    ///
    /// # Errors
    /// When one can't be written out; none of those has its name then.
    pub fn name_all(files: Vec<Self>) -> Result<(), SetError> {
        let mut batch = Batch::default();
        for file in files {
            batch.add(file.draft, &file.path)?;
        }
        Ok(batch.finish()?)
    }
}

/// Reads a file's rows: all, or those from a rank's first to its last.
///
/// # Errors
/// When it can't be read.
pub fn read<R: Row>(path: &Path, rank: Option<u32>, texts: &mut Texts) -> Result<Vec<R>, SetError> {
    let mut rows = Vec::new();
    each(path, rank, texts, |row, _| {
        rows.push(*row);
        Ok(())
    })?;
    Ok(rows)
}

/// Hands a file's rows on one by one, so that a group of them is in memory at a time: all, or those of each group from
/// a rank's first to its last, which stand together.
///
/// # Errors
/// When it can't be read, or with the reason why a row can't be taken.
pub fn each<R: Row>(
    path: &Path,
    rank: Option<u32>,
    texts: &mut Texts,
    mut take: impl FnMut(&R, &Texts) -> Result<(), String>,
) -> Result<(), SetError> {
    let open = || SerializedFileReader::new(opscope_files::open_plain(path)?);
    let reader = guarded(path, open)?;
    for place in 0..reader.num_row_groups() {
        let rows = guarded(path, || {
            let group = reader.get_row_group(place)?;
            let of_rank = group.metadata().columns().first().and_then(|column| column.statistics());
            if let (Some(rank), Some(Statistics::Int32(ranks))) = (rank, of_rank)
                && let (Some(least), Some(most)) = (ranks.min_opt(), ranks.max_opt())
                && !(*least..=*most).contains(&(rank as i32))
            {
                return Ok(Vec::new());
            }
            let all = 0..rows_of(group.as_ref())?;
            let rows = match rank {
                Some(rank) => rows_of_rank(group.as_ref(), rank, all)?,
                None => all,
            };
            R::read(group.as_ref(), rows, texts)
        })?;
        for row in &rows {
            take(row, texts).map_err(|why| SetError::unreadable(path, why))?;
        }
    }
    Ok(())
}

/// The rows of a group from a rank's first to its last. Tables that are read by rank begin with its column.
fn rows_of_rank(
    group: &dyn RowGroupReader,
    rank: u32,
    all: Range<usize>,
) -> Result<Range<usize>, ParquetError> {
    let ranks: Vec<i32> = read_column(group, "rank", all, &mut Texts::default())?;
    let is_its = |other: &i32| *other == rank as i32;
    let first = ranks.iter().position(is_its);
    let last = ranks.iter().rposition(is_its);
    Ok(first.zip(last).map_or(0..0, |(first, last)| first..last + 1))
}

/// Does something with a file whose pages may be damaged: the code that decodes them takes some of what they say for
/// granted.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, SetError> {
    let read = catch_unwind(AssertUnwindSafe(read));
    let read = read.unwrap_or_else(|_| Err(ParquetError::General("its pages are damaged".to_owned())));
    read.map_err(|error| SetError::Unreadable { path: path.to_owned(), why: error.to_string() })
}
