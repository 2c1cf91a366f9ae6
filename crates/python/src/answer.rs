//! Questions to the tasks or calls of a profile, and their answers as tables: those of `opscope analyze`.

use opscope_analyze::{
    Aggregate, Cell, Column, Filter, GroupBy, Iterations, Query, Scope, Sort, TimeKind, name_pattern,
};
use opscope_trace::{ExecutionUnit, Trace};
use serde::Deserialize;

use crate::outcome::Failure;
use crate::table::{Series, Table};

/// A question as it comes from Python.
#[derive(Deserialize)]
pub struct Question {
    group_by: String,
    aggregate: String,
    time: String,
    sort: Option<String>,
    ascending: bool,
    host: bool,
    name: Option<String>,
    types: Vec<String>,
    units: Vec<String>,
    iterations: Option<(u32, u32)>,
    all_iterations: bool,
    device: Option<u32>,
}

impl Question {
    /// The question to the engine.
    ///
    /// # Errors
    /// When a word isn't one of those that there are; the text lists them.
    pub fn query(&self) -> Result<Query, Failure> {
        let units = self.units.iter().map(|word| {
            let known = ExecutionUnit::ALL.map(ExecutionUnit::name);
            ExecutionUnit::from_name(word).ok_or_else(|| unknown("unit", word, &known))
        });
        let group_by = GroupBy::from_name(&self.group_by)
            .ok_or_else(|| unknown("group_by", &self.group_by, &GroupBy::ALL.map(GroupBy::name)))?;
        let aggregate = Aggregate::from_name(&self.aggregate)
            .ok_or_else(|| unknown("aggregate", &self.aggregate, &Aggregate::ALL.map(Aggregate::name)))?;
        let time = TimeKind::from_name(&self.time)
            .ok_or_else(|| unknown("time", &self.time, &TimeKind::ALL.map(TimeKind::name)))?;
        let columns: Vec<&str> = Column::ALL.iter().map(|column| column.key()).collect();
        let sort = self.sort.as_deref().map(|word| {
            let column = Column::from_name(word).ok_or_else(|| unknown("sort", word, &columns))?;
            Ok::<_, Failure>(Sort { column, ascending: self.ascending })
        });
        let pattern = |text: &String| {
            name_pattern(text).map_err(|why| Failure::Value(format!("name={text:.80?}: {why}")))
        };
        let iterations = match self.iterations {
            Some((first, last)) => Iterations::Numbers(first, last),
            None if self.all_iterations => Iterations::All,
            None => Iterations::Measured,
        };
        Ok(Query {
            host: self.host,
            scope: Scope { iterations, device: self.device, ..Scope::default() },
            filter: Filter {
                name: self.name.as_ref().map(pattern).transpose()?,
                types: self.types.clone(),
                units: units.collect::<Result<_, Failure>>()?,
                ..Filter::default()
            },
            time,
            group_by,
            aggregate,
            sort: sort.transpose()?,
            ..Query::default()
        })
    }
}

fn unknown(argument: &str, word: &str, known: &[&str]) -> Failure {
    Failure::Value(format!("{argument}='{word}' is none of {}", known.join(", ")))
}

/// The answer, with a column for each that any row knows.
///
/// # Errors
/// When the trace doesn't have the iteration or device that is asked for.
pub fn answer(trace: &Trace, query: &Query) -> Result<Table, Failure> {
    let answer = query.run(trace).map_err(|error| Failure::of(&error))?;
    let columns = Column::ALL.iter().filter_map(|column| {
        let cells: Vec<Cell> = answer.rows.iter().map(|row| column.of(trace, row)).collect();
        series(column.key(), &cells)
    });
    Ok(Table::new("answer", answer.rows.len(), columns.collect()))
}

/// Cells of one kind as a column; `None` where no row knows any.
fn series(name: &str, cells: &[Cell]) -> Option<Series> {
    let number = |cell: &Cell| Some(cell.number()).filter(|number| !number.is_nan());
    Some(match cells.iter().find(|cell| **cell != Cell::Missing)? {
        Cell::Missing => return None,
        Cell::Text(_) => Series::texts(
            name,
            cells.iter().map(|cell| match cell {
                Cell::Text(text) => Some(text.as_str()),
                _ => None,
            }),
        ),
        Cell::Time(_) => Series::times(
            name,
            cells.iter().map(|cell| match cell {
                Cell::Time(time) => Some(*time),
                _ => None,
            }),
        ),
        Cell::Count(_) | Cell::Flops(_) | Cell::Bytes(_) => Series::counts(
            name,
            cells.iter().map(|cell| match cell {
                Cell::Count(count) | Cell::Flops(count) | Cell::Bytes(count) => Some(*count),
                _ => None,
            }),
        ),
        Cell::Share(_) | Cell::FlopRate(_) | Cell::ByteRate(_) | Cell::Number(_) => {
            Series::doubles(name, cells.iter().map(number))
        }
    })
}
