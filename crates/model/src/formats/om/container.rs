//! The container: a header of 256 bytes, then for each model in the file a table of partitions and those.
//!
//! | offset | bytes | field of the header |
//! |---|---|---|
//! | 0 | 4 | `IMOD` |
//! | 4 | 4 | length of the header, 256 |
//! | 8 | 4 | version; from 0x20000000 on there may be several models |
//! | 12 | 64 | checksum |
//! | 76 | 4 | length of what follows the header; 0 where the field at 184 has it |
//! | 80 | 1 | 1 if encrypted |
//! | 81 | 1 | whether the checksum is checked |
//! | 82 | 1 | kind of model |
//! | 83 | 1 | 0 made offline, 1 online |
//! | 84 | 32 | name, up to the first zero |
//! | 116 | 4 | operations, in thousands |
//! | 120 | 32 | of the user's |
//! | 152 | 4 | version of the graph's form |
//! | 156 | 4 | number of models, where there may be several |
//! | 160 | 20 | version of the platform (from 156 on where there is one model only) |
//! | 184 | 8 | length of what follows the header, in newer files |
//!
//! A table has the number of partitions, and of each its kind, the offset behind the table's end, and its length:
//! in 4 bytes each, or where the field at 184 is set in 8 bytes each (a kind takes 4 of them).

use super::FormatError;

const HEADER: usize = 256;

/// The version from which on a file may hold several models.
const SEVERAL: u32 = 0x2000_0000;

/// More tables and partitions than any file has.
const MOST_MODELS: u64 = 1024;
const MOST_PARTITIONS: u32 = 4096;

/// The bytes of the smallest table, which has one partition.
const LEAST_TABLE: u64 = 16;

/// The kind of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartitionKind {
    ModelDef,
    Weights,
    TaskInfo,
    Kernels,
    AicpuKernels,
    Other(u32),
}

impl PartitionKind {
    fn of(number: u32) -> Self {
        match number {
            0 => Self::ModelDef,
            1 => Self::Weights,
            2 => Self::TaskInfo,
            3 => Self::Kernels,
            4 => Self::AicpuKernels,
            other => Self::Other(other),
        }
    }

    /// A word for people.
    pub fn word(self) -> String {
        match self {
            Self::ModelDef => "graph".to_owned(),
            Self::Weights => "weights".to_owned(),
            Self::TaskInfo => "tasks".to_owned(),
            Self::Kernels => "kernels".to_owned(),
            Self::AicpuKernels => "AI CPU kernels".to_owned(),
            Self::Other(5) => "libraries".to_owned(),
            Self::Other(8) => "inputs and outputs".to_owned(),
            Self::Other(number) => format!("kind {number}"),
        }
    }
}

/// A part of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partition<'b> {
    pub kind: PartitionKind,
    /// Where in the file it begins.
    pub offset: usize,
    /// Its content, as far as the file has it.
    pub bytes: &'b [u8],
}

/// Facts of the header.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub size: usize,
    pub name: String,
    pub ir_version: u32,
    /// How many models the file has, as far as their tables are there: a damaged header may claim any number.
    pub model_count: u32,
    pub platform: String,
}

/// The file's parts.
#[derive(Debug)]
pub(super) struct Container<'b> {
    pub header: Header,
    /// The partitions of all models, in order.
    pub partitions: Vec<Partition<'b>>,
    /// Sentences on what the file lacks.
    pub losses: Vec<String>,
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..offset.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..offset.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
}

/// Text up to the first zero.
fn text_at(bytes: &[u8], offset: usize, length: usize) -> String {
    let field = bytes.get(offset..offset + length).unwrap_or_default();
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

impl<'b> Container<'b> {
    /// Reads header and tables.
    ///
    /// # Errors
    /// When the file ends before its first table, is encrypted, or its numbers can't be.
    pub fn read(bytes: &'b [u8]) -> Result<Self, FormatError> {
        if bytes.len() < HEADER {
            let text = format!("the file ends within its header of {HEADER} bytes");
            return Err(FormatError::at(bytes.len(), text));
        }
        let number = |offset| u32_at(bytes, offset).unwrap_or_default();
        let size = number(4) as usize;
        if !(HEADER..=1 << 16).contains(&size) {
            return Err(FormatError::at(4, format!("the header claims {size} bytes, and it has {HEADER}")));
        }
        if bytes[80] == 1 {
            let text = "the model is encrypted, so that nothing of it can be read; \
                        give the file from before the encryption";
            return Err(FormatError::at(80, text));
        }
        let several = number(8) >= SEVERAL;
        let header = Header {
            size,
            name: text_at(bytes, 84, 32),
            ir_version: number(152),
            model_count: 1,
            platform: text_at(bytes, if several { 160 } else { 156 }, 20),
        };
        let stated_length = u64_at(bytes, 184).filter(|length| *length != 0);
        let is_wide = stated_length.is_some();
        let mut container = Self { header, partitions: Vec::new(), losses: Vec::new() };
        let mut stated = if several { number(156).max(1) } else { 1 };
        // A file that is cut off had room for what its length says.
        let length = stated_length.unwrap_or(number(76).into()).max(bytes.len() as u64);
        if u64::from(stated) > (length / LEAST_TABLE).min(MOST_MODELS) {
            container.losses.push(format!(
                "the header is damaged: it claims {stated} models, for which the file has no room"
            ));
            stated = 1;
        }
        let mut position = size;
        for model in 0..stated {
            match table(bytes, position, is_wide).or_else(|first| {
                // Which of both forms a file has is decided by a field that older writers left unset.
                table(bytes, position, !is_wide).map_err(|_| first)
            }) {
                Ok(found) => position = container.add(bytes, found),
                Err(error) if model == 0 => return Err(error),
                Err(_) if position >= bytes.len() && container.losses.is_empty() => {
                    container.losses.push(format!(
                        "the header is damaged: it claims {stated} models, and the file ends behind {model}"
                    ));
                    break;
                }
                Err(error) => {
                    container.losses.push(format!(
                        "model {} of {stated} that the header states could not be read: {error}",
                        model + 1
                    ));
                    break;
                }
            }
            container.header.model_count = model + 1;
        }
        Ok(container)
    }

    /// Adds the partitions of a table; where they end.
    fn add(&mut self, bytes: &'b [u8], table: Table) -> usize {
        let mut end = table.end;
        for Entry { kind, offset, length } in table.entries {
            let begin = (table.end as u64).saturating_add(offset);
            let claimed = begin.saturating_add(length);
            let place = usize::try_from(begin).unwrap_or(usize::MAX).min(bytes.len());
            let until = usize::try_from(claimed).unwrap_or(usize::MAX).min(bytes.len());
            if claimed > bytes.len() as u64 {
                self.losses.push(format!(
                    "the file is cut off: its {} should end at offset {claimed}, and the file ends at {}; \
                     copy it again",
                    kind.word(),
                    bytes.len()
                ));
            }
            end = end.max(until);
            self.partitions.push(Partition { kind, offset: place, bytes: &bytes[place..until] });
        }
        end
    }

    /// The first partition of a kind.
    pub fn partition(&self, kind: PartitionKind) -> Option<Partition<'b>> {
        self.partitions.iter().find(|partition| partition.kind == kind).copied()
    }
}

struct Entry {
    kind: PartitionKind,
    offset: u64,
    length: u64,
}

struct Table {
    /// Where the table ends, which offsets count from.
    end: usize,
    entries: Vec<Entry>,
}

/// Reads a table of one of both forms.
fn table(bytes: &[u8], position: usize, is_wide: bool) -> Result<Table, FormatError> {
    let unit = if is_wide { 8 } else { 4 };
    let cut = || FormatError::at(bytes.len(), "the file ends within the table of its partitions");
    let count = u32_at(bytes, position).ok_or_else(cut)?;
    if !(1..=MOST_PARTITIONS).contains(&count) {
        return Err(FormatError::at(position, format!("the table of partitions claims {count} of them")));
    }
    let first = position + unit;
    let end = first + count as usize * 3 * unit;
    let field = |place: usize| match is_wide {
        true => u64_at(bytes, place),
        false => u32_at(bytes, place).map(u64::from),
    };
    let mut entries = Vec::new();
    for row in 0..count as usize {
        let place = first + row * 3 * unit;
        let kind = u32_at(bytes, place).ok_or_else(cut)?;
        let (offset, length) =
            (field(place + unit).ok_or_else(cut)?, field(place + 2 * unit).ok_or_else(cut)?);
        // A kind is a small number, and no file has a terabyte: the other form of a table has neither.
        if kind > 1000 || offset > 1 << 40 || length > 1 << 40 {
            let text = format!(
                "the table of partitions has one of the kind {kind}, with {length} bytes at {offset}"
            );
            return Err(FormatError::at(place, text));
        }
        entries.push(Entry { kind: PartitionKind::of(kind), offset, length });
    }
    Ok(Table { end, entries })
}
