//! A database on its way into a trace.

use std::collections::{HashMap, HashSet};

use opscope_trace::{ApiCallId, LossKind, Nanoseconds, Places, StringId, ThreadId, Trace};

use opscope_formats::reading::Stop;

use super::launch_sites::Askers;
use super::texts::Texts;
use opscope_formats::other_database::{self as query, Cells, Database, NoSpan};

/// The state of reading, table after table.
pub(super) struct Reader<'c> {
    pub database: &'c Database<'c>,
    pub stop: &'c Stop,
    pub trace: Trace,
    pub texts: Texts<'c>,
    pub places: Places,
    /// The wall-clock time of the trace's zero.
    pub zero: Nanoseconds,
    /// The names of chips by the number of the device.
    pub chips: HashMap<u32, String>,
    /// The calls by what tasks name them by.
    pub calls: HashMap<i64, ApiCallId>,
    /// The framework's calls that asked for tasks.
    pub askers: Askers,
    /// The messages of marks by what the devices' sides of them name them by.
    pub marks: HashMap<i64, StringId>,
    /// The tables that were read.
    used: HashSet<String>,
}

impl<'c> Reader<'c> {
    pub fn new(database: &'c Database<'c>, stop: &'c Stop) -> Self {
        Self {
            database,
            stop,
            trace: Trace::new(),
            texts: Texts::new(database),
            places: Places::default(),
            zero: Nanoseconds::ZERO,
            chips: HashMap::new(),
            calls: HashMap::new(),
            askers: Askers::default(),
            marks: HashMap::new(),
            used: HashSet::from(["STRING_IDS".to_owned()]),
        }
    }

    /// Reads everything, until it is to stop.
    pub fn read(mut self) -> Trace {
        self.read_run();
        self.read_connections();
        self.read_calls();
        self.read_os_calls();
        self.read_stacks();
        self.read_ranges();
        self.read_tasks();
        self.read_stated();
        self.read_counters();
        crate::units::to_smallest(&mut self.trace);
        self.count_what_is_left();
        self.trace
    }

    /// Hands every row of a table on; if the table breaks off, that is counted.
    pub fn each_row(&mut self, table: &str, columns: &[&str], mut row: impl FnMut(&mut Self, &Cells<'_>)) {
        self.used.insert(table.to_owned());
        let database = self.database;
        if let Err(broken) = query::each_row(database, table, columns, |cells| row(self, cells)) {
            let detail = format!("{table}: {} behind row {}", broken.error, broken.before);
            self.trace.count_loss(LossKind::BrokenTable, 1, &detail);
        }
    }

    /// Whether a table was read already.
    pub fn has_read(&self, table: &str) -> bool {
        self.used.contains(table)
    }

    /// The text of an id, as text of the trace.
    pub fn text(&mut self, id: Option<i64>) -> StringId {
        let text = self.texts.find(id);
        self.trace.strings.intern(self.texts.table.get(text))
    }

    /// The thread of a `globalTid`: the process in the upper half, the thread in the lower one.
    pub fn thread(&mut self, global: Option<i64>) -> Option<ThreadId> {
        let global = global? as u64;
        let process = self.places.process(&mut self.trace, (global >> 32) as u32);
        Some(self.places.thread(&mut self.trace, process, global & u64::from(u32::MAX), ""))
    }

    /// The device of a number.
    pub fn device(&mut self, number: u32) -> opscope_trace::DeviceId {
        let chip = self.chips.get(&number).map_or("", |chip| chip);
        self.places.device(&mut self.trace, opscope_trace::DeviceKind::Npu, number, chip)
    }

    /// Counts the rows of tables for which a trace has no place.
    fn count_what_is_left(&mut self) {
        for table in query::tables(self.database) {
            let is_known =
                self.has_read(&table) || table.starts_with("ENUM_") || table.starts_with("sqlite_");
            if is_known {
                continue;
            }
            let rows = query::count(self.database, &table);
            let kind = match &*table {
                "OVERLAP_ANALYSIS" => LossKind::SummingRow,
                _ => LossKind::PlacelessRow,
            };
            self.trace.count_loss(kind, rows, &table);
        }
        self.trace.count_loss(LossKind::MissingText, self.texts.missing, "STRING_IDS");
    }
}

/// The kind of loss of a row without a span.
pub(super) fn kind_of(problem: NoSpan) -> LossKind {
    match problem {
        NoSpan::Missing => LossKind::RowWithoutSpan,
        NoSpan::EndsBeforeStart => LossKind::RowEndsBeforeStart,
    }
}
