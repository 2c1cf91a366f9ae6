//! A profile that was opened.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use opscope_formats::sqlite::{Database, QueryError};
use opscope_open::{OpenError, Opened, Progress, Source, Stop};
use opscope_trace::{Severity, Trace};
use serde_json::{Value, json};

use crate::answer::{self, Question};
use crate::outcome::Failure;
use crate::table::Table;
use crate::{sql, tables};

/// A profile: its tables, and questions to it.
pub struct Profile {
    trace: Arc<Trace>,
    path: PathBuf,
    format: &'static str,
    remarks: Vec<String>,
    /// The trace's tables in SQLite, made for the first statement.
    database: Mutex<Option<Database>>,
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// When it can't be read, or `progress` stops it.
    pub fn open(path: &Path, progress: &dyn Progress) -> Result<Self, Failure> {
        let opened =
            Source::at(path).and_then(|source| source.open(progress)).map_err(|error| match error {
                OpenError::Missing { .. } => Failure::Missing(error.to_string()),
                _ => Failure::of(&error),
            })?;
        let Opened { trace, format, path, remarks, .. } = opened;
        Ok(Self { trace: Arc::new(trace), path, format: format.name, remarks, database: Mutex::new(None) })
    }

    /// Its path, format, remarks, and the losses that figures may lack something by, in sentences.
    pub fn facts(&self) -> Value {
        let trace = &self.trace;
        let grave = trace.losses.iter().filter(|(_, row)| row.kind.severity() != Severity::Remark);
        let told =
            grave.map(|(_, row)| format!("{} ({}): {}", row.kind, row.count, trace.strings.get(row.detail)));
        json!({
            "path": self.path.to_string_lossy(),
            "format": self.format,
            "remarks": self.remarks,
            "doubts": told.collect::<Vec<_>>(),
        })
    }

    /// The table of a name, if there is one.
    pub fn table(&self, name: &str) -> Option<Table> {
        let make = match name {
            "tasks" => tables::tasks,
            "operators" => tables::operators,
            "calls" => tables::calls,
            "iterations" => tables::iterations,
            "counters" => tables::counters,
            "ranges" => tables::ranges,
            "losses" => tables::losses,
            _ => return None,
        };
        Some(make(&self.trace))
    }

    /// The answer to a question to its tasks or calls.
    ///
    /// # Errors
    /// When a word isn't known, or the profile lacks what is asked about.
    pub fn analyze(&self, question: &Question) -> Result<Table, Failure> {
        answer::answer(&self.trace, &question.query()?)
    }

    /// The answer of a statement in SQL that reads.
    ///
    /// # Errors
    /// When it is wrong, or `stop` wants an end.
    pub fn sql(&self, statement: &str, stop: &Stop) -> Result<Table, Failure> {
        let ask = || -> Result<Table, QueryError> {
            let mut kept = self.database.lock().unwrap_or_else(PoisonError::into_inner);
            let database = match kept.take() {
                Some(database) => database,
                None => Database::of_trace(&self.trace)?,
            };
            sql::answer(kept.insert(database.end_when(stop)?), statement)
        };
        ask().map_err(|error| Failure::of(&error))
    }
}
