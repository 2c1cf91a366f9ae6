//! How a value of a trace is stored in a column, in both directions.

use std::fmt::Write;

use opscope_trace::{
    ApiCallId, ApiLevel, Attribution, CounterId, DataType, DeviceId, DeviceKind, ExecutionUnit, FigureTopic,
    IterationId, LossKind, MetricId, ModelId, Nanoseconds, OperatorId, Pool, ProcessId, RangeKind, Span,
    StreamId, StringId, TaskId, TensorId, ThreadId, Trace,
};
use rusqlite::types::{ToSqlOutput, Type, Value, ValueRef};

/// A type of a trace's columns that a column of the database can hold.
pub(super) trait Cell: Sized {
    /// The type in SQL.
    const TYPE: &'static str;
    /// Whether the column may be empty.
    const NULLABLE: bool = false;
    /// The table of which the column names a row.
    const REFERENCES: Option<&'static str> = None;

    /// The value as it is stored.
    fn put<'t>(&self, trace: &'t Trace) -> ToSqlOutput<'t>;

    /// Reads a stored value; lists are added to the pools of `trace`, and what refers to a row
    /// must find it there.
    fn take(value: ValueRef<'_>, trace: &mut Trace) -> Result<Self, CellProblem>;
}

/// A value that doesn't belong in its column.
#[derive(Debug)]
pub(super) struct CellProblem {
    /// The value that belongs there, in words.
    pub expected: String,
    /// The value that is there, in words.
    pub found: String,
}

impl CellProblem {
    pub(super) fn new(expected: impl Into<String>, found: ValueRef<'_>) -> Self {
        let found = match found {
            ValueRef::Null => "nothing".to_owned(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(text) => {
                format!("'{}'", String::from_utf8_lossy(text).chars().take(40).collect::<String>())
            }
            ValueRef::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
        };
        Self { expected: expected.into(), found }
    }
}

fn integer(value: ValueRef<'_>) -> Result<i64, CellProblem> {
    match value {
        ValueRef::Integer(number) => Ok(number),
        other => Err(CellProblem::new("a whole number", other)),
    }
}

pub(super) fn text(value: ValueRef<'_>) -> Result<&str, CellProblem> {
    let expected = "text in UTF-8";
    match value {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_err(|_| CellProblem::new(expected, value)),
        other => Err(CellProblem::new(expected, other)),
    }
}

impl<Inner: Cell> Cell for Option<Inner> {
    const TYPE: &'static str = Inner::TYPE;
    const NULLABLE: bool = true;
    const REFERENCES: Option<&'static str> = Inner::REFERENCES;

    fn put<'t>(&self, trace: &'t Trace) -> ToSqlOutput<'t> {
        self.as_ref().map_or(ToSqlOutput::Owned(Value::Null), |inner| inner.put(trace))
    }

    fn take(value: ValueRef<'_>, trace: &mut Trace) -> Result<Self, CellProblem> {
        if value.data_type() == Type::Null { Ok(None) } else { Inner::take(value, trace).map(Some) }
    }
}

impl Cell for bool {
    const TYPE: &'static str = "INTEGER";

    fn put<'t>(&self, _: &'t Trace) -> ToSqlOutput<'t> {
        i64::from(*self).into()
    }

    fn take(value: ValueRef<'_>, _: &mut Trace) -> Result<Self, CellProblem> {
        match integer(value)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(CellProblem::new("0 or 1", value)),
        }
    }
}

impl Cell for u32 {
    const TYPE: &'static str = "INTEGER";

    fn put<'t>(&self, _: &'t Trace) -> ToSqlOutput<'t> {
        i64::from(*self).into()
    }

    fn take(value: ValueRef<'_>, _: &mut Trace) -> Result<Self, CellProblem> {
        Self::try_from(integer(value)?).map_err(|_| CellProblem::new("a number of 32 bits", value))
    }
}

/// SQLite's numbers are signed: those of 2^63 and more appear negative, and come back whole.
impl Cell for u64 {
    const TYPE: &'static str = "INTEGER";

    fn put<'t>(&self, _: &'t Trace) -> ToSqlOutput<'t> {
        self.cast_signed().into()
    }

    fn take(value: ValueRef<'_>, _: &mut Trace) -> Result<Self, CellProblem> {
        integer(value).map(i64::cast_unsigned)
    }
}

impl Cell for Nanoseconds {
    const TYPE: &'static str = "INTEGER";

    fn put<'t>(&self, _: &'t Trace) -> ToSqlOutput<'t> {
        self.0.into()
    }

    fn take(value: ValueRef<'_>, _: &mut Trace) -> Result<Self, CellProblem> {
        integer(value).map(Self)
    }
}

/// SQLite stores no NaN; its place stays empty.
impl Cell for f64 {
    const TYPE: &'static str = "REAL";
    const NULLABLE: bool = true;

    fn put<'t>(&self, _: &'t Trace) -> ToSqlOutput<'t> {
        (*self).into()
    }

    fn take(value: ValueRef<'_>, _: &mut Trace) -> Result<Self, CellProblem> {
        match value {
            ValueRef::Null => Ok(Self::NAN),
            ValueRef::Real(number) => Ok(number),
            other => Err(CellProblem::new("a number", other)),
        }
    }
}

/// The dimensions of a tensor: `[1,3,224,224]`.
impl Cell for Span<i64> {
    const TYPE: &'static str = "TEXT";

    fn put<'t>(&self, trace: &'t Trace) -> ToSqlOutput<'t> {
        let dimensions: Vec<String> = trace.dimensions.get(*self).iter().map(i64::to_string).collect();
        format!("[{}]", dimensions.join(",")).into()
    }

    fn take(value: ValueRef<'_>, trace: &mut Trace) -> Result<Self, CellProblem> {
        let expected = "a list of dimensions such as [1,3,224,224]";
        let list: Vec<i64> =
            serde_json::from_str(text(value)?).map_err(|_| CellProblem::new(expected, value))?;
        push(&mut trace.dimensions, list).ok_or_else(|| CellProblem::new("fewer dimensions in all", value))
    }
}

/// A list of names: `["conv1","relu1"]`.
impl Cell for Span<StringId> {
    const TYPE: &'static str = "TEXT";

    fn put<'t>(&self, trace: &'t Trace) -> ToSqlOutput<'t> {
        let names = trace.names.get(*self).iter().map(|&name| trace.strings.get(name).into());
        serde_json::Value::Array(names.collect()).to_string().into()
    }

    fn take(value: ValueRef<'_>, trace: &mut Trace) -> Result<Self, CellProblem> {
        let expected = "a list of names such as [\"conv1\",\"relu1\"]";
        let list: Vec<String> =
            serde_json::from_str(text(value)?).map_err(|_| CellProblem::new(expected, value))?;
        let names: Vec<StringId> = list.iter().map(|name| trace.strings.intern(name)).collect();
        push(&mut trace.names, names).ok_or_else(|| CellProblem::new("fewer names in all", value))
    }
}

/// A list of metrics: `[0,1,7]`. One that is equal to the list before is stored once.
impl Cell for Span<MetricId> {
    const TYPE: &'static str = "TEXT";

    fn put<'t>(&self, trace: &'t Trace) -> ToSqlOutput<'t> {
        let put =
            |text: &mut String, metric: &MetricId| text.write_str(itoa::Buffer::new().format(metric.index()));
        list(trace.metric_lists.get(*self), put).into()
    }

    fn take(value: ValueRef<'_>, trace: &mut Trace) -> Result<Self, CellProblem> {
        let metrics = trace.metrics.len();
        let metric = |index: usize| (index < metrics).then(|| MetricId::from_index(index));
        let read = items(text(value)?).map(|item| metric(item.parse().ok()?)).collect::<Option<Vec<_>>>();
        let metrics =
            read.ok_or_else(|| CellProblem::new("a list of rows in metrics such as [0,1,7]", value))?;
        if let Some(&last) = trace.readings.metrics().last()
            && trace.metric_lists.get(last) == metrics
        {
            return Ok(last);
        }
        push(&mut trace.metric_lists, metrics).ok_or_else(|| CellProblem::new("fewer metrics in all", value))
    }
}

/// A list of values: `[0.5,null,1e300]`. JSON has no NaN and no infinity; their places say `null`.
impl Cell for Span<f64> {
    const TYPE: &'static str = "TEXT";

    fn put<'t>(&self, trace: &'t Trace) -> ToSqlOutput<'t> {
        let put = |text: &mut String, value: &f64| match value.is_finite() {
            true => put_number(text, *value),
            false => text.write_str("null"),
        };
        list(trace.metric_values.get(*self), put).into()
    }

    fn take(value: ValueRef<'_>, trace: &mut Trace) -> Result<Self, CellProblem> {
        let read = |item: &str| match item {
            "null" => Some(f64::NAN),
            item => item.parse().ok().filter(|value: &f64| value.is_finite()),
        };
        let values = items(text(value)?).map(read).collect::<Option<Vec<f64>>>();
        let values = values.ok_or_else(|| CellProblem::new("a list of numbers such as [0.5,null]", value))?;
        push(&mut trace.metric_values, values).ok_or_else(|| CellProblem::new("fewer values in all", value))
    }
}

/// Writes a number as `{:?}` does. Most measured ones are thousandths, which need no search for the shortest digits
/// that tell them: a decimal of up to 15 digits is the only one of a double.
fn put_number(text: &mut String, value: f64) -> std::fmt::Result {
    const MOST: f64 = 1e15;
    let thousandths = (value.abs() * 1e3).round();
    if thousandths >= MOST || thousandths / 1e3 != value.abs() {
        return write!(text, "{value:?}");
    }
    let whole = thousandths as u64;
    if value.is_sign_negative() {
        text.push('-');
    }
    text.push_str(itoa::Buffer::new().format(whole / 1_000));
    let digits = [whole / 100 % 10, whole / 10 % 10, whole % 10].map(|digit| char::from(b'0' + digit as u8));
    let used = 3 - digits.iter().rev().take_while(|digit| **digit == '0').count();
    text.push('.');
    text.extend(&digits[..used.max(1)]);
    Ok(())
}

/// Values as JSON: `[1,2]`.
fn list<Item>(values: &[Item], put: impl Fn(&mut String, &Item) -> std::fmt::Result) -> String {
    let mut text = String::with_capacity(2 + 8 * values.len());
    text.push('[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        // Text in memory takes everything.
        let _ = put(&mut text, value);
    }
    text.push(']');
    text
}

/// The items of a list of plain numbers; a text that is no list has one item that is none.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let inner = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_empty = inner.is_some_and(|inner| inner.trim().is_empty());
    inner.unwrap_or("?").split(',').map(str::trim).skip(usize::from(is_empty))
}

/// Adds a list to a pool, unless the pool would overflow.
fn push<Item: Copy>(pool: &mut Pool<Item>, list: Vec<Item>) -> Option<Span<Item>> {
    u32::try_from(pool.len().checked_add(list.len())?).ok()?;
    Some(pool.push(list))
}

/// Ids are stored as the row number, from 0, and must find their row when they are read.
macro_rules! id_cells {
    ($($id:ident in $table:ident,)+) => {
        $(impl Cell for $id {
            const TYPE: &'static str = "INTEGER";
            const REFERENCES: Option<&'static str> = Some(stringify!($table));

            fn put<'t>(&self, _: &'t Trace) -> ToSqlOutput<'t> {
                (self.index() as i64).into()
            }

            fn take(value: ValueRef<'_>, trace: &mut Trace) -> Result<Self, CellProblem> {
                match usize::try_from(integer(value)?) {
                    Ok(index) if index < trace.$table.len() => Ok(Self::from_index(index)),
                    _ => Err(CellProblem::new(concat!("the id of a row in ", stringify!($table)), value)),
                }
            }
        })+
    };
}

id_cells! {
    StringId in strings,
    ProcessId in processes,
    ThreadId in threads,
    DeviceId in devices,
    StreamId in streams,
    ModelId in models,
    IterationId in iterations,
    ApiCallId in api_calls,
    TensorId in tensors,
    OperatorId in operators,
    TaskId in tasks,
    CounterId in counters,
    MetricId in metrics,
}

/// Enums are stored as their words, so that queries read like sentences.
macro_rules! word_cells {
    ($($word:ident, $expected:literal;)+) => {
        $(impl Cell for $word {
            const TYPE: &'static str = "TEXT";

            fn put<'t>(&self, _: &'t Trace) -> ToSqlOutput<'t> {
                self.name().into()
            }

            fn take(value: ValueRef<'_>, _: &mut Trace) -> Result<Self, CellProblem> {
                Self::from_name(text(value)?).ok_or_else(|| CellProblem::new($expected, value))
            }
        })+
    };
}

word_cells! {
    DeviceKind, "a kind of device such as cpu";
    ApiLevel, "a level such as runtime";
    Attribution, "an attribution such as exact";
    ExecutionUnit, "a unit such as ai-core";
    RangeKind, "a kind of range such as push-pop";
    LossKind, "a kind of loss such as unknown-record";
    FigureTopic, "a topic such as step";
}

impl Cell for DataType {
    const TYPE: &'static str = "TEXT";

    fn put<'t>(&self, _: &'t Trace) -> ToSqlOutput<'t> {
        self.name().into()
    }

    fn take(value: ValueRef<'_>, _: &mut Trace) -> Result<Self, CellProblem> {
        match text(value)? {
            // It has a name, but it isn't one of the types that are known by it.
            unknown if unknown == Self::Unknown.name() => Ok(Self::Unknown),
            name => Self::from_name(name).ok_or_else(|| CellProblem::new("a type such as float32", value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(value: f64) -> String {
        let mut text = String::new();
        put_number(&mut text, value).unwrap();
        text
    }

    #[test]
    fn numbers_at_the_ends_of_thousandths_are_written_as_any_others() {
        for value in
            [0.0, -0.0, 0.001, -0.25, 0.0005, 999_999_999_999.999, 1e12, 1e15, 1e16, 1e300, 5e-324, 0.1 + 0.2]
        {
            assert_eq!(written(value), format!("{value:?}"));
        }
    }

    proptest! {
        #[test]
        fn a_number_is_written_in_the_shortest_way_that_tells_it(
            any in any::<f64>().prop_filter("finite", |value| value.is_finite()),
            parts in -1_000_000_000_000_i64..1_000_000_000_000,
            divisor in proptest::sample::select(vec![1.0, 10.0, 1e3, 1e4, 3.0]),
        ) {
            for value in [any, parts as f64 / divisor] {
                prop_assert_eq!(written(value), format!("{:?}", value));
            }
        }
    }
}
