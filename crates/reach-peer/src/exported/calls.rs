//! `api_statistic.csv`: how long the tasks took that the calls of each name launched.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use opscope_reach::database::{Database, Texts, each_row, whole};
use opscope_trace::NumberMap;

use super::Table;
use crate::profile::Span;

const COLUMNS: [&str; 6] =
    ["API Name", "Total Time(ns)", "Count", "Avg Time(ns)", "Min Time(ns)", "Max Time(ns)"];

/// The times of some tasks.
#[derive(Clone, Copy, Debug)]
struct Times {
    sum: i128,
    count: u64,
    least: i64,
    most: i64,
}

impl Times {
    fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum.saturating_add(other.sum),
            count: self.count.saturating_add(other.count),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

/// The times of a rank's tasks by the names of the calls that launched them.
#[derive(Debug, Default)]
pub struct Calls(BTreeMap<String, Times>);

impl Calls {
    /// Reads them.
    ///
    /// # Errors
    /// When a table breaks off; what is before it was read.
    pub fn read(&mut self, database: &Database) -> rusqlite::Result<()> {
        let mut of_connection: NumberMap<i64, Times> = NumberMap::default();
        let tasks = each_row(database, "TASK", &["connectionId", "startNs", "endNs"], |row| {
            let (Some(connection), Some(start), Some(end)) = (whole(row, 0), whole(row, 1), whole(row, 2))
            else {
                return;
            };
            let span = Span { start, end };
            if span.can_be() {
                let length = span.length();
                let one = Times { sum: length.into(), count: 1, least: length, most: length };
                of_connection.entry(connection).and_modify(|times| *times = times.and(one)).or_insert(one);
            }
        });
        let (texts, read) = Texts::read(database);
        let calls = each_row(database, "CANN_API", &["name", "connectionId"], |row| {
            let name = texts.get(whole(row, 0));
            let launched = whole(row, 1).and_then(|connection| of_connection.get(&connection));
            if let Some(times) = launched.copied().filter(|_| !name.is_empty()) {
                match self.0.get_mut(name) {
                    Some(known) => *known = known.and(times),
                    None => drop(self.0.insert(name.to_owned(), times)),
                }
            }
        });
        tasks.and(read).and(calls)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the table, the longest first.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, table: &mut Table<'_>) -> csv::Result<()> {
        table.write_record(COLUMNS)?;
        let mut longest_first: Vec<(&String, &Times)> = self.0.iter().collect();
        longest_first.sort_by_key(|(_, times)| Reverse(times.sum));
        for (name, times) in longest_first {
            let mean = times.sum as f64 / times.count as f64;
            table.write_record([
                name.clone(),
                times.sum.to_string(),
                times.count.to_string(),
                mean.to_string(),
                times.least.to_string(),
                times.most.to_string(),
            ])?;
        }
        Ok(())
    }
}
