//! The operators of a rank, summed up by name, type and unit: asked for ranks that are suspects, and for some of
//! their peers.

use std::collections::BTreeMap;

use opscope_formats::reading::decimal;
use opscope_trace::NumberMap;

use super::from_text::{column, computes};
use crate::database::{Texts, each_row, open, whole};
use crate::discover::Collection;

/// The identity of an operator across ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct OperatorKey {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub op_type: String,
    /// The vendor's word for its unit.
    pub unit: String,
}

impl OperatorKey {
    /// Whether it runs on the device's general processor.
    pub fn is_on_ai_cpu(&self) -> bool {
        self.unit.replace('_', "").eq_ignore_ascii_case("AICPU")
    }
}

/// An operator's executions on a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Operator {
    /// How often it ran.
    pub count: u64,
    /// How long in all.
    pub total_ns: i64,
    /// The sum over all executions of the first input's first dimension: rows, or tokens.
    pub rows: u64,
}

/// All operators of a rank, and the gaps before its steps' first.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    /// By name, type and unit.
    pub by_key: BTreeMap<OperatorKey, Operator>,
    /// The time of copies between host and device.
    pub copies_ns: i64,
    /// All computing tasks' starts and ends, by start.
    pub spans: Vec<(i64, i64)>,
    /// Calls of the framework that fetch input: name, start and end.
    pub loads: Vec<(String, i64, i64)>,
}

/// Reads a rank's operators; what can't be read is missing, as reading the rank has told already.
pub fn operators(collection: &Collection) -> Operators {
    let mut operators = Operators::default();
    if let Some(path) = &collection.outputs.database
        && let Ok(database) = open(path)
    {
        // Breaking off is no reason to have nothing.
        let _ = from_database(&database, &mut operators);
    }
    if let Some(path) = collection.outputs.kernels.as_ref().filter(|_| operators.by_key.is_empty()) {
        let _ = from_kernels(path, &mut operators);
    }
    operators.spans.sort_unstable();
    operators
}

impl Operators {
    fn add(&mut self, key: &OperatorKey, start: i64, end: i64, rows: u64) {
        let duration = end.saturating_sub(start);
        if !(0..super::LONGEST_NS).contains(&duration) {
            return;
        }
        if !self.by_key.contains_key(key) {
            self.by_key.insert(key.clone(), Operator::default());
        }
        if let Some(operator) = self.by_key.get_mut(key) {
            operator.count += 1;
            operator.total_ns += duration;
            operator.rows += rows;
        }
        self.spans.push((start, end));
    }
}

/// The first number in a list of shapes such as `"1024,2048;2048,1408"`; 0 of none.
fn rows_of(shapes: &str) -> u64 {
    let first = shapes.trim_start_matches('"').split([',', ';', '"']).next();
    first.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn from_database(database: &rusqlite::Connection, operators: &mut Operators) -> rusqlite::Result<()> {
    let (texts, done) = Texts::read(database);
    done?;
    let mut infos = NumberMap::default();
    let mut keys: NumberMap<u64, OperatorKey> = NumberMap::default();
    let mut places: BTreeMap<(i64, i64, i64), u64> = BTreeMap::new();
    let columns = ["globalTaskId", "name", "opType", "taskType", "inputShapes"];
    each_row(database, "COMPUTE_TASK_INFO", &columns, |row| {
        let id = |column| whole(row, column).unwrap_or(-1);
        let next = places.len() as u64;
        let place = *places.entry((id(1), id(2), id(3))).or_insert_with(|| {
            let text = |column| texts.get(Some(id(column))).to_owned();
            keys.insert(next, OperatorKey { name: text(1), op_type: text(2), unit: text(3) });
            next
        });
        infos.insert(id(0), (place, rows_of(texts.get(whole(row, 4)))));
    })?;
    each_row(database, "TASK", &["globalTaskId", "startNs", "endNs", "taskType"], |row| {
        let (Some(start), Some(end)) = (whole(row, 1), whole(row, 2)) else { return };
        match whole(row, 0).and_then(|id| infos.get(&id)) {
            Some((place, rows)) => operators.add(&keys[place], start, end, *rows),
            None if texts.get(whole(row, 3)).starts_with("MEMCPY") => {
                operators.copies_ns += end.saturating_sub(start).clamp(0, super::LONGEST_NS);
            }
            None => {}
        }
    })?;
    each_row(database, "PYTORCH_API", &["name", "startNs", "endNs"], |row| {
        let name = texts.get(whole(row, 0));
        if name.contains("DataLoader")
            && let (Some(start), Some(end)) = (whole(row, 1), whole(row, 2))
        {
            operators.loads.push((name.to_owned(), start, end));
        }
    })
}

fn from_kernels(path: &std::path::Path, operators: &mut Operators) -> Option<()> {
    let mut reader = csv::Reader::from_path(path).ok()?;
    let headings = reader.byte_headers().ok()?.clone();
    let place = |name| column(&headings, name);
    let (start, duration) = (place("Start Time(us)")?, place("Duration(us)")?);
    let (name, op_type, unit) = (place("Name")?, place("Type")?, place("Accelerator Core")?);
    let shapes = place("Input Shapes");
    let mut row = csv::ByteRecord::new();
    while reader.read_byte_record(&mut row).ok()? {
        if !row.get(unit).is_some_and(computes) {
            continue;
        }
        let text = |column: usize| String::from_utf8_lossy(row.get(column).unwrap_or_default()).into_owned();
        let time = |column: usize| row.get(column).and_then(|text| decimal::from_micros(text).ok());
        if let (Some(start), Some(duration)) = (time(start), time(duration)) {
            let key = OperatorKey { name: text(name), op_type: text(op_type), unit: text(unit) };
            let rows = shapes.map_or(0, |column| rows_of(&text(column)));
            operators.add(&key, start.0, start.0.saturating_add(duration.0), rows);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_first_dimension() {
        assert_eq!((rows_of("\"1024,2048;2048,1408\""), rows_of("7"), rows_of("N/A")), (1024, 7, 0));
    }
}
