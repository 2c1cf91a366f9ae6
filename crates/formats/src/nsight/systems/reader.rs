//! A database on its way into a trace.

use std::collections::HashSet;

use crate::other_database::{self, Cells, Database, NoSpan};
use crate::reading::Stop;
use opscope_trace::{LossKind, Nanoseconds, Trace};

use super::recording::Recording;

/// The state of reading, table after table.
pub struct Reader<'c> {
    pub database: &'c Database<'c>,
    pub stop: &'c Stop,
    pub recording: Recording,
    /// The tables that were read.
    used: HashSet<String>,
}

impl<'c> Reader<'c> {
    pub fn new(database: &'c Database<'c>, stop: &'c Stop) -> Self {
        Self { database, stop, recording: Recording::default(), used: HashSet::new() }
    }

    /// Reads everything, until it is to stop.
    pub fn read(mut self) -> Trace {
        self.each_row("StringIds", &["id", "value"], |reader, row| {
            if let (Some(id), Some(text)) = (row.integer(0), row.text(1)) {
                let text = reader.recording.trace.strings.intern(&text);
                reader.recording.texts.insert(id, text);
            }
        });
        self.read_facts();
        self.read_calls();
        self.read_tasks();
        self.read_ranges();
        self.read_metrics();
        self.count_what_is_left();
        self.recording.finish("StringIds")
    }

    /// Hands every row of a table on; if the table breaks off, that is counted.
    pub fn each_row(&mut self, table: &str, columns: &[&str], mut row: impl FnMut(&mut Self, &Cells<'_>)) {
        self.used.insert(table.to_owned());
        let (database, stop) = (self.database, self.stop);
        if stop.is_wanted() {
            return;
        }
        if let Err(broken) = other_database::each_row(database, table, columns, |cells| row(self, cells)) {
            let detail = format!("{table}: {} behind row {}", broken.error, broken.before);
            self.recording.trace.count_loss(LossKind::BrokenProfileTable, 1, &detail);
        }
    }

    /// As [`each_row`](Self::each_row), for records of which the first two columns are start and end. A table that
    /// lacks those means nothing.
    pub fn each_record(
        &mut self,
        table: &str,
        columns: &[&str],
        mut record: impl FnMut(&mut Self, &Cells<'_>, Nanoseconds, Nanoseconds),
    ) {
        let known = other_database::columns(self.database, table);
        if known.is_empty() {
            return;
        }
        if columns[..2].iter().any(|needed| !known.iter().any(|column| column == needed)) {
            self.used.insert(table.to_owned());
            return self.recording.trace.count_loss(LossKind::TableWithoutColumns, 1, table);
        }
        let (mut without_time, mut backwards) = (0, 0);
        self.each_row(table, columns, |reader, row| match row.span(0, 1) {
            Ok((start, duration)) => record(reader, row, start, duration),
            Err(NoSpan::Missing) => without_time += 1,
            Err(NoSpan::EndsBeforeStart) => backwards += 1,
        });
        self.recording.trace.count_loss(LossKind::RecordWithoutTime, without_time, table);
        self.recording.trace.count_loss(LossKind::RecordEndsBeforeStart, backwards, table);
    }

    /// Counts the rows of tables for which a trace has no place.
    fn count_what_is_left(&mut self) {
        /// Tables that only explain numbers, or tell what is of no use beside the records.
        const EXPLAINING: [&str; 4] = ["ENUM_", "META_DATA_", "TARGET_INFO_", "sqlite_"];
        for table in other_database::tables(self.database) {
            let explains = EXPLAINING.iter().any(|begin| table.starts_with(begin));
            if explains || self.used.contains(&table) {
                continue;
            }
            let rows = other_database::count(self.database, &table);
            self.recording.trace.count_loss(LossKind::PlacelessRecord, rows, &table);
        }
    }
}
