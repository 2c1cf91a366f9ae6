//! Rows of a rank's database that several modes need: its texts, its steps, its collectives.

use std::collections::BTreeSet;
use std::path::Path;

use opscope_reach::database::{Database, each_row, text, whole};
use opscope_trace::{NumberMap, NumberSet};

use crate::error::PeerError;
use crate::ranks::{File, Ranks};

/// The longest time that a record can claim: a year.
const LONGEST_NS: i64 = 366 * 24 * 3600 * 1_000_000_000;

/// A stretch of time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Its begin.
    pub start: i64,
    /// Its end.
    pub end: i64,
}

impl Span {
    /// Its length: nothing less, and no more than a year.
    pub fn length(self) -> i64 {
        self.end.saturating_sub(self.start).clamp(0, LONGEST_NS)
    }

    /// Whether a record can have this length.
    pub fn can_be(self) -> bool {
        (0..LONGEST_NS).contains(&self.end.saturating_sub(self.start))
    }

    /// Whether a moment lies in it.
    pub fn contains(self, moment: i64) -> bool {
        (self.start..=self.end).contains(&moment)
    }

    /// Whether the other lies in it.
    pub fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// The steps of a rank: number and stretch.
///
/// # Errors
/// When the table breaks off.
pub fn steps(database: &Database) -> rusqlite::Result<Vec<(i64, Span)>> {
    let mut steps = Vec::new();
    each_row(database, "STEP_TIME", &["id", "startNs", "endNs"], |row| {
        if let (Some(step), Some(start), Some(end)) = (whole(row, 0), whole(row, 1), whole(row, 2)) {
            steps.push((step, Span { start, end }));
        }
    })?;
    Ok(steps)
}

/// Whether a database has a table.
///
/// # Errors
/// SQLite's.
pub fn has_table(database: &Database, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
    database.query_row(sql, [name], |row| row.get(0))
}

/// The stretch of a step that was asked for: of all time where none was.
///
/// # Errors
/// When the table breaks off.
pub fn wanted(database: &Database, step: Option<i64>) -> rusqlite::Result<Option<Span>> {
    let Some(wanted) = step else { return Ok(Some(Span { start: i64::MIN, end: i64::MAX })) };
    Ok(steps(database)?.into_iter().find(|(step, _)| *step == wanted).map(|(_, span)| span))
}

/// Refuses a step that no rank has.
///
/// # Errors
/// With those that there are.
pub fn check_step(ranks: &Ranks, step: i64, at: &Path) -> Result<(), PeerError> {
    let mut known = BTreeSet::new();
    for collection in &ranks.collections {
        ranks.read(collection, File::Profile, |database| {
            steps(database).map(|steps| known.extend(steps.into_iter().map(|(step, _)| step)))
        });
        if known.contains(&step) {
            return Ok(());
        }
    }
    Err(no_step(step, &known, at))
}

/// The error about a step that isn't there, with those that are.
pub fn no_step(step: i64, known: &BTreeSet<i64>, at: &Path) -> PeerError {
    let known: Vec<String> = known.iter().map(i64::to_string).collect();
    let there = known.join(", ");
    PeerError::Usage(format!(
        "--step_id {step}: there is no such step in {}; there are {there}",
        at.display()
    ))
}

/// A rank's part in a collective. Names are numbers of [`Names`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collective {
    /// The name of the operator.
    pub name: u32,
    /// The name of the group.
    pub group: u32,
    /// The name of the operation.
    pub kind: u32,
    /// The type of the elements.
    pub data_type: u32,
    /// How many elements.
    pub count: i64,
    /// When it ran.
    pub span: Span,
    /// Whether the call that launched it is among those that were looked up.
    pub is_launched: bool,
}

/// Whether to look up the call that launched each collective: the table of calls is one of the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchLookup {
    /// Calls that begin in a stretch of time are looked up.
    Within(Span),
    /// They stay unknown.
    Skipped,
}

/// The names that collectives of a rank refer to.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<String>,
    numbers: NumberMap<i64, u32>,
}

impl Names {
    /// The number of a name, by its key; the name is empty until it is told.
    fn number(&mut self, key: i64) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.texts.push(String::new());
            (self.texts.len() - 1) as u32
        })
    }

    /// Tells the name of a key, if it has a number.
    fn tell<'t>(&mut self, key: i64, text: impl FnOnce() -> &'t str) {
        if let Some(number) = self.numbers.get(&key) {
            text().clone_into(&mut self.texts[*number as usize]);
        }
    }

    /// All names, in the order of their numbers.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// The name of a number.
    pub fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }
}

/// The collectives of a rank.
#[derive(Clone, Debug, Default)]
pub struct Collectives {
    /// Their names.
    pub names: Names,
    /// They, in the order of the table.
    pub rows: Vec<Collective>,
}

impl Collectives {
    /// Reads those that begin in a stretch of time: the vendor's tool counts them there, also where they end later.
    ///
    /// # Errors
    /// When a table breaks off; what is before it was read.
    pub fn read(
        &mut self,
        database: &Database,
        within: Span,
        launches: LaunchLookup,
    ) -> rusqlite::Result<()> {
        let mut launched = NumberSet::default();
        let calls = match launches {
            LaunchLookup::Within(stretch) => {
                each_row(database, "CANN_API", &["connectionId", "startNs"], |row| {
                    if whole(row, 1).is_some_and(|start| stretch.contains(start)) {
                        launched.extend(whole(row, 0));
                    }
                })
            }
            LaunchLookup::Skipped => Ok(()),
        };
        let columns =
            ["opName", "startNs", "endNs", "groupName", "opType", "dataType", "count", "connectionId"];
        let rows = each_row(database, "COMMUNICATION_OP", &columns, |row| {
            let (Some(start), Some(end)) = (whole(row, 1), whole(row, 2)) else { return };
            let span = Span { start, end };
            if !within.contains(start) || !span.can_be() {
                return;
            }
            let mut named = |column| self.names.number(whole(row, column).unwrap_or(-1));
            let (name, group, kind) = (named(0), named(3), named(4));
            let data_type = self.names.number(key_of_type(whole(row, 5).unwrap_or(-1)));
            let count = whole(row, 6).unwrap_or(0);
            let is_launched = whole(row, 7).is_some_and(|id| launched.contains(&id));
            self.rows.push(Collective { name, group, kind, data_type, count, span, is_launched });
        });
        let texts = each_row(database, "STRING_IDS", &["id", "value"], |row| {
            whole(row, 0).into_iter().for_each(|id| self.names.tell(id, || text(row, 1)));
        });
        let types = each_row(database, "ENUM_HCCL_DATA_TYPE", &["id", "name"], |row| {
            whole(row, 0).into_iter().for_each(|id| self.names.tell(key_of_type(id), || text(row, 1)));
        });
        texts.and(types).and(calls).and(rows)
    }
}

/// The key of a data type's name: numbers of types and of texts overlap, and no text has such a number.
fn key_of_type(data_type: i64) -> i64 {
    i64::MIN.wrapping_add(data_type)
}

/// The bytes of an element, by the vendor's word for its type; 0 of an unknown one.
pub fn bytes_of_type(word: &str) -> i64 {
    match word {
        "INT8" | "UINT8" | "HIF8" | "FP8E4M3" | "FP8E5M2" | "FP8E8M0" => 1,
        "INT16" | "UINT16" | "FP16" | "BFP16" => 2,
        "INT32" | "UINT32" | "FP32" => 4,
        "INT64" | "UINT64" | "FP64" => 8,
        "INT128" => 16,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collective_is_of_the_step_in_which_it_begins() {
        let database = Database::from(rusqlite::Connection::open_in_memory().unwrap());
        let sql = "CREATE TABLE STRING_IDS (id INTEGER, value TEXT);
             CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, groupName INTEGER,
                 opType INTEGER, dataType INTEGER, count INTEGER, connectionId INTEGER);
             INSERT INTO COMMUNICATION_OP VALUES (1, 90, 110, 1, 1, 1, 1, 1), (1, 190, 210, 1, 1, 1, 1, 1);";
        database.execute_batch(sql).unwrap();
        let mut collectives = Collectives::default();
        let step = Span { start: 100, end: 200 };
        collectives.read(&database, step, LaunchLookup::Skipped).ok();
        let spans: Vec<Span> = collectives.rows.iter().map(|row| row.span).collect();
        assert_eq!(spans, [Span { start: 190, end: 210 }]);
    }

    #[test]
    fn a_collective_is_launched_in_the_step_in_which_its_call_begins() {
        let database = Database::from(rusqlite::Connection::open_in_memory().unwrap());
        let sql = "CREATE TABLE CANN_API (startNs INTEGER, connectionId INTEGER);
             INSERT INTO CANN_API VALUES (95, 1), (150, 2);
             CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER);
             INSERT INTO COMMUNICATION_OP VALUES (1, 120, 130, 1), (1, 190, 210, 2), (1, 195, 215, 3);";
        database.execute_batch(sql).unwrap();
        let all = Span { start: i64::MIN, end: i64::MAX };
        let launched = |stretch| {
            let mut collectives = Collectives::default();
            collectives.read(&database, all, LaunchLookup::Within(stretch)).unwrap();
            collectives.rows.iter().map(|row| row.is_launched).collect::<Vec<_>>()
        };
        assert_eq!(launched(Span { start: 100, end: 200 }), [false, true, false]);
        assert_eq!(launched(all), [true, true, false]);
    }
}
