//! A table: its kind, and the cells of its rows by the names of their columns.

use csv::{ByteRecord, ReaderBuilder};

use super::agents::Agent;
use crate::reading::decimal;

/// Bytes that are no such table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The columns are of none.
    #[error("this is no table of rocprofv3: its columns are of none that is known")]
    NoTable,
    /// A JSON lists no process.
    #[error("this JSON of rocprofv3 holds no process")]
    NoProcess,
    /// No file of a folder is one.
    #[error("no file of this folder is a table of rocprofv3 that can be read")]
    NoTables,
    /// Whoever asked for it wants it no more.
    #[error("the reading was stopped")]
    Stopped,
}

/// The kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Agents,
    Calls,
    Kernels,
    Copies,
    Counters,
    Totals,
    /// One with times that has no place in a trace.
    Other,
}

/// The kind of a table by its head.
pub fn kind_of(head: &[u8]) -> Option<Kind> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let columns: Vec<&[u8]> = line.split(|byte| *byte == b',').map(bare).collect();
    let has = |wanted: &[&str]| wanted.iter().all(|name| columns.contains(&name.as_bytes()));
    let times = ["Start_Timestamp", "End_Timestamp"];
    let of = |names: &[&'static str]| has(names) && has(&times);
    Some(match () {
        () if has(&["Counter_Name", "Counter_Value", "Kernel_Name", "Dispatch_Id"]) => Kind::Counters,
        () if of(&["Counter_Name", "Counter_Value", "Kernel_Name"]) => Kind::Counters,
        () if of(&["Kernel_Name"]) => Kind::Kernels,
        () if of(&["Direction"]) => Kind::Copies,
        () if of(&["Domain", "Function"]) => Kind::Calls,
        () if has(&["Name", "Calls", "TotalDurationNs"]) => Kind::Totals,
        () if has(&["Node_Id", "Agent_Type"]) => Kind::Agents,
        () if of(&["Kind"]) => Kind::Other,
        () => return None,
    })
}

/// Whether bytes that begin so are such a table.
pub fn looks_like(head: &[u8]) -> bool {
    kind_of(head).is_some_and(|kind| kind != Kind::Agents)
}

fn bare(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(cell)
}

/// The rows of a table.
pub struct Rows<'b> {
    reader: csv::Reader<&'b [u8]>,
    record: ByteRecord,
    columns: usize,
    wanted: Vec<Option<usize>>,
}

/// A row, or why there is none.
pub enum Row {
    Whole,
    /// It has fewer or more cells than there are columns, or its text is damaged.
    Unreadable,
}

impl<'b> Rows<'b> {
    /// Begins to read; cells are asked for by the places of their columns in `wanted`.
    pub fn of(bytes: &'b [u8], wanted: &[&str]) -> Self {
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes);
        let headers = reader.byte_headers().cloned().unwrap_or_default();
        let place = |name: &&str| headers.iter().position(|column| column.trim_ascii() == name.as_bytes());
        Self {
            record: ByteRecord::new(),
            columns: headers.len(),
            wanted: wanted.iter().map(place).collect(),
            reader,
        }
    }

    /// Whether the table has a column.
    pub fn has(&self, wanted: usize) -> bool {
        self.wanted[wanted].is_some()
    }

    /// Goes to the next row.
    pub fn next(&mut self) -> Option<Row> {
        match self.reader.read_byte_record(&mut self.record) {
            Ok(false) => None,
            Ok(true) if self.record.len() == self.columns => Some(Row::Whole),
            Ok(true) | Err(_) => Some(Row::Unreadable),
        }
    }

    /// A cell; empty where the table has no such column.
    pub fn cell(&self, wanted: usize) -> &[u8] {
        self.wanted[wanted].and_then(|column| self.record.get(column)).map_or(&[], <[u8]>::trim_ascii)
    }

    /// A whole number.
    pub fn whole(&self, wanted: usize) -> Option<i64> {
        decimal::whole(self.cell(wanted)).ok()
    }

    /// A whole number from 0.
    pub fn number(&self, wanted: usize) -> Option<u64> {
        self.whole(wanted).and_then(|number| u64::try_from(number).ok())
    }

    /// A number.
    pub fn double(&self, wanted: usize) -> Option<f64> {
        let number: f64 = std::str::from_utf8(self.cell(wanted)).ok()?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// A whole number of 32 bits from 0.
    pub fn small(&self, wanted: usize) -> Option<u32> {
        self.whole(wanted).and_then(|number| u32::try_from(number).ok())
    }

    /// An agent.
    pub fn agent(&self, wanted: usize) -> Option<Agent> {
        Agent::of(self.cell(wanted))
    }

    /// The text of a cell.
    pub fn text(&self, wanted: usize) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.cell(wanted))
    }
}
