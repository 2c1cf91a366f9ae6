//! Answers of statements in SQL as tables.

use opscope_formats::sqlite::{Database, QueryError, Value};

use crate::table::{Series, Table};

/// Carries out a statement that reads. A column is of whole numbers, of numbers or of texts, whichever holds all
/// its values; bytes become text in hexadecimal.
///
/// # Errors
/// When the statement is wrong, or was stopped.
pub fn answer(database: &Database, statement: &str) -> Result<Table, QueryError> {
    let (mut names, mut rows) = (Vec::new(), 0);
    let mut columns: Vec<Vec<Value>> = Vec::new();
    // The names come first, but both closures are there at once.
    let cells = std::cell::RefCell::new(&mut columns);
    database.query::<QueryError>(
        statement,
        |told| {
            cells.borrow_mut().resize_with(told.len(), Vec::new);
            names = told;
            Ok(())
        },
        |row| {
            rows += 1;
            cells.borrow_mut().iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            Ok(())
        },
    )?;
    let series = names.iter().zip(&columns).map(|(name, column)| series(name, column));
    Ok(Table::new("answer", rows, series.collect()))
}

fn series(name: &str, values: &[Value]) -> Series {
    let is_any = |of: fn(&Value) -> bool| values.iter().any(of);
    if is_any(|value| matches!(value, Value::Text(_) | Value::Blob(_))) {
        return Series::texts(name, values.iter().map(text));
    }
    if is_any(|value| matches!(value, Value::Real(_))) {
        let number = |value: &Value| match value {
            Value::Integer(number) => Some(*number as f64),
            Value::Real(number) => Some(*number),
            _ => None,
        };
        return Series::doubles(name, values.iter().map(number));
    }
    let integer = |value: &Value| match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    Series::integers(name, values.iter().map(integer))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.clone()),
        Value::Blob(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}
